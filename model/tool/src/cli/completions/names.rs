//! What completes the values of flags: names that only the program knows.

use super::super::help;
use bellwether_engine::machine::AnyProtocol;
use bellwether_engine::protocol::{Rule, Values};
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use std::ffi::OsStr;

/// What a protocol has that a command line names.
#[derive(Clone, Debug, Default)]
pub struct Names {
    variants: Vec<(String, String)>,
    rules: Vec<Rule>,
    /// The rules that a process may have of its own.
    own: &'static [&'static str],
    properties: Vec<(String, String)>,
}

impl Names {
    /// Returns variants, each with what it is, and nothing else.
    #[must_use]
    pub fn variants(variants: Vec<(String, String)>) -> Names {
        Names { variants, ..Names::default() }
    }

    /// What this protocol has.
    pub(in crate::cli) fn of(protocol: &dyn AnyProtocol) -> Names {
        let (usual, timed) = protocol.properties();
        let variants = protocol.variants();
        let variant = |name: &str, source: &str| (name.to_owned(), source.to_owned());
        Names {
            variants: variants.iter().map(|one| variant(one.name, one.source)).collect(),
            rules: protocol.rule_rows(),
            own: protocol.own_rules(),
            properties: usual
                .iter()
                .chain(&timed)
                .map(|one| (one.name.to_owned(), one.meaning.to_owned()))
                .collect(),
        }
    }

    /// What may be typed behind `--rule` that begins so: the rules, and behind `=` the values.
    fn of_rule(&self, typed: &str) -> Vec<(String, String)> {
        let key = typed.split('=').next().unwrap_or_default();
        let ids = key.rsplit_once(':').map(|(ids, _)| format!("{ids}:"));
        let may = |rule: &&Rule| ids.is_none() || self.own.contains(&&*rule.name);
        let ids = ids.clone().unwrap_or_default();
        let all = self.rules.iter().filter(may).flat_map(|rule| {
            let assigned = format!("{ids}{}=", rule.name);
            let values = match &rule.values {
                _ if !typed.contains('=') => vec![(String::new(), rule.meaning.clone())],
                Values::Truth => truths(),
                Values::Names(names) => names.clone(),
                Values::Other(_) => Vec::new(),
            };
            values.into_iter().map(move |(value, meaning)| (format!("{assigned}{value}"), meaning))
        });
        all.filter(|(word, _)| word.starts_with(typed)).collect()
    }
}

/// The command line, whose flags know the names that fit to what is typed: the program, its
/// command, and what follows.
pub(super) fn offered(
    command: Command,
    typed: &[&str],
    protocols: &[(String, String)],
    names: &dyn Fn(Option<&str>) -> Names,
) -> Command {
    let [_, name, rest @ ..] = typed else { return command };
    let Some(of) = command.find_subcommand(name).cloned() else { return command };
    let names = names(help::protocol(of, rest).as_deref());
    let offers = |arg: Arg| match arg.get_id().as_str() {
        "protocol" | "protocols" => arg.add(candidates(protocols)),
        "variant" => arg.add(candidates(&names.variants)),
        "property" | "properties" => arg.add(candidates(&names.properties)),
        "rules" => {
            let names = names.clone();
            let begun = move |typed: &OsStr| of_rule(&names, typed);
            arg.add(ArgValueCompleter::new(begun))
        }
        _ => arg,
    };
    command.mut_subcommand(name, |of| of.mut_args(offers))
}

fn truths() -> Vec<(String, String)> {
    ["true", "false"].map(|one| (one.to_owned(), String::new())).into()
}

fn of_rule(names: &Names, typed: &OsStr) -> Vec<CompletionCandidate> {
    let words = typed.to_str().map(|typed| names.of_rule(typed));
    words.iter().flatten().map(candidate).collect()
}

fn candidates(names: &[(String, String)]) -> ArgValueCandidates {
    let names = names.to_vec();
    ArgValueCandidates::new(move || names.iter().map(candidate).collect::<Vec<_>>())
}

fn candidate((name, meaning): &(String, String)) -> CompletionCandidate {
    let meaning = (!meaning.is_empty()).then(|| meaning.clone().into());
    CompletionCandidate::new(name).help(meaning)
}

//! Help in groups. What every world has is the same for all protocols; variants, rules, properties
//! and durations are one protocol's, and `COMMAND PROTOCOL --help` shows them.

use super::world_args::without_clock;
use super::{Exit, HOLDS, Tool, text};
use bellwether_cli::failure::{asks_for_json, ends, refuse};
use bellwether_cli::{MORE, brief};
use bellwether_engine::machine::AnyProtocol;
use bellwether_engine::property::Property;
use bellwether_engine::protocol::{Rule, Values};
use clap::error::ErrorKind;
use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

/// The heading of the flags that set durations.
pub(super) const DURATIONS: &str = "Durations in timed worlds";

/// The text that the help of a command has of one protocol.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The variants, rules and properties of the protocol.
    pub text: String,
    /// The names of the durations that the protocol's timers take.
    pub durations: Vec<&'static str>,
    /// Whether the protocol has a symmetry.
    pub symmetry: bool,
}

/// A function that returns what there is to say of a protocol to the user of a command, from the
/// names of the command and of the protocol.
pub type Tells<'a> = dyn Fn(&str, &str) -> anyhow::Result<About> + 'a;

/// Reads the command line of a program. What is asked of the help is printed, and what is wrong is
/// told; then there is only an exit status.
///
/// # Errors
/// The exit status, if the program has nothing to do any more.
pub fn parse(command: &Command, tells: &Tells<'_>) -> Result<ArgMatches, ExitCode> {
    let command = &brief(command.clone());
    let words = with_help_last(command, std::env::args_os().collect());
    let error = match command.clone().try_get_matches_from(&words) {
        Ok(matches) => return Ok(matches),
        Err(error) => error,
    };
    let text: Vec<&str> = words.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    let is_help = error.kind() == ErrorKind::DisplayHelp;
    Err(match is_help.then(|| of_protocol(command, &text, tells)).flatten() {
        Some(Ok(help)) => {
            Exit::with(HOLDS).note_printed(write!(anstream::stdout(), "{help}")).code()
        }
        Some(Err(error)) => ends(Err(error)),
        None => refuse(&error, None, asks_for_json()),
    })
}

/// `help COMMAND PROTOCOL` is `COMMAND PROTOCOL --help`.
fn with_help_last(command: &Command, mut words: Vec<OsString>) -> Vec<OsString> {
    let takes = |word: &OsString| {
        let of = word.to_str().and_then(|word| command.find_subcommand(word));
        of.is_some_and(|of| has(of, "protocol"))
    };
    if words.len() == 4 && words[1] == "help" && takes(&words[2]) {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

fn has(command: &Command, flag: &str) -> bool {
    command.get_arguments().any(|arg| arg.get_id() == flag)
}

/// The help of a command that needs a world; nothing for others.
fn of_protocol(
    command: &Command,
    words: &[&str],
    tells: &Tells<'_>,
) -> Option<anyhow::Result<String>> {
    let at = words.iter().skip(1).position(|word| {
        *word != "help" && command.find_subcommand(word).is_some_and(|of| has(of, "within"))
    })? + 1;
    let name = words[at];
    let of = command.find_subcommand(name)?;
    let is_help = |word: &&&str| !["-h", "--help"].contains(*word);
    let rest: Vec<&str> = words[at + 1..].iter().filter(is_help).copied().collect();
    let long = rest.len() + at + 1 == words.len() || words.contains(&"--help");
    let protocol = protocol(of.clone(), &rest);
    let about = match protocol.as_deref().map(|protocol| tells(name, protocol)).transpose() {
        Ok(about) => about,
        Err(error) => return Some(Err(error)),
    };
    let usage = protocol.map(|p| format!("{} {name} {p} [OPTIONS]", command.get_name()));
    let shaped = shaped(of.clone(), about.as_ref(), usage, long);
    let mut whole = command.clone().mut_subcommand(name, |_| shaped);
    whole.build();
    let of = whole.find_subcommand_mut(name)?;
    let help = if long { of.render_long_help() } else { of.render_help() };
    Some(Ok(help.ansi().to_string()))
}

/// The protocol that is named among the words behind a command.
fn protocol(command: Command, rest: &[&str]) -> Option<String> {
    let read = command.no_binary_name(true).ignore_errors(true).try_get_matches_from(rest).ok()?;
    read.try_get_one::<String>("protocol").ok().flatten().cloned()
}

/// The command with the flags that make sense for a protocol, and what is said of it.
fn shaped(mut of: Command, about: Option<&About>, usage: Option<String>, long: bool) -> Command {
    let name = of.get_name().to_owned();
    let known = about.map(|about| about.durations.clone());
    let timed = known.as_ref().is_none_or(|known| !known.is_empty());
    if !timed {
        of = without_clock(of);
    }
    of = of.mut_args(|arg| {
        let id = arg.get_id().as_str();
        let taken = known.as_ref().is_some_and(|known| known.contains(&id));
        let hidden = match arg.get_help_heading() {
            Some(DURATIONS) => !taken,
            _ if id == "symmetry" => about.is_some_and(|about| !about.symmetry),
            _ => id == "protocol" && about.is_some(),
        };
        if hidden { arg.hide(true) } else { arg }
    });
    if let Some(usage) = usage {
        of = of.override_usage(usage);
    }
    let examples = of.get_after_long_help().map(ToString::to_string).unwrap_or_default();
    let after = match about {
        Some(about) if long => about.text.clone(),
        Some(_) => format!("{MORE}; also the variants, rules and properties"),
        None if !long => return of,
        None => {
            let has_clock =
                of.get_arguments().any(|arg| arg.get_id() == "delay" && !arg.is_hide_set());
            let durations = if has_clock { ", and the durations of its timers" } else { "" };
            format!(
                "'{name} PROTOCOL --help' shows the protocol's variants and its rules with their \
                 values{durations}.\n\n{examples}"
            )
        }
    };
    let after = text::wrap(&after, Some(width()));
    if long { of.after_long_help(after) } else { of.after_help(after) }
}

fn width() -> usize {
    text::width().map_or(WIDEST, |width| width.min(WIDEST))
}

/// As wide as clap's own help at most.
const WIDEST: usize = 100;

/// What there is to say of a protocol of the registry.
pub(super) fn about(tool: Tool, command: &str, name: &str) -> anyhow::Result<About> {
    let protocol = tool.registry.find(name)?;
    let durations: Vec<_> = protocol.durations().iter().map(|one| one.name).collect();
    if durations.is_empty() && command == "tune" {
        return Err(anyhow::anyhow!(super::tune::nothing_timed(&tool.called(), name)));
    }
    let mut text = format!("{name}: {}\n\n{}", protocol.summary(), variants(protocol));
    text += &format!("\n{}", rules(protocol));
    if ["check", "tune"].contains(&command) {
        text += &format!("\n{}", properties(protocol));
    }
    let symmetry = protocol.canonicalizes();
    Ok(About { text: text.trim_end().to_owned(), durations, symmetry })
}

fn variants(protocol: &dyn AnyProtocol) -> String {
    let mut text = "Variants (--variant NAME) [default: the first]:\n".to_owned();
    for variant in protocol.variants() {
        text += &format!("  {}: {}\n", variant.name, variant.source);
    }
    text
}

/// The rules of a protocol, each with its values and what they mean.
pub(super) fn rules(protocol: &dyn AnyProtocol) -> String {
    let variants = protocol.variants();
    let default = |name: &str| match variants.first().map(|first| &first.rules[name]) {
        Some(Value::String(word)) => word.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let mut text = "Rules (--rule RULE=VALUE replaces one of the variant's), with the defaults of \
                    the first variant:\n"
        .to_owned();
    for Rule { name, meaning, values } in protocol.rule_rows() {
        let takes = match &values {
            Values::Truth => ", true or false".to_owned(),
            Values::Names(_) => String::new(),
            Values::Other(words) => format!(", {words}"),
        };
        let meaning = if meaning.is_empty() { meaning } else { format!(": {meaning}") };
        text += &format!("  {name}{takes} [{}]{meaning}\n", default(&name));
        let Values::Names(names) = values else { continue };
        for (value, meaning) in names {
            let meaning = if meaning.is_empty() { meaning } else { format!(": {meaning}") };
            text += &format!("      {value}{meaning}\n");
        }
    }
    let own = protocol.own_rules();
    if !own.is_empty() {
        text += &format!("Of process 2 alone (--rule 2:RULE=VALUE): {}\n", own.join(", "));
    }
    text
}

/// The properties of a protocol, each with its kind, its meaning and its formula.
pub(super) fn properties(protocol: &dyn AnyProtocol) -> String {
    let (usual, timed) = protocol.properties();
    let line = |property: &Property| {
        let Property { name, meaning, formula, .. } = property;
        let kind = json!(property.kind());
        let kind = kind.as_str().unwrap_or_default();
        format!("  {name} ({kind}): {meaning}\n      {formula}\n")
    };
    let mut text = "Properties (--property NAME):\n".to_owned();
    text.extend(usual.iter().map(line));
    if !protocol.durations().is_empty() {
        text += "With --timing timed also:\n";
        text.extend(timed.iter().map(line));
    }
    if !protocol.not_promised().is_empty() {
        text += &format!("Promised in no world: {}\n", protocol.not_promised().join(", "));
    }
    text
}

//! `completions` and `man`: what a shell is told of the command line.
//!
//! A completion script asks this program what may come next. So a shell completes what only the
//! program knows: the protocols, and the variants, rules and properties of the one that is typed.

use super::{Exit, HOLDS, Tool, command, help, shown};
use anyhow::Context;
use bellwether_cli::pages;
use bellwether_engine::machine::AnyProtocol;
use bellwether_engine::protocol::{Rule, Values};
use clap::{Arg, Args, Command};
use clap_complete::engine::{ArgValueCandidates, ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{Bash, Elvish, EnvCompleter, Fish, Powershell, Shells, Zsh};
use clap_complete::{CompleteEnv, Shell};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Error, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

const COMPLETIONS: &str = "\
Examples:
  bellwether-model completions bash > ~/.local/share/bash-completion/completions/bellwether-model
  bellwether-model completions zsh > ~/.zfunc/_bellwether-model
  bellwether-model completions fish > ~/.config/fish/completions/bellwether-model.fish";

/// The variable by which the script says which shell asks.
const ASKED: &str = "BELLWETHER_COMPLETE";

/// Answers a shell that asks this tool.
pub(super) fn answer_of(tool: Tool) -> Option<ExitCode> {
    let protocols = tool.registry.iter();
    let protocols = protocols.map(|one| (one.name().to_owned(), one.summary().to_owned()));
    let names = |name: Option<&str>| {
        let protocol = name.and_then(|name| tool.registry.find(name).ok());
        protocol.map(Names::of).unwrap_or_default()
    };
    answer(|| command(tool), &protocols.collect::<Vec<_>>(), names)
}

pub(super) fn completions(tool: Tool, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    Ok(Exit::with(HOLDS).told(io::stdout().write_all(&script(args.shell, tool.name)?)))
}

/// Returns the script by which a shell completes the command line of the program `name`.
///
/// # Errors
/// If there is no such script for the shell.
pub fn script(shell: Shell, name: &str) -> anyhow::Result<Vec<u8>> {
    let (all, shell) = (SHELLS, shell.to_string());
    let known = all.completer(&shell);
    let known = known.ok_or_else(|| anyhow::anyhow!("there is no script for {shell}"))?;
    let mut script = Vec::new();
    known.write_registration(ASKED, name, name, name, &mut script)?;
    Ok(script)
}

/// Answers a shell that asks what may come next. Returns nothing if no shell asks: `command` is the
/// whole command line, and `names` returns what a protocol has, which is named or not.
pub fn answer(
    command: impl Fn() -> Command,
    protocols: &[(String, String)],
    names: impl Fn(Option<&str>) -> Names,
) -> Option<ExitCode> {
    let args: Vec<OsString> = env::args_os().collect();
    let typed = args.iter().skip_while(|word| *word != "--").skip(1);
    let typed: Vec<String> = typed.map(|word| word.to_string_lossy().into_owned()).collect();
    let typed: Vec<&str> = typed.iter().map(String::as_str).collect();
    let asked = CompleteEnv::with_factory(|| offered(command(), &typed, protocols, &names));
    let folder = env::current_dir().ok();
    match asked.var(ASKED).shells(SHELLS).try_complete(args, folder.as_deref()) {
        Ok(true) => Some(ExitCode::from(HOLDS)),
        Ok(false) => None,
        Err(error) => Some(super::fail(&error.to_string())),
    }
}

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

    fn of(protocol: &dyn AnyProtocol) -> Names {
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
fn offered(
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
    words.iter().flatten().map(|(word, meaning)| candidate(word, meaning)).collect()
}

fn candidates(names: &[(String, String)]) -> ArgValueCandidates {
    let names = names.to_vec();
    ArgValueCandidates::new(move || {
        names.iter().map(|(name, meaning)| candidate(name, meaning)).collect::<Vec<_>>()
    })
}

fn candidate(name: &str, meaning: &str) -> CompletionCandidate {
    let meaning = (!meaning.is_empty()).then(|| meaning.to_owned().into());
    CompletionCandidate::new(name).help(meaning)
}

/// The shells that can ask.
const SHELLS: Shells<'static> = Shells(&[
    &Own { shell: &Bash, script: whole_words },
    &Elvish,
    &Fish,
    &Powershell,
    &Own { shell: &Zsh, script: autoloaded },
]);

const SCRIPT: &str = r#"_FUNCTION() {
    local word before= glued= n=-1 i
    local -a words=()
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((n >= 0)) && [[ $glued || $word == [=:]* ]]; then
            before=${words[n]}
        else
            before=
            n=$((n + 1))
        fi
        glued=
        if [[ $word == [=:]* ]]; then
            glued=yes
            words[n]=$before$word
            before=${words[n]}
        else
            ((i == COMP_CWORD)) && word=$2
            words[n]=$before$word
        fi
    done
    local IFS=$'\013'
    COMPREPLY=($(_CLAP_IFS="$IFS" _CLAP_COMPLETE_INDEX="$n" VARIABLE=bash \
        "$1" -- "${words[@]}" 2>/dev/null))
    if [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *[=/:] ]]; then
        compopt -o nospace 2>/dev/null
    fi
    # Bash replaces only what stands behind the last of them.
    COMPREPLY=("${COMPREPLY[@]#"$before"}")
}
complete -o bashdefault -o nosort -F _FUNCTION PROGRAM 2>/dev/null ||
    complete -o bashdefault -F _FUNCTION PROGRAM
"#;

/// A script of ours, by which a shell asks as it does by that of `clap_complete`.
struct Own {
    shell: &'static dyn EnvCompleter,
    /// Writes the script: the variable, the names of the program and of its file, and the command.
    script: fn([&str; 4], &mut dyn Write) -> Result<(), Error>,
}

/// Bash splits words at `=` and `:`. This puts them together, so that RULE=VALUE is one, and asks
/// the program that is called, wherever it is.
fn whole_words([variable, name, file, _]: [&str; 4], out: &mut dyn Write) -> Result<(), Error> {
    let script = SCRIPT.replace("FUNCTION", &format!("{}_complete", name.replace('-', "_")));
    out.write_all(script.replace("VARIABLE", variable).replace("PROGRAM", file).as_bytes())
}

/// Zsh runs a file of its folders when it is first asked to complete: then too there are answers.
fn autoloaded([variable, name, file, called]: [&str; 4], out: &mut dyn Write) -> Result<(), Error> {
    Zsh.write_registration(variable, name, file, called, out)?;
    let function = format!("_clap_dynamic_completer_{}", name.replace('-', "_"));
    writeln!(out, "[[ $funcstack[1] == _{file} ]] && {function} \"$@\"\ntrue")
}

impl EnvCompleter for Own {
    fn name(&self) -> &'static str {
        self.shell.name()
    }

    fn is(&self, name: &str) -> bool {
        self.shell.is(name)
    }

    fn write_registration(
        &self,
        var: &str,
        name: &str,
        bin: &str,
        completer: &str,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        (self.script)([var, name, bin, completer], out)
    }

    fn write_complete(
        &self,
        command: &mut Command,
        words: Vec<OsString>,
        folder: Option<&Path>,
        out: &mut dyn Write,
    ) -> Result<(), Error> {
        self.shell.write_complete(command, words, folder, out)
    }
}

/// The flags of `man`, which writes the manual: one page for each command.
#[derive(Debug, Args)]
#[command(after_help = PAGES)]
pub struct ManArgs {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const PAGES: &str = "\
Examples:
  bellwether-model man | man -l -
  bellwether-model man --out ~/.local/share/man/man1";

impl ManArgs {
    /// Prints the page of a whole program, or writes those of all its commands into a folder.
    ///
    /// # Errors
    /// If the pages cannot be made, or the folder cannot be written.
    pub fn run(&self, program: Command) -> anyhow::Result<Exit> {
        shown::prepare(self.out.as_deref())?;
        let pages = pages(program)?;
        let exit = Exit::with(HOLDS);
        Ok(match &self.out {
            Some(folder) => exit.saved(save(folder, &pages)),
            None => {
                let whole = pages.first().map(|(_, page)| page.as_bytes()).unwrap_or_default();
                exit.told(io::stdout().write_all(whole))
            }
        })
    }
}

fn save(folder: &Path, pages: &[(String, String)]) -> anyhow::Result<()> {
    for (name, page) in pages {
        let file = folder.join(name);
        fs::write(&file, page).with_context(|| {
            format!("cannot write {}; give --out a folder that has room", file.display())
        })?;
    }
    Ok(())
}

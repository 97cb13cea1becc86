//! `completions`: a script by which a shell asks this program what may come next, and the answers.
//! So it completes what only the program knows: the protocols, and the variants, rules and
//! properties of the one that is typed.

mod names;
mod shells;

use super::{Exit, HOLDS, Tool, command};
use clap::{Args, Command};
use clap_complete::{CompleteEnv, Shell};
use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

pub use names::Names;

/// The flags of `completions`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

const EXAMPLES: &str = "\
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

pub(super) fn run(tool: Tool, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    Ok(Exit::with(HOLDS).told(std::io::stdout().write_all(&script(args.shell, tool.name)?)))
}

/// Returns the script by which a shell completes the command line of the program `name`.
///
/// # Errors
/// If there is no such script for the shell.
pub fn script(shell: Shell, name: &str) -> anyhow::Result<Vec<u8>> {
    let (all, shell) = (shells::ALL, shell.to_string());
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
    let asked = CompleteEnv::with_factory(|| names::offered(command(), &typed, protocols, &names));
    let folder = env::current_dir().ok();
    match asked.var(ASKED).shells(shells::ALL).try_complete(args, folder.as_deref()) {
        Ok(true) => Some(ExitCode::from(HOLDS)),
        Ok(false) => None,
        Err(error) => Some(super::fail(&error.to_string())),
    }
}

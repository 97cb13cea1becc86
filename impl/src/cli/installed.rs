//! `bellwether completions` and `bellwether man`: what is installed beside the program. A script by
//! which a shell asks this program what may come next, and the answers; and the manual pages.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether::{config, protocol};
use bellwether_cli::pages;
use clap::{Arg, Command, CommandFactory};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use super::{Cli, Failure, log, print};

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether completions bash > ~/.local/share/bash-completion/completions/bellwether
  bellwether completions zsh > ~/.zfunc/_bellwether
  bellwether completions fish > ~/.config/fish/completions/bellwether.fish")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// The variable by which the script says which shell asks.
const ASKED: &str = "BELLWETHER_COMPLETE";

const NAME: &str = "bellwether";

/// What stands in a script of Bash for the program that is called, wherever it is.
const CALLED: &str = "CALLED";

pub(crate) fn completions(args: &CompletionsArgs) -> Result<ExitCode, Failure> {
    let (all, shell) = (Shells::builtins(), args.shell.to_string());
    let known = all.completer(&shell);
    let known = known.ok_or_else(|| Failure::runtime(anyhow!("no script for {shell}")))?;
    let called = if args.shell == Shell::Bash { CALLED } else { NAME };
    let mut script = Vec::new();
    let written = known.write_registration(ASKED, NAME, NAME, called, &mut script);
    written.map_err(Failure::runtime)?;
    let mut script = String::from_utf8_lossy(&script).replace(CALLED, "$1");
    if args.shell == Shell::Zsh {
        // Zsh runs a file of its folders when it is first asked: then too there are answers.
        script += "[[ $funcstack[1] == _bellwether ]] && ";
        script += "_clap_dynamic_completer_bellwether \"$@\"\ntrue\n";
    }
    print(&script)?;
    Ok(ExitCode::SUCCESS)
}

/// Answers a shell that asks what may come next; nothing if none does.
pub(super) fn answer() -> Option<ExitCode> {
    let args: Vec<OsString> = std::env::args_os().collect();
    let typed: Vec<OsString> = args.iter().skip_while(|word| *word != "--").cloned().collect();
    let asked = CompleteEnv::with_factory(|| offered(Cli::command(), &typed)).var(ASKED);
    match asked.try_complete(args, std::env::current_dir().ok().as_deref()) {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
        Err(error) => {
            log::complain(error.to_string());
            Some(ExitCode::from(super::CONFIGURATION))
        }
    }
}

/// The command line, whose flags know the protocols, and the keys of the one that is typed.
fn offered(command: Command, typed: &[OsString]) -> Command {
    let named = typed.iter().filter_map(|word| word.to_str());
    let mut named = named.filter_map(|word| {
        protocol::NAMES.iter().find(|name| word.trim_start_matches("--protocol=") == **name)
    });
    let section = format!("{}.", named.next_back().unwrap_or(&"quorum"));
    let keys = config::reference().into_iter().filter_map(|(key, default)| {
        let key = key.strip_prefix(&section)?;
        let default = (!default.is_empty()).then(|| format!("default {default}"));
        Some((format!("{key}="), default))
    });
    let keys: Vec<(String, Option<String>)> = keys.collect();
    let offers = |arg: Arg| match arg.get_id().as_str() {
        "protocol" => arg.add(ArgValueCandidates::new(|| {
            protocol::NAMES.iter().map(CompletionCandidate::new).collect::<Vec<_>>()
        })),
        "set" => {
            let keys = keys.clone();
            let offer = |(key, default): &(String, Option<String>)| {
                CompletionCandidate::new(key).help(default.clone().map(Into::into))
            };
            arg.add(ArgValueCandidates::new(move || keys.iter().map(offer).collect::<Vec<_>>()))
        }
        _ => arg,
    };
    command.mut_subcommands(|of| of.mut_args(offers))
}

/// Print the manual page, or write those of all commands
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether man | man -l -
  bellwether man --out /usr/local/share/man/man1")]
pub(crate) struct ManArgs {
    /// Write one page for each command into this folder, which is made if it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn man(args: &ManArgs) -> Result<ExitCode, Failure> {
    let pages = pages(Cli::command()).map_err(Failure::runtime)?;
    match &args.out {
        None => print(pages.first().map(|(_, page)| page.as_str()).unwrap_or_default())?,
        Some(folder) => {
            let cannot = |error| {
                anyhow!(
                    "cannot write manual pages to {}: {error}; give --out another folder",
                    folder.display()
                )
            };
            let written = save(folder, &pages);
            written.map_err(|error| Failure::runtime(cannot(error)))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn save(folder: &Path, pages: &[(String, String)]) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    pages.iter().try_for_each(|(name, page)| std::fs::write(folder.join(name), page))
}

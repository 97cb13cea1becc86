//! `completions`: a script by which a shell asks this program what may come next, and the answers.

use super::CONFORMS;
use crate::registry::{Description, Mappings};
use bellwether_tool::cli::{Exit, Names, answer, script};
use clap::{Args, Command};
use clap_complete::Shell;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::ExitCode;

/// The flags of `completions`.
#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Answers a shell that asks; nothing if none does.
pub(super) fn answer_of(mappings: Mappings, command: impl Fn() -> Command) -> Option<ExitCode> {
    let described = || mappings.0.iter().map(|mapping| mapping.description());
    let names = |protocol: Option<&str>| {
        let of_it = described().filter(|one| protocol.is_none_or(|name| name == one.protocol));
        let variant = |one: Description| (one.variant, one.protocol.to_owned());
        Names::variants(of_it.map(variant).collect())
    };
    // A protocol has a mapping for each variant.
    let protocols: BTreeMap<_, _> =
        described().map(|one| (one.protocol.to_owned(), one.summary.to_owned())).collect();
    answer(command, &protocols.into_iter().collect::<Vec<_>>(), names)
}

pub(super) fn run(name: &str, args: &CompletionsArgs) -> anyhow::Result<Exit> {
    Ok(Exit::with(CONFORMS).told(std::io::stdout().write_all(&script(args.shell, name)?)))
}

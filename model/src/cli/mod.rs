//! The command line: what the [engine's](bellwether_tool::cli) can do, and `claims`, `gallery`,
//! `history`, `prove` and `survey`.

mod claims;
mod gallery;
mod history;
mod prove;
mod survey;

pub use bellwether_tool::cli::*;

use crate::protocol::specifications;
use clap::{Args, Command, FromArgMatches};
use std::process::ExitCode;

const EXAMPLES: &[&str] = &[
    "list bully",
    "check bully",
    "explore bully --recoveries 1",
    "tune bully --variant baseline --delay 1..3",
    "survey",
    "claims --source chapter",
    "history forgotten-vote",
];

const MORE: &[More] = &[
    More {
        command: || {
            let about = "Check the literature: run the checks that confirm or refute what it says";
            claims::ClaimsArgs::augment_args(Command::new("claims")).about(about).display_order(3)
        },
        run: |_, flags| claims::run(&claims::ClaimsArgs::from_arg_matches(flags)?),
    },
    More {
        command: || {
            let about = "Find executions that are worth a look, and write a page for each";
            let gallery = gallery::GalleryArgs::augment_args(Command::new("gallery"));
            gallery.about(about).display_order(3)
        },
        run: |tool, flags| gallery::run(tool, &gallery::GalleryArgs::from_arg_matches(flags)?),
    },
    More {
        command: || {
            let about = "Run election bugs of real systems: the rule that has each, and without";
            let history = history::HistoryArgs::augment_args(Command::new("history"));
            history.about(about).display_order(3)
        },
        run: |_, flags| history::run(&history::HistoryArgs::from_arg_matches(flags)?),
    },
    More {
        command: || {
            let about = "Prove the safety core of a protocol for every number of processes";
            prove::ProveArgs::augment_args(Command::new("prove")).about(about).display_order(3)
        },
        run: |tool, flags| prove::run(tool, &prove::ProveArgs::from_arg_matches(flags)?),
    },
    More {
        command: || {
            let about = "Decide every protocol in the worlds that matter, as one matrix";
            survey::SurveyArgs::augment_args(Command::new("survey")).about(about).display_order(3)
        },
        run: |tool, flags| survey::run(tool, &survey::SurveyArgs::from_arg_matches(flags)?),
    },
];

/// Runs the command line; what it returns is the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let tool = Tool::new("bellwether-model", specifications());
    bellwether_tool::cli::main(Tool { examples: EXAMPLES, more: MORE, ..tool })
}

/// Returns the exit status that says whether all came out as it is written: of each, whether it
/// did, or nothing if that was not decided.
fn as_written(agree: impl Iterator<Item = Option<bool>>) -> u8 {
    let agree: Vec<_> = agree.collect();
    if agree.contains(&Some(false)) {
        VIOLATED
    } else if agree.contains(&None) {
        UNKNOWN
    } else {
        HOLDS
    }
}

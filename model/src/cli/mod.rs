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
    "tune bully --delay 1..3",
    "survey",
    "claims --source chapter",
    "history forgotten-vote",
];

/// What the daemon calls the durations of each protocol that it runs.
const SECTIONS: &[Section] = &[
    Section {
        protocol: "bully",
        keys: &[
            ("election", "t-elec"),
            ("coordinator", "t-coord"),
            ("watch", "t-detect"),
            ("heartbeat", "t-heartbeat"),
        ],
    },
    Section {
        protocol: "garcia-molina",
        keys: &[
            ("call", "t-call"),
            ("silence", "t-silence"),
            ("election", "t-election"),
            ("check", "t-check"),
        ],
    },
    Section {
        protocol: "invitation",
        keys: &[
            ("check", "t-check"),
            ("answer", "t-answer"),
            ("accept", "t-accept"),
            ("delay", "t-delay"),
            ("silence", "t-detect"),
        ],
    },
    Section { protocol: "chang-roberts", keys: RING },
    Section { protocol: "list-ring", keys: RING },
    Section {
        protocol: "lease",
        keys: &[
            ("hold", "t-holder"),
            ("keep", "t-grant"),
            ("renew", "t-renew"),
            ("retry", "t-retry"),
        ],
    },
    Section {
        protocol: "quorum",
        keys: &[
            ("round", "t-round"),
            ("lease", "t-lease"),
            ("promise", "t-promise"),
            ("election", "t-elec"),
            ("coordinator", "t-coord"),
            ("backoff", "t-backoff"),
            ("skew", "t-skew"),
        ],
    },
];

const RING: &[(&str, &str)] =
    &[("hop", "t-hop"), ("lap", "t-lap"), ("watch", "t-detect"), ("heartbeat", "t-heartbeat")];

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
    let tool = Tool { examples: EXAMPLES, more: MORE, sections: SECTIONS, ..tool };
    bellwether_tool::cli::main(tool)
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

#[cfg(test)]
mod tests {
    use super::{SECTIONS, Section};
    use crate::protocol::specifications;

    /// The page lists every key of the daemon: a test of it compares the two.
    #[test]
    fn each_key_is_one_of_the_daemon_and_each_duration_one_of_the_specification() {
        let page = include_str!("../../../docs/daemon.md");
        for Section { protocol, keys } in SECTIONS {
            let of_it = specifications().find(protocol).expect("a protocol");
            for (key, duration) in *keys {
                assert!(page.contains(&format!("\n| `{protocol}.{key}` | ")), "{protocol}.{key}");
                let known = of_it.durations().iter().any(|one| one.name == *duration);
                assert!(known, "{protocol}: {duration}");
            }
        }
    }
}

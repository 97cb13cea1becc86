//! The command line: what the [engine's](bellwether_tool::cli) can do, and `survey`.

mod survey;

pub use bellwether_tool::cli::*;

use crate::protocol::specifications;
use clap::{Args, Command, FromArgMatches};

const EXAMPLES: &[&str] = &[
    "list bully",
    "check bully",
    "explore bully --recoveries 1",
    "tune bully --delay 1..3",
    "survey",
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

const MORE: &[More] = &[More {
    command: || {
        let about = "Decide every protocol in the worlds that matter, as one matrix";
        survey::SurveyArgs::augment_args(Command::new("survey")).about(about).display_order(3)
    },
    run: |tool, flags| survey::run(tool, &survey::SurveyArgs::from_arg_matches(flags)?),
}];

/// Returns the checker's command line.
#[must_use]
pub fn tool() -> Tool {
    let tool = Tool::new("bellwether-model", specifications());
    Tool { examples: EXAMPLES, more: MORE, sections: SECTIONS, ..tool }
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

//! The flags and variables that count more than the configuration file.

use std::time::Duration;

use bellwether::NodeId;
use bellwether::config::{Address, LogFormat, Overrides};
use clap::Args;
use humantime_serde::re::humantime;
use tracing::level_filters::LevelFilter;

/// Each of these counts more than the file; the flag counts more than the variable.
#[derive(Debug, Args)]
pub(crate) struct OverrideArgs {
    /// Which of the members this node is
    #[arg(long, value_name = "ID", env = "BELLWETHER_NODE")]
    node: Option<NodeId>,

    /// Where to listen, if not at the node's own address under [members]
    #[arg(long, value_name = "HOST:PORT", env = "BELLWETHER_LISTEN")]
    listen: Option<Address>,

    /// `T_elec`: how long a candidate waits for an answer, as in 300ms
    #[arg(long, value_name = "TIME", env = "BELLWETHER_ELECTION", value_parser = duration)]
    election: Option<Duration>,

    /// `T_coord`: how long an answered node waits for the winner
    #[arg(long, value_name = "TIME", env = "BELLWETHER_COORDINATOR", value_parser = duration)]
    coordinator: Option<Duration>,

    /// How long a follower bears its leader's silence
    #[arg(long, value_name = "TIME", env = "BELLWETHER_WATCH", value_parser = duration)]
    watch: Option<Duration>,

    /// How often a leader repeats its claim
    #[arg(long, value_name = "TIME", env = "BELLWETHER_HEARTBEAT", value_parser = duration)]
    heartbeat: Option<Duration>,

    /// How much to log: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", env = "BELLWETHER_LOG_LEVEL", value_parser = level)]
    log_level: Option<LevelFilter>,

    /// How to write the log
    #[arg(long, value_name = "FORMAT", env = "BELLWETHER_LOG_FORMAT")]
    log_format: Option<LogFormat>,
}

impl From<&OverrideArgs> for Overrides {
    fn from(args: &OverrideArgs) -> Self {
        Self {
            node: args.node,
            listen: args.listen.clone(),
            election: args.election,
            coordinator: args.coordinator,
            watch: args.watch,
            heartbeat: args.heartbeat,
            log_level: args.log_level,
            log_format: args.log_format,
        }
    }
}

/// A length of time as people write it: 300ms, 1s 500ms, 2min.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let remedy = |error| format!("{error}; write a number and a unit, as in 300ms or 2s");
    humantime::parse_duration(text).map_err(remedy)
}

fn level(text: &str) -> Result<LevelFilter, String> {
    text.parse().map_err(|_| "use off, error, warn, info, debug or trace".to_owned())
}

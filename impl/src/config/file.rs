//! The configuration file: its keys, and what counts more than it.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use humantime_serde::re::humantime::format_duration;
use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;

use super::{Address, ClusterId, Config, Error};
use crate::protocol::{MemberError, NodeId, Timing};

/// The largest file that is read, in bytes. 255 members fit into a tenth of it.
const LARGEST: u64 = 256 * 1024;

/// What flags and environment say; it counts more than the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Which of the members this node is.
    pub node: Option<NodeId>,
    /// Where to listen.
    pub listen: Option<Address>,
    /// How long a candidate waits for an answer.
    pub election: Option<Duration>,
    /// How long an answered node waits for the winner.
    pub coordinator: Option<Duration>,
    /// How long a follower bears its leader's silence.
    pub watch: Option<Duration>,
    /// How often a leader repeats its claim.
    pub heartbeat: Option<Duration>,
    /// How much to log.
    pub log_level: Option<LevelFilter>,
    /// How to write the log.
    pub log_format: Option<LogFormat>,
}

/// What the daemon logs, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// Nothing below this level is logged.
    pub level: LevelFilter,
    /// How it is written.
    pub format: LogFormat,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// For programs: one JSON object a line.
    Json,
}

impl fmt::Display for LogFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Text => "text",
            Self::Json => "json",
        })
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cluster: ClusterId,
    node: Option<NodeNumber>,
    listen: Option<Address>,
    members: BTreeMap<MemberKey, Address>,
    #[serde(default)]
    timing: FileTiming,
    #[serde(default)]
    log: FileLog,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileTiming {
    #[serde(default, with = "humantime_serde")]
    election: Option<Duration>,
    #[serde(default, with = "humantime_serde")]
    coordinator: Option<Duration>,
    #[serde(default, with = "humantime_serde")]
    watch: Option<Duration>,
    #[serde(default, with = "humantime_serde")]
    heartbeat: Option<Duration>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileLog {
    level: Option<Level>,
    format: Option<LogFormat>,
}

/// A node id that stands as a number: `node = 3`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "i64")]
struct NodeNumber(NodeId);

impl TryFrom<i64> for NodeNumber {
    type Error = MemberError;

    fn try_from(number: i64) -> Result<Self, MemberError> {
        number.to_string().parse().map(Self)
    }
}

/// A node id that stands as a key: `3 = "10.0.0.3:7000"`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct MemberKey(NodeId);

impl TryFrom<String> for MemberKey {
    type Error = MemberError;

    fn try_from(text: String) -> Result<Self, MemberError> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct Level(LevelFilter);

impl TryFrom<String> for Level {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let unknown =
            |_| format!("unknown level `{text}`: use off, error, warn, info, debug or trace");
        text.parse().map(Self).map_err(unknown)
    }
}

pub(super) fn load(path: &Path, overrides: &Overrides) -> Result<(Config, Log), Error> {
    let file = parse(path, &read(path)?)?;
    let node = overrides.node.or(file.node.map(|node| node.0)).ok_or(Error::NoNode)?;
    let listen = overrides.listen.clone().or(file.listen);
    let members = file.members.into_iter().map(|(key, address)| (key.0, address)).collect();
    let default = Timing::DEFAULT;
    let given = &file.timing;
    let timing = Timing {
        election: overrides.election.or(given.election).unwrap_or(default.election),
        coordinator: overrides.coordinator.or(given.coordinator).unwrap_or(default.coordinator),
        watch: overrides.watch.or(given.watch).unwrap_or(default.watch),
        heartbeat: overrides.heartbeat.or(given.heartbeat).unwrap_or(default.heartbeat),
    };
    let level = overrides.log_level.or(file.log.level.map(|level| level.0));
    let log = Log {
        level: level.unwrap_or(LevelFilter::INFO),
        format: overrides.log_format.or(file.log.format).unwrap_or_default(),
    };
    Ok((Config::assemble(file.cluster, node, members, listen, timing)?, log))
}

fn read(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let open = std::fs::File::open(path);
    let length = open.and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text));
    match length {
        Ok(length) if length as u64 > LARGEST => Err(Error::Parse {
            path: path.to_owned(),
            problem: format!("larger than {LARGEST} bytes: this is no configuration"),
        }),
        Ok(_) => Ok(text),
        Err(cause) => Err(Error::Read { path: path.to_owned(), cause }),
    }
}

fn parse(path: &Path, text: &str) -> Result<File, Error> {
    toml::from_str(text).map_err(|error| {
        let mut problem = error.to_string();
        if error.message().contains("duplicate key") {
            problem.push_str(
                "every key may stand once; under [members] this means two nodes with one id: give \
                 each its own",
            );
        }
        Error::Parse { path: path.to_owned(), problem: problem.trim_end().to_owned() }
    })
}

impl Config {
    /// The configuration as a file that says everything, defaults included.
    #[must_use]
    pub fn to_toml(&self, log: Log) -> String {
        let Self { cluster, listen, settings, .. } = self;
        let Timing { election, coordinator, watch, heartbeat } = settings.timing;
        let members: String =
            self.addresses().map(|(id, address)| format!("{id} = \"{address}\"\n")).collect();
        format!(
            "cluster = \"{cluster}\"\nnode = {node}\nlisten = \"{listen}\"\n\n\
             [members]\n{members}\n\
             [timing]\nelection = \"{election}\"\ncoordinator = \"{coordinator}\"\n\
             watch = \"{watch}\"\nheartbeat = \"{heartbeat}\"\n\n\
             [log]\nlevel = \"{level}\"\nformat = \"{format}\"\n",
            node = settings.id,
            election = format_duration(election),
            coordinator = format_duration(coordinator),
            watch = format_duration(watch),
            heartbeat = format_duration(heartbeat),
            level = log.level,
            format = log.format,
        )
    }
}

#[cfg(test)]
mod tests;

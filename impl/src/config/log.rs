//! The section `[log]`: what the daemon logs, and how.

use std::fmt;

use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;

/// What the daemon logs, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log {
    /// Nothing below this level is logged.
    pub level: LevelFilter,
    /// How it is written.
    pub format: LogFormat,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "daemon", derive(clap::ValueEnum))]
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

#[derive(Debug, Default, Deserialize)]
pub(super) struct FileLog {
    level: Option<Level>,
    format: Option<LogFormat>,
}

impl FileLog {
    /// What holds if these flags were given.
    pub(super) fn resolve(self, level: Option<LevelFilter>, format: Option<LogFormat>) -> Log {
        Log {
            level: level.or(self.level.map(|level| level.0)).unwrap_or(LevelFilter::INFO),
            format: format.or(self.format).unwrap_or_default(),
        }
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

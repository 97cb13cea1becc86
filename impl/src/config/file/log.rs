//! The section `[log]`: what the daemon logs, and how.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;
#[cfg(feature = "daemon")]
use tracing_subscriber::filter::Targets;

/// The settings of the daemon's log: what it logs, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Log {
    /// The levels below which nothing is logged.
    pub levels: Levels,
    /// The format in which the log is written.
    pub format: LogFormat,
}

/// The level from which on lines are logged, and others for some modules.
///
/// ```
/// let levels: bellwether::config::Levels = "info,bellwether::transport=debug".parse()?;
/// assert_eq!(levels.to_string(), "info,bellwether::transport=debug");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Levels {
    default: LevelFilter,
    /// Modules and their levels, in the order in which they were given.
    modules: Vec<(String, LevelFilter)>,
}

impl Levels {
    /// Returns the filter for a subscriber that keeps to these levels. What rustls says of a single
    /// connection is left out, unless it is asked for, or everything is at `debug`: a stranger
    /// could fill the log with it, and a refused connection is told anyway.
    #[cfg(feature = "daemon")]
    #[must_use]
    pub fn filter(&self) -> Targets {
        let mut targets = Targets::new().with_default(self.default);
        if self.default <= LevelFilter::INFO {
            targets = targets.with_target("rustls", LevelFilter::OFF);
        }
        targets.with_targets(self.modules.iter().cloned())
    }
}

impl Default for Levels {
    fn default() -> Self {
        Self { default: LevelFilter::INFO, modules: Vec::new() }
    }
}

impl fmt::Display for Levels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.default)?;
        self.modules.iter().try_for_each(|(module, level)| write!(f, ",{module}={level}"))
    }
}

impl FromStr for Levels {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut levels = Self::default();
        for (at, part) in text.split(',').map(str::trim).enumerate() {
            match part.split_once('=') {
                Some((module, level)) if !module.trim().is_empty() => {
                    levels.modules.push((module.trim().to_owned(), parse(level.trim())?));
                }
                None if at == 0 => levels.default = parse(part)?,
                _ => {
                    return Err(format!(
                        "`{part}` makes no sense here: write a level, then MODULE=LEVEL for each \
                         module that has another, as in info,bellwether::transport=debug"
                    ));
                }
            }
        }
        Ok(levels)
    }
}

fn parse(level: &str) -> Result<LevelFilter, String> {
    let unknown =
        |_| format!("unknown level `{level}`: use off, error, warn, info, debug or trace");
    level.parse().map_err(unknown)
}

/// The format in which the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "daemon", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogFormat {
    /// The format for people.
    #[default]
    Text,
    /// The format for programs: one JSON object a line.
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
    level: Option<FileLevels>,
    format: Option<LogFormat>,
    /// Where the node writes its steps, whatever it logs.
    pub(super) trace: Option<String>,
    /// The program that judges them, and its arguments.
    #[serde(default)]
    pub(super) monitor: Vec<String>,
}

impl FileLog {
    /// What holds if these flags were given.
    pub(super) fn resolve(self, levels: Option<Levels>, format: Option<LogFormat>) -> Log {
        Log {
            levels: levels.or(self.level.map(|level| level.0)).unwrap_or_default(),
            format: format.or(self.format).unwrap_or_default(),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
struct FileLevels(Levels);

impl TryFrom<String> for FileLevels {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse().map(Self)
    }
}

//! The settings of security, HTTP, the network and the log, in a file or in flags, and what follows
//! from them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;
#[cfg(feature = "daemon")]
use tracing_subscriber::filter::Targets;

use super::values::unknown;
use crate::config::security::secrets;
use crate::config::{Address, Credentials, Error, Http, Mode, NetworkSettings, Security};
use crate::protocol::NodeId;

/// The settings of the security in a file or in flags. A setting that is not given is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct SecuritySettings {
    /// The kind of security.
    pub mode: Option<String>,
    /// Whether nodes on several machines may do without.
    pub allow_plain: Option<bool>,
    /// The path of the file with the secret.
    pub secret_file: Option<String>,
    /// The path of the file with a second secret that is believed as well.
    pub second_secret_file: Option<String>,
    /// The path of the file with the certificates of the authorities.
    pub ca_file: Option<String>,
    /// The path of the file with the certificate of the node.
    pub certificate_file: Option<String>,
    /// The path of the file with the private key of the node.
    pub key_file: Option<String>,
}

impl SecuritySettings {
    /// What holds if `self` counts more than `other`.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            mode: self.mode.or(other.mode),
            allow_plain: self.allow_plain.or(other.allow_plain),
            secret_file: self.secret_file.or(other.secret_file),
            second_secret_file: self.second_secret_file.or(other.second_secret_file),
            ca_file: self.ca_file.or(other.ca_file),
            certificate_file: self.certificate_file.or(other.certificate_file),
            key_file: self.key_file.or(other.key_file),
        }
    }

    /// Reads the credentials of a program that has no configuration.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] when the mode does not exist, needs more than is said, or needs to know
    /// the cluster; and when a file cannot be used.
    pub fn standalone(self) -> Result<Credentials, Error> {
        match self.mode()? {
            Mode::Plain => Ok(Credentials::none()),
            Mode::Secret => {
                let file = self.secret_file.ok_or_else(|| missing(Mode::Secret, "secret_file"))?;
                let second = self.second_secret_file.map(PathBuf::from);
                Ok(Credentials::new(secrets(Path::new(&file), second.as_deref())?))
            }
            Mode::Tls => Err(Error::Security {
                problem: "mode tls needs a configuration (--config): it says which cluster and \
                          node is asked"
                    .to_owned(),
            }),
        }
    }

    fn mode(&self) -> Result<Mode, Error> {
        let Some(text) = self.mode.as_deref() else { return Ok(Mode::Plain) };
        Mode::ALL.into_iter().find(|mode| mode.name() == text).ok_or_else(|| {
            let names = Mode::ALL.map(Mode::name);
            Error::Security { problem: unknown("mode", text, " of security", &names) }
        })
    }

    /// The security of the node with this id.
    pub(super) fn resolve(self, node: NodeId) -> Result<Security, Error> {
        let mode = self.mode()?;
        let fill = |key: &str, path: Option<String>| {
            let path = path.ok_or_else(|| missing(mode, key))?;
            Ok::<_, Error>(PathBuf::from(path.replace("{node}", &node.to_string())))
        };
        Ok(match mode {
            Mode::Plain => Security::Plain { anywhere: self.allow_plain.unwrap_or_default() },
            Mode::Secret => Security::Secret {
                file: fill("secret_file", self.secret_file)?,
                second: self.second_secret_file.map(|path| fill("", Some(path))).transpose()?,
            },
            Mode::Tls => Security::Tls {
                ca: fill("ca_file", self.ca_file)?,
                certificate: fill("certificate_file", self.certificate_file)?,
                key: fill("key_file", self.key_file)?,
            },
        })
    }
}

fn missing(mode: Mode, key: &str) -> Error {
    let (flag, variable) = (key.replace('_', "-"), key.to_uppercase());
    Error::Security {
        problem: format!(
            "mode {mode} needs `{key}` under [security] in the file, --{flag}, or the environment \
             variable BELLWETHER_{variable}"
        ),
    }
}

/// The settings of the HTTP server in a file or in flags. A setting that is not given is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct HttpSettings {
    /// The address on which to listen.
    pub listen: Option<Address>,
    /// The path of the file with the token.
    pub token_file: Option<String>,
    /// The path of the file with the certificate that is shown.
    pub certificate_file: Option<String>,
    /// The path of the file with the private key of the certificate.
    pub key_file: Option<String>,
    /// The path of the file with the authorities whose certificates let a process ask something of
    /// the node.
    pub client_ca_file: Option<String>,
    /// Whether the token may be sent to other machines without encryption.
    pub allow_plain: Option<bool>,
}

impl HttpSettings {
    /// What holds if `self` counts more than `other`.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            listen: self.listen.or(other.listen),
            token_file: self.token_file.or(other.token_file),
            certificate_file: self.certificate_file.or(other.certificate_file),
            key_file: self.key_file.or(other.key_file),
            client_ca_file: self.client_ca_file.or(other.client_ca_file),
            allow_plain: self.allow_plain.or(other.allow_plain),
        }
    }

    /// Returns the settings of a program that is no node.
    #[must_use]
    pub fn standalone(self) -> Http {
        self.fill(PathBuf::from)
    }

    /// What holds for this node.
    pub(super) fn resolve(self, node: NodeId) -> Http {
        self.fill(|text| PathBuf::from(text.replace("{node}", &node.to_string())))
    }

    fn fill(self, path: impl Fn(String) -> PathBuf) -> Http {
        Http {
            listen: self.listen,
            token_file: self.token_file.map(&path),
            certificate_file: self.certificate_file.map(&path),
            key_file: self.key_file.map(&path),
            client_ca_file: self.client_ca_file.map(&path),
            allow_plain: self.allow_plain.unwrap_or_default(),
        }
    }
}

impl NetworkSettings {
    /// What holds if `self` counts more than `other`.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            timeout: self.timeout.or(other.timeout),
            suspect_refused: self.suspect_refused.or(other.suspect_refused),
        }
    }
}

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
                    levels.modules.push((module.trim().to_owned(), level_of(level.trim())?));
                }
                None if at == 0 => levels.default = level_of(part)?,
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

fn level_of(level: &str) -> Result<LevelFilter, String> {
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

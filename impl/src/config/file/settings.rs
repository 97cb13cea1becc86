//! The settings of storage, security and the log, in a file or in flags, and what follows from them.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use tracing::level_filters::LevelFilter;

use super::values::unknown;
use crate::config::fields::section;
use crate::config::security::secrets;
use crate::config::{Credentials, Error, Mode, Security};
use crate::protocol::NodeId;

section! {
    /// The place where a node keeps what must survive a crash.
    pub struct StorageSettings in "storage.", "Node" {
        /// Where to keep what must survive a crash; {node} and {protocol} are replaced
        directory: Option<String> = "data-dir", "DIR", "BELLWETHER_DATA_DIR";
    }
}

section! {
    /// The settings of the security in a file or in flags. A setting that is not given is `None`.
    pub struct SecuritySettings in "security.", "Security" {
        /// How the nodes know each other: plain, secret or tls
        mode: Option<String> = "security", "MODE", "BELLWETHER_SECURITY";
        /// Run with nodes on several machines although nothing protects them
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        allow_plain: bool = "allow-plain", "BOOL", "BELLWETHER_ALLOW_PLAIN",
            hide_short_help = true;
        /// The secret of the cluster; {node} is replaced
        secret_file: Option<String> = "secret-file", "FILE", "BELLWETHER_SECRET_FILE";
        /// Another secret that is believed as well, while the secret is changed; {node} is replaced
        second_secret_file: Option<String> =
            "second-secret-file", "FILE", "BELLWETHER_SECOND_SECRET_FILE", hide_short_help = true;
        /// The certificates of the authorities that have signed those of the nodes
        ca_file: Option<String> = "ca-file", "FILE", "BELLWETHER_CA_FILE", hide_short_help = true;
        /// The certificate of this node; {node} is replaced
        certificate_file: Option<String> =
            "certificate-file", "FILE", "BELLWETHER_CERTIFICATE_FILE", hide_short_help = true;
        /// The private key of this node; {node} is replaced
        key_file: Option<String> = "key-file", "FILE", "BELLWETHER_KEY_FILE", hide_short_help = true;
    }
}

section! {
    /// The files that the store of the lease is shown by a process without a file.
    pub struct StoreFiles in "lease.", "Without a file" {
        /// The password for the store
        store_password_file: Option<String> = "store-password-file", "FILE", hide_short_help = true;
        /// The authorities that have signed the certificate of the store
        store_ca_file: Option<String> = "store-ca-file", "FILE", hide_short_help = true;
        /// The certificate to show to the store
        store_certificate_file: Option<String> =
            "store-certificate-file", "FILE", hide_short_help = true;
        /// The private key of that certificate
        store_key_file: Option<String> = "store-key-file", "FILE", hide_short_help = true;
        /// The token to show to the store
        store_token_file: Option<String> = "store-token-file", "FILE", hide_short_help = true;
    }
}

section! {
    /// The settings of the log and of the trace. A setting that is not given is `None`.
    pub struct LogSettings in "log.", "Log" {
        /// How much to log: off, error, warn, info, debug or trace, and MODULE=LEVEL after a comma
        /// for modules with another level
        level: Option<Levels> = "log-level", "LEVEL", "BELLWETHER_LOG_LEVEL";
        /// How to write the log
        format: Option<LogFormat> = "log-format", "FORMAT", "BELLWETHER_LOG_FORMAT",
            hide_short_help = true;
        /// Where to write a line for each step of the node; {node} and {protocol} are replaced
        trace: Option<String> = "trace", "FILE", "BELLWETHER_TRACE", hide_short_help = true;
    }
}

impl SecuritySettings {
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
            Mode::Plain => Security::Plain { anywhere: self.allow_plain },
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
/// let levels: bellwether::internal::config::Levels = "info,bellwether::transport=debug".parse()?;
/// assert_eq!(levels.to_string(), "info,bellwether::transport=debug");
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Levels {
    /// The level of a module that has none of its own.
    pub default: LevelFilter,
    /// Modules and their levels, in the order in which they were given.
    pub modules: Vec<(String, LevelFilter)>,
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
#[cfg_attr(feature = "flags", derive(clap::ValueEnum))]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum LogFormat {
    /// The format for people.
    #[default]
    Text,
    /// The format for programs: one JSON object a line.
    Json,
}

impl TryFrom<String> for Levels {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Levels> for String {
    fn from(levels: Levels) -> Self {
        levels.to_string()
    }
}

impl LogSettings {
    /// The log that is meant, with a default for what is not said.
    pub(super) fn resolve(self) -> Log {
        Log { levels: self.level.unwrap_or_default(), format: self.format.unwrap_or_default() }
    }
}

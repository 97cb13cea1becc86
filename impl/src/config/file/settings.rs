//! What a file or flags say of security, HTTP and the network, and what follows from it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

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

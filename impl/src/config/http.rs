//! The section `[http]`: where a node says by HTTP how it is, and what it takes to ask something of
//! it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use zeroize::Zeroizing;

use super::fields::section;
use super::security::expiry::CertificateUse;
use super::security::tls::{self, Certificates};
use super::{Address, Error, security};
#[cfg(feature = "config-file")]
use crate::protocol::NodeId;

/// The smallest length of a token, in bytes.
pub const SHORTEST_TOKEN: usize = 16;

section! {
    /// The HTTP server of a node: where it reports its status, and what it takes to ask something of
    /// it. A path in a configuration has `{node}` in the place of the id.
    #[non_exhaustive]
    pub struct Http in "http.", "HTTP" {
        /// Where to say by HTTP how the node is
        listen: Option<Address> = "http", "HOST:PORT", "BELLWETHER_HTTP";
        /// The token that lets a process ask something of the node by HTTP; {node} is replaced
        token_file: Option<PathBuf> = "token-file", "FILE", "BELLWETHER_TOKEN_FILE",
            value_parser = text_path, hide_short_help = true;
        /// The certificate to show by HTTP; {node} is replaced
        certificate_file: Option<PathBuf> =
            "http-certificate-file", "FILE", "BELLWETHER_HTTP_CERTIFICATE_FILE",
            value_parser = text_path, hide_short_help = true;
        /// Its private key; {node} is replaced
        key_file: Option<PathBuf> = "http-key-file", "FILE", "BELLWETHER_HTTP_KEY_FILE",
            value_parser = text_path, hide_short_help = true;
        /// The authorities whose certificates let a process ask something of the node by HTTP
        client_ca_file: Option<PathBuf> =
            "http-client-ca-file", "FILE", "BELLWETHER_HTTP_CLIENT_CA_FILE",
            value_parser = text_path, hide_short_help = true;
        /// Serve HTTP with a token to other machines although it is not encrypted
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        allow_plain: bool = "http-allow-plain", "BOOL", "BELLWETHER_HTTP_ALLOW_PLAIN",
            hide_short_help = true;
    }
}

/// A path that a configuration can have is text.
#[cfg(feature = "flags")]
fn text_path(text: &str) -> Result<PathBuf, std::convert::Infallible> {
    Ok(text.into())
}

impl Http {
    /// Returns these settings with the paths of this node.
    #[cfg(feature = "config-file")]
    pub(super) fn of_node(mut self, node: NodeId) -> Self {
        let Self { token_file, certificate_file, key_file, client_ca_file, .. } = &mut self;
        for path in [token_file, certificate_file, key_file, client_ca_file].into_iter().flatten() {
            let text = path.to_string_lossy().replace("{node}", &node.to_string());
            *path = text.into();
        }
        self
    }

    /// Reads the token, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] when its file cannot be used.
    pub fn token(&self) -> Result<Option<Token>, Error> {
        self.token_file.as_deref().map(Token::read).transpose()
    }

    /// Reads the certificates, if HTTP is encrypted.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] when a file cannot be used, and when the program was built without the
    /// feature `tls`.
    pub fn certificates(&self) -> Result<Option<Certificates>, Error> {
        let (Some(certificate), Some(key)) = (&self.certificate_file, &self.key_file) else {
            return Ok(None);
        };
        tls::for_http(certificate, key, self.client_ca_file.as_deref()).map(Some)
    }

    /// The files of certificates that it names.
    pub(super) fn certificate_files(&self) -> impl Iterator<Item = (CertificateUse, &Path)> {
        let files = [
            (CertificateUse::Http, self.certificate_file.as_deref()),
            (CertificateUse::HttpAuthority, self.client_ca_file.as_deref()),
        ];
        files.into_iter().filter_map(|(which, file)| Some((which, file?)))
    }

    /// Whether this makes sense, and no token goes over a network for all to read.
    pub(super) fn check(&self) -> Result<(), Error> {
        let problem = match self {
            Self { certificate_file: Some(_), key_file: None, .. } => {
                "`certificate_file` under [http] needs `key_file`"
            }
            Self { certificate_file: None, key_file: Some(_), .. } => {
                "`key_file` under [http] needs `certificate_file`"
            }
            Self { client_ca_file: Some(_), certificate_file: None, .. } => {
                "`client_ca_file` under [http] needs `certificate_file` and `key_file`: clients \
                 show certificates only where the node does"
            }
            _ => match self.exposed() {
                Some(address) if !self.allow_plain => {
                    let problem = format!(
                        "{address} is not an address of this machine alone, and HTTP is not \
                         encrypted there: a process that listens to the network learns the token; \
                         set `certificate_file` and `key_file` under [http], listen on 127.0.0.1, \
                         or, in a network that you trust, set `allow_plain = true` there"
                    );
                    return Err(Error::Security { problem });
                }
                _ => return Ok(()),
            },
        };
        Err(Error::Security { problem: problem.to_owned() })
    }

    /// The warning about a token that is sent without encryption; none if it is not.
    pub(super) fn warning(&self) -> Option<String> {
        let address = self.exposed()?;
        Some(format!(
            "HTTP IS NOT ENCRYPTED: a process that listens to the network of {address} learns the \
             token; set `certificate_file` and `key_file` under [http]: see `bellwether help keys`"
        ))
    }

    /// The address of this node to which the token is sent over a network without encryption.
    fn exposed(&self) -> Option<&Address> {
        let plain = self.token_file.is_some() && self.certificate_file.is_none();
        self.listen.as_ref().filter(|address| plain && !address.is_loopback())
    }
}

/// The token that a process shows to be allowed to ask something of a node. It is not printed.
#[derive(Clone)]
pub struct Token(Arc<Zeroizing<Vec<u8>>>);

impl Token {
    /// Reads the token in this file, which no other user may read.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] when the file cannot be used.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = security::read_private(path)?;
        Self::new(bytes.trim_ascii()).map_err(|problem| Error::Security {
            problem: format!("the token in {}: {problem}", path.display()),
        })
    }

    /// Makes a token of these bytes.
    ///
    /// # Errors
    ///
    /// What is wrong with it: it must have 16 visible characters at least.
    pub fn new(token: &[u8]) -> Result<Self, String> {
        if token.len() < SHORTEST_TOKEN || !token.iter().all(u8::is_ascii_graphic) {
            return Err(format!(
                "use at least {SHORTEST_TOKEN} letters, digits and signs in one line, as from \
                 `bellwether keys secret FILE`"
            ));
        }
        Ok(Self(Arc::new(Zeroizing::new(token.to_vec()))))
    }

    /// Returns the bytes of the token.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_visible() {
        assert!(Token::new(b"0123456789abcdef").is_ok());
        for bad in ["0123456789abcde", "0123456789 abcdef", "0123456789\tabcdef", ""] {
            assert!(Token::new(bad.as_bytes()).is_err(), "{bad}");
        }
        let token = Token::new(b"0123456789abcdef").expect("good");
        assert_eq!(format!("{token:?}"), "Token(..)");
    }
}

//! TLS towards a store: the certificate of the store must be from an authority that the
//! configuration names, and the client shows a certificate of its own if it has one.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bellwether_core::store::StoreResult;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, crypto, version};

use crate::address::Files;
use crate::causes::causes;
use crate::private_file;
use crate::values::unfit;

/// The question for a person where two sides do not understand each other, one of which may speak
/// TLS.
pub(crate) const SPEAKS_TLS: &str = "does the server speak TLS at this port?";

/// Returns this problem, with the question whether the server speaks TLS.
pub(crate) fn with_tls_asked(problem: &dyn Display) -> String {
    format!("{problem}; {SPEAKS_TLS}")
}

/// The authorities that have signed the certificate of the store, and the certificate that is shown
/// to it. An adapter reads the files for each connection: certificates are replaced while the
/// program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Certificates {
    ca: PathBuf,
    /// The certificate that is shown, and its key.
    pub(crate) own: Option<(PathBuf, PathBuf)>,
}

impl Certificates {
    /// Returns the certificates that `files` name; with `ca` where these have no authorities.
    pub(crate) fn of(files: &Files, ca: Option<PathBuf>) -> Result<Self, String> {
        let ca = files.ca.clone().or(ca).ok_or(
            "the store is spoken to by TLS: name the file with the authorities that have signed \
             its certificate, by `store_ca_file`",
        )?;
        Ok(Self { ca, own: files.own()? })
    }

    /// Returns the settings with which a client checks the certificate of a server.
    pub(crate) fn client(&self) -> StoreResult<ClientConfig> {
        let remedy = "correct the files with the certificates for the store";
        self.read().map_err(|problem| unfit(problem, remedy))
    }

    fn read(&self) -> Result<ClientConfig, String> {
        let ca = &self.ca;
        let mut roots = RootCertStore::empty();
        for root in certificates(ca)? {
            roots.add(root).map_err(|error| wrong(ca, &error))?;
        }
        let provider = Arc::new(crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])
            .map_err(|error| wrong(ca, &error))?
            .with_root_certificates(roots);
        let Some((certificate, key)) = &self.own else { return Ok(builder.with_no_client_auth()) };
        let shown = builder.with_client_auth_cert(certificates(certificate)?, private_key(key)?);
        shown.map_err(|error| {
            let problem = format!("does not fit to {}: {error}", key.display());
            wrong(certificate, &problem)
        })
    }
}

impl Files {
    /// Checks that a store takes these files. Its address begins with `scheme` if it is spoken to
    /// by TLS, which `encrypted` says it is. What is said to a store that is `exposed` can be read
    /// in a network.
    pub(crate) fn suit(
        &self,
        store: &str,
        scheme: &str,
        encrypted: bool,
        exposed: bool,
    ) -> Result<(), String> {
        let are_for_tls = self.ca.is_some() || self.certificate.is_some() || self.key.is_some();
        if self.token.is_some() {
            Err(format!("{store} has no use for a token: leave out `store_token_file`"))
        } else if are_for_tls && !encrypted {
            Err(format!(
                "certificates are for TLS: write `{scheme}://` in the address, or leave them out"
            ))
        } else if self.password.is_some() && exposed {
            Err(format!(
                "the password would go over a network for all to read: write `{scheme}://` and \
                 name `store_ca_file`, or go through a tunnel that begins at localhost"
            ))
        } else {
            Ok(())
        }
    }

    /// Returns the files with the certificate that is shown and its key, if any are named.
    pub(crate) fn own(&self) -> Result<Option<(PathBuf, PathBuf)>, &'static str> {
        match (self.certificate.clone(), self.key.clone()) {
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            (None, None) => Ok(None),
            _ => Err("a certificate for the store needs its key, and a key its certificate: name \
                      `store_certificate_file` and `store_key_file`, or neither"),
        }
    }
}

/// Returns the error that has ended a handshake as text, with a question if the other side may not
/// speak TLS.
pub(crate) fn told(error: &io::Error) -> String {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    let is_foreign = match inner {
        Some(inner) => matches!(inner, rustls::Error::InvalidMessage(_)),
        None => {
            matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
        }
    };
    let said = causes(error);
    if is_foreign { with_tls_asked(&said) } else { said }
}

fn wrong(path: &Path, problem: &dyn Display) -> String {
    format!("{}: {problem}", path.display())
}

/// Reads the certificates in a file; one at least.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = private_file::read_public(path).map_err(|error| error.to_string())?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    read.ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| wrong(path, &"has no certificate in PEM format"))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let text = private_file::read(path).map_err(|error| error.to_string())?;
    PrivateKeyDer::from_pem_slice(&text)
        .map_err(|_| wrong(path, &"has no private key in PEM format"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_come_in_pairs_with_their_authorities() {
        let file = |name: &str| Some(PathBuf::from(name));
        let ca = Files { ca: file("ca.pem"), ..Files::default() };
        let alone = Certificates::of(&ca, None).expect("authorities");
        assert_eq!(alone, Certificates { ca: "ca.pem".into(), own: None });
        assert_eq!(Certificates::of(&Files::default(), file("ca.pem")), Ok(alone));
        let pair = "name `store_certificate_file` and `store_key_file`";
        for (files, part) in [
            (Files::default(), "authorities"),
            (Files { certificate: file("own.pem"), ..ca.clone() }, pair),
            (Files { key: file("own.key"), ..ca }, pair),
        ] {
            let problem = Certificates::of(&files, None).expect_err("refused");
            assert!(problem.contains(part), "{problem}");
        }
    }
}

//! TLS towards a store: its certificate must be from an authority that the configuration names, and
//! this side shows one of its own if it has one.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, crypto, version};

use super::{StoreError, StoreResult, with_tls_asked};
use crate::causes::causes;
use crate::private_file;

/// What a client needs to check the certificate of a server: the file with the authorities, and the
/// certificate that is shown, with its key.
pub(super) fn client(ca: &Path, own: Option<(&Path, &Path)>) -> StoreResult<ClientConfig> {
    read(ca, own).map_err(|problem| StoreError::Unfit {
        problem,
        remedy: "correct the files with the certificates for the store".to_owned(),
    })
}

/// What has ended a handshake, and a question if the other side may not speak TLS.
pub(super) fn told(error: &io::Error) -> String {
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

fn read(ca: &Path, own: Option<(&Path, &Path)>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    for root in certificates(ca)? {
        roots.add(root).map_err(|error| wrong(ca, &error))?;
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .map_err(|error| wrong(ca, &error))?
        .with_root_certificates(roots);
    let Some((certificate, key)) = own else { return Ok(builder.with_no_client_auth()) };
    builder.with_client_auth_cert(certificates(certificate)?, private_key(key)?).map_err(|error| {
        let problem = format!("does not fit to {}: {error}", key.display());
        wrong(certificate, &problem)
    })
}

fn wrong(path: &Path, problem: &dyn Display) -> String {
    format!("{}: {problem}", path.display())
}

/// The certificates in a file; one at least.
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

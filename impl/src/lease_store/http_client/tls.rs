//! TLS towards a store: its certificate must be from an authority that the configuration names, and
//! this side shows one of its own if it has one.
//!
//! Without the feature `tls`, the file `without_tls.rs` is in the place of this one.

use std::fmt::Display;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, crypto, version};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client};
use zeroize::Zeroizing;

/// The largest file with a key or certificates, in bytes. A cluster of Kubernetes may have many
/// authorities.
const LARGEST: u64 = 256 * 1024;

/// What a client needs to check the certificate of a server.
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Reads the authorities, and the certificate that is shown with its key.
    pub(super) fn load(ca: &Path, own: Option<(&Path, &Path)>) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        for root in certificates(ca)? {
            roots.add(root).map_err(|error| wrong(ca, &error))?;
        }
        let builder =
            ClientConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
                .with_protocol_versions(&[&version::TLS13])
                .map_err(|error| wrong(ca, &error))?
                .with_root_certificates(roots);
        let mut config = match own {
            Some((certificate, key)) => builder
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| {
                    let problem = format!("does not fit to {}: {error}", key.display());
                    wrong(certificate, &problem)
                })?,
            None => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(Arc::new(config).into()))
    }

    /// Asks the server for its certificate, which must be that of this host.
    pub(super) async fn connect(
        &self,
        host: &str,
        stream: TcpStream,
    ) -> io::Result<client::TlsStream<TcpStream>> {
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        self.0.connect(name, stream).await
    }
}

fn wrong(path: &Path, problem: &dyn Display) -> String {
    format!("{}: {problem}", path.display())
}

/// The content of a file. It is overwritten when it is dropped: it may be a key.
fn content(path: &Path) -> Result<Zeroizing<Vec<u8>>, String> {
    // Room for all: a vector that grows leaves copies behind.
    let mut bytes = Zeroizing::new(Vec::with_capacity(16 * 1024));
    let read =
        std::fs::File::open(path).and_then(|file| file.take(LARGEST).read_to_end(&mut bytes));
    read.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    Ok(bytes)
}

/// The certificates in a file; one at least.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&content(path)?).collect();
    read.ok()
        .filter(|certificates| !certificates.is_empty())
        .ok_or_else(|| wrong(path, &"has no certificate in PEM format"))
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, String> {
    PrivateKeyDer::from_pem_slice(&content(path)?)
        .map_err(|_| wrong(path, &"has no private key in PEM format"))
}

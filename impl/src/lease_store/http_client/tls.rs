//! TLS around the connection to a store.
//!
//! Without the feature `tls`, the file `without_tls.rs` is in the place of this one.

use std::io;
use std::sync::Arc;

use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client};

use crate::lease_store::certificates::Certificates;
use crate::lease_store::{StoreResult, tls};

/// What a client needs to check the certificate of a server.
pub(super) struct Tls(TlsConnector);

impl Tls {
    /// Reads the authorities, and the certificate that is shown with its key.
    pub(super) fn load(certificates: &Certificates) -> StoreResult<Self> {
        let (ca, own) = certificates.paths();
        let mut config = tls::client(ca, own)?;
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
        let connected = self.0.connect(name, stream).await;
        connected.map_err(|error| io::Error::other(tls::told(&error)))
    }
}

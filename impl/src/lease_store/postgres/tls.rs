//! TLS to a server of PostgreSQL: what its client asks for, on rustls.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;
use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::{TlsConnector, client};

use crate::lease_store::{StoreResult, tls};

/// What makes connections with TLS: the certificate of the server is verified, with its name.
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Reads the files.
    pub(super) fn read(ca: &Path, own: Option<(&Path, &Path)>) -> StoreResult<Self> {
        Ok(Self(Arc::new(tls::client(ca, own)?)))
    }
}

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Encrypted;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, InvalidDnsNameError> {
        let server = ServerName::try_from(domain.to_owned())?;
        Ok(Handshake { connector: TlsConnector::from(Arc::clone(&self.0)), server })
    }
}

/// What is left to do on a connection.
pub(super) struct Handshake {
    connector: TlsConnector,
    server: ServerName<'static>,
}

impl TlsConnect<Socket> for Handshake {
    type Stream = Encrypted;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Encrypted>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let connected = self.connector.connect(self.server, stream).await;
            let stream = connected.map_err(|error| io::Error::other(tls::told(&error)))?;
            Ok(Encrypted(stream.into()))
        })
    }
}

/// A connection on which the handshake is done.
pub(super) struct Encrypted(Box<client::TlsStream<Socket>>);

impl TlsStream for Encrypted {
    /// The password is not bound to the certificate: the name in that is verified.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl AsyncRead for Encrypted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Encrypted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

//! Connections by TCP to the servers of stores.

use std::fmt::Display;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bellwether_core::store::{StoreError, StoreResult};
use futures::future::select_ok;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpStream, ToSocketAddrs, lookup_host};
use tokio_rustls::TlsConnector;

use crate::causes::causes;
use crate::tls;
use crate::values::one_line;

/// The most bytes that a server may send between two questions.
const LARGEST: usize = 64 * 1024;

/// A stream of bytes in both directions.
pub(crate) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// Connects to a server, and encrypts the connection if there are settings for that, with the name
/// for which the certificate of the server must be. Errors name the server `who`.
pub(crate) async fn connect(
    who: &(dyn Display + Sync),
    server: impl ToSocketAddrs,
    tls: Option<(ServerName<'static>, ClientConfig)>,
    limit: Duration,
) -> StoreResult<Box<dyn Duplex>> {
    let away = |problem: String| StoreError::Unreachable(format!("{who}: {problem}"));
    let stream = reach(server, limit).await.map_err(|error| away(causes(&error)))?;
    let Some((host, config)) = tls else { return Ok(Box::new(stream)) };
    let stream = TlsConnector::from(Arc::new(config)).connect(host, stream).await;
    let told = |error: io::Error| away(format!("TLS: {}", one_line(&tls::told(&error))));
    Ok(Box::new(stream.map_err(told)?))
}

/// A stream that ends with an error if the server sends more than [`LARGEST`] bytes between two
/// questions.
pub(crate) struct Limited {
    stream: Box<dyn Duplex>,
    /// The bytes that the server has sent since the last question.
    heard: usize,
}

impl Limited {
    pub(crate) fn new(stream: Box<dyn Duplex>) -> Self {
        Self { stream, heard: 0 }
    }
}

impl AsyncRead for Limited {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        self.heard += buffer.filled().len() - before;
        Poll::Ready(if self.heard > LARGEST {
            Err(io::Error::other(format!("an answer of more than {LARGEST} bytes")))
        } else {
            Ok(())
        })
    }
}

impl AsyncWrite for Limited {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.heard = 0;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// Connects to the address that answers first. The kernel sends bytes that stay unanswered for
/// `limit` no longer.
async fn reach(server: impl ToSocketAddrs, limit: Duration) -> io::Result<TcpStream> {
    let addresses: Vec<_> = lookup_host(server).await?.collect();
    if addresses.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the host has no address"));
    }
    let streams = addresses.into_iter().map(|address| Box::pin(TcpStream::connect(address)));
    let (stream, _) = select_ok(streams).await?;
    let prepared = stream.set_nodelay(true).and_then(|()| end_unanswered(&stream, limit));
    if let Err(error) = prepared {
        tracing::debug!(%error, "the kernel refuses a socket option");
    }
    Ok(stream)
}

/// Limits the time for which the kernel goes on sending the question of a connection that was given
/// up. Otherwise the kernel does so for a quarter of an hour, and delivers the question when the
/// network heals.
#[cfg(target_os = "linux")]
fn end_unanswered(stream: &TcpStream, limit: Duration) -> io::Result<()> {
    // 0 is no limit.
    let milliseconds = u32::try_from(limit.as_millis()).unwrap_or(u32::MAX).max(1);
    rustix::net::sockopt::set_tcp_user_timeout(stream, milliseconds)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn end_unanswered(_: &TcpStream, _: Duration) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::listener;

    #[tokio::test]
    async fn bytes_that_were_given_up_are_sent_no_longer() {
        let (_listener, port) = listener().await;
        for (limit, milliseconds) in [(Duration::from_secs(2), 2_000), (Duration::ZERO, 1)] {
            let stream = reach(("127.0.0.1", port), limit).await.expect("it listens");
            assert!(stream.nodelay().expect("an option"));
            #[cfg(target_os = "linux")]
            assert_eq!(rustix::net::sockopt::tcp_user_timeout(&stream), Ok(milliseconds));
            #[cfg(not(target_os = "linux"))]
            let _ = milliseconds;
        }
    }
}

//! Connections by TCP to the servers of stores.

use std::io;
use std::time::Duration;

use futures::future::select_ok;
use tokio::net::{TcpStream, ToSocketAddrs, lookup_host};

/// Connects to the address that answers first. The kernel sends bytes that stay unanswered for
/// `limit` no longer.
pub(crate) async fn reach(server: impl ToSocketAddrs, limit: Duration) -> io::Result<TcpStream> {
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

//! What the kernel is asked to do with a connection: send at once, and notice dead peers early.
//! Probes of the kernel's own are not needed. A node that has nothing to say pings, the side that
//! hears nothing ends the connection, and the side that is not answered does so, too.

use std::time::Duration;

use tokio::net::TcpStream;

/// Prepares a connection.
///
/// `unanswered` bounds how long sent bytes may stay unacknowledged. Without it the kernel of a node
/// that was cut off goes on sending for a quarter of an hour, and delivers old messages when the
/// link heals. What the kernel refuses to do is not needed to be correct, so it is only logged.
pub(crate) fn set_options(stream: &TcpStream, unanswered: Duration) {
    let result = stream.set_nodelay(true).and_then(|()| kernel_limits(stream, unanswered));
    if let Err(error) = result {
        tracing::debug!(%error, "the kernel refuses a socket option");
    }
}

/// Whether both ends of the connection are the same socket. TCP allows that when no process listens
/// on a port of this machine and the system happens to give the caller that very port.
pub(crate) fn is_self_connected(stream: &TcpStream) -> bool {
    matches!((stream.local_addr(), stream.peer_addr()), (Ok(own), Ok(other)) if own == other)
}

#[cfg(target_os = "linux")]
fn kernel_limits(stream: &TcpStream, unanswered: Duration) -> std::io::Result<()> {
    use rustix::net::sockopt;
    let milliseconds = u32::try_from(unanswered.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(stream, milliseconds)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn kernel_limits(_: &TcpStream, _: Duration) -> std::io::Result<()> {
    Ok(())
}

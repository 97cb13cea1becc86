//! How a connection to a server of Redis is opened: in clear by the crate that speaks its protocol,
//! and with TLS on a stream that is made here. The TLS of that crate would bring further packages,
//! and would trust the authorities of the system.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures::future::select_ok;
use redis::aio::MultiplexedConnection;
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind, RedisError};
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::explain;
use crate::causes::causes;
use crate::lease_store::certificates::Certificates;
use crate::lease_store::{StoreError, StoreResult, tls, with_tls_asked};

/// What may help if the server hangs up on a client that has shown no certificate.
const ASKS: &str = "if the server asks for a certificate, name `store_certificate_file` and \
                    `store_key_file`";

/// What it takes to speak to a server by TLS.
#[derive(Clone, Debug)]
pub(super) struct Tls {
    /// The host, and what the certificate of the server must be for.
    host: ServerName<'static>,
    port: u16,
    certificates: Certificates,
}

/// A connection, and the task that moves its bytes if the crate has none for it. The task ends with
/// the set.
type Opened = (MultiplexedConnection, JoinSet<()>);

/// Connects, and logs in. All of it takes no longer than the limit, and neither does a question.
pub(super) async fn open(
    server: ConnectionInfo,
    tls: Option<&Tls>,
    config: AsyncConnectionConfig,
    limit: Duration,
) -> StoreResult<Opened> {
    let server = server.set_tcp_settings(tcp(limit));
    let config = config.set_connection_timeout(Some(limit)).set_response_timeout(Some(limit));
    if let Some(tls) = tls {
        let late = || explain(&RedisError::from(io::Error::from(io::ErrorKind::TimedOut)));
        return timeout(limit, tls.open(&server, config)).await.map_err(|_| late())?;
    }
    let by_network = matches!(server.addr(), ConnectionAddr::Tcp(..));
    let client = Client::open(server).map_err(|error| explain(&error))?;
    let connection = client.get_multiplexed_async_connection_with_config(&config).await;
    let connection = connection.map_err(|error| match explain(&error) {
        StoreError::Away(problem) if by_network && is_foreign(&error) => {
            StoreError::Away(with_tls_asked(&problem))
        }
        other => other,
    });
    Ok((connection?, JoinSet::new()))
}

/// Whether a server has hung up, or has said what is no Redis.
fn is_foreign(error: &RedisError) -> bool {
    let hung_up = error.is_connection_dropped() && !error.is_connection_refusal();
    hung_up || error.kind() == ErrorKind::Parse
}

/// Whether a server has ended a connection on which the handshake was done, or has refused it by
/// an alert of TLS. The crate keeps the alert for its text only.
fn is_turned_away(error: &RedisError) -> bool {
    error.is_connection_dropped() || error.to_string().contains("received fatal alert")
}

impl Tls {
    /// Returns what it takes to speak to this host; `None` if no certificate can be for it.
    pub(super) fn new(host: &str, port: u16, certificates: Certificates) -> Option<Self> {
        let host = ServerName::try_from(host.to_owned()).ok()?;
        Some(Self { host, port, certificates })
    }

    async fn open(
        &self,
        server: &ConnectionInfo,
        config: AsyncConnectionConfig,
    ) -> StoreResult<Opened> {
        let (ca, own) = self.certificates.paths();
        let connector = TlsConnector::from(Arc::new(tls::client(ca, own)?));
        let stream = self.reach(server.tcp_settings()).await;
        let stream =
            stream.map_err(|error| StoreError::Away(format!("Redis: {}", causes(&error))))?;
        let stream = connector.connect(self.host.clone(), stream).await;
        let stream = stream
            .map_err(|error| StoreError::Away(format!("Redis: TLS: {}", tls::told(&error))))?;
        let user = server.redis_settings();
        let opened = MultiplexedConnection::new_with_config(user, stream, config).await;
        // Only now a server of TLS 1.3 refuses a client, and it may hang up before its reason is
        // read.
        let (connection, driver) = opened.map_err(|error| match explain(&error) {
            StoreError::Away(problem) if own.is_none() && is_turned_away(&error) => {
                StoreError::Away(format!("{problem}; {ASKS}"))
            }
            other => other,
        })?;
        let mut task = JoinSet::new();
        task.spawn(driver);
        Ok((connection, task))
    }

    /// Connects to the address of the host that answers first, as the crate does.
    async fn reach(&self, settings: &TcpSettings) -> io::Result<TcpStream> {
        let host = self.host.to_str();
        let addresses: Vec<_> = lookup_host((&*host, self.port)).await?.collect();
        if addresses.is_empty() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "the host has no address"));
        }
        let streams = addresses.into_iter().map(|address| Box::pin(TcpStream::connect(address)));
        let (stream, _) = select_ok(streams).await?;
        prepare(&stream, settings)?;
        Ok(stream)
    }
}

/// Without this the kernel goes on sending the question of a connection that was given up, and
/// delivers it when the network heals.
#[cfg(target_os = "linux")]
fn tcp(limit: Duration) -> TcpSettings {
    // 0 is no limit.
    let limit = limit.max(Duration::from_millis(1));
    TcpSettings::default().set_nodelay(true).set_user_timeout(limit)
}

#[cfg(not(target_os = "linux"))]
fn tcp(_: Duration) -> TcpSettings {
    TcpSettings::default().set_nodelay(true)
}

/// Sets what the crate sets on the streams that it opens itself.
fn prepare(stream: &TcpStream, settings: &TcpSettings) -> io::Result<()> {
    stream.set_nodelay(settings.nodelay())?;
    #[cfg(target_os = "linux")]
    redis::io::tcp::socket2::SockRef::from(stream).set_tcp_user_timeout(settings.user_timeout())?;
    Ok(())
}

#[cfg(test)]
mod tests;

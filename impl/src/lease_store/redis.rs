//! The lease in two keys of Redis, or of what speaks its protocol.
//!
//! The one key is the lease, `HOLDER TOKEN`, and expires by the server's own clock. The other is
//! the newest token, and does not expire: were it in the lease, the tokens would begin anew after
//! each holder that was too late. Each question is one script, and the server runs no two commands
//! at once, so nothing comes between what it reads and what it writes. The hash tag in the names
//! keeps both keys on one node.
//!
//! A script that changes the holder publishes that on a channel with the name of the key, and the
//! clients subscribe to it, on the connection on which they ask (RESP3, from Redis 6 on). The
//! server tells of no expiry, so a client waits for that itself.
//!
//! A connection in clear is opened by the crate that speaks the protocol, and one with TLS is a
//! stream that is made here. The TLS of that crate would bring further packages, and would trust
//! the authorities of the system.
//!
//! What Redis has answered may still be lost: it writes to its disk later, if at all, and to its
//! replicas later. Then two nodes have the lease, with one token, and no rule here prevents it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, select_ok};
use redis::aio::{MultiplexedConnection, SendError};
use redis::io::tcp::TcpSettings;
use redis::{AsyncConnectionConfig, Client, ConnectionAddr, ConnectionInfo, ErrorKind};
use redis::{ProtocolVersion, PushInfo, PushKind, RedisError, ServerErrorKind};
use rustls::pki_types::ServerName;
use tokio::net::{TcpStream, lookup_host};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tokio_rustls::TlsConnector;

use super::address::{Certificates, Files};
use super::server::{self, Hearer, Teller};
use super::values::{self, damaged, milliseconds, node, number};
use super::{Answer, Connect, LeaseStore, Record, Settings, StoreError, StoreResult};
use super::{secret, tls, with_tls_asked};
use crate::causes::causes;
use crate::protocol::NodeId;
use crate::protocol::lease::Token;

const WARNING: &str = "\
Redis acknowledges what it may lose: two nodes may have the lease at once, with the same token, if \
a replica takes over that lacks the last writes, or if the server starts again without them";

/// Grants the lease to the node `ARGV[1]` for `ARGV[2]` milliseconds. The token is read as text:
/// the numbers of Lua lose digits.
const ACQUIRE: &str = "\
local done = 0
local lease = redis.call('GET', KEYS[1])
if not lease or string.match(lease, '^%d+') == ARGV[1] then
  redis.call('INCR', KEYS[2])
  lease = ARGV[1] .. ' ' .. redis.call('GET', KEYS[2])
  redis.call('SET', KEYS[1], lease, 'PX', ARGV[2])
  redis.call('PUBLISH', KEYS[1], 'granted')
  done = 1
end";

/// Extends the lease `ARGV[1]` to `ARGV[2]` milliseconds from now.
const RENEW: &str = "\
local done = 0
if redis.call('GET', KEYS[1]) == ARGV[1] then
  done = redis.call('PEXPIRE', KEYS[1], ARGV[2])
end";

/// Gives back the lease `ARGV[1]`.
const RELEASE: &str = "\
local done = 0
if redis.call('GET', KEYS[1]) == ARGV[1] then
  done = redis.call('DEL', KEYS[1])
  redis.call('PUBLISH', KEYS[1], 'released')
end";

const READ: &str = "local done = 0";

/// How each script ends: with what is there afterwards.
const RETURN: &str = "\
return {done, redis.call('GET', KEYS[1]) or '', redis.call('PTTL', KEYS[1]),
  redis.call('GET', KEYS[2]) or '0'}";

/// The commands that a user of the server must be allowed.
const COMMANDS: &str =
    "+hello +auth +select +eval +subscribe +get +set +incr +del +pexpire +pttl +publish";

const PERMIT: &str = "permit the user what `bellwether store init --print` prints";

const FORM: &str = "expected `redis://USER@HOST:PORT/DATABASE`, the same with `rediss://` for TLS, \
                    or `redis+unix:///PATH?db=DATABASE&user=USER`";

/// What may help if the server hangs up on a client that has shown no certificate.
const ASKS: &str = "if the server asks for a certificate, name `store_certificate_file` and \
                    `store_key_file`";

/// A server of Redis that keeps the lease.
#[derive(Clone, Debug)]
pub struct Redis {
    server: ConnectionInfo,
    /// `None` if what is said is not encrypted.
    tls: Option<Tls>,
    password: Option<PathBuf>,
}

impl Redis {
    /// Reads an address of the form `redis://USER@HOST:PORT/DATABASE`, `rediss://` with TLS, or
    /// `redis+unix:///PATH`. With TLS, the server shows a certificate of one of the authorities.
    ///
    /// # Errors
    ///
    /// What is wrong with the address or with the files.
    pub fn parse(address: &str, files: &Files) -> Result<Self, String> {
        // The crate refuses this scheme, for it was built without TLS.
        let inner = address.strip_prefix("rediss://").map(|rest| format!("redis://{rest}"));
        let url = inner.as_deref().unwrap_or(address);
        // `#insecure` would mean that any certificate is as good. Nothing else may stand there.
        let is_url = ["redis://", "redis+unix://"].iter().any(|it| url.starts_with(it))
            && !url.contains('#');
        // What is wrong in it is not repeated: it may be a part of a password.
        let server = is_url.then(|| url.parse::<ConnectionInfo>().ok()).flatten().ok_or(FORM)?;
        let (encrypted, password) = (inner.is_some(), files.password.clone());
        let any = files.ca.is_some() || files.certificate.is_some() || files.key.is_some();
        let exposed = matches!(
            server.addr(), ConnectionAddr::Tcp(host, _) if !encrypted && secret::is_exposed(host)
        );
        let problem = if server.redis_settings().password().is_some() {
            "the address is printed and logged: put the password into a file"
        } else if server.redis_settings().username().is_some() && files.password.is_none() {
            // Without a password the server would not be told of the user, and take the default.
            "the user of Redis needs a password: name its file by `store_password_file`"
        } else if files.token.is_some() {
            "Redis has no use for a token: leave out `store_token_file`"
        } else if any && !encrypted {
            "certificates are for TLS: write `rediss://` in the address, or leave them out"
        } else if password.is_some() && exposed {
            "the password would go over a network for all to read: write `rediss://` and name \
             `store_ca_file`, or go through a tunnel that begins at localhost"
        } else {
            let tls = match server.addr() {
                ConnectionAddr::Tcp(host, port) if encrypted => {
                    let certificates = Certificates::of(files, None)?;
                    Some(Tls::new(host, *port, certificates).ok_or(FORM)?)
                }
                _ => None,
            };
            return Ok(Self { server, tls, password });
        };
        Err(problem.to_owned())
    }

    async fn open(&self, settings: &Settings) -> StoreResult<Session> {
        let user = self.server.redis_settings().clone();
        let mut user = user.set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
        if let Some(file) = &self.password {
            user = user.set_password(secret::password(file)?.as_str());
        }
        let server = self.server.clone().set_redis_settings(user);
        let (teller, hearer) = server::news();
        let told = move |push: PushInfo| -> Result<(), SendError> {
            tell(&teller, &push.kind);
            Ok(())
        };
        let config = AsyncConnectionConfig::new().set_push_sender(told);
        let opened = open(server, self.tls.as_ref(), config, settings.limit).await;
        let (mut connection, task) = opened?;
        let [lease, token] = keys(&settings.name);
        connection.subscribe(&lease).await.map_err(|error| explain(&error))?;
        let keep = milliseconds(settings.keep).to_string();
        Ok(Session { connection, _task: task, hearer, lease, token, keep, expires: None })
    }
}

impl Connect for Redis {
    fn connect<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> BoxFuture<'a, StoreResult<Box<dyn LeaseStore>>> {
        Box::pin(async move {
            let session = self.open(settings).await?;
            Ok(Box::new(session) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, settings: &Settings) -> String {
        let [lease, token] = keys(&settings.name);
        format!(
            "# Nothing has to be made. The keys, once a node has asked for the lease:\n\
             # {lease}  HOLDER TOKEN, with an expiry\n\
             # {token}  the newest token, without one\n\
             # Where the server has users: ACL SETUSER USER ~bellwether:* &bellwether:* {COMMANDS}"
        )
    }

    fn warning(&self) -> Option<&'static str> {
        Some(WARNING)
    }
}

/// The key of the lease and that of the token.
fn keys(name: &str) -> [String; 2] {
    ["lease", "token"].map(|what| format!("bellwether:{{{name}}}:{what}"))
}

/// Passes on what the server tells, or that it has gone.
fn tell(teller: &Teller, push: &PushKind) {
    match push {
        PushKind::Message => teller.changed(),
        PushKind::Disconnection => teller.ended("Redis: the connection has ended".to_owned()),
        _ => {}
    }
}

fn explain(error: &RedisError) -> StoreError {
    let problem = format!("Redis: {}", causes(error));
    match remedy(error) {
        Some(remedy) => StoreError::Unfit { problem, remedy: remedy.to_owned() },
        None => StoreError::Away(problem),
    }
}

/// What helps if the server refuses with this error; `None` if a new connection may help.
fn remedy(error: &RedisError) -> Option<&'static str> {
    match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) | (_, Some("NOAUTH" | "WRONGPASS")) => {
            Some("correct the user, or the file with the password")
        }
        (ErrorKind::RESP3NotSupported, _) | (_, Some("NOPROTO")) => Some("use Redis 6 or later"),
        (ErrorKind::Server(ServerErrorKind::NoPerm), _) => Some(PERMIT),
        (ErrorKind::Server(ServerErrorKind::Moved | ServerErrorKind::Ask), _) => {
            Some("use a server that is no part of a cluster")
        }
        (_, Some("WRONGTYPE")) => Some("delete the keys of the lease: another program wrote them"),
        // These have no code of their own.
        _ => {
            let said = error.detail().unwrap_or_default();
            let parts = ["no permissions", "user executing the script", "ACL failure in script"];
            if parts.iter().any(|part| said.contains(part)) {
                Some(PERMIT)
            } else if said.contains("DB index is out of range") {
                Some("correct the number of the database in the address")
            } else {
                None
            }
        }
    }
}

/// What a script returns: whether it has done what it is for, and the keys afterwards: the lease,
/// the milliseconds until it expires, and the newest token.
type Reply = (i64, String, i64, String);

/// The record that the keys are.
fn record(lease: &str, left: i64, token: &str) -> StoreResult<Record> {
    let newest = values::token(integer(token)?)?;
    if lease.is_empty() {
        return Ok(Record { holder: None, token: newest, left: None });
    }
    let (holder, token) = lease.split_once(' ').ok_or_else(|| damaged("it is not two numbers"))?;
    if left < 0 {
        return Err(damaged("it has a holder and no expiry"));
    }
    let (holder, token) = (node(integer(holder)?)?, values::token(integer(token)?)?);
    Ok(Record { holder: Some(holder), token, left: Some(values::left(left)) })
}

fn integer(text: &str) -> StoreResult<i64> {
    text.parse().map_err(|_| damaged(&format!("{text:?} is no integer")))
}

/// The value of the key that is the lease.
fn value(client: NodeId, token: Token) -> String {
    format!("{client} {}", number(token))
}

/// A connection.
struct Session {
    connection: MultiplexedConnection,
    /// What moves the bytes of a connection with TLS. It ends with the session.
    _task: JoinSet<()>,
    hearer: Hearer,
    lease: String,
    token: String,
    keep: String,
    /// When the lease of another node expires, as far as was heard.
    expires: Option<Instant>,
}

impl Session {
    /// Runs a script, and returns the record after it, and whether it has done what it is for.
    async fn run(&mut self, script: &str, arguments: &[&str]) -> StoreResult<(Record, bool)> {
        let mut command = redis::cmd("EVAL");
        command.arg(format!("{script}\n{RETURN}")).arg(2);
        command.arg(self.lease.as_str()).arg(self.token.as_str()).arg(arguments);
        let reply = command.query_async::<Reply>(&mut self.connection).await;
        let (done, lease, left, token) = reply.map_err(|error| explain(&error))?;
        let (record, done) = (record(&lease, left, &token)?, done == 1);
        // The server counts whole milliseconds.
        let left = record.left.filter(|_| !done);
        self.expires = left.map(|left| Instant::now() + left + Duration::from_millis(1));
        Ok((record, done))
    }

    async fn ask(&mut self, script: &str, client: NodeId, what: &str) -> StoreResult<Answer> {
        let keep = self.keep.clone();
        let (record, granted) = self.run(script, &[what, &keep]).await?;
        if granted {
            return Ok(Answer::Granted(record.token));
        }
        Ok(values::refused(&record, client))
    }
}

/// Waits until the lease of another node has expired, if there is any.
async fn expired(at: Option<Instant>) {
    match at {
        Some(at) => sleep_until(at).await,
        None => std::future::pending().await,
    }
}

impl LeaseStore for Session {
    fn acquire(&mut self, client: NodeId) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(async move { self.ask(ACQUIRE, client, &client.to_string()).await })
    }

    fn renew(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(async move { self.ask(RENEW, client, &value(client, token)).await })
    }

    fn release(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            let lease = value(client, token);
            self.run(RELEASE, &[&lease]).await.map(|_| ())
        })
    }

    fn read(&mut self) -> BoxFuture<'_, StoreResult<Record>> {
        Box::pin(async move { self.run(READ, &[]).await.map(|(record, _)| record) })
    }

    /// There is nothing to make. What is wrong with the server or the user shows all the same.
    fn init(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move { self.run(READ, &[]).await.map(|_| ()) })
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            tokio::select! {
                told = self.hearer.changed() => told,
                () = expired(self.expires) => {
                    self.expires = None;
                    Ok(())
                }
            }
        })
    }
}

/// What it takes to speak to a server by TLS.
#[derive(Clone, Debug)]
struct Tls {
    /// The host, and what the certificate of the server must be for.
    host: ServerName<'static>,
    port: u16,
    certificates: Certificates,
}

/// A connection, and the task that moves its bytes if the crate has none for it. The task ends with
/// the set.
type Opened = (MultiplexedConnection, JoinSet<()>);

/// Connects, and logs in. All of it takes no longer than the limit, and neither does a question.
async fn open(
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
    fn new(host: &str, port: u16, certificates: Certificates) -> Option<Self> {
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

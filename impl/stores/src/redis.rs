//! The lease in two keys of Redis, or of what speaks its protocol.
//!
//! The one key is the lease, `HOLDER TOKEN LASTS_MS`, and expires by the server's own clock. The
//! other is the newest token, and does not expire: were it in the lease, the tokens would begin anew
//! after each holder that was too late. Each question is one script, and the server runs no two
//! commands at once, so nothing comes between what it reads and what it writes. The hash tag in the
//! names keeps both keys on one node.
//!
//! A script that changes the holder publishes that on a channel with the name of the key, and the
//! clients subscribe to it, on the connection on which they ask (RESP3, from Redis 6 on). The
//! server tells of no expiry, so a client waits for that itself.
//!
//! The crate that speaks the protocol gets a stream that is made here. The TLS of that crate would
//! bring further packages, and would trust the authorities of the system; and the crate reads an
//! answer of any length.
//!
//! Redis may lose a write that it has answered: it writes to its disk later, if at all, and to its
//! replicas later. Then two nodes have the lease, with one token, and no rule here prevents it.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use bellwether_core::protocol::lease::Token;
use bellwether_core::store::{
    Answer, Asking, Claim, Connect, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreError,
    StoreResult,
};
use redis::aio::{MultiplexedConnection, SendError};
use redis::{AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, ErrorKind, ProtocolVersion};
use redis::{PushInfo, PushKind, RedisConnectionInfo, RedisError, ServerErrorKind};
use rustls::pki_types::ServerName;
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::address::Files;
use crate::causes::causes;
use crate::changes::{ChangeReceiver, ChangeSender, change_channel, until};
use crate::grant::{self, Grant};
use crate::network::{Duplex, Limited, connect};
use crate::secret;
use crate::tls::{Certificates, with_tls_asked};
use crate::values::{self, one_line, unfit};

const WARNING: &str = "\
Redis acknowledges what it may lose: two nodes may have the lease at once, with the same token, if \
a replica takes over that lacks the last writes, or if the server starts again without them";

/// Grants the lease to the holder `ARGV[1]` for `ARGV[2]` milliseconds, with a token above
/// `ARGV[3]`. A server with an older token refuses, unless `ARGV[5]` is `waits`. A lease
/// `ARGV[4]` is taken from another holder if it still does not end in time, also with an older
/// token: the client has watched that lease. The script compares tokens as text: the numbers of
/// Lua lose digits.
const ACQUIRE: &str = "\
local done = 0
local lease = redis.call('GET', KEYS[1])
local token = redis.call('GET', KEYS[2]) or '0'
local older = #token < #ARGV[3] or #token == #ARGV[3] and token < ARGV[3]
local free = not lease or string.match(lease, '^%S+') == ARGV[1]
free = free and (not older or ARGV[5] == 'waits')
if lease == ARGV[4] then
  local left = redis.call('PTTL', KEYS[1])
  free = free or left < 0 or left > tonumber(string.match(lease, '%d+$'))
end
if free then
  if older then
    redis.call('SET', KEYS[2], ARGV[3])
  end
  redis.call('INCR', KEYS[2])
  lease = ARGV[1] .. ' ' .. redis.call('GET', KEYS[2]) .. ' ' .. ARGV[2]
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

/// The end of each script, which returns the keys as they are then.
const RETURN: &str = "\
return {done, redis.call('GET', KEYS[1]), redis.call('PTTL', KEYS[1]), redis.call('GET', KEYS[2])}";

/// The commands that a user of the server must be allowed.
const COMMANDS: &str =
    "+hello +auth +select +eval +subscribe +get +set +incr +del +pexpire +pttl +publish";

const PERMIT: &str = "permit the user what `bellwether store init --print` prints";

const FOREIGN: &str = "delete the keys of the lease: another program wrote them";

const FORM: &str = "expected `redis://USER@HOST:PORT/DATABASE`, the same with `rediss://` for TLS, \
                    or `redis+unix:///PATH?db=DATABASE&user=USER`";

/// The remedy if the server hangs up on a client that has shown no certificate.
const ASKS: &str = "if the server asks for a certificate, name `store_certificate_file` and \
                    `store_key_file`";

/// A server of Redis that keeps the lease.
#[derive(Clone, Debug)]
pub struct Redis {
    way: Way,
    user: RedisConnectionInfo,
    password: Option<PathBuf>,
}

/// The way to a server.
#[derive(Clone, Debug)]
enum Way {
    /// A socket on this machine.
    Socket(PathBuf),
    /// A connection by TCP: in clear, or encrypted, with the name for which the certificate of the
    /// server must be.
    Network { host: String, port: u16, tls: Option<(ServerName<'static>, Certificates)> },
}

impl Redis {
    /// Reads an address of the form `redis://USER@HOST:PORT/DATABASE`, `rediss://` with TLS, or
    /// `redis+unix:///PATH`. With TLS, the server shows a certificate of one of the authorities.
    ///
    /// # Errors
    ///
    /// The mistake in the address or in the choice of files.
    pub fn parse(address: &str, files: &Files) -> Result<Self, String> {
        // The crate refuses this scheme, for it was built without TLS.
        let inner = address.strip_prefix("rediss://").map(|rest| format!("redis://{rest}"));
        let url = inner.as_deref().unwrap_or(address);
        // `#insecure` would mean that any certificate is as good. Nothing else may stand there.
        let is_url = ["redis://", "redis+unix://"].iter().any(|it| url.starts_with(it))
            && !url.contains('#');
        // The error does not repeat the address, which may have a password in it.
        let server = is_url.then(|| url.parse::<ConnectionInfo>().ok()).flatten().ok_or(FORM)?;
        let (encrypted, password) = (inner.is_some(), files.password.clone());
        let user = server.redis_settings().clone();
        let exposed = matches!(
            server.addr(), ConnectionAddr::Tcp(host, _) if !encrypted && secret::is_exposed(host)
        );
        if user.password().is_some() {
            let problem = "the address is printed and logged: put the password into a file";
            return Err(problem.to_owned());
        }
        // Without a password the server would not be told of the user, and take the default.
        if user.username().is_some() && password.is_none() {
            let problem =
                "the user of Redis needs a password: name its file by `store_password_file`";
            return Err(problem.to_owned());
        }
        files.suit("Redis", "rediss", encrypted, exposed)?;
        let way = match server.addr() {
            ConnectionAddr::Unix(path) => Way::Socket(path.clone()),
            ConnectionAddr::Tcp(host, port) => {
                let tls = if encrypted {
                    let certificates = Certificates::of(files, None)?;
                    Some((ServerName::try_from(host.clone()).map_err(|_| FORM)?, certificates))
                } else {
                    None
                };
                Way::Network { host: host.clone(), port: *port, tls }
            }
            _ => return Err(FORM.to_owned()),
        };
        Ok(Self { way, user, password })
    }
}

impl Connect for Redis {
    fn connect<'a>(&'a self, settings: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
        Box::pin(async move {
            let user = self.user.clone();
            let mut user = user.set_protocol(ProtocolVersion::RESP3).set_skip_set_lib_name();
            if let Some(file) = &self.password {
                user = user.set_password(secret::password(file)?.as_str());
            }
            let (sender, receiver) = change_channel();
            let told = move |push: PushInfo| -> Result<(), SendError> {
                tell(&sender, &push.kind);
                Ok(())
            };
            let config = AsyncConnectionConfig::new().set_push_sender(told);
            let config = config.set_response_timeout(Some(settings.limit));
            let (mut connection, _task) = self.way.open(&user, config, settings.limit).await?;
            let [lease, token] = keys(&settings.name);
            connection.subscribe(&lease).await.map_err(|error| explain(&error))?;
            let keep = values::milliseconds(settings.ttl);
            let session =
                Session { connection, _task, receiver, lease, token, keep, expires: None };
            Ok(Box::new(session) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, settings: &LeaseSettings) -> String {
        let [lease, token] = keys(&settings.name);
        format!(
            "# Nothing has to be made. The keys, once a node has asked for the lease:\n\
             # {lease}  HOLDER TOKEN LASTS_MS, with an expiry\n\
             # {token}  the newest token, without one\n\
             # Where the server has users: ACL SETUSER USER ~bellwether:* &bellwether:* {COMMANDS}"
        )
    }

    fn warning(&self) -> Option<&'static str> {
        Some(WARNING)
    }
}

/// Returns the key of the lease and that of the token.
fn keys(name: &str) -> [String; 2] {
    ["lease", "token"].map(|what| format!("bellwether:{{{name}}}:{what}"))
}

/// Passes on the news of the server, or of its end.
fn tell(sender: &ChangeSender, push: &PushKind) {
    match push {
        PushKind::Message => sender.changed(),
        PushKind::Disconnection => sender.ended("Redis: the connection has ended".to_owned()),
        _ => {}
    }
}

fn explain(error: &RedisError) -> StoreError {
    let problem = format!("Redis: {}", one_line(&causes(error)));
    match remedy(error) {
        Some(remedy) => unfit(problem, remedy),
        None => StoreError::Unreachable(problem),
    }
}

/// Returns the remedy if the server refuses with this error; `None` if a new connection may help.
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
        (_, Some("WRONGTYPE")) => Some(FOREIGN),
        // These have no code of their own.
        _ => {
            let said = error.detail().unwrap_or_default();
            let parts = ["no permissions", "user executing the script", "ACL failure in script"];
            if parts.iter().any(|part| said.contains(part)) {
                Some(PERMIT)
            } else if said.contains("not an integer") {
                Some(FOREIGN)
            } else if said.contains("DB index is out of range") {
                Some("correct the number of the database in the address")
            } else {
                None
            }
        }
    }
}

/// The result of a script: 1 if the script has done its work, the lease, the milliseconds until the
/// lease expires, and the newest token.
type Reply = (i64, Option<String>, i64, Option<String>);

/// Returns the record that the keys are.
fn record(lease: Option<&str>, left: i64, token: Option<&str>) -> StoreResult<LeaseRecord> {
    let newest = grant::token(token)?;
    let Some(value) = lease else {
        return Ok(LeaseRecord { token: newest, ..LeaseRecord::default() });
    };
    let Grant { holder, token, lasts } = Grant::parse(value)?;
    // A lease without an expiry has -1 milliseconds left.
    let ends = (0..=lasts).contains(&left);
    Ok(LeaseRecord {
        holder: Some(holder),
        token,
        left: (left >= 0).then(|| values::left(left)),
        doubt: (!ends).then(|| value.to_owned()),
    })
}

/// A connection.
struct Session {
    connection: MultiplexedConnection,
    /// The task that moves the bytes. The task ends with the session.
    _task: JoinSet<()>,
    receiver: ChangeReceiver,
    lease: String,
    token: String,
    /// The time for which the server keeps a grant, in milliseconds.
    keep: i64,
    /// The moment at which the lease of another holder expires, as far as the session has heard.
    expires: Option<Instant>,
}

impl Session {
    /// Runs a script, and returns the record after it, and whether the script has done its work.
    async fn run(&mut self, script: &str, arguments: &[&str]) -> StoreResult<(LeaseRecord, bool)> {
        let mut command = redis::cmd("EVAL");
        command.arg(format!("{script}\n{RETURN}")).arg(2);
        command.arg(self.lease.as_str()).arg(self.token.as_str()).arg(arguments);
        let reply = command.query_async::<Reply>(&mut self.connection).await;
        let (done, lease, left, token) = reply.map_err(|error| explain(&error))?;
        let (record, done) = (record(lease.as_deref(), left, token.as_deref())?, done == 1);
        // The server counts whole milliseconds.
        let left = record.left.filter(|_| !done);
        self.expires = left.map(|left| Instant::now() + left + Duration::from_millis(1));
        Ok((record, done))
    }

    async fn ask(&mut self, script: &str, arguments: &[&str]) -> StoreResult<Answer> {
        let (record, done) = self.run(script, arguments).await?;
        Ok(if done { Answer::Granted(record.token) } else { Answer::Refused(record) })
    }

    /// Returns the value of the key that is the lease, if the holder has been granted this token.
    fn value(&self, holder: &Holder, token: Token) -> String {
        Grant { holder: holder.clone(), token, lasts: self.keep }.to_string()
    }
}

impl LeaseStore for Session {
    fn acquire<'a>(&'a mut self, claim: Claim<'a>) -> Asking<'a, Answer> {
        Box::pin(async move {
            let (holder, keep) = (claim.holder.to_string(), self.keep.to_string());
            let (seen, overdue) = (claim.seen.to_string(), claim.overdue.unwrap_or("none"));
            let waits = if claim.waits { "waits" } else { "none" };
            self.ask(ACQUIRE, &[&holder, &keep, &seen, overdue, waits]).await
        })
    }

    fn renew<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, Answer> {
        Box::pin(async move {
            let (lease, keep) = (self.value(holder, token), self.keep.to_string());
            self.ask(RENEW, &[&lease, &keep]).await
        })
    }

    fn release<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, ()> {
        Box::pin(async move {
            let lease = self.value(holder, token);
            self.run(RELEASE, &[&lease]).await.map(drop)
        })
    }

    fn read(&mut self) -> Asking<'_, LeaseRecord> {
        Box::pin(async move { self.run(READ, &[]).await.map(|(record, _)| record) })
    }

    /// Makes nothing. A mistake in the server or the user shows all the same.
    fn init(&mut self) -> Asking<'_, ()> {
        Box::pin(async move { self.run(READ, &[]).await.map(drop) })
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> Asking<'_, ()> {
        Box::pin(async move {
            tokio::select! {
                told = self.receiver.changed() => told,
                () = until(self.expires) => {
                    self.expires = None;
                    Ok(())
                }
            }
        })
    }
}

/// A connection, and the task that moves its bytes. The task ends with the set.
type Opened = (MultiplexedConnection, JoinSet<()>);

impl Way {
    /// Connects, and logs in.
    async fn open(
        &self,
        user: &RedisConnectionInfo,
        config: AsyncConnectionConfig,
        limit: Duration,
    ) -> StoreResult<Opened> {
        let stream: Box<dyn Duplex> = match self {
            Self::Socket(path) => {
                let stream = UnixStream::connect(path).await;
                Box::new(stream.map_err(|error: io::Error| {
                    StoreError::Unreachable(format!("Redis: {}", causes(&error)))
                })?)
            }
            Self::Network { host, port, tls } => {
                let tls = match tls {
                    Some((name, certificates)) => Some((name.clone(), certificates.client()?)),
                    None => None,
                };
                connect(&"Redis", (host.as_str(), *port), tls, limit).await?
            }
        };
        let stream = Limited::new(stream);
        let opened = MultiplexedConnection::new_with_config(user, stream, config).await;
        let (connection, driver) = opened.map_err(|error| self.explain(&error))?;
        let mut task = JoinSet::new();
        task.spawn(driver);
        Ok((connection, task))
    }

    /// Returns the error of a login, with a question for a person where the two sides may not
    /// understand each other.
    fn explain(&self, error: &RedisError) -> StoreError {
        match (explain(error), self) {
            (StoreError::Unreachable(problem), Self::Network { tls: None, .. })
                if is_foreign(error) =>
            {
                StoreError::Unreachable(with_tls_asked(&problem))
            }
            // Only now a server of TLS 1.3 refuses a client, and it may hang up before its reason
            // is read.
            (
                StoreError::Unreachable(problem),
                Self::Network { tls: Some((_, Certificates { own: None, .. })), .. },
            ) if is_turned_away(error) => StoreError::Unreachable(format!("{problem}; {ASKS}")),
            (other, _) => other,
        }
    }
}

/// Returns whether a server has hung up, or speaks another protocol than Redis.
fn is_foreign(error: &RedisError) -> bool {
    let hung_up = error.is_connection_dropped() && !error.is_connection_refusal();
    hung_up || error.kind() == ErrorKind::Parse
}

/// Returns whether a server has ended a connection on which the handshake was done, or has refused
/// the client by an alert of TLS. The crate keeps the alert for its text only.
fn is_turned_away(error: &RedisError) -> bool {
    error.is_connection_dropped() || error.to_string().contains("received fatal alert")
}

#[cfg(test)]
mod tests;

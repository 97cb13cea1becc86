//! The lease in a row of PostgreSQL.
//!
//! Each question is one statement, and so one transaction. The lock of the row decides: an
//! `INSERT ... ON CONFLICT DO UPDATE` and an `UPDATE` wait for a transaction that changes the row,
//! and then look at the row that it has committed. That is so at *read committed*, and nothing
//! stronger is needed: the statement reads nothing but the row that it has locked. At the stronger
//! levels it would fail instead of looking again, so the session asks for this one.
//!
//! The settings of the session are parameters of its start. A pool that gives each transaction to
//! another session refuses these, or loses them, which the first question shows. Such a pool would
//! otherwise give settings and `LISTEN` to the sessions of other clients.
//!
//! The deadline is in the clock of the server, as it is when the statement looks at the row
//! (`clock_timestamp()`; `now()` is when the transaction began, before it waited for the row). A
//! commit returns once the server has synced it (`synchronous_commit`), whatever the database is
//! set to.
//!
//! A grant and a release are told by `NOTIFY`, in the same transaction, and the clients `LISTEN`:
//! they need not ask at short intervals.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bellwether_core::protocol::lease::Token;
use bellwether_core::store::{
    Answer, Asking, Claim, Connect, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreError,
    StoreResult,
};
use futures::future::BoxFuture;
use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode, SslNegotiation, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{
    AsyncMessage, Client, Config, Connection, Error, Row, SimpleQueryMessage, Socket,
};
use tokio_rustls::TlsConnector;

use crate::address::Files;
use crate::causes::causes;
use crate::changes::{ChangeReceiver, ChangeSender, change_channel};
use crate::network::{Duplex, Limited};
use crate::secret;
use crate::tls::{self, Certificates};
use crate::values::{self, COMPARE, INIT, milliseconds, number, one_line, unfit};

/// The statement that makes the table.
pub const TABLE: &str = "\
CREATE TABLE IF NOT EXISTS bellwether_lease (
    name text PRIMARY KEY,
    holder text,
    token bigint NOT NULL,
    lasts_ms bigint,
    until timestamptz
)";

/// The statement calculates the deadline anew when it has the row: `excluded` was before the
/// statement has waited for the row. The row stays when a lease is given back: the next token is
/// higher than that in the row. `xmin` is the transaction that has written the row last. No other
/// transaction can delete the row between the look at the row and the `INSERT`, for the look locks
/// the row.
const ACQUIRE: &str = "\
WITH granted AS (
    INSERT INTO bellwether_lease AS lease (name, holder, token, lasts_ms, until)
    SELECT $1, $2, $5 + 1, $3, clock_timestamp() + $3 * interval '1 millisecond'
    WHERE $5 = 0 OR $7 OR EXISTS (SELECT 1 FROM bellwether_lease WHERE name = $1 FOR UPDATE)
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder,
        token = greatest(lease.token, $5) + 1, lasts_ms = excluded.lasts_ms,
        until = clock_timestamp() + $3 * interval '1 millisecond'
    WHERE (lease.token >= $5 OR $7)
        AND (lease.holder IS NULL OR lease.until <= clock_timestamp()
            OR lease.holder = excluded.holder OR lease.xmin::text = $6)
    RETURNING token
)
SELECT token, pg_notify($4, '') FROM granted";

/// A lease without a deadline has not ended.
const RENEW: &str = "\
UPDATE bellwether_lease
SET lasts_ms = $4, until = clock_timestamp() + $4 * interval '1 millisecond'
WHERE name = $1 AND holder = $2 AND token = $3 AND (until <= clock_timestamp()) IS NOT TRUE";

const RELEASE: &str = "\
WITH released AS (
    UPDATE bellwether_lease SET holder = NULL, lasts_ms = NULL, until = NULL
    WHERE name = $1 AND holder = $2 AND token = $3
    RETURNING name
)
SELECT pg_notify($4, '') FROM released";

/// The rest of a lease is NULL without a deadline, and with the deadline `infinity`.
const READ: &str = "\
SELECT holder, token, lasts_ms,
    CASE WHEN until <= clock_timestamp() THEN 0
        WHEN isfinite(until)
        THEN (EXTRACT(EPOCH FROM until - clock_timestamp()) * 1000)::bigint END,
    xmin::text
FROM bellwether_lease WHERE name = $1";

/// Asks whether the user may do what a node does, by a grant on the table or on columns of it.
/// Reading shows whether the user may read.
const MAY_WRITE: &str = "\
SELECT has_any_column_privilege('bellwether_lease', 'INSERT')
    AND has_any_column_privilege('bellwether_lease', 'UPDATE')";

const GRANT: &str =
    "let a DBA run what `bellwether store init --print` prints, and grant USAGE on the schema";

/// The limit of the session, in milliseconds.
const TIMEOUT: &str = "SELECT setting FROM pg_settings WHERE name = 'statement_timeout'";

/// The remedy if a pool stands between the two.
const POOL: &str = "name the server itself as the store, without a pool of connections between";

/// Some that speak the protocol of PostgreSQL lack functions that are used here.
const OTHER: &str = "use PostgreSQL itself, and compare the table with the one that `bellwether \
                     store init --print` prints";

const FORM: &str = "expected `postgres://USER@HOST:PORT/DATABASE`, and parameters that are known";

/// A database of PostgreSQL that keeps the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postgres {
    config: Config,
    password: Option<PathBuf>,
    certificates: Option<Certificates>,
}

impl Postgres {
    /// Reads an address of the form `postgres://USER@HOST:PORT/DATABASE`, as libpq has it. With a
    /// file of authorities, the connection is encrypted, and the server shows a certificate.
    ///
    /// # Errors
    ///
    /// The mistake in the address or in the choice of files.
    pub fn parse(address: &str, files: &Files) -> Result<Self, String> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|it| address.starts_with(it));
        // The error does not repeat the mistake, which may be a part of a password.
        let config = is_url.then(|| address.parse::<Config>().ok()).flatten();
        let mut config = config.ok_or(FORM)?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(FORM.to_owned());
        }
        let encrypted = files.ca.is_some();
        let mode = config.get_ssl_mode();
        let problem = if config.get_password().is_some() {
            "the address is printed and logged: put the password into a file"
        } else if files.token.is_some() {
            "PostgreSQL has no use for a token: leave out `store_token_file`"
        } else if let Err(half) = files.own() {
            half
        } else if !encrypted && (files.key.is_some() || mode == SslMode::Require) {
            "TLS needs the file of the authorities that sign the certificate of the server: name \
             `store_ca_file`"
        } else if encrypted && mode == SslMode::Disable {
            "`sslmode=disable` leaves no use for the file of the authorities: leave out one of \
             them, `sslmode` or `store_ca_file`"
        } else if !encrypted && files.password.is_some() && is_exposed(&config) {
            "the password would go over a network for all to read: name `store_ca_file`, or go \
             through a socket or a tunnel that begins at localhost"
        } else {
            config.ssl_mode(if encrypted { SslMode::Require } else { SslMode::Disable });
            let certificates = encrypted.then(|| Certificates::of(files, None)).transpose()?;
            return Ok(Self { config, password: files.password.clone(), certificates });
        };
        Err(problem.to_owned())
    }

    async fn open(&self, settings: &LeaseSettings) -> StoreResult<Session> {
        let (limit, mut config) = (settings.limit, self.config.clone());
        if let Some(file) = &self.password {
            config.password(secret::password(file)?.as_bytes());
        }
        if config.get_application_name().is_none() {
            config.application_name("bellwether");
        }
        // The system counts these in whole seconds, and refuses 0.
        let probe = limit.max(Duration::from_secs(1));
        // A host that is cut off must leave time for another. One that is stopped takes all of it:
        // the next connection may then begin elsewhere.
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        let share = u32::try_from(hosts).unwrap_or(u32::MAX).saturating_add(1);
        config
            .options(options(config.get_options(), limit))
            .connect_timeout(limit / share)
            .load_balance_hosts(LoadBalanceHosts::Random)
            .tcp_user_timeout(limit)
            .keepalives(true)
            .keepalives_idle(probe)
            .keepalives_interval(probe)
            .keepalives_retries(3)
            // A standby can only be read, and may lag.
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let tls = self.certificates.as_ref().map(Certificates::client).transpose()?;
        let is_named = |host: &Host| matches!(host, Host::Tcp(_));
        let hosts = config.get_hosts();
        if tls.is_none() && !hosts.is_empty() && hosts.iter().all(is_named) {
            // The crate gives its socket to a `TlsConnect`, and to nothing else. With `Direct`, the
            // one below gets the socket first of all, and only limits the answers.
            config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        }
        let (sender, receiver) = change_channel();
        let connected = config.connect(Tls(tls.map(Arc::new))).await;
        let (client, driver) = started(connected.map_err(|error| explain(&error))?, sender);
        let channel = channel(&settings.name);
        let (name, keep) = (settings.name.clone(), milliseconds(settings.ttl));
        let session = Session { client, driver, receiver, name, keep, channel };
        session.begin(limit).await?;
        Ok(session)
    }
}

/// Returns whether bytes in clear to one of the servers can be read in a network. A server may ask
/// for the password itself.
fn is_exposed(config: &Config) -> bool {
    let addresses = config.get_hostaddrs();
    if addresses.is_empty() {
        let exposed = |host: &Host| matches!(host, Host::Tcp(name) if secret::is_exposed(name));
        config.get_hosts().iter().any(exposed)
    } else {
        addresses.iter().any(|address| secret::is_exposed(&address.to_string()))
    }
}

impl Connect for Postgres {
    fn connect<'a>(&'a self, settings: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
        Box::pin(async move {
            let session = self.open(settings).await?;
            Ok(Box::new(session) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, _: &LeaseSettings) -> String {
        let user = self.config.get_user().unwrap_or("USER").replace('"', "\"\"");
        format!("{TABLE};\nGRANT SELECT, INSERT, UPDATE ON bellwether_lease TO \"{user}\";")
    }

    fn warning(&self) -> Option<&'static str> {
        Some(
            "two nodes may have the lease at once if the clock of the database server is set \
             forward, or if a standby takes over that lacks the last commits: use synchronous \
             replication, and the fencing token",
        )
    }
}

/// Returns the name of the channel on which the store tells of changes of a lease. The name of a
/// lease may be too long for an identifier, and has other characters in it.
fn channel(name: &str) -> String {
    let digest = Sha256::digest(name);
    let half = digest.iter().take(16).map(|byte| format!("{byte:02x}"));
    format!("bellwether_{}", half.collect::<String>())
}

/// Returns the `statement_timeout` of the session. 0 would be no limit.
fn statement_timeout(limit: Duration) -> i64 {
    milliseconds(limit).clamp(1, i64::from(i32::MAX))
}

/// Returns the options with which a session starts, after those in the address. `on` waits for the
/// server's own disk, and for the standbys that the server is told to wait for.
fn options(given: Option<&str>, limit: Duration) -> String {
    format!(
        "{} -c synchronous_commit=on -c default_transaction_isolation=read\\ committed \
         -c statement_timeout={}",
        given.unwrap_or_default(),
        statement_timeout(limit)
    )
}

/// Starts the task that reads and writes, which tells of notifications and of the end.
fn started(
    (client, mut connection): (Client, Connection<Socket, Limited>),
    sender: ChangeSender,
) -> (Client, JoinHandle<()>) {
    let driver = tokio::spawn(async move {
        loop {
            match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                Some(Ok(AsyncMessage::Notification(_))) => sender.changed(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return sender.ended(text(&error)),
                None => return sender.ended("PostgreSQL: the connection has ended".to_owned()),
            }
        }
    });
    (client, driver)
}

fn text(error: &Error) -> String {
    let text = error.as_db_error().map(|error| error.message().replace('\n', "; "));
    format!("PostgreSQL: {}", one_line(&text.unwrap_or_else(|| causes(error))))
}

fn explain(error: &Error) -> StoreError {
    let problem = text(error);
    // The server asks for a password, and the client has none.
    let helps = if problem.ends_with("password missing") {
        Some("name the file with the password: `store_password_file`")
    } else if problem.contains("startup parameter") {
        Some(POOL)
    } else {
        error.code().and_then(remedy)
    };
    match helps {
        Some(remedy) => unfit(problem, remedy),
        None => StoreError::Unreachable(problem),
    }
}

/// Returns the remedy if the server refuses with this code; `None` if a new connection may help.
fn remedy(code: &SqlState) -> Option<&'static str> {
    let known = [
        (SqlState::UNDEFINED_TABLE, INIT),
        (SqlState::UNDEFINED_COLUMN, COMPARE),
        (SqlState::UNDEFINED_FUNCTION, OTHER),
        (SqlState::DATATYPE_MISMATCH, COMPARE),
        (SqlState::INVALID_COLUMN_REFERENCE, COMPARE),
        (SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "correct the token: there is no higher one"),
        (SqlState::INSUFFICIENT_PRIVILEGE, GRANT),
        (SqlState::INVALID_SCHEMA_NAME, GRANT),
        (SqlState::INVALID_PASSWORD, "correct the user, or the file with the password"),
        (SqlState::INVALID_AUTHORIZATION_SPECIFICATION, "correct the user, or pg_hba.conf"),
        (SqlState::INVALID_CATALOG_NAME, "correct the address, or create the database"),
    ];
    known.iter().find(|(one, _)| one == code).map(|(_, remedy)| *remedy)
}

/// A connection.
struct Session {
    client: Client,
    driver: JoinHandle<()>,
    receiver: ChangeReceiver,
    name: String,
    keep: i64,
    channel: String,
}

/// A server that does not answer would otherwise keep the task, and its socket.
impl Drop for Session {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Session {
    /// Looks whether the session has its own settings, and listens. A pool may have dropped them
    /// without a word, and would let another session listen.
    async fn begin(&self, limit: Duration) -> StoreResult<()> {
        let said = self.client.simple_query(TIMEOUT).await.map_err(|error| explain(&error))?;
        let limited = said.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        if limited != Some(statement_timeout(limit).to_string().as_str()) {
            let problem = "PostgreSQL: the session lacks the settings with which it was started";
            return Err(unfit(problem, POOL));
        }
        let listen = format!("LISTEN {}", self.channel);
        self.client.batch_execute(&listen).await.map_err(|error| explain(&error))
    }

    /// Returns the row of the answer to a statement, if any. The answer is complete when the server
    /// is ready for the next statement, which is after the commit.
    async fn row(
        &self,
        statement: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> StoreResult<Option<Row>> {
        let row = self.client.query_typed_opt(statement, parameters).await;
        row.map_err(|error| explain(&error))
    }

    async fn recorded(&self) -> StoreResult<LeaseRecord> {
        let Some(row) = self.row(READ, &[(&self.name, Type::TEXT)]).await? else {
            return Ok(LeaseRecord::default());
        };
        let token = values::token(column(&row, 1)?)?;
        let (lasts, left): (Option<i64>, Option<i64>) = (column(&row, 2)?, column(&row, 3)?);
        let holder = column::<Option<&str>>(&row, 0)?.filter(|_| left.is_none_or(|left| left > 0));
        let Some(holder) = holder else {
            return Ok(LeaseRecord { token, ..LeaseRecord::default() });
        };
        let is_doubted = left.is_none_or(|left| left > lasts.unwrap_or_default());
        Ok(LeaseRecord {
            holder: Some(values::holder(holder)?),
            token,
            left: left.map(values::left),
            doubt: is_doubted.then(|| column(&row, 4)).transpose()?,
        })
    }

    /// A table that another user has made may be of no use to this one.
    async fn usable(&self) -> StoreResult<()> {
        self.recorded().await?;
        let row = self.row(MAY_WRITE, &[]).await?;
        let may_write = row.as_ref().map(|row| column::<bool>(row, 0)).transpose()?;
        if may_write == Some(true) {
            return Ok(());
        }
        Err(unfit("PostgreSQL: the user may not insert and update in bellwether_lease", GRANT))
    }

    async fn refused(&self) -> StoreResult<Answer> {
        self.recorded().await.map(Answer::Refused)
    }
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> StoreResult<T> {
    let problem = || format!("PostgreSQL: column {} of the answer has another type", index + 1);
    row.try_get(index).map_err(|_| unfit(problem(), COMPARE))
}

impl LeaseStore for Session {
    fn acquire<'a>(&'a mut self, claim: Claim<'a>) -> Asking<'a, Answer> {
        Box::pin(async move {
            let (holder, seen) = (claim.holder.to_string(), number(claim.seen));
            let parameters: [(&(dyn ToSql + Sync), Type); 7] = [
                (&self.name, Type::TEXT),
                (&holder, Type::TEXT),
                (&self.keep, Type::INT8),
                (&self.channel, Type::TEXT),
                (&seen, Type::INT8),
                (&claim.overdue, Type::TEXT),
                (&claim.waits, Type::BOOL),
            ];
            match self.row(ACQUIRE, &parameters).await? {
                Some(row) => Ok(Answer::Granted(values::token(column(&row, 0)?)?)),
                None => self.refused().await,
            }
        })
    }

    fn renew<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, Answer> {
        Box::pin(async move {
            let (holder, number) = (holder.to_string(), number(token));
            let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
                (&self.name, Type::TEXT),
                (&holder, Type::TEXT),
                (&number, Type::INT8),
                (&self.keep, Type::INT8),
            ];
            let rows = self.client.execute_typed(RENEW, &parameters).await;
            match rows.map_err(|error| explain(&error))? {
                0 => self.refused().await,
                _ => Ok(Answer::Granted(token)),
            }
        })
    }

    fn release<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, ()> {
        Box::pin(async move {
            let (holder, number) = (holder.to_string(), number(token));
            let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
                (&self.name, Type::TEXT),
                (&holder, Type::TEXT),
                (&number, Type::INT8),
                (&self.channel, Type::TEXT),
            ];
            self.row(RELEASE, &parameters).await.map(|_| ())
        })
    }

    fn read(&mut self) -> Asking<'_, LeaseRecord> {
        Box::pin(async move { self.recorded().await })
    }

    /// A user who may not create tables may use one that is there.
    fn init(&mut self) -> Asking<'_, ()> {
        Box::pin(async move {
            let read = self.client.query_typed_opt(READ, &[(&self.name, Type::TEXT)]).await;
            if read.is_err_and(|error| error.code() == Some(&SqlState::UNDEFINED_TABLE)) {
                match self.client.batch_execute(TABLE).await {
                    // Another process has made it at the same time.
                    Err(error) if error.code() == Some(&SqlState::UNIQUE_VIOLATION) => {}
                    other => other.map_err(|error| explain(&error))?,
                }
            }
            self.usable().await
        })
    }

    fn watches(&self) -> bool {
        true
    }

    fn changed(&mut self) -> Asking<'_, ()> {
        Box::pin(self.receiver.changed())
    }
}

/// The maker of connections whose answers are limited. With a configuration, the connections are
/// encrypted, and the certificate of the server is verified, with its name.
struct Tls(Option<Arc<ClientConfig>>);

impl MakeTlsConnect<Socket> for Tls {
    type Stream = Limited;
    type TlsConnect = Handshake;
    type Error = InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<Handshake, InvalidDnsNameError> {
        let Some(config) = &self.0 else { return Ok(Handshake(None)) };
        let server = ServerName::try_from(domain.to_owned())?;
        Ok(Handshake(Some((TlsConnector::from(Arc::clone(config)), server))))
    }
}

struct Handshake(Option<(TlsConnector, ServerName<'static>)>);

impl TlsConnect<Socket> for Handshake {
    type Stream = Limited;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Limited>>;

    fn connect(self, stream: Socket) -> Self::Future {
        Box::pin(async move {
            let stream: Box<dyn Duplex> = match self.0 {
                Some((connector, server)) => {
                    let connected = connector.connect(server, stream).await;
                    let stream = connected.map_err(|error| io::Error::other(tls::told(&error)))?;
                    Box::new(stream)
                }
                None => Box::new(stream),
            };
            Ok(Limited::new(stream))
        })
    }
}

impl TlsStream for Limited {
    /// The password is not bound to the certificate: the name in that is verified.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

#[cfg(test)]
mod tests;

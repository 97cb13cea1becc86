//! The lease in a row of PostgreSQL.
//!
//! Each question is one statement, and so one transaction. What decides is the lock of the row: an
//! `INSERT ... ON CONFLICT DO UPDATE` and an `UPDATE` wait for a transaction that changes the row,
//! and then look at the row that it has committed. That is so at *read committed*, and nothing
//! stronger is needed: the statement reads nothing but the row that it has locked. At the stronger
//! levels it would fail instead of looking again, so the session asks for this one.
//!
//! The deadline is in the clock of the server, as it is when the statement looks at the row
//! (`clock_timestamp()`; `now()` is when the transaction began, before it waited for the row). A
//! commit returns once the server has synced it (`synchronous_commit`), whatever the database is
//! set to.
//!
//! A grant and a release are told by `NOTIFY`, in the same transaction, and the clients `LISTEN`:
//! they need not ask at short intervals.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::BoxFuture;
use rustls::ClientConfig;
use rustls::pki_types::{InvalidDnsNameError, ServerName};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, LoadBalanceHosts, SslMode, TargetSessionAttrs};
use tokio_postgres::error::SqlState;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, Error, NoTls, Row, Socket};
use tokio_rustls::{TlsConnector, client};

use super::address::Files;
use super::server::{self, Hearer, Teller};
use super::values::{self, INIT, milliseconds, node, number};
use super::{Answer, Connect, LeaseStore, Record, Settings, StoreError, StoreResult, secret, tls};
use crate::causes::causes;
use crate::protocol::NodeId;
use crate::protocol::lease::Token;

/// The statement that makes the table.
pub const TABLE: &str = "\
CREATE TABLE IF NOT EXISTS bellwether_lease (
    name text PRIMARY KEY,
    holder bigint,
    token bigint NOT NULL,
    until timestamptz
)";

/// The deadline is calculated anew when the row is there: `excluded` was before the statement has
/// waited for it. The row stays when a lease is given back: the next token is higher than that in
/// it.
const ACQUIRE: &str = "\
WITH granted AS (
    INSERT INTO bellwether_lease AS lease (name, holder, token, until)
    VALUES ($1, $2, 1, clock_timestamp() + $3 * interval '1 millisecond')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = lease.token + 1,
        until = clock_timestamp() + $3 * interval '1 millisecond'
    WHERE lease.holder IS NULL OR lease.until <= clock_timestamp()
        OR lease.holder = excluded.holder
    RETURNING token
)
SELECT token, pg_notify($4, '') FROM granted";

const RENEW: &str = "\
UPDATE bellwether_lease SET until = clock_timestamp() + $4 * interval '1 millisecond'
WHERE name = $1 AND holder = $2 AND token = $3 AND until > clock_timestamp()";

const RELEASE: &str = "\
WITH released AS (
    UPDATE bellwether_lease SET holder = NULL, until = NULL
    WHERE name = $1 AND holder = $2 AND token = $3
    RETURNING name
)
SELECT pg_notify($4, '') FROM released";

const READ: &str = "\
SELECT holder, token, (EXTRACT(EPOCH FROM until - clock_timestamp()) * 1000)::bigint
FROM bellwether_lease WHERE name = $1";

/// Whether the user may do what a node does, by a grant on the table or on columns of it. To read
/// is asked for by reading.
const MAY_WRITE: &str = "\
SELECT has_any_column_privilege('bellwether_lease', 'INSERT')
    AND has_any_column_privilege('bellwether_lease', 'UPDATE')";

const GRANT: &str =
    "let a DBA run what `bellwether store init --print` prints, and grant USAGE on the schema";

const COMPARE: &str = "compare the table with the one that `bellwether store init --print` prints";

/// Some that speak the protocol of PostgreSQL lack functions that are used here.
const OTHER: &str = "use PostgreSQL itself, and compare the table with the one that `bellwether \
                     store init --print` prints";

const FORM: &str = "expected `postgres://USER@HOST:PORT/DATABASE`, and parameters that are known";

/// A database of PostgreSQL that keeps the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Postgres {
    config: Config,
    files: Files,
}

impl Postgres {
    /// Reads an address of the form `postgres://USER@HOST:PORT/DATABASE`, as libpq has it. With a
    /// file of authorities, the connection is encrypted, and the server shows a certificate.
    ///
    /// # Errors
    ///
    /// What is wrong with the address or with the files.
    pub fn parse(address: &str, files: &Files) -> Result<Self, String> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|it| address.starts_with(it));
        // What is wrong in it is not repeated: it may be a part of a password.
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
            return Ok(Self { config, files: files.clone() });
        };
        Err(problem.to_owned())
    }

    async fn open(&self, settings: &Settings) -> StoreResult<Session> {
        let (limit, mut config) = (settings.limit, self.config.clone());
        if let Some(file) = &self.files.password {
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
            .connect_timeout(limit / share)
            .load_balance_hosts(LoadBalanceHosts::Random)
            .tcp_user_timeout(limit)
            .keepalives(true)
            .keepalives_idle(probe)
            .keepalives_interval(probe)
            .keepalives_retries(3)
            // A standby can only be read, and may lag.
            .target_session_attrs(TargetSessionAttrs::ReadWrite);
        let (teller, hearer) = server::news();
        let (client, driver) = match &self.files.ca {
            Some(ca) => {
                let own = self.files.certificate.as_deref().zip(self.files.key.as_deref());
                let tls = Tls(Arc::new(tls::client(ca, own)?));
                started(config.connect(tls).await, teller)?
            }
            None => started(config.connect(NoTls).await, teller)?,
        };
        let channel = channel(&settings.name);
        let (name, keep) = (settings.name.clone(), milliseconds(settings.keep));
        let session = Session { client, driver, hearer, name, keep, channel };
        let prepare = prepare(&session.channel, limit);
        session.client.batch_execute(&prepare).await.map_err(|error| explain(&error))?;
        Ok(session)
    }
}

/// Whether what is said in clear to one of the servers can be read in a network. A server may ask
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
    fn connect<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> BoxFuture<'a, StoreResult<Box<dyn LeaseStore>>> {
        Box::pin(async move {
            let session = self.open(settings).await?;
            Ok(Box::new(session) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, _: &Settings) -> String {
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

/// The name of the channel on which changes of a lease are told. A name of a lease may be too long
/// for an identifier, and has other characters in it.
fn channel(name: &str) -> String {
    let digest = Sha256::digest(name);
    let half = digest.iter().take(16).map(|byte| format!("{byte:02x}"));
    format!("bellwether_{}", half.collect::<String>())
}

/// What a session begins with. `on` waits for the server's own disk, and for the standbys that the
/// server is told to wait for.
fn prepare(channel: &str, limit: Duration) -> String {
    let limit = milliseconds(limit).clamp(1, i64::from(i32::MAX));
    format!(
        "SET synchronous_commit = on; \
         SET default_transaction_isolation = 'read committed'; \
         SET statement_timeout = {limit}; \
         LISTEN {channel}"
    )
}

/// Starts the task that reads and writes, which tells of notifications and of the end.
fn started<T>(
    connected: Result<(Client, Connection<Socket, T>), Error>,
    teller: Teller,
) -> StoreResult<(Client, JoinHandle<()>)>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (client, mut connection) = connected.map_err(|error| explain(&error))?;
    let driver = tokio::spawn(async move {
        loop {
            match std::future::poll_fn(|cx| connection.poll_message(cx)).await {
                Some(Ok(AsyncMessage::Notification(_))) => teller.changed(),
                Some(Ok(_)) => {}
                Some(Err(error)) => return teller.ended(text(&error)),
                None => return teller.ended("PostgreSQL: the connection has ended".to_owned()),
            }
        }
    });
    Ok((client, driver))
}

fn text(error: &Error) -> String {
    let text = error.as_db_error().map(|error| error.message().replace('\n', "; "));
    format!("PostgreSQL: {}", text.unwrap_or_else(|| causes(error)))
}

fn explain(error: &Error) -> StoreError {
    let problem = text(error);
    // The server asks for a password, and the client has none.
    let helps = if problem.ends_with("password missing") {
        Some("name the file with the password: `store_password_file`")
    } else {
        error.code().and_then(remedy)
    };
    match helps {
        Some(remedy) => StoreError::Unfit { problem, remedy: remedy.to_owned() },
        None => StoreError::Away(problem),
    }
}

/// What helps if the server refuses with this code; `None` if a new connection may help.
fn remedy(code: &SqlState) -> Option<&'static str> {
    let known = [
        (SqlState::UNDEFINED_TABLE, INIT),
        (SqlState::UNDEFINED_COLUMN, COMPARE),
        (SqlState::UNDEFINED_FUNCTION, OTHER),
        (SqlState::DATATYPE_MISMATCH, COMPARE),
        (SqlState::INVALID_COLUMN_REFERENCE, COMPARE),
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
    hearer: Hearer,
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
    /// The row that a statement returns, if any. The answer is complete when the server is ready
    /// for the next statement, which is after the commit.
    async fn row(
        &self,
        statement: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> StoreResult<Option<Row>> {
        let row = self.client.query_typed_opt(statement, parameters).await;
        row.map_err(|error| explain(&error))
    }

    async fn recorded(&self) -> StoreResult<Record> {
        let Some(row) = self.row(READ, &[(&self.name, Type::TEXT)]).await? else {
            return Ok(Record::default());
        };
        let (holder, left): (Option<i64>, Option<i64>) = (column(&row, 0)?, column(&row, 2)?);
        if holder.is_some() && left.is_none() {
            return Err(values::damaged("it has a holder and no deadline"));
        }
        let left = left.filter(|left| *left > 0);
        let holder = left.and(holder).map(node).transpose()?;
        let token = values::token(column(&row, 1)?)?;
        Ok(Record { holder, token, left: left.map(values::left) })
    }

    /// A table that another user has made may be of no use to this one.
    async fn usable(&self) -> StoreResult<()> {
        self.recorded().await?;
        let row = self.row(MAY_WRITE, &[]).await?;
        let may_write = row.as_ref().map(|row| column::<bool>(row, 0)).transpose()?;
        if may_write == Some(true) {
            return Ok(());
        }
        Err(StoreError::Unfit {
            problem: "PostgreSQL: the user may not insert and update in bellwether_lease".into(),
            remedy: GRANT.to_owned(),
        })
    }

    async fn refused(&self, client: NodeId) -> StoreResult<Answer> {
        Ok(values::refused(&self.recorded().await?, client))
    }
}

fn column<'a, T: FromSql<'a>>(row: &'a Row, index: usize) -> StoreResult<T> {
    row.try_get(index).map_err(|_| StoreError::Unfit {
        problem: format!("PostgreSQL: column {} of the answer has another type", index + 1),
        remedy: COMPARE.to_owned(),
    })
}

impl LeaseStore for Session {
    fn acquire(&mut self, client: NodeId) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(async move {
            let id = i64::from(client.get());
            let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
                (&self.name, Type::TEXT),
                (&id, Type::INT8),
                (&self.keep, Type::INT8),
                (&self.channel, Type::TEXT),
            ];
            match self.row(ACQUIRE, &parameters).await? {
                Some(row) => Ok(Answer::Granted(values::token(column(&row, 0)?)?)),
                None => self.refused(client).await,
            }
        })
    }

    fn renew(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(async move {
            let (id, number) = (i64::from(client.get()), number(token));
            let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
                (&self.name, Type::TEXT),
                (&id, Type::INT8),
                (&number, Type::INT8),
                (&self.keep, Type::INT8),
            ];
            let rows = self.client.execute_typed(RENEW, &parameters).await;
            match rows.map_err(|error| explain(&error))? {
                0 => self.refused(client).await,
                _ => Ok(Answer::Granted(token)),
            }
        })
    }

    fn release(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(async move {
            let (id, number) = (i64::from(client.get()), number(token));
            let parameters: [(&(dyn ToSql + Sync), Type); 4] = [
                (&self.name, Type::TEXT),
                (&id, Type::INT8),
                (&number, Type::INT8),
                (&self.channel, Type::TEXT),
            ];
            self.row(RELEASE, &parameters).await.map(|_| ())
        })
    }

    fn read(&mut self) -> BoxFuture<'_, StoreResult<Record>> {
        Box::pin(async move { self.recorded().await })
    }

    /// A user who may not create tables may use one that is there.
    fn init(&mut self) -> BoxFuture<'_, StoreResult<()>> {
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

    fn changed(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.hearer.changed())
    }
}

/// What makes connections with TLS: the certificate of the server is verified, with its name.
struct Tls(Arc<ClientConfig>);

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
struct Handshake {
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
struct Encrypted(Box<client::TlsStream<Socket>>);

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

#[cfg(test)]
mod tests;

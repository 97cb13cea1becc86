//! The lease in a file of SQLite, for the processes of one machine.
//!
//! SQLite locks the file with the locks of the operating system, so one process at a time writes,
//! and each change is one transaction. It begins as `IMMEDIATE`: a transaction that begins as a
//! reader, and writes after another process has, is refused in the middle. `synchronous=EXTRA`
//! syncs the file and its folder before a transaction ends, so a grant outlives a loss of power.
//! With `FULL`, the journal whose deletion was the commit might be there again.
//!
//! SQLite has no clock. The deadline of a lease is in the clock that all processes of the machine
//! have in common, goes on while it sleeps, and no person sets: the time since the start of the
//! system, with the id of that start beside it. A deadline of another start says nothing. Such a
//! lease is kept for its whole duration once more, from when a client of this start first saw it:
//! its holder should be gone, but the file may be on a disk that another machine has, too.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, TransactionBehavior};
use thiserror::Error;
use tokio::sync::Semaphore;

use super::address::Files;
use super::values::{self, INIT, damaged, milliseconds, node, number};
use super::{Answer, Connect, LeaseStore, Record, Settings, StoreError, StoreResult};
use crate::clock::{Clock as _, SystemClock};
use crate::protocol::NodeId;
use crate::protocol::lease::Token;

/// The statement that makes the table.
pub const TABLE: &str = "\
CREATE TABLE IF NOT EXISTS bellwether_lease (
    name TEXT PRIMARY KEY,
    holder INTEGER,
    token INTEGER NOT NULL,
    boot TEXT,
    until_ms INTEGER
)";

const READ: &str = "SELECT holder, token, boot, until_ms FROM bellwether_lease WHERE name = ?1";

/// The row stays when a lease is given back: the next token is higher than that in it.
const GRANT: &str = "\
INSERT INTO bellwether_lease (name, holder, token, boot, until_ms) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = excluded.token,
    boot = excluded.boot, until_ms = excluded.until_ms";

const ADOPT: &str = "UPDATE bellwether_lease SET boot = ?2, until_ms = ?3 WHERE name = ?1";

const RELEASE: &str = "\
UPDATE bellwether_lease SET holder = NULL, boot = NULL, until_ms = NULL
WHERE name = ?1 AND holder = ?2 AND token = ?3";

/// Where Linux tells which start of the system this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The longest wait for a lock. What waits longer has no limit that means anything.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// How many threads work with the file at a time, with those whose questions were given up. A disk
/// that does not answer must not take all that the process has.
const THREADS: usize = 4;

/// A file of SQLite that keeps the lease.
#[derive(Clone, Debug)]
pub struct Sqlite {
    file: PathBuf,
    threads: Arc<Semaphore>,
}

impl Sqlite {
    /// Reads an address of the form `sqlite:FILE`.
    ///
    /// # Errors
    ///
    /// What is wrong with the address, or that a file has no use for these files.
    pub fn parse(address: &str, files: &Files) -> Result<Self, String> {
        let file = address.strip_prefix("sqlite:").filter(|file| !file.is_empty());
        let file = file.ok_or("expected `sqlite:FILE`")?;
        if file == ":memory:" {
            return Err("no other process sees a database in memory: name a file".to_owned());
        }
        if *files != Files::default() {
            let problem = "a file of SQLite is opened without a password, a token or a certificate";
            return Err(format!("{problem}: leave these out"));
        }
        Ok(Self { file: file.into(), threads: Arc::new(Semaphore::new(THREADS)) })
    }
}

impl Connect for Sqlite {
    fn connect<'a>(
        &'a self,
        settings: &'a Settings,
    ) -> BoxFuture<'a, StoreResult<Box<dyn LeaseStore>>> {
        Box::pin(async move {
            let lease = Lease {
                file: self.file.clone(),
                threads: Arc::clone(&self.threads),
                name: settings.name.clone(),
                keep: milliseconds(settings.keep),
                limit: settings.limit.min(LONGEST_WAIT),
                boot: boot()?,
            };
            let mut store = Session { lease: Arc::new(lease), connection: None };
            // A file that is not there yet is no problem before it is asked for anything: it is
            // made by `init`, and by nothing else, lest a wrong path be an empty store.
            if self.file.exists() {
                store.run(Missing::Fails, |_, _| Ok(())).await?;
            }
            Ok(Box::new(store) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, _: &Settings) -> String {
        format!("{TABLE};")
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }
}

/// The start of the system that this process runs in.
fn boot() -> StoreResult<String> {
    let read = std::fs::read_to_string(BOOT);
    read.map(|id| id.trim().to_owned()).map_err(|error| StoreError::Unfit {
        problem: format!("cannot read {BOOT}: {error}"),
        remedy: "use SQLite as a store on Linux only, with /proc".to_owned(),
    })
}

/// What happens if there is no file.
#[derive(Clone, Copy)]
enum Missing {
    IsMade,
    Fails,
}

/// What can go wrong with a question.
#[derive(Debug, Error)]
enum Trouble {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is asked about.
struct Lease {
    file: PathBuf,
    threads: Arc<Semaphore>,
    name: String,
    keep: i64,
    limit: Duration,
    boot: String,
}

impl Lease {
    fn open(&self, missing: Missing) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = match missing {
            Missing::IsMade => flags | OpenFlags::SQLITE_OPEN_CREATE,
            Missing::Fails => flags,
        };
        let connection = Connection::open_with_flags(&self.file, flags)?;
        connection.busy_timeout(self.limit)?;
        connection.pragma_update(None, "synchronous", "EXTRA")?;
        Ok(connection)
    }

    fn explain(&self, trouble: Trouble) -> StoreError {
        let error = match trouble {
            Trouble::Store(error) => return error,
            Trouble::Sqlite(error) => error,
        };
        let (file, text) = (self.file.display(), error.to_string());
        let unfit = |problem: String, remedy: &str| {
            let remedy = remedy.to_owned();
            StoreError::Unfit { problem, remedy }
        };
        match error.sqlite_error_code() {
            Some(ErrorCode::CannotOpen) if !self.file.exists() => {
                unfit(format!("there is no file {file}"), INIT)
            }
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
                let remedy = "let the user of this process write the file and its folder";
                unfit(format!("cannot open {file} to write it ({text})"), remedy)
            }
            Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
                unfit(format!("{file}: {text}"), "name another file, or restore this one")
            }
            _ if text.contains("no such table") => {
                unfit(format!("{file} has no table `bellwether_lease`"), INIT)
            }
            _ => StoreError::Away(format!("{file}: {text}")),
        }
    }
}

/// What is in the table.
struct Row {
    holder: Option<i64>,
    token: i64,
    boot: Option<String>,
    until: Option<i64>,
}

/// A lease that has not expired.
#[derive(Clone, Copy)]
struct Held {
    holder: NodeId,
    /// The milliseconds that are left. `None` if the deadline is of another start of the system.
    left: Option<i64>,
}

fn row(connection: &Connection, lease: &Lease) -> rusqlite::Result<Option<Row>> {
    let read = connection.query_row(READ, [lease.name.as_str()], |row| {
        Ok(Row { holder: row.get(0)?, token: row.get(1)?, boot: row.get(2)?, until: row.get(3)? })
    });
    read.optional()
}

impl Row {
    fn held(&self, boot: &str, now: i64) -> StoreResult<Option<Held>> {
        let Some(holder) = self.holder else { return Ok(None) };
        let holder = node(holder)?;
        if self.boot.as_deref() != Some(boot) {
            return Ok(Some(Held { holder, left: None }));
        }
        let until = self.until.ok_or_else(|| damaged("it has a holder and no deadline"))?;
        let left = until.saturating_sub(now);
        Ok((left > 0).then_some(Held { holder, left: Some(left) }))
    }
}

/// The milliseconds since the start of the system.
fn now() -> i64 {
    i64::try_from(SystemClock.now().as_nanos() / 1_000_000).unwrap_or(i64::MAX)
}

/// Grants the lease, or extends the one with this token, if that may be.
fn ask(
    connection: &mut Connection,
    lease: &Lease,
    client: NodeId,
    renewed: Option<Token>,
) -> Result<Answer, Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read now that no other process can write: the wait for that may have been long.
    let now = now();
    // A millisecond has begun that is not over: the deadline is rounded up.
    let until = now.saturating_add(1).saturating_add(lease.keep);
    let row = row(&transaction, lease)?;
    let held = row.as_ref().map(|row| row.held(&lease.boot, now)).transpose()?.flatten();
    let newest = row.as_ref().map_or(0, |row| row.token);
    let is_own = held.is_some_and(|held| held.holder == client);
    let granted = match renewed {
        Some(token) => (is_own && number(token) == newest).then_some(newest),
        None if is_own || held.is_none() => {
            Some(newest.checked_add(1).ok_or_else(|| damaged("there is no higher token"))?)
        }
        None => None,
    };
    let answer = match granted {
        Some(token) => {
            let id = i64::from(client.get());
            let (name, boot) = (lease.name.as_str(), lease.boot.as_str());
            transaction.execute(GRANT, (name, id, token, boot, until))?;
            Answer::Granted(values::token(token)?)
        }
        None => {
            if held.is_some_and(|held| held.left.is_none()) {
                transaction.execute(ADOPT, (lease.name.as_str(), lease.boot.as_str(), until))?;
            }
            let holder = held.map(|held| held.holder);
            values::refused(&Record { holder, ..Record::default() }, client)
        }
    };
    transaction.commit()?;
    Ok(answer)
}

/// A store with its file.
struct Session {
    lease: Arc<Lease>,
    /// `None` while a thread works with it, after a problem, and before the file is there.
    connection: Option<Connection>,
}

impl Session {
    /// Works with the file on a thread that may wait. If the future is dropped, the work goes on,
    /// as that of a server would; the next question opens the file again.
    async fn run<T, W>(&mut self, missing: Missing, work: W) -> StoreResult<T>
    where
        T: Send + 'static,
        W: FnOnce(&mut Connection, &Lease) -> Result<T, Trouble> + Send + 'static,
    {
        let lease = Arc::clone(&self.lease);
        let place = Arc::clone(&lease.threads).acquire_owned().await;
        let place = place.map_err(|error| StoreError::Away(error.to_string()))?;
        let kept = self.connection.take();
        let task = tokio::task::spawn_blocking(move || {
            let _place = place;
            let worked = || -> Result<(Connection, T), Trouble> {
                let mut connection = match kept {
                    Some(connection) => connection,
                    None => lease.open(missing)?,
                };
                let done = work(&mut connection, &lease)?;
                Ok((connection, done))
            };
            worked().map_err(|trouble| lease.explain(trouble))
        });
        let worked = task.await;
        let (connection, done) =
            worked.map_err(|error| StoreError::Away(format!("the work has ended: {error}")))??;
        self.connection = Some(connection);
        Ok(done)
    }
}

impl LeaseStore for Session {
    fn acquire(&mut self, client: NodeId) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(
            self.run(Missing::Fails, move |connection, lease| ask(connection, lease, client, None)),
        )
    }

    fn renew(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<Answer>> {
        Box::pin(self.run(Missing::Fails, move |connection, lease| {
            ask(connection, lease, client, Some(token))
        }))
    }

    fn release(&mut self, client: NodeId, token: Token) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.run(Missing::Fails, move |connection, lease| {
            let id = i64::from(client.get());
            connection.execute(RELEASE, (lease.name.as_str(), id, number(token)))?;
            Ok(())
        }))
    }

    fn read(&mut self) -> BoxFuture<'_, StoreResult<Record>> {
        Box::pin(self.run(Missing::Fails, |connection, lease| {
            let Some(row) = row(connection, lease)? else { return Ok(Record::default()) };
            let held = row.held(&lease.boot, now())?;
            Ok(Record {
                holder: held.map(|held| held.holder),
                token: values::token(row.token)?,
                left: held.and_then(|held| held.left).map(values::left),
            })
        }))
    }

    fn init(&mut self) -> BoxFuture<'_, StoreResult<()>> {
        Box::pin(self.run(Missing::IsMade, |connection, _| {
            connection.execute_batch(TABLE).map_err(Trouble::from)
        }))
    }
}

#[cfg(test)]
mod tests;

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
//!
//! The locks are on the open file, and clients meet by the name of the file. If the file is moved
//! away and made anew, the two differ. Each question first compares them by device and inode.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bellwether_core::protocol::lease::Token;
use bellwether_core::store::{
    Answer, Asking, Claim, Connect, Holder, LeaseRecord, LeaseSettings, LeaseStore, StoreError,
    StoreResult,
};
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _, TransactionBehavior};
use rustix::time::{ClockId, clock_gettime};
use thiserror::Error;
use tokio::sync::Semaphore;

use crate::address::Files;
use crate::values::{self, COMPARE, INIT, damaged, milliseconds, number, unfit};

/// The statement that makes the table.
pub const TABLE: &str = "\
CREATE TABLE IF NOT EXISTS bellwether_lease (
    name TEXT PRIMARY KEY,
    holder TEXT,
    token INTEGER NOT NULL,
    lasts_ms INTEGER,
    boot TEXT,
    until_ms INTEGER
)";

const READ: &str =
    "SELECT holder, token, lasts_ms, boot, until_ms FROM bellwether_lease WHERE name = ?1";

/// The row stays when a lease is given back: the next token is higher than that in the row.
const GRANT: &str = "\
INSERT INTO bellwether_lease (name, holder, token, lasts_ms, boot, until_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, token = excluded.token,
    lasts_ms = excluded.lasts_ms, boot = excluded.boot, until_ms = excluded.until_ms";

const ADOPT: &str =
    "UPDATE bellwether_lease SET lasts_ms = ?2, boot = ?3, until_ms = ?4 WHERE name = ?1";

const RELEASE: &str = "\
UPDATE bellwether_lease SET holder = NULL, lasts_ms = NULL, boot = NULL, until_ms = NULL
WHERE name = ?1 AND holder = ?2 AND token = ?3";

/// The file in which Linux tells which start of the system this is.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// The clock that goes on while the machine sleeps.
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// The longest wait for a lock. A client that waits longer has no limit that means anything.
const LONGEST_WAIT: Duration = Duration::from_secs(60 * 60);

/// The number of threads that work with the file at a time, with those whose questions were given
/// up. A disk that does not answer must not take all threads of the process.
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
    /// The mistake in the address, or that SQLite has no use for these files.
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
    fn connect<'a>(&'a self, settings: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
        Box::pin(async move {
            let lease = Lease {
                file: self.file.clone(),
                threads: Arc::clone(&self.threads),
                name: settings.name.clone(),
                keep: milliseconds(settings.ttl),
                limit: settings.limit.min(LONGEST_WAIT),
                boot: boot()?,
            };
            let mut store = Session { lease: Arc::new(lease), open: None };
            // A file that is not there yet is no problem before the first question: `init` makes
            // the file, and nothing else does, lest a wrong path be an empty store.
            if self.file.exists() {
                store.run(Missing::Fails, |_, _| Ok(())).await?;
            }
            Ok(Box::new(store) as Box<dyn LeaseStore>)
        })
    }

    fn setup(&self, _: &LeaseSettings) -> String {
        format!("{TABLE};")
    }

    fn warning(&self) -> Option<&'static str> {
        None
    }
}

/// Returns the id of the start of the system that this process runs in.
fn boot() -> StoreResult<String> {
    let read = fs::read_to_string(BOOT);
    let remedy = "use SQLite as a store on Linux only, with /proc";
    read.map(|id| id.trim().to_owned())
        .map_err(|error| unfit(format!("cannot read {BOOT}: {error}"), remedy))
}

/// Returns the milliseconds since the start of the system.
fn now() -> i64 {
    let now = Duration::try_from(clock_gettime(CLOCK)).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the device and the inode of the file that has this name.
fn inode(file: &Path) -> Option<(u64, u64)> {
    let about = fs::metadata(file).ok()?;
    Some((about.dev(), about.ino()))
}

/// The treatment of a file that is not there.
#[derive(Clone, Copy)]
enum Missing {
    IsMade,
    Fails,
}

/// A file that is open.
struct Open {
    connection: Connection,
    /// The device and the inode of the file.
    inode: Option<(u64, u64)>,
}

#[derive(Debug, Error)]
enum Trouble {
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    #[error(transparent)]
    Store(#[from] StoreError),
}

struct Lease {
    file: PathBuf,
    threads: Arc<Semaphore>,
    name: String,
    keep: i64,
    limit: Duration,
    boot: String,
}

impl Lease {
    fn open(&self, missing: Missing) -> rusqlite::Result<Open> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let flags = match missing {
            Missing::IsMade => flags | OpenFlags::SQLITE_OPEN_CREATE,
            Missing::Fails => flags,
        };
        // The inode is read before: if the file is replaced meanwhile, the next look tells so.
        let before = inode(&self.file);
        let connection = Connection::open_with_flags(&self.file, flags)?;
        let inode = before.or_else(|| inode(&self.file));
        connection.busy_timeout(self.limit)?;
        connection.pragma_update(None, "synchronous", "EXTRA")?;
        Ok(Open { connection, inode })
    }

    /// Checks that the open file still has its name.
    fn check(&self, open: &Open) -> StoreResult<()> {
        let named = inode(&self.file);
        if named.is_some() && named == open.inode {
            return Ok(());
        }
        let file = self.file.display();
        Err(StoreError::Unreachable(format!("the file {file} was moved away or replaced")))
    }

    fn explain(&self, trouble: Trouble) -> StoreError {
        let error = match trouble {
            Trouble::Store(error) => return error,
            Trouble::Sqlite(error) => error,
        };
        let (file, text) = (self.file.display(), error.to_string());
        let shapes = ["no such column", "has no column", "ON CONFLICT clause"];
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
            _ if shapes.iter().any(|part| text.contains(part)) => {
                unfit(format!("{file}: {text}"), COMPARE)
            }
            _ if matches!(error, rusqlite::Error::InvalidColumnType(..)) => damaged(&text),
            _ => StoreError::Unreachable(format!("{file}: {text}")),
        }
    }
}

struct Row {
    holder: Option<String>,
    token: i64,
    /// The whole duration of the lease, in milliseconds.
    lasts: Option<i64>,
    boot: Option<String>,
    until: Option<i64>,
}

/// A lease that has not expired.
struct Held {
    holder: Holder,
    /// The milliseconds that are left, where the deadline says so.
    left: Option<i64>,
    /// The deadline is of another start of the system.
    is_foreign: bool,
    doubt: Option<String>,
}

fn row(connection: &Connection, lease: &Lease) -> rusqlite::Result<Option<Row>> {
    let read = connection.query_row(READ, [lease.name.as_str()], |row| {
        Ok(Row {
            holder: row.get(0)?,
            token: row.get(1)?,
            lasts: row.get(2)?,
            boot: row.get(3)?,
            until: row.get(4)?,
        })
    });
    read.optional()
}

impl Row {
    fn held(&self, boot: &str, now: i64) -> StoreResult<Option<Held>> {
        let Some(holder) = &self.holder else { return Ok(None) };
        let is_foreign = self.boot.as_deref() != Some(boot);
        let until = self.until.filter(|_| !is_foreign);
        let left = until.map(|until| until.saturating_sub(now));
        if left.is_some_and(|left| left <= 0) {
            return Ok(None);
        }
        // The deadline was rounded up by a millisecond.
        let longest = self.lasts.unwrap_or_default().saturating_add(1);
        let is_doubted = !is_foreign && left.is_none_or(|left| left > longest);
        let doubt = is_doubted.then(|| format!("{} {}", self.token, until.unwrap_or_default()));
        Ok(Some(Held { holder: values::holder(holder)?, left, is_foreign, doubt }))
    }
}

fn record(token: i64, held: Option<Held>) -> StoreResult<LeaseRecord> {
    let token = values::token(token)?;
    Ok(match held {
        Some(Held { holder, left, doubt, .. }) => {
            LeaseRecord { holder: Some(holder), token, left: left.map(values::left), doubt }
        }
        None => LeaseRecord { token, ..LeaseRecord::default() },
    })
}

enum Wish {
    Grant { seen: i64, waits: bool, overdue: Option<String> },
    Renewal(i64),
}

/// Grants or extends the lease, if that may be.
fn ask(
    connection: &mut Connection,
    lease: &Lease,
    client: &Holder,
    wish: &Wish,
) -> Result<Answer, Trouble> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Read now that no other process can write: the wait for that may have been long.
    let now = now();
    // A millisecond has begun that is not over: the deadline is rounded up.
    let until = now.saturating_add(1).saturating_add(lease.keep);
    let row = row(&transaction, lease)?;
    let mut held = row.as_ref().map(|row| row.held(&lease.boot, now)).transpose()?.flatten();
    let newest = row.as_ref().map_or(0, |row| row.token);
    let is_own = held.as_ref().is_some_and(|held| held.holder == *client);
    let granted = match wish {
        Wish::Renewal(token) => (is_own && *token == newest).then_some(newest),
        Wish::Grant { seen, waits, overdue } => {
            let is_over = |held: &Held| overdue.is_some() && held.doubt == *overdue;
            let is_free = is_own || held.as_ref().is_none_or(is_over);
            let may = is_free && (newest >= *seen || *waits);
            let next = newest.max(*seen).checked_add(1);
            may.then(|| next.ok_or_else(|| damaged("there is no higher token"))).transpose()?
        }
    };
    let (name, boot) = (lease.name.as_str(), lease.boot.as_str());
    let answer = match granted {
        Some(token) => {
            let row = (name, client.to_string(), token, lease.keep, boot, until);
            transaction.execute(GRANT, row)?;
            Answer::Granted(values::token(token)?)
        }
        None => {
            if let Some(held) = held.as_mut().filter(|held| held.is_foreign) {
                transaction.execute(ADOPT, (name, lease.keep, boot, until))?;
                held.left = Some(lease.keep);
            }
            Answer::Refused(record(newest, held)?)
        }
    };
    transaction.commit()?;
    Ok(answer)
}

/// A store with its file.
struct Session {
    lease: Arc<Lease>,
    /// Absent while a thread works with the file, after a problem, and before the file is there.
    open: Option<Open>,
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
        let place = place.map_err(|error| StoreError::Unreachable(error.to_string()))?;
        let kept = self.open.take();
        let task = tokio::task::spawn_blocking(move || {
            let _place = place;
            let worked = || -> Result<(Open, T), Trouble> {
                let mut open = match kept {
                    Some(open) => open,
                    None => lease.open(missing)?,
                };
                lease.check(&open)?;
                let done = work(&mut open.connection, &lease)?;
                Ok((open, done))
            };
            worked().map_err(|trouble| lease.explain(trouble))
        });
        let worked = task.await;
        let (open, done) = worked
            .map_err(|error| StoreError::Unreachable(format!("the work has ended: {error}")))??;
        self.open = Some(open);
        Ok(done)
    }

    fn ask(&mut self, client: &Holder, wish: Wish) -> Asking<'_, Answer> {
        let client = client.clone();
        Box::pin(
            self.run(Missing::Fails, move |connection, lease| {
                ask(connection, lease, &client, &wish)
            }),
        )
    }
}

impl LeaseStore for Session {
    fn acquire<'a>(&'a mut self, claim: Claim<'a>) -> Asking<'a, Answer> {
        let overdue = claim.overdue.map(str::to_owned);
        let (seen, waits) = (number(claim.seen), claim.waits);
        self.ask(claim.holder, Wish::Grant { seen, waits, overdue })
    }

    fn renew<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, Answer> {
        self.ask(holder, Wish::Renewal(number(token)))
    }

    fn release<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, ()> {
        let holder = holder.to_string();
        Box::pin(self.run(Missing::Fails, move |connection, lease| {
            connection.execute(RELEASE, (lease.name.as_str(), holder, number(token)))?;
            Ok(())
        }))
    }

    fn read(&mut self) -> Asking<'_, LeaseRecord> {
        Box::pin(self.run(Missing::Fails, |connection, lease| {
            let Some(row) = row(connection, lease)? else { return Ok(LeaseRecord::default()) };
            Ok(record(row.token, row.held(&lease.boot, now())?)?)
        }))
    }

    fn init(&mut self) -> Asking<'_, ()> {
        Box::pin(self.run(Missing::IsMade, |connection, lease| {
            connection.execute_batch(TABLE)?;
            // A table that was there already may be another.
            row(connection, lease)?;
            Ok(())
        }))
    }
}

#[cfg(test)]
mod tests;

//! The table in a file of SQLite.

use std::time::Duration;

use bellwether::fence::{Token, sql};
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::{DONE, Done, Failure, Job, NEXT, RESOURCE, RESULT, RESULTS, Table, job, takes_ms};

/// How long a transaction waits for another one.
const BUSY: Duration = Duration::from_secs(1);

pub(super) struct Sqlite(Connection);

impl Sqlite {
    pub(super) fn open(path: &str) -> rusqlite::Result<Self> {
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY)?;
        // A commit is on disk when it returns.
        connection.pragma_update(None, "synchronous", "FULL")?;
        Ok(Self(connection))
    }

    /// A transaction that has the lock from its beginning.
    fn begin(&mut self) -> rusqlite::Result<Transaction<'_>> {
        self.0.transaction_with_behavior(TransactionBehavior::Immediate)
    }
}

/// The fence: the first thing that a transaction does.
fn admit(transaction: &Transaction<'_>, token: Token) -> Result<(), Failure> {
    let rows =
        transaction.execute(sql::ADMIT, (RESOURCE, sql::number(token.epoch), token.node.get()))?;
    sql::admitted(token, rows as u64).map_err(Failure::Stale)
}

impl Table for Sqlite {
    fn create(&mut self, jobs: &[Job]) -> Result<(), Failure> {
        let transaction = self.begin()?;
        transaction.execute_batch(&super::tables("INTEGER PRIMARY KEY AUTOINCREMENT"))?;
        for job in jobs {
            let insert = "INSERT INTO jobs (id, takes_ms) VALUES ($1, $2)";
            transaction.execute(insert, (job.id, takes_ms(job)))?;
        }
        Ok(transaction.commit()?)
    }

    fn raise(&mut self, token: Token) -> Result<(), Failure> {
        let transaction = self.begin()?;
        admit(&transaction, token)?;
        Ok(transaction.commit()?)
    }

    fn next(&mut self) -> Result<Option<Job>, Failure> {
        let row = |row: &rusqlite::Row<'_>| Ok(job(row.get(0)?, row.get(1)?));
        Ok(self.0.query_row(NEXT, (), row).optional()?)
    }

    fn finish(&mut self, job: Job, token: Token, fenced: bool) -> Result<(), Failure> {
        let transaction = self.begin()?;
        if fenced {
            admit(&transaction, token)?;
        }
        transaction.execute(RESULT, (job.id, token.node.get(), sql::number(token.epoch)))?;
        transaction.execute(DONE, (job.id,))?;
        Ok(transaction.commit()?)
    }

    fn results(&mut self) -> Result<Vec<Done>, Failure> {
        let mut statement = self.0.prepare(RESULTS)?;
        let rows = statement.query_map((), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<rusqlite::Result<_>>()?)
    }
}

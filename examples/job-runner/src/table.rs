//! The table of jobs in a database, with a fence in front of it.

use std::time::Duration;

use bellwether::fence::{Stale, Token, sql};

mod postgres;
mod sqlite;

/// The name of the fence.
const RESOURCE: &str = "jobs";

/// The oldest job that is not done.
const NEXT: &str = "SELECT id, takes_ms FROM jobs WHERE done = 0 ORDER BY id LIMIT 1";

/// What a job leaves behind. Nothing here forbids a second result of one job, so that it shows if
/// the fence lets it pass.
const RESULT: &str = "INSERT INTO results (job, node, epoch) VALUES ($1, $2, $3)";
const DONE: &str = "UPDATE jobs SET done = 1 WHERE id = $1";

/// All results, in the order in which they were written.
const RESULTS: &str = "SELECT job, node, epoch FROM results ORDER BY number";

/// The tables, with the type of a number that counts up.
fn tables(counter: &str) -> String {
    let fence = sql::TABLE;
    format!(
        "{fence};
        CREATE TABLE jobs (
            id BIGINT PRIMARY KEY, takes_ms BIGINT NOT NULL, done INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE results (
            number {counter}, job BIGINT NOT NULL, node BIGINT NOT NULL, epoch BIGINT NOT NULL
        );"
    )
}

/// Something to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Job {
    /// Its number.
    pub(crate) id: i64,
    /// How long it takes.
    pub(crate) takes: Duration,
}

/// What was done: which job, by which node, in which epoch.
pub(crate) type Done = (i64, i64, i64);

/// Why a transaction was rolled back.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The fence has refused the token.
    Stale(Stale),
    /// The database has failed, or cannot be reached.
    Database(anyhow::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(error.into())
    }
}

impl From<::postgres::Error> for Failure {
    fn from(error: ::postgres::Error) -> Self {
        Self::Database(error.into())
    }
}

/// The table, in one database or the other.
pub(crate) trait Table {
    /// Makes the tables, with these jobs.
    fn create(&mut self, jobs: &[Job]) -> Result<(), Failure>;

    /// Refuses everything older than `token` from now on. A leader does this before it reads.
    fn raise(&mut self, token: Token) -> Result<(), Failure>;

    /// The next job, if one is left.
    fn next(&mut self) -> Result<Option<Job>, Failure>;

    /// Writes that the node of `token` has done the job: in one transaction with the question
    /// whether it may, if it is `fenced`.
    fn finish(&mut self, job: Job, token: Token, fenced: bool) -> Result<(), Failure>;

    /// What was done so far, in this order.
    fn results(&mut self) -> Result<Vec<Done>, Failure>;
}

/// Opens the database at `url`: `postgres://...`, or the path of a file of SQLite.
pub(crate) fn open(url: &str) -> anyhow::Result<Box<dyn Table>> {
    if url.starts_with("postgres://") || url.starts_with("postgresql://") {
        Ok(Box::new(postgres::Postgres::connect(url)?))
    } else {
        Ok(Box::new(sqlite::Sqlite::open(url)?))
    }
}

/// A job as the databases keep it.
fn job(id: i64, takes_ms: i64) -> Job {
    Job { id, takes: Duration::from_millis(takes_ms.unsigned_abs()) }
}

fn takes_ms(job: &Job) -> i64 {
    i64::try_from(job.takes.as_millis()).unwrap_or(i64::MAX)
}

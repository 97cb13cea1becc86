//! The fence of a database: a table, and one statement at the beginning of each transaction.
//!
//! Both are understood by SQLite (since 3.24) and PostgreSQL (since 9.5). A transaction of a leader
//! runs [`ADMIT`] first, with the resource and the epoch, and asks [`admitted`] about the number of
//! rows that it has changed. The row is locked until the transaction ends, so that no transaction
//! of another epoch comes between the question and the writes.
//!
//! - SQLite: begin with `BEGIN IMMEDIATE`, so that the transaction waits for another one first, and
//!   not in the middle.
//! - PostgreSQL: every isolation level will do. A leader that is paused within a transaction keeps
//!   the row locked; set `idle_in_transaction_session_timeout` in its session, and the server ends
//!   the transaction for it.

use super::{Epoch, Stale};

/// The statement that makes the table of the highest epochs.
pub const TABLE: &str = "\
CREATE TABLE IF NOT EXISTS bellwether_fence (
    resource TEXT PRIMARY KEY,
    epoch BIGINT NOT NULL CHECK (epoch > 0)
)";

/// The statement that raises the fence of the resource `$1` to the epoch `$2`, and changes no row
/// if a later epoch was there before.
pub const ADMIT: &str = "\
INSERT INTO bellwether_fence (resource, epoch) VALUES ($1, $2)
ON CONFLICT (resource) DO UPDATE SET epoch = excluded.epoch
WHERE bellwether_fence.epoch <= excluded.epoch";

/// The query for the highest epoch of the resource `$1`.
pub const HIGHEST: &str = "SELECT epoch FROM bellwether_fence WHERE resource = $1";

/// Returns the number of the epoch as the databases keep it. They have no larger integers; at an
/// epoch in every nanosecond there are numbers for 292 years.
#[must_use]
pub fn number(epoch: Epoch) -> i64 {
    i64::try_from(epoch.number()).unwrap_or(i64::MAX)
}

/// Decides whether the transaction may go on after [`ADMIT`] has changed this number of rows.
///
/// # Errors
///
/// [`Stale`] if it must be rolled back.
pub fn admitted(epoch: Epoch, rows: u64) -> Result<(), Stale> {
    if rows == 1 { Ok(()) } else { Err(Stale { epoch }) }
}

//! The fence of a database: a table, and one statement at the beginning of each transaction.
//!
//! Both are understood by SQLite (since 3.24) and PostgreSQL (since 9.5). A transaction of a leader
//! runs [`ADMIT`] first, with the resource, the epoch and
//! the node, and asks [`admitted`] about the number of
//! rows that it has changed. The row is locked until the transaction ends, so that no transaction
//! of another epoch comes between the question and the writes.
//!
//! - SQLite: begin with `BEGIN IMMEDIATE`, so that the transaction waits for another one first, and
//!   not in the middle.
//! - PostgreSQL: every isolation level will do. A leader that is paused within a transaction keeps
//!   the row locked; set `idle_in_transaction_session_timeout` in its session, and the server ends
//!   the transaction for it.

use super::{Epoch, Stale, Token};

/// The statement that makes the table of the highest epochs.
pub const TABLE: &str = "\
CREATE TABLE IF NOT EXISTS bellwether_fence (
    resource TEXT PRIMARY KEY,
    epoch BIGINT NOT NULL CHECK (epoch > 0),
    node BIGINT NOT NULL
)";

/// The statement that raises the fence of the resource `$1` to the epoch `$2` of the node `$3`. It
/// changes no row if a later epoch was there before, or this one of another node.
pub const ADMIT: &str = "\
INSERT INTO bellwether_fence (resource, epoch, node) VALUES ($1, $2, $3)
ON CONFLICT (resource) DO UPDATE SET epoch = excluded.epoch, node = excluded.node
WHERE bellwether_fence.epoch < excluded.epoch
OR (bellwether_fence.epoch = excluded.epoch AND bellwether_fence.node = excluded.node)";

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
pub fn admitted(token: Token, rows: u64) -> Result<(), Stale> {
    if rows == 1 { Ok(()) } else { Err(Stale { token }) }
}

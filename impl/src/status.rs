//! How a node is: what it answers to a question on its port, and how to ask.

use std::time::Duration;

use thiserror::Error;
use tokio::time::timeout;

use crate::config::{Address, Credentials};
pub use crate::report::{Counters, Link, MemberReport, StatusReport};
use crate::transport::connect::Resolver;
use crate::transport::frame::{Opening, Reply};
use crate::transport::handshake::Failure;
use crate::transport::question::ask;

/// Why a node did not tell how it is.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// Nothing is there.
    #[error("no process answers at {address}: {cause}; is the node running?")]
    Unreachable {
        /// Where.
        address: Address,
        /// What the system says.
        cause: std::io::Error,
    },
    /// Something is there, but silent.
    #[error("no answer from {address} within {limit:?}; is it a bellwether node?")]
    Silent {
        /// Where.
        address: Address,
        /// How long it was given.
        limit: Duration,
    },
    /// The answer makes no sense.
    #[error("{address} gives no status: {problem}")]
    Nonsense {
        /// Where.
        address: Address,
        /// What was wrong with the answer.
        problem: String,
    },
}

/// Asks the node at `address` how it is, and waits at most `limit` for the answer. It needs the
/// credentials of a node of that cluster; with certificates, these must say which node is
/// [asked](Credentials::asking).
///
/// # Errors
///
/// A [`QueryError`] when there is no answer in time, or none that makes sense.
pub async fn query(
    address: &Address,
    credentials: &Credentials,
    limit: Duration,
) -> Result<StatusReport, QueryError> {
    let nonsense = |problem: String| QueryError::Nonsense { address: address.clone(), problem };
    let there = Resolver::new(address.clone());
    match timeout(limit, ask(&there, credentials, &Opening::StatusRequest)).await {
        Ok(Ok(Reply::Status(report))) => Ok(*report),
        Ok(Ok(_)) => Err(nonsense("it answers something else".to_owned())),
        Ok(Err(failure @ Failure::HungUp)) => {
            Err(nonsense(format!("{failure}; is it a bellwether node?")))
        }
        Ok(Err(Failure::Io(cause))) => {
            Err(QueryError::Unreachable { address: address.clone(), cause })
        }
        Ok(Err(failure)) => Err(nonsense(failure.to_string())),
        Err(_) => Err(QueryError::Silent { address: address.clone(), limit }),
    }
}

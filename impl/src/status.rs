//! How a node is: what it answers to a question on its port, and how to ask.

use std::time::Duration;

use thiserror::Error;
use tokio::time::timeout;

use crate::config::{Address, Credentials};
pub use crate::report::{
    CertificateReport, Counters, Link, LinkMeasurements, Measurements, MemberReport, StatusReport,
    StorageMeasurements,
};
use crate::transport::connect::Resolver;
use crate::transport::frame::{Opening, Reply};
use crate::transport::handshake::Failure;
use crate::transport::question::ask;

/// The reason why a node did not tell its status.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum QueryError {
    /// No node can be reached at the address.
    #[error("no process answers at {address}: {cause}; is the node running?")]
    Unreachable {
        /// The address.
        address: Address,
        /// The error that the system reports.
        cause: std::io::Error,
    },
    /// A process is reached at the address, but does not answer.
    #[error("no answer from {address} within {limit:?}; is it a bellwether node?")]
    Silent {
        /// The address.
        address: Address,
        /// The time that it was given.
        limit: Duration,
    },
    /// The answer is not a valid one.
    #[error("{address} gives no status: {problem}")]
    Nonsense {
        /// The address.
        address: Address,
        /// The problem with the answer.
        problem: String,
    },
}

/// Asks the node at `address` for its status, and waits at most `limit` for the answer. It needs
/// the credentials of a node of that cluster; with certificates, these must say which node is
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

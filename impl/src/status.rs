//! How a node is: what it answers to a question on its port, and how to ask.

use std::time::Duration;

pub use bellwether_stores::causes::causes;
use thiserror::Error;
use tokio::time::timeout;

use crate::config::{Address, Credentials};
pub use crate::report::{
    CertificateReport, Counters, GroupReport, GroupsReport, Link, LinkMeasurements, Measurements,
    MemberReport, StatusReport, StorageMeasurements, StoreView,
};
use crate::transport::connect::{Resolver, ask};
use crate::transport::frame::{Opening, Refusal, Reply};
use crate::transport::handshake::Failure;

/// The reason why a node did not tell its status.
#[derive(Error)]
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
    /// The process at the address ends the connection and says nothing.
    #[error(
        "{address} closed the connection before it answered: the node is starting or stopping, or \
         no bellwether node listens there; ask again"
    )]
    Closed {
        /// The address.
        address: Address,
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
/// A [`QueryError`] when there is no answer in time, or none that makes sense. A node with groups
/// has no status but one for [each](query_group).
pub async fn query(
    address: &Address,
    credentials: &Credentials,
    limit: Duration,
) -> Result<StatusReport, QueryError> {
    match query_any(address, credentials, limit).await? {
        Told::Status(report) => Ok(*report),
        Told::Groups(_) => {
            let problem = "it takes part in many elections: name a group".to_owned();
            Err(QueryError::Nonsense { address: address.clone(), problem })
        }
    }
}

/// The answer of a node to a question for its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The status of a node without groups.
    Status(Box<StatusReport>),
    /// The groups of a node that has some.
    Groups(Box<GroupsReport>),
}

/// Does the same as [`query`], and returns what the node is asked for, whether it has groups or
/// not.
///
/// # Errors
///
/// A [`QueryError`] when there is no answer in time, or none that makes sense.
pub async fn query_any(
    address: &Address,
    credentials: &Credentials,
    limit: Duration,
) -> Result<Told, QueryError> {
    match answer(address, credentials, limit, &Opening::StatusRequest).await? {
        Reply::Status(report) => Ok(Told::Status(report)),
        Reply::Groups(report) => Ok(Told::Groups(report)),
        other => Err(nonsense(address, &other)),
    }
}

/// Does the same as [`query`], for the status of the node in the group with this name.
///
/// # Errors
///
/// A [`QueryError`] when there is no answer in time, or none that makes sense, or no such group.
pub async fn query_group(
    address: &Address,
    group: &str,
    credentials: &Credentials,
    limit: Duration,
) -> Result<StatusReport, QueryError> {
    let question = Opening::GroupStatusRequest(group.to_owned());
    match answer(address, credentials, limit, &question).await? {
        Reply::Status(report) => Ok(*report),
        other => Err(nonsense(address, &other)),
    }
}

fn nonsense(address: &Address, reply: &Reply) -> QueryError {
    let problem = match reply {
        Reply::Refused(refusal @ Refusal::UnknownGroup(_)) => refusal.to_string(),
        _ => "it answers something else".to_owned(),
    };
    QueryError::Nonsense { address: address.clone(), problem }
}

async fn answer(
    address: &Address,
    credentials: &Credentials,
    limit: Duration,
    question: &Opening,
) -> Result<Reply, QueryError> {
    let nonsense = |problem: String| QueryError::Nonsense { address: address.clone(), problem };
    let there = Resolver::new(address.clone());
    match timeout(limit, ask(&there, credentials, question)).await {
        Ok(Ok(reply)) => Ok(reply),
        Ok(Err(Failure::HungUp)) => Err(QueryError::Closed { address: address.clone() }),
        Ok(Err(Failure::Io(cause))) => {
            Err(QueryError::Unreachable { address: address.clone(), cause })
        }
        Ok(Err(failure)) => Err(nonsense(failure.to_string())),
        Err(_) => Err(QueryError::Silent { address: address.clone(), limit }),
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_node_that_closes_the_connection_before_it_answers_is_not_one_that_is_away() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let address: Address = address.parse().expect("an address");
        let hangs_up = async { drop(listener.accept().await) };
        let (none, limit) = (Credentials::none(), Duration::from_secs(20));
        let (told, ()) = tokio::join!(query_any(&address, &none, limit), hangs_up);
        let error = told.expect_err("no answer");
        assert!(matches!(error, QueryError::Closed { .. }), "{error}");
    }
}

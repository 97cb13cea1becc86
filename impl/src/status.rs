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

/// The answer of a node to a question for its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// The status of a node without groups.
    Status(Box<StatusReport>),
    /// The groups of a node that has some.
    Groups(Box<GroupsReport>),
}

/// Asks the node at `address` for its status, in the group with this name if there is one, and waits
/// at most `limit` for the answer. A node with groups that is asked of none of them answers which
/// node leads each. The question needs the credentials of a node of that cluster; with certificates,
/// these must say which node is [asked](Credentials::asking).
///
/// # Errors
///
/// A [`QueryError`] when there is no answer in time, or none that makes sense, or no such group.
pub async fn query(
    address: &Address,
    group: Option<&str>,
    credentials: &Credentials,
    limit: Duration,
) -> Result<Told, QueryError> {
    let ask_group = |name: &str| Opening::GroupStatusRequest(name.to_owned());
    let question = group.map_or(Opening::StatusRequest, ask_group);
    let nonsense = |problem| Err(QueryError::Nonsense { address: address.clone(), problem });
    let there = Resolver::new(address.clone());
    match timeout(limit, ask(&there, credentials, &question)).await {
        Ok(Ok(Reply::Status(report))) => Ok(Told::Status(report)),
        Ok(Ok(Reply::Groups(report))) => Ok(Told::Groups(report)),
        Ok(Ok(Reply::Refused(refusal @ Refusal::UnknownGroup(_)))) => nonsense(refusal.to_string()),
        Ok(Ok(_)) => nonsense("it answers something else".to_owned()),
        Ok(Err(Failure::HungUp)) => Err(QueryError::Closed { address: address.clone() }),
        Ok(Err(Failure::Io(cause))) => {
            Err(QueryError::Unreachable { address: address.clone(), cause })
        }
        Ok(Err(failure)) => nonsense(failure.to_string()),
        Err(_) => Err(QueryError::Silent { address: address.clone(), limit }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::tests::bind;

    #[tokio::test]
    async fn a_node_that_closes_the_connection_before_it_answers_is_not_one_that_is_away() {
        let (listener, address) = bind().await;
        let address: Address = address.to_string().parse().expect("an address");
        let hangs_up = async { drop(listener.accept().await) };
        let (none, limit) = (Credentials::none(), Duration::from_secs(20));
        let (told, ()) = tokio::join!(query(&address, None, &none, limit), hangs_up);
        let error = told.expect_err("no answer");
        assert!(matches!(error, QueryError::Closed { .. }), "{error}");
    }
}

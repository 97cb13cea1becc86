//! Questions to a node, each on a connection of its own, which ends with the answer.

use std::time::Duration;

use super::connect::Resolver;
use super::frame::{Opening, Reply};
use super::handshake::{self, Failure};
use crate::config::Credentials;
use crate::protocol::NodeId;

/// How long calling the node may take. Those who ask have limits of their own.
const LONGEST: Duration = Duration::from_secs(60);

/// Whether this run of the node is `there`.
pub(super) async fn is_running(
    there: &Resolver,
    credentials: &Credentials,
    node: NodeId,
    incarnation: u64,
) -> bool {
    let question = Opening::AreYou { node, incarnation };
    let credentials = credentials.clone().asking(node);
    matches!(ask(there, &credentials, &question).await, Ok(Reply::Is(true)))
}

/// Returns the answer of the node that is `there`.
pub(crate) async fn ask(
    there: &Resolver,
    credentials: &Credentials,
    question: &Opening,
) -> Result<Reply, Failure> {
    let stream = there.connect(LONGEST).await.map_err(Failure::Io)?;
    let mut channel = handshake::call(credentials, credentials.asked, stream).await?;
    handshake::ask(&mut channel, question).await
}

//! What nodes of the quorum bully say to each other.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Epoch, Lists, Mark};
use crate::protocol::{Birth, NodeId};

/// The messages that nodes send to each other. Those with a [`Mark`] say how new the lists of
/// members of their sender are.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// "Would you grant me this epoch?" Asking changes nothing.
    Canvass(Epoch, Mark),
    /// "I would grant you this epoch."
    Support(Epoch),
    /// "I am higher and electable, and run myself."
    Outrank(Epoch),
    /// "Grant me this epoch, in this life of mine."
    Claim(Epoch, Mark, Birth),
    /// "This epoch is yours, in that life." Durable before it is sent.
    Grant(Epoch, Birth),
    /// "I lead this epoch, and this is my round of that number."
    Coordinator(Epoch, u64, Mark),
    /// "I follow you": the answer to a round.
    Ack(Epoch, u64, Mark),
    /// "No": the highest epoch that the sender knows, and the node to which it has promised itself.
    Refuse(Epoch, Option<NodeId>),
    /// "I am higher than you, or invited, and take over the epoch after this one."
    Challenge(Epoch, Mark),
    /// "I have stopped leading this epoch, all promises to me are void, and this node is next: it
    /// has my grant of the next epoch."
    Yield(Epoch, Option<NodeId>),
    /// "This epoch is yours, as the leader of the one before has yielded to you." Durable before it
    /// is sent.
    Entrust(Epoch),
    /// "I lead this epoch: take over from me."
    Invite(Epoch),
    /// "This is my birth, and that is the one with which I have met you." From a node that may not
    /// vote, and the answer to it.
    Meet(Birth, Option<Birth>, Mark),
    /// "These are the lists of members that I know." Durable before they are sent.
    Lists(Arc<Lists>),
}

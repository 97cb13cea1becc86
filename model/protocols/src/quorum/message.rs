//! What processes send to each other.

use super::{Birth, Epoch, FOUNDER, List, Mark, Round};
use bellwether_engine::protocol::Id;
use serde::{Deserialize, Serialize};

/// A message, how new the lists of members are of the process that sends it, and which life of a
/// process it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Letter {
    /// What is said.
    #[serde(flatten)]
    pub message: Message,
    /// How new the lists of its sender are, if the receiver asks.
    #[serde(default, skip_serializing_if = "Mark::is_first")]
    pub mark: Mark,
    /// Which life of the process it is that claims an epoch, or is granted it.
    #[serde(default, skip_serializing_if = "is_founder")]
    pub birth: Birth,
}

/// What processes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// "Would you grant me this epoch?" Asking changes nothing.
    Canvass(Epoch),
    /// "I would."
    Support(Epoch),
    /// "I am higher and electable, and run myself": the bully's OK.
    Outrank(Epoch),
    /// "Grant me this epoch."
    Claim(Epoch),
    /// "It is yours": durable before it is sent.
    Grant(Epoch),
    /// "I lead this epoch, and this is my round": the heartbeat that renews promises.
    Coordinator(Epoch, Round),
    /// "I follow you": it counts toward the lease of that round.
    Ack(Epoch, Round),
    /// "No: this is the highest epoch that I know, and this process holds my promise", if any.
    Refuse(Epoch, Option<Id>),
    /// "I lead this epoch: take over from me."
    Invite(Epoch),
    /// "I am higher than you, or invited, and take over."
    Challenge(Epoch),
    /// "I have stopped leading this epoch, your promises to me are void, and this one is next: it
    /// has the next epoch from me."
    Yield(Epoch, Option<Id>),
    /// "This epoch is yours: the leader of the one before has yielded to you." Durable before it is
    /// sent.
    Entrust(Epoch),
    /// "These are the lists that I know": the one that is decided, and the latest.
    Lists(List, List),
    /// "This is my birth, and that is the one with which I have met you", if it has: from a process
    /// that may not vote, and the answer to it.
    Meet(Birth, Option<Birth>),
}

fn is_founder(birth: &Birth) -> bool {
    *birth == FOUNDER
}

impl Message {
    /// Whether it is also for processes that observe: what a leader says to all, and what has to do
    /// with who votes.
    pub(super) fn is_for_all(self) -> bool {
        matches!(self, Message::Coordinator(..) | Message::Yield(..)) || self.is_of_members()
    }

    /// Whether any member may say it: it has to do with who votes.
    pub(super) fn is_of_members(self) -> bool {
        matches!(self, Message::Lists(..) | Message::Meet(..))
    }

    /// Whether it asks for what one with older lists does not get.
    pub(super) fn asks(self) -> bool {
        matches!(self, Message::Canvass(_) | Message::Claim(_) | Message::Challenge(_))
    }

    /// Whether the receiver asks how new the lists of its sender are.
    pub(super) fn carries_a_mark(self) -> bool {
        let is_of_a_round = matches!(self, Message::Coordinator(..) | Message::Ack(..));
        self.asks() || is_of_a_round || self.is_of_members()
    }

    pub(super) fn epoch_mut(&mut self) -> Option<&mut Epoch> {
        Some(match self {
            Message::Canvass(epoch)
            | Message::Support(epoch)
            | Message::Outrank(epoch)
            | Message::Claim(epoch)
            | Message::Grant(epoch)
            | Message::Coordinator(epoch, _)
            | Message::Ack(epoch, _)
            | Message::Refuse(epoch, _)
            | Message::Invite(epoch)
            | Message::Challenge(epoch)
            | Message::Yield(epoch, _)
            | Message::Entrust(epoch) => epoch,
            Message::Lists(..) | Message::Meet(..) => return None,
        })
    }
}

//! What happens to a member, and what it wants done.

use std::collections::BTreeSet;

use super::commands::{Command, RequestError};
use super::gate::PreparationRequest;
use super::view::ProgramView;
use crate::protocol::{Core, Epoch, Lease, NodeId, Reason};

/// Something that happens to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<M> {
    /// It starts.
    Start,
    /// Time has passed. May come at any moment, and comes when a [wait](super::Member::wait) is
    /// over.
    Wake,
    /// A message arrives.
    Received {
        /// The node that sent it.
        from: NodeId,
        /// What it says.
        message: M,
    },
    /// A sign of life arrives.
    Heartbeat {
        /// The node that sent it.
        from: NodeId,
        /// Which run of it.
        incarnation: u64,
    },
    /// All that has arrived was handed over.
    Drained {
        /// The nodes whose processes are gone. It need not be known of any unless the member [looks
        /// for](super::Member::tracks_gone_nodes) such nodes.
        gone: BTreeSet<NodeId>,
    },
    /// The storage has answered. An answer that is there comes before anything else: it is not
    /// late, however late it is looked at.
    StorageAnswered(StorageAnswer),
    /// No work of the epoch that [ends](Action::EndWork) is under way.
    WorkEnded,
    /// The program asks for something.
    Command {
        /// What the [answer](Action::Reply) has to name; no two questions have the same.
        ticket: u64,
        /// What it asks.
        command: Command,
    },
    /// It is to take part no longer.
    Stop,
}

/// What the storage answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageAnswer {
    /// What was to be saved is durable; or, to a question, anything could be saved.
    Done,
    /// It is not, or nothing could be.
    Failed(String),
    /// There is no storage, or none any more.
    Gone,
}

/// Something that a member wants done, in the order in which it must be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<D, M> {
    /// Sends a message. It may be lost.
    Send(NodeId, M),
    /// Sends a sign of life to all.
    SendHeartbeat,
    /// Makes a state durable. The answer is an [`Event::StorageAnswered`]; until then the storage
    /// has nothing else to do.
    Save(D),
    /// Asks the storage whether anything could be saved; with the same answer.
    Probe,
    /// Tells the program which node leads from here on. If its own does, the program may do what
    /// only a leader may until the lease is over; if it does not, from before this is told.
    Publish(ProgramView),
    /// Tells the program until when its own node leads.
    RenewLease(Option<Lease>),
    /// Asks the program to prepare itself for this leadership, or for none any more.
    Prepare(Option<PreparationRequest>),
    /// Ends all work that is done under this epoch; none begins any more. Once none is under way,
    /// and at once if none is, the member is told by [`Event::WorkEnded`].
    EndWork(Epoch),
    /// Answers what was asked with this ticket: the node that is next, if there is one.
    Reply(u64, Result<Option<NodeId>, RequestError>),
    /// Says that the storage does not answer, and why; or that it does again.
    Stalled(Option<String>),
    /// Writes a line to the log.
    Log(LogLine),
    /// Ends: the member takes part no longer.
    End(End),
}

/// A line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLine {
    /// A message was ignored.
    Ignored {
        /// The node that sent it.
        from: NodeId,
        /// What was wrong with it.
        cause: Reason,
    },
    /// A node that is watched was silent for too long.
    Silent(NodeId),
    /// The member waits no longer for so many nodes, which are gone.
    WaitAbandoned(usize),
    /// It leads without its program, which cannot prepare itself, and cannot step down.
    Unprepared,
    /// The work of an epoch has not ended, and the lease is over.
    WorkUnfinished(Epoch),
    /// It leaves without its storage, which does not answer.
    Unsaved,
}

/// How it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was told to stop.
    Left,
    /// It was told to stop, led, and has handed over: what it said last is to be sent.
    HandedOver,
    /// Something could not be made durable. What depends on it was not sent.
    Failed,
}

/// What a member wants done, in its order.
pub type Actions<C> = Vec<Action<<C as Core>::Durable, <C as Core>::Message>>;

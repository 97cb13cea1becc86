//! What happens to a member, and what it wants done.

use std::collections::BTreeSet;

use super::commands::{Command, RequestError};
use super::program::{PreparationRequest, ProgramView};
use crate::protocol::quorum::Lists;
use crate::protocol::{Core, Epoch, Lease, NodeId, Reason, Request};
use crate::trace::{Received, Sent, Step};

/// An event: something that happens to a member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<M> {
    /// The member starts.
    Start,
    /// Time has passed. This event may come at any moment, and comes when a
    /// [wait](super::Member::wait) is over.
    Wake,
    /// A message arrives.
    Received(Received<M>),
    /// A heartbeat arrives.
    Heartbeat {
        /// The node that sent it.
        from: NodeId,
        /// The incarnation of that node, which is one run of it.
        incarnation: u64,
    },
    /// Another node says that it led when it heard that this one did.
    ToldOfRival {
        /// The other node.
        from: NodeId,
    },
    /// All messages that have arrived were handed over.
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
        /// The number that the [answer](Action::Reply) has to name; no two questions have the same.
        ticket: u64,
        /// The command that the program gives.
        command: Command,
    },
    /// The node is asked for something that needs no answer.
    Request(Request),
    /// The member is to stop taking part.
    Stop,
}

/// The answer of the storage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorageAnswer {
    /// The state is durable; or, to a question, anything could be saved.
    Done,
    /// The state is not durable, or nothing could be.
    Failed(String),
    /// There is no storage, or none any more.
    Gone,
}

/// An action that a member wants done, in the order in which it must be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<D, M> {
    /// Sends a message. It may be lost. Its number is its place among all messages that the node
    /// has put out, from 1.
    Send(Sent<M>),
    /// Sends a heartbeat to all other members.
    SendHeartbeat,
    /// Tells another node that this one led when it heard that the other did. That may be lost; it
    /// is worth sending however late.
    TellRival(NodeId),
    /// Makes a state durable. The answer is an [`Event::StorageAnswered`]; until then the storage
    /// has nothing else to do.
    Save(D),
    /// Asks the storage whether anything could be saved; with the same answer.
    Probe,
    /// Tells the program which node leads from here on. If its own does, the program may do what
    /// only a leader may until the lease is over; if it does not, from before this is told. Or
    /// tells it of a [rival](ProgramView::rival).
    Publish(ProgramView),
    /// Tells the program until when its own node leads.
    RenewLease(Option<Lease>),
    /// Tells the program which lists of members the node knows from here on: what is sent later may
    /// be for members of those.
    Change(Lists),
    /// Asks the program to prepare itself for this leadership, or for none any more.
    Prepare(Option<PreparationRequest>),
    /// Ends all work that is done under this epoch; none begins any more. Once none is under way,
    /// and at once if none is, the member is told by [`Event::WorkEnded`].
    EndWork(Epoch),
    /// Answers the question with this ticket: with the node that is next, if there is one.
    Reply(u64, Result<Option<NodeId>, RequestError>),
    /// Reports that the storage does not answer, and why; or that it does again.
    Stalled(Option<String>),
    /// Writes a line to the log.
    Log(LogLine),
    /// Writes a step of the node to its trace, if the node
    /// [records](crate::protocol::Node::recording) them.
    Trace(Box<Step<D, M>>),
    /// Ends the member: it has stopped taking part.
    End(End),
}

/// A line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLine {
    /// A message was ignored.
    Ignored {
        /// The node that sent it.
        from: NodeId,
        /// The reason why it was ignored.
        cause: Reason,
    },
    /// A node that is watched was silent for too long.
    Silent(NodeId),
    /// The member has stopped waiting for this number of nodes, which are gone.
    WaitAbandoned(usize),
    /// The member leads without its program, which cannot prepare itself, and cannot step down.
    Unprepared,
    /// The work of an epoch has not ended, and the lease is over.
    WorkUnfinished(Epoch),
    /// The member leaves without its storage, which does not answer.
    Unsaved,
}

/// What is due at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deadline<T> {
    /// A timer of the node expires.
    Timer(T),
    /// The program is told that its node leads still.
    Resume,
    /// The storage has not answered for too long.
    StorageLate,
    /// The storage is asked whether anything could be saved.
    Probe,
    /// The lease is over that the node gives up, whether the work under it has ended or not.
    Work,
}

/// The way in which a member ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The member was told to stop.
    Left,
    /// The member was told to stop while it led, and has handed over: what it said last is to be
    /// sent.
    HandedOver,
    /// The state of the member could not be made durable. What depends on it was not sent.
    Failed,
}

/// The actions that a member wants done, in their order.
pub type Actions<C> = Vec<Action<<C as Core>::Durable, <C as Core>::Message>>;

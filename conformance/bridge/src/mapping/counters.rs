//! Numbers that grow for as long as nodes run, such as epochs, and how those of a long run read as
//! the small ones of a specification.
//!
//! A specification has numbers as large as small worlds need. What it asks of them is which is
//! higher, which are the same, and which is the next; so those that one process knows at a time can
//! be called by smaller names that keep that.

use super::{Durable, Mapping, Process, ProgramMessage, Stable};
use crate::program::Program;
use bellwether_core::protocol::NodeId;
use bellwether_engine::protocol::{Id, MAX_SEARCHED, Timers};

/// A function that gives each number another name: it gets the kind of the number, counted from 0.
pub type Rename<'a> = &'a mut dyn FnMut(usize, u64) -> u64;

/// A function that renames the numbers of a message, which the node itself sends or not.
type InMessage<M> = fn(ProgramMessage<M>, bool, Rename<'_>) -> ProgramMessage<M>;

/// The numbers of a protocol that grow for as long as nodes run: where they stand.
pub struct Counters<M: Mapping + ?Sized> {
    /// The number of kinds that can have smaller names. Further kinds keep theirs.
    pub kinds: usize,
    /// The kind of the epochs that a node [tells](Mapping::facts), if it tells any.
    pub epochs: Option<usize>,
    /// The largest number that the specification has room for, of a kind that keeps its names.
    pub most: u64,
    /// The function that renames the numbers of a message; whether the node itself sends it is
    /// said, as a number may be of another kind then: one that is only repeated is none of its own.
    pub in_message: InMessage<M>,
    /// The function that renames the numbers of durable data.
    pub in_durable: fn(&Durable<M>, Rename<'_>) -> Durable<M>,
    /// The function that lowers the numbers of one kind in a process, and returns the highest that
    /// is left: 0 if the process has none, or knows none yet.
    pub lower: fn(usize, u64, &mut Process<M>, &mut Stable<M>) -> u64,
    /// The places of ids of nodes in messages and durable data, so that the logs of nodes with any
    /// ids can be judged; `None` if that is not given.
    pub ids: Option<IdsIn<M>>,
    /// The most members, services among them, of which logs can be judged. A judge searches no
    /// world, so it is [`MAX_NODES`](bellwether_engine::protocol::MAX_NODES) where a process of the
    /// specification has room for what it keeps in a group as large as that.
    pub members: usize,
    /// The function that says whether a node that begins with this, in the list of members with
    /// this number, if that is known, does what it does in a group whose members never change.
    pub is_settled: fn(Option<&Durable<M>>, Option<u64>) -> bool,
    /// The function that returns the process that a node is after it has led, if what it shows then
    /// says all of it: its leader, its stable storage and its timers. `None` if it does not.
    pub after_leading: AfterLeading<M>,
    /// The function that says what a message between a node and a service says of requests and
    /// grants; `None` if it says nothing of them. To be given where a service may be no node.
    pub exchange: fn(ProgramMessage<M>) -> Option<Exchange>,
}

/// The number of a request, of which a node has no other: how often it had started, and which
/// request since then it is. A later one has a higher number.
pub type RequestNumber = (u64, u64);

/// What a message between a node and a service that grants epochs says, by its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exchange {
    /// The node asks to keep this epoch, or, if there is none, for a new one.
    Request(RequestNumber, Option<u64>),
    /// The service answers that request: it grants this epoch, or refuses.
    Answer(RequestNumber, Option<u64>),
}

/// A function that gives a node another id.
pub type NameNode<'a> = &'a dyn Fn(NodeId) -> NodeId;

/// The places of ids of nodes in what a program sends and keeps, as far as a process of the
/// specification reads them.
pub struct IdsIn<M: Mapping + ?Sized> {
    /// The function that gives the nodes in a message other ids.
    pub message: fn(ProgramMessage<M>, NameNode<'_>) -> ProgramMessage<M>,
    /// The function that gives the nodes in durable data other ids.
    pub durable: fn(&Durable<M>, NameNode<'_>) -> Durable<M>,
}

impl<M: Mapping + ?Sized> IdsIn<M> {
    /// The places of a protocol that has none.
    pub const NONE: Self =
        IdsIn { message: |message, _| message, durable: |durable, _| durable.clone() };
}

/// A function from what a node shows once it leads no longer to the process that it is then.
type AfterLeading<M> = fn(Option<Id>, &Stable<M>, Timers) -> Option<Process<M>>;

impl<M: Mapping + ?Sized> Counters<M> {
    /// The counters of a protocol that has none.
    pub const NONE: Self = Counters {
        kinds: 0,
        epochs: None,
        most: 200,
        in_message: |message, _, _| message,
        in_durable: |durable, _| durable.clone(),
        lower: |_, _, _, _| 0,
        ids: None,
        members: MAX_SEARCHED,
        is_settled: |_, _| true,
        after_leading: |_, _, _| None,
        exchange: |_| None,
    };

    /// Returns the same for another mapping of the same specification, whose program sends and
    /// keeps the same.
    #[must_use]
    pub const fn of<N>(self) -> Counters<N>
    where
        N: Mapping<Spec = M::Spec> + ?Sized,
        N::Program: Program<Durable = Durable<M>, Message = ProgramMessage<M>>,
    {
        let ids = match self.ids {
            Some(IdsIn { message, durable }) => Some(IdsIn { message, durable }),
            None => None,
        };
        Counters {
            kinds: self.kinds,
            epochs: self.epochs,
            most: self.most,
            in_message: self.in_message,
            in_durable: self.in_durable,
            lower: self.lower,
            ids,
            members: self.members,
            is_settled: self.is_settled,
            after_leading: self.after_leading,
            exchange: self.exchange,
        }
    }
}

//! One node with what surrounds it: a clock, a disk, what waits to be handled, and the place in its
//! code at which a fault may hit it.

use std::collections::VecDeque;
use std::time::Duration;

use bellwether::driver::unsaved::Unsaved;
use bellwether::protocol::{Core, Epoch, Node, NodeId, Output, Role, Time};

use crate::clock::{Clock, Moment};
use crate::faults::{Hit, Point};
use crate::subject::{Leadership, Subject};

type DurableOf<S> = <<S as Subject>::Core as Core>::Durable;
type MessageOf<S> = <<S as Subject>::Core as Core>::Message;
type OutputOf<S> = Output<DurableOf<S>, MessageOf<S>>;

/// What is on stable storage, and what is on its way there.
#[derive(Debug)]
pub(crate) struct Disk<D> {
    pub(crate) synced: Option<D>,
    /// What it was before.
    pub(crate) older: Option<D>,
    /// What a crash may leave or not.
    pub(crate) writing: Option<D>,
    /// Which write is the latest: an earlier one that ends means nothing.
    pub(crate) write: u64,
}

impl<D> Disk<D> {
    /// What was being written is synced.
    pub(crate) fn sync(&mut self) {
        if let Some(written) = self.writing.take() {
            self.older = self.synced.replace(written);
        }
    }
}

/// A trap: the process is hit when it is at that place, for so long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trap {
    pub(crate) fault: usize,
    pub(crate) point: Point,
    pub(crate) hit: Hit,
    pub(crate) until: Moment,
}

/// What a node says, and in which epoch it led by its own clock when it handled what this follows
/// from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Word<M> {
    pub(crate) message: M,
    pub(crate) led: Option<Option<u64>>,
}

/// What a node handles one after the other: a step is open until all that follows from one input,
/// and waits for nothing else, is done.
#[derive(Debug)]
pub(crate) struct Step<O, M> {
    /// What was polled and not sorted yet.
    pub(crate) pending: Option<O>,
    /// Whether it is known what waits, and what does not.
    pub(crate) sorted: bool,
    /// Whether it follows from a sync.
    pub(crate) follows: bool,
    /// Whether a state is being made durable meanwhile.
    pub(crate) beside: bool,
    /// Whether something is to be made durable.
    pub(crate) saves: bool,
    /// Whether it says anything.
    pub(crate) sends: bool,
    /// How many messages have left.
    pub(crate) sent: usize,
    /// In which epoch it led by its own clock at the beginning of the step.
    pub(crate) led: Option<Option<u64>>,
    /// What a wrong program sends although it has to wait.
    pub(crate) first: VecDeque<(NodeId, Word<M>)>,
}

/// What the program on a node knows of its leadership.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Told {
    pub(crate) role: Role,
    pub(crate) leader: Option<NodeId>,
    pub(crate) epoch: Option<Epoch>,
    /// Under which it does what only a leader may do.
    pub(crate) leadership: Option<Leadership>,
}

impl Told {
    pub(crate) const NOTHING: Self =
        Self { role: Role::NotStarted, leader: None, epoch: None, leadership: None };
}

/// One node.
pub(crate) struct Host<S: Subject> {
    pub(crate) id: NodeId,
    /// None while it is down.
    pub(crate) node: Option<Node<S::Core>>,
    /// Which of its lives this is.
    pub(crate) life: u64,
    pub(crate) clock: Clock,
    pub(crate) disk: Disk<DurableOf<S>>,
    /// What waits for the disk.
    pub(crate) unsaved: Unsaved<DurableOf<S>, Word<MessageOf<S>>>,
    /// Its disk has answered, and it has not noticed yet.
    pub(crate) answered: bool,
    pub(crate) told: Told,
    /// How many faults stop it, and since when.
    pub(crate) stopped: u32,
    pub(crate) stopped_at: Moment,
    /// How many faults stall its disk.
    pub(crate) stalled: u32,
    /// A write that ends when the disk works again.
    pub(crate) held: bool,
    pub(crate) inbox: VecDeque<(NodeId, MessageOf<S>)>,
    pub(crate) step: Option<Step<OutputOf<S>, MessageOf<S>>>,
    /// When it asked to be woken, and when it will be.
    pub(crate) wake: Option<Time>,
    pub(crate) scheduled: Option<Moment>,
    pub(crate) trap: Option<Trap>,
    /// The time that it takes for now, if that is wrong.
    pub(crate) stale: Option<Time>,
    /// How many messages it has sent.
    pub(crate) sent: u64,
}

impl<S: Subject> Host<S> {
    pub(crate) fn new(id: NodeId, clock: Clock) -> Self {
        Self {
            id,
            node: None,
            life: 0,
            clock,
            disk: Disk { synced: None, older: None, writing: None, write: 0 },
            unsaved: Unsaved::new(Duration::ZERO, 0),
            answered: false,
            told: Told::NOTHING,
            stopped: 0,
            stopped_at: Moment(0),
            stalled: 0,
            held: false,
            inbox: VecDeque::new(),
            step: None,
            wake: None,
            scheduled: None,
            trap: None,
            stale: None,
            sent: 0,
        }
    }

    /// It can do something.
    pub(crate) fn runs(&self) -> bool {
        self.node.is_some() && self.stopped == 0
    }

    /// It runs from here on, in a group of so many. What it sends is worth sending for so long.
    pub(crate) fn rise(&mut self, node: Node<S::Core>, members: usize, lifetime: Duration) {
        self.node = Some(node);
        self.unsaved = Unsaved::new(lifetime, members);
    }

    /// It loses all but its disk and its clock.
    pub(crate) fn fall(&mut self) {
        self.node = None;
        self.life += 1;
        self.unsaved = Unsaved::new(Duration::ZERO, 0);
        self.answered = false;
        self.told = Told::NOTHING;
        self.held = false;
        self.inbox.clear();
        self.step = None;
        self.wake = None;
        self.scheduled = None;
        self.trap = None;
        self.stale = None;
    }

    /// The program is told of the leadership that the node believes to have, if it may know of it.
    /// If it is wrong, it is told in any case.
    pub(crate) fn hold(&mut self, wrong: bool) {
        let leadership = self.node.as_ref().and_then(|node| {
            let Told { role, leader, epoch, .. } = self.told;
            let told = epoch.filter(|_| leader == Some(self.id));
            let known = |leadership: &Leadership| match leadership.until {
                Some(_) => self.unsaved.lease(node.lease(), told).is_some(),
                None => role == Role::Leader,
            };
            S::leadership(node).filter(|leadership| wrong || known(leadership))
        });
        self.told.leadership = leadership;
    }

    /// The epoch of this leader, as the program may know it.
    pub(crate) fn epoch(&self, leader: Option<NodeId>) -> Option<Epoch> {
        let node = self.node.as_ref().filter(|node| node.status().leader == leader)?;
        leader.and(node.epoch())
    }

    /// The trap of this place, if the step that is open is one that it is for. A crash around a
    /// sync waits for one if the core makes anything durable: for a step that has to do with it.
    pub(crate) fn trapped(&mut self, point: Point) -> Option<Trap> {
        let Step { follows, beside, saves, sends, .. } = *self.step.as_ref()?;
        let trap = self.trap.filter(|trap| trap.point == point)?;
        let applies = match trap.hit {
            Hit::Crash if S::PERSISTS && point == Point::Done => follows,
            Hit::Crash if S::PERSISTS => follows || saves || beside,
            Hit::Crash | Hit::Pause => follows || saves || sends,
        };
        if applies { self.trap.take() } else { None }
    }
}

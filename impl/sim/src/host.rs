//! One node with what surrounds it: a clock, a disk, what waits to be handled, and the place in its
//! code at which a fault may hit it.

use std::collections::VecDeque;

use bellwether::protocol::{Core, Node, NodeId, Output, Time};

use crate::clock::{Clock, Moment};
use crate::faults::{Hit, Point};
use crate::subject::Subject;

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

/// What a node handles one after the other: a step is open until all that follows from one input is
/// done.
#[derive(Debug)]
pub(crate) struct Step<O> {
    /// What was polled and not carried out yet.
    pub(crate) pending: Option<O>,
    /// Whether something is being made durable.
    pub(crate) writes: bool,
    /// Whether it says anything.
    pub(crate) sends: bool,
    /// How many messages have left.
    pub(crate) sent: usize,
    /// In which epoch it led by its own clock at the beginning of the step.
    pub(crate) led: Option<Option<u64>>,
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
    /// It waits for its disk.
    pub(crate) syncing: bool,
    /// How many faults stop it, and since when.
    pub(crate) stopped: u32,
    pub(crate) stopped_at: Moment,
    /// How many faults stall its disk.
    pub(crate) stalled: u32,
    /// A write that ends when the disk works again.
    pub(crate) held: bool,
    pub(crate) inbox: VecDeque<(NodeId, MessageOf<S>)>,
    pub(crate) step: Option<Step<OutputOf<S>>>,
    /// When it asked to be woken, and when it will be.
    pub(crate) wake: Option<Time>,
    pub(crate) scheduled: Option<Moment>,
    pub(crate) trap: Option<Trap>,
    /// The time that it takes for now, if that is wrong.
    pub(crate) stale: Option<Time>,
    /// What a program that sends first has still to make durable.
    pub(crate) late: Option<DurableOf<S>>,
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
            syncing: false,
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
            late: None,
            sent: 0,
        }
    }

    /// It can do something.
    pub(crate) fn runs(&self) -> bool {
        self.node.is_some() && self.stopped == 0 && !self.syncing
    }

    /// It loses all but its disk and its clock.
    pub(crate) fn fall(&mut self) {
        self.node = None;
        self.life += 1;
        self.syncing = false;
        self.held = false;
        self.inbox.clear();
        self.step = None;
        self.wake = None;
        self.scheduled = None;
        self.trap = None;
        self.stale = None;
        self.late = None;
    }

    /// The trap of this place, if the step that is open is one that it is for. A crash around a
    /// sync waits for a write if the core makes any.
    pub(crate) fn trapped(&mut self, point: Point) -> Option<Trap> {
        let step = self.step.as_ref()?;
        let trap = self.trap.filter(|trap| trap.point == point)?;
        let applies = match trap.hit {
            Hit::Crash if S::PERSISTS => step.writes,
            Hit::Crash | Hit::Pause => step.writes || step.sends,
        };
        if applies { self.trap.take() } else { None }
    }
}

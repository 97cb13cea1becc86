//! A node with what surrounds it: a member, its program, a clock, a disk, what waits to be handled,
//! and the place in its code at which a fault may hit it.

use std::collections::{BTreeMap, VecDeque};

use bellwether_core::member::{Action, Event, Member, Setup};
use bellwether_core::protocol::quorum::Lists;
use bellwether_core::protocol::{Core, NodeId, Role, Time};

use crate::client::Client;
use crate::clock::{Clock, Moment};
use crate::faults::{Hit, Point};
use crate::program::Program;
use crate::subject::Subject;

pub(crate) type DurableOf<S> = <<S as Subject>::Core as Core>::Durable;
pub(crate) type MessageOf<S> = <<S as Subject>::Core as Core>::Message;
pub(crate) type EventOf<S> = Event<MessageOf<S>>;
pub(crate) type ActionOf<S> = Action<DurableOf<S>, MessageOf<S>>;

/// The state on stable storage, and the one on its way there.
#[derive(Debug)]
pub(crate) struct Disk<D> {
    pub(crate) synced: Option<D>,
    /// The state before that one.
    pub(crate) older: Option<D>,
    /// The state that a crash may leave or not.
    pub(crate) writing: Option<D>,
    /// The number of the latest request; the answer to an earlier one means nothing.
    pub(crate) request: u64,
    /// Since when it has not answered.
    pub(crate) since: Option<Moment>,
}

impl<D> Disk<D> {
    /// Syncs the state that was being written.
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

/// The steps of a node, one after the other: a step is open until all that its member wants done
/// about one event is done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    /// True if it follows from a sync.
    pub(crate) follows: bool,
    /// True if a state is being made durable meanwhile.
    pub(crate) beside: bool,
    /// True if something is to be made durable.
    pub(crate) saves: bool,
    /// True if it says anything.
    pub(crate) sends: bool,
    /// How many messages have left.
    pub(crate) sent: usize,
}

/// In which step a node led which epoch last, by its own clock.
#[derive(Debug, Default)]
pub(crate) struct LeadershipLog {
    /// The number of steps.
    step: u64,
    /// The first step of which something may wait.
    waits: u64,
    epochs: BTreeMap<u64, u64>,
}

impl LeadershipLog {
    /// A step begins. If something waits, that is of earlier steps.
    pub(crate) fn begin(&mut self, waits: bool) {
        self.step += 1;
        if !waits {
            self.waits = self.step;
        }
    }

    /// The node leads this epoch in the step that is open.
    pub(crate) fn leads(&mut self, epoch: u64) {
        self.epochs.insert(epoch, self.step);
    }

    /// Returns whether it led this epoch in the step that a message of now may be of.
    pub(crate) fn led(&self, epoch: u64) -> bool {
        self.epochs.get(&epoch).is_some_and(|&step| step >= self.waits)
    }
}

/// A node.
pub(crate) struct Host<S: Subject> {
    pub(crate) id: NodeId,
    /// The member, if the node is up.
    pub(crate) member: Option<Member<S::Core>>,
    /// The setup that the member was told before it started.
    pub(crate) setup: Option<Setup>,
    /// Which of its lives this is.
    pub(crate) life: u64,
    pub(crate) clock: Clock,
    pub(crate) disk: Disk<DurableOf<S>>,
    /// The client of the store that grants the lease, if there is one.
    pub(crate) client: Option<Client>,
    /// Its disk has answered, and it has not noticed yet.
    pub(crate) answered: bool,
    pub(crate) program: Program,
    /// How many faults stop it, and since when.
    pub(crate) stopped: u32,
    pub(crate) stopped_at: Moment,
    /// Until when, by its clock, its program must not lead: it has led since before its process, or
    /// its disk, stood still.
    pub(crate) suspended: Option<Time>,
    /// How many faults stall its disk.
    pub(crate) stalled: u32,
    /// A request that the disk answers when it works again.
    pub(crate) held: bool,
    /// The events that are not handled yet.
    pub(crate) inbox: VecDeque<EventOf<S>>,
    /// The actions of the member that are not carried out yet.
    pub(crate) actions: VecDeque<ActionOf<S>>,
    pub(crate) step: Option<Step>,
    pub(crate) led: LeadershipLog,
    /// How often it was asked for something.
    pub(crate) asked: u64,
    /// When it restarts, if it was told to leave.
    pub(crate) restarts: Option<Moment>,
    /// True if the member has looked at the time since it has done something.
    pub(crate) looked: bool,
    /// When it asked to be woken, and when it will be.
    pub(crate) wake: Option<Time>,
    pub(crate) scheduled: Option<Moment>,
    pub(crate) trap: Option<Trap>,
    /// The time that it takes for now, if that is wrong.
    pub(crate) stale: Option<Time>,
    /// How many messages it has sent.
    pub(crate) sent: u64,
    /// The number of the durations that it is started with next, and was started with last.
    pub(crate) given: usize,
    pub(crate) runs_with: usize,
    /// The lists of members that it had when it was elected last.
    pub(crate) elected_by: Option<Lists>,
    /// How often it has lost its disk.
    pub(crate) wiped: u64,
}

impl<S: Subject> Host<S> {
    pub(crate) fn new(id: NodeId, clock: Clock) -> Self {
        Self {
            id,
            member: None,
            setup: None,
            life: 0,
            clock,
            disk: Disk { synced: None, older: None, writing: None, request: 0, since: None },
            client: None,
            answered: false,
            program: Program::default(),
            stopped: 0,
            stopped_at: Moment(0),
            suspended: None,
            stalled: 0,
            held: false,
            inbox: VecDeque::new(),
            actions: VecDeque::new(),
            step: None,
            led: LeadershipLog::default(),
            asked: 0,
            restarts: None,
            looked: false,
            wake: None,
            scheduled: None,
            trap: None,
            stale: None,
            sent: 0,
            given: 0,
            runs_with: 0,
            elected_by: None,
            wiped: 0,
        }
    }

    /// Returns whether the node can do something.
    pub(crate) fn runs(&self) -> bool {
        self.member.is_some() && self.stopped == 0
    }

    /// Returns whether the node leads, whatever its program knows.
    pub(crate) fn leads(&self) -> bool {
        self.member.as_ref().is_some_and(|member| member.node().status().role == Role::Leader)
    }

    /// The lists of members that the node knows; none if it has those that it is configured with.
    pub(crate) fn lists(&self) -> Option<&Lists> {
        let kept = self.disk.synced.as_ref().and_then(S::Core::durable_lists);
        self.member.as_ref().and_then(|member| member.node().lists()).or(kept)
    }

    /// Returns whether a state of the node is not durable.
    pub(crate) fn is_behind(&self) -> bool {
        self.member.as_ref().is_some_and(Member::is_behind)
    }

    /// Takes from the node all but its disk and its clock.
    pub(crate) fn fall(&mut self) {
        let old = Self::new(self.id, self.clock);
        let before = std::mem::replace(self, old);
        let Self { life, disk, stalled, sent, asked, given, runs_with, wiped, .. } = before;
        (self.life, self.stalled, self.sent, self.asked) = (life + 1, stalled, sent, asked);
        (self.given, self.runs_with, self.wiped) = (given, runs_with, wiped);
        self.disk = Disk { writing: None, since: None, ..disk };
    }

    /// The trap of this place, if the step that is open is one that it is for. A crash around a
    /// sync waits for one if the core makes anything durable: for a step that has to do with it.
    pub(crate) fn trapped(&mut self, point: Point) -> Option<Trap> {
        let Step { follows, beside, saves, sends, .. } = self.step?;
        let trap = self.trap.filter(|trap| trap.point == point)?;
        let applies = match trap.hit {
            Hit::Crash if S::PERSISTS && point == Point::Done => follows,
            Hit::Crash if S::PERSISTS => follows || saves || beside,
            Hit::Crash | Hit::Pause => follows || saves || sends,
        };
        if applies { self.trap.take() } else { None }
    }
}

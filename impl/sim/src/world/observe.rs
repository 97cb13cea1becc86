//! The view of a world: faces, agreement, the invariants, the trace, the digest, and the outcome of
//! a run.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use bellwether_core::member::{Event, Member};
use bellwether_core::protocol::quorum::Lists;
use bellwether_core::protocol::{Core, Epoch, Lease, Node, NodeId, Role};
use bellwether_core::trace::Received;
use serde::Serialize;

use crate::clock::Moment;
use crate::host::EventOf;
use crate::invariant::{Face, Fact, Term, View};
use crate::random::mix;
use crate::subject::Subject;

use super::World;

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// Things that happened.
    pub steps: u64,
    /// Messages that nodes sent.
    pub sent: u64,
    /// Messages that did not arrive.
    pub lost: u64,
    /// Syncs.
    pub syncs: u64,
    /// The events that nodes handled while they waited for a sync.
    pub beside: u64,
    /// The actions that waited for a sync when their node crashed, so that no other saw them.
    pub unseen: u64,
    /// Starts of nodes, the first included.
    pub starts: u64,
    /// How often a node began to lead.
    pub leaders: u64,
    /// Faults that struck.
    pub faults: u64,
    /// Transfers that were answered with the epoch of the node that was to lead.
    pub transfers: u64,
    /// Lists of members that were decided, and durations that operators gave out.
    pub changes: u64,
    /// Disks that were lost.
    pub wipes: u64,
}

/// An invariant is broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name.
    pub invariant: &'static str,
    /// When.
    pub at: Moment,
    /// The mistake, in one sentence.
    pub what: String,
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The first invariant that was broken.
    pub broken: Option<Broken>,
    /// How long after the last fault all nodes agreed for good, if they did.
    pub settled: Option<Duration>,
    /// The counts of a run.
    pub counts: Counts,
    /// A number that differs if anything happened otherwise.
    pub digest: u64,
    /// The trace, line by line, if one was asked for.
    pub trace: Vec<String>,
}

impl<S: Subject> World<S> {
    /// Returns the result so far.
    #[must_use]
    pub fn outcome(self) -> Outcome {
        let calm = self.setting.terms.calm;
        let settled = self.agreed.map(|(since, _)| since.since(calm));
        let Self { broken, counts, digest, trace, .. } = self;
        Outcome { broken, settled, counts, digest, trace }
    }

    /// Looks at a node anew, and lets the invariants look if anything changed.
    pub(super) fn observe(&mut self, node: usize) {
        let host = &self.hosts[node];
        let program = &host.program;
        let lasts = |lease: Lease| Term {
            epoch: Some(lease.epoch.number()),
            until: host.clock.when(lease.until),
        };
        let believes = host.member.as_ref().map(Member::node);
        let core = believes.and_then(Node::core);
        let lease = program.lease;
        let for_ever =
            || Term { epoch: program.epoch().map(Epoch::number), until: Moment(u64::MAX) };
        let face = Face {
            id: host.id,
            up: host.member.is_some(),
            role: program.role(),
            leader: program.leader(),
            term: match S::LEASES {
                true => lease.map(lasts),
                false => program.leads().then(for_ever),
            },
            work: program.work.map(lasts),
            prepared: !program.unprepared,
            durable: host.disk.synced.as_ref().and_then(S::granted),
            lists: self.kept_lists(node),
            elected_by: host.elected_by.clone(),
            birth: host.disk.synced.as_ref().and_then(S::birth),
            waits: core.is_some_and(|core| core.waits_to_vote(host.id).is_some()),
            wiped: host.wiped,
            problem: host.client.as_ref().is_some_and(|client| {
                let now = host.clock.read(self.now);
                client.has_problem(now)
            }),
        };
        let before = &self.faces[node];
        if *before == face {
            return;
        }
        if face.role == Role::Leader && before.role != Role::Leader {
            self.counts.leaders += 1;
        }
        let same = (before.up, before.role, before.leader, &before.lists)
            == (face.up, face.role, face.leader, &face.lists);
        self.faces[node] = face;
        if !same {
            let leader = self.on_one_leader();
            let since = self.agreed.filter(|&(_, before)| Some(before) == leader);
            self.agreed = since.or(leader.map(|leader| (self.now, leader)));
        }
        self.look(Fact::Changed(node));
    }

    /// A process waits for something to happen.
    pub(super) fn waits(&mut self, node: usize) {
        let host = &self.hosts[node];
        let now = host.clock.read(self.now);
        // Where no other votes, no other can lead meanwhile.
        let alone = |lists: &Lists| lists.each().all(|list| list.voters().len() == 1);
        if host.stale.is_some() || host.lists().is_some_and(alone) {
            return;
        }
        let (Some(setup), since) = (&host.setup, host.disk.since) else { return };
        let busy = since.map(|since| now.since(host.clock.read(since)));
        let stalled = host.is_behind() && busy.is_some_and(|busy| busy >= setup.bound);
        let paused = host.suspended.is_some_and(|until| now < until);
        self.look(Fact::Waits { node, paused, stalled });
    }

    /// The leader on which all members by its lists agree that are up. A copy of the leader follows
    /// no node.
    fn on_one_leader(&self) -> Option<NodeId> {
        let follows = |leader: &Face| {
            let mut up = self.faces.iter().filter(|face| face.up && leader.has_member(face.id));
            up.all(|face| face.id == leader.id || face.leader == Some(leader.id))
        };
        let mut leaders = self.faces.iter().filter(|face| face.up && face.role == Role::Leader);
        leaders.find(|&leader| follows(leader)).map(|leader| leader.id)
    }

    /// The lists of members that a node has on its disk, or is configured with.
    fn kept_lists(&self, node: usize) -> Option<Lists> {
        let kept = self.hosts[node].disk.synced.as_ref().and_then(S::Core::durable_lists);
        let first = || S::Core::CHANGES_MEMBERS.then(|| Lists::first(self.first.clone()));
        kept.cloned().or_else(first)
    }

    pub(super) fn look(&mut self, fact: Fact) {
        let view = View {
            at: self.now,
            nodes: &self.faces,
            agreed: self.agreed,
            terms: self.setting.terms,
        };
        for &(name, invariant) in &self.invariants {
            if let Err(what) = invariant(&mut self.memory, view, fact)
                && self.broken.is_none()
            {
                self.broken = Some(Broken { invariant: name, at: self.now, what });
            }
        }
        if let (true, Some(broken)) = (self.setting.trace, &self.broken) {
            let Broken { invariant, at, what } = broken;
            self.trace.push(format!("{at}  {invariant} is broken: {what}"));
        }
    }

    /// Something happens to a node: for the digest and the trace.
    pub(super) fn note_event(&mut self, node: usize, event: &EventOf<S>) {
        let mut hasher = Fold(self.digest ^ self.now.0);
        (node as u64).hash(&mut hasher);
        std::mem::discriminant(event).hash(&mut hasher);
        if let Event::Received(Received { from, message, .. }) = event {
            (from, message).hash(&mut hasher);
        }
        self.digest = mix(hasher.finish());
        if !self.setting.trace {
            return;
        }
        match event {
            Event::Received(Received { from, message, .. }) => {
                self.note(node, format_args!("gets {message:?} from n{from}"));
            }
            Event::Start => self.note(node, format_args!("starts")),
            Event::Command { command: what, .. } => {
                self.note(node, format_args!("is asked: {what:?}"));
            }
            Event::Request(request) => self.note(node, format_args!("is asked: {request:?}")),
            Event::Stop => self.note(node, format_args!("is told to leave")),
            Event::WorkEnded => self.note(node, format_args!("has ended its work")),
            Event::Wake
            | Event::StorageAnswered(_)
            | Event::Heartbeat { .. }
            | Event::ToldOfRival { .. }
            | Event::Drained { .. } => {}
        }
    }

    pub(super) fn note(&mut self, node: usize, what: fmt::Arguments<'_>) {
        if self.setting.trace {
            self.trace.push(format!("{}  n{:<3} {what}", self.now, self.hosts[node].id));
        }
    }
}

/// A hash that is the same on every machine that has the same word order.
struct Fold(u64);

impl Hasher for Fold {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number);
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

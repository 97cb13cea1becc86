//! What election protocols on a unidirectional ring have in common: the order of the processes, how
//! a message is handed from one to the next, who watches whom, and the rules in which all rings
//! differ.
//!
//! Not a protocol. Those that use it say what goes round and what it means.
//!
//! **Handing on.** A process sends what goes round to its successor, the next in the order. Where a
//! process may be [skipped](Outbox), one that gets such a message acknowledges it at once; if no
//! acknowledgement comes in time, the successor has failed, and the message is sent to the one
//! after it, and so on. No process remembers which have failed: every message tries the successor
//! first, so that one that has recovered is in the ring at once.
//!
//! **Time.** Waiting for an acknowledgement is much shorter than any other time-out of a ring. With
//! perfect timing, then, no other timer of a process expires while it waits for one.

use bellwether_engine::protocol::{
    Belief, Effect, Id, Judge, Local, Property, Protocol, WithinBounds,
};
use bellwether_engine::temporal::{Liveness, Temporal};
use serde::{Deserialize, Serialize};

mod durations;
mod hand_on;
mod outbox;
mod rules;
mod timing;

pub(super) use durations::{detect, heartbeat, hop, lap, timers};
pub(super) use hand_on::{acknowledge, acknowledged, hand_on, on_silence};
pub use outbox::Outbox;
pub(super) use rules::Rules;
pub use rules::{Accept, Order, Orphans, Restart, Watch};
pub(super) use timing::{accepts, may_time_out};

/// What a process is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// It follows `leader`, if it knows one.
    #[default]
    Follower,
    /// It is in an election: what it has sent round is to complete the ring.
    Candidate,
    /// It takes part in an election that a higher process is about to win; not in every ring.
    Waiting,
    /// It leads.
    Leader,
}

/// The state of one process; `M` is what goes round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(bound = "M: Rounds + Serialize")]
pub struct Process<M> {
    /// What it is doing.
    pub role: Role,
    /// Whom it takes for the leader.
    pub leader: Option<Id>,
    /// What it has handed on, as far as it is not acknowledged.
    pub outbox: Outbox<M>,
}

impl<M> Default for Process<M> {
    fn default() -> Self {
        Process { role: Role::Follower, leader: None, outbox: Outbox::default() }
    }
}

/// One journey of a message round the ring: what it is for, and who began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Lap {
    /// An election.
    Election(Id),
    /// The announcement of a leader.
    Coordinator(Id),
}

impl Lap {
    /// Who began it.
    #[must_use]
    pub fn origin(self) -> Id {
        match self {
            Lap::Election(id) | Lap::Coordinator(id) => id,
        }
    }
}

/// What a process in a ring waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// Who has handed something on waits for the acknowledgement.
    Hop,
    /// `T_lap`: who takes part in an election waits for its end.
    Lap,
    /// A follower waits for a sign of its leader.
    Watch,
    /// A leader's announcement is due again ([`Watch::Announcement`]).
    Heartbeat,
}

impl Timer {
    /// Every timer.
    pub const ALL: &'static [Timer] = &[Timer::Hop, Timer::Lap, Timer::Watch, Timer::Heartbeat];
}

/// A message of a protocol on a ring.
pub trait Rounds: Copy {
    /// The lap that it is part of; `None` if it does not go round but back, to acknowledge.
    fn lap(&self) -> Option<Lap>;

    /// The acknowledgement of what belongs to `lap`.
    fn ack(lap: Lap) -> Self;

    /// Whom it announces as the leader, if it announces one.
    fn announces(&self) -> Option<Id>;

    /// Whether it is of no use to hand it on once `down` is: it cannot come home, or it announces
    /// a process that has failed.
    fn is_orphaned_by(&self, down: Id) -> bool {
        self.announces() == Some(down) || self.lap().is_some_and(|lap| lap.origin() == down)
    }
}

/// A protocol on a ring, in which `M` goes round.
pub(super) trait Ring<M: Rounds>:
    Protocol<Process = Process<M>, Message = M, Timer = Timer>
{
    /// The rules in which all rings differ.
    fn ring(&self) -> Rules;

    /// A process begins an election.
    fn start_election(&self, p: &mut Local<'_, Self>);

    /// Whether `message`, as long as it is under way, may still end the election in which `me`
    /// takes part.
    fn may_end_election(&self, me: Id, message: &M) -> bool;
}

/// Every process is up and follows the highest id.
pub(super) fn converged<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>) {
    let highest = p.highest();
    take_for_leader(ring, p, highest);
}

/// A process recovers: the rule `restart`.
pub(super) fn recover<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>) {
    match ring.ring().restart {
        Restart::Election => ring.start_election(p),
        Restart::Nothing if ring.ring().watch == Watch::Announcement => p.arm(Timer::Watch),
        Restart::Nothing => {}
    }
}

/// A candidate's election is under way already; any other process starts one.
pub(super) fn start_election_unless_candidate<M: Rounds, P: Ring<M>>(
    ring: &P,
    p: &mut Local<'_, P>,
) {
    if p.state.role != Role::Candidate {
        ring.start_election(p);
    }
}

/// A process takes part in an election, in this role.
pub(super) fn take_part<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>, role: Role) {
    retire(p);
    (p.state.role, p.state.leader) = (role, None);
    if ring.ring().t_lap {
        p.arm(Timer::Lap);
    }
}

/// A process follows `leader`, or leads if that is itself.
pub(super) fn take_for_leader<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>, leader: Id) {
    retire(p);
    p.state.leader = Some(leader);
    if leader != p.id() {
        p.state.role = Role::Follower;
        p.arm(Timer::Watch);
    } else {
        p.state.role = Role::Leader;
        if ring.ring().watch == Watch::Announcement {
            p.arm(Timer::Heartbeat);
        }
    }
}

/// A new role waits for nothing of the old one; what was handed on is another matter.
fn retire<M: Rounds, P: Ring<M>>(p: &mut Local<'_, P>) {
    for timer in [Timer::Lap, Timer::Watch, Timer::Heartbeat] {
        p.cancel(timer);
    }
}

/// What a process believes of the leadership.
pub(super) fn belief<M>(process: &Process<M>) -> Belief {
    match (process.role, process.leader) {
        (Role::Leader, _) => Belief::Leads,
        (Role::Follower, Some(leader)) => Belief::Follows(leader),
        _ => Belief::Undecided,
    }
}

/// An election begins when a process becomes a candidate, or is one anew; sending the same to
/// another because a process is skipped begins none.
pub(super) fn begins_election<M: Rounds, P: Ring<M>>(
    before: &Process<M>,
    after: &Process<M>,
    effects: &[Effect<P>],
) -> bool {
    let again = effects.iter().any(|effect| matches!(effect, Effect::Arm(Timer::Lap)));
    after.role == Role::Candidate && (before.role != Role::Candidate || again)
}

/// How much a process keeps at most that is not acknowledged.
pub(super) const fn within<M: Rounds, P: Ring<M>>() -> WithinBounds<P> {
    WithinBounds {
        at_most: "14 messages that a process has handed on and that are not acknowledged",
        within: |_, process, _| process.outbox.is_within_bounds(),
    }
}

/// The role in a word.
pub(super) fn role<M>(process: &Process<M>) -> &'static str {
    match process.role {
        Role::Follower => "follower",
        Role::Candidate => "candidate",
        Role::Waiting => "waiting",
        Role::Leader => "leader",
    }
}

/// Whether a message of a process that has failed goes round for ever.
pub(super) const fn laps_end<M: Rounds, P: Ring<M>>() -> Property<Judge<P>> {
    Property {
        name: "laps-end",
        formula: "◇□ ¬∃ message in flight: down(its originator)",
        meaning: "no message of a process that has failed goes round for ever",
        by_default: true,
        premise: None,
        temporal: Temporal::Liveness(Liveness::EventuallyAlways(|_, view| {
            let down = |lap: Lap| !view.up(lap.origin());
            !view.in_flight(|_, _, message| message.lap().is_some_and(down))
        })),
    }
}

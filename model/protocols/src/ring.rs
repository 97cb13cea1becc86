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
    Belief, Duration, Effect, Id, Judge, Local, MAX_SEARCHED, Options, Property, Protocol,
    TimerRow, View, WithinBounds, duration_table, event_type, rule_type, state_type,
};
use bellwether_engine::temporal::{Liveness, Temporal};
use serde::{Serialize, Serializer};

/// The rules that a protocol on a ring has besides its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    /// The order of the processes in the ring.
    pub order: Order,
    /// What goes round is acknowledged; if no ACK comes in time, the next in the ring gets it.
    pub skip: bool,
    /// What becomes of a message whose originator has failed.
    pub orphans: Orphans,
    /// A process in an election that has not ended within `T_lap` starts a new one.
    pub t_lap: bool,
    /// Whose announcement is accepted.
    pub accept: Accept,
    /// What a process does when it recovers.
    pub restart: Restart,
    /// How a follower watches its leader.
    pub watch: Watch,
}

/// The order of the processes in the ring.
#[rule_type]
pub enum Order {
    /// 1, 2, …, n, and 1 again: each hands on to the next higher.
    Ascending,
    /// n, n − 1, …, 1, and n again: each hands on to the next lower.
    Descending,
}

impl Order {
    /// The one after `id` in a ring of `nodes`.
    #[must_use]
    pub fn after(self, id: Id, nodes: usize) -> Id {
        let step = match self {
            Order::Ascending => 1,
            Order::Descending => nodes - 1,
        };
        Id::at((id.index() + step) % nodes)
    }
}

/// What becomes of a message that is of no use any more, because its originator, or whom it
/// announces, has failed.
#[rule_type]
pub enum Orphans {
    /// It goes round.
    Circulate,
    /// A process that has to skip that one removes it, and starts an election.
    Removed,
}

/// Whose announcement is accepted.
#[rule_type]
pub enum Accept {
    /// Any leader's.
    Any,
    /// That of a leader with a higher id than one's own; a lower one's is removed, and the process
    /// that removes it starts an election.
    NotLowerThanSelf,
}

/// What a process does when it recovers from a crash.
#[rule_type]
pub enum Restart {
    /// It starts an election.
    Election,
    /// It waits to hear of a leader: if announcements are awaited, as long as any follower does,
    /// otherwise for ever.
    Nothing,
}

/// How a follower watches its leader.
#[rule_type]
pub enum Watch {
    /// It asks "are you there?"; any answer will do, also from a process that does not lead.
    Answer,
    /// The leader's announcement goes round again and again, as its heartbeat.
    Announcement,
}

/// What a process is doing.
#[state_type]
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
#[event_type]
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
#[event_type]
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

/// The most that can be in it within the [bounds](Outbox::is_within_bounds). Two laps of each
/// process can be under way, its election and its announcement, so that is all where so many
/// processes are searched exhaustively; with more, processes can have more to keep than that.
const MOST: usize = 2 * MAX_SEARCHED;

/// What a process has handed on that is not acknowledged yet, and to whom each went last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outbox<M> {
    /// In the order in which they were handed on, without gaps, one of each lap.
    kept: [Option<(M, Id)>; MOST + 1],
}

impl<M> Default for Outbox<M> {
    fn default() -> Self {
        Outbox { kept: std::array::from_fn(|_| None) }
    }
}

impl<M: Rounds> Outbox<M> {
    /// What is in it, and to whom it went.
    pub fn iter(&self) -> impl Iterator<Item = (M, Id)> {
        self.kept.iter().copied().flatten()
    }

    /// Whether no more is in it than a walk follows. Of more than that, some is not kept.
    fn is_within_bounds(&self) -> bool {
        self.kept[MOST].is_none()
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept[0].is_none()
    }

    /// Keeps `message`, which goes to `to`, in the place of an earlier one of the same lap.
    pub fn keep(&mut self, message: M, to: Id) {
        let others = self.iter().filter(|(kept, _)| kept.lap() != message.lap());
        *self = others.chain([(message, to)]).collect();
    }

    /// Drops what belongs to `lap`.
    pub fn acknowledge(&mut self, lap: Lap) {
        *self = self.iter().filter(|(kept, _)| kept.lap() != Some(lap)).collect();
    }
}

impl<M: Rounds> FromIterator<(M, Id)> for Outbox<M> {
    fn from_iter<T: IntoIterator<Item = (M, Id)>>(kept: T) -> Self {
        let mut outbox = Outbox::default();
        for (place, one) in outbox.kept.iter_mut().zip(kept) {
            *place = Some(one);
        }
        outbox
    }
}

impl<M: Rounds + Serialize> Serialize for Outbox<M> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

/// A protocol on a ring, in which `M` goes round: what is its own, and what all do alike.
pub(super) trait Ring<M: Rounds>:
    Protocol<Process = Process<M>, Message = M, Timer = Timer>
{
    /// The rules in which all rings differ.
    fn ring(&self) -> Rules;

    /// A process begins an election, for this reason.
    fn start_election(&self, p: &mut Local<'_, Self>, reason: &'static str);

    /// Whether `message`, as long as it is under way, may still end the election in which `me`
    /// takes part.
    fn may_end_election(&self, me: Id, message: &M) -> bool;

    /// A message arrives.
    fn arrives(&self, p: &mut Local<'_, Self>, message: M);

    /// The announcement of `leader` goes round.
    fn announce(&self, p: &mut Local<'_, Self>, leader: Id);

    /// A candidate's election is under way already; any other process starts one.
    fn start_election_unless_candidate(&self, p: &mut Local<'_, Self>, reason: &'static str) {
        if p.state.role != Role::Candidate {
            self.start_election(p, reason);
        }
    }

    fn take_part(&self, p: &mut Local<'_, Self>, role: Role) {
        retire(p);
        (p.state.role, p.state.leader) = (role, None);
        if self.ring().t_lap {
            p.arm(Timer::Lap);
        }
    }

    /// A process follows `leader`, or leads if that is itself.
    fn take_for_leader(&self, p: &mut Local<'_, Self>, leader: Id) {
        retire(p);
        p.state.leader = Some(leader);
        if leader != p.id() {
            p.state.role = Role::Follower;
            p.arm(Timer::Watch);
        } else {
            p.state.role = Role::Leader;
            if self.ring().watch == Watch::Announcement {
                p.arm(Timer::Heartbeat);
            }
        }
    }

    /// Sends `message` to the successor.
    fn hand_on(&self, p: &mut Local<'_, Self>, message: M) {
        let successor = self.ring().order.after(p.id(), p.nodes());
        p.send(successor, message);
        if self.ring().skip {
            p.state.outbox.keep(message, successor);
            p.arm(Timer::Hop);
        }
    }

    /// Returns whether `me` follows `leader` if that one is announced to it.
    fn accepts(&self, me: Id, leader: Id) -> bool {
        self.ring().accept == Accept::Any || leader >= me
    }
}

/// Returns the options that protocols on a ring have in common.
pub(super) const fn options<M: Rounds, P: Ring<M>>() -> Options<P> {
    let mut options = Options::<P>::NONE;
    options.within_bounds = Some(WithinBounds {
        at_most: "14 messages that a process has handed on and that are not acknowledged",
        within: |_, process, _| process.outbox.is_within_bounds(),
    });
    options.begins_election = begins_election::<M, P>;
    options
}

/// Every process is up and follows the highest id.
pub(super) fn converged<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>) {
    ring.take_for_leader(p, p.highest());
}

/// A process recovers: the rule `restart`.
pub(super) fn recover<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>) {
    match ring.ring().restart {
        Restart::Election => ring.start_election(p, "booted"),
        Restart::Nothing => {
            p.because("booted");
            if ring.ring().watch == Watch::Announcement {
                p.arm(Timer::Watch);
            }
        }
    }
}

/// A message that goes round is acknowledged to the process that handed it on.
pub(super) fn receive<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>, from: Id, message: M) {
    if let (true, Some(lap)) = (ring.ring().skip, message.lap()) {
        p.send(from, M::ack(lap));
    }
    ring.arrives(p, message);
}

pub(super) fn expire<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>, timer: Timer) {
    match timer {
        Timer::Hop => on_silence(ring, p),
        // A process that passed the election on has failed.
        Timer::Lap => ring.start_election(p, "no_winner"),
        // A follower's leader has failed.
        Timer::Watch => ring.start_election(p, "leader_silent"),
        Timer::Heartbeat => {
            ring.announce(p, p.id());
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

/// What was handed on has arrived.
pub(super) fn acknowledged<M: Rounds, P: Ring<M>>(p: &mut Local<'_, P>, lap: Lap) {
    p.state.outbox.acknowledge(lap);
    if p.state.outbox.is_empty() {
        p.cancel(Timer::Hop);
    }
}

/// No acknowledgement came in time: the process that should have sent it has failed, and what it
/// should have taken goes to the one after it. If all others have failed, there is no other process
/// to lead. By the rule `orphans`, what could not come home is removed, and there may be no leader.
fn on_silence<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>) {
    let (rules, me, nodes) = (ring.ring(), p.id(), p.nodes());
    let after = |silent| rules.order.after(silent, nodes);
    let kept = p.state.outbox;
    if kept.iter().any(|(_, silent)| after(silent) == me) {
        p.state.outbox = Outbox::default();
        p.cancel(Timer::Hop);
        if p.state.role != Role::Leader {
            p.because("unanswered");
            ring.take_for_leader(p, me);
        }
        return;
    }
    let removes = rules.orphans == Orphans::Removed;
    let orphan = |(message, silent): (M, Id)| removes && message.is_orphaned_by(silent);
    let rest = kept.iter().filter(|&one| !orphan(one));
    let rest: Outbox<M> = rest.map(|(message, silent)| (message, after(silent))).collect();
    p.state.outbox = rest;
    for (message, next) in rest.iter() {
        p.send(next, message);
    }
    if !rest.is_empty() {
        p.arm(Timer::Hop);
    }
    if kept.iter().any(orphan) {
        ring.start_election_unless_candidate(p, "originator_silent");
    }
}

pub(super) fn belief<M>(process: &Process<M>) -> Belief {
    let follows = process.leader.filter(|_| process.role == Role::Follower);
    Belief::of(process.role == Role::Leader, follows)
}

/// An election begins when a process becomes a candidate, or is one anew; sending the same to
/// another because a process is skipped begins none.
fn begins_election<M: Rounds, P: Ring<M>>(
    before: &Process<M>,
    after: &Process<M>,
    effects: &[Effect<P>],
) -> bool {
    let again = effects.iter().any(|effect| matches!(effect, Effect::Arm(Timer::Lap)));
    after.role == Role::Candidate && (before.role != Role::Candidate || again)
}

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

/// No announcement of a leader that has failed is in flight.
pub(super) fn none_announces_the_dead<M: Rounds, P: Ring<M>>(_: &P, view: &View<'_, P>) -> bool {
    !view.in_flight(|_, _, message| message.announces().is_some_and(|id| !view.up(id)))
}

/// The rows of a ring's timers. `T_lap` waits for every hop of a lap, so the hop comes first.
pub(super) const fn timers<M: Rounds, P: Ring<M>>(lap: &'static Duration) -> [TimerRow<P>; 4] {
    [
        TimerRow::fixed(Timer::Hop, &T_HOP).armed_if(|ring: &P| ring.ring().skip),
        TimerRow::fixed(Timer::Lap, lap).armed_if(|ring: &P| ring.ring().t_lap),
        TimerRow::detector(Timer::Watch, &T_DETECT),
        TimerRow::fixed(Timer::Heartbeat, &T_HEARTBEAT)
            .armed_if(|ring: &P| ring.ring().watch == Watch::Announcement)
            .periodic(all_follow),
    ]
}

duration_table! {
    T_HOP: "how long a process that handed something on waits for its ACK", 3;
    pub(super) T_LAP:
        "how long a process in a ring's election waits before it starts a new one", 6;
    T_DETECT: "how long it may take a follower to notice that its leader is gone", 1;
    T_HEARTBEAT: "how long a leader waits before it says again that it leads", 7;
}

/// Whether what `timer` of `me` waits for can no longer come.
pub(super) fn may_time_out<M: Rounds, P: Ring<M>>(
    ring: &P,
    view: &View<'_, P>,
    me: Id,
    timer: Timer,
) -> bool {
    match timer {
        // Everything handed on has arrived somewhere, and no acknowledgement is on its way.
        Timer::Hop => !view.in_flight(|from, to, message| match message.lap() {
            Some(_) => from == me,
            None => to == me,
        }),
        _ if view.armed(me, Timer::Hop) => false,
        Timer::Lap => election_has_failed(ring, view, me),
        Timer::Watch => leader_is_silent(ring, view, me),
        Timer::Heartbeat => {
            !under_way(view, |message: &M| message.lap() == Some(Lap::Coordinator(me)))
        }
    }
}

/// A heartbeat tells no process anything new once every process follows the leader.
fn all_follow<M: Rounds, P: Ring<M>>(_: &P, view: &View<'_, P>, me: Id) -> bool {
    view.live().all(|id| view.process(id).leader == Some(me))
}

/// Whether a message that `wanted` is in flight, or with a process that is up and may have to send
/// it to the next.
fn under_way<M: Rounds, P: Ring<M>>(view: &View<'_, P>, wanted: impl Fn(&M) -> bool) -> bool {
    let kept = |id: Id| view.process(id).outbox.iter().any(|(message, _)| wanted(&message));
    view.in_flight(|_, _, message| wanted(&message)) || view.live().any(kept)
}

/// `T_lap`: nothing is under way that could end the election, and no other leader that this process
/// accepts repeats its announcement.
fn election_has_failed<M: Rounds, P: Ring<M>>(ring: &P, view: &View<'_, P>, me: Id) -> bool {
    let repeats = |id: Id| {
        let leads = ring.accepts(me, id) && view.process(id).role == Role::Leader;
        leads && ring.ring().watch == Watch::Announcement && view.hears(me, id)
    };
    !view.ids().any(repeats) && !under_way(view, |message: &M| ring.may_end_election(me, message))
}

/// A follower's watch: its leader gives no sign of life, or (with announcements) neither leads nor
/// is about to, and no announcement of it goes round. One that knows no leader waits for any
/// leader's.
fn leader_is_silent<M: Rounds, P: Ring<M>>(ring: &P, view: &View<'_, P>, me: Id) -> bool {
    let known = view.process(me).leader;
    let leads = |id: Id| {
        view.hears(me, id) && matches!(view.process(id).role, Role::Leader | Role::Candidate)
    };
    let announced = |message: &M| {
        let said = message.announces();
        said.is_some() && (known.is_none() || said == known)
    };
    match ring.ring().watch {
        Watch::Answer => known.is_some_and(|leader| !view.links(me, leader)),
        Watch::Announcement => {
            let led = known.map_or_else(|| view.ids().any(leads), leads);
            !led && !under_way(view, announced)
        }
    }
}

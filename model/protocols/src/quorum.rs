//! The quorum bully: the highest process that a majority supports leads an epoch, for as long as
//! its lease lasts.
//!
//! The order is the bully's, the safety that of a majority's durable grants (Ongaro and Ousterhout
//! 2014), the exclusion in time that of a lease (Gray and Cheriton 1989), and the canvass is the
//! pre-vote of D. Ongaro's thesis (9.6). What each part protects is a rule, and can be switched
//! off: the fields of [`Quorum`].
//!
//! State: a process watches the leader that it has heard, or defers to a higher process, or
//! canvasses (it asks whether others would grant it the next epoch), or claims that epoch, or leads
//! it. A voter that grants an epoch, or acknowledges a leader's round, *promises*: until the
//! promise has run out by its own clock, it grants nothing to another.

use bellwether_engine::protocol::{
    Belief, Duration, Effect, Elects, Envelope, Everything, Id, Ids, Local, Options, Protocol,
    Request, RuleDocs, View, WithinBounds, duration_table, event_type, state_type,
};
use bellwether_engine::terms::{self, BEYOND, majority};
use bellwether_engine::world::Durations;

mod candidate;
mod changes;
mod founding;
mod handover;
mod leader;
mod lists;
mod properties;
mod rules;
mod timing;
mod voter;

pub use bellwether_engine::terms::Term as Epoch;
pub use changes::{Decides, Mark};
pub use founding::{Birth, Births, FOUNDER, Forgotten, Founding, Met};
pub use lists::{List, Lists, Observing};
use properties::PROPERTIES;
use rules::VARIANTS;
pub use rules::{Absent, Canvass, Count, Defers, Deposed, Expiry, Grants, Handover, Heir, Late};
pub use rules::{Preemption, Promises, Quorum, Rounds, Storage};

/// The number of one of a leader's rounds.
pub type Round = u16;

/// What a process is doing.
#[state_type]
pub enum Role {
    /// It watches the leader that it has heard, or waits for one.
    #[default]
    Follower,
    /// A higher process runs: it waits for that to lead.
    Deferring,
    /// It asks whether others would grant it the next epoch.
    Canvassing,
    /// It asks for an epoch.
    Claiming,
    /// The leader has yielded to it: it waits for what others entrust to it.
    Succeeding,
    /// It leads its epoch.
    Leader,
    /// Its lease has run out, but it goes on with its rounds ([`Expiry::KeepsRenewing`]).
    Lapsed,
}

/// What one process knows and loses in a crash.
#[state_type]
pub struct Process {
    /// What it is doing.
    pub role: Role,
    /// The leader whose round it has acknowledged, while it keeps its promise to it; itself if it
    /// leads.
    pub leader: Option<Id>,
    /// To which process it has promised to grant no other anything.
    pub promised: Option<Id>,
    /// The processes that support it, have granted it its epoch, or have acknowledged the round for
    /// which [`Timer::Asked`] runs or a later one, itself included.
    pub granted: Ids,
    /// The processes that have acknowledged the round for which [`Timer::Later`] runs or a later
    /// one, itself included.
    pub granted_later: Ids,
    /// A leader's latest round.
    pub round: Round,
    /// The round for which [`Timer::Asked`] runs; 0 if a leader waits for none.
    pub asked: Round,
    /// The round for which [`Timer::Later`] runs; 0 if a leader waits for no second one.
    pub later: Round,
    /// The process that a leader has asked to take over from it.
    pub invited: Option<Id>,
    /// For how many further rounds the leader waits for it, and then leads on; none if the leader
    /// yields to none when the next round is due.
    pub waits_for: Option<u8>,
    /// Whether it has challenged the leader of its epoch, or may have before a crash.
    pub challenged: bool,
    /// Whether it has led, and since then neither promised itself to another nor outranked one in
    /// its back-off: the rule `returns`.
    pub led: bool,
    /// Whether its machine is not fit to lead.
    pub unfit: bool,
    /// What it has written to stable storage, but not synced ([`Storage::SyncsLate`]).
    pub written: Option<Stable>,
    /// Whether it has just acted as a leader although its lease had run out by its own clock.
    pub overstepped: bool,
    /// The latest list of members that it has.
    pub list: List,
    /// The list that it knows to be decided.
    pub decided: List,
    /// The processes that have acknowledged a leader's pending list.
    pub marked: Ids,
    /// Which others it has met before it became a founder, or has met, if it is none.
    pub met: Met,
    /// The processes that have said that they had met it before they became founders.
    pub met_by: Ids,
}

/// What a process keeps on stable storage.
#[state_type]
pub struct Stable {
    /// The highest epoch that it has granted or seen.
    pub epoch: Epoch,
    /// To which process it has granted that epoch.
    pub granted_to: Option<Id>,
    /// The latest list of members that it has; pending if it is not the one that is
    /// decided.
    pub list: List,
    /// The list that it knows to be decided.
    pub decided: List,
    /// Who proposed or decided these lists.
    pub mark: Mark,
    /// The birth with which it votes.
    pub birth: Birth,
    /// Which others it has met, as far as that was written.
    pub met: Met,
    /// How often it has lost all the rest: the rule `wiped`. It does not know this.
    pub lost: u8,
}

/// A message, how new the lists of members are of the process that sends it, and which life of a
/// process it is about.
#[event_type]
pub struct TaggedMessage {
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
#[event_type]
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
    fn is_for_all(self) -> bool {
        matches!(self, Message::Coordinator(..) | Message::Yield(..)) || self.is_of_members()
    }

    /// Whether any member may say it: it has to do with who votes.
    fn is_of_members(self) -> bool {
        matches!(self, Message::Lists(..) | Message::Meet(..))
    }

    /// Whether it asks for what one with older lists does not get.
    fn asks(self) -> bool {
        matches!(self, Message::Canvass(_) | Message::Claim(_) | Message::Challenge(_))
    }

    /// Whether the receiver asks how new the lists of its sender are.
    fn carries_a_mark(self) -> bool {
        let is_of_a_round = matches!(self, Message::Coordinator(..) | Message::Ack(..));
        self.asks() || is_of_a_round || self.is_of_members()
    }

    fn epoch_mut(&mut self) -> Option<&mut Epoch> {
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

duration_table! {
    // A voter must keep a promise for longer than a leader counts the lease that rests on it.
    T_ROUND: "how long a leader waits before its next round", 3;
    T_LEASE: "how long a leader counts the lease that a majority's answers give it", 8;
    T_PROMISE: "how long a voter keeps a promise, and a restarted one grants nothing", 9;
    T_ELEC: "how long a process waits for answers to its canvass or its claim", 3;
    T_COORD: "how long a process waits for a higher one to lead that runs", 8;
    T_BACKOFF: "how long a process without a majority is not electable", 20;
    T_SKEW: "how much later than the next higher a process canvasses that hears no leader", 6;
    T_DWELL: "how long a higher process follows a leader before it takes over";
}

timer_table! { Quorum:
    /// The lease of what a process has asked for, a claim, a challenge or the earliest round that
    /// no majority has acknowledged, if it is granted.
    Asked => fixed(&T_LEASE);
    /// The lease of the latest round, while an earlier one waits for a majority.
    Later => fixed(&T_LEASE).armed_if(|rules| rules.rounds != Rounds::Latest);
    /// A leader's lease.
    Lease => fixed(&T_LEASE);
    /// A voter's promise.
    Promise => fixed(&T_PROMISE);
    /// After a boot: as long as a promise that it may have forgotten.
    Quiet => fixed(&T_PROMISE).armed_if(|rules| rules.quiet);
    /// No leader is heard: the higher a process, the earlier it canvasses.
    Watch => fixed(&T_SKEW).staggered(&T_SKEW, higher);
    /// A canvass or a claim waits for answers.
    Election => fixed(&T_ELEC);
    /// A process that defers waits for the higher one to lead.
    Coordinator => fixed(&T_COORD)
        .armed_if(|rules| rules.outrank || rules.handover == Handover::Unaided);
    /// A process without a majority is not electable.
    Backoff => fixed(&T_BACKOFF)
        .periodic(timing::is_refused_anyway)
        .armed_if(|rules| rules.backoff);
    /// A leader's next round is due.
    Round => fixed(&T_ROUND).periodic(|rules, view, me| !timing::has_news(rules, view, me));
    /// A higher process has followed a leader for long enough to take over.
    Dwell => fixed(&T_DWELL)
        .staggered(&T_SKEW, higher)
        .periodic(timing::is_ignored)
        .armed_if(|rules| rules.preemption == Preemption::Dwell);
    /// The operator asks the first leader to yield ([`Quorum::transfer`], or to step down).
    Request => detector(&T_LEASE).armed_if(Quorum::is_asked);
    /// A process that was asked to step down is not electable.
    Away => fixed(&T_BACKOFF).armed_if(|rules| rules.step_down);
    /// The operator asks the leader for the next list of members ([`Quorum::lists`]).
    Change => detector(&T_LEASE).armed_if(|rules| rules.lists != Lists::One);
    /// The disk has synced what was written ([`Storage::SyncsLate`]).
    Sync => detector(&T_ROUND).armed_if(|rules| rules.storage == Storage::SyncsLate);
    /// A process that waits to become a founder asks again ([`Quorum::founding`]).
    Meet => fixed(&T_ROUND)
        .periodic(timing::has_met_all)
        .armed_if(|rules| rules.founding != Founding::Given || rules.wiped.is_some());
}

/// What a process waits for whatever its role.
const OUTLAST_ROLES: [Timer; 2] = [Timer::Away, Timer::Sync];

impl Protocol for Quorum {
    const NAME: &'static str = "quorum";
    const SUMMARY: &'static str =
        "the highest process with a majority's grants leads an epoch while its lease lasts";
    const REQUESTS: bool = true;
    parts!(Process, Stable, TaggedMessage, Timer);

    const OPTIONS: Options<Self> = Options {
        // With preemption, the highest in the end; until then, others may lead and be followed.
        elects: |_| Elects::Any,
        // By the first list; with lists that change, a later one may have others.
        voters: |rules, nodes| rules.voters_of(&Process::default(), nodes),
        canonicalize: Some(canonicalize),
        within_bounds: Some(WITHIN),
        fits: rules::fits,
        own: Self::OWN,
        agrees_within: Some(agrees_within),
        begins_election,
        ..Options::NONE
    };

    /// The highest voter that may lead leads epoch 1, every voter has granted it, and acknowledged
    /// its first round; those that observe follow it. A process that is to join later has just
    /// started, and so have all where they start without a state.
    fn converged(&self, p: &mut Local<'_, Self>) {
        if !self.members_of(p.state, p.nodes()).contains(p.id()) || self.founding != Founding::Given
        {
            return self.recover(p);
        }
        let candidates = self.without_witness(self.voters_of(p.state, p.nodes()));
        let leader = candidates.iter().last().unwrap_or(p.highest());
        p.persist(Stable { epoch: 1, granted_to: Some(leader), ..Stable::default() });
        p.state.unfit = self.unhealthy == Some(p.id());
        if p.id() == leader {
            let leads = Process { role: Role::Leader, leader: Some(leader), ..*p.state };
            let granted = Ids::NONE.with(leader);
            *p.state = Process { led: self.returns, granted, round: 1, ..leads };
            p.arm(Timer::Lease);
            p.arm(Timer::Round);
            if self.is_asked() {
                p.arm(Timer::Request);
            }
            self.expect_change(p);
        } else {
            self.promise(p, leader);
            p.state.leader = Some(leader);
        }
    }

    /// A restarted voter has forgotten what it promised, so it grants nothing until that must have
    /// run out: the rule `quiet`.
    fn recover(&self, p: &mut Local<'_, Self>) {
        p.because("booted");
        match self.storage {
            Storage::Durable | Storage::SyncsLate => {}
            Storage::ForgetsGrant => p.persist(Stable { granted_to: None, ..p.stable() }),
            Storage::ForgetsAll => p.persist(Stable::default()),
        }
        self.remember_birth(p);
        p.state.challenged = self.hands_over();
        let Stable { list, decided, met, .. } = p.stable();
        let unfit = self.unhealthy == Some(p.id());
        *p.state = Process { list, decided, met, unfit, ..*p.state };
        if self.quiet && !self.observes(p) {
            p.arm(Timer::Quiet);
        } else {
            self.wait(p);
        }
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, letter: TaggedMessage) {
        self.look_at_leases(p);
        if !self.heeds(p, from, letter) {
            return;
        }
        match letter.message {
            Message::Canvass(epoch) => self.on_canvass(p, from, epoch),
            Message::Support(epoch) => self.on_support(p, from, epoch),
            Message::Outrank(epoch) => self.on_outrank(p, epoch),
            Message::Claim(epoch) => self.on_claim(p, from, epoch, letter.birth),
            Message::Grant(epoch) => self.on_grant(p, from, epoch, letter.birth),
            Message::Coordinator(epoch, round) => {
                self.on_coordinator(p, from, epoch, round, letter.mark);
            }
            Message::Ack(epoch, round) => self.on_ack(p, from, epoch, round, letter.mark),
            Message::Refuse(epoch, _) => self.on_refuse(p, epoch),
            Message::Invite(epoch) => self.on_invite(p, from, epoch),
            Message::Challenge(epoch) => self.on_challenge(p, from, epoch),
            Message::Yield(epoch, next) => self.on_yield(p, from, epoch, next),
            Message::Entrust(epoch) => self.on_entrust(p, from, epoch),
            Message::Lists(decided, list) => self.on_lists(p, decided, list, letter.mark),
            Message::Meet(birth, met) => self.on_meet(p, from, birth, met, letter.mark),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        if !self.look_at_leases(p) || OUTLAST_ROLES.contains(&timer) {
            self.on_timer(p, timer);
        }
    }

    fn asked(&self, p: &mut Local<'_, Self>, request: Request) {
        match request {
            Request::Yield(next) => self.on_asked_to_yield(p, next, None),
            Request::Transfer(to) => self.on_asked_to_yield(p, Some(to), Some(1)),
            Request::StepDown(next) => {
                Self::stay_away(p);
                self.on_asked_to_yield(p, next, None);
            }
            Request::Healthy(fit) => {
                p.state.unfit = !fit;
                if fit { self.on_fit(p) } else { Self::on_unfit(p) }
            }
            Request::Tell(to) => self.on_tell(p, to),
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        timing::may_time_out(self, view, me, timer)
    }

    fn belief(process: &Process) -> Belief {
        let follows = process.leader.filter(|_| process.role == Role::Follower);
        Belief::of(process.role == Role::Leader, follows)
    }

    fn role(process: &Process) -> &'static str {
        match process.role {
            Role::Follower => "follower",
            Role::Deferring => "deferring",
            Role::Canvassing => "canvassing",
            Role::Claiming => "claiming",
            Role::Succeeding => "succeeding",
            Role::Leader => "leader",
            Role::Lapsed => "lapsed leader",
        }
    }
}

impl Quorum {
    fn on_timer(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Asked => self.on_unanswered(p),
            Timer::Later => Self::forget_later(p),
            Timer::Lease => self.on_lease_expired(p),
            Timer::Promise => self.on_promise_over(p),
            Timer::Quiet => self.wait(p),
            Timer::Watch | Timer::Backoff => self.run(p, "watch_over"),
            Timer::Coordinator => self.run(p, "no_winner"),
            Timer::Election => self.on_election_over(p),
            Timer::Round => self.on_round(p),
            Timer::Dwell => self.on_dwelt(p),
            Timer::Request => self.on_request(p),
            Timer::Away => self.on_fit(p),
            Timer::Change => self.on_change(p),
            Timer::Meet => self.meet_all(p),
            Timer::Sync => {
                if let Some(written) = p.state.written.take() {
                    p.persist(written);
                }
            }
        }
    }

    /// What it has on stable storage, or has written there.
    fn kept(p: &Local<'_, Self>) -> Stable {
        known(p.state, &p.stable())
    }

    /// Makes what it promises durable before it sends anything that follows from it: the rule
    /// `storage`. Whom it has met is written with it.
    fn keep(&self, p: &mut Local<'_, Self>, value: Stable) {
        p.state.challenged &= value.epoch == Self::kept(p).epoch;
        if value == Self::kept(p) {
            return;
        }
        let value = Stable { met: p.state.met, ..value };
        match self.storage {
            Storage::SyncsLate => {
                p.state.written = Some(value);
                p.arm(Timer::Sync);
            }
            _ => p.persist(value),
        }
    }

    /// From now on this is the highest epoch that it knows, and whose it is.
    fn grants(&self, p: &mut Local<'_, Self>, epoch: Epoch, granted_to: Option<Id>) {
        self.keep(p, Stable { epoch, granted_to, ..Self::kept(p) });
    }

    /// It is in this role from now on, and waits for nothing.
    fn turn(p: &mut Local<'_, Self>, role: Role) {
        p.cancel(Timer::Asked);
        Self::turn_asked(p, role);
    }

    /// The same, but for what it has asked for.
    fn turn_asked(p: &mut Local<'_, Self>, role: Role) {
        for timer in p.timers().iter::<Self>() {
            if timer != Timer::Asked && !OUTLAST_ROLES.contains(&timer) {
                p.cancel(timer);
            }
        }
        let Process { led, unfit, challenged, written, list, decided, met, met_by, .. } = *p.state;
        let stays = Process { led, unfit, challenged, written, ..Process::default() };
        *p.state = Process { role, list, decided, met, met_by, ..stays };
    }
}

/// What a process takes for its epoch and its grant.
fn known(process: &Process, stable: &Stable) -> Stable {
    process.written.unwrap_or(*stable)
}

/// How many processes are higher that may run.
fn higher(rules: &Quorum, id: Id, nodes: usize) -> u8 {
    let runs = |&other: &Id| other > id && ![rules.observer, rules.witness].contains(&Some(other));
    // At most as many as there are processes.
    u8::try_from(Id::all(nodes).filter(runs).count()).unwrap_or(u8::MAX)
}

/// A process that asks for an epoch, or is to succeed a leader, is in an election.
fn begins_election(before: &Process, after: &Process, effects: &[Effect<Quorum>]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Send { message, .. } => match message.message {
            Message::Canvass(_) => true,
            Message::Claim(_) => before.role != Role::Canvassing,
            _ => false,
        },
        _ => false,
    }) || (after.role == Role::Succeeding && before.role != Role::Succeeding)
}

/// The leader's last round arrives, promises to it run out, the next highest process waits for its
/// turn, canvasses, waits in vain for the one that is gone, claims, is granted, and leads.
fn agrees_within(durations: &Durations, delay: u8) -> Option<u8> {
    let ticks = |duration: &Duration| durations.get(duration.name).map(u16::from);
    let silence = u16::from(delay) + ticks(&T_PROMISE)?;
    let turn = 2 * ticks(&T_SKEW)? + ticks(&T_ELEC)?;
    u8::try_from(silence + turn + 3 * u16::from(delay)).ok()
}

/// How many rounds a leader can have where they are concrete.
const MOST_ROUNDS: u16 = 8;

/// Whether the state of which this is a part is within the bounds.
const WITHIN: WithinBounds<Quorum> = WithinBounds {
    at_most: "2 epochs between a process that runs and the next higher epoch (or as many epochs as \
              the rule 'epochs' says), and 8 rounds told apart",
    within: |rules, process, stable| {
        let Stable { epoch, .. } = known(process, stable);
        let follows = rules.epochs.is_none_or(|most| epoch <= most);
        epoch != BEYOND && follows && process.round < MOST_ROUNDS
    },
};

/// Gives epochs and rounds names that do not depend on [history](bellwether_engine::terms).
///
/// Of rounds, only a leader asks anything: for how many of those that it waits for an
/// acknowledgement counts. A round is therefore called by that number, in its state and in flight.
fn canonicalize(rules: &Quorum, all: Everything<'_, Quorum>) {
    let Everything { count, processes, stable, messages, group } = all;
    let (processes, stable) = (&mut processes[..count], &mut stable[..count]);
    name_rounds(processes, stable, messages);
    if rules.epochs.is_some() {
        return;
    }
    let forgets = |rules: &Quorum| rules.storage == Storage::ForgetsAll;
    terms::canonicalize(group.any(count, forgets), |show| {
        let written = processes.iter_mut().filter_map(|process| process.written.as_mut());
        for stable in stable.iter_mut().chain(written) {
            show(&mut stable.epoch);
            stable.mark.epoch_mut().map(&mut *show);
        }
        for Envelope { message: TaggedMessage { message, mark, .. }, .. } in messages.iter_mut() {
            message.epoch_mut().map(&mut *show);
            mark.epoch_mut().map(&mut *show);
        }
    });
}

fn name_rounds(
    processes: &mut [Process],
    stable: &[Stable],
    messages: &mut [Envelope<TaggedMessage>],
) {
    let leads = |process: &Process| matches!(process.role, Role::Leader | Role::Lapsed);
    let counts = |leader: Id, epoch, round| {
        let process = &processes[leader.index()];
        let own = known(process, &stable[leader.index()]).epoch;
        let for_one = |waits| waits > 0 && round >= waits;
        let waits = [process.asked, process.later].map(|waits| u16::from(for_one(waits)));
        if leads(process) && epoch == own { waits.iter().sum() } else { 0 }
    };
    for Envelope { from, to, message } in messages.iter_mut() {
        let (leader, epoch, round) = match &mut message.message {
            Message::Coordinator(epoch, round) => (*from, *epoch, round),
            Message::Ack(epoch, round) => (*to, *epoch, round),
            _ => continue,
        };
        *round = counts(leader, epoch, *round);
    }
    for process in processes.iter_mut() {
        process.asked = u16::from(process.asked > 0);
        process.later = 2 * u16::from(process.later > 0);
        process.round = process.asked.max(process.later);
    }
}

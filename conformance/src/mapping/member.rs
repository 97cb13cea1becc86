//! The member, around a baton: what its program is told, and what waits for the disk.

use super::{
    Counters, Durations, EnvironmentEvent, Events, ExpectedFacts, Harmless, Mapping, More,
    OnInvalid, Probes, ProcessView, TICK, process_id,
};
use crate::shelled::Shelled;
use bellwether_bridge::program::Refusal;
use bellwether_core::member::{AfterPersist, Command, Deadline, Event, ProgramView, Setup};
use bellwether_core::protocol::{
    Belief, Config, Context, Core, Epoch, Input, MemberError, Members, Node, NodeId, Reason,
    Request, Role, Time,
};
use bellwether_core::trace::{Received, Sent};
use bellwether_model::protocol::{Id, Ids, member as spec};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// The specification and the program.
pub type BatonMember = (spec::Member, Shelled<Baton>);

/// How a member reads as a process of [`spec::Member`].
///
/// | program                                   | model                                       |
/// |-------------------------------------------|---------------------------------------------|
/// | not started                               | down                                        |
/// | what the baton knows, whether it leads    | epoch and holder, leads                     |
/// | the state at the disk, the one to save    | saving, next                                |
/// | messages and news that wait for these     | ready, behind                               |
/// | a machine that is not fit                 | the disk is late                            |
/// | what the program was told; its lease      | told; it leads only with a lease            |
/// | what it is asked, whether it is prepared  | gate                                        |
/// | when it is told that its node leads still | resume: waits, or due once that has passed  |
/// | whether it works, and is waited for       | works, ending                               |
/// | messages that wait for work               | later                                       |
/// | whether it leads in silence               | withdrawn                                   |
///
/// The mapping takes news that the others may not know yet after a silence for the same as news
/// that the program is to be told.
#[must_use]
pub fn mapping() -> Mapping<BatonMember> {
    Mapping {
        rules: spec::Member::RECOMMENDED,
        program: Arc::new(program),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(abstraction),
        stable: Arc::new(|durable: &Durable| stable(*durable)),
        believes: |_, _| None,
        facts: Arc::new(facts),
        messages: Arc::new(|_| messages()),
        more: More {
            events: Events {
                settling_timers,
                at: environment_event,
                harmless,
                ..Events::default()
            },
            durations: Durations {
                checked_first: &[spec::Timer::Lease, spec::Timer::Round, spec::Timer::Claim],
                ..Durations::default()
            },
            probes: Probes {
                ignored_fields: ignored_fields().to_vec(),
                invalid_messages: Arc::new(invalid_messages),
                ..Probes::default()
            },
            counters: Counters { largest_epoch: spec::Epoch::MAX.into(), ..Counters::default() },
            ..More::default()
        },
    }
}

/// The process that a member stands for.
#[must_use]
pub fn abstraction(program: &Shelled<Baton>) -> spec::Process {
    let member = program.member();
    let Some(core) = member.node().core() else { return spec::Process::default() };
    let known = stable(core.known());
    let resume = match program.resumes() {
        None => spec::Resume::NotDue,
        Some(false) => spec::Resume::Waits,
        Some(true) => spec::Resume::Due,
    };
    let gate = match member.pending_preparation() {
        Some(ask) => spec::Gate::Asked(spec_reason(ask.reason)),
        None if member.is_prepared() => spec::Gate::Open,
        None => spec::Gate::Away,
    };
    spec::Process {
        epoch: known.epoch,
        holder: known.holder,
        leads: core.leads(),
        saving: program.saving().copied().map(stable),
        ready: steps(member.queue().ready()),
        next: member.queue().state().copied().map(stable),
        behind: steps(member.queue().behind()),
        late: !core.is_healthy(),
        program: program_view(member.view()),
        gate,
        withdrawn: member.is_silenced_by_disk(),
        resume,
        unannounced: member.unannounced().map(spec_reason),
        works: program.works(),
        ending: member.awaits_work(),
        deferred: deferred_events(member.deferred_events()),
        silent: resume != spec::Resume::NotDue || member.is_silenced_by_disk(),
    }
}

fn program(
    id: NodeId,
    members: &Members,
    durable: Option<&Durable>,
) -> Result<Shelled<Baton>, Refusal> {
    let size = members.count();
    if size > MOST_MEMBERS {
        return Err(format!("at most {MOST_MEMBERS} members are compared").into());
    }
    let setup = Setup {
        silence: SILENCE,
        lifetime: LIFETIME,
        members: size,
        stores: true,
        bound: DISK,
        prepares: true,
        detection: None,
        aligned: false,
    };
    let config = Config { id, members: members.clone(), timing: () };
    Ok(Shelled::new(Node::new(config, durable.copied(), 0)?, &setup))
}

fn settle(_: NodeId, _: &Members) -> Vec<(Duration, Input<Message>)> {
    vec![(Duration::ZERO, Input::Boot)]
}

/// The highest leads, and its program knows.
fn settling_timers(id: NodeId, members: &Members) -> &'static [spec::Timer] {
    match members.iter().max() {
        Some(highest) if highest == id => {
            &[spec::Timer::Claim, spec::Timer::Saved, spec::Timer::Prepared]
        }
        _ => &[],
    }
}

fn to_program(spec::Message::Entrust(epoch): spec::Message) -> Option<Message> {
    Some(Message::Entrust(Epoch::new(epoch.into())))
}

fn to_model(Message::Entrust(epoch): Message) -> spec::Message {
    spec::Message::Entrust(small(epoch))
}

fn timer(deadline: Deadline<Timer>) -> spec::Timer {
    match deadline {
        Deadline::Timer(Timer::Lease) => spec::Timer::Lease,
        Deadline::Timer(Timer::Round) => spec::Timer::Round,
        Deadline::Timer(Timer::Claim) => spec::Timer::Claim,
        Deadline::Resume => spec::Timer::Resume,
        // The probe of the disk is not shown.
        Deadline::StorageLate | Deadline::Probe => spec::Timer::Late,
        Deadline::Work => spec::Timer::Work,
    }
}

fn period(_: NodeId, _: &Members, timer: spec::Timer) -> Option<Duration> {
    Some(match timer {
        spec::Timer::Lease | spec::Timer::Work => LEASE,
        spec::Timer::Round => ROUND,
        spec::Timer::Claim => CLAIM,
        spec::Timer::Resume => SILENCE,
        spec::Timer::Late => DISK,
        _ => return None,
    })
}

fn environment_event(timer: spec::Timer) -> Option<EnvironmentEvent<Shelled<Baton>>> {
    let act: fn(&mut Shelled<Baton>, Time) = match timer {
        spec::Timer::Saved => Shelled::on_saved,
        spec::Timer::Pause => |member, now| member.stand_still(now, PAUSE),
        spec::Timer::Prepared => |member, now| {
            member.command(now, Command::Prepared(member.request_number()));
        },
        spec::Timer::Refused => |member, now| {
            let command = Command::Unprepared(member.request_number(), Duration::ZERO);
            member.command(now, command);
        },
        // The program says so of the leadership before.
        spec::Timer::Outdated => |member, now| {
            let before = member.request_number().saturating_sub(1);
            member.command(now, Command::Prepared(before));
        },
        spec::Timer::WorkEnds => Shelled::end_work,
        spec::Timer::HandOver => |member, now| member.command(now, Command::HandOver(None)),
        _ => return None,
    };
    let takes = if timer == spec::Timer::Pause { PAUSE } else { Duration::ZERO };
    Some(EnvironmentEvent { takes, act })
}

/// Returns what is no pause, what says nothing new, and what is refused.
fn harmless() -> Vec<Harmless<Shelled<Baton>>> {
    let at_once = |words: &'static str, act: fn(&mut Shelled<Baton>, Time)| Harmless {
        words,
        event: EnvironmentEvent { takes: Duration::ZERO, act },
    };
    let stumble: EnvironmentEvent<Shelled<Baton>> =
        EnvironmentEvent { takes: STUMBLE, act: |member, now| member.stand_still(now, STUMBLE) };
    vec![
        Harmless { words: "stands still for less than a leader may", event: stumble },
        at_once("is told that its machine is fit", |member, now| {
            member.command(now, Command::SetHealthy(true));
        }),
        at_once("is asked for an answer", |member, now| member.command(now, Command::Ping)),
        at_once("is asked to let a stranger lead", |member, now| {
            member.command(now, Command::HandOver(NodeId::new(u16::MAX)));
        }),
        at_once("is asked to let itself lead instead", |member, now| {
            let own = member.member().node().status().id;
            member.command(now, Command::HandOver(Some(own)));
        }),
        at_once("is prepared for what it was not asked", |member, now| {
            member.command(now, Command::Prepared(u64::MAX));
        }),
        at_once("refuses what it was not asked", |member, now| {
            member.command(now, Command::Unprepared(u64::MAX, Duration::ZERO));
        }),
        at_once("is asked to stay away once it leads no longer", |member, now| {
            member.command(now, Command::Freeze(LIFETIME));
        }),
    ]
}

/// Returns what the program was told, by which it may act. While the work of a leadership ends, its
/// node leads no longer, and the program is told nothing: the lease that runs then is that of
/// [`spec::Timer::Work`]. The baton goes round.
fn facts(of: &ProcessView<'_, spec::Member>) -> Option<ExpectedFacts<spec::Member>> {
    let spec::Process { program, ending, gate, epoch: known, .. } = *of.process;
    if ending {
        return None;
    }
    let epoch = match program {
        spec::ProgramView::Leads(epoch) => Some(u64::from(epoch)),
        spec::ProgramView::Nothing
        | spec::ProgramView::Undecided
        | spec::ProgramView::Follows(_)
        | spec::ProgramView::Prepares
        | spec::ProgramView::Paused => None,
    };
    let prepares = matches!(gate, spec::Gate::Asked(_)).then_some(u64::from(known));
    let lease = epoch.map(|_| spec::Timer::Lease);
    let successors = Ids::NONE.with(Id::at((of.id.index() + 1) % of.nodes));
    Some(ExpectedFacts { epoch, prepares, lease, successors, ..ExpectedFacts::NONE })
}

fn ignored_fields() -> &'static [(&'static str, &'static str)] {
    const COUNTS: &str = "it counts what was, and is compared with what was counted alone";
    const PAST: &str = "it says why something is so that is compared, or was so";
    &[
        ("seq", COUNTS),
        ("attempts", COUNTS),
        ("number", COUNTS),
        ("preparations", COUNTS),
        ("generation", COUNTS),
        ("own", COUNTS),
        ("lost", PAST),
        ("reason", PAST),
        ("lent", "it counts only if it is the epoch that the node leads"),
    ]
}

fn messages() -> Vec<spec::Message> {
    (0..6).map(spec::Message::Entrust).collect()
}

fn invalid_messages(_: &Members) -> Vec<(Message, OnInvalid<spec::Member>)> {
    let message = Message::Entrust(Epoch::new(u64::MAX));
    vec![(message, OnInvalid::Like(to_model(message)))]
}

fn small(epoch: Epoch) -> spec::Epoch {
    spec::Epoch::try_from(epoch.number()).unwrap_or(spec::Epoch::MAX)
}

fn stable(durable: Durable) -> spec::Stable {
    spec::Stable { epoch: small(durable.epoch), holder: process_id(durable.holder) }
}

fn spec_reason(reason: Reason) -> spec::Reason {
    if reason == ENTRUSTED { spec::Reason::Entrusted } else { spec::Reason::Claimed }
}

/// A program that may do nothing although it knows that its node leads stands for no process.
fn program_view(view: &ProgramView) -> spec::ProgramView {
    let leader = view.leader().and_then(process_id);
    match (view.role(), leader) {
        (Role::Leader, _) => match view.lease() {
            Some(lease) => spec::ProgramView::Leads(small(lease.epoch)),
            None => spec::ProgramView::Nothing,
        },
        (Role::Follower, Some(leader)) => spec::ProgramView::Follows(leader),
        (Role::Waiting, _) if view.reason() == Some(Reason::PREPARING) => {
            spec::ProgramView::Prepares
        }
        (Role::Waiting, _) => spec::ProgramView::Paused,
        (Role::Candidate, _) => spec::ProgramView::Undecided,
        (Role::NotStarted | Role::Follower, _) => spec::ProgramView::Nothing,
    }
}

/// Returns what waits for a state: at most one message, and then at most one leadership.
fn steps<'a>(waiting: impl Iterator<Item = &'a AfterPersist<Message>>) -> spec::Steps {
    let mut steps = spec::Steps::default();
    for step in waiting {
        match step {
            &AfterPersist::Send(Sent { to, message: Message::Entrust(epoch), .. }) => {
                let message = spec::Message::Entrust(small(epoch));
                steps.send = process_id(to).map(|to| (to, message));
            }
            &AfterPersist::Lead(reason) => steps.lead = Some(spec_reason(reason)),
            AfterPersist::Change(_) => {}
        }
    }
    steps
}

fn deferred_events<'a>(
    events: impl Iterator<Item = &'a Event<Message>>,
) -> [Option<spec::Message>; spec::MOST_DEFERRED] {
    let mut waiting = events.filter_map(|event| match event {
        Event::Received(Received { message: Message::Entrust(epoch), .. }) => {
            Some(spec::Message::Entrust(small(*epoch)))
        }
        _ => None,
    });
    std::array::from_fn(|_| waiting.next())
}

// The baton: the simplest core that a member can surround. One node has it, and hands it on by a
// message. The node that has it claims an epoch, leads, and renews its lease in rounds.

/// How long a leader counts its lease. All durations are so long that a pause lets none pass.
pub const LEASE: Duration = Duration::from_secs(3 * 60 * 60);
/// How long a node that has the baton waits before it claims.
pub const CLAIM: Duration = Duration::from_secs(2 * 60 * 60);
/// How long a leader waits before it renews its lease.
pub const ROUND: Duration = Duration::from_secs(60 * 60);

/// The node was given the baton.
pub const ENTRUSTED: Reason = Reason::new("entrusted", "the node was given the baton");
const CLAIMED: Reason = Reason::new("claimed", "the node has the baton, and claims to lead");
const LEASE_OVER: Reason = Reason::new("lease_over", "the lease is over");
const ASKED: Reason = Reason::new("asked", "the node was asked to lead no longer");
const STALE: Reason = Reason::new("stale", "the baton was handed on since");

/// A message of one node to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// "The baton is yours, and this epoch."
    Entrust(Epoch),
}

/// A timer of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Until its lease is over.
    Lease,
    /// Until it renews that.
    Round,
    /// Until it claims the next epoch.
    Claim,
}

/// The durable state of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The highest epoch that it knows.
    pub epoch: Epoch,
    /// Which node has the baton.
    pub holder: NodeId,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Baton {
    known: Durable,
    leads: bool,
    healthy: bool,
    next: NodeId,
}

impl Baton {
    /// Returns what the node knows, whether that is durable or not.
    #[must_use]
    pub fn known(&self) -> Durable {
        self.known
    }

    /// Returns whether it leads.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// Returns whether its machine is fit to lead.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.healthy
    }

    fn lead(&mut self, cx: &mut Context<'_, Self>, epoch: Epoch, reason: Reason) {
        self.known = Durable { epoch, holder: cx.id() };
        self.leads = true;
        cx.cancel(Timer::Claim);
        cx.arm(Timer::Lease);
        cx.arm(Timer::Round);
        cx.persist(self.known);
        cx.because(reason);
    }

    /// Nothing happens if it does not lead.
    fn hand_over(&mut self, cx: &mut Context<'_, Self>, to: NodeId, reason: Reason) {
        if self.leads {
            self.known = Durable { epoch: self.known.epoch.next(), holder: to };
            self.leads = false;
            cx.cancel(Timer::Lease);
            cx.cancel(Timer::Round);
            cx.persist(self.known);
            cx.send(to, Message::Entrust(self.known.epoch));
            cx.because(reason);
        }
    }
}

impl Core for Baton {
    const NAME: &'static str = "member";
    const TIMERS: &'static [Timer] = &[Timer::Lease, Timer::Round, Timer::Claim];
    const REQUESTS: bool = true;
    type Config = Config<()>;
    type Error = MemberError;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Self::Config, _: Option<&Durable>) -> Result<(), MemberError> {
        config.members.require(config.id)
    }

    fn period(_: &Self::Config, timer: Timer) -> Duration {
        match timer {
            Timer::Lease => LEASE,
            Timer::Round => ROUND,
            Timer::Claim => CLAIM,
        }
    }

    fn message_lifetime(_: &Self::Config) -> Duration {
        LEASE
    }

    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted | Role::Waiting => false,
            Role::Candidate | Role::Follower => matches!(from, Role::NotStarted | Role::Leader),
            Role::Leader => matches!(from, Role::Candidate | Role::Follower),
        }
    }

    /// At first, the highest has the baton.
    fn boot(cx: &mut Context<'_, Self>, durable: Option<Durable>, _: u64) -> Self {
        let (me, members) = (cx.id(), &cx.config().members);
        let highest = members.iter().max().unwrap_or(me);
        let higher = members.iter().find(|&id| id > me);
        let next = higher.or(members.iter().min()).unwrap_or(me);
        let first = Durable { epoch: Epoch::default(), holder: highest };
        let known = durable.unwrap_or(first);
        if known.holder == me {
            cx.arm(Timer::Claim);
        }
        cx.because(Reason::BOOTED);
        Self { known, leads: false, healthy: true, next }
    }

    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        let Message::Entrust(epoch) = message;
        if self.leads || epoch <= self.known.epoch {
            cx.ignore(from, STALE);
        } else {
            self.lead(cx, epoch, ENTRUSTED);
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match timer {
            Timer::Claim if self.healthy => self.lead(cx, self.known.epoch.next(), CLAIMED),
            Timer::Claim => cx.arm(Timer::Claim),
            // If its lease is over, that is handled next.
            Timer::Round if cx.armed(Timer::Lease).is_none_or(|until| until <= cx.now()) => {}
            Timer::Round if self.healthy => {
                cx.arm(Timer::Lease);
                cx.arm(Timer::Round);
            }
            Timer::Round => self.hand_over(cx, self.next, Reason::UNFIT),
            Timer::Lease => {
                self.leads = false;
                cx.cancel(Timer::Round);
                cx.arm(Timer::Claim);
                cx.because(LEASE_OVER);
            }
        }
    }

    fn request(&mut self, cx: &mut Context<'_, Self>, request: Request) {
        match request {
            Request::Yield(to) | Request::StepDown(to, _) => {
                self.hand_over(cx, to.unwrap_or(self.next), ASKED);
            }
            Request::Transfer(to) => self.hand_over(cx, to, ASKED),
            Request::Healthy(healthy) => self.healthy = healthy,
            Request::Change(_) | Request::Tell(_) => {}
        }
    }

    fn successor(&self, _: &Self::Config) -> Option<NodeId> {
        Some(self.next)
    }

    fn belief(&self, config: &Self::Config) -> Belief {
        let me = config.id;
        match self.known.holder {
            holder if holder != me => Belief { role: Role::Follower, leader: Some(holder) },
            _ if self.leads => Belief { role: Role::Leader, leader: Some(me) },
            _ => Belief { role: Role::Candidate, leader: None },
        }
    }

    fn lease(&self) -> Option<(Epoch, Timer)> {
        self.leads.then_some((self.known.epoch, Timer::Lease))
    }
}

// The surroundings of the member around a baton: a disk that answers when it is told to, and a
// program that does what it is told to.

/// How long a leader may do nothing. That is shorter than all that a baton waits for.
pub const SILENCE: Duration = Duration::from_secs(7);
/// How long the disk may take.
pub const DISK: Duration = Duration::from_secs(40 * 60);
/// How long a process stands still that does: just as long as a leader may not, and longer than any
/// wait.
pub const PAUSE: Duration = SILENCE;
/// How long a process may stand still that leads on: a nanosecond less.
pub const STUMBLE: Duration = SILENCE.saturating_sub(TICK);

/// No message is so old here that it is not worth sending.
const LIFETIME: Duration = Duration::from_secs(1 << 30);
/// The largest group that is compared.
const MOST_MEMBERS: usize = 7;

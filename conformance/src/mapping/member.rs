//! The member, around a baton: what its program is told, and what waits for the disk.

use super::{
    Counters, Durations, EnvironmentEvent, Events, ExpectedFacts, Harmless, Mapping, More,
    OnInvalid, Probes, ProcessView, process_id,
};
use bellwether_bridge::program::{Facts, Program, Refusal, Remembered};
use bellwether_core::member::{
    Action, Command, Deadline, Deferred, Event, LONGEST_SLEEP, LogLine, Member, ProgramView, Setup,
    StorageAnswer,
};
use bellwether_core::protocol::{
    self, Belief, Config, Context, Core, Epoch, Input, Lease, MemberError, Members,
    Membership as _, Node, NodeId, Output, Reason, Request, Role, Status, Time,
};
use bellwether_core::trace::{Received, Sent};
use bellwether_model::protocol::{Id, Ids, member as spec};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Both sides.
pub type BatonMember = (spec::Member, MemberProgram);

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
/// What the others may not know yet after a silence is the same as that the program is to be told.
#[must_use]
pub fn mapping() -> Mapping<BatonMember> {
    Mapping {
        rules: spec::Member::RECOMMENDED,
        program: Arc::new(program),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer,
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
pub fn abstraction(program: &MemberProgram) -> spec::Process {
    let member = program.member();
    let Some(core) = member.node().core() else { return spec::Process::default() };
    let known = stable(core.known());
    let resume = match program.resumes() {
        None => spec::Resume::NotDue,
        Some(false) => spec::Resume::Waits,
        Some(true) => spec::Resume::Due,
    };
    let gate = match member.asks() {
        Some(ask) => spec::Gate::Asked(spec_reason(ask.reason)),
        None if member.is_prepared() => spec::Gate::Open,
        None => spec::Gate::Away,
    };
    spec::Process {
        epoch: known.epoch,
        holder: known.holder,
        leads: core.leads(),
        saving: program.saving().map(stable),
        ready: steps(member.unsaved().ready()),
        next: member.unsaved().state().copied().map(stable),
        behind: steps(member.unsaved().behind()),
        late: !core.is_healthy(),
        program: program_view(member.view()),
        gate,
        withdrawn: member.is_withdrawn(),
        resume,
        unannounced: member.unannounced().map(spec_reason),
        works: program.works(),
        ending: member.awaits_work(),
        deferred: deferred_events(member.deferred_events()),
        silent: resume != spec::Resume::NotDue || member.is_withdrawn(),
    }
}

fn program(
    id: NodeId,
    members: &Members,
    durable: Option<&Durable>,
) -> Result<MemberProgram, Refusal> {
    MemberProgram::new(Config { id, members: members.clone(), timing: () }, durable.copied())
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
        // That the disk is asked whether it could save is not shown.
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

fn environment_event(timer: spec::Timer) -> Option<EnvironmentEvent<MemberProgram>> {
    let act: fn(&mut MemberProgram, Time) = match timer {
        spec::Timer::Saved => MemberProgram::on_saved,
        spec::Timer::Pause => MemberProgram::pause,
        spec::Timer::Prepared => MemberProgram::prepare,
        spec::Timer::Refused => MemberProgram::refuse,
        spec::Timer::Outdated => MemberProgram::prepare_late,
        spec::Timer::WorkEnds => MemberProgram::end_work,
        spec::Timer::HandOver => MemberProgram::hand_over,
        _ => return None,
    };
    let takes = if timer == spec::Timer::Pause { PAUSE } else { Duration::ZERO };
    Some(EnvironmentEvent { takes, act })
}

/// What is no pause, what says nothing new, and what is refused.
fn harmless() -> Vec<Harmless<MemberProgram>> {
    let at_once = |words: &'static str, act: fn(&mut MemberProgram, Time)| Harmless {
        words,
        event: EnvironmentEvent { takes: Duration::ZERO, act },
    };
    let stumble = EnvironmentEvent { takes: STUMBLE, act: MemberProgram::stumble };
    vec![
        Harmless { words: "stands still for less than a leader may", event: stumble },
        at_once("is told that its machine is fit", MemberProgram::report_health),
        at_once("is asked for an answer", MemberProgram::ping),
        at_once("is asked to let a stranger lead", MemberProgram::hand_over_to_a_stranger),
        at_once("is prepared for what it was not asked", MemberProgram::prepare_for_another),
        at_once("refuses what it was not asked", MemberProgram::refuse_another),
        at_once("is asked to stay away once it leads no longer", MemberProgram::freeze),
    ]
}

/// What the program was told, by which it may act. While the work of a leadership ends, its
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

/// What waits for a state: at most one message, and then at most one leadership.
fn steps<'a>(waiting: impl Iterator<Item = &'a Deferred<Message>>) -> spec::Steps {
    let mut steps = spec::Steps::default();
    for step in waiting {
        match step {
            &Deferred::Send(Sent { to, message: Message::Entrust(epoch), .. }) => {
                let message = spec::Message::Entrust(small(epoch));
                steps.send = process_id(to).map(|to| (to, message));
            }
            &Deferred::Lead(protocol::Event::RoleChanged { reason, .. }) => {
                steps.lead = Some(spec_reason(reason));
            }
            Deferred::Lead(
                protocol::Event::Ignored { .. } | protocol::Event::RivalHeard { .. },
            )
            | Deferred::Change(_) => {}
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

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// "The baton is yours, and this epoch."
    Entrust(Epoch),
}

/// What a node waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// Until its lease is over.
    Lease,
    /// Until it renews that.
    Round,
    /// Until it claims the next epoch.
    Claim,
}

/// What a node must not forget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The highest epoch that it knows.
    pub epoch: Epoch,
    /// Which node has the baton.
    pub holder: NodeId,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Baton {
    known: Durable,
    leads: bool,
    healthy: bool,
    next: NodeId,
}

impl Baton {
    /// What it knows, whether that is durable or not.
    #[must_use]
    pub fn known(&self) -> Durable {
        self.known
    }

    /// Whether it leads.
    #[must_use]
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// Whether its machine is fit to lead.
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
        let me = config.id();
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

// The program that is compared: a member around a baton, with a disk that answers when it is told
// to, and an application that does what it is told to. Around them is the smallest loop that there
// can be: it goes on until the member waits.

/// How long a leader may do nothing. That is shorter than all that a baton waits for.
pub const SILENCE: Duration = Duration::from_secs(7);
/// How long the disk may take.
pub const DISK: Duration = Duration::from_secs(40 * 60);
/// How long a process stands still that does: longer than a leader may, and than any wait.
pub const PAUSE: Duration = SILENCE.saturating_add(LONGEST_SLEEP);
/// How long a process may stand still that leads on: a nanosecond less.
pub const STUMBLE: Duration = SILENCE.saturating_sub(Duration::from_nanos(1));

/// No message is so old here that it is not worth sending.
const LIFETIME: Duration = Duration::from_secs(1 << 30);
/// The largest group that is compared.
const MOST_MEMBERS: usize = 7;
/// After so many turns without a wait it will not wait at all.
const MOST_TURNS: usize = 16;
/// The ticket of every question: only one waits at a time.
const TICKET: u64 = 1;

/// A member, its disk, and its program.
#[derive(Clone, Debug)]
pub struct MemberProgram {
    member: Member<Baton>,
    saving: Option<Durable>,
    /// Whether the disk is asked if it could save anything. It could.
    probed: bool,
    /// Whether the program does what only a leader may.
    works: bool,
    /// What the program was told, if that was another role or leader than before.
    known: (Role, Option<NodeId>),
    /// What it was told last of the epoch of the leader, and of its lease.
    told: (Option<Epoch>, Option<Lease>),
    /// For which epoch it is asked to prepare itself.
    prepares: Option<Epoch>,
    /// Whether all that is done now follows from a message that does not wait for work.
    receives: bool,
    now: Time,
    wake: Option<Time>,
    outputs: VecDeque<Output<Durable, Message>>,
}

impl MemberProgram {
    /// Returns one that has not started.
    ///
    /// # Errors
    /// If the node is no member, or if there are more than are compared.
    pub fn new(config: Config<()>, durable: Option<Durable>) -> Result<Self, Refusal> {
        let members = config.members.iter().count();
        if members > MOST_MEMBERS {
            return Err(format!("at most {MOST_MEMBERS} members are compared").into());
        }
        let setup = Setup {
            silence: SILENCE,
            lifetime: LIFETIME,
            members,
            stores: true,
            bound: DISK,
            prepares: true,
            detection: None,
            aligned: false,
        };
        let now = Time::ZERO;
        Ok(Self {
            member: Member::new(Node::new(config, durable, 0)?, &setup, now),
            saving: None,
            probed: false,
            works: false,
            known: (Role::NotStarted, None),
            told: (None, None),
            prepares: None,
            receives: false,
            now,
            wake: None,
            outputs: VecDeque::new(),
        })
    }

    /// The member.
    #[must_use]
    pub fn member(&self) -> &Member<Baton> {
        &self.member
    }

    /// What the disk saves.
    #[must_use]
    pub fn saving(&self) -> Option<Durable> {
        self.saving
    }

    /// Whether the program does what only a leader may.
    #[must_use]
    pub fn works(&self) -> bool {
        self.works
    }

    /// When the program is told that its node leads still, if it is, and whether that has passed.
    #[must_use]
    pub fn resumes(&self) -> Option<bool> {
        let mut armed = self.member.armed();
        let resume = armed.find(|(deadline, _)| *deadline == Deadline::Resume);
        resume.map(|(_, at)| at <= self.now)
    }

    /// The disk answers. What it has saved is durable before anything follows from that.
    pub fn on_saved(&mut self, now: Time) {
        if let Some(saved) = self.saving.take() {
            self.outputs.push_back(Output::Persist(saved));
            self.on_event(now, Event::StorageAnswered(StorageAnswer::Done));
        }
    }

    /// The process has stood still until now.
    pub fn pause(&mut self, now: Time) {
        self.stand_still(now, PAUSE);
    }

    /// The process has stood still until now, for a moment less than a leader may.
    pub fn stumble(&mut self, now: Time) {
        self.stand_still(now, STUMBLE);
    }

    fn stand_still(&mut self, now: Time, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let before = Time::from_nanos(now.as_nanos().saturating_sub(time));
        self.member.pass_time(before);
        let _ = self.member.wait(before);
        self.handle_event(now, Event::Wake);
        self.run_until_wait(now);
    }

    /// The program says that it is prepared.
    pub fn prepare(&mut self, now: Time) {
        self.command(now, Command::Prepared(self.request_number()));
    }

    /// The program says so late, of the leadership before.
    pub fn prepare_late(&mut self, now: Time) {
        self.command(now, Command::Prepared(self.request_number().saturating_sub(1)));
    }

    /// The program cannot prepare itself.
    pub fn refuse(&mut self, now: Time) {
        self.command(now, Command::Unprepared(self.request_number(), Duration::ZERO));
    }

    /// The program asks for a hand-over.
    pub fn hand_over(&mut self, now: Time) {
        self.command(now, Command::HandOver(None));
    }

    /// The program reports that its machine is fit to lead, as it is.
    pub fn report_health(&mut self, now: Time) {
        self.command(now, Command::SetHealthy(true));
    }

    /// The program asks for an answer.
    pub fn ping(&mut self, now: Time) {
        self.command(now, Command::Ping);
    }

    /// The program asks that a node lead that is no member.
    pub fn hand_over_to_a_stranger(&mut self, now: Time) {
        self.command(now, Command::HandOver(NodeId::new(u16::MAX)));
    }

    /// The program says that it is prepared for a leadership that never was.
    pub fn prepare_for_another(&mut self, now: Time) {
        self.command(now, Command::Prepared(u64::MAX));
    }

    /// The program says that it cannot prepare itself for a leadership that never was.
    pub fn refuse_another(&mut self, now: Time) {
        self.command(now, Command::Unprepared(u64::MAX, Duration::ZERO));
    }

    /// The node is to stay away for as long as it takes once it leads no longer.
    pub fn freeze(&mut self, now: Time) {
        self.command(now, Command::Freeze(LIFETIME));
    }

    /// The program ends its work.
    pub fn end_work(&mut self, now: Time) {
        self.works = false;
        self.member.pass_time(now);
        self.run_until_wait(now);
    }

    /// For the so manieth time the program was asked to prepare itself; 0 if it is not.
    fn request_number(&self) -> u64 {
        self.member.asks().map_or(0, |ask| ask.number)
    }

    fn command(&mut self, now: Time, command: Command) {
        self.on_event(now, Event::Command { ticket: TICKET, command });
    }

    /// Something happens. However long nothing has, the process did not stand still.
    fn on_event(&mut self, now: Time, event: Event<Message>) {
        self.member.pass_time(now);
        if self.member.deferred_events().next().is_some() {
            // What became of those could not be told from what becomes of this one.
            self.handle_event(now, Event::Wake);
        }
        let works = |(deadline, at)| deadline == Deadline::Work && at > now;
        self.receives = matches!(event, Event::Received(_)) && !self.member.armed().any(works);
        self.handle_event(now, event);
        self.run_until_wait(now);
        self.receives = false;
    }

    fn handle_event(&mut self, now: Time, event: Event<Message>) {
        self.now = now;
        for action in self.member.handle(now, event) {
            match action {
                Action::Send(Sent { to, message, .. }) => {
                    self.outputs.push_back(Output::Send { to, message });
                }
                Action::Save(state) => self.saving = Some(state),
                Action::Probe => self.probed = true,
                Action::Publish(view) => self.on_publish(view),
                Action::RenewLease(lease) => self.told.1 = lease,
                Action::Prepare(request) => self.prepares = request.and_then(|one| one.epoch),
                // Of a message that had to wait for work, that was not told when it arrived.
                Action::Log(LogLine::Ignored { from, cause }) if self.receives => {
                    self.on_ignored(from, cause);
                }
                // Its lease is over, so it does nothing that only a leader may.
                Action::Log(LogLine::WorkUnfinished(_)) => self.works = false,
                Action::SendHeartbeat
                | Action::TellRival(_)
                | Action::Change(_)
                | Action::EndWork(_)
                | Action::Reply(..)
                | Action::Stalled(_)
                | Action::Log(_)
                | Action::Trace(_)
                | Action::End(_) => {}
            }
        }
    }

    /// The program is told something. It works whenever it may.
    fn on_publish(&mut self, view: ProgramView) {
        self.works |= view.leads();
        self.told = (view.epoch(), view.lease());
        let (from, before) = (self.known.0, self.known);
        self.known = (view.role(), view.leader());
        if let Some(reason) = view.reason()
            && self.known != before
        {
            let (to, leader) = self.known;
            let event = protocol::Event::RoleChanged { from, to, leader, reason };
            self.outputs.push_back(Output::Event(event));
        }
    }

    fn on_ignored(&mut self, from: NodeId, cause: Reason) {
        self.outputs.push_back(Output::Event(protocol::Event::Ignored { from, cause }));
    }

    /// Does what needs no time, until the member waits.
    fn run_until_wait(&mut self, now: Time) {
        self.now = now;
        for _ in 0..MOST_TURNS {
            if std::mem::take(&mut self.probed) {
                self.handle_event(now, Event::StorageAnswered(StorageAnswer::Done));
            } else if self.member.awaits_work() && !self.works {
                self.handle_event(now, Event::WorkEnded);
            } else if self.next_wait(now).is_zero() {
                self.handle_event(now, Event::Wake);
            } else {
                return self.update_wake();
            }
        }
        panic!("the member never waits");
    }

    /// How long the member waits. That is until the first of its deadlines.
    fn next_wait(&mut self, now: Time) -> Duration {
        let (ending, behind) = (self.member.awaits_work(), self.member.is_behind());
        let counts = |&(deadline, at): &(Deadline<Timer>, Time)| match deadline {
            Deadline::Work => true,
            Deadline::Resume => !ending && !behind,
            Deadline::StorageLate => !ending && at > now,
            Deadline::Timer(_) | Deadline::Probe => !ending,
        };
        let first = self.member.armed().filter(counts).map(|(_, at)| at.since(now)).min();
        let waits = self.member.wait(now);
        let longest = first.unwrap_or(LONGEST_SLEEP).min(LONGEST_SLEEP);
        assert_eq!(waits, longest, "a member waits for the first of its deadlines");
        waits
    }

    fn update_wake(&mut self) {
        let next = self.armed().map(|(_, at)| at).min();
        if next != self.wake {
            self.wake = next;
            self.outputs.push_back(Output::WakeAt(next));
        }
    }
}

impl Program for MemberProgram {
    const NAME: &'static str = Baton::NAME;
    type Durable = Durable;
    type Message = Message;
    type Timer = Deadline<Timer>;

    fn handle(&mut self, now: Time, input: Input<Message>) {
        let event = match input {
            Input::Boot => Event::Start,
            Input::Receive { from, message } => {
                // A message waits for work, and is looked at after that. Who sent it is looked at
                // by the transport as well.
                let config = self.member.node().config();
                let (own, known) = (from == config.id(), config.hears(from));
                if self.member.awaits_work() && (own || !known) {
                    let cause = if own { Reason::OWN_ID } else { Reason::UNKNOWN_SENDER };
                    return self.on_ignored(from, cause);
                }
                Event::Received(Received::unnumbered(from, message))
            }
            Input::Wake | Input::Suspect(_) | Input::Request(_) => Event::Wake,
        };
        self.on_event(now, event);
    }

    fn poll(&mut self) -> Option<Output<Durable, Message>> {
        self.outputs.pop_front()
    }

    /// What the program was told, not what its node believes.
    fn status(&self) -> Status {
        let view = self.member.view();
        Status { id: view.node(), role: view.role(), leader: view.leader() }
    }

    fn remembers(&self) -> impl Remembered {
        Remembrance(self)
    }

    /// What is due later. The disk can always save, so that it is asked shows nowhere.
    fn armed(&self) -> impl Iterator<Item = (Deadline<Timer>, Time)> {
        let now = self.now;
        let later = move |&(deadline, at): &(Deadline<Timer>, Time)| {
            deadline != Deadline::Probe && at > now
        };
        self.member.armed().filter(later)
    }

    fn bring_forward(&mut self, deadline: Deadline<Timer>, to: Time) {
        self.member.bring_forward(deadline, to);
    }

    /// What the program was told, and until when it may act by that.
    fn facts(&self) -> Facts<Deadline<Timer>> {
        let ((epoch, lease), prepares) = (self.told, self.prepares);
        let successor = self.member.node().successor();
        Facts { epoch, lease, successor, prepares, waits_for: None }
    }
}

/// All that there is.
struct Remembrance<'a>(&'a MemberProgram);

impl fmt::Debug for Remembrance<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MemberProgram { member, saving, works, known, .. } = self.0;
        let mut all = f.debug_struct("MemberProgram");
        all.field("member", member).field("saving", saving);
        all.field("works", works).field("known", known).finish()
    }
}

impl Remembered for Remembrance<'_> {
    fn is_same_as(&self, other: &Self) -> bool {
        let own = |of: &MemberProgram| (of.saving, of.works, of.known, of.wake.is_some());
        own(self.0) == own(other.0) && self.0.member.is_like(&other.0.member)
    }
}

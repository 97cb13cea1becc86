//! A member around a core, as a program that the bridge drives.
//!
//! Around the member is the smallest loop that there can be, which goes on until the member waits.
//! The rest that surrounds a member is there in one of two ways:
//!
//! - A disk and a program [to which things happen](Shelled::new): the disk answers, the process
//!   stands still, the program is prepared, ends its work, or asks for something.
//! - A disk that [answers at once](Shelled::at_once), and a program that never works. Such a member
//!   shows what its node shows: a state is saved before anything that follows from the state, and
//!   each change is told in its order. Copies of such a member show, beside each step, how long its
//!   process may stand still, and how late a disk may answer.

use bellwether_bridge::mapping::{Built, Mapping};
use bellwether_bridge::program::{BrokenPromise, Facts, Limits, Program, Remembered, limits};
use bellwether_bridge::surroundings::around;
use bellwether_core::detector::{Detection, LONGEST, Parameters, SettingsError};
use bellwether_core::member::{
    Action, AfterPersist, Command, Deadline, Event, LONGEST_SLEEP, LogLine, Member, ProgramView,
    RequestError, Setup, StorageAnswer,
};
use bellwether_core::protocol::{
    self, Core, Epoch, Input, Lease, Members, Membership as _, Node, NodeId, Output, Reason,
    Request, Role, Status, Time,
};
use bellwether_core::trace::{Received, Sent};
use bellwether_model::protocol::Protocol as Specification;
use std::collections::{BTreeSet, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The shortest time that there is.
pub(crate) const TICK: Duration = Duration::from_nanos(1);
/// After so many turns without a wait, a member will not wait at all.
const MOST_TURNS: usize = 16;
/// The ticket of every question whose answer is compared.
const TICKET: u64 = 1;
/// The ticket of a question that waits for work: the member may be another one at its turn.
const LATER: u64 = 0;

/// The answer of a member to a command.
type Answer = Result<Option<NodeId>, RequestError>;

/// A command that has no answer yet, and what was so when it was given.
#[derive(Clone, Debug)]
struct Question {
    command: Command,
    refusal: Option<RequestError>,
    /// The node has stopped leading since then.
    ended: bool,
    /// The node that was to lead next.
    next: Option<NodeId>,
    /// The program was asked to prepare itself by the number in the command.
    is_asked: bool,
}

/// A member, its disk, and its program.
#[derive(Clone, Debug)]
pub struct Shelled<C: Core> {
    member: Member<C>,
    /// The disk answers at once, and the program never works.
    at_once: bool,
    /// The rounds of members begin at moments that these have in common.
    aligned: bool,
    saving: Option<C::Durable>,
    /// The disk is asked whether anything could be saved, which is so.
    probed: bool,
    /// The program does what only a leader may.
    works: bool,
    /// The role of the node and the leader, as the program was told last.
    known: (Role, Option<NodeId>),
    /// The epoch of the leader and the lease of the node, as the program was told last.
    told: (Option<Epoch>, Option<Lease>),
    /// The epoch for which the program is asked to prepare itself.
    prepares: Option<Epoch>,
    /// All that is done now follows from a message that does not wait for work.
    receives: bool,
    now: Time,
    wake: Option<Time>,
    outputs: VecDeque<Output<C::Durable, C::Message>>,
    questions: Vec<Question>,
    /// The answers that have not been compared yet.
    answers: Vec<Answer>,
    /// The first promise that the member has broken.
    broken: Option<BrokenPromise>,
}

impl<C: Core> Shelled<C> {
    /// Returns a member around this node that has not started, with a disk and a program to which
    /// things happen.
    #[must_use]
    pub fn new(node: Node<C>, setup: &Setup) -> Self {
        let now = Time::ZERO;
        Self {
            member: Member::new(node, setup, now),
            at_once: false,
            aligned: setup.aligned,
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
            questions: Vec::new(),
            answers: Vec::new(),
            broken: None,
        }
    }

    /// Returns a member around this node that has not started, with a disk that answers at once,
    /// and a program that never works.
    #[must_use]
    pub fn at_once(node: Node<C>, setup: &Setup) -> Self {
        Self { at_once: true, ..Self::new(node, setup) }
    }

    /// Returns the member.
    #[must_use]
    pub fn member(&self) -> &Member<C> {
        &self.member
    }

    /// Returns the state that the disk saves.
    #[must_use]
    pub fn saving(&self) -> Option<&C::Durable> {
        self.saving.as_ref()
    }

    /// Returns whether the program does what only a leader may.
    #[must_use]
    pub fn works(&self) -> bool {
        self.works
    }

    /// Returns when the program is told that its node leads still, if it is, and whether that has
    /// passed.
    #[must_use]
    pub fn resumes(&self) -> Option<bool> {
        let mut armed = self.member.armed();
        let resume = armed.find(|(deadline, _)| *deadline == Deadline::Resume);
        resume.map(|(_, at)| at <= self.now)
    }

    /// Returns how often the program was asked to prepare itself; 0 if it is not asked now.
    #[must_use]
    pub fn request_number(&self) -> u64 {
        self.member.pending_preparation().map_or(0, |ask| ask.number)
    }

    /// Lets the disk answer. The state that it has saved is durable before anything follows from
    /// the answer.
    pub fn on_saved(&mut self, now: Time) {
        if let Some(saved) = self.saving.take() {
            self.outputs.push_back(Output::Persist(saved));
            self.on_event(now, Event::StorageAnswered(StorageAnswer::Done));
        }
    }

    /// Lets the process have stood still for this long until now.
    pub fn stand_still(&mut self, now: Time, time: Duration) {
        let time = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let before = Time::from_nanos(now.as_nanos().saturating_sub(time));
        self.member.pass_time(before);
        let _ = self.member.wait(before);
        self.handle_event(now, Event::Wake);
        self.run_until_wait(now);
    }

    /// Lets the program, or who operates it, ask for something.
    pub fn command(&mut self, now: Time, command: Command) {
        self.on_event(now, Event::Command { ticket: TICKET, command });
    }

    /// Lets the program end its work.
    pub fn end_work(&mut self, now: Time) {
        self.works = false;
        self.member.pass_time(now);
        self.run_until_wait(now);
    }

    /// Lets something happen to a process that has not stood still, however long ago the last thing
    /// happened.
    fn on_event(&mut self, now: Time, event: Event<C::Message>) {
        self.member.pass_time(now);
        if self.member.deferred_events().next().is_some() {
            // The effects of the deferred events could not be told from those of this one.
            self.handle_event(now, Event::Wake);
        }
        let event = match event {
            Event::Command { command, .. } => Event::Command { ticket: self.ask(command), command },
            event => event,
        };
        let works = |(deadline, at)| deadline == Deadline::Work && at > now;
        self.receives = matches!(event, Event::Received(_)) && !self.member.armed().any(works);
        self.handle_event(now, event);
        self.run_until_wait(now);
        self.receives = false;
    }

    fn handle_event(&mut self, now: Time, event: Event<C::Message>) {
        self.now = now;
        for action in self.member.handle(now, event) {
            self.check_order(&action);
            match action {
                Action::Send(Sent { to, message, .. }) => {
                    self.outputs.push_back(Output::Send { to, message });
                }
                Action::Save(state) => self.saving = Some(state),
                Action::Probe => self.probed = true,
                Action::Publish(view) => self.on_publish(view),
                Action::RenewLease(lease) => self.told.1 = lease,
                Action::Prepare(request) => self.prepares = request.and_then(|one| one.epoch),
                // A message that had to wait for work is not told of when it arrives.
                Action::Log(LogLine::Ignored { from, cause }) if self.receives => {
                    self.on_ignored(from, cause);
                }
                // The lease is over, and so is the work under it.
                Action::Log(LogLine::WorkUnfinished(_)) => self.works = false,
                Action::Reply(TICKET, answer) => self.answers.push(answer),
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
        if self.node().status().role != Role::Leader {
            self.questions.iter_mut().for_each(|question| question.ended = true);
        }
    }

    /// Notes an action that was to wait for the state that is being saved.
    fn check_order(&mut self, action: &Action<C::Durable, C::Message>) {
        let waits =
            matches!(action, Action::Send(_) | Action::Prepare(Some(_)) | Action::Change(_));
        if waits && self.saving.is_some() {
            let right = "done once the state before it is durable";
            self.breaks(promise("action", right, format!("done before: {action:?}")));
        }
    }

    /// Tells the program something. The program works whenever it may.
    fn on_publish(&mut self, view: ProgramView) {
        self.works |= view.leads() && !self.at_once;
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

    /// Does all that needs no time, until the member waits.
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
                return self.check_answers();
            }
        }
        panic!("the member never waits");
    }

    /// Returns how long the member waits: until the first of its deadlines, or until its failure
    /// detectors are due.
    fn next_wait(&mut self, now: Time) -> Duration {
        let (ending, behind) = (self.member.awaits_work(), self.member.is_behind());
        let counts = |&(deadline, at): &(Deadline<C::Timer>, Time)| match deadline {
            Deadline::Work => true,
            Deadline::Resume => !ending && !behind,
            Deadline::StorageLate => !ending && at > now,
            Deadline::Timer(_) | Deadline::Probe => !ending,
        };
        let first = self.member.armed().filter(counts).map(|(_, at)| at).min();
        let longest = first.map_or(LONGEST_SLEEP, |first| self.begins(first).since(now));
        let longest = longest.min(LONGEST_SLEEP);
        let waits = self.member.wait(now);
        let is_right = waits == longest || (self.at_once && waits < longest);
        assert!(is_right, "a member waits for the first of its deadlines");
        waits
    }

    /// Returns when the member begins with what is due first. A round that is due shortly before a
    /// moment that aligned members have in common waits for it, if nothing else is due by then.
    fn begins(&self, due: Time) -> Time {
        let config = self.node().config();
        let Some((timer, slack)) = C::round_slack(config).filter(|_| self.aligned) else {
            return due;
        };
        let apart = (C::period(config, timer) + slack).as_nanos();
        let beat = u128::from(due.as_nanos()).next_multiple_of(apart.max(1));
        let beat = Time::from_nanos(u64::try_from(beat).unwrap_or(u64::MAX));
        let is_alone = self.member.armed().all(|(deadline, at)| match deadline {
            Deadline::Timer(own) if own == timer => at == due,
            _ => at > beat,
        });
        if is_alone && beat.since(due) <= slack { beat } else { due }
    }

    /// The wake-up that the member needs, if another one is needed than before.
    fn next_wake(&mut self) -> Option<Output<C::Durable, C::Message>> {
        let next = self.armed().map(|(_, at)| at).min();
        if next == self.wake {
            return None;
        }
        self.wake = next;
        Some(Output::WakeAt(next))
    }

    /// The event of a member whose node is to get this input.
    fn event_of(&self, input: Input<C::Message>) -> Event<C::Message> {
        match input {
            Input::Boot => Event::Start,
            Input::Receive { from, message } => {
                Event::Received(Received::unnumbered(from, message))
            }
            Input::Suspect(node) if self.node().watched().any(|watched| watched == node) => {
                Event::Drained { gone: BTreeSet::from([node]) }
            }
            Input::Wake | Input::Suspect(_) => Event::Wake,
            Input::Request(request) => self.asked(request),
        }
    }

    /// The event by which the member is asked for this: a command, if one stands for it.
    fn asked(&self, request: Request) -> Event<C::Message> {
        let node = self.node();
        let (leads, next) = (node.status().role == Role::Leader, node.successor());
        let command = match request {
            Request::Healthy(healthy) => Command::SetHealthy(healthy),
            Request::Transfer(to) => Command::HandOver(Some(to)),
            Request::Yield(to) if to == next => Command::HandOver(None),
            Request::StepDown(None, time) if !leads => Command::Freeze(time),
            Request::StepDown(to, time) if to == next => Command::StepDown(time),
            request => return Event::Request(request),
        };
        Event::Command { ticket: TICKET, command }
    }
}

// The answers to commands.

impl<C: Core> Shelled<C> {
    /// Notes a command, whose answer is to be compared. Returns the ticket of the question.
    fn ask(&mut self, command: Command) -> u64 {
        if self.member.awaits_work() {
            return LATER;
        }
        let is_asked = match command {
            Command::Prepared(number) | Command::Unprepared(number, _) => {
                self.member.pending_preparation().is_some_and(|ask| ask.number == number)
            }
            _ => false,
        };
        let (refusal, next) = (self.refusal(command), self.node().successor());
        self.questions.push(Question { command, refusal, ended: false, next, is_asked });
        TICKET
    }

    /// Returns why the member must refuse the command. A program may always ask whether the member
    /// is there, and say whether it is prepared.
    fn refusal(&self, command: Command) -> Option<RequestError> {
        let (node, config) = (self.node().status(), self.node().config());
        let (own, protocol) = (node.id, C::NAME);
        let to = match command {
            Command::Ping | Command::Prepared(_) | Command::Unprepared(..) => return None,
            Command::HandOver(to) if C::REQUESTS && (to.is_none() || C::TRANSFERS) => to,
            Command::StepDown(_) | Command::Freeze(_) | Command::SetHealthy(_) if C::REQUESTS => {
                return None;
            }
            _ => return Some(RequestError::Unsupported { protocol }),
        };
        match to {
            _ if node.role != Role::Leader => Some(RequestError::NotLeading { node: own }),
            Some(to) if to == own || !config.hears(to) => {
                Some(RequestError::NoSuccessor { node: own, to })
            }
            Some(to) if C::is_witness(config, to) => Some(RequestError::Witness { to }),
            Some(to) if !C::may_lead(config, to) => Some(RequestError::Observer { to }),
            _ => None,
        }
    }

    /// Returns the answer that is due now; `None` if the question has to wait for one.
    fn answer(&self, question: &Question) -> Option<Answer> {
        let Question { command, next, is_asked, .. } = *question;
        if let Some(refusal) = &question.refusal {
            return Some(Err(refusal.clone()));
        }
        let node = self.node();
        let Status { id, role, .. } = node.status();
        let leads = role == Role::Leader;
        match command {
            Command::HandOver(None) | Command::StepDown(_) => (!leads).then_some(Ok(next)),
            Command::HandOver(Some(to)) if leads => {
                let leader = Some(id);
                (!node.awaits_successor(to)).then_some(Err(RequestError::NotTaken { to, leader }))
            }
            Command::HandOver(to) => Some(Ok(to)),
            Command::Prepared(_) if is_asked && leads => {
                self.member.view().leads().then_some(Ok(None))
            }
            Command::Unprepared(..) if is_asked && C::REQUESTS => Some(Ok(next)),
            _ => Some(Ok(None)),
        }
    }

    /// Compares the answers that the member has given with those that are due: each question gets
    /// one, as soon as it is due.
    fn check_answers(&mut self) {
        if self.member.awaits_work() {
            return;
        }
        let mut due = Vec::new();
        let given = std::mem::take(&mut self.answers);
        for question in std::mem::take(&mut self.questions) {
            // A node that has stopped leading, and leads again by now, may have answered meanwhile.
            let early = question.ended.then_some(Ok(question.next));
            let early = early.filter(|answer| given.contains(answer));
            match self.answer(&question).or(early) {
                Some(answer) => due.push(answer),
                None => self.questions.push(question),
            }
        }
        let times = |all: &[Answer], one: &Answer| all.iter().filter(|other| *other == one).count();
        let is_same = |one: &Answer| times(&due, one) == times(&given, one);
        if due.len() != given.len() || !due.iter().all(is_same) {
            self.breaks(promise("answers to commands", format!("{due:?}"), format!("{given:?}")));
        }
    }
}

// A member whose disk answers at once, which promises to show what its node shows.

impl<C: Core> Shelled<C> {
    /// Lets this happen. Deadlines that have passed come first, as a loop is woken by each of them:
    /// the state that follows from a deadline is saved before the next state.
    fn happen_at_once(&mut self, now: Time, event: Event<C::Message>) {
        let is_due = self.member.armed().any(|(_, at)| at <= now);
        if is_due && !matches!(event, Event::Wake) {
            self.save_at_once(now, Event::Wake);
        }
        self.save_at_once(now, event);
        // A node puts out its effects in this order.
        self.outputs.make_contiguous().sort_by_key(|output| match output {
            Output::Persist(_) => 0,
            Output::Send { .. } => 1,
            Output::Event(_) | Output::WakeAt(_) => 2,
        });
    }

    /// Lets this happen, and the disk answer until nothing is left to save. The promises are looked
    /// at before each answer, and after the last.
    fn save_at_once(&mut self, now: Time, event: Event<C::Message>) {
        let before = self.outputs.len();
        self.on_event(now, event);
        let is_early = self.outputs.range(before..).any(|output| {
            matches!(
                output,
                Output::Send { .. }
                    | Output::Event(protocol::Event::RoleChanged { to: Role::Leader, .. })
            )
        });
        if is_early && self.saving.is_some() {
            let right = "sent, or told, once the state before it is durable";
            self.breaks(promise("message, or leadership", right, "sent, or told, before"));
        }
        self.breaks(self.broken_view(now));
        for _ in 0..MOST_TURNS {
            if self.saving.is_none() {
                break;
            }
            self.breaks(self.broken_lifetime(now));
            self.on_saved(now);
            self.breaks(self.broken_view(now));
        }
        self.breaks(self.broken_pause(now));
        if self.member.is_behind() {
            let wrong = "it waits, and nothing is being saved";
            self.breaks(promise("state of the node", "durable in the end", wrong));
        }
    }

    /// The first promise that is broken by what the program was told, if one is.
    ///
    /// - A program that was told that its node leads can rely on that: the node does.
    /// - The epoch that the program was told is that of the leader.
    /// - The lease that the program was told is that of the node that leads, for that epoch; and a
    ///   program that was told that its node leads by a lease has the lease.
    fn broken_view(&self, now: Time) -> Option<BrokenPromise> {
        let (node, is_behind) = (self.node(), self.member.is_behind());
        let ((role, leader), (epoch, lease)) = (self.known, self.told);
        let leads = role == Role::Leader;
        if leads && node.status().role != Role::Leader {
            let wrong = "that of the node itself";
            return promise("leadership", "that of another node, or none", wrong);
        }
        let knows = leader.is_some() && leader == node.status().leader;
        if knows && !is_behind && epoch != node.epoch() {
            let words =
                |of: Option<Epoch>| of.map_or("none".to_owned(), |of| of.number().to_string());
            return promise("epoch of the leader", words(node.epoch()), words(epoch));
        }
        let lasts = |lease: &Lease| lease.until > now;
        let due = node.lease().filter(|due| lasts(due) && leads && epoch == Some(due.epoch));
        let told = lease.filter(lasts);
        let is_late = told.is_none() && is_behind;
        if told != due && !is_late {
            let words = |of: Option<Lease>| match of {
                Some(Lease { epoch, until }) => {
                    format!("one of epoch {}, for {:?}", epoch.number(), until.since(now))
                }
                None => "none".to_owned(),
            };
            return promise("lease", words(due), words(told));
        }
        None
    }

    /// The promise that is broken if the process stands still from now on. Its program leads on
    /// after less than its configuration calls a silence, and as long as it is late by less than
    /// half of that; then it is told of the pause before all else.
    fn broken_pause(&self, now: Time) -> Option<BrokenPromise> {
        let Limits { silence, .. } = limits(self.node());
        if !self.member.view().leads() {
            return None;
        }
        let mut waiting = self.member.clone();
        waiting.pass_time(now);
        let pause = silence.max(waiting.wait(now) + silence / 2);
        let words = |is_told: bool| if is_told { "told first" } else { "not told" };
        for (time, pauses) in [(pause.saturating_sub(TICK), false), (pause, true)] {
            let actions = waiting.clone().handle(now + time, Event::Wake);
            let is_told = actions.first().is_some_and(|first| {
                matches!(first, Action::Publish(view) if view.reason() == Some(Reason::PAUSED))
            });
            if is_told != pauses {
                let right = format!("{} after {time:?}", words(pauses));
                return promise("pause", right, words(is_told));
            }
        }
        None
    }

    /// The promise that is broken if the disk answers late. A message that waits for it is sent
    /// unless it is older than its lifetime.
    fn broken_lifetime(&self, now: Time) -> Option<BrokenPromise> {
        let Limits { lifetime, .. } = limits(self.node());
        let number = |step: &AfterPersist<C::Message>| match step {
            AfterPersist::Send(sent) => Some(sent.id),
            AfterPersist::Lead(_) | AfterPersist::Change(_) => None,
        };
        let waiting: Vec<u64> = self.member.queue().ready().filter_map(number).collect();
        if waiting.is_empty() {
            return None;
        }
        for (age, right) in [(lifetime, waiting.len()), (lifetime + TICK, 0)] {
            let (mut member, then) = (self.member.clone(), now + age);
            member.pass_time(then);
            let mut actions = member.handle(then, Event::StorageAnswered(StorageAnswer::Done));
            if member.awaits_work() {
                actions.extend(member.handle(then, Event::WorkEnded));
            }
            let numbers = actions.iter().filter_map(|action| match action {
                Action::Send(sent) => Some(sent.id),
                _ => None,
            });
            let sent = numbers.filter(|id| waiting.contains(id)).count();
            if sent != right {
                let right = format!("{right} sent when {age:?} old");
                return promise("messages that wait for the disk", right, format!("{sent} sent"));
            }
        }
        None
    }

    /// Notes the first promise that is broken.
    fn breaks(&mut self, found: Option<BrokenPromise>) {
        self.broken = self.broken.take().or(found);
    }
}

/// A promise that is broken: what it is about, what must be, and what is.
fn promise(
    what: &'static str,
    right: impl Into<String>,
    wrong: impl Into<String>,
) -> Option<BrokenPromise> {
    Some(BrokenPromise { what, right: right.into(), wrong: wrong.into() })
}

impl<C: Core> Program for Shelled<C> {
    type Core = C;
    type Timer = Deadline<C::Timer>;

    fn node(&self) -> &Node<C> {
        self.member.node()
    }

    fn handle(&mut self, now: Time, input: Input<C::Message>) {
        if let Input::Receive { from, .. } = input {
            // A message waits for work, and is looked at after that. The transport looks at its
            // sender as well.
            let config = self.node().config();
            let (own, known) = (from == config.id(), config.hears(from));
            if self.member.awaits_work() && (own || !known) {
                let cause = if own { Reason::OWN_ID } else { Reason::UNKNOWN_SENDER };
                return self.on_ignored(from, cause);
            }
        }
        let event = self.event_of(input);
        if self.at_once {
            self.happen_at_once(now, event);
        } else {
            self.on_event(now, event);
        }
    }

    fn poll(&mut self) -> Option<Output<C::Durable, C::Message>> {
        self.outputs.pop_front().or_else(|| self.next_wake())
    }

    /// Returns the view of the program, and not the belief of its node.
    fn status(&self) -> Status {
        let (role, leader) = self.known;
        Status { id: self.member.view().node(), role, leader }
    }

    fn remembers(&self) -> impl Remembered {
        Remembrance(self)
    }

    /// Returns the deadlines that are due later. The disk can always save, so a question to it shows
    /// nowhere. If the disk answers at once, the timers of the node are all that there is.
    fn armed(&self) -> impl Iterator<Item = (Deadline<C::Timer>, Time)> {
        let (now, at_once) = (self.now, self.at_once);
        let later = move |&(deadline, at): &(Deadline<C::Timer>, Time)| {
            let is_shown = match deadline {
                Deadline::Timer(_) => true,
                Deadline::Probe => false,
                Deadline::Resume | Deadline::StorageLate | Deadline::Work => !at_once,
            };
            is_shown && at > now
        };
        self.member.armed().filter(later)
    }

    fn bring_forward(&mut self, deadline: Deadline<C::Timer>, to: Time) {
        self.member.bring_forward(deadline, to);
    }

    fn broken_promise(&self) -> Option<BrokenPromise> {
        self.broken.clone()
    }

    /// Returns the facts that the program was told, and until when it may act by them.
    fn facts(&self) -> Facts<Deadline<C::Timer>> {
        let ((epoch, lease), prepares, node) = (self.told, self.prepares, self.node());
        let waits_for = node.skippable_wait().map(|(timer, nodes)| (Deadline::Timer(timer), nodes));
        Facts { epoch, lease, successor: node.successor(), waits_for, prepares }
    }
}

/// All that a member remembers; if its disk answers at once, all that its node remembers.
struct Remembrance<'a, C: Core>(&'a Shelled<C>);

impl<C: Core> fmt::Debug for Remembrance<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shelled { member, at_once, saving, works, known, .. } = self.0;
        if *at_once {
            return fmt::Debug::fmt(&member.node().core(), f);
        }
        let mut all = f.debug_struct("Shelled");
        all.field("member", member).field("saving", saving);
        all.field("works", works).field("known", known).finish()
    }
}

impl<C: Core> Remembered for Remembrance<'_, C> {
    fn is_same_as(&self, other: &Self) -> bool {
        let (one, two) = (self.0, other.0);
        if one.at_once {
            return one.member.node().core() == two.member.node().core();
        }
        (&one.saving, one.works, one.known, one.wake.is_some())
            == (&two.saving, two.works, two.known, two.wake.is_some())
            && one.member.eq_ignoring_time(&two.member)
    }
}

/// Returns the mapping of a node, for the member around it: a member whose disk answers at once,
/// and whose program never works, shows in each step what its node shows.
#[must_use]
pub fn member<S: Specification, C: Core>(
    mapping: &Mapping<(S, Node<C>)>,
) -> Mapping<(S, Shelled<C>)> {
    let detects = mapping.more.events.detects;
    let detects = S::TIMERS.iter().any(|row| detects(row.timer).is_some());
    let build = move |node: Built<(S, Node<C>)>, _, members: &Members, _: Option<&C::Durable>| {
        let node = node?;
        let setup = Setup::of::<C>(node.config(), members.count());
        let detection = if detects { Some(detection()?) } else { None };
        Ok(Shelled::at_once(node, &Setup { stores: true, aligned: true, detection, ..setup }))
    };
    let timer = Arc::clone(&mapping.timer);
    around(mapping, build, Shelled::<C>::node, move |deadline| match deadline {
        Deadline::Timer(own) => timer(own),
        _ => {
            unreachable!("if the disk answers at once, the timers of the node are armed alone")
        }
    })
}

/// The interval is shorter than the moment that passes between two steps of a comparison, so that a
/// node can be reported in each of them; and longer than half of that, so that no step is a pause.
const HEARTBEAT: Duration = Duration::from_micros(1);

/// A failure detector that reports a node as soon as that is gone, and none for its silence.
fn detection() -> Result<(Detection, Parameters), SettingsError> {
    let mut detection = Detection::default();
    (detection.heartbeat, detection.start) = (HEARTBEAT, LONGEST);
    Ok((detection, detection.check()?))
}

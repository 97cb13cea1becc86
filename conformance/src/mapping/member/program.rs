//! What is compared: a member around a [baton](Baton), with a disk that answers when it is told to,
//! and a program that does what it is told to. Around them is the smallest loop that there can be:
//! it goes on until the member waits.

use super::baton::{Baton, Durable, Message, Timer};
use bellwether_bridge::program::{Facts, Program, Refusal, Remembered};
use bellwether_core::member::{
    Action, Command, Deadline, Event, LONGEST_SLEEP, LogLine, Member, ProgramView, Setup,
    StorageAnswer,
};
use bellwether_core::protocol::{
    self, Config, Core as _, Epoch, Input, Lease, Membership as _, Node, NodeId, Output, Reason,
    Role, Status, Time,
};
use bellwether_core::trace::{Received, Sent};
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

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
    /// What the disk saves.
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

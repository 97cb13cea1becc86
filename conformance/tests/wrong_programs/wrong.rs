//! The production core with one mistake around it.

use bellwether::protocol::bully::{Bully, Config, Message, Timer};
use bellwether::protocol::{
    Core, Event, Input, Members, Node, NodeId, Nothing, Output, Reason, Role, Status, Time,
};
use bellwether_conformance::program::{Program, Refusal, Remembered};
use std::collections::VecDeque;
use std::time::Duration;

/// What is wrong with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Mistake {
    None,
    IgnoresOk,
    NoGuard,
    NoTCoord,
    AcceptsFromBelow,
    FollowsLower,
    StaleElectionTimer,
    AnswersBeforeBoot,
    SpeaksBeforeBoot,
    LeaderKeepsQuiet,
    OkLast,
    KeepsElectionTimer,
    AnnouncesToAll,
    HighestWaits,
    KeepsLeader,
    OneHeartbeat,
    WatchNotRestarted,
    NoRestart,
    WakesLate,
    NeverWakes,
    WakesTwice,
    LeaderStays,
    EventFirst,
    NoEvents,
    BootsTwice,
    AnswersStrangers,
    MessageBeforeDeadline,
    ExpiresEarly,
    Panics,
    Endless,
}

type Out = Output<Nothing, Message>;

/// A core with a mistake.
#[derive(Clone)]
pub(crate) struct Wrong {
    core: Node<Bully>,
    mistake: Mistake,
    members: Members,
    now: Time,
    outputs: VecDeque<Out>,
    /// What it tells of itself instead of the truth.
    pub(crate) believes: Option<Status>,
    /// A timer that it shows although the core does not have it, with its deadline.
    pub(crate) extra: Option<(Timer, Time)>,
    /// A timer of the core that it hides.
    pub(crate) hidden: Option<Timer>,
    /// When a timer that it should have forgotten will fire nevertheless.
    pub(crate) stale: Option<Time>,
}

impl Wrong {
    pub(crate) fn new(config: Config, mistake: Mistake) -> Result<Self, Refusal> {
        let members = config.members.clone();
        let core = Node::new(config, None, 0)?;
        let mut wrong = Wrong {
            core,
            mistake,
            members,
            now: Time::ZERO,
            outputs: VecDeque::new(),
            believes: None,
            extra: None,
            hidden: None,
            stale: None,
        };
        if mistake == Mistake::SpeaksBeforeBoot {
            let others: Vec<_> = wrong.members.below(wrong.id()).to_vec();
            wrong.say(&others, Message::Coordinator);
        }
        Ok(wrong)
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    fn id(&self) -> NodeId {
        self.core.status().id
    }

    fn role(&self) -> Role {
        self.core.status().role
    }

    fn deadline(&self, timer: Timer) -> Option<Time> {
        self.core.armed().find(|(armed, _)| *armed == timer).map(|(_, deadline)| deadline)
    }

    fn say(&mut self, to: &[NodeId], message: Message) {
        // Messages come before events and the wake-up, as they should.
        let at = self.outputs.iter().take_while(|o| matches!(o, Output::Send { .. })).count();
        for &to in to.iter().rev() {
            self.outputs.insert(at, Output::Send { to, message });
        }
    }

    fn core(&mut self, now: Time, input: Input<Message>) {
        self.core.handle(now, input);
        self.outputs.extend(std::iter::from_fn(|| self.core.poll()));
    }

    /// Whether the input is kept from the core, which then only learns what time it is.
    fn swallows(&self, now: Time, input: Input<Message>) -> bool {
        let Status { role, leader, .. } = self.core.status();
        match (self.mistake, input) {
            (Mistake::IgnoresOk, Input::Receive { message: Message::Ok, .. }) => true,
            (Mistake::NoRestart, Input::Boot) => now > Time::ZERO,
            (_, Input::Receive { from, message: Message::Coordinator }) => match self.mistake {
                Mistake::KeepsLeader => {
                    role == Role::Follower && leader.is_some_and(|leader| leader < from)
                }
                Mistake::WatchNotRestarted => leader == Some(from),
                Mistake::LeaderStays => role == Role::Leader,
                _ => false,
            },
            _ => false,
        }
    }
}

impl Program for Wrong {
    const NAME: &'static str = <Bully as Core>::NAME;
    type Durable = Nothing;
    type Message = Message;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Message>) {
        let before = self.role();
        let elec = self.deadline(Timer::Elec);
        let earlier = self.now;
        self.now = now;
        if self.is(Mistake::Panics) && before == Role::Waiting {
            panic!("not today");
        }
        self.fires_stale(now);
        match input {
            _ if self.swallows(now, input) => self.core(now, Input::Wake),
            Input::Wake if self.is(Mistake::ExpiresEarly) => {
                self.core(now + Duration::from_millis(1), input);
            }
            Input::Receive { .. }
                if self.is(Mistake::MessageBeforeDeadline)
                    && self.core.armed().any(|(_, due)| due <= now) =>
            {
                self.core.handle(earlier, input);
                self.core(now, Input::Wake);
            }
            Input::Boot if self.is(Mistake::HighestWaits) && before == Role::NotStarted => {
                self.boot_waiting(now);
            }
            _ => self.core(now, input),
        }
        match input {
            Input::Receive { from, message } => self.received(now, from, message, before, elec),
            Input::Wake => self.woken(before),
            Input::Boot if self.is(Mistake::BootsTwice) && before != Role::NotStarted => {
                let others: Vec<_> = self.members.above(self.id()).to_vec();
                self.say(&others, Message::Election);
            }
            Input::Boot | Input::Suspect(_) | Input::Request(_) => {}
        }
        self.falsify();
    }

    fn poll(&mut self) -> Option<Out> {
        if self.is(Mistake::Endless) && self.role() == Role::Waiting {
            return Some(Output::WakeAt(None));
        }
        self.outputs.pop_front()
    }

    fn remembers(&self) -> impl Remembered {
        (self.core.core(), self.believes, self.extra.map(|(timer, _)| timer), self.hidden)
    }

    fn status(&self) -> Status {
        self.believes.unwrap_or_else(|| self.core.status())
    }

    fn bring_forward(&mut self, timer: Timer, deadline: Time) {
        self.core.bring_forward(timer, deadline);
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        let hidden = self.hidden;
        self.core.armed().filter(move |(timer, _)| Some(*timer) != hidden).chain(self.extra)
    }
}

/// The mistakes that need more than leaving something out.
impl Wrong {
    fn received(
        &mut self,
        now: Time,
        from: NodeId,
        message: Message,
        before: Role,
        elec: Option<Time>,
    ) {
        let me = self.id();
        let member = self.members.contains(from);
        match (self.mistake, message) {
            (Mistake::NoGuard, Message::Election)
                if from < me && matches!(before, Role::Candidate | Role::Waiting) =>
            {
                let higher: Vec<_> = self.members.above(me).to_vec();
                self.say(&higher, Message::Election);
            }
            (Mistake::AcceptsFromBelow, Message::Coordinator)
                if from < me && member && before != Role::NotStarted =>
            {
                self.follow(from, before);
            }
            (Mistake::FollowsLower, Message::Coordinator)
                if from > me && self.core.status().leader.is_some_and(|known| known > from) =>
            {
                self.follow(from, before);
            }
            (Mistake::AnswersBeforeBoot, Message::Election) if before == Role::NotStarted => {
                self.say(&[from], Message::Ok);
            }
            (Mistake::AnswersStrangers, Message::Election) if !member => {
                self.say(&[from], Message::Ok);
            }
            (Mistake::StaleElectionTimer, Message::Ok) if before == Role::Candidate => {
                self.stale = elec;
            }
            (Mistake::KeepsElectionTimer, Message::Ok) if before == Role::Candidate => {
                self.extra = elec.filter(|&due| due > now).map(|due| (Timer::Elec, due));
            }
            _ => {}
        }
    }

    fn follow(&mut self, leader: NodeId, from: Role) {
        let (to, leader) = (Role::Follower, Some(leader));
        self.believes = Some(Status { id: self.id(), role: to, leader });
        let told = Event::RoleChanged {
            from,
            to,
            leader,
            reason: Reason::new("claimed", "a node claims to lead"),
        };
        self.outputs = [Output::Event(told)].into();
    }

    fn woken(&mut self, before: Role) {
        if self.is(Mistake::AnnouncesToAll) && before == Role::Candidate {
            let higher: Vec<_> = self.members.above(self.id()).to_vec();
            self.say(&higher, Message::Coordinator);
        }
        if self.is(Mistake::OneHeartbeat) && before == Role::Leader {
            self.hidden = Some(Timer::Beat);
        }
    }

    /// The election timer of a candidate that had its OK fires nevertheless.
    fn fires_stale(&mut self, now: Time) {
        if !self.is(Mistake::StaleElectionTimer) {
            return;
        }
        if self.stale.is_some_and(|due| due <= now) {
            self.stale = None;
            let lower: Vec<_> = self.members.below(self.id()).to_vec();
            self.say(&lower, Message::Coordinator);
        }
    }

    fn boot_waiting(&mut self, now: Time) {
        self.core(now, Input::Boot);
        if self.role() != Role::Leader {
            return;
        }
        let status = Status { role: Role::Candidate, leader: None, ..self.core.status() };
        self.believes = Some(status);
        let told = Event::RoleChanged {
            from: Role::NotStarted,
            to: Role::Candidate,
            leader: None,
            reason: Reason::BOOTED,
        };
        self.hidden = Some(Timer::Beat);
        let due = now + Duration::from_millis(300);
        self.extra = Some((Timer::Elec, due));
        self.outputs = [Output::Event(told), Output::WakeAt(Some(due))].into();
    }

    /// The mistakes in what is put out, whatever it follows from.
    fn falsify(&mut self) {
        let role = self.role();
        let keep = |output: &Out| match (self.mistake, output) {
            (Mistake::LeaderKeepsQuiet, Output::Send { message: Message::Coordinator, .. }) => {
                role != Role::Leader || !self.outputs.iter().any(is_ok)
            }
            (Mistake::NeverWakes, Output::WakeAt(_)) | (Mistake::NoEvents, Output::Event(_)) => {
                false
            }
            _ => true,
        };
        let mut kept: VecDeque<Out> = self.outputs.iter().copied().filter(keep).collect();
        match self.mistake {
            Mistake::OkLast => {
                let sends = kept.iter().filter(|o| matches!(o, Output::Send { .. })).count();
                if sends > 1 && kept.front().is_some_and(is_ok) {
                    kept.make_contiguous()[..sends].rotate_left(1);
                }
            }
            Mistake::EventFirst => {
                kept.make_contiguous().sort_by_key(|o| !matches!(o, Output::Event(_)));
            }
            Mistake::WakesLate => {
                for output in &mut kept {
                    if let Output::WakeAt(Some(at)) = output {
                        *at = *at + Duration::from_millis(1);
                    }
                }
            }
            Mistake::WakesTwice => {
                if let Some(&last @ Output::WakeAt(_)) = kept.back() {
                    kept.push_back(last);
                }
            }
            Mistake::NoTCoord if role == Role::Waiting => {
                self.hidden = Some(Timer::Coord);
                kept.retain(|o| !matches!(o, Output::WakeAt(_)));
                kept.push_back(Output::WakeAt(None));
            }
            Mistake::NoTCoord => self.hidden = None,
            _ => {}
        }
        self.outputs = kept;
    }
}

fn is_ok(output: &Out) -> bool {
    matches!(output, Output::Send { message: Message::Ok, .. })
}

//! The production core with one mistake around it.

use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_core::protocol::bully::{Bully, Message, Timer};
use bellwether_core::protocol::{
    Event, Input, Node, NodeId, Nothing, Output, Reason, Role, Status, Time,
};
use bellwether_model::protocol::bully as spec;
use std::time::Duration;

use crate::wrapper::{Hooks, Wrapped};

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
    CompetesInsteadOfWaiting,
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
type Wrapping = Wrapped<Node<Bully>>;

/// A mistake, and what a node remembers of it.
#[derive(Clone)]
pub(crate) struct Wrong {
    mistake: Mistake,
    now: Time,
    /// What it tells of itself instead of the truth.
    believes: Option<Status>,
    /// A timer that it shows although the core does not have it, with its deadline.
    extra: Option<(Timer, Time)>,
    /// A timer of the core that it hides.
    hidden: Option<Timer>,
    /// When a timer that it should have forgotten will fire nevertheless.
    stale: Option<Time>,
}

impl Wrong {
    pub(crate) fn new(mistake: Mistake) -> Self {
        let (believes, extra, hidden, stale) = (None, None, None, None);
        Wrong { mistake, now: Time::ZERO, believes, extra, hidden, stale }
    }

    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == mistake
    }

    /// Whether the input is kept from the core, which then only learns what time it is.
    fn swallows(&self, node: &Wrapping, now: Time, input: Input<Message>) -> bool {
        let Status { role, leader, .. } = node.core.status();
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

impl Hooks<BullyMapping> for Wrong {
    fn begin(&self, node: &mut Wrapping) {
        if self.is(Mistake::SpeaksBeforeBoot) {
            node.say(below(node), Message::Coordinator);
        }
    }

    fn handle(&mut self, node: &mut Wrapping, now: Time, input: Input<Message>) {
        let before = node.role();
        let elec = node.due(Timer::Election);
        let earlier = std::mem::replace(&mut self.now, now);
        if self.is(Mistake::Panics) && before == Role::Waiting {
            panic!("not today");
        }
        self.fires_stale(node, now);
        match input {
            _ if self.swallows(node, now, input.clone()) => node.feed(now, Input::Wake),
            Input::Wake if self.is(Mistake::ExpiresEarly) => {
                node.feed(now + Duration::from_millis(1), input.clone());
            }
            Input::Receive { .. }
                if self.is(Mistake::MessageBeforeDeadline) && node.is_late(now) =>
            {
                node.core.handle(earlier, input.clone());
                node.feed(now, Input::Wake);
            }
            Input::Boot if self.is(Mistake::HighestWaits) && before == Role::NotStarted => {
                self.boot_waiting(node, now);
            }
            _ => node.feed(now, input.clone()),
        }
        match input {
            Input::Receive { from, message } => {
                self.received(node, now, from, message, before, elec);
            }
            Input::Wake => self.woken(node, before),
            Input::Boot if self.is(Mistake::BootsTwice) && before != Role::NotStarted => {
                node.say(above(node), Message::Election);
            }
            Input::Boot | Input::Suspect(_) | Input::Request(_) => {}
        }
        self.falsify(node);
    }

    fn poll(&self, node: &mut Wrapping) -> Option<Out> {
        if self.is(Mistake::Endless) && node.role() == Role::Waiting {
            return Some(Output::WakeAt(None));
        }
        node.outputs.pop_front()
    }

    fn status(&self, right: Status) -> Status {
        match right.role {
            Role::Waiting if self.is(Mistake::CompetesInsteadOfWaiting) => {
                Status { role: Role::Candidate, ..right }
            }
            _ => self.believes.unwrap_or(right),
        }
    }

    fn armed(&self, node: &Wrapping) -> Vec<(Timer, Time)> {
        let shown = node.core.armed().filter(|(timer, _)| Some(*timer) != self.hidden);
        shown.chain(self.extra).collect()
    }

    fn process(&self, right: spec::Process) -> spec::Process {
        self.believes.map_or(right, BullyMapping::abstraction)
    }

    fn memory(&self) -> String {
        let extra = self.extra.map(|(timer, _)| timer);
        format!("{:?}", (self.believes, extra, self.hidden, self.stale.is_some()))
    }
}

/// The mistakes that need more than leaving something out.
impl Wrong {
    fn received(
        &mut self,
        node: &mut Wrapping,
        now: Time,
        from: NodeId,
        message: Message,
        before: Role,
        elec: Option<Time>,
    ) {
        let me = node.id();
        let member = node.core.config().members.contains(from);
        match (self.mistake, message) {
            (Mistake::NoGuard, Message::Election)
                if from < me && matches!(before, Role::Candidate | Role::Waiting) =>
            {
                node.say(above(node), Message::Election);
            }
            (Mistake::AcceptsFromBelow, Message::Coordinator)
                if from < me && member && before != Role::NotStarted =>
            {
                self.follow(node, from, before);
            }
            (Mistake::FollowsLower, Message::Coordinator)
                if from > me && node.core.status().leader.is_some_and(|known| known > from) =>
            {
                self.follow(node, from, before);
            }
            (Mistake::AnswersBeforeBoot, Message::Election) if before == Role::NotStarted => {
                node.say([from], Message::Ok);
            }
            (Mistake::AnswersStrangers, Message::Election) if !member => {
                node.say([from], Message::Ok);
            }
            (Mistake::StaleElectionTimer, Message::Ok) if before == Role::Candidate => {
                self.stale = elec;
            }
            (Mistake::KeepsElectionTimer, Message::Ok) if before == Role::Candidate => {
                self.extra = elec.filter(|&due| due > now).map(|due| (Timer::Election, due));
            }
            _ => {}
        }
    }

    fn follow(&mut self, node: &mut Wrapping, leader: NodeId, from: Role) {
        let (to, leader) = (Role::Follower, Some(leader));
        self.believes = Some(Status { id: node.id(), role: to, leader });
        let told = Event::RoleChanged {
            from,
            to,
            leader,
            reason: Reason::new("claimed", "a node claims to lead"),
        };
        node.outputs = [Output::Event(told)].into();
    }

    fn woken(&mut self, node: &mut Wrapping, before: Role) {
        if self.is(Mistake::AnnouncesToAll) && before == Role::Candidate {
            node.say(above(node), Message::Coordinator);
        }
        if self.is(Mistake::OneHeartbeat) && before == Role::Leader {
            self.hidden = Some(Timer::Heartbeat);
        }
    }

    /// The election timer of a candidate that had its OK fires nevertheless.
    fn fires_stale(&mut self, node: &mut Wrapping, now: Time) {
        if self.stale.is_some_and(|due| due <= now) {
            self.stale = None;
            node.say(below(node), Message::Coordinator);
        }
    }

    fn boot_waiting(&mut self, node: &mut Wrapping, now: Time) {
        node.feed(now, Input::Boot);
        if node.role() != Role::Leader {
            return;
        }
        let status = Status { role: Role::Candidate, leader: None, ..node.core.status() };
        self.believes = Some(status);
        let told = Event::RoleChanged {
            from: Role::NotStarted,
            to: Role::Candidate,
            leader: None,
            reason: Reason::BOOTED,
        };
        self.hidden = Some(Timer::Heartbeat);
        let due = now + Duration::from_millis(300);
        self.extra = Some((Timer::Election, due));
        node.outputs = [Output::Event(told), Output::WakeAt(Some(due))].into();
    }

    /// The mistakes in what is put out, whatever it follows from.
    fn falsify(&mut self, node: &mut Wrapping) {
        let role = node.role();
        let outputs = &mut node.outputs;
        match self.mistake {
            Mistake::LeaderKeepsQuiet if role == Role::Leader && outputs.iter().any(is_ok) => {
                outputs.retain(|o| !is_claim(o));
            }
            Mistake::NeverWakes => outputs.retain(|o| !matches!(o, Output::WakeAt(_))),
            Mistake::NoEvents => outputs.retain(|o| !matches!(o, Output::Event(_))),
            Mistake::CompetesInsteadOfWaiting if role == Role::Waiting => {
                outputs.retain(|o| !matches!(o, Output::Event(_)));
            }
            Mistake::OkLast if outputs.front().is_some_and(is_ok) => node.send_first_last(),
            Mistake::EventFirst => {
                outputs.make_contiguous().sort_by_key(|o| !matches!(o, Output::Event(_)));
            }
            Mistake::WakesLate => node.wake_late(),
            Mistake::WakesTwice => {
                if let Some(last @ Output::WakeAt(_)) = outputs.back().cloned() {
                    outputs.push_back(last);
                }
            }
            Mistake::NoTCoord if role == Role::Waiting => {
                self.hidden = Some(Timer::Coordinator);
                outputs.retain(|o| !matches!(o, Output::WakeAt(_)));
                outputs.push_back(Output::WakeAt(None));
            }
            Mistake::NoTCoord => self.hidden = None,
            _ => {}
        }
    }
}

fn above(node: &Wrapping) -> Vec<NodeId> {
    node.core.config().members.above(node.id()).to_vec()
}

fn below(node: &Wrapping) -> Vec<NodeId> {
    node.core.config().members.below(node.id()).to_vec()
}

fn is_claim(output: &Out) -> bool {
    matches!(output, Output::Send { message: Message::Coordinator, .. })
}

fn is_ok(output: &Out) -> bool {
    matches!(output, Output::Send { message: Message::Ok, .. })
}

//! The invitation algorithm: groups that find each other merge into one.
//!
//! Every node belongs to one group, which one node coordinates. A coordinator looks for other
//! coordinators and invites them, with their members, into a new group of its own. Whoever is
//! alone is a group of one.
//!
//! Where each rule comes from: all are of H. Garcia-Molina, *Elections in a Distributed Computing
//! System*, IEEE Transactions on Computers C-31(1), 1982, the algorithm for systems in which messages
//! are late or lost and nodes pause. What the paper does by calls is done by messages here:
//!
//! - **A call that returns "no" is a message that is not answered.** The caller does the same after
//!   its time-out.
//! - **The task** that a coordinator hands out is the list of those who take part; what they do is
//!   the embedding program's business.
//! - **The number of the last group is durable before anybody hears of it**, so that no number names
//!   two groups. The paper keeps it in what it calls safe storage. Without this, a node that comes
//!   back gives a number again that others still go by.
//! - **The delay before a merge** is one [`Timing::delay`] for each member that stands between the
//!   node and the highest coordinator it has found. Without it, two coordinators that look for each
//!   other at the same time invite each other for ever.
//!
//! # What it does not promise
//!
//! One leader. There is one for each group, and there are as many groups as the network has parts;
//! in the end, where everybody hears everybody, one. Where hearing is not transitive, a node
//! between two coordinators that do not hear each other belongs to one of them, and nothing is
//! promised of the other.

use std::collections::VecDeque;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{
    ConfigError, Event, Ignored, Input, NodeId, Output, Protocol, Reason, Role, Status, Time,
    Timers,
};

mod config;
mod roster;

pub use config::{Config, Durable, Timing};
pub use roster::Roster;

/// The name of a group, which no other group ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupNumber {
    /// Who formed it, and coordinates it.
    pub coordinator: NodeId,
    /// Which of that node's groups it is, from 1.
    pub count: u64,
}

/// What nodes say to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To all: "Do you coordinate a group?"
    AreYouCoordinator,
    /// The answer, if so.
    IAm,
    /// To coordinators, and by them to their members: "Join this group."
    Invitation(GroupNumber),
    /// To the group's coordinator: "I have joined."
    Accept(GroupNumber),
    /// To the members: "These take part. Begin."
    Ready(GroupNumber, Roster),
    /// The answer to `Ready`, whatever came of it.
    Done(GroupNumber),
    /// To the coordinator: "Do I belong to your group?"
    AreYouThere(GroupNumber),
    /// The answer, if so.
    Here(GroupNumber),
}

/// What a node waits for. It always waits for exactly one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// Coordinator: until it looks for others again.
    Check,
    /// Coordinator: for the answers of other coordinators.
    Answers,
    /// Coordinator: for a higher one to merge first.
    Delay,
    /// Inviting: for acceptances.
    Accepts,
    /// Handing out the task: for those who have it to say so.
    Ready,
    /// Member: for a sign of its coordinator.
    Silence,
    /// Member: for the coordinator's answer.
    There,
}

impl Timer {
    /// Every timer, in the order of definition.
    pub const ALL: [Self; 7] = [
        Self::Check,
        Self::Answers,
        Self::Delay,
        Self::Accepts,
        Self::Ready,
        Self::Silence,
        Self::There,
    ];
}

/// What a node is doing, and what it has to remember for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// It takes no part.
    NotStarted,
    /// It coordinates a group that works.
    Coordinator {
        /// The other members.
        members: Roster,
        /// Who takes part.
        task: Roster,
        /// The coordinators that it has found since it looked for others.
        found: Roster,
        /// How many delays it still leaves to a higher one.
        delays: u16,
    },
    /// It has invited others.
    Inviting {
        /// Who has accepted.
        accepted: Roster,
    },
    /// It hands out the task.
    HandingOut {
        /// The other members.
        members: Roster,
        /// Those of them who have not said that they have it.
        missing: Roster,
    },
    /// It has accepted an invitation and waits for the task.
    Joining,
    /// It works in a group that another coordinates.
    Member {
        /// Who takes part.
        task: Roster,
    },
}

impl State {
    fn role(&self) -> Role {
        match self {
            Self::NotStarted => Role::NotStarted,
            Self::Coordinator { .. } => Role::Leader,
            Self::Inviting { .. } | Self::HandingOut { .. } => Role::Candidate,
            Self::Joining => Role::Waiting,
            Self::Member { .. } => Role::Follower,
        }
    }
}

/// One node of the invitation algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Invitation {
    config: Config,
    state: State,
    /// Its group; none before it has booted.
    group: Option<GroupNumber>,
    timers: Timers<Timer, 7>,
    /// The deadline that the embedding program was last told.
    announced: Option<Time>,
    persist: Option<Durable>,
    sends: VecDeque<(NodeId, Message)>,
    events: VecDeque<Event>,
}

/// Finding others and merging with them.
impl Invitation {
    /// A coordinator asks everybody whether they coordinate a group, and collects the answers.
    fn look_for_others(&mut self, now: Time) {
        if let State::Coordinator { found, .. } = &mut self.state {
            *found = Roster::EMPTY;
            let (me, everybody) = (self.config.id, self.config.members.clone());
            for to in everybody.iter().filter(|&to| to != me) {
                self.send(to, Message::AreYouCoordinator);
            }
            self.arm(now, Timer::Answers);
        }
    }

    /// Only a coordinator that is not busy with its group says that it is one.
    fn on_are_you_coordinator(&mut self, from: NodeId) {
        if matches!(self.state, State::Coordinator { .. }) {
            self.send(from, Message::IAm);
        }
    }

    /// An answer counts while answers are waited for.
    fn on_i_am(&mut self, from: NodeId) {
        let waits = self.waits_for(Timer::Answers);
        if let State::Coordinator { found, .. } = &mut self.state
            && waits
        {
            found.add(&self.config.members, from);
        }
    }

    /// The answers are in. Whoever found nobody looks again later; whoever found a higher one
    /// leaves it one delay for each rank between to act first; anybody else merges.
    fn on_answers(&mut self, now: Time) {
        let State::Coordinator { found, delays, .. } = &mut self.state else { return };
        let members = &self.config.members;
        let Some(highest) = found.iter(members).last() else {
            return self.arm(now, Timer::Check);
        };
        let (above, mine) = (members.below(highest).len(), members.below(self.config.id).len());
        *delays = u16::try_from(above.saturating_sub(mine)).unwrap_or(u16::MAX);
        self.wait_or_merge(now);
    }

    /// One delay has passed, and no invitation has come.
    fn on_delay(&mut self, now: Time) {
        if let State::Coordinator { delays, .. } = &mut self.state {
            *delays = delays.saturating_sub(1);
            self.wait_or_merge(now);
        }
    }

    fn wait_or_merge(&mut self, now: Time) {
        match self.state {
            State::Coordinator { delays: 0, .. } => self.merge(now),
            _ => self.arm(now, Timer::Delay),
        }
    }

    /// Work stops. The coordinators that were found and the members of the old group are invited
    /// into a new one.
    fn merge(&mut self, now: Time) {
        let State::Coordinator { members: old, found, .. } = self.state else { return };
        let group = self.name_group();
        self.become_inviting(now);
        let everybody = self.config.members.clone();
        let invited = |&to: &NodeId| old.contains(&everybody, to) || found.contains(&everybody, to);
        for to in everybody.iter().filter(invited) {
            self.send(to, Message::Invitation(group));
        }
    }

    /// Whoever works leaves its group for the new one; a coordinator sends its members after it,
    /// but not the one who invites, whom it may still count among them. Whoever is busy with
    /// forming a group does nothing.
    fn on_invitation(&mut self, now: Time, group: GroupNumber) {
        let everybody = self.config.members.clone();
        match self.state {
            State::Coordinator { members, .. } => {
                for to in members.iter(&everybody).filter(|&to| to != group.coordinator) {
                    self.send(to, Message::Invitation(group));
                }
            }
            State::Member { .. } => {}
            _ => return,
        }
        self.group = Some(group);
        self.become_joining(now);
        self.send(group.coordinator, Message::Accept(group));
    }

    /// Whoever accepts while acceptances are waited for is a member.
    fn on_accept(&mut self, from: NodeId, group: GroupNumber) {
        if let State::Inviting { accepted } = &mut self.state
            && self.group == Some(group)
        {
            accepted.add(&self.config.members, from);
        }
    }

    /// No more acceptances: the members are known, and are told to begin.
    fn on_accepts(&mut self, now: Time) {
        let (State::Inviting { accepted: members }, Some(group)) = (self.state, self.group) else {
            return;
        };
        if members.is_empty() {
            return self.become_coordinator(now, Roster::EMPTY, Reason::GroupFormed);
        }
        self.change(State::HandingOut { members, missing: members }, Reason::GroupFormed);
        let everybody = self.config.members.clone();
        for to in members.iter(&everybody) {
            self.send(to, Message::Ready(group, self.with_me(members)));
        }
        self.arm(now, Timer::Ready);
    }

    /// Whoever waits for this task begins to work on it. The answer says only that it arrived.
    fn on_ready(&mut self, from: NodeId, group: GroupNumber, task: Roster) {
        if self.state == State::Joining && self.group == Some(group) {
            self.become_member(task);
        }
        self.send(from, Message::Done(group));
    }

    /// When all have the task, the coordinator works as well.
    fn on_done(&mut self, now: Time, from: NodeId, group: GroupNumber) {
        if let State::HandingOut { members, missing } = &mut self.state
            && self.group == Some(group)
        {
            let members = *members;
            missing.remove(&self.config.members, from);
            if missing.is_empty() {
                self.become_coordinator(now, members, Reason::GroupFormed);
            }
        }
    }
}

/// Watching the coordinator, and starting anew.
impl Invitation {
    /// A member that has not heard of its coordinator for long asks whether it still belongs.
    fn on_silence(&mut self, now: Time) {
        if let Some(group) = self.group {
            self.send(group.coordinator, Message::AreYouThere(group));
            self.arm(now, Timer::There);
        }
    }

    /// A coordinator answers those that it counts among its members.
    fn on_are_you_there(&mut self, from: NodeId, group: GroupNumber) {
        let members = match self.state {
            State::Coordinator { members, .. } | State::HandingOut { members, .. } => members,
            State::Inviting { accepted } => accepted,
            State::NotStarted | State::Joining | State::Member { .. } => return,
        };
        if self.group == Some(group) && members.contains(&self.config.members, from) {
            self.send(from, Message::Here(group));
        }
    }

    /// All is well.
    fn on_here(&mut self, now: Time, group: GroupNumber) {
        if self.waits_for(Timer::There) && self.group == Some(group) {
            self.timers.cancel(Timer::There);
            self.arm(now, Timer::Silence);
        }
    }

    /// Whoever starts, or has lost its group, is a group of its own.
    fn start_anew(&mut self, now: Time, reason: Reason) {
        self.name_group();
        self.become_coordinator(now, Roster::EMPTY, reason);
    }

    /// A name that no group has had. It is durable before anything that is sent from here on.
    fn name_group(&mut self) -> GroupNumber {
        let count = self.config.durable.groups.saturating_add(1);
        self.config.durable.groups = count;
        self.persist = Some(self.config.durable);
        let group = GroupNumber { coordinator: self.config.id, count };
        self.group = Some(group);
        group
    }
}

/// The changes of role. Each asserts where it may come from: no input can make these fail, only a
/// mistake in this file, and then stopping is better than two groups with one name.
impl Invitation {
    fn become_inviting(&mut self, now: Time) {
        assert!(matches!(self.state, State::Coordinator { .. }));
        self.change(State::Inviting { accepted: Roster::EMPTY }, Reason::Found);
        self.arm(now, Timer::Accepts);
    }

    fn become_joining(&mut self, now: Time) {
        assert!(matches!(self.state, State::Coordinator { .. } | State::Member { .. }));
        self.change(State::Joining, Reason::Invited);
        self.arm(now, Timer::Silence);
    }

    /// Its timer keeps running: whether the coordinator is there is a question as before.
    fn become_member(&mut self, task: Roster) {
        assert_eq!(self.state, State::Joining);
        self.tell(State::Member { task }, Reason::GroupFormed);
    }

    fn become_coordinator(&mut self, now: Time, members: Roster, reason: Reason) {
        assert!(!matches!(self.state, State::Coordinator { .. }));
        let (task, found) = (self.with_me(members), Roster::EMPTY);
        self.change(State::Coordinator { members, task, found, delays: 0 }, reason);
        self.arm(now, Timer::Check);
    }

    /// A new state waits for nothing of the old one.
    fn change(&mut self, to: State, reason: Reason) {
        self.timers.cancel_all();
        self.tell(to, reason);
    }

    /// The only place where one state becomes another, and where that is told.
    fn tell(&mut self, to: State, reason: Reason) {
        let before = self.status();
        self.state = to;
        let after = self.status();
        if (before.role, before.leader) != (after.role, after.leader) {
            let (from, Status { role: to, leader, .. }) = (before.role, after);
            self.events.push_back(Event::RoleChanged { from, to, leader, reason });
        }
    }
}

impl Invitation {
    /// What it is doing.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Its group; none before it has booted.
    #[must_use]
    pub fn group(&self) -> Option<GroupNumber> {
        self.group
    }

    /// How many groups it has formed, in this life and in earlier ones.
    #[must_use]
    pub fn formed(&self) -> u64 {
        self.config.durable.groups
    }

    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, now: Time, from: NodeId, message: Message) {
        if let Err(cause) = self.credible(from, message) {
            return self.events.push_back(Event::Ignored { from, cause });
        }
        match message {
            Message::AreYouCoordinator => self.on_are_you_coordinator(from),
            Message::IAm => self.on_i_am(from),
            Message::Invitation(group) => self.on_invitation(now, group),
            Message::Accept(group) => self.on_accept(from, group),
            Message::Ready(group, task) => self.on_ready(from, group, task),
            Message::Done(group) => self.on_done(now, from, group),
            Message::AreYouThere(group) => self.on_are_you_there(from, group),
            Message::Here(group) => self.on_here(now, group),
        }
    }

    /// Who speaks of a group is its coordinator, speaks to it, or passes an invitation on.
    fn credible(&self, from: NodeId, message: Message) -> Result<(), Ignored> {
        let Config { id: me, members, .. } = &self.config;
        if from == *me {
            return Err(Ignored::OwnId);
        }
        if !members.contains(from) {
            return Err(Ignored::UnknownSender);
        }
        let speaks = match message {
            Message::AreYouCoordinator | Message::IAm => true,
            Message::Invitation(group) => {
                group.coordinator != *me && members.contains(group.coordinator)
            }
            Message::Ready(group, task) => group.coordinator == from && task.fits(members),
            Message::Here(group) => group.coordinator == from,
            Message::Accept(group) | Message::Done(group) | Message::AreYouThere(group) => {
                group.coordinator == *me
            }
        };
        if speaks { Ok(()) } else { Err(Ignored::WrongGroup) }
    }

    /// Deadlines come before whatever else happens, each at most once.
    fn expire(&mut self, now: Time) {
        for ticket in self.timers.due(now) {
            if self.timers.fires(ticket) {
                self.on_expired(now, ticket.timer);
            }
        }
    }

    fn on_expired(&mut self, now: Time, timer: Timer) {
        match timer {
            Timer::Check => self.look_for_others(now),
            Timer::Answers => self.on_answers(now),
            Timer::Delay => self.on_delay(now),
            Timer::Accepts => self.on_accepts(now),
            Timer::Ready => self.start_anew(now, Reason::MemberSilent),
            Timer::Silence => self.on_silence(now),
            Timer::There => self.start_anew(now, Reason::LeaderSilent),
        }
    }

    fn with_me(&self, mut members: Roster) -> Roster {
        members.add(&self.config.members, self.config.id);
        members
    }

    fn waits_for(&self, timer: Timer) -> bool {
        self.timers.armed().any(|(armed, _)| armed == timer)
    }

    fn send(&mut self, to: NodeId, message: Message) {
        self.sends.push_back((to, message));
    }

    fn arm(&mut self, now: Time, timer: Timer) {
        self.timers.arm(timer, now + self.period(timer));
    }

    fn period(&self, timer: Timer) -> Duration {
        let timing = &self.config.timing;
        match timer {
            Timer::Check => timing.check,
            Timer::Answers | Timer::Ready | Timer::There => timing.answer,
            Timer::Delay => timing.delay,
            Timer::Accepts => timing.accept,
            Timer::Silence => timing.silence,
        }
    }
}

impl Protocol for Invitation {
    const NAME: &'static str = "invitation";
    type Config = Config;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    /// The algorithm draws no random numbers: the seed changes nothing.
    fn new(config: Config, _seed: u64) -> Result<Self, ConfigError> {
        config.timing.validate()?;
        if !config.members.contains(config.id) {
            let Config { id: node, members, .. } = config;
            return Err(ConfigError::NotAMember { node, members });
        }
        Ok(Self {
            config,
            state: State::NotStarted,
            group: None,
            timers: Timers::new(Timer::ALL),
            announced: None,
            persist: None,
            sends: VecDeque::new(),
            events: VecDeque::new(),
        })
    }

    fn handle(&mut self, now: Time, input: Input<Message>) {
        self.expire(now);
        let started = self.state != State::NotStarted;
        match input {
            Input::Boot if !started => self.start_anew(now, Reason::Booted),
            Input::Receive { from, message } if started => self.receive(now, from, message),
            Input::Boot | Input::Receive { .. } | Input::Wake | Input::Suspect(_) => {}
        }
    }

    fn poll(&mut self) -> Option<Output<Durable, Message>> {
        if let Some(durable) = self.persist.take() {
            return Some(Output::Persist(durable));
        }
        if let Some((to, message)) = self.sends.pop_front() {
            return Some(Output::Send { to, message });
        }
        if let Some(event) = self.events.pop_front() {
            return Some(Output::Event(event));
        }
        let next = self.timers.next_deadline();
        if next == self.announced {
            return None;
        }
        self.announced = next;
        Some(Output::WakeAt(next))
    }

    fn status(&self) -> Status {
        let id = self.config.id;
        let leader = match self.state {
            State::Coordinator { .. } => Some(id),
            State::Member { .. } => self.group.map(|group| group.coordinator),
            State::NotStarted
            | State::Inviting { .. }
            | State::HandingOut { .. }
            | State::Joining => None,
        };
        Status { id, role: self.state.role(), leader }
    }

    fn armed(&self) -> impl Iterator<Item = (Timer, Time)> {
        self.timers.armed()
    }
}

#[cfg(test)]
mod tests;

//! The invitation algorithm: groups that find each other merge into one.
//!
//! Every node belongs to one group, which one node coordinates. A coordinator looks for other
//! coordinators and invites them, with their members, into a new group of its own. A node that is
//! alone is a group of one.
//!
//! Where each rule comes from: all are of H. Garcia-Molina, *Elections in a Distributed Computing
//! System*, IEEE Transactions on Computers C-31(1), 1982, the algorithm for systems in which
//! messages are late or lost and nodes pause. What the paper does by calls is done by messages
//! here:
//!
//! - **A call that returns "no" is a message that is not answered.** The caller does the same after
//!   its time-out.
//! - **The task** that a coordinator hands out is the list of those who take part; what they do is
//!   the embedding program's business.
//! - **The number of the last group is durable before any other node hears of it**, so that no
//!   number names two groups. The paper keeps it in what it calls safe storage. Without this, a
//!   node that recovers gives a number again that others still go by.
//! - **The delay before a merge** is one [`Timing::delay`] for each member that stands between the
//!   node and the highest coordinator it has found. Without it, two coordinators that look for each
//!   other at the same time invite each other for ever.
//!
//! # What it does not promise
//!
//! One leader. There is one for each group, and there are as many groups as the network has parts;
//! in the end, where all hear each other, one. Where hearing is not transitive, a node
//! between two coordinators that do not hear each other belongs to one of them, and nothing is
//! promised of the other.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::settings::{Durations, Relation, check};
use super::{Belief, Context, Core, DurationError, Members, NodeId, Reason, Role, SettingsError};

/// The name of a group, which no other group ever has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupNumber {
    /// The node that formed the group, and coordinates it.
    pub coordinator: NodeId,
    /// The number of the group among that node's groups, from 1.
    pub count: u64,
}

/// The messages that nodes send to each other.
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

/// The timers by which a node waits. It always waits for exactly one thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The timer of a coordinator, until it looks for others again.
    Check,
    /// The timer of a coordinator for the answers of other coordinators.
    Answers,
    /// The timer of a coordinator for a higher one to merge first.
    Delay,
    /// The timer of an inviting node for acceptances.
    Accepts,
    /// The timer of a node that hands out the task, for those who have it to say so.
    Ready,
    /// The timer of a member for a sign of its coordinator.
    Watch,
    /// The timer of a member for the coordinator's answer.
    There,
}

/// The configuration of one node.
pub type Config = super::Config<Timing>;

/// The state that must survive a crash: a group number that was used must not be used again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The number of groups that the node has formed.
    pub groups: u64,
}

/// The durations of a node's waits. `Tm` is the largest delay of a message, `Tp` the largest time
/// that a node needs to answer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The interval at which a coordinator looks for others.
    pub check: Duration,
    /// The time to wait for the answer to a question: more than `2·Tm + Tp`.
    pub answer: Duration,
    /// The time to wait for acceptances: more than `3·Tm + 2·Tp`, for an invitation may be passed
    /// on once.
    pub accept: Duration,
    /// The time for which to leave a higher coordinator the initiative, for each rank between. More
    /// than `Tm`, or two may go on inviting each other. With less than `accept + check + answer +
    /// 3·Tm` a lower one may merge first, which costs a merge more.
    pub delay: Duration,
    /// The time for which a member hears nothing of its coordinator before it asks.
    pub silence: Duration,
}

impl Timing {
    /// The durations for machines on one network.
    pub const DEFAULT: Self = Self {
        check: Duration::from_secs(1),
        answer: Duration::from_millis(300),
        accept: Duration::from_millis(450),
        delay: Duration::from_millis(400),
        silence: Duration::from_millis(500),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        let durations = Durations("invitation");
        let others = [("check", self.check), ("delay", self.delay), ("silence", self.silence)];
        durations.in_range(&[("answer", self.answer), ("accept", self.accept)])?;
        durations.in_range(&others)?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let (answer, accept) = (("answer", self.answer), ("accept", self.accept));
        let why = "an invitation is passed on once before it is accepted";
        vec![Durations("invitation").longer(accept, answer, why, self.answer * 3 / 2)]
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const FOUND: Reason = Reason::new("found", "another coordinator was found");
const INVITED: Reason = Reason::new("invited", "a coordinator invited the node");
const GROUP_FORMED: Reason = Reason::new("group_formed", "the group is formed");
const MEMBER_SILENT: Reason = Reason::new("member_silent", "a member did not answer");

/// The message is of a group that its sender cannot speak of.
const WRONG_GROUP: Reason =
    Reason::new("wrong_group", "no correct node with that id says this of that group");

/// The state of a node: what it is doing, and what it has to remember for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// The node coordinates a group that works.
    Coordinator {
        /// The other members.
        members: Roster,
        /// The nodes that take part.
        task: Roster,
        /// The coordinators that it has found since it looked for others.
        found: Roster,
        /// The number of delays that the node still leaves to a higher one.
        delays: u16,
    },
    /// The node has invited others.
    Inviting {
        /// The nodes that have accepted.
        accepted: Roster,
    },
    /// The node hands out the task.
    HandingOut {
        /// The other members.
        members: Roster,
        /// Those of them that have not said that they have it.
        missing: Roster,
    },
    /// The node has accepted an invitation and waits for the task.
    Joining,
    /// The node works in a group that another coordinates.
    Member {
        /// The nodes that take part.
        task: Roster,
    },
}

/// One node of the invitation algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Invitation {
    state: State,
    group: GroupNumber,
    durable: Durable,
}

/// Finding others and merging with them.
impl Invitation {
    /// A coordinator asks all others whether they coordinate a group, and collects the answers.
    fn look_for_others(&mut self, cx: &mut Context<'_, Self>) {
        if let State::Coordinator { found, .. } = &mut self.state {
            *found = Roster::EMPTY;
            let (me, all) = (cx.id(), &cx.config().members);
            for to in all.iter().filter(|&to| to != me) {
                cx.send(to, Message::AreYouCoordinator);
            }
            cx.arm(Timer::Answers);
        }
    }

    /// Only a coordinator that is not busy with its group says that it is one. Only such a
    /// coordinator asks, so the two are rivals.
    fn on_are_you_coordinator(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        if matches!(self.state, State::Coordinator { .. }) {
            cx.rival_heard(from);
            cx.send(from, Message::IAm);
        }
    }

    /// An answer counts while answers are waited for.
    fn on_i_am(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        let waits = cx.armed(Timer::Answers).is_some();
        if let State::Coordinator { found, .. } = &mut self.state
            && waits
        {
            found.add(&cx.config().members, from);
            cx.rival_heard(from);
        }
    }

    /// The answers are in. A node that found no other looks again later; one that found a
    /// higher one leaves it one delay for each rank between to act first; any other merges.
    fn on_answers(&mut self, cx: &mut Context<'_, Self>) {
        let State::Coordinator { found, delays, .. } = &mut self.state else { return };
        let members = &cx.config().members;
        let Some(highest) = found.iter(members).last() else {
            return cx.arm(Timer::Check);
        };
        let (above, mine) = (members.below(highest).len(), members.below(cx.id()).len());
        *delays = u16::try_from(above.saturating_sub(mine)).unwrap_or(u16::MAX);
        self.wait_or_merge(cx);
    }

    /// One delay has passed, and no invitation has come.
    fn on_delay(&mut self, cx: &mut Context<'_, Self>) {
        if let State::Coordinator { delays, .. } = &mut self.state {
            *delays = delays.saturating_sub(1);
            self.wait_or_merge(cx);
        }
    }

    fn wait_or_merge(&mut self, cx: &mut Context<'_, Self>) {
        match self.state {
            State::Coordinator { delays: 0, .. } => self.merge(cx),
            _ => cx.arm(Timer::Delay),
        }
    }

    /// Work stops. The coordinators that were found and the members of the old group are invited
    /// into a new one.
    fn merge(&mut self, cx: &mut Context<'_, Self>) {
        let State::Coordinator { members: old, found, .. } = self.state else { return };
        let group = self.name_group(cx);
        self.change(cx, State::Inviting { accepted: Roster::EMPTY }, FOUND);
        cx.arm(Timer::Accepts);
        let all = &cx.config().members;
        let invited = |&to: &NodeId| old.contains(all, to) || found.contains(all, to);
        for to in all.iter().filter(invited) {
            cx.send(to, Message::Invitation(group));
        }
    }

    /// A node at work leaves its group for the new one; a coordinator sends its members after it,
    /// but not the one that invites, which it may still count among them, and which has coordinated
    /// a group until it invited. A node that is busy with forming a group does nothing.
    fn on_invitation(&mut self, cx: &mut Context<'_, Self>, group: GroupNumber) {
        match self.state {
            State::Coordinator { members, .. } => {
                cx.rival_heard(group.coordinator);
                let all = &cx.config().members;
                for to in members.iter(all).filter(|&to| to != group.coordinator) {
                    cx.send(to, Message::Invitation(group));
                }
            }
            State::Member { .. } => {}
            _ => return,
        }
        self.group = group;
        self.change(cx, State::Joining, INVITED);
        cx.arm(Timer::Watch);
        cx.send(group.coordinator, Message::Accept(group));
    }

    /// A node that accepts while acceptances are waited for is a member.
    fn on_accept(&mut self, cx: &mut Context<'_, Self>, from: NodeId, group: GroupNumber) {
        if let State::Inviting { accepted } = &mut self.state
            && self.group == group
        {
            accepted.add(&cx.config().members, from);
        }
    }

    /// No more acceptances: the members are known, and are told to begin.
    fn on_accepts(&mut self, cx: &mut Context<'_, Self>) {
        let State::Inviting { accepted: members } = self.state else { return };
        if members.is_empty() {
            return self.coordinate(cx, Roster::EMPTY, GROUP_FORMED);
        }
        self.change(cx, State::HandingOut { members, missing: members }, GROUP_FORMED);
        let task = Self::with_me(cx, members);
        for to in members.iter(&cx.config().members) {
            cx.send(to, Message::Ready(self.group, task));
        }
        cx.arm(Timer::Ready);
    }

    /// A node that waits for this task begins to work on it. Its timer keeps running: whether the
    /// coordinator is there is a question as before. The answer says only that the task arrived.
    fn on_ready(
        &mut self,
        cx: &mut Context<'_, Self>,
        from: NodeId,
        group: GroupNumber,
        task: Roster,
    ) {
        if self.state == State::Joining && self.group == group {
            self.state = State::Member { task };
            cx.because(GROUP_FORMED);
        }
        cx.send(from, Message::Done(group));
    }

    /// When all have the task, the coordinator works as well.
    fn on_done(&mut self, cx: &mut Context<'_, Self>, from: NodeId, group: GroupNumber) {
        if let State::HandingOut { members, missing } = &mut self.state
            && self.group == group
        {
            let members = *members;
            missing.remove(&cx.config().members, from);
            if missing.is_empty() {
                self.coordinate(cx, members, GROUP_FORMED);
            }
        }
    }
}

/// Watching the coordinator, and starting anew.
impl Invitation {
    /// A member that has not heard of its coordinator for long asks whether it still belongs.
    fn on_silence(&mut self, cx: &mut Context<'_, Self>) {
        cx.send(self.group.coordinator, Message::AreYouThere(self.group));
        cx.arm(Timer::There);
    }

    /// A coordinator answers those that it counts among its members.
    fn on_are_you_there(&mut self, cx: &mut Context<'_, Self>, from: NodeId, group: GroupNumber) {
        let members = match self.state {
            State::Coordinator { members, .. } | State::HandingOut { members, .. } => members,
            State::Inviting { accepted } => accepted,
            State::Joining | State::Member { .. } => return,
        };
        if self.group == group && members.contains(&cx.config().members, from) {
            cx.send(from, Message::Here(group));
        }
    }

    /// All is well.
    fn on_here(&mut self, cx: &mut Context<'_, Self>, group: GroupNumber) {
        if cx.armed(Timer::There).is_some() && self.group == group {
            cx.cancel(Timer::There);
            cx.arm(Timer::Watch);
        }
    }

    /// A node that starts, or has lost its group, is a group of its own.
    fn start_anew(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        self.name_group(cx);
        self.coordinate(cx, Roster::EMPTY, reason);
    }

    /// A name that no group has had. It is durable before anything that is sent from here on.
    fn name_group(&mut self, cx: &mut Context<'_, Self>) -> GroupNumber {
        self.durable.groups = self.durable.groups.saturating_add(1);
        cx.persist(self.durable);
        self.group = GroupNumber { coordinator: cx.id(), count: self.durable.groups };
        self.group
    }

    fn coordinate(&mut self, cx: &mut Context<'_, Self>, members: Roster, reason: Reason) {
        let (task, found) = (Self::with_me(cx, members), Roster::EMPTY);
        self.change(cx, State::Coordinator { members, task, found, delays: 0 }, reason);
        cx.arm(Timer::Check);
    }

    /// A new state waits for nothing of the old one.
    fn change(&mut self, cx: &mut Context<'_, Self>, to: State, reason: Reason) {
        self.state = to;
        cx.cancel_all();
        cx.because(reason);
    }

    fn with_me(cx: &Context<'_, Self>, mut members: Roster) -> Roster {
        members.add(&cx.config().members, cx.id());
        members
    }

    /// Speaks of a group: its coordinator, a node that speaks to it, or one that passes an
    /// invitation on.
    fn is_credible(cx: &Context<'_, Self>, from: NodeId, message: Message) -> bool {
        let Config { id: me, members, .. } = cx.config();
        match message {
            Message::AreYouCoordinator | Message::IAm => true,
            Message::Invitation(group) => {
                group.coordinator != *me && members.contains(group.coordinator)
            }
            Message::Ready(group, task) => group.coordinator == from && task.fits(members),
            Message::Here(group) => group.coordinator == from,
            Message::Accept(group) | Message::Done(group) | Message::AreYouThere(group) => {
                group.coordinator == *me
            }
        }
    }
}

/// What a node tells of itself besides what it believes.
impl Invitation {
    /// Returns the state of the node.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the group of the node.
    #[must_use]
    pub fn group(&self) -> GroupNumber {
        self.group
    }

    /// Returns the number of groups that the node has formed, in this life and in earlier ones.
    #[must_use]
    pub fn formed(&self) -> u64 {
        self.durable.groups
    }
}

impl Core for Invitation {
    const NAME: &'static str = "invitation";
    const TIMERS: &'static [Timer] = &[
        Timer::Check,
        Timer::Answers,
        Timer::Delay,
        Timer::Accepts,
        Timer::Ready,
        Timer::Watch,
        Timer::There,
    ];
    type Config = Config;
    type Error = SettingsError;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Durable>) -> Result<(), SettingsError> {
        config.timing.validate()?;
        Ok(config.members.require(config.id)?)
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        match timer {
            Timer::Check => config.timing.check,
            Timer::Answers | Timer::Ready | Timer::There => config.timing.answer,
            Timer::Delay => config.timing.delay,
            Timer::Accepts => config.timing.accept,
            Timer::Watch => config.timing.silence,
        }
    }

    /// The time-out of a question: a later answer means nothing.
    fn message_lifetime(config: &Config) -> Duration {
        config.timing.answer
    }

    /// A member asks then.
    fn max_leader_silence(config: &Config) -> Duration {
        config.timing.silence
    }

    fn typical_election(config: &Config) -> Duration {
        let timing = &config.timing;
        timing.silence + timing.check + timing.delay + timing.answer + timing.accept
    }

    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted => false,
            Role::Leader => from != Role::Leader,
            Role::Candidate => from == Role::Leader,
            Role::Waiting => matches!(from, Role::Leader | Role::Follower),
            Role::Follower => from == Role::Waiting,
        }
    }

    fn boot(cx: &mut Context<'_, Self>, durable: Option<Durable>, _: u64) -> Self {
        let durable = durable.unwrap_or_default();
        let group = GroupNumber { coordinator: cx.id(), count: durable.groups };
        let mut node = Self { state: State::Joining, group, durable };
        node.start_anew(cx, Reason::BOOTED);
        node
    }

    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        if !Self::is_credible(cx, from, message) {
            return cx.ignore(from, WRONG_GROUP);
        }
        match message {
            Message::AreYouCoordinator => self.on_are_you_coordinator(cx, from),
            Message::IAm => self.on_i_am(cx, from),
            Message::Invitation(group) => self.on_invitation(cx, group),
            Message::Accept(group) => self.on_accept(cx, from, group),
            Message::Ready(group, task) => self.on_ready(cx, from, group, task),
            Message::Done(group) => self.on_done(cx, from, group),
            Message::AreYouThere(group) => self.on_are_you_there(cx, from, group),
            Message::Here(group) => self.on_here(cx, group),
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match timer {
            Timer::Check => self.look_for_others(cx),
            Timer::Answers => self.on_answers(cx),
            Timer::Delay => self.on_delay(cx),
            Timer::Accepts => self.on_accepts(cx),
            Timer::Ready => self.start_anew(cx, MEMBER_SILENT),
            Timer::Watch => self.on_silence(cx),
            Timer::There => self.start_anew(cx, Reason::LEADER_SILENT),
        }
    }

    fn belief(&self, config: &Config) -> Belief {
        let (role, leader) = match self.state {
            State::Coordinator { .. } => (Role::Leader, Some(config.id)),
            State::Inviting { .. } | State::HandingOut { .. } => (Role::Candidate, None),
            State::Joining => (Role::Waiting, None),
            State::Member { .. } => (Role::Follower, Some(self.group.coordinator)),
        };
        Belief { role, leader }
    }
}

/// A set of some of the configured members: one bit for each place in the list, which is ascending
/// and the same on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Roster([u64; 4]);

// Every configured member has its bit.
const _: () = assert!(Members::MAX <= 4 * 64);

impl Roster {
    /// The roster with no member.
    pub const EMPTY: Self = Self([0; 4]);

    fn bit(all: &Members, id: NodeId) -> Option<(usize, u64)> {
        all.contains(id).then(|| {
            let place = all.below(id).len();
            (place / 64, 1 << (place % 64))
        })
    }

    /// Adds a member to the roster; any other node is left out.
    pub fn add(&mut self, all: &Members, id: NodeId) {
        if let Some((word, bit)) = Self::bit(all, id) {
            self.0[word] |= bit;
        }
    }

    /// Removes a member from the roster.
    pub fn remove(&mut self, all: &Members, id: NodeId) {
        if let Some((word, bit)) = Self::bit(all, id) {
            self.0[word] &= !bit;
        }
    }

    /// Returns whether `id` is in the roster.
    #[must_use]
    pub fn contains(&self, all: &Members, id: NodeId) -> bool {
        Self::bit(all, id).is_some_and(|(word, bit)| self.0[word] & bit != 0)
    }

    /// Returns whether no member is in the roster.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::EMPTY
    }

    /// Returns the members in the roster, ascending.
    pub fn iter<'a>(&'a self, all: &'a Members) -> impl Iterator<Item = NodeId> + 'a {
        all.iter().filter(|&id| self.contains(all, id))
    }

    /// Returns whether every bit is that of a member.
    #[must_use]
    pub fn fits(&self, all: &Members) -> bool {
        let bits: u32 = self.0.iter().map(|word| word.count_ones()).sum();
        usize::try_from(bits).is_ok_and(|bits| bits == self.iter(all).count())
    }

    /// Returns a roster of these members, and no others.
    pub fn of(all: &Members, ids: impl IntoIterator<Item = NodeId>) -> Self {
        let mut roster = Self::EMPTY;
        for id in ids {
            roster.add(all, id);
        }
        roster
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::MemberError;
    use crate::protocol::stories::{Nodes, Scripted, id, refused, unfit};
    use crate::stories::{self, written};

    impl Scripted for Invitation {
        fn configured(id: NodeId, members: Members) -> Config {
            Config { id, members, timing: Timing::DEFAULT }
        }

        fn answer(&self, question: &str) -> Option<String> {
            match question {
                "group" => Some(written(&self.group(), 0)),
                "formed" => Some(self.formed().to_string()),
                _ => None,
            }
        }
    }

    #[test]
    fn stories_go_as_they_are_told() {
        stories::run::<Nodes<Invitation>>("src/protocol/invitation/testdata");
    }

    #[test]
    fn a_configuration_that_contradicts_itself_is_refused() {
        let stranger = refused::<Invitation>(|config| config.id = id(9));
        assert!(matches!(stranger, SettingsError::Members(MemberError::NotAMember { .. })));
        let unfit =
            |change: fn(&mut Timing)| unfit::<Invitation>(|config| change(&mut config.timing));
        assert_eq!(unfit(|t| t.delay = Duration::ZERO), ["delay"]);
        assert_eq!(unfit(|t| t.check = Duration::from_secs(24 * 60 * 60 + 1)), ["check"]);
        assert_eq!(unfit(|t| t.accept = t.answer), ["accept", "answer"]);
    }

    #[test]
    fn a_roster_holds_members_only_and_tells_them_in_order() {
        let all = Members::new((1..=255).map(|number| id(number * 7))).expect("valid");
        let some = [id(255 * 7), id(7), id(65 * 7), id(3)];
        let mut roster = Roster::of(&all, some);
        assert_eq!(Vec::from_iter(roster.iter(&all)), [id(7), id(65 * 7), id(255 * 7)]);
        assert!(roster.fits(&all));
        roster.remove(&all, id(7));
        roster.remove(&all, id(8));
        assert!(!roster.contains(&all, id(7)) && roster.contains(&all, id(65 * 7)));
        assert!(!roster.is_empty());
    }

    #[test]
    fn a_roster_of_a_larger_cluster_does_not_fit() {
        let large = Members::new((1..=255).map(id)).expect("valid");
        let small = Members::new((1..=3).map(id)).expect("valid");
        let roster = Roster::of(&large, [id(1), id(200)]);
        assert!(roster.fits(&large) && !roster.fits(&small));
        assert_eq!(Vec::from_iter(roster.iter(&small)), [id(1)]);
    }
}

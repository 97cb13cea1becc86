//! The bully algorithm as it was published in 1982, with its calls, its states, and a check that
//! repairs more.
//!
//! The highest node that is up leads. A node that wants to lead asks every higher one whether it is
//! there; if none is, it *halts* every lower one, tells those that it is their coordinator, and
//! hands each of them the task. It makes one call at a time and waits for the answer before the
//! next.
//!
//! Where each rule comes from:
//!
//! - **States, calls, procedures; one call at a time; a call that is not answered in time means
//!   that the node is down; a node answers at once, even in the middle of its own election; a node
//!   that is halted stops everything that it is doing; only the last node that halted this one may
//!   become its coordinator, and only its coordinator hands it a task:** H. Garcia-Molina,
//!   *Elections in a Distributed Computing System*, IEEE Transactions on Computers C-31(1), 1982.
//! - **The coordinator's check asks for the task:** ours. The paper asks whether a node works at
//!   all; then a node that works for another coordinator is never found out.
//! - **A coordinator whose reorganization broke down starts an election when nothing comes of the
//!   one that it left to a higher node:** ours. By the paper's time-out it asks its coordinator
//!   whether it is there; it is its own coordinator.
//! - **A node that restarts waits for as long as a call may take before its first call:** ours.
//!   What it called before it crashed may still be answered. In the paper a call and its answer are
//!   one; here they are two messages, and an answer does not say to which of two equal calls it
//!   belongs.
//! - **A task is its coordinator's id and a number that is durable before it is told:** ours. The
//!   paper says only that the coordinator finds a new task. So no task is ever handed out twice.
//!
//! # What it promises, and what it does not
//!
//! As long as time-outs are never wrong, no two nodes that know a coordinator know different ones:
//! a new coordinator is not obeyed before all others that are up have been stopped. That costs
//! time, since all are called in turn. If a time-out is wrong (a pause, a cut link, a lost
//! message), two nodes may lead until the check of the higher one finds out. There is no quorum.

use std::num::NonZeroU64;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::settings::{Durations, Relation, check};
use super::{Belief, Context, Core, DurationError, NodeId, Reason, Role, SettingsError};

/// The messages that nodes send to each other. The first five are calls, the others their answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To a higher node: "Are you there?"
    AreYouThere,
    /// From a coordinator: "Are you at work?"
    AreYouNormal,
    /// To a lower node: "I am about to lead. Stop."
    Halt,
    /// To a node that was halted: "I am your coordinator."
    NewCoordinator,
    /// To a node that knows its coordinator: "Work on my task of this number."
    Ready(u64),
    /// "I am there."
    Here,
    /// "I am at work, on this."
    Normal(Task),
    /// "I am not at work."
    NotNormal,
    /// "I have stopped."
    Halted,
    /// "I have heard who coordinates."
    Noted,
    /// "I have heard the task."
    Started,
}

/// A task that a node works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Task {
    /// The coordinator that handed it out.
    pub coordinator: NodeId,
    /// The number of the task among this coordinator's tasks; a later one has a larger number.
    pub number: u64,
}

/// The timers by which a node waits. Only one timer is armed at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The timer for the answer to the call that the node made.
    Answer,
    /// The timer that runs until no answer can come to what the node called before it restarted.
    Recovery,
    /// The timer for a sign of the node's coordinator.
    Silence,
    /// The timer for a higher node to halt this one, or for the one that halted it to go on.
    Election,
    /// The timer of a coordinator, until its next check is due.
    Check,
}

/// The phase of a node, in the paper's states; the paper calls a node that has just restarted
/// *down* as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// The node has booted, and was not in an election since.
    Down,
    /// The node was halted, by another node or by itself.
    Election,
    /// The node knows its coordinator and waits for the task.
    Reorganization,
    /// The node is at work.
    Normal,
}

/// The point at which a node's own procedure stands: which call it waits to be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Activity {
    /// Restart: it has not called any node yet.
    Restart,
    /// Time-out: is the coordinator there?
    Probe(NodeId),
    /// Election: is this higher node there?
    Ask(NodeId),
    /// Election: this lower node shall stop.
    Halt(NodeId),
    /// Election: this node shall know its coordinator.
    Announce(NodeId),
    /// Election: this node shall have the task.
    HandOut(NodeId),
    /// Check: what does this node work on?
    Check(NodeId),
}

/// The configuration of one node.
pub type Config = super::Config<Timing>;

/// The number of tasks that a node has computed, in all its lives. Keep it, or two tasks may be
/// taken for one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Computed {
    count: u64,
    round: NonZeroU64,
}

impl Computed {
    /// Returns a count of this many tasks. At an election in every nanosecond there are numbers for
    /// 584 years.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self::in_rounds(count, NonZeroU64::MAX)
    }

    /// Returns a count of this many tasks, counted from 0 up to `round`, which is 0 again: for
    /// tasks whose number has to fit a narrow field. A task can then be taken for one that is a
    /// whole round older.
    #[must_use]
    pub const fn in_rounds(count: u64, round: NonZeroU64) -> Self {
        Self { count: count % round.get(), round }
    }

    /// Returns the number of tasks, which is the number of the last task.
    #[must_use]
    pub const fn count(self) -> u64 {
        self.count
    }

    fn next(self) -> Self {
        Self::in_rounds(self.count.saturating_add(1), self.round)
    }
}

/// None yet.
impl Default for Computed {
    fn default() -> Self {
        Self::new(0)
    }
}

/// The durations of a node's waits.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs for one, `call`
/// must exceed `2·Tm + 2·Tp`, or a node is taken for dead that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The time that a node waits for the answer to a call, and after a restart before its first
    /// call.
    pub call: Duration,
    /// The time for which a node hears nothing of its coordinator before it asks whether it is
    /// there.
    pub silence: Duration,
    /// The time that a node waits for the election of a higher node to reach it. Too short is a
    /// nuisance, not a danger.
    pub election: Duration,
    /// The interval at which a coordinator checks.
    pub check: Duration,
}

impl Timing {
    /// The durations for machines on one network: a handful of nodes has a new leader within about
    /// two seconds.
    pub const DEFAULT: Self = Self {
        call: Duration::from_millis(200),
        silence: Duration::from_millis(1_000),
        election: Duration::from_millis(2_000),
        check: Duration::from_millis(250),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        Durations("garcia-molina").in_range(&self.named())?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let ([call, silence, election, check], durations) =
            (self.named(), Durations("garcia-molina"));
        let old = "an old answer could pass for a new one";
        let seldom = "a coordinator is heard only when it checks";
        vec![
            durations.longer(silence, call, old, self.call * 4),
            durations.longer(election, call, old, self.call * 4),
            durations.longer(silence, check, seldom, self.check * 4),
        ]
    }

    fn named(&self) -> [(&'static str, Duration); 4] {
        let Self { call, silence, election, check } = *self;
        [("call", call), ("silence", silence), ("election", election), ("check", check)]
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const ANSWERED: Reason = Reason::new("answered", "a higher node answered");
const UNANSWERED: Reason = Reason::new("unanswered", "no higher node answered in time");
const HALTED: Reason = Reason::new("halted", "a higher node is about to lead");
const CHECK_FAILED: Reason = Reason::new("check_failed", "another node does not follow this one");

/// One node of the bully algorithm of 1982. It loses all of this in a crash but `computed`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct GarciaMolina {
    phase: Phase,
    /// Means something while the node reorganizes or is at work.
    coordinator: Option<NodeId>,
    halted_by: Option<NodeId>,
    task: Option<Task>,
    /// Those that this node has halted in its own election, in the order in which it did.
    halted: Vec<NodeId>,
    /// What it is doing of its own accord, if anything.
    activity: Option<Activity>,
    computed: Computed,
}

/// What a node answers, at once and whatever it is doing.
impl GarciaMolina {
    /// A node that is asked how it is tells its task, if it is at work. Only a coordinator at work
    /// asks that, so if this node is one, the other is its rival.
    fn on_are_you_normal(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        if self.leads(cx) {
            cx.rival_heard(from);
        }
        let answer = match (self.phase, self.task) {
            (Phase::Normal, Some(task)) => Message::Normal(task),
            _ => Message::NotNormal,
        };
        cx.send(from, answer);
    }

    /// A higher node is about to lead: this one stops everything, its own election too.
    fn on_halt(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        self.stop(cx);
        self.phase = Phase::Election;
        self.halted_by = Some(from);
        cx.send(from, Message::Halted);
        self.rest(cx);
        cx.because(HALTED);
    }

    /// The node that halted this one last leads it now. Any other is late.
    fn on_new_coordinator(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        cx.send(from, Message::Noted);
        if self.phase == Phase::Election && self.halted_by == Some(from) {
            assert!(from > cx.id(), "only higher nodes halt");
            self.coordinator = Some(from);
            self.phase = Phase::Reorganization;
            self.rest(cx);
            cx.because(Reason::CLAIMED);
        }
    }

    /// The coordinator of this node hands it its task: it is at work.
    fn on_ready(&mut self, cx: &mut Context<'_, Self>, from: NodeId, number: u64) {
        cx.send(from, Message::Started);
        if self.phase == Phase::Reorganization && self.coordinator == Some(from) {
            self.task = Some(Task { coordinator: from, number });
            self.phase = Phase::Normal;
            self.rest(cx);
            cx.because(Reason::CLAIMED);
        }
    }
}

/// What a node does of its own accord: procedures that make one call after the other.
impl GarciaMolina {
    /// An election begins with the question whether a higher node is there. `after` has been asked.
    fn ask(&mut self, cx: &mut Context<'_, Self>, after: NodeId) {
        match cx.config().members.above(after).first() {
            Some(&next) => self.call(cx, Activity::Ask(next), next, Message::AreYouThere),
            None => self.stand(cx),
        }
    }

    /// No higher node is there: this one stops what it is doing, and halts all lower ones,
    /// beginning with the highest.
    fn stand(&mut self, cx: &mut Context<'_, Self>) {
        let me = cx.id();
        self.phase = Phase::Election;
        self.stop(cx);
        self.halted_by = Some(me);
        self.halt(cx, me);
    }

    fn halt(&mut self, cx: &mut Context<'_, Self>, after: NodeId) {
        match cx.config().members.below(after).last() {
            Some(&next) => self.call(cx, Activity::Halt(next), next, Message::Halt),
            None => self.take_over(cx),
        }
    }

    /// All lower nodes that are up have stopped: this node is the coordinator.
    fn take_over(&mut self, cx: &mut Context<'_, Self>) {
        assert_eq!(self.phase, Phase::Election);
        assert_eq!(self.halted_by, Some(cx.id()));
        self.coordinator = Some(cx.id());
        self.phase = Phase::Reorganization;
        self.announce(cx, None);
    }

    fn announce(&mut self, cx: &mut Context<'_, Self>, after: Option<NodeId>) {
        match self.next_halted(after) {
            Some(next) => self.call(cx, Activity::Announce(next), next, Message::NewCoordinator),
            None => self.compute_task(cx),
        }
    }

    /// Every node knows the coordinator. Its new task is durable before any other hears of it.
    fn compute_task(&mut self, cx: &mut Context<'_, Self>) {
        self.computed = self.computed.next();
        cx.persist(self.computed);
        let number = self.computed.count();
        self.task = Some(Task { coordinator: cx.id(), number });
        self.hand_out(cx, None);
    }

    fn hand_out(&mut self, cx: &mut Context<'_, Self>, after: Option<NodeId>) {
        let ready = Message::Ready(self.computed.count());
        match self.next_halted(after) {
            Some(next) => self.call(cx, Activity::HandOut(next), next, ready),
            None => {
                self.phase = Phase::Normal;
                self.finish(cx);
            }
        }
    }

    /// A coordinator at work asks all other nodes, beginning with the lowest.
    fn check(&mut self, cx: &mut Context<'_, Self>, after: Option<NodeId>) {
        let me = cx.id();
        let next = cx.config().members.iter().find(|&node| node != me && Some(node) > after);
        match next {
            Some(next) => self.call(cx, Activity::Check(next), next, Message::AreYouNormal),
            None => self.finish(cx),
        }
    }

    /// It has been quiet for too long. A node that has a coordinator asks whether it is still
    /// there; any other starts an election.
    fn on_quiet(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        cx.because(reason);
        let me = cx.id();
        let watched = self.coordinator.filter(|&coordinator| coordinator != me);
        match (self.phase, watched) {
            (Phase::Normal | Phase::Reorganization, Some(coordinator)) => {
                self.call(cx, Activity::Probe(coordinator), coordinator, Message::AreYouThere);
            }
            _ => self.ask(cx, me),
        }
    }

    /// The call is answered, and the procedure goes on. What answers another call says nothing.
    fn on_answer(&mut self, cx: &mut Context<'_, Self>, from: NodeId, answer: Message) {
        if self.checks_rival(from, answer) {
            cx.rival_heard(from);
        }
        cx.because(UNANSWERED);
        match (self.activity, answer) {
            (Some(Activity::Probe(node)), Message::Here) if node == from => self.finish(cx),
            (Some(Activity::Ask(node)), Message::Here) if node == from => self.give_way(cx),
            (Some(Activity::Halt(node)), Message::Halted) if node == from => {
                self.halted.push(from);
                self.halt(cx, from);
            }
            (Some(Activity::Announce(node)), Message::Noted) if node == from => {
                self.announce(cx, Some(from));
            }
            (Some(Activity::HandOut(node)), Message::Started) if node == from => {
                self.hand_out(cx, Some(from));
            }
            (Some(Activity::Check(node)), Message::Normal(task))
                if node == from && self.task == Some(task) =>
            {
                self.check(cx, Some(from));
            }
            (Some(Activity::Check(node)), Message::Normal(_) | Message::NotNormal)
                if node == from =>
            {
                let me = cx.id();
                cx.because(CHECK_FAILED);
                self.ask(cx, me);
            }
            _ => {}
        }
    }

    /// Whether the answer to the check of a coordinator is that of another one: a node that works
    /// on a task of its own.
    fn checks_rival(&self, from: NodeId, answer: Message) -> bool {
        let own = matches!(answer, Message::Normal(task) if task.coordinator == from);
        own && self.activity == Some(Activity::Check(from))
    }

    /// Whether this node is a coordinator at work.
    fn leads(&self, cx: &Context<'_, Self>) -> bool {
        self.belief(cx.config()).role == Role::Leader
    }

    /// The call is not answered in time: that node is down. A coordinator that loses one of those
    /// that it was reorganizing begins anew.
    fn on_unanswered(&mut self, cx: &mut Context<'_, Self>) {
        let me = cx.id();
        cx.because(match self.activity {
            Some(Activity::Probe(_)) => Reason::LEADER_SILENT,
            Some(Activity::Check(_)) => CHECK_FAILED,
            _ => UNANSWERED,
        });
        match self.activity {
            Some(Activity::Ask(node)) => self.ask(cx, node),
            Some(Activity::Halt(node)) => self.halt(cx, node),
            Some(Activity::Check(node)) => self.check(cx, Some(node)),
            Some(Activity::Probe(_) | Activity::Announce(_) | Activity::HandOut(_)) => {
                self.ask(cx, me);
            }
            Some(Activity::Restart) | None => {}
        }
    }

    /// A higher node is there and will lead. Only a coordinator at work goes on with its work;
    /// any other waits to be halted.
    fn give_way(&mut self, cx: &mut Context<'_, Self>) {
        cx.because(ANSWERED);
        self.finish(cx);
        if !self.leads(cx) {
            cx.cancel_all();
            cx.arm(Timer::Election);
        }
    }

    fn finish(&mut self, cx: &mut Context<'_, Self>) {
        self.activity = None;
        self.rest(cx);
    }

    /// While no procedure is under way, a coordinator waits for its next check, and a node that has
    /// one for a sign of it.
    fn rest(&mut self, cx: &mut Context<'_, Self>) {
        if self.activity.is_some() {
            return;
        }
        cx.cancel_all();
        let led = self.coordinator.is_some_and(|node| node != cx.id());
        let timer = match self.phase {
            Phase::Normal if !led => Timer::Check,
            Phase::Normal | Phase::Reorganization if led => Timer::Silence,
            _ => Timer::Election,
        };
        cx.arm(timer);
    }

    fn stop(&mut self, cx: &mut Context<'_, Self>) {
        self.activity = None;
        cx.cancel_all();
        self.halted.clear();
    }

    fn call(
        &mut self,
        cx: &mut Context<'_, Self>,
        activity: Activity,
        to: NodeId,
        message: Message,
    ) {
        self.activity = Some(activity);
        cx.cancel_all();
        cx.send(to, message);
        cx.arm(Timer::Answer);
    }

    /// The node that was halted after this one; the first, after none.
    fn next_halted(&self, after: Option<NodeId>) -> Option<NodeId> {
        let mut halted = self.halted.iter().copied();
        halted.find(|&node| after.is_none_or(|after| node < after))
    }
}

impl Core for GarciaMolina {
    const NAME: &'static str = "garcia-molina";
    const TIMERS: &'static [Timer] =
        &[Timer::Answer, Timer::Recovery, Timer::Silence, Timer::Election, Timer::Check];
    type Config = Config;
    type Error = SettingsError;
    type Durable = Computed;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Computed>) -> Result<(), SettingsError> {
        config.members.require(config.id)?;
        Ok(config.timing.validate()?)
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        match timer {
            Timer::Answer | Timer::Recovery => config.timing.call,
            Timer::Silence => config.timing.silence,
            Timer::Election => config.timing.election,
            Timer::Check => config.timing.check,
        }
    }

    /// The time-out of a call: a later answer means nothing.
    fn message_lifetime(config: &Config) -> Duration {
        config.timing.call
    }

    /// The last check may be as old as the time between two.
    fn max_leader_silence(config: &Config) -> Duration {
        config.timing.silence.saturating_sub(config.timing.check)
    }

    fn typical_election(config: &Config) -> Duration {
        config.timing.silence + config.timing.call + config.timing.election
    }

    /// A leader or a follower that is halted stops working first. The lowest node, which has no
    /// other to halt, becomes the leader at once.
    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted => false,
            Role::Candidate => from != Role::Candidate,
            Role::Waiting => !matches!(from, Role::NotStarted | Role::Waiting),
            Role::Follower => matches!(from, Role::Candidate | Role::Waiting),
            Role::Leader => matches!(from, Role::Candidate | Role::Follower),
        }
    }

    /// A node that restarts starts an election, once no answer to an earlier call can come.
    fn boot(cx: &mut Context<'_, Self>, computed: Option<Computed>, _: u64) -> Self {
        cx.because(Reason::BOOTED);
        cx.arm(Timer::Recovery);
        Self {
            phase: Phase::Down,
            coordinator: None,
            halted_by: None,
            task: None,
            halted: Vec::new(),
            activity: Some(Activity::Restart),
            computed: computed.unwrap_or_default(),
        }
    }

    /// A message is believed only if a correct node could have sent it. Any of the coordinator is
    /// a sign of it.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        if message == Message::Halt && from < cx.id() {
            return cx.ignore(from, Reason::WRONG_DIRECTION);
        }
        if self.coordinator == Some(from) && cx.armed(Timer::Silence).is_some() {
            cx.arm(Timer::Silence);
        }
        match message {
            Message::AreYouThere => cx.send(from, Message::Here),
            Message::AreYouNormal => self.on_are_you_normal(cx, from),
            Message::Halt => self.on_halt(cx, from),
            Message::NewCoordinator => self.on_new_coordinator(cx, from),
            Message::Ready(number) => self.on_ready(cx, from, number),
            answer => self.on_answer(cx, from, answer),
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        let me = cx.id();
        match timer {
            Timer::Answer => self.on_unanswered(cx),
            Timer::Recovery => self.ask(cx, me),
            Timer::Silence => self.on_quiet(cx, Reason::LEADER_SILENT),
            Timer::Election => self.on_quiet(cx, Reason::NO_WINNER),
            Timer::Check => self.check(cx, None),
        }
    }

    fn belief(&self, config: &Config) -> Belief {
        let leader = self.coordinator.filter(|_| self.phase == Phase::Normal);
        let role = match (self.phase, self.activity) {
            (Phase::Normal, _) if leader == Some(config.id) => Role::Leader,
            (Phase::Normal, _) => Role::Follower,
            (_, None | Some(Activity::Probe(_))) => Role::Waiting,
            (_, Some(_)) => Role::Candidate,
        };
        Belief { role, leader }
    }
}

/// What a node tells of itself besides what it believes.
impl GarciaMolina {
    /// Returns the phase of the node, in the paper's states.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// Returns the coordinator of the node, which means something while it reorganizes or is at
    /// work.
    #[must_use]
    pub fn coordinator(&self) -> Option<NodeId> {
        self.coordinator
    }

    /// Returns the node that halted this one last.
    #[must_use]
    pub fn halted_by(&self) -> Option<NodeId> {
        self.halted_by
    }

    /// Returns the task that the node works on, or worked on last.
    #[must_use]
    pub fn task(&self) -> Option<Task> {
        self.task
    }

    /// Returns the nodes that this one halted in its own election.
    #[must_use]
    pub fn halted(&self) -> &[NodeId] {
        &self.halted
    }

    /// Returns the procedure that the node executes of its own accord.
    #[must_use]
    pub fn activity(&self) -> Option<Activity> {
        self.activity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::stories::{Nodes, Scripted, id, refused, unfit};
    use crate::protocol::{MemberError, Members};
    use crate::stories::{self, list, written};

    impl Scripted for GarciaMolina {
        fn configured(id: NodeId, members: Members) -> Config {
            Config { id, members, timing: Timing::DEFAULT }
        }

        fn answer(&self, question: &str) -> Option<String> {
            match question {
                "task" => Some(list(self.task().map(|task| written(&task, 0)))),
                "halted" => Some(list(self.halted())),
                "coordinator" => Some(list(self.coordinator())),
                _ => None,
            }
        }
    }

    #[test]
    fn stories_go_as_they_are_told() {
        stories::run::<Nodes<GarciaMolina>>("src/protocol/garcia_molina/testdata");
    }

    #[test]
    fn the_number_after_the_last_is_the_first() {
        assert_eq!(Computed::new(u64::MAX), Computed::new(0), "this is 584 years away");
    }

    #[test]
    fn a_configuration_that_contradicts_itself_is_refused() {
        let stranger = refused::<GarciaMolina>(|config| config.id = id(9));
        assert!(matches!(stranger, SettingsError::Members(MemberError::NotAMember { .. })));
        let unfit =
            |change: fn(&mut Timing)| unfit::<GarciaMolina>(|config| change(&mut config.timing));
        assert_eq!(unfit(|t| t.call = Duration::ZERO), ["call"]);
        assert_eq!(unfit(|t| t.silence = t.call), ["silence", "call"]);
        assert_eq!(unfit(|t| t.election = t.call), ["election", "call"]);
        assert_eq!(unfit(|t| t.check = t.silence), ["silence", "check"]);
    }
}

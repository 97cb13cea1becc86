//! Stoller's leader election: the bully over a failure detector, with elections that have names.
//!
//! A node that starts, or whose leader fails, waits until every higher node is reported as failed.
//! Then it halts the lower ones, one after the other. When each has given way or failed, it leads.
//! Every message names the election that it belongs to, so one that is late is known for what it
//! is.
//!
//! Where each rule comes from:
//!
//! - **Two stages, one lower node at a time, answers that name the election, the number of the
//!   incarnation on stable storage:** S. D. Stoller, *Leader Election in Distributed Systems with
//!   Crash Failures*, 1997. There a smaller number has the higher priority, here a larger one.
//! - **The leader asks the lower nodes from time to time whether they follow it:** the same, as its
//!   two programs in Erlang have it: `gen_leader`, and G. Cant's `gl_async_bully`.
//! - **A node says no unless it follows the asker in that very election, or a higher node:** ours.
//!   It finds those that follow a lower leader, or gave way to an election that passed them over:
//!   what mistakes of the detector leave behind. The model checker found the need for it.
//! - **A leader that is told no starts a new election**, with a new name, from stage 1 on: ours.
//! - **A `HALT` that is not answered in time ends its election, and a new one begins:** ours. The
//!   model checker found that otherwise a node that restarts faster than the detector looks can
//!   stop its group for good. This also heals lost messages. To send the same `HALT` again would
//!   do as well if that never came too early. If it does, it may arrive after later elections, and
//!   capture a node that follows a higher leader; one with a new name cannot.
//!
//! # The failure detector
//!
//! Is not here. [`Core::watched`] says which nodes it must watch, [`Core::suspect`] is its report.
//!
//! # What it does not promise
//!
//! With a detector that is never wrong there are never two leaders, whatever crashes and recovers,
//! on links that keep the order of messages and double none, such as TCP connections. With one that
//! is wrong at times there can be two, until the higher one asks and is told no. There is no
//! quorum, so no detector can help across a partition.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use thiserror::Error as ErrorText;

use super::settings::Durations;
use super::{
    Belief, Context, Core, DurationError, MemberError, Members, Membership, NodeId, Reason, Role,
};

/// The name of an election. Nodes compare names and look at the owner, nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Elid {
    /// The node whose election it is.
    pub owner: NodeId,
    /// The incarnation of the owner that started the election.
    pub incarnation: u64,
    /// The number of elections that this incarnation had begun before.
    pub counter: u64,
}

impl fmt::Display for Elid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.owner, self.incarnation, self.counter)
    }
}

/// The messages that nodes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To a lower node: "Give way to my election."
    Halt(Elid),
    /// To the holder: "I gave way."
    Ack(Elid),
    /// To those that gave way: "I lead."
    Ldr(Elid),
    /// To a lower node: "Do you follow me?"
    NormQ(Elid),
    /// To the leader: "No."
    NotNorm(Elid),
}

/// The timers by which a node waits by itself; its detector tells it the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The timer of a leader, until it asks again whether the lower nodes follow it, and of a
    /// candidate in stage 2, until it gives up on the answer to its `Halt`.
    Ask,
}

/// The configuration that a node must have before it can start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// The id of the node itself; one of the members.
    pub id: NodeId,
    /// Every node that takes part, the node itself included. The same on every node.
    pub members: Members,
    /// The interval at which a leader asks whether it is followed, and the time that a candidate
    /// waits for an answer; longer than a question and its answer take, or elections begin again
    /// and again.
    pub ask: Duration,
}

impl Membership for Config {
    fn id(&self) -> NodeId {
        self.id
    }

    fn hears(&self, other: NodeId) -> bool {
        self.members.contains(other)
    }
}

/// The problem with what a node is to start with.
#[derive(Clone, Debug, PartialEq, Eq, ErrorText)]
pub enum Error {
    /// The members are wrong.
    #[error(transparent)]
    Members(#[from] MemberError),
    /// One of the durations is wrong.
    #[error(transparent)]
    Duration(#[from] DurationError),
    /// Every number of an incarnation has been used, which no real node lives to see.
    #[error(
        "node {node} cannot start again: its last incarnation has the highest number there is; \
         what it stored is damaged, so give it another id"
    )]
    NoIncarnationLeft {
        /// The id of the node.
        node: NodeId,
    },
}

const HALTED: Reason = Reason::new("halted", "a higher node is about to lead");
const CHECK_FAILED: Reason = Reason::new("check_failed", "another node does not follow this one");
const SUSPECTED: Reason =
    Reason::new("suspected", "the failure detector reports the node that was to lead");
const WON: Reason = Reason::new("won", "every lower node has given way or failed");
const UNANSWERED: Reason =
    Reason::new("unanswered", "a lower node did not say in time that it gives way");

/// Of an election that is over, or of another node's.
const OTHER_ELECTION: Reason = Reason::new("other_election", "it belongs to another election");

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum State {
    Following { leader: NodeId, elid: Elid },
    Leading { elid: Elid },
    StageOne { elid: Elid, down: BTreeSet<NodeId> },
    StageTwo { elid: Elid, asked: NodeId, gave_way: BTreeSet<NodeId> },
    Waiting { elid: Elid },
}

/// One node of Stoller's election.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stoller {
    state: State,
    incarnation: u64,
    /// How many elections this incarnation has begun.
    begun: u64,
}

/// The rules, one function for each event.
impl Stoller {
    /// An election begins, with a name that none had before. The highest node waits for no other.
    fn begin(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        let owner = cx.id();
        let elid = Elid { owner, incarnation: self.incarnation, counter: self.begun };
        self.begun += 1;
        if cx.config().members.above(owner).is_empty() {
            self.halt_below(cx, owner, elid, BTreeSet::new(), reason);
        } else {
            self.change(cx, State::StageOne { elid, down: BTreeSet::new() }, reason);
        }
    }

    /// Stage 2: the highest node below `reached` shall give way. If there is none, this one leads,
    /// and tells those that gave way.
    fn halt_below(
        &mut self,
        cx: &mut Context<'_, Self>,
        reached: NodeId,
        elid: Elid,
        gave_way: BTreeSet<NodeId>,
        reason: Reason,
    ) {
        match cx.config().members.below(reached).last() {
            Some(&asked) => {
                self.change(cx, State::StageTwo { elid, asked, gave_way }, reason);
                cx.send(asked, Message::Halt(elid));
            }
            None => {
                self.change(cx, State::Leading { elid }, WON);
                cx.send_all(&gave_way, Message::Ldr(elid));
            }
        }
        Self::ask_later(cx);
    }

    /// `HALT` of a higher node: give way to its election, and say so.
    fn on_halt(&mut self, cx: &mut Context<'_, Self>, from: NodeId, elid: Elid) {
        self.change(cx, State::Waiting { elid }, HALTED);
        cx.send(from, Message::Ack(elid));
    }

    /// `ACK` of the node that was asked, in this election: it gave way.
    fn on_ack(&mut self, cx: &mut Context<'_, Self>, from: NodeId, of: Elid) {
        match self.state.clone() {
            State::StageTwo { elid, asked, mut gave_way } if (asked, elid) == (from, of) => {
                gave_way.insert(from);
                self.halt_below(cx, asked, elid, gave_way, HALTED);
            }
            _ => cx.ignore(from, OTHER_ELECTION),
        }
    }

    /// `LDR` of the election that this node gave way to: its owner leads.
    fn on_ldr(&mut self, cx: &mut Context<'_, Self>, from: NodeId, of: Elid) {
        match self.state {
            State::Waiting { elid } if elid == of => {
                self.change(cx, State::Following { leader: from, elid }, Reason::CLAIMED);
            }
            _ => cx.ignore(from, OTHER_ELECTION),
        }
    }

    /// `NORM_Q`: no, unless it follows the asker in that election, or has to do with a higher one.
    /// Only a leader asks: it is a rival of a leader that it asks.
    fn on_norm_q(&mut self, cx: &mut Context<'_, Self>, from: NodeId, of: Elid) {
        if matches!(self.state, State::Leading { .. }) {
            cx.rival_heard(from);
        }
        let (above_me, follows) = match self.state {
            State::Following { leader, elid } => (leader, elid == of),
            State::Waiting { elid } => (elid.owner, false),
            _ => (cx.id(), false),
        };
        if !follows && above_me <= from {
            cx.send(from, Message::NotNorm(of));
        }
    }

    /// `NOT_NORM` to a leader, about the election that made it one: there is another.
    fn on_not_norm(&mut self, cx: &mut Context<'_, Self>, from: NodeId, of: Elid) {
        match self.state {
            State::Leading { elid } if elid == of => self.begin(cx, CHECK_FAILED),
            _ => cx.ignore(from, OTHER_ELECTION),
        }
    }

    /// In stage 2 a `HALT` has not been answered: there is another election. A leader asks all
    /// lower nodes, and will again.
    fn ask(&mut self, cx: &mut Context<'_, Self>) {
        match self.state {
            State::StageTwo { .. } => self.begin(cx, UNANSWERED),
            State::Leading { elid } => {
                cx.send_all(cx.config().members.below(cx.id()), Message::NormQ(elid));
                Self::ask_later(cx);
            }
            _ => {}
        }
    }

    /// The lowest node has no other to ask.
    fn ask_later(cx: &mut Context<'_, Self>) {
        if !cx.config().members.below(cx.id()).is_empty() {
            cx.arm(Timer::Ask);
        }
    }

    /// The only place where the state is written. What was to be asked again is forgotten.
    fn change(&mut self, cx: &mut Context<'_, Self>, to: State, reason: Reason) {
        self.state = to;
        cx.cancel_all();
        cx.because(reason);
    }

    /// Returns what the node remembers of its election: its name, which nodes are down, were asked,
    /// gave way.
    #[must_use]
    pub fn election(&self) -> Election {
        let (elid, down, asked, gave_way) = match self.state.clone() {
            State::Following { elid, .. } | State::Leading { elid } | State::Waiting { elid } => {
                (elid, BTreeSet::new(), None, BTreeSet::new())
            }
            State::StageOne { elid, down } => (elid, down, None, BTreeSet::new()),
            State::StageTwo { elid, asked, gave_way } => {
                (elid, BTreeSet::new(), Some(asked), gave_way)
            }
        };
        Election { elid, down, asked, gave_way, incarnation: self.incarnation, begun: self.begun }
    }
}

/// The state that a node remembers of its election; see [`Stoller::election`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Election {
    /// The election that the node started, gave way to, or whose winner it has.
    pub elid: Elid,
    /// The higher nodes that were reported, in stage 1.
    pub down: BTreeSet<NodeId>,
    /// The node that shall give way, in stage 2.
    pub asked: Option<NodeId>,
    /// The nodes that have given way, in stage 2.
    pub gave_way: BTreeSet<NodeId>,
    /// The node's incarnation.
    pub incarnation: u64,
    /// The number of elections that this incarnation has begun.
    pub begun: u64,
}

impl Core for Stoller {
    const NAME: &'static str = "stoller";
    const TIMERS: &'static [Timer] = &[Timer::Ask];
    type Config = Config;
    type Error = Error;
    /// The number of the incarnation.
    type Durable = u64;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, incarnation: Option<&u64>) -> Result<(), Error> {
        Durations(Self::NAME).in_range(&[("ask", config.ask)])?;
        config.members.require(config.id)?;
        match incarnation {
            Some(&u64::MAX) => Err(Error::NoIncarnationLeft { node: config.id }),
            _ => Ok(()),
        }
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        match timer {
            Timer::Ask => config.ask,
        }
    }

    /// As long as a candidate waits for an answer.
    fn message_lifetime(config: &Config) -> Duration {
        config.ask
    }

    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted => false,
            Role::Candidate => from != Role::Candidate,
            Role::Waiting => !matches!(from, Role::NotStarted | Role::Waiting),
            Role::Leader => from == Role::Candidate,
            Role::Follower => from == Role::Waiting,
        }
    }

    /// A node that starts is a new incarnation, and starts an election.
    fn boot(cx: &mut Context<'_, Self>, last: Option<u64>, _: u64) -> Self {
        let incarnation = last.unwrap_or(0) + 1;
        cx.persist(incarnation);
        let elid = Elid { owner: cx.id(), incarnation, counter: 0 };
        let mut node = Self { state: State::Waiting { elid }, incarnation, begun: 0 };
        node.begin(cx, Reason::BOOTED);
        node
    }

    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        let downwards = |elid: Elid| from > cx.id() && elid.owner == from;
        match message {
            Message::Halt(elid) if downwards(elid) => self.on_halt(cx, from, elid),
            Message::Ldr(elid) if downwards(elid) => self.on_ldr(cx, from, elid),
            Message::NormQ(elid) if downwards(elid) => self.on_norm_q(cx, from, elid),
            Message::Ack(elid) => self.on_ack(cx, from, elid),
            Message::NotNorm(elid) => self.on_not_norm(cx, from, elid),
            Message::Halt(_) | Message::Ldr(_) | Message::NormQ(_) => {
                cx.ignore(from, Reason::WRONG_DIRECTION);
            }
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match timer {
            Timer::Ask => self.ask(cx),
        }
    }

    /// If the node led, or was to lead, there is an election; if it was the last one above, stage
    /// 2; if it was to give way, the next one shall.
    fn suspect(&mut self, cx: &mut Context<'_, Self>, node: NodeId) {
        match self.state.clone() {
            State::Leading { .. } => {}
            State::Following { .. } | State::Waiting { .. } => self.begin(cx, SUSPECTED),
            State::StageOne { elid, mut down } => {
                let me = cx.id();
                down.insert(node);
                if down.len() == cx.config().members.above(me).len() {
                    self.halt_below(cx, me, elid, BTreeSet::new(), SUSPECTED);
                } else {
                    self.change(cx, State::StageOne { elid, down }, SUSPECTED);
                }
            }
            State::StageTwo { elid, asked, gave_way } => {
                self.halt_below(cx, asked, elid, gave_way, SUSPECTED);
            }
        }
    }

    fn belief(&self, config: &Config) -> Belief {
        let (role, leader) = match self.state {
            State::Following { leader, .. } => (Role::Follower, Some(leader)),
            State::Leading { .. } => (Role::Leader, Some(config.id)),
            State::StageOne { .. } | State::StageTwo { .. } => (Role::Candidate, None),
            State::Waiting { .. } => (Role::Waiting, None),
        };
        Belief { role, leader }
    }

    /// The leader, or the node that is to become it; in stage 1 the higher nodes that were not
    /// reported yet; in stage 2 the one that shall give way.
    fn watched(&self, config: &Config) -> impl Iterator<Item = NodeId> {
        let (one, many, except) = match &self.state {
            State::Leading { .. } => (None, &[][..], None),
            State::Following { leader, .. } => (Some(*leader), &[][..], None),
            State::Waiting { elid } => (Some(elid.owner), &[][..], None),
            State::StageTwo { asked, .. } => (Some(*asked), &[][..], None),
            State::StageOne { down, .. } => (None, config.members.above(config.id), Some(down)),
        };
        let reported = move |id: &NodeId| except.is_some_and(|down| down.contains(id));
        one.into_iter().chain(many.iter().copied().filter(move |id| !reported(id)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Node;
    use crate::protocol::stories::{Nodes, Scripted, id, refused};
    use crate::stories;

    impl Scripted for Stoller {
        fn configured(id: NodeId, members: Members) -> Config {
            Config { id, members, ask: Duration::from_millis(100) }
        }
    }

    #[test]
    fn stories_go_as_they_are_told() {
        stories::run::<Nodes<Stoller>>("src/protocol/stoller/testdata");
    }

    #[test]
    fn a_configuration_that_contradicts_itself_is_refused() {
        let stranger = refused::<Stoller>(|config| config.id = id(9));
        assert!(matches!(stranger, Error::Members(MemberError::NotAMember { .. })));
        let at_once = refused::<Stoller>(|config| config.ask = Duration::ZERO);
        assert!(matches!(at_once, Error::Duration(DurationError::OutOfRange { name: "ask", .. })));
        let config = Stoller::configured(id(2), Members::new([1, 2, 3].map(id)).expect("valid"));
        let damaged = Node::<Stoller>::new(config, Some(u64::MAX), 0);
        assert_eq!(damaged.expect_err("refused"), Error::NoIncarnationLeft { node: id(2) });
    }
}

//! The ring of Chang and Roberts, repaired: ids go round, and the node whose id completes the ring
//! leads.
//!
//! A node that misses its leader sends its id round the ring. A higher node puts its own in the
//! place of a lower one, or swallows it if its own is under way already. Only the highest id
//! completes the ring, and its owner announces itself.
//!
//! Where each rule comes from:
//!
//! - **Let a higher id pass, replace or swallow a lower one, lead when one's own completes the
//!   ring:**
//!   E. Chang, R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//!   configurations of processes*, Communications of the ACM 22(5), 1979.
//! - **Announce the winner in a second lap:** G. Coulouris, J. Dollimore, T. Kindberg, G. Blair,
//!   *Distributed Systems: Concepts and Design*, 5th edition, 2012, §15.3.
//! - **Everything else is ours**, because both texts know no failures: acknowledge every hop and
//!   skip a member that is silent; remove a message when its originator has to be skipped, and
//!   start an election; start a new election when one has not ended within `T_lap`; believe that
//!   one's id has completed the ring only while still a candidate; never follow a lower id, but
//!   start an election; repeat the announcement as a heartbeat; listen for it after a restart.
//!
//! # What it does not promise
//!
//! A node that is slower than the time-outs is taken for dead, and skipped: there is no quorum, and
//! two nodes may lead for a while. One broken link between neighbours is enough to keep a node that
//! is alive out of the ring.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ring::{
    Config, Error, LOWER_CLAIMS, Lap, RingCore, RingMessage, RingState, State, Timer, UNKNOWN_ID,
};
use super::{Belief, Context, Core, NodeId, Nothing, Reason, Role};

/// The messages that nodes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Goes round: "no id is higher so far."
    Election(NodeId),
    /// Goes round: "this one leads."
    Coordinator(NodeId),
    /// Back to the node that handed it on: "I have it."
    Ack(Lap),
}

impl RingMessage for Message {
    fn lap(&self) -> Option<Lap> {
        match *self {
            Self::Election(id) => Some(Lap::Election(id)),
            Self::Coordinator(id) => Some(Lap::Coordinator(id)),
            Self::Ack(_) => None,
        }
    }

    fn depends_on(&self, down: NodeId) -> bool {
        self.lap().is_some_and(|lap| lap.origin() == down)
    }
}

const CHALLENGED: Reason = Reason::new("challenged", "a lower node has started an election");
const GAVE_WAY: Reason = Reason::new("gave_way", "a higher node has started an election");
const CAME_ROUND: Reason = Reason::new("came_round", "the node's own id completed the ring");

/// One node of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangRoberts {
    ring: RingState<Message>,
}

/// The rules, one function for each event.
impl ChangRoberts {
    /// The id of a candidate comes by. A higher one passes. A lower one is swallowed by a node that
    /// takes part already; any other puts its own id in its place. One's own has passed all
    /// members: none that is up is higher, unless one has been heard of since.
    fn on_election(&mut self, cx: &mut Context<'_, Self>, candidate: NodeId) {
        let me = cx.id();
        match self.ring.state {
            _ if candidate > me => {
                self.ring.change(cx, State::Waiting, GAVE_WAY);
                self.ring.hand_on(cx, Message::Election(candidate));
            }
            State::Follower { .. } | State::Leader if candidate < me => {
                self.start_election(cx, CHALLENGED);
            }
            State::Candidate if candidate == me => {
                self.ring.change(cx, State::Leader, CAME_ROUND);
                self.claim(cx);
            }
            _ => {}
        }
    }

    /// An announcement comes by, and passes if it is that of a higher node. One that is lower than
    /// this node cannot be right: there is an election, if this node has started none. One's own
    /// has done its work. Any other is that of a rival, if this node leads.
    fn on_coordinator(&mut self, cx: &mut Context<'_, Self>, leader: NodeId) {
        let me = cx.id();
        if self.ring.state == State::Leader && leader != me {
            cx.rival_heard(leader);
        }
        if leader > me {
            self.ring.change(cx, State::Follower { leader: Some(leader) }, Reason::CLAIMED);
            self.ring.hand_on(cx, Message::Coordinator(leader));
        } else if leader < me && self.ring.state != State::Candidate {
            self.start_election(cx, LOWER_CLAIMS);
        }
    }

    /// Returns what this node has handed on and is not acknowledged, oldest first, and by which
    /// member it should be.
    #[must_use]
    pub fn unacknowledged(&self) -> &[(NodeId, Message)] {
        self.ring.kept()
    }
}

impl RingCore for ChangRoberts {
    fn ring(&mut self) -> &mut RingState<Message> {
        &mut self.ring
    }

    /// A node sends its own id round.
    fn start_election(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        self.ring.change(cx, State::Candidate, reason);
        self.ring.hand_on(cx, Message::Election(cx.id()));
    }

    fn claim(&mut self, cx: &mut Context<'_, Self>) {
        self.ring.hand_on(cx, Message::Coordinator(cx.id()));
    }
}

impl Core for ChangRoberts {
    const NAME: &'static str = "chang-roberts";
    const TIMERS: &'static [Timer] = Timer::ALL;
    type Config = Config;
    type Error = Error;
    type Durable = Nothing;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Nothing>) -> Result<(), Error> {
        config.validate(Self::NAME)
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        config.period(timer)
    }

    /// The time-out of one hop: what is older was handed to another member.
    fn message_lifetime(config: &Config) -> Duration {
        config.timing.hop
    }

    /// A claim may be as old as a heartbeat when the leader falls silent.
    fn max_leader_silence(config: &Config) -> Duration {
        config.timing.watch.saturating_sub(config.timing.heartbeat)
    }

    fn typical_election(config: &Config) -> Duration {
        config.timing.watch + config.timing.lap
    }

    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted => false,
            Role::Follower => true,
            Role::Candidate | Role::Waiting | Role::Leader => from != Role::NotStarted,
        }
    }

    fn boot(cx: &mut Context<'_, Self>, _: Option<Nothing>, _: u64) -> Self {
        Self { ring: RingState::listening(cx) }
    }

    /// A message is believed only if it names a member.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        let named = match message {
            Message::Election(id) | Message::Coordinator(id) => id,
            Message::Ack(lap) => lap.origin(),
        };
        if !cx.config().members.contains(named) {
            return cx.ignore(from, UNKNOWN_ID);
        }
        if let Some(lap) = message.lap() {
            cx.send(from, Message::Ack(lap));
        }
        match message {
            Message::Election(candidate) => self.on_election(cx, candidate),
            Message::Coordinator(leader) => self.on_coordinator(cx, leader),
            Message::Ack(lap) => self.ring.acknowledged(cx, lap),
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        self.on_expired(cx, timer);
    }

    fn belief(&self, config: &Config) -> Belief {
        self.ring.belief(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::ring::Timing;
    use crate::protocol::stories::{Nodes, Scripted, id, keys, refused};
    use crate::protocol::{MemberError, Members};
    use crate::stories;

    impl Scripted for ChangRoberts {
        fn configured(id: NodeId, members: Members) -> Config {
            Config { id, members, timing: Timing::DEFAULT }
        }
    }

    #[test]
    fn stories_go_as_they_are_told() {
        stories::run::<Nodes<ChangRoberts>>("src/protocol/chang_roberts/testdata");
    }

    #[test]
    fn settings_that_contradict_themselves_are_refused() {
        let ms = Duration::from_millis;
        let stranger = refused::<ChangRoberts>(|config| config.id = id(9));
        assert!(matches!(stranger, Error::Members(MemberError::NotAMember { .. })));
        let unfit = |change: &dyn Fn(&mut Timing)| {
            let error = refused::<ChangRoberts>(|config| change(&mut config.timing));
            match error {
                Error::Duration(error) => keys(&error),
                Error::ShorterThanALap { name, members: 3, .. } => vec![name],
                other => panic!("{other}"),
            }
        };
        assert_eq!(unfit(&|t| t.hop = Duration::ZERO), ["hop"]);
        // Three hops, each of 20 ms.
        assert_eq!(unfit(&|t| t.lap = ms(60)), ["lap"]);
        assert_eq!(unfit(&|t| t.heartbeat = ms(60)), ["heartbeat"]);
        assert_eq!(unfit(&|t| (t.hop, t.watch) = (ms(60), ms(180))), ["watch"]);
        assert_eq!(unfit(&|t| t.heartbeat = ms(500)), ["heartbeat", "watch"]);
    }
}

//! The ring with lists, repaired: a list of all who are up goes round, and the highest in it leads.
//!
//! A node that misses its leader sends a list round the ring, with itself in it; every node adds
//! itself. When the list has completed the ring, the node that began it announces the highest id in
//! it, in a second lap.
//!
//! Where each rule comes from:
//!
//! - **Collect the ids, announce the highest, skip members that do not answer:** A. Tanenbaum,
//!   M. van Steen, *Distributed Systems*, section on election algorithms, who follow G. Le Lann,
//!   *Distributed systems: towards a formal approach*, IFIP Congress 1977.
//! - **Everything else is ours**, because in the text no node on the way fails: a list has
//!   completed the ring when it is back at the *first* in it; it decides only as long as that node
//!   has heard of no leader since; a node that has to skip the one that began something, or that is
//!   announced, removes it and starts an election; a list that is not back within `T_lap` is
//!   followed by another; a leader that is lower than oneself is not followed, but contested; the
//!   announcement, repeated, as a heartbeat, for which a node listens after a restart.
//!
//! # What it does not promise
//!
//! As with every ring without a quorum, a node that is too slow is taken for dead, and two nodes
//! may lead for a while; elections that run at the same time may have different results, and
//! it is the heartbeats that end the disagreement. Messages grow with the group, which therefore
//! has at most [`List::MAX`] members.

use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::ring::{
    Config, Error, LOWER_CLAIMS, Lap, RingCore, RingMessage, RingState, State, Timer, UNKNOWN_ID,
};
use super::{Belief, Context, Core, NodeId, Nothing, Reason, Role};

/// The messages that nodes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// Goes round: "these are up."
    Election(List),
    /// Goes round: "this one leads."
    Coordinator {
        /// The leader.
        leader: NodeId,
        /// The nodes that the announcement has passed.
        passed: List,
    },
    /// Back to the node that handed it on: "I have it."
    Ack(Lap),
}

impl RingMessage for Message {
    fn lap(&self) -> Option<Lap> {
        match self {
            Self::Election(list) => Some(Lap::Election(list.origin())),
            Self::Coordinator { passed, .. } => Some(Lap::Coordinator(passed.origin())),
            Self::Ack(_) => None,
        }
    }

    fn depends_on(&self, down: NodeId) -> bool {
        match self {
            Self::Election(list) => list.origin() == down,
            Self::Coordinator { leader, passed } => *leader == down || passed.origin() == down,
            Self::Ack(_) => false,
        }
    }
}

const CHOSEN: Reason = Reason::new("chosen", "the election completed the ring");

/// One node of the ring.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListRing {
    ring: RingState<Message>,
}

/// The rules, one function for each event.
impl ListRing {
    /// A list comes by: the node adds itself. Its own has completed the ring: the highest in it
    /// leads, unless the node has heard of a leader since.
    fn on_election(&mut self, cx: &mut Context<'_, Self>, list: List) {
        let me = cx.id();
        if list.origin() != me {
            self.ring.hand_on(cx, Message::Election(list.passing(me)));
        } else if self.ring.state == State::Candidate {
            self.take_for_leader(cx, list.highest(), CHOSEN);
            self.announce(cx, list.highest());
        }
    }

    /// An announcement comes by, and passes, unless it has completed the ring, or names a lower
    /// node: that cannot be right, and there is an election if this node has started none. If it
    /// has passed the node that it names, that takes itself for the leader: it is a rival of a
    /// leader.
    fn on_coordinator(&mut self, cx: &mut Context<'_, Self>, leader: NodeId, passed: List) {
        let me = cx.id();
        if passed.origin() == me {
            return;
        }
        if self.ring.state == State::Leader && leader != me && passed.contains(leader) {
            cx.rival_heard(leader);
        }
        if leader >= me {
            self.take_for_leader(cx, leader, if leader == me { CHOSEN } else { Reason::CLAIMED });
            let passed = passed.passing(me);
            self.ring.hand_on(cx, Message::Coordinator { leader, passed });
        } else if self.ring.state != State::Candidate {
            self.start_election(cx, LOWER_CLAIMS);
        }
    }

    fn take_for_leader(&mut self, cx: &mut Context<'_, Self>, leader: NodeId, reason: Reason) {
        let to = match leader == cx.id() {
            true => State::Leader,
            false => State::Follower { leader: Some(leader) },
        };
        self.ring.change(cx, to, reason);
    }

    fn announce(&mut self, cx: &mut Context<'_, Self>, leader: NodeId) {
        let passed = List::of(cx.id());
        self.ring.hand_on(cx, Message::Coordinator { leader, passed });
    }

    /// Returns what this node has handed on and is not acknowledged, oldest first, and by which
    /// member it should be.
    #[must_use]
    pub fn unacknowledged(&self) -> &[(NodeId, Message)] {
        self.ring.kept()
    }
}

impl RingCore for ListRing {
    fn ring(&mut self) -> &mut RingState<Message> {
        &mut self.ring
    }

    /// A node sends a list round, itself the first in it.
    fn start_election(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        self.ring.change(cx, State::Candidate, reason);
        self.ring.hand_on(cx, Message::Election(List::of(cx.id())));
    }

    fn claim(&mut self, cx: &mut Context<'_, Self>) {
        self.announce(cx, cx.id());
    }
}

impl Core for ListRing {
    const NAME: &'static str = "list-ring";
    const TIMERS: &'static [Timer] = Timer::ALL;
    type Config = Config;
    type Error = Error;
    type Durable = Nothing;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Nothing>) -> Result<(), Error> {
        let members = config.members.count();
        if members > List::MAX {
            return Err(Error::TooManyToList { members, most: List::MAX });
        }
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
            Role::NotStarted | Role::Waiting => false,
            Role::Follower => true,
            Role::Candidate | Role::Leader => from != Role::NotStarted,
        }
    }

    fn boot(cx: &mut Context<'_, Self>, _: Option<Nothing>, _: u64) -> Self {
        Self { ring: RingState::listening(cx) }
    }

    /// A message is believed only if it names members alone.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        let members = &cx.config().members;
        let known = match message {
            Message::Election(list) => list.iter().all(|id| members.contains(id)),
            Message::Coordinator { leader, passed } => {
                members.contains(leader) && passed.iter().all(|id| members.contains(id))
            }
            Message::Ack(lap) => members.contains(lap.origin()),
        };
        if !known {
            return cx.ignore(from, UNKNOWN_ID);
        }
        if let Some(lap) = message.lap() {
            cx.send(from, Message::Ack(lap));
        }
        match message {
            Message::Election(list) => self.on_election(cx, list),
            Message::Coordinator { leader, passed } => self.on_coordinator(cx, leader, passed),
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

/// The ids of the nodes that a message has passed, in order; at least one, none twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct List {
    ids: [Option<NodeId>; List::MAX],
}

impl List {
    /// The largest number of ids in a list. Every message carries one, so a ring of lists is not
    /// for large groups.
    pub const MAX: usize = 32;

    /// Returns a list that sets out, with this id alone.
    #[must_use]
    pub fn of(first: NodeId) -> Self {
        let mut ids = [None; Self::MAX];
        ids[0] = Some(first);
        Self { ids }
    }

    /// Returns the list of these ids; `None` if there are none or too many, or one comes twice.
    #[must_use]
    pub fn new(all: &[NodeId]) -> Option<Self> {
        let distinct = (1..all.len()).all(|at| !all[..at].contains(&all[at]));
        if all.is_empty() || all.len() > Self::MAX || !distinct {
            return None;
        }
        let mut ids = [None; Self::MAX];
        ids.iter_mut().zip(all).for_each(|(place, &id)| *place = Some(id));
        Some(Self { ids })
    }

    /// Returns the ids, in order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.ids.iter().copied().flatten()
    }

    /// Returns the node whose list it is.
    #[must_use]
    pub fn origin(&self) -> NodeId {
        match self.ids[0] {
            Some(first) => first,
            None => unreachable!("no list is empty"),
        }
    }

    /// Returns the highest id.
    #[must_use]
    pub fn highest(&self) -> NodeId {
        self.iter().fold(self.origin(), Ord::max)
    }

    /// Returns whether `id` is listed.
    #[must_use]
    pub fn contains(&self, id: NodeId) -> bool {
        self.ids.contains(&Some(id))
    }

    /// Returns the list after it has passed `id`. A group is never larger than a list; a full one
    /// stays as it is.
    #[must_use]
    pub fn passing(mut self, id: NodeId) -> Self {
        if !self.contains(id)
            && let Some(place) = self.ids.iter_mut().find(|place| place.is_none())
        {
            *place = Some(id);
        }
        self
    }
}

impl Serialize for List {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.iter().collect::<Vec<_>>().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ids = Vec::deserialize(deserializer)?;
        Self::new(&ids).ok_or_else(|| {
            D::Error::custom(format!("a list has 1 to {} ids, each once", Self::MAX))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Members;
    use crate::protocol::ring::Timing;
    use crate::protocol::stories::{Nodes, Scripted, refused};
    use crate::stories;

    impl Scripted for ListRing {
        fn configured(id: NodeId, members: Members) -> Config {
            Config { id, members, timing: Timing::DEFAULT }
        }
    }

    #[test]
    fn stories_go_as_they_are_told() {
        stories::run::<Nodes<ListRing>>("src/protocol/list_ring/testdata");
    }

    #[test]
    fn a_group_that_no_list_can_hold_is_refused() {
        let members = Members::new((1..=33).filter_map(NodeId::new)).expect("valid");
        let error = refused::<ListRing>(|config| config.members = members);
        assert_eq!(error, Error::TooManyToList { members: 33, most: 32 });
    }

    fn ids(numbers: &[u16]) -> Vec<NodeId> {
        numbers.iter().filter_map(|&number| NodeId::new(number)).collect()
    }

    #[test]
    fn a_list_collects_each_id_once_and_in_order() {
        let all = ids(&[2, 3, 1]);
        let list = List::of(all[0]).passing(all[1]).passing(all[2]).passing(all[1]);
        assert_eq!(list.iter().collect::<Vec<_>>(), all);
        assert_eq!((list.origin(), list.highest()), (all[0], all[1]));
    }

    #[test]
    fn what_cannot_be_a_list_is_refused_when_it_arrives() {
        let read = |text: &str| serde_json::from_str::<List>(text);
        assert_eq!(read("[2,3,1]").ok(), List::new(&ids(&[2, 3, 1])));
        for wrong in ["[]", "[1,1]", "[0]", &format!("{:?}", (1..=33).collect::<Vec<_>>())] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(read(&format!("{:?}", (1..=32).collect::<Vec<_>>())).is_ok());
    }
}

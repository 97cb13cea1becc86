//! The bully algorithm, in its recommended form.
//!
//! The highest node that is up leads. A node that misses its leader challenges every higher one;
//! if none answers it leads, if one does it waits for the winner.
//!
//! Where each rule comes from:
//!
//! - **Challenge the higher, answer the lower, lead if unanswered; a node that starts or restarts
//!   starts an election:** H. Garcia-Molina, *Elections in a Distributed Computing System*, IEEE
//!   Transactions on Computers C-31(1), 1982. What that paper calls the node's state is kept here
//!   in volatile memory: nothing is persisted.
//! - **The highest id announces itself at once; the announcement goes to the lower ids; a second
//!   time-out `T_coord` after which an answered node begins anew; no second election beside one
//!   that is under way:** G. Coulouris, J. Dollimore, T. Kindberg, G. Blair, *Distributed Systems:
//!   Concepts and Design*, 5th edition, 2012, §15.3.
//! - **The heartbeat is the repeated `COORDINATOR`:** ours. It is a claim to lead, not merely a
//!   sign of life: a follower whose leader no longer claims to lead times out, and one that follows
//!   the wrong node is corrected by the next claim.
//! - **A leader that is challenged repeats its claim to the challenger:** ours. A restarted node
//!   then learns its leader in one round trip; the winner is known, so there is no election.
//! - **A follower that is challenged starts no election:** ours. Its own watch says when its leader
//!   is gone, and the challenger waits for that. Otherwise one node that does not hear the leader
//!   would have all others start elections for ever.
//! - **A `COORDINATOR` from a lower id is ignored:** it can only be late or wrong, since lower
//!   nodes announce themselves to lower nodes only. **So is one from below the leader that the node
//!   follows:** it is late, or comes from a node that the leader cannot reach. If the leader really
//!   failed, the node's own watch says so. The model checker found this rule: without it, a node
//!   between two leaders that cannot hear each other changes sides with every heartbeat.
//!
//! # What it does not promise
//!
//! The bully has no quorum. It assumes that messages arrive within the time-outs; when a partition
//! or a pause breaks that, *each side elects its own leader*, and both stay until the partition
//! heals. Use it where two leaders for a while are a nuisance, not where they are a loss.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::settings::{Durations, Relation, check};
use super::{Belief, Context, Core, DurationError, NodeId, Nothing, Reason, Role, SettingsError};

/// The messages that nodes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To the higher ids: "I have started an election."
    Election,
    /// To a lower id: "I am up; leave it to me."
    Ok,
    /// To the lower ids: "I lead."
    Coordinator,
}

/// The timers by which a node waits. Each role has one timer, and only its own is armed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Timer {
    /// The timer of a candidate for an `Ok`, `T_elec` long.
    Election,
    /// The timer of a waiting node for a `Coordinator`, `T_coord` long.
    Coordinator,
    /// The timer of a follower for the leader's next claim.
    Watch,
    /// The timer of a leader, until its next claim is due.
    Heartbeat,
}

/// The configuration of one node.
pub type Config = super::Config<Timing>;

/// The durations of a node's waits.
///
/// With `Tm` the largest delay of a message and `Tp` the largest time a node needs to answer one,
/// `election` must exceed `2·Tm + Tp`, or a node gives up on peers that are alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timing {
    /// The duration `T_elec`: how long a candidate waits for a higher node to answer.
    pub election: Duration,
    /// The duration `T_coord`: how long a node that was answered waits for the winner to announce
    /// itself.
    pub coordinator: Duration,
    /// The time for which a follower hears nothing of its leader before it starts an election.
    pub watch: Duration,
    /// The interval at which a leader repeats its claim.
    pub heartbeat: Duration,
}

impl Timing {
    /// The durations for machines on one network: a dead leader is replaced within about a second.
    pub const DEFAULT: Self = Self {
        election: Duration::from_millis(300),
        coordinator: Duration::from_millis(900),
        watch: Duration::from_millis(500),
        heartbeat: Duration::from_millis(100),
    };

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        Durations("bully").in_range(&self.named())?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let ([election, coordinator, watch, heartbeat], durations) =
            (self.named(), Durations("bully"));
        let why = "the winner waits that long before it announces itself";
        vec![
            durations.longer(coordinator, election, why, self.election * 3),
            durations.repeated(heartbeat, watch, "one lost heartbeat would start an election"),
        ]
    }

    fn named(&self) -> [(&'static str, Duration); 4] {
        let Self { election, coordinator, watch, heartbeat } = *self;
        [
            ("election", election),
            ("coordinator", coordinator),
            ("watch", watch),
            ("heartbeat", heartbeat),
        ]
    }
}

impl Default for Timing {
    fn default() -> Self {
        Self::DEFAULT
    }
}

const HIGHEST_ID: Reason = Reason::new("highest_id", "no configured id is higher");
const ANSWERED: Reason = Reason::new("answered", "a higher node answered");
const UNANSWERED: Reason = Reason::new("unanswered", "no higher node answered in time");

/// A `COORDINATOR` from below the leader that the node follows.
const BELOW_LEADER: Reason = Reason::new("below_leader", "the node follows a higher leader");

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    Follower { leader: NodeId },
    Candidate,
    Waiting,
    Leader,
}

/// One node of the bully.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bully {
    state: State,
}

/// The rules, one function for each event.
impl Bully {
    /// The highest id announces itself at once; any other node sends `ELECTION` to every higher one
    /// and waits for an answer.
    fn start_election(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        let higher = cx.config().members.above(cx.id());
        if higher.is_empty() {
            return self.lead(cx, HIGHEST_ID);
        }
        self.change(cx, State::Candidate, reason);
        cx.send_all(higher, Message::Election);
        cx.arm(Timer::Election);
    }

    /// `ELECTION` from a lower node is answered with `OK`. A leader has won its own: it says so. A
    /// follower waits for its own watch, and any other node has started an election already.
    fn on_election(&self, cx: &mut Context<'_, Self>, from: NodeId) {
        cx.send(from, Message::Ok);
        if self.state == State::Leader {
            cx.send(from, Message::Coordinator);
        }
    }

    /// A candidate that is answered waits a further period for the winner's `COORDINATOR`. An
    /// answer to an election that is over says nothing.
    fn on_ok(&mut self, cx: &mut Context<'_, Self>) {
        if self.state == State::Candidate {
            self.change(cx, State::Waiting, ANSWERED);
            cx.arm(Timer::Coordinator);
        }
    }

    /// A process that receives `COORDINATOR` takes its sender for the leader, whatever it was
    /// doing, unless it follows a higher one. From the leader it follows, this is a heartbeat. A
    /// process that leads has a rival.
    fn on_coordinator(&mut self, cx: &mut Context<'_, Self>, from: NodeId) {
        if self.state == State::Leader {
            cx.rival_heard(from);
        }
        match self.state {
            State::Follower { leader } if from < leader => cx.ignore(from, BELOW_LEADER),
            _ => {
                self.change(cx, State::Follower { leader: from }, Reason::CLAIMED);
                cx.arm(Timer::Watch);
            }
        }
    }

    fn lead(&mut self, cx: &mut Context<'_, Self>, reason: Reason) {
        self.change(cx, State::Leader, reason);
        Self::claim(cx);
    }

    /// The leader sends `COORDINATOR` to all lower ids, and will again.
    fn claim(cx: &mut Context<'_, Self>) {
        let lower = cx.config().members.below(cx.id());
        cx.send_all(lower, Message::Coordinator);
        cx.arm(Timer::Heartbeat);
    }

    /// The only place where the state is written. A new role waits for nothing of the old one.
    fn change(&mut self, cx: &mut Context<'_, Self>, to: State, reason: Reason) {
        self.state = to;
        cx.cancel_all();
        cx.because(reason);
    }
}

impl Core for Bully {
    const NAME: &'static str = "bully";
    const TIMERS: &'static [Timer] =
        &[Timer::Election, Timer::Coordinator, Timer::Watch, Timer::Heartbeat];
    type Config = Config;
    type Error = SettingsError;
    type Durable = Nothing;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Nothing>) -> Result<(), SettingsError> {
        config.timing.validate()?;
        Ok(config.members.require(config.id)?)
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        match timer {
            Timer::Election => config.timing.election,
            Timer::Coordinator => config.timing.coordinator,
            Timer::Watch => config.timing.watch,
            Timer::Heartbeat => config.timing.heartbeat,
        }
    }

    /// `T_elec`: a candidate gives up on an answer that is older.
    fn message_lifetime(config: &Config) -> Duration {
        config.timing.election
    }

    /// A claim may be as old as a heartbeat when the leader falls silent.
    fn max_leader_silence(config: &Config) -> Duration {
        config.timing.watch.saturating_sub(config.timing.heartbeat)
    }

    fn typical_election(config: &Config) -> Duration {
        config.timing.watch + config.timing.election + config.timing.coordinator
    }

    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted => false,
            Role::Candidate => matches!(from, Role::NotStarted | Role::Follower | Role::Waiting),
            Role::Waiting => from == Role::Candidate,
            Role::Leader => matches!(from, Role::NotStarted | Role::Candidate),
            Role::Follower => from != Role::NotStarted,
        }
    }

    /// A node that starts, for the first time or again, starts an election.
    fn boot(cx: &mut Context<'_, Self>, _: Option<Nothing>, _: u64) -> Self {
        let mut node = Self { state: State::Candidate };
        node.start_election(cx, Reason::BOOTED);
        node
    }

    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        if (message == Message::Election) != (from < cx.id()) {
            return cx.ignore(from, Reason::WRONG_DIRECTION);
        }
        match message {
            Message::Election => self.on_election(cx, from),
            Message::Ok => self.on_ok(cx),
            Message::Coordinator => self.on_coordinator(cx, from),
        }
    }

    /// `Election`: no node answered, so none is higher, and this one leads. `Coordinator`: no node
    /// won, so there is another election. `Watch`: the leader has failed, so there is an election.
    /// `Heartbeat`: the claim is repeated.
    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match timer {
            Timer::Election => self.lead(cx, UNANSWERED),
            Timer::Coordinator => self.start_election(cx, Reason::NO_WINNER),
            Timer::Watch => self.start_election(cx, Reason::LEADER_SILENT),
            Timer::Heartbeat => Self::claim(cx),
        }
    }

    fn skippable_wait(&self, config: &Config) -> Option<(Timer, Vec<NodeId>)> {
        let higher = || config.members.above(config.id).to_vec();
        match self.state {
            State::Follower { leader } => Some((Timer::Watch, vec![leader])),
            State::Candidate => Some((Timer::Election, higher())),
            State::Waiting => Some((Timer::Coordinator, higher())),
            State::Leader => None,
        }
    }

    fn belief(&self, config: &Config) -> Belief {
        let (role, leader) = match self.state {
            State::Follower { leader } => (Role::Follower, Some(leader)),
            State::Candidate => (Role::Candidate, None),
            State::Waiting => (Role::Waiting, None),
            State::Leader => (Role::Leader, Some(config.id)),
        };
        Belief { role, leader }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::stories::{Nodes, Scripted, id, refused, unfit};
    use crate::protocol::{MemberError, Members};
    use crate::stories;

    impl Scripted for Bully {
        fn configured(id: NodeId, members: Members) -> Config {
            Config { id, members, timing: Timing::DEFAULT }
        }
    }

    #[test]
    fn stories_go_as_they_are_told() {
        stories::run::<Nodes<Bully>>("src/protocol/bully/testdata");
    }

    #[test]
    fn settings_that_contradict_themselves_are_refused() {
        let stranger = refused::<Bully>(|config| config.id = id(9));
        assert!(matches!(stranger, SettingsError::Members(MemberError::NotAMember { .. })));
        let unfit = |change: fn(&mut Timing)| unfit::<Bully>(|config| change(&mut config.timing));
        assert_eq!(unfit(|t| t.election = Duration::ZERO), ["election"]);
        assert_eq!(unfit(|t| t.coordinator = t.election), ["coordinator", "election"]);
        assert_eq!(unfit(|t| t.heartbeat = t.watch / 2), ["heartbeat", "watch"]);
    }
}

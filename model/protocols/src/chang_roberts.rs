//! The ring of Chang and Roberts: ids go round, lower ones are swallowed, and whose own id comes
//! home leads.
//!
//! E. Chang and R. Roberts, *An improved algorithm for decentralized extrema-finding in circular
//! configurations of processes*, Communications of the ACM 22(5), 1979; as an election with an
//! announcement in Coulouris et al., *Distributed Systems: Concepts and Design*, section 15.3. The
//! paper knows no failures. What it takes to survive them is rules, each a field of
//! [`ChangRoberts`]; what all rings do alike is told in [`ring`].
//!
//! State: a process is a follower, a candidate (its own id goes round), waiting (it has let a
//! higher id pass), or the leader.

use crate::ring::{
    self, Accept, Lap, Order, Orphans, Process, Restart, Ring, Role, Rounds, Rules, Timer, Watch,
};
use bellwether_engine::protocol::{
    Belief, Duration, Id, Judge, Local, Options, Property, Protocol, Rule, RuleDocs, TimerRow,
    Variant, View,
};
use bellwether_engine::temporal::{Liveness, Temporal};
use serde::{Deserialize, Serialize};

/// The rules in which the variants of the ring of Chang and Roberts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(deny_unknown_fields)]
pub struct ChangRoberts {
    /// The order of the processes in the ring.
    pub order: Order,
    /// What goes round is acknowledged; if no ACK comes in time, the next in the ring gets it.
    pub skip: bool,
    /// What becomes of a message whose originator has failed.
    pub orphans: Orphans,
    /// A process in an election that has not ended within `T_lap` starts a new one.
    pub t_lap: bool,
    /// Which process leads when its id has completed the ring.
    pub home: Home,
    /// Whose announcement is accepted.
    pub accept: Accept,
    /// What a process does when it recovers.
    pub restart: Restart,
    /// How a follower watches its leader.
    pub watch: Watch,
}

/// Which process leads when its id has completed the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, RuleDocs)]
#[serde(rename_all = "kebab-case")]
pub enum Home {
    /// Any process that gets its own id.
    Any,
    /// Only one that is still a candidate: it has heard of no higher id and of no leader since.
    Candidate,
}

/// What processes send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// "This is the highest id so far": goes round until it completes the ring.
    Election(Id),
    /// "This one leads": goes round once.
    Coordinator(Id),
    /// "I have it": back to the process that handed it on.
    Ack(Lap),
}

impl Rounds for Message {
    fn lap(&self) -> Option<Lap> {
        match *self {
            Message::Election(id) => Some(Lap::Election(id)),
            Message::Coordinator(id) => Some(Lap::Coordinator(id)),
            Message::Ack(_) => None,
        }
    }

    fn ack(lap: Lap) -> Message {
        Message::Ack(lap)
    }

    fn announces(&self) -> Option<Id> {
        match *self {
            Message::Coordinator(leader) => Some(leader),
            Message::Election(_) | Message::Ack(_) => None,
        }
    }
}

static T_HOP: Duration = ring::hop(3);
static T_LAP: Duration = ring::lap(6);
static T_DETECT: Duration = ring::detect(1);
static T_HEARTBEAT: Duration = ring::heartbeat(7);

impl Protocol for ChangRoberts {
    const NAME: &'static str = "chang-roberts";
    const SUMMARY: &'static str =
        "in a ring, the process whose own id completes the ring leads (Chang and Roberts 1979)";
    const VARIANTS: &'static [Variant<Self>] = VARIANTS;
    const TIMERS: &'static [TimerRow<Self>] =
        &ring::timers([&T_HOP, &T_LAP, &T_DETECT, &T_HEARTBEAT]);
    const PROPERTIES: &'static [Property<Judge<Self>>] = PROPERTIES;
    const RULES: fn() -> Vec<Rule> = Rule::all_of::<Self>;

    const OPTIONS: Options<Self> = Options {
        within_bounds: Some(ring::within()),
        begins_election: ring::begins_election,
        ..Options::NONE
    };

    type Process = Process<Message>;
    type Stable = ();
    type Message = Message;
    type Timer = Timer;

    /// Every process is up and follows the highest id.
    fn converged(&self, p: &mut Local<'_, Self>) {
        ring::converged(self, p);
    }

    /// A process recovers: the rule `restart`.
    fn recover(&self, p: &mut Local<'_, Self>) {
        ring::recover(self, p);
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        ring::acknowledge(self, p, from, message);
        match message {
            Message::Election(id) => self.on_election(p, id),
            Message::Coordinator(leader) => self.on_coordinator(p, leader),
            Message::Ack(lap) => ring::acknowledged(p, lap),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Hop => ring::on_silence(self, p),
            // A process that passed the election on has failed.
            Timer::Lap => self.start_election(p, "no_winner"),
            // A follower's leader has failed.
            Timer::Watch => self.start_election(p, "leader_silent"),
            Timer::Heartbeat => {
                ring::hand_on(self, p, Message::Coordinator(p.id()));
                p.arm(Timer::Heartbeat);
            }
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        ring::may_time_out(self, view, me, timer)
    }

    fn belief(process: &Process<Message>) -> Belief {
        ring::belief(process)
    }

    fn role(process: &Process<Message>) -> &'static str {
        ring::role(process)
    }
}

impl Ring<Message> for ChangRoberts {
    fn ring(&self) -> Rules {
        let &ChangRoberts { order, skip, orphans, t_lap, accept, restart, watch, .. } = self;
        Rules { order, skip, orphans, t_lap, accept, restart, watch }
    }

    /// It takes part, and sends its own id round.
    fn start_election(&self, p: &mut Local<'_, Self>, reason: &'static str) {
        p.because(reason);
        ring::take_part(self, p, Role::Candidate);
        ring::hand_on(self, p, Message::Election(p.id()));
    }

    /// A higher id may win, and so may one's own. A lower one cannot: a process that takes part
    /// swallows it.
    fn may_end_election(&self, me: Id, message: &Message) -> bool {
        match *message {
            Message::Election(id) => id >= me,
            Message::Coordinator(leader) => ring::accepts(self, me, leader),
            Message::Ack(_) => false,
        }
    }
}

/// What a process does.
impl ChangRoberts {
    /// An id comes by. A higher one is let pass. A lower one is replaced by one's own, or swallowed
    /// if one's own (or a higher one) has gone before. One's own has been all the way round: no
    /// process is higher.
    fn on_election(&self, p: &mut Local<'_, Self>, id: Id) {
        let takes_part = matches!(p.state.role, Role::Candidate | Role::Waiting);
        if id > p.id() {
            p.because("gave_way");
            ring::take_part(self, p, Role::Waiting);
            ring::hand_on(self, p, Message::Election(id));
        } else if id < p.id() {
            if !takes_part {
                self.start_election(p, "challenged");
            }
        } else if self.home == Home::Any || p.state.role == Role::Candidate {
            p.because("came_round");
            ring::take_for_leader(self, p, id);
            ring::hand_on(self, p, Message::Coordinator(id));
        }
    }

    /// An announcement comes by, and goes on unless it is one's own; the rule `accept`.
    fn on_coordinator(&self, p: &mut Local<'_, Self>, leader: Id) {
        if !ring::accepts(self, p.id(), leader) {
            ring::start_election_unless_candidate(self, p, "lower_claims");
        } else if leader != p.id() {
            p.because("claimed");
            ring::take_for_leader(self, p, leader);
            ring::hand_on(self, p, Message::Coordinator(leader));
        } else if self.accept == Accept::Any && p.state.role != Role::Leader {
            ring::take_for_leader(self, p, leader);
        }
    }
}

const PROPERTIES: &[Property<Judge<ChangRoberts>>] = &[
    ring::laps_end(),
    Property {
        name: "announcements-end",
        formula: "◇□ ¬∃ announcement in flight: down(its leader)",
        meaning: "no announcement of a leader that has failed goes round for ever",
        by_default: false,
        premise: None,
        temporal: Temporal::Liveness(Liveness::EventuallyAlways(|_, view| {
            let dead = |message: Message| message.announces().is_some_and(|id| !view.up(id));
            !view.in_flight(|_, _, message| dead(message))
        })),
    },
    Property {
        name: "only-the-highest-leads",
        formula: "□ ∀ up i: leads(i) ⇒ i = max{j: up(j)}",
        meaning: "no process leads but the highest live id (E1 in Coulouris et al., section 15.3)",
        by_default: false,
        premise: None,
        temporal: Temporal::Always(|_, view| {
            let mut live = view.ids().rev().filter(|&id| view.up(id)).skip(1);
            live.all(|id| view.process(id).role != Role::Leader)
        }),
    },
];

const VARIANTS: &[Variant<ChangRoberts>] = &[
    Variant {
        name: "recommended",
        source: "repaired; without any of its rules but the order, a property fails that holds \
                 with it",
        rules: ChangRoberts::RECOMMENDED,
    },
    Variant {
        name: "published",
        source: "Chang and Roberts 1979, where no process fails; so also the course lesson's class \
                 RingElection",
        rules: ChangRoberts::PUBLISHED,
    },
    Variant {
        name: "lesson-robust",
        source: "course lesson, class RobustRingElection (backup successors), as it was meant",
        rules: ChangRoberts { skip: true, ..ChangRoberts::PUBLISHED },
    },
];

impl ChangRoberts {
    /// The repaired ring.
    pub const RECOMMENDED: ChangRoberts = ChangRoberts {
        order: Order::Ascending,
        skip: true,
        orphans: Orphans::Removed,
        t_lap: true,
        home: Home::Candidate,
        accept: Accept::NotLowerThanSelf,
        restart: Restart::Nothing,
        watch: Watch::Announcement,
    };

    /// The ring of the paper. It knows no failures; what a follower does when the leader is gone,
    /// and a process that recovers, is what the textbooks say of elections: it holds one.
    pub const PUBLISHED: ChangRoberts = ChangRoberts {
        order: Order::Ascending,
        skip: false,
        orphans: Orphans::Circulate,
        t_lap: false,
        home: Home::Any,
        accept: Accept::Any,
        restart: Restart::Election,
        watch: Watch::Answer,
    };
}

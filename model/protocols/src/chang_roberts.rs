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

use crate::ring::{self, Accept, Lap, Order, Orphans, Restart, Ring, Role, Rounds, Rules, Watch};
use bellwether_engine::protocol::{
    Id, Judge, Local, Property, TimerRow, Variant, event_type, rule_type,
};

/// The rules in which the variants of the ring of Chang and Roberts differ.
#[rule_type]
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
#[rule_type]
pub enum Home {
    /// Any process that gets its own id.
    Any,
    /// Only one that is still a candidate: it has heard of no higher id and of no leader since.
    Candidate,
}

/// What processes send to each other.
#[event_type]
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

protocol_by! { ring: ChangRoberts,
    "chang-roberts",
    "in a ring, the process whose own id completes the ring leads (Chang and Roberts 1979)";
    ring::Process<Message>, (), Message
}

const TIMERS: &[TimerRow<ChangRoberts>] = &ring::timers(&ring::T_LAP);

impl Ring<Message> for ChangRoberts {
    fn ring(&self) -> Rules {
        let &ChangRoberts { order, skip, orphans, t_lap, accept, restart, watch, .. } = self;
        Rules { order, skip, orphans, t_lap, accept, restart, watch }
    }

    /// It takes part, and sends its own id round.
    fn start_election(&self, p: &mut Local<'_, Self>, reason: &'static str) {
        p.because(reason);
        self.take_part(p, Role::Candidate);
        self.hand_on(p, Message::Election(p.id()));
    }

    /// A higher id may win, and so may one's own. A lower one cannot: a process that takes part
    /// swallows it.
    fn may_end_election(&self, me: Id, message: &Message) -> bool {
        match *message {
            Message::Election(id) => id >= me,
            Message::Coordinator(leader) => self.accepts(me, leader),
            Message::Ack(_) => false,
        }
    }

    fn arrives(&self, p: &mut Local<'_, Self>, message: Message) {
        match message {
            Message::Election(id) => self.on_election(p, id),
            Message::Coordinator(leader) => self.on_coordinator(p, leader),
            Message::Ack(lap) => ring::acknowledged(p, lap),
        }
    }

    fn announce(&self, p: &mut Local<'_, Self>, leader: Id) {
        self.hand_on(p, Message::Coordinator(leader));
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
            self.take_part(p, Role::Waiting);
            self.hand_on(p, Message::Election(id));
        } else if id < p.id() {
            if !takes_part {
                self.start_election(p, "challenged");
            }
        } else if self.home == Home::Any || p.state.role == Role::Candidate {
            p.because("came_round");
            self.take_for_leader(p, id);
            self.hand_on(p, Message::Coordinator(id));
        }
    }

    /// An announcement comes by, and goes on unless it is one's own; the rule `accept`.
    fn on_coordinator(&self, p: &mut Local<'_, Self>, leader: Id) {
        if !self.accepts(p.id(), leader) {
            self.start_election_unless_candidate(p, "lower_claims");
        } else if leader != p.id() {
            p.because("claimed");
            self.take_for_leader(p, leader);
            self.hand_on(p, Message::Coordinator(leader));
        } else if self.accept == Accept::Any && p.state.role != Role::Leader {
            self.take_for_leader(p, leader);
        }
    }
}

const PROPERTIES: &[Property<Judge<ChangRoberts>>] = property_table! {
    use ring::laps_end();
    "announcements-end" asked: "◇□ ¬∃ announcement in flight: down(its leader)",
        "no announcement of a leader that has failed goes round for ever";
        EventuallyAlways(ring::none_announces_the_dead);
    "only-the-highest-leads" asked: "□ ∀ up i: leads(i) ⇒ i = max{j: up(j)}",
        "no process leads but the highest live id (E1 in Coulouris et al., section 15.3)";
        Always(|_, view| {
            view.live().rev().skip(1).all(|id| view.process(id).role != Role::Leader)
        });
};

const VARIANTS: &[Variant<ChangRoberts>] = variant_table! { ChangRoberts:
    "recommended":
        "repaired; without any of its rules but the order, a property fails that holds with it"
        => RECOMMENDED;
    "published":
        "Chang and Roberts 1979, where no process fails; so also the course lesson's class \
         RingElection"
        => PUBLISHED;
    "lesson-robust": "course lesson, class RobustRingElection (backup successors), as it was meant"
        => PUBLISHED { skip: true };
};

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

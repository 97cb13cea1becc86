//! The ring with lists: a message collects the ids of all who live; who began it announces the
//! highest.
//!
//! As told by Tanenbaum and van Steen, *Distributed Systems* (election algorithms), who owe the
//! idea that every id goes all the way round to G. Le Lann, *Distributed systems: towards a formal
//! approach*, IFIP Congress 1977. Its variants differ in when a lap is over; what it takes to
//! survive the failure of a process on the way is rules too, each a field of [`ListRing`]. What all
//! rings do alike is told in [`ring`].
//!
//! State: a process is a follower, a candidate (its list goes round), or the leader. Other
//! processes' lists pass by and change nothing.

use crate::ring::{self, Accept, Lap, Order, Orphans, Restart, Ring, Role, Rounds, Rules, Watch};
use bellwether_engine::protocol::{
    Duration, Id, Judge, Local, Property, TimerRow, Variant, event_type, rule_type,
};

mod list;

pub use list::List;

/// The rules in which the variants of the ring with lists differ.
#[rule_type]
pub struct ListRing {
    /// The order of the processes in the ring.
    pub order: Order,
    /// What goes round is acknowledged; if no ACK comes in time, the next in the ring gets it.
    pub skip: bool,
    /// What becomes of a message whose originator has failed.
    pub orphans: Orphans,
    /// A process whose list has not completed the ring within `T_lap` starts a new election.
    pub t_lap: bool,
    /// How it is known that a list has completed the ring.
    pub home: Home,
    /// Which process decides when a list has completed the ring.
    pub decides: Decides,
    /// Whose announcement is accepted.
    pub accept: Accept,
    /// What a process does when it recovers.
    pub restart: Restart,
    /// How a follower watches its leader.
    pub watch: Watch,
}

/// How it is known that a list has completed the ring.
#[rule_type]
pub enum Home {
    /// It begins with one's own id.
    First,
    /// One's own id is in it.
    Listed,
}

/// Which process decides when a list has completed the ring.
#[rule_type]
pub enum Decides {
    /// Any process that the list has reached again.
    Any,
    /// Only one that is still a candidate: it has heard of no leader since.
    Candidate,
}

/// What processes send to each other.
#[event_type]
pub enum Message {
    /// "These are up": goes round, and every process adds itself.
    Election(List),
    /// "This one leads": goes round once, and every process adds itself.
    Coordinator {
        /// The leader.
        leader: Id,
        /// Whom the announcement has passed.
        list: List,
    },
    /// "I have it": back to the process that handed it on.
    Ack(Lap),
}

impl Rounds for Message {
    fn lap(&self) -> Option<Lap> {
        match self {
            Message::Election(list) => Some(Lap::Election(list.first())),
            Message::Coordinator { list, .. } => Some(Lap::Coordinator(list.first())),
            Message::Ack(_) => None,
        }
    }

    fn ack(lap: Lap) -> Message {
        Message::Ack(lap)
    }

    fn announces(&self) -> Option<Id> {
        match *self {
            Message::Coordinator { leader, .. } => Some(leader),
            Message::Election(_) | Message::Ack(_) => None,
        }
    }
}

static T_LAP: Duration = Duration { enough: Some(8), ..ring::T_LAP };

protocol_by! { ring: ListRing,
    "list-ring",
    "in a ring, a list of all that live goes round, and the highest in it leads (Tanenbaum)";
    ring::Process<Message>, (), Message
}

const TIMERS: &[TimerRow<ListRing>] = &ring::timers(&T_LAP);

impl Ring<Message> for ListRing {
    fn ring(&self) -> Rules {
        let &ListRing { order, skip, orphans, t_lap, accept, restart, watch, .. } = self;
        Rules { order, skip, orphans, t_lap, accept, restart, watch }
    }

    /// It sends a list round, itself the first in it.
    fn start_election(&self, p: &mut Local<'_, Self>, reason: &'static str) {
        p.because(reason);
        self.take_part(p, Role::Candidate);
        self.hand_on(p, Message::Election(List::of(p.id())));
    }

    /// One's own list may complete the ring, and so may the announcement of another's.
    fn may_end_election(&self, me: Id, message: &Message) -> bool {
        match message {
            Message::Election(list) => list.first() == me,
            Message::Coordinator { leader, .. } => self.accepts(me, *leader),
            Message::Ack(_) => false,
        }
    }

    fn arrives(&self, p: &mut Local<'_, Self>, message: Message) {
        match message {
            Message::Election(list) => self.on_election(p, list),
            Message::Coordinator { leader, list } => self.on_coordinator(p, leader, list),
            Message::Ack(lap) => ring::acknowledged(p, lap),
        }
    }

    fn announce(&self, p: &mut Local<'_, Self>, leader: Id) {
        self.hand_on(p, Message::Coordinator { leader, list: List::of(p.id()) });
    }
}

/// What a process does.
impl ListRing {
    /// A list comes by. A process that is not in it adds itself and hands it on. When it has
    /// completed the ring, the highest in it leads.
    fn on_election(&self, p: &mut Local<'_, Self>, list: List) {
        if !self.is_home(p, list) {
            self.hand_on(p, Message::Election(list.with(p.id())));
        } else if self.decides == Decides::Any || p.state.role == Role::Candidate {
            p.because("chosen");
            self.take_for_leader(p, list.highest());
            self.announce(p, list.highest());
        }
    }

    /// An announcement comes by, and goes on unless it has completed the ring; the rule `accept`.
    fn on_coordinator(&self, p: &mut Local<'_, Self>, leader: Id, list: List) {
        if self.is_home(p, list) {
            return;
        }
        if !self.accepts(p.id(), leader) {
            return self.start_election_unless_candidate(p, "lower_claims");
        }
        p.because(if leader == p.id() { "chosen" } else { "claimed" });
        self.take_for_leader(p, leader);
        self.hand_on(p, Message::Coordinator { leader, list: list.with(p.id()) });
    }

    fn is_home(&self, p: &Local<'_, Self>, list: List) -> bool {
        match self.home {
            Home::First => list.first() == p.id(),
            Home::Listed => list.contains(p.id()),
        }
    }
}

const PROPERTIES: &[Property<Judge<ListRing>>] = property_table! {
    use ring::laps_end();
    "one-result" asked: "□ ∀ announcements a, b in flight: leader(a) = leader(b)",
        "elections at the same time have the same result";
        Always(|_, view| {
            let differ = |a: Option<Id>, b: Option<Id>| a.is_some() && b.is_some() && a != b;
            let other = |a| view.in_flight(|_, _, b| differ(a, b.announces()));
            !view.in_flight(|_, _, a| other(a.announces()))
        });
    "announces-the-living" asked: "□ ∀ announcement a in flight: up(leader(a))",
        "a process that is announced is up";
        Always(ring::none_announces_the_dead);
};

/// Where a text is silent, its variant gets the rule of [`ListRing::TANENBAUM`].
const VARIANTS: &[Variant<ListRing>] = variant_table! { ListRing:
    "recommended": "repaired: what lasts holds after crashes, recoveries and lost messages"
        => RECOMMENDED;
    "tanenbaum": "Tanenbaum and van Steen, Distributed Systems (election algorithms, ring)"
        => TANENBAUM;
    "clustering": "article on clustered software, 2016 (Ring algorithm, steps 1 to 5)"
        => TANENBAUM { restart: Restart::Nothing };
    "lecture":
        "lecture notes (Ring Election: the process that started a list sees its number in it)"
        => TANENBAUM { home: Home::First };
};

impl ListRing {
    /// The repaired ring.
    pub const RECOMMENDED: ListRing = ListRing {
        order: Order::Ascending,
        skip: true,
        orphans: Orphans::Removed,
        t_lap: true,
        home: Home::First,
        decides: Decides::Candidate,
        accept: Accept::NotLowerThanSelf,
        restart: Restart::Nothing,
        watch: Watch::Announcement,
    };

    /// The ring of the textbook: who finds its own id in a list decides; the announcement goes
    /// round once.
    pub const TANENBAUM: ListRing = ListRing {
        order: Order::Ascending,
        skip: true,
        orphans: Orphans::Circulate,
        t_lap: false,
        home: Home::Listed,
        decides: Decides::Any,
        accept: Accept::Any,
        restart: Restart::Election,
        watch: Watch::Answer,
    };
}

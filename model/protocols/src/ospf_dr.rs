//! The election of the designated router (DR) of a network, as OSPF does it: RFC 2328, *OSPF
//! Version 2* (J. Moy, 1998), sections 9.1 to 9.5, 10.1 to 10.3 and 10.5.
//!
//! On a network that many routers share, one of them speaks for it (the DR), and one stands ready
//! to take over (the backup, BDR). Every router says in a Hello, again and again, whom it hears and
//! whom it takes for the two, and each calculates them anew for itself when what it hears
//! changes. There are no other messages, and no router asks another.
//!
//! Left out: everything that OSPF does once the two are known (adjacencies, databases), other kinds
//! of network than broadcast, and the parameters that a Hello carries to be compared. The order of
//! ids is that of (Router Priority, Router ID). Priorities do not change while a router runs; the
//! priority of 0, with which a router can become neither, is the rule `eligible`.

use bellwether_engine::protocol::{
    Belief, Elects, Id, Ids, Judge, Local, MAX_SEARCHED, Options, Property, Protocol, Rule,
    TimerRow, Variant, View,
};
use serde::{Deserialize, Serialize};

mod durations;
mod election;
mod properties;
mod rules;
mod timers;
mod timing;
mod variants;

pub use rules::{Eligible, OspfDr};
pub use timers::Timer;

/// The state of a router's interface to the network (section 9.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interface {
    /// It does not run.
    #[default]
    Down,
    /// It has come up and listens whether there are a DR and a BDR already.
    Waiting,
    /// It is neither.
    DrOther,
    /// It is the BDR.
    Backup,
    /// It is the DR.
    Dr,
}

/// What a router says of itself in its Hellos.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Declares {
    /// That it is neither.
    #[default]
    Neither,
    /// That it is the BDR, and not the DR.
    Backup,
    /// That it is the DR.
    Dr,
}

/// What a router knows of a neighbour: its state (section 10.1; all above 2-Way are 2-Way here),
/// and, once it is 2-Way, what the neighbour said of itself last (section 10).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Neighbor {
    /// It has not been heard for `RouterDeadInterval`.
    #[default]
    Down,
    /// It has been heard, but does not hear this router, as far as is known.
    Init,
    /// Each hears the other.
    TwoWay(Declares),
}

/// The state of one router.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Process {
    /// The state of its interface.
    pub interface: Interface,
    /// Whom it takes for the DR.
    pub dr: Option<Id>,
    /// Whom it takes for the BDR.
    pub bdr: Option<Id>,
    /// What it knows of the others, in the order of ids.
    pub neighbors: [Neighbor; MAX_SEARCHED],
}

/// What routers send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// "I am here" (section 9.5). It is one packet to all; here it is one to each.
    Hello {
        /// Whom the sender has heard lately.
        seen: Ids,
        /// Whom it takes for the DR, if for any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        dr: Option<Id>,
        /// Whom it takes for the BDR, if for any.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bdr: Option<Id>,
    },
}

impl Protocol for OspfDr {
    const NAME: &'static str = "ospf-dr";
    const SUMMARY: &'static str =
        "a network's designated router and its backup; a router in office stays (OSPF, RFC 2328)";
    const VARIANTS: &'static [Variant<Self>] = variants::ALL;
    const TIMERS: &'static [TimerRow<Self>] = timers::ROWS;
    const PROPERTIES: &'static [Property<Judge<Self>>] = properties::ALL;
    const RULES: fn() -> Vec<Rule> = Rule::all_of::<Self>;

    const OPTIONS: Options<Self> = Options {
        // A router in office stays; only if a better one takes over at once is it always the
        // highest.
        elects: |rules| match (rules.preempt, rules.eligible) {
            (true, Eligible::All) => Elects::Highest,
            _ => Elects::Any,
        },
        // An election starts when a router calculates, and another DR comes out than before.
        begins_election: |before, after, _| {
            after.dr != before.dr && after.interface != Interface::Down
        },
        // It has a list of its neighbors.
        most: MAX_SEARCHED,
        ..Options::NONE
    };

    type Process = Process;
    type Stable = ();
    type Message = Message;
    type Timer = Timer;

    /// Every router hears every other, and the two highest that are eligible are in office.
    fn converged(&self, p: &mut Local<'_, Self>) {
        let mut best = Id::all(p.nodes()).rev().filter(|&id| self.may_lead(id, p.nodes()));
        (p.state.dr, p.state.bdr) = (best.next(), best.next());
        let office = *p.state;
        for id in p.others() {
            let declares = office.declares(id);
            p.state.neighbors[id.index()] = Neighbor::TwoWay(declares);
            p.arm(Timer::Inactivity(id));
        }
        p.state.take_office(p.id());
        p.arm(Timer::Hello);
    }

    /// `InterfaceUp` (section 9.3): Hellos are sent from now on. Who may become DR or BDR listens
    /// first (`Waiting`), for `RouterDeadInterval`; who may not is `DROther` at once.
    fn recover(&self, p: &mut Local<'_, Self>) {
        p.arm(Timer::Hello);
        if !self.may_lead(p.id(), p.nodes()) {
            p.state.interface = Interface::DrOther;
        } else if self.waiting {
            p.state.interface = Interface::Waiting;
            p.arm(Timer::Wait);
        } else {
            self.elect(p);
        }
    }

    /// A Hello arrives (section 10.5).
    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        let Message::Hello { seen, dr, bdr } = message;
        p.arm(Timer::Inactivity(from));
        // `HelloReceived`; then `2-WayReceived` if this router stands in it, else `1-WayReceived`,
        // and nothing else in it is looked at.
        let is = if seen.contains(p.id()) || !self.two_way {
            Neighbor::TwoWay(Declares::of(from, dr, bdr))
        } else {
            Neighbor::Init
        };
        let was = std::mem::replace(&mut p.state.neighbors[from.index()], is);
        match (p.state.interface, is) {
            // `BackupSeen` (section 9.2): there is a BDR, or a DR that says that there is none.
            (Interface::Waiting, Neighbor::TwoWay(Declares::Backup)) => self.elect(p),
            (Interface::Waiting, Neighbor::TwoWay(Declares::Dr)) if bdr.is_none() => self.elect(p),
            (Interface::Waiting, _) => {}
            // `NeighborChange` (section 9.2): it is heard in both directions now, or no longer,
            // or declares itself to be something else.
            _ if was.listed() != is.listed() => self.elect(p),
            _ => {}
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            Timer::Hello => {
                let hello = p.state.hello();
                p.send_to_others(hello);
                p.arm(Timer::Hello);
            }
            // `WaitTimer` (section 9.3): it has listened for long enough.
            Timer::Wait => self.elect(p),
            // `InactivityTimer` (section 10.3): the neighbour has not been heard for too long.
            Timer::Inactivity(id) => {
                let was = std::mem::take(&mut p.state.neighbors[id.index()]);
                if was.listed().is_some() && p.state.interface != Interface::Waiting {
                    self.elect(p);
                }
            }
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        timing::may_time_out(self, view, me, timer)
    }

    fn belief(process: &Process) -> Belief {
        match (process.interface, process.dr) {
            (Interface::Dr, _) => Belief::Leads,
            (Interface::DrOther | Interface::Backup, Some(dr)) => Belief::Follows(dr),
            _ => Belief::Undecided,
        }
    }

    fn role(process: &Process) -> &'static str {
        match process.interface {
            Interface::Down => "down",
            Interface::Waiting => "waiting",
            Interface::DrOther => "DROther",
            Interface::Backup => "backup",
            Interface::Dr => "DR",
        }
    }
}

impl Process {
    /// What the router says in its next Hello.
    fn hello(&self) -> Message {
        let heard = |id: &Id| self.neighbors[id.index()] != Neighbor::Down;
        let seen = Id::all(MAX_SEARCHED).filter(heard).collect();
        Message::Hello { seen, dr: self.dr, bdr: self.bdr }
    }

    /// What `id` is, as far as this router knows.
    fn declares(&self, id: Id) -> Declares {
        Declares::of(id, self.dr, self.bdr)
    }

    /// Step 5 of the election (section 9.4): the state of the interface follows.
    fn take_office(&mut self, me: Id) {
        self.interface = match self.declares(me) {
            Declares::Dr => Interface::Dr,
            Declares::Backup => Interface::Backup,
            Declares::Neither => Interface::DrOther,
        };
    }
}

impl Declares {
    /// What `id` says of itself by naming these two.
    fn of(id: Id, dr: Option<Id>, bdr: Option<Id>) -> Declares {
        if dr == Some(id) {
            Declares::Dr
        } else if bdr == Some(id) {
            Declares::Backup
        } else {
            Declares::Neither
        }
    }
}

impl Neighbor {
    /// What it says of itself, if it counts: only who is 2-Way does.
    fn listed(self) -> Option<Declares> {
        match self {
            Neighbor::TwoWay(declares) => Some(declares),
            Neighbor::Down | Neighbor::Init => None,
        }
    }
}

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
    Belief, Effects, Elects, Id, Ids, Judge, Local, MAX_SEARCHED, Options, Property, Protocol,
    TimerRow, Timers, Variant, View, duration_table, event_type, rule_type, state_type,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use smallvec::SmallVec;

/// The rules of the election that are worth a question.
#[rule_type]
pub struct OspfDr {
    /// The highest is the DR and the second highest the BDR, no matter which are in office.
    pub preempt: bool,
    /// A router that comes up listens before it calculates.
    pub waiting: bool,
    /// Only a neighbour that hears this router counts.
    pub two_way: bool,
    /// A router that has come into office, or out of it, by calculating calculates once more.
    pub repeat: bool,
    /// Which router may become DR or BDR.
    pub eligible: Eligible,
}

/// Which router may become DR or BDR: every router whose priority is not 0.
#[rule_type]
pub enum Eligible {
    /// Every router.
    All,
    /// Every router but the one with the highest id.
    AllButHighest,
    /// No router but the one with the highest id.
    OnlyHighest,
}

impl OspfDr {
    /// Whether the priority of `id`, one of `nodes`, is not 0.
    fn may_lead(&self, id: Id, nodes: usize) -> bool {
        let highest = id.index() + 1 == nodes;
        match self.eligible {
            Eligible::All => true,
            Eligible::AllButHighest => !highest,
            Eligible::OnlyHighest => highest,
        }
    }
}

/// The state of a router's interface to the network (section 9.1).
#[state_type]
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
#[state_type]
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
#[state_type]
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
#[state_type]
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
#[event_type]
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

/// What a router waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// The next Hello is due (`HelloInterval`).
    Hello,
    /// A router that has come up listens (`Wait Timer`).
    Wait,
    /// A neighbour has to be heard again (`Inactivity Timer`).
    Inactivity(Id),
}

const fn inactivity(at: usize) -> TimerRow<OspfDr> {
    TimerRow::fixed(Timer::Inactivity(Id::at(at)), &T_DEAD)
}

/// A timer's name, as it stands in traces: `inactivity-3` waits for router 3.
impl Serialize for Timer {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Timer::Hello => serializer.serialize_str("hello"),
            Timer::Wait => serializer.serialize_str("wait"),
            Timer::Inactivity(id) => serializer.collect_str(&format_args!("inactivity-{id}")),
        }
    }
}

impl<'de> Deserialize<'de> for Timer {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let name_of = |timer: &Timer| bellwether_engine::words::plain(timer);
        let mut known = OspfDr::TIMERS.iter().map(|row| row.timer);
        known
            .find(|timer| name_of(timer) == name.replace('-', " "))
            .ok_or_else(|| serde::de::Error::custom(format!("there is no timer {name:?}")))
    }
}

duration_table! {
    T_HELLO: "how long a router waits before it says Hello again", 3;
    // By the standard this duration and the next are one, `RouterDeadInterval`; they wait for
    // different things.
    T_DEAD: "how long a neighbour may be silent before it is down", 5;
    T_WAIT: "how long a router that has come up listens", 8;
}

const TIMERS: &[TimerRow<OspfDr>] = &[
    TimerRow::fixed(Timer::Hello, &T_HELLO).periodic(all_are_told),
    TimerRow::fixed(Timer::Wait, &T_WAIT).armed_if(|rules| rules.waiting),
    inactivity(0),
    inactivity(1),
    inactivity(2),
    inactivity(3),
    inactivity(4),
    inactivity(5),
    inactivity(6),
];

impl Protocol for OspfDr {
    const NAME: &'static str = "ospf-dr";
    const SUMMARY: &'static str =
        "a network's designated router and its backup; a router in office stays (OSPF, RFC 2328)";
    parts!(Process, (), Message, Timer);

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
        match timer {
            // It only paces: the last Hello has arrived everywhere.
            Timer::Hello => !view.in_flight(|from, _, _| from == me),
            Timer::Wait => view.ids().all(|id| id == me || self.has_said_all(view, me, id)),
            Timer::Inactivity(id) => is_silent(view, me, id),
        }
    }

    fn belief(process: &Process) -> Belief {
        let follows = matches!(process.interface, Interface::DrOther | Interface::Backup);
        Belief::of(process.interface == Interface::Dr, process.dr.filter(|_| follows))
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

/// Those among whom the choice is, ascending, each with what it says of itself.
type List = SmallVec<[(Id, Declares); 7]>;

/// The calculation of DR and BDR: RFC 2328, section 9.4, step by step.
impl OspfDr {
    /// "Router X calculates the two anew."
    fn elect(&self, p: &mut Local<'_, Self>) {
        // 1. Keep in mind who is in office.
        let before = p.state.declares(p.id());
        // 2. and 3.
        self.calculate(p);
        // 4. If X has come into office, or out of it, by this, once more: as DR it can no longer be
        //    the backup, so that no router ends as both.
        if p.state.declares(p.id()) != before && self.repeat {
            self.calculate(p);
        }
        // 5. The state of the interface follows.
        if p.state.interface == Interface::Waiting {
            p.cancel(Timer::Wait);
        }
        p.state.take_office(p.id());
    }

    /// Steps 2 and 3.
    fn calculate(&self, p: &mut Local<'_, Self>) {
        let list = self.list(p);
        if self.preempt {
            let mut best = list.iter().rev().map(|&(id, _)| id);
            (p.state.dr, p.state.bdr) = (best.next(), best.next());
            return;
        }
        let declared = |office| highest(&list, |d| d == office);
        // 2. The BDR is never one that declares itself DR. It is the highest of those that declare
        //    themselves BDR; if none does, the highest of all the others.
        let bdr = declared(Declares::Backup).or_else(|| highest(&list, |d| d != Declares::Dr));
        // 3. The DR is the highest of those that declare themselves DR; if none does, the new BDR
        //    is promoted.
        p.state.dr = declared(Declares::Dr).or(bdr);
        p.state.bdr = bdr;
    }

    /// Router X itself, and its neighbours that are 2-Way; without those of priority 0.
    fn list(&self, p: &Local<'_, Self>) -> List {
        let own = |id: Id| match id == p.id() {
            true => Some(p.state.declares(id)),
            false => p.state.neighbors[id.index()].listed(),
        };
        let eligible = Id::all(p.nodes()).filter(|&id| self.may_lead(id, p.nodes()));
        eligible.filter_map(|id| own(id).map(|declares| (id, declares))).collect()
    }
}

/// The highest that says such a thing of itself: the order of ids is that of priority, and among
/// equals that of Router IDs.
fn highest(list: &List, wanted: impl Fn(Declares) -> bool) -> Option<Id> {
    list.iter().rev().find(|&&(_, declares)| wanted(declares)).map(|&(id, _)| id)
}

/// The next Hello changes nothing that any router knows.
fn all_are_told(rules: &OspfDr, view: &View<'_, OspfDr>, me: Id) -> bool {
    view.ids().all(|id| {
        let hears = id != me && view.up(id) && view.hears(id, me);
        !hears || !rules.is_news(view, me, id, view.process(me).hello())
    })
}

impl OspfDr {
    /// `RouterDeadInterval` of listening: each of two that can hear each other knows it, and what
    /// the other has to say of the DR and BDR has been heard: it does not end the waiting, and will
    /// not because a router is gone.
    fn has_said_all(&self, view: &View<'_, Self>, me: Id, other: Id) -> bool {
        let news = view.in_flight(|from, to, hello| {
            from == other && to == me && self.is_news(view, from, to, hello)
        });
        if news || !view.links(me, other) {
            return !news;
        }
        let knows = |a: Id, b: Id| view.process(a).neighbors[b.index()].listed().is_some();
        let is = view.process(other);
        let ends = match is.interface {
            Interface::Backup => true,
            Interface::Dr => is.bdr.is_none(),
            Interface::Down | Interface::Waiting | Interface::DrOther => false,
        };
        let silent =
            |gone| view.armed(other, Timer::Inactivity(gone)) && is_silent(view, other, gone);
        knows(me, other) && knows(other, me) && !ends && !view.ids().any(silent)
    }

    /// Whether this Hello would change what its receiver knows.
    fn is_news(&self, view: &View<'_, Self>, from: Id, to: Id, hello: Message) -> bool {
        let mut knows = *view.process(to);
        let mut effects = Effects::new();
        let nothing = ((), Timers::NONE);
        let mut p = Local::new(to, view.nodes, nothing, &mut knows, &mut effects);
        self.receive(&mut p, from, hello);
        knows != *view.process(to)
    }
}

/// No Hello of `other` is on its way to `me`, and none will be.
fn is_silent(view: &View<'_, OspfDr>, me: Id, other: Id) -> bool {
    !view.hears(me, other) && !view.in_flight(|from, to, _| from == other && to == me)
}

const PROPERTIES: &[Property<Judge<OspfDr>>] = property_table! {
    "never-both": "□ ∀ up i: ¬(dr(i) = i ∧ bdr(i) = i)",
        "no router takes itself for both (RFC 2328, section 9.4, step 4)";
        Always(|_, view| {
            view.ids().all(|id| [view.process(id).dr, view.process(id).bdr] != [Some(id); 2])
        });
    "backup-settles":
        "◇□ ∀ up i, j: bdr(i) = bdr(j) ∧ (up(bdr(i)) ∧ bdr(i) ≠ dr(i) ∨ fewer than two may be)",
        "in the end all agree on one live backup besides the DR, if there are two to choose";
        EventuallyAlways(backup_settled);
    "dr-hears": "◇□ ∀ up i: follows(i, l) ∧ up(l) ⇒ l hears i",
        "in the end no router relies on a DR that does not hear it";
        EventuallyAlways(dr_hears);
};

fn backup_settled(rules: &OspfDr, view: &View<'_, OspfDr>) -> bool {
    let may = view.live().filter(|&id| rules.may_lead(id, view.nodes)).count();
    let Some(first) = view.live().next().map(|id| view.process(id)) else { return true };
    view.agree(|id| Some(view.process(id).bdr))
        && match first.bdr {
            Some(bdr) => may >= 2 && view.up(bdr) && first.dr != Some(bdr),
            None => may < 2,
        }
}

fn dr_hears(_: &OspfDr, view: &View<'_, OspfDr>) -> bool {
    view.live().all(|id| match OspfDr::belief(view.process(id)) {
        Belief::Follows(dr) => !view.up(dr) || view.hears(dr, id),
        Belief::Leads | Belief::Undecided => true,
    })
}

const VARIANTS: &[Variant<OspfDr>] = variant_table! { OspfDr:
    "rfc2328": "RFC 2328, section 9.4" => RFC2328;
    "preempting": "what the names lead one to expect: the highest is the DR, the next one the BDR"
        => RFC2328 { preempt: true };
    "without-waiting": "RFC 2328 without the state Waiting (sections 9.1, 9.3)"
        => RFC2328 { waiting: false };
    "one-way":
        "RFC 2328, but every router that is heard counts (against section 9.4, first paragraph)"
        => RFC2328 { two_way: false };
    "without-repeat": "RFC 2328 without step 4 of section 9.4" => RFC2328 { repeat: false };
};

impl OspfDr {
    /// The election as the standard has it; no router has the priority 0.
    pub const RFC2328: OspfDr = OspfDr {
        preempt: false,
        waiting: true,
        two_way: true,
        repeat: true,
        eligible: Eligible::All,
    };
}

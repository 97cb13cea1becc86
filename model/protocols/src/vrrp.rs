//! The election of the active router of a virtual router, as VRRP does it: RFC 9568, *Virtual
//! Router Redundancy Protocol Version 3* (A. Lindem, A. Dogra, 2024), sections 6.1 to 6.4.
//!
//! One router of a network answers for an address that all of them stand for (it is Active), and
//! says so again and again in an ADVERTISEMENT. A Backup that has not heard one for too long
//! becomes Active itself. Only the Active one ever speaks, and no router knows how many others
//! there are.
//!
//! The order of ids is that of priority, or, by the rule `priorities`, that of addresses among
//! equals. The time-out `Active_Down_Interval` is 3 · `Advertisement_Interval` + `Skew_Time`, and
//! `Skew_Time` is the shorter the higher the priority: here one step more for each router of a
//! higher priority. Left out: what being Active means for packets (`Accept_Mode`, ARP, Neighbor
//! Discovery), and intervals that differ from router to router.

use bellwether_engine::protocol::{
    Belief, Effect, Effects, Elects, Id, Judge, Local, Options, Property, Protocol, Variant, View,
    duration_table, event_type, rule_type, state_type,
};

/// The rules of the election that can be set, or are worth a question.
#[rule_type]
pub struct Vrrp {
    /// `Preempt_Mode`: a Backup does not heed an Active router of a lower priority.
    pub preempt: bool,
    /// `Skew_Time`: a Backup waits the longer the lower its priority.
    pub skew: bool,
    /// An Active router contradicts one of a lower priority at once.
    pub asserts: bool,
    /// Whether priorities differ.
    pub priorities: Priorities,
    /// The highest router owns the address: its priority is 255.
    pub owner: bool,
    /// The router that is Active at first is shut down in an orderly way at some moment, once, and
    /// starts again.
    pub restart: bool,
    /// How a router that starts waits, so that it does not preempt at once.
    ///
    /// The standard has no such delay; keepalived calls it `preempt_delay`.
    pub preempt_delay: PreemptDelay,
}

/// How a router that starts waits, so that it does not preempt at once.
#[rule_type]
pub enum PreemptDelay {
    /// It does not.
    None,
    /// For a time it heeds an Active router of a lower priority.
    BeforePreemption,
    /// For a time it does not become Active, even if no router is.
    BeforeAll,
}

/// Whether priorities differ.
#[rule_type]
pub enum Priorities {
    /// A router with a higher id has a higher priority.
    Distinct,
    /// All have the same; a router with a higher id has a higher address.
    Equal,
}

/// The priority of the owner of the address (section 5.2.4).
const OWNER: u8 = 255;
/// The priority of who is configured with none (section 6.1).
const DEFAULT: u8 = 100;

impl Vrrp {
    /// The priority of `id`, one of `nodes`.
    fn priority(&self, id: Id, nodes: usize) -> u8 {
        match self.priorities {
            _ if self.owner && id.index() + 1 == nodes => OWNER,
            Priorities::Distinct => DEFAULT + id.number(),
            Priorities::Equal => DEFAULT,
        }
    }
}

/// The state of a virtual router in one router (section 6.3).
#[state_type]
pub enum Phase {
    /// It waits for a Startup event.
    #[default]
    Initialize,
    /// It watches the Active router.
    Backup,
    /// It answers for the address.
    Active,
}

/// The state of one router.
#[state_type]
pub struct Process {
    /// The state of the standard's machine.
    pub phase: Phase,
    /// Whose ADVERTISEMENT last kept a Backup quiet. The standard has no use for it; it is kept to
    /// ask whom a router takes for the Active one.
    pub active: Option<Id>,
    /// Whether an Active router has contradicted another since its own last ADVERTISEMENT was due.
    pub asserted: bool,
    /// What had armed the time-out that made it Active, until its second ADVERTISEMENT. The
    /// standard has no use for it; it is kept to ask which of two time-outs is the first.
    pub cause: Option<Cause>,
}

/// What made a Backup arm its time-out.
#[state_type]
pub enum Cause {
    /// It came up.
    Startup,
    /// It heard this Active router.
    Heard(Id),
    /// An Active router resigned.
    Resigned,
}

/// What routers send to each other. Each is one packet to all; here it is one to each.
#[event_type]
pub enum Message {
    /// "I am Active", with the sender's priority and address: those that its id has.
    Advertisement,
    /// An ADVERTISEMENT with the priority 0: "I am Active no longer".
    PriorityZero,
}

timer_table! { Vrrp:
    /// `Adver_Timer`: the next ADVERTISEMENT is due.
    Advertisement => fixed(&T_ADVERTISE).periodic(all_are_told);
    /// `Active_Down_Timer`, set to `Active_Down_Interval`.
    ActiveDown => fixed(&T_DOWN).staggered(&T_SKEW, skew);
    /// `Active_Down_Timer`, set to `Skew_Time` because the Active router has resigned.
    Skew => fixed(&T_SKEW).armed_if(|rules| rules.skew).staggered(&T_SKEW, more_skew);
    /// This router is restarted in an orderly way (the rule `restart`).
    Restart => fixed(&T_RESTART).armed_if(|rules| rules.restart).periodic(|_, _, _| false);
    /// This router has started, and does not preempt yet (the rule `preempt_delay`).
    PreemptDelay => fixed(&T_PREEMPT_DELAY)
        .armed_if(|rules| rules.preempt_delay != PreemptDelay::None)
        .periodic(|_, _, _| false);
}

duration_table! {
    T_ADVERTISE:
        "how long an Active router waits before it says again that it is (one interval)", 2;
    // The skew sets the time-outs apart, so it comes before the rest of `Active_Down_Interval`.
    T_SKEW: "by how much longer a Backup waits than one of the next higher priority", 3;
    T_DOWN: "how long a Backup bears silence, before its skew (by the standard 3 intervals)", 1;
    T_RESTART: "when the router that is Active at first is restarted";
    T_PREEMPT_DELAY: "how long a router that starts waits before it preempts";
}

impl Process {
    /// What made a Backup arm `Active_Down_Interval`.
    fn waits_since(&self) -> Cause {
        self.active.map_or(Cause::Startup, Cause::Heard)
    }
}

const PROPERTIES: &[Property<Judge<Vrrp>>] = property_table! {
    "one-active-again": "□◇ |{up i: active(i)}| ≤ 1",
        "again and again there is no more than one Active router (RFC 9568, section 1)";
        AlwaysEventually(|_, view| {
            view.live().filter(|&id| view.process(id).phase == Phase::Active).count() <= 1
        });
};

impl Protocol for Vrrp {
    const NAME: &'static str = "vrrp";
    const SUMMARY: &'static str =
        "one router answers for a shared address; priority sets the time-outs apart (RFC 9568)";
    const OPTIONS: Options<Self> = Options {
        // With `Preempt_Mode` off, the router that is Active stays so, whichever else starts.
        elects: |rules| match (rules.preempt, rules.priorities) {
            (true, Priorities::Distinct) => Elects::Highest,
            _ => Elects::Any,
        },
        // An election starts when a Backup becomes Active.
        begins_election: |before, after, _| {
            before.phase != Phase::Active && after.phase == Phase::Active
        },
        ..Options::NONE
    };

    parts!(Process, (), Message, Timer);

    /// The highest is Active, and every other has heard so.
    fn converged(&self, p: &mut Local<'_, Self>) {
        if p.is_highest() {
            p.state.phase = Phase::Active;
            p.arm(Timer::Advertisement);
            if self.restart {
                p.arm(Timer::Restart);
            }
        } else {
            become_backup(p, p.higher().last());
        }
    }

    /// Startup in Initialize (section 6.4.1): the owner of the address (priority 255) is Active at
    /// once; every other router is a Backup and listens for `Active_Down_Interval`.
    fn recover(&self, p: &mut Local<'_, Self>) {
        if self.owner && p.is_highest() {
            become_active(p, Cause::Startup);
        } else {
            become_backup(p, None);
            if self.preempt_delay != PreemptDelay::None {
                p.arm(Timer::PreemptDelay);
            }
        }
    }

    fn receive(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match (p.state.phase, message) {
            (Phase::Initialize, _) => {}
            (Phase::Backup, message) => self.backup_receives(p, from, message),
            (Phase::Active, message) => self.active_receives(p, from, message),
        }
    }

    fn expire(&self, p: &mut Local<'_, Self>, timer: Timer) {
        match timer {
            // Active (section 6.4.3), `Adver_Timer`: another ADVERTISEMENT.
            Timer::Advertisement => {
                p.state.asserted = false;
                p.state.cause = None;
                advertise(p);
            }
            // Backup (section 6.4.2), `Active_Down_Timer`: there is no Active router that counts.
            Timer::ActiveDown | Timer::Skew if self.is_held(p) => {}
            Timer::ActiveDown => become_active(p, p.state.waits_since()),
            Timer::Skew => become_active(p, Cause::Resigned),
            Timer::Restart => self.restart(p),
            Timer::PreemptDelay => self.on_delay_over(p),
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            // It only paces: the last one has arrived everywhere.
            Timer::Advertisement => !view.in_flight(|from, _, _| from == me),
            Timer::ActiveDown | Timer::Skew => {
                self.no_router_speaks(view, me)
                    && !view.ids().any(|id| self.comes_first(view, me, id))
            }
            Timer::Restart | Timer::PreemptDelay => true,
        }
    }

    fn belief(process: &Process) -> Belief {
        let follows = process.active.filter(|_| process.phase == Phase::Backup);
        Belief::of(process.phase == Phase::Active, follows)
    }

    fn role(process: &Process) -> &'static str {
        match process.phase {
            Phase::Initialize => "initializing",
            Phase::Backup => "backup",
            Phase::Active => "Active",
        }
    }
}

/// What a router does.
impl Vrrp {
    /// An ADVERTISEMENT reaches a Backup (section 6.4.2).
    fn backup_receives(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match message {
            // Of priority 0: the `Active_Down_Timer` is set to `Skew_Time`.
            Message::PriorityZero => {
                p.state.active = None;
                p.cancel(Timer::ActiveDown);
                if self.skew {
                    p.arm(Timer::Skew);
                } else {
                    become_active(p, Cause::Resigned);
                }
            }
            // Without `Preempt_Mode`, or if its priority is not below this router's, it keeps this
            // router quiet for another `Active_Down_Interval`.
            Message::Advertisement
                if self.heeds(p.id(), from, p.nodes()) || p.armed(Timer::PreemptDelay) =>
            {
                p.state.active = Some(from);
                p.cancel(Timer::Skew);
                p.arm(Timer::ActiveDown);
            }
            // Otherwise it is discarded, and the time-out goes on.
            Message::Advertisement => {}
        }
    }

    /// An ADVERTISEMENT reaches the Active router (section 6.4.3).
    fn active_receives(&self, p: &mut Local<'_, Self>, from: Id, message: Message) {
        match message {
            // Of priority 0: it says at once that it is there.
            Message::PriorityZero => advertise(p),
            // Of a higher priority, or of an equal one and a higher address: this router gives way,
            // whatever its `Preempt_Mode`.
            Message::Advertisement if self.outranks(from, p.id(), p.nodes()) => {
                p.cancel(Timer::Advertisement);
                become_backup(p, Some(from));
            }
            // Otherwise it is discarded, and contradicted at once: by the standard each time, here
            // once between two ADVERTISEMENTs of its own, so that the world stays finite.
            Message::Advertisement if self.asserts && !p.state.asserted => {
                p.state.asserted = true;
                p.send_to_others(Message::Advertisement);
            }
            Message::Advertisement => {}
        }
    }

    /// The delay is over: if the time-out was over before, and nothing was heard since, it is
    /// Active now.
    fn on_delay_over(&self, p: &mut Local<'_, Self>) {
        let waits = p.armed(Timer::ActiveDown) || p.armed(Timer::Skew);
        if self.preempt_delay == PreemptDelay::BeforeAll && !waits {
            become_active(p, p.state.waits_since());
        }
    }

    /// Whether a Backup whose time-out is over stays one: the rule `preempt_delay`.
    fn is_held(&self, p: &Local<'_, Self>) -> bool {
        self.preempt_delay == PreemptDelay::BeforeAll && p.armed(Timer::PreemptDelay)
    }

    /// Shutdown, then Startup: an Active router says so with the priority 0 (section 6.4.3), a
    /// Backup says nothing (section 6.4.2).
    fn restart(&self, p: &mut Local<'_, Self>) {
        if p.state.phase == Phase::Active {
            p.send_to_others(Message::PriorityZero);
        }
        p.cancel_all();
        *p.state = Process::default();
        self.recover(p);
    }

    /// Whether an ADVERTISEMENT of `from` keeps the Backup `id` quiet.
    fn heeds(&self, id: Id, from: Id, nodes: usize) -> bool {
        !self.preempt || self.priority(from, nodes) >= self.priority(id, nodes)
    }

    /// Whether the Active router `id` gives way to `from`.
    fn outranks(&self, from: Id, id: Id, nodes: usize) -> bool {
        (self.priority(from, nodes), from) > (self.priority(id, nodes), id)
    }
}

/// Sends an ADVERTISEMENT to all others; the next is due an interval later.
fn advertise(p: &mut Local<'_, Vrrp>) {
    p.send_to_others(Message::Advertisement);
    p.arm(Timer::Advertisement);
}

/// From Initialize or Backup to Active (sections 6.4.1 and 6.4.2).
fn become_active(p: &mut Local<'_, Vrrp>, cause: Cause) {
    *p.state = Process { phase: Phase::Active, cause: Some(cause), ..Process::default() };
    for timer in [Timer::ActiveDown, Timer::Skew, Timer::PreemptDelay] {
        p.cancel(timer);
    }
    advertise(p);
}

/// From Initialize or Active to Backup: `Active_Down_Timer` is set to `Active_Down_Interval`.
fn become_backup(p: &mut Local<'_, Vrrp>, active: Option<Id>) {
    *p.state = Process { phase: Phase::Backup, active, ..Process::default() };
    p.arm(Timer::ActiveDown);
}

/// `Skew_Time` (section 6.1): the lower the priority, the longer. The highest router has one step,
/// each other one step more than the next higher, and `Active_Down_Interval` has it all on top.
fn skew(rules: &Vrrp, id: Id, nodes: usize) -> u8 {
    if rules.skew { more_skew(rules, id, nodes) + 1 } else { 0 }
}

/// The steps that a router has more than the highest.
fn more_skew(rules: &Vrrp, id: Id, nodes: usize) -> u8 {
    let higher = |&other: &Id| rules.priority(other, nodes) > rules.priority(id, nodes);
    Id::all(nodes).filter(higher).fold(0, |count, _| count + 1)
}

/// What made a Backup arm its time-out, or will when it hears of it.
fn waits_since(view: &View<'_, Vrrp>, id: Id) -> Cause {
    let zero = |_: Id, to: Id, m: Message| (to, m) == (id, Message::PriorityZero);
    let resigned = view.armed(id, Timer::Skew) || view.in_flight(zero);
    if resigned { Cause::Resigned } else { view.process(id).waits_since() }
}

/// The next ADVERTISEMENT changes and moves no router.
fn all_are_told(rules: &Vrrp, view: &View<'_, Vrrp>, me: Id) -> bool {
    let told = |id| id == me || !view.up(id) || !view.hears(id, me) || !rules.is_news(view, me, id);
    !view.process(me).asserted && view.ids().all(told)
}

impl Vrrp {
    /// No Active router that a Backup heeds will send an ADVERTISEMENT, and nothing is on its way
    /// that would set its time-out anew. The ADVERTISEMENT of a router that became Active while the
    /// time-out was running counts only if that router surely came first.
    fn no_router_speaks(&self, view: &View<'_, Self>, me: Id) -> bool {
        let waits_for = |id| self.heeds_now(view, me, id) && !self.is_as_quick(view, me, id);
        let active =
            |id: Id| id != me && view.hears(me, id) && view.process(id).phase == Phase::Active;
        let on_its_way = |from: Id, to: Id, m: Message| {
            to == me && (m == Message::PriorityZero || waits_for(from))
        };
        !view.ids().any(|id| active(id) && waits_for(id)) && !view.in_flight(on_its_way)
    }

    /// Whether an ADVERTISEMENT of `from` keeps the Backup `id` quiet, its priority or its delay.
    fn heeds_now(&self, view: &View<'_, Self>, id: Id, from: Id) -> bool {
        view.armed(id, Timer::PreemptDelay) || self.heeds(id, from, view.nodes)
    }

    /// Whether the first ADVERTISEMENT of `other` is on its way to `me`, and the time-out of `me`
    /// may expire before it arrives.
    fn is_as_quick(&self, view: &View<'_, Self>, me: Id, other: Id) -> bool {
        let (process, heard) = (view.process(other), view.process(me).active);
        let cause = if view.up(other) {
            // One that contradicts another may have been heard already, and so may one of which a
            // copy is on its way.
            let may_be_heard = process.asserted || view.doubled;
            process.cause.filter(|_| !may_be_heard || heard != Some(other))
        } else {
            // It has crashed. It was not Active when `me` heard another.
            heard.filter(|&heard| heard != other).map(Cause::Heard)
        };
        view.in_flight(|from, to, _| (from, to) == (other, me))
            && cause.is_some_and(|cause| !self.is_first(view, me, other, cause))
    }

    /// Whether the time-out of `other`, which is a Backup that `me` hears, expires before that of
    /// `me`: it heeds no Active router, and is surely the first.
    fn comes_first(&self, view: &View<'_, Self>, me: Id, other: Id) -> bool {
        let keeps_quiet = |id: Id| {
            let heeded = id != other && self.heeds_now(view, other, id);
            heeded && view.hears(other, id) && view.process(id).phase == Phase::Active
        };
        let is_held =
            self.preempt_delay == PreemptDelay::BeforeAll && view.armed(other, Timer::PreemptDelay);
        view.hears(me, other)
            && !is_held
            && view.process(other).phase == Phase::Backup
            && !view.ids().any(keeps_quiet)
            && self.is_first(view, me, other, waits_since(view, other))
    }

    /// Whether a time-out of `other` that was armed because of `cause` surely expires before that
    /// of `me`. That is so only if one event made both arm theirs: both heard the same router last,
    /// and no message was lost; or it is no router's recovery. Then it waits for a `Skew_Time`
    /// only, or its priority is higher, so that its skew is shorter, by more than any ADVERTISEMENT
    /// is late.
    fn is_first(&self, view: &View<'_, Self>, me: Id, other: Id, cause: Cause) -> bool {
        let nodes = view.nodes;
        let mine = waits_since(view, me);
        let at_once = match (cause, mine) {
            (Cause::Heard(one), Cause::Heard(same)) => one == same,
            _ => !view.recovered,
        };
        let soon = |cause, id| (cause == Cause::Resigned, self.priority(id, nodes));
        let waits_less = self.skew && soon(cause, other) > soon(mine, me);
        // The owner of the address does not wait at all when it starts.
        let waits_for_nothing = cause == Cause::Startup && self.owner && other == Id::at(nodes - 1);
        // What it says then follows its resignation, if this router has heard that.
        let has_resigned = waits_for_nothing && mine == Cause::Resigned && !view.recovered;
        has_resigned || (at_once && !view.lossy && (waits_less || waits_for_nothing))
    }

    /// Whether the next ADVERTISEMENT of `me` would change or move `other`.
    fn is_news(&self, view: &View<'_, Self>, me: Id, other: Id) -> bool {
        let mut knows = *view.process(other);
        let mut effects = Effects::new();
        let has = ((), view.timers[other.index()]);
        let mut p = Local::new(other, view.nodes, has, &mut knows, &mut effects);
        self.receive(&mut p, me, Message::Advertisement);
        let sends = effects.iter().any(|effect| matches!(effect, Effect::Send { .. }));
        knows != *view.process(other) || sends || view.armed(other, Timer::Skew)
    }
}

const VARIANTS: &[Variant<Vrrp>] = variant_table! { Vrrp:
    "rfc9568": "RFC 9568, section 6.4" => RFC9568;
    "no-preempt": "RFC 9568 with Preempt_Mode off (section 6.1)" => RFC9568 { preempt: false };
    "without-skew": "RFC 9568 with a Skew_Time of 0 for every router (against section 6.1)"
        => RFC9568 { skew: false };
    "rfc5798": "RFC 5798 and RFC 3768: an Active router says nothing to one of a lower priority"
        => RFC9568 { asserts: false };
    "equal-priorities": "RFC 9568 with nothing configured: every router has the priority 100"
        => RFC9568 { priorities: Priorities::Equal };
    "owner": "RFC 9568; the highest router owns the address (priority 255)"
        => RFC9568 { owner: true };
    "restart": "RFC 9568; the first Active router is restarted in an orderly way (section 6.4.3)"
        => RFC9568 { restart: true };
};

impl Vrrp {
    /// The election as the standard has it by default, priorities set, none the owner.
    pub const RFC9568: Vrrp = Vrrp {
        preempt: true,
        skew: true,
        asserts: true,
        priorities: Priorities::Distinct,
        owner: false,
        restart: false,
        preempt_delay: PreemptDelay::None,
    };
}

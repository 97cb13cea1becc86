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
    Belief, Elects, Id, Judge, Local, Options, Property, Protocol, Rule, TimerRow, Variant, View,
};
use serde::{Deserialize, Serialize};

mod durations;
mod properties;
mod rules;
mod timing;
mod variants;

use durations::{T_ADVERTISE, T_DOWN, T_PREEMPT_DELAY, T_RESTART, T_SKEW};
pub use rules::{PreemptDelay, Priorities, Vrrp};

/// The state of a virtual router in one router (section 6.3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// It came up.
    Startup,
    /// It heard this Active router.
    Heard(Id),
    /// An Active router resigned.
    Resigned,
}

/// What routers send to each other. Each is one packet to all; here it is one to each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Message {
    /// "I am Active", with the sender's priority and address: those that its id has.
    Advertisement,
    /// An ADVERTISEMENT with the priority 0: "I am Active no longer".
    PriorityZero,
}

/// What a router waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Timer {
    /// `Adver_Timer`: the next ADVERTISEMENT is due.
    Advertisement,
    /// `Active_Down_Timer`, set to `Active_Down_Interval`.
    ActiveDown,
    /// `Active_Down_Timer`, set to `Skew_Time` because the Active router has resigned.
    Skew,
    /// This router is restarted in an orderly way (the rule `restart`).
    Restart,
    /// This router has started, and does not preempt yet (the rule `preempt_delay`).
    PreemptDelay,
}

impl Process {
    /// What made a Backup arm `Active_Down_Interval`.
    fn waits_since(&self) -> Cause {
        self.active.map_or(Cause::Startup, Cause::Heard)
    }
}

impl Protocol for Vrrp {
    const NAME: &'static str = "vrrp";
    const SUMMARY: &'static str =
        "one router answers for a shared address; priority sets the time-outs apart (RFC 9568)";
    const VARIANTS: &'static [Variant<Self>] = variants::ALL;
    const TIMERS: &'static [TimerRow<Self>] = &[
        TimerRow::fixed(Timer::Advertisement, &T_ADVERTISE).periodic(timing::all_are_told),
        TimerRow::fixed(Timer::ActiveDown, &T_DOWN).staggered(&T_SKEW, durations::skew),
        TimerRow::fixed(Timer::Skew, &T_SKEW)
            .armed_if(|rules: &Self| rules.skew)
            .staggered(&T_SKEW, durations::more_skew),
        TimerRow::fixed(Timer::Restart, &T_RESTART)
            .armed_if(|rules: &Self| rules.restart)
            .periodic(|_, _, _| false),
        TimerRow::fixed(Timer::PreemptDelay, &T_PREEMPT_DELAY)
            .armed_if(|rules: &Self| rules.preempt_delay != PreemptDelay::None)
            .periodic(|_, _, _| false),
    ];
    const PROPERTIES: &'static [Property<Judge<Self>>] = properties::ALL;
    const RULES: fn() -> Vec<Rule> = Rule::all_of::<Self>;

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

    type Process = Process;
    type Stable = ();
    type Message = Message;
    type Timer = Timer;

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
                p.arm(Timer::Advertisement);
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
        timing::may_time_out(self, view, me, timer)
    }

    fn belief(process: &Process) -> Belief {
        match (process.phase, process.active) {
            (Phase::Active, _) => Belief::Leads,
            (Phase::Backup, Some(active)) => Belief::Follows(active),
            _ => Belief::Undecided,
        }
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
                if self.heeds(p.id(), from, p.nodes())
                    || p.timers().contains::<Self>(Timer::PreemptDelay) =>
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
            Message::PriorityZero => {
                advertise(p);
                p.arm(Timer::Advertisement);
            }
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
                advertise(p);
            }
            Message::Advertisement => {}
        }
    }

    /// The delay is over: if the time-out was over before, and nothing was heard since, it is
    /// Active now.
    fn on_delay_over(&self, p: &mut Local<'_, Self>) {
        let waits = p.timers().contains::<Self>(Timer::ActiveDown)
            || p.timers().contains::<Self>(Timer::Skew);
        if self.preempt_delay == PreemptDelay::BeforeAll && !waits {
            become_active(p, p.state.waits_since());
        }
    }

    /// Whether a Backup whose time-out is over stays one: the rule `preempt_delay`.
    fn is_held(&self, p: &Local<'_, Self>) -> bool {
        self.preempt_delay == PreemptDelay::BeforeAll
            && p.timers().contains::<Self>(Timer::PreemptDelay)
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

/// One ADVERTISEMENT to all.
fn advertise(p: &mut Local<'_, Vrrp>) {
    p.send_to_others(Message::Advertisement);
}

/// From Initialize or Backup to Active (sections 6.4.1 and 6.4.2).
fn become_active(p: &mut Local<'_, Vrrp>, cause: Cause) {
    *p.state = Process { phase: Phase::Active, cause: Some(cause), ..Process::default() };
    p.cancel(Timer::ActiveDown);
    p.cancel(Timer::Skew);
    p.cancel(Timer::PreemptDelay);
    advertise(p);
    p.arm(Timer::Advertisement);
}

/// From Initialize or Active to Backup: `Active_Down_Timer` is set to `Active_Down_Interval`.
fn become_backup(p: &mut Local<'_, Vrrp>, active: Option<Id>) {
    *p.state = Process { phase: Phase::Backup, active, ..Process::default() };
    p.arm(Timer::ActiveDown);
}

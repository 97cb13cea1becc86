//! The election of the active router of a virtual router, as VRRP does it: RFC 9568, *Virtual Router
//! Redundancy Protocol Version 3* (A. Lindem, A. Dogra, 2024), sections 6.1 to 6.4.
//!
//! One router of a network answers for an address that all of them stand for (it is Active), and
//! says so again and again in an ADVERTISEMENT. A Backup that has not heard one for too long becomes
//! Active itself. Only the Active one ever speaks, and nobody knows how many others there are.
//!
//! The order of ids is that of priority, or, by the rule `priorities`, that of addresses among
//! equals. The time-out `Active_Down_Interval` is 3 · `Advertisement_Interval` + `Skew_Time`, and
//! `Skew_Time` is the shorter the higher the priority: here one step more for each router of a
//! higher priority. Left out: what being Active means for packets (`Accept_Mode`, ARP, Neighbor
//! Discovery), and intervals that differ from router to router.

use super::{Belief, Timers, Variant, View, Wait};
use super::{Duration, Effect, Effects, Elects, Id, Local, Protocol};
use serde::{Deserialize, Serialize};

mod durations;
mod properties;
mod rules;
mod variants;

pub use rules::{Priorities, Vrrp};

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
    /// Somebody restarts this router in an orderly way (the rule `restart`).
    Restart,
}

impl Protocol for Vrrp {
    const NAME: &'static str = "vrrp";
    const SUMMARY: &'static str =
        "one router answers for a shared address; priority sets the time-outs apart (RFC 9568)";
    const VARIANTS: &'static [Variant<Self>] = variants::ALL;
    const TIMERS: &'static [Timer] =
        &[Timer::Advertisement, Timer::ActiveDown, Timer::Skew, Timer::Restart];
    const DURATIONS: &'static [Duration] = durations::ALL;
    const ENOUGH: &'static [(&'static str, u8)] =
        &[("t-advertise", 2), ("t-skew", 3), ("t-down", 1)];
    const PROPERTIES: &'static [super::Asked<Self>] = properties::ALL;

    type Process = Process;
    type Stable = ();
    type Message = Message;
    type Timer = Timer;

    /// With `Preempt_Mode` off, whoever is Active stays so, whoever else comes.
    fn elects(&self) -> Elects {
        match (self.preempt, self.priorities) {
            (true, Priorities::Distinct) => Elects::Highest,
            _ => Elects::Any,
        }
    }

    /// The highest is Active, and everybody has heard so.
    fn converged(&self, p: &mut Local<'_, Self>) {
        if p.is_highest() {
            p.state.phase = Phase::Active;
            p.arm(Timer::Advertisement);
            if self.restart {
                p.arm(Timer::Restart);
            }
        } else {
            *p.state = Process { phase: Phase::Backup, active: p.higher().last(), asserted: false };
            p.arm(Timer::ActiveDown);
        }
    }

    /// Startup in Initialize (section 6.4.1): the owner of the address (priority 255) is Active at
    /// once; everybody else is a Backup and listens for `Active_Down_Interval`.
    fn recover(&self, p: &mut Local<'_, Self>) {
        if self.owner && p.is_highest() {
            self.become_active(p);
        } else {
            become_backup(p, None);
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
                advertise(p);
                p.arm(Timer::Advertisement);
            }
            // Backup (section 6.4.2), `Active_Down_Timer`: there is no Active router that counts.
            Timer::ActiveDown | Timer::Skew => self.become_active(p),
            Timer::Restart => self.restart(p),
        }
    }

    fn may_time_out(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        match timer {
            // It only paces: the last one has arrived everywhere.
            Timer::Advertisement => !view.in_flight(|from, _, _| from == me),
            Timer::ActiveDown | Timer::Skew => {
                self.nobody_speaks(view, me) && !view.ids().any(|id| self.comes_first(view, me, id))
            }
            Timer::Restart => true,
        }
    }

    fn wait(&self, timer: Timer) -> Option<Wait> {
        durations::of(self, timer)
    }

    fn stagger(&self, timer: Timer, id: Id, nodes: usize) -> Option<(&'static str, u8)> {
        durations::stagger(self, timer, id, nodes)
    }

    fn periodic(&self, timer: Timer) -> bool {
        matches!(timer, Timer::Advertisement | Timer::Restart)
    }

    fn is_quiescent(&self, view: &View<'_, Self>, me: Id, timer: Timer) -> bool {
        let told =
            |id| id == me || !view.up(id) || !view.hears(id, me) || !self.is_news(view, me, id);
        timer == Timer::Advertisement && !view.process(me).asserted && view.ids().all(told)
    }

    fn belief(process: &Process) -> Belief {
        match (process.phase, process.active) {
            (Phase::Active, _) => Belief::Leads,
            (Phase::Backup, Some(active)) => Belief::Follows(active),
            _ => Belief::Undecided,
        }
    }

    /// One is held when a Backup becomes Active.
    fn begins_election(before: &Process, after: &Process, _: &[Effect<Self>]) -> bool {
        before.phase != Phase::Active && after.phase == Phase::Active
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
                    self.become_active(p);
                }
            }
            // Without `Preempt_Mode`, or if its priority is not below this router's, it keeps this
            // router quiet for another `Active_Down_Interval`.
            Message::Advertisement if self.heeds(p.id(), from, p.nodes()) => {
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

    /// From Initialize or Backup to Active (sections 6.4.1 and 6.4.2).
    fn become_active(&self, p: &mut Local<'_, Self>) {
        *p.state = Process { phase: Phase::Active, active: None, asserted: false };
        p.cancel(Timer::ActiveDown);
        p.cancel(Timer::Skew);
        advertise(p);
        p.arm(Timer::Advertisement);
    }

    /// Shutdown, then Startup: an Active router says so with the priority 0 (section 6.4.3), a
    /// Backup says nothing (section 6.4.2).
    fn restart(&self, p: &mut Local<'_, Self>) {
        if p.state.phase == Phase::Active {
            for id in p.others() {
                p.send(id, Message::PriorityZero);
            }
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
    for id in p.others() {
        p.send(id, Message::Advertisement);
    }
}

/// From Initialize or Active to Backup: `Active_Down_Timer` is set to `Active_Down_Interval`.
fn become_backup(p: &mut Local<'_, Vrrp>, active: Option<Id>) {
    *p.state = Process { phase: Phase::Backup, active, asserted: false };
    p.arm(Timer::ActiveDown);
}

/// When, with perfect timing, a router has waited long enough, and when it tells nothing new.
impl Vrrp {
    /// No Active router that a Backup heeds will send an ADVERTISEMENT, and nothing is on its way that
    /// would set its time-out anew.
    fn nobody_speaks(&self, view: &View<'_, Self>, me: Id) -> bool {
        let nodes = view.ids().count();
        let on_its_way = |from: Id, to: Id, m: Message| {
            to == me && (m == Message::PriorityZero || self.heeds(me, from, nodes))
        };
        !self.somebody_is_active(view, me) && !view.in_flight(on_its_way)
    }

    /// Whether a Backup hears an Active router that it heeds.
    fn somebody_is_active(&self, view: &View<'_, Self>, me: Id) -> bool {
        let nodes = view.ids().count();
        view.ids().any(|id| {
            let heeded = id != me && self.heeds(me, id, nodes);
            heeded && view.hears(me, id) && view.process(id).phase == Phase::Active
        })
    }

    /// Whether the time-out of `other`, which is heard, expires before that of `me`: nobody that it
    /// heeds is Active, and it waits for a `Skew_Time` only, or its priority is higher, so that its
    /// skew is shorter, by more than any ADVERTISEMENT is late.
    fn comes_first(&self, view: &View<'_, Self>, me: Id, other: Id) -> bool {
        let nodes = view.ids().count();
        let resigned = |id: Id| {
            let zero = |_: Id, to: Id, m: Message| (to, m) == (id, Message::PriorityZero);
            view.armed(id, Timer::Skew) || view.in_flight(zero)
        };
        let soon = |id: Id| (resigned(id), self.priority(id, nodes));
        self.skew
            && soon(other) > soon(me)
            && view.hears(me, other)
            && view.process(other).phase == Phase::Backup
            && !self.somebody_is_active(view, other)
    }

    /// Whether the next ADVERTISEMENT of `me` would change or move `other`.
    fn is_news(&self, view: &View<'_, Self>, me: Id, other: Id) -> bool {
        let mut knows = *view.process(other);
        let mut effects = Effects::new();
        let nothing = ((), Timers::NONE);
        let mut p = Local::new(other, view.ids().count(), nothing, &mut knows, &mut effects);
        self.receive(&mut p, me, Message::Advertisement);
        let sends = effects.iter().any(|effect| matches!(effect, Effect::Send { .. }));
        knows != *view.process(other) || sends || view.armed(other, Timer::Skew)
    }
}

//! When, with perfect timing, a router has waited long enough, and when it tells nothing new.

use super::{Message, Phase, Timer, Vrrp};
use bellwether_engine::protocol::{Effect, Effects, Id, Local, Protocol, Timers, View};

/// Whether what `timer` of `me` waits for can no longer come.
pub(super) fn may_time_out(rules: &Vrrp, view: &View<'_, Vrrp>, me: Id, timer: Timer) -> bool {
    match timer {
        // It only paces: the last one has arrived everywhere.
        Timer::Advertisement => !view.in_flight(|from, _, _| from == me),
        Timer::ActiveDown | Timer::Skew => {
            rules.no_router_speaks(view, me)
                && !view.ids().any(|id| rules.comes_first(view, me, id))
        }
        Timer::Restart => true,
    }
}

/// The next ADVERTISEMENT changes and moves no router.
pub(super) fn all_are_told(rules: &Vrrp, view: &View<'_, Vrrp>, me: Id) -> bool {
    let told = |id| id == me || !view.up(id) || !view.hears(id, me) || !rules.is_news(view, me, id);
    !view.process(me).asserted && view.ids().all(told)
}

impl Vrrp {
    /// No Active router that a Backup heeds will send an ADVERTISEMENT, and nothing is on its way
    /// that would set its time-out anew.
    fn no_router_speaks(&self, view: &View<'_, Self>, me: Id) -> bool {
        let nodes = view.ids().count();
        let on_its_way = |from: Id, to: Id, m: Message| {
            to == me && (m == Message::PriorityZero || self.heeds(me, from, nodes))
        };
        !self.hears_an_active_router(view, me) && !view.in_flight(on_its_way)
    }

    /// Whether a Backup hears an Active router that it heeds.
    fn hears_an_active_router(&self, view: &View<'_, Self>, me: Id) -> bool {
        let nodes = view.ids().count();
        view.ids().any(|id| {
            let heeded = id != me && self.heeds(me, id, nodes);
            heeded && view.hears(me, id) && view.process(id).phase == Phase::Active
        })
    }

    /// Whether the time-out of `other`, which is heard, expires before that of `me`: no router that
    /// it heeds is Active, and it waits for a `Skew_Time` only, or its priority is higher, so that
    /// its skew is shorter, by more than any ADVERTISEMENT is late.
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
            && !self.hears_an_active_router(view, other)
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

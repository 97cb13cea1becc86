//! When, with perfect timing, a router has waited long enough, and when it tells nothing new.

use super::{Cause, Message, Phase, PreemptDelay, Timer, Vrrp};
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
        Timer::Restart | Timer::PreemptDelay => true,
    }
}

/// What made a Backup arm its time-out, or will when it hears of it.
fn waits_since(view: &View<'_, Vrrp>, id: Id) -> Cause {
    let zero = |_: Id, to: Id, m: Message| (to, m) == (id, Message::PriorityZero);
    let resigned = view.armed(id, Timer::Skew) || view.in_flight(zero);
    if resigned { Cause::Resigned } else { view.process(id).waits_since() }
}

/// The next ADVERTISEMENT changes and moves no router.
pub(super) fn all_are_told(rules: &Vrrp, view: &View<'_, Vrrp>, me: Id) -> bool {
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
        view.armed(id, Timer::PreemptDelay) || self.heeds(id, from, view.ids().count())
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
            && cause.is_some_and(|cause| !self.is_first(view, me, (other, cause)))
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
            && self.is_first(view, me, (other, waits_since(view, other)))
    }

    /// Whether a time-out of `other` that was armed because of `cause` surely expires before that
    /// of `me`. That is so only if one event made both arm theirs: both heard the same router last,
    /// and no message was lost; or it is no router's recovery. Then it waits for a `Skew_Time`
    /// only, or its priority is higher, so that its skew is shorter, by more than any ADVERTISEMENT
    /// is late.
    fn is_first(&self, view: &View<'_, Self>, me: Id, (other, cause): (Id, Cause)) -> bool {
        let nodes = view.ids().count();
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
        let timers = match view.armed(other, Timer::PreemptDelay) {
            true => Timers::NONE.with::<Self>(Timer::PreemptDelay),
            false => Timers::NONE,
        };
        let kept = ((), timers);
        let mut p = Local::new(other, view.ids().count(), kept, &mut knows, &mut effects);
        self.receive(&mut p, me, Message::Advertisement);
        let sends = effects.iter().any(|effect| matches!(effect, Effect::Send { .. }));
        knows != *view.process(other) || sends || view.armed(other, Timer::Skew)
    }
}

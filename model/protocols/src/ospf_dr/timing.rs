//! When, with perfect timing, a router has waited long enough, and when a Hello is no news.

use super::{Interface, Message, OspfDr, Timer};
use bellwether_engine::protocol::{Effects, Id, Local, Protocol, Timers, View};

/// Whether what `timer` of `me` waits for can no longer come.
pub(super) fn may_time_out(rules: &OspfDr, view: &View<'_, OspfDr>, me: Id, timer: Timer) -> bool {
    match timer {
        // It only paces: the last Hello has arrived everywhere.
        Timer::Hello => !view.in_flight(|from, _, _| from == me),
        Timer::Wait => view.ids().all(|id| id == me || rules.has_said_all(view, me, id)),
        Timer::Inactivity(id) => is_silent(view, me, id),
    }
}

/// The next Hello changes nothing that any router knows.
pub(super) fn all_are_told(rules: &OspfDr, view: &View<'_, OspfDr>, me: Id) -> bool {
    view.ids().all(|id| {
        let hears = id != me && view.up(id) && view.hears(id, me);
        !hears || !rules.is_news(view, (me, id), view.process(me).hello())
    })
}

impl OspfDr {
    /// `RouterDeadInterval` of listening: each of two that can hear each other knows it, and what
    /// the other has to say of the DR and BDR has been heard: it does not end the waiting, and will
    /// not because a router is gone.
    fn has_said_all(&self, view: &View<'_, Self>, me: Id, other: Id) -> bool {
        let news = view.in_flight(|from, to, hello| {
            from == other && to == me && self.is_news(view, (from, to), hello)
        });
        if news || !(view.hears(me, other) && view.hears(other, me)) {
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
    fn is_news(&self, view: &View<'_, Self>, (from, to): (Id, Id), hello: Message) -> bool {
        let mut knows = *view.process(to);
        let mut effects = Effects::new();
        let nothing = ((), Timers::NONE);
        let mut p = Local::new(to, view.ids().count(), nothing, &mut knows, &mut effects);
        self.receive(&mut p, from, hello);
        knows != *view.process(to)
    }
}

/// No Hello of `other` is on its way to `me`, and none will be.
fn is_silent(view: &View<'_, OspfDr>, me: Id, other: Id) -> bool {
    !view.hears(me, other) && !view.in_flight(|from, to, _| from == other && to == me)
}

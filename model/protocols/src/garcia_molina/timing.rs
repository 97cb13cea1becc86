//! When, with perfect timing, a process has waited long enough.

use super::{Check, Coordinator, GarciaMolina, Message, Step, Timer, how};
use bellwether_engine::protocol::{Id, View};

type Seen<'a, 'b> = &'a View<'b, GarciaMolina>;

/// Whether what `timer` waits for can no longer come.
pub(super) fn may_time_out(rules: &GarciaMolina, view: Seen, me: Id, timer: Timer) -> bool {
    match timer {
        Timer::Answer => called(view, me).is_none_or(|it| !answer_can_come(view, me, it)),
        Timer::Recovery => is_quiet(view, me),
        Timer::Silence => coordinator_is_gone(view, me),
        Timer::Election => nobody_will_call(rules, view, me),
        Timer::Check => true,
    }
}

/// A check tells the coordinator nothing new if all processes that it reaches are well.
pub(super) fn all_are_well(rules: &GarciaMolina, view: Seen, me: Id) -> bool {
    let mut reached = view.ids().filter(|&id| id != me && reach_each_other(view, id, me));
    reached.all(|id| rules.is_well(me, view.process(me), how(view.process(id))))
}

/// Whom a process has called.
fn called(view: Seen, me: Id) -> Option<Id> {
    match view.process(me).step {
        Step::Probing(it)
        | Step::Asking(it)
        | Step::Halting(it)
        | Step::Announcing(it)
        | Step::HandingOut(it)
        | Step::Checking(it) => Some(it),
        Step::Idle | Step::Recovering => None,
    }
}

/// `T`: the call has arrived, or found its receiver down, and no answer is on its way. A call that
/// is still on its way to a process that is down may yet find it up again.
fn answer_can_come(view: Seen, me: Id, it: Id) -> bool {
    view.in_flight(|from, to, message| match message.is_call() {
        true => from == me && to == it,
        false => from == it && to == me,
    })
}

/// Nothing that the process has ever called is still to be answered.
fn is_quiet(view: Seen, me: Id) -> bool {
    !view.in_flight(|from, to, message| if message.is_call() { from == me } else { to == me })
}

fn reach_each_other(view: Seen, a: Id, b: Id) -> bool {
    view.hears(a, b) && view.hears(b, a)
}

/// The coordinator cannot be reached, and nothing of it is on its way. Any time-out of a process
/// that waits for another to call is longer than that of a call, so no old answer is either.
fn coordinator_is_gone(view: Seen, me: Id) -> bool {
    match view.process(me).coordinator {
        Coordinator::Other(it) => {
            !reach_each_other(view, me, it)
                && !view.in_flight(|from, to, _| from == it && to == me)
                && is_quiet(view, me)
        }
        Coordinator::Unknown | Coordinator::Myself => true,
    }
}

/// No higher process has called on this one in its election, or will: none that is reached holds
/// one, or is a coordinator that finds out by its check that this process is not well.
fn nobody_will_call(rules: &GarciaMolina, view: Seen, me: Id) -> bool {
    let of_an_election =
        |message| matches!(message, Message::Halt | Message::NewCoordinator | Message::Ready(_));
    !view.in_flight(|from, to, message| to == me && from > me && of_an_election(message))
        && is_quiet(view, me)
        && !view
            .ids()
            .any(|id| id > me && reach_each_other(view, me, id) && acts(rules, view, id, me))
}

/// Whether process `id` is holding an election or will, for the sake of `me` or of itself. If it
/// waits for an election itself, a still higher one acts, or its own wait may time out.
fn acts(rules: &GarciaMolina, view: Seen, id: Id, me: Id) -> bool {
    let process = view.process(id);
    match process.step {
        Step::Recovering
        | Step::Probing(_)
        | Step::Asking(_)
        | Step::Halting(_)
        | Step::Announcing(_)
        | Step::HandingOut(_) => true,
        Step::Checking(_) => checks(rules, view, id, me),
        Step::Idle if view.armed(id, Timer::Check) => checks(rules, view, id, me),
        Step::Idle if view.armed(id, Timer::Silence) => coordinator_is_gone(view, id),
        Step::Idle => view.armed(id, Timer::Election),
    }
}

/// Whether the check of coordinator `id` finds out that something is wrong with `me`.
fn checks(rules: &GarciaMolina, view: Seen, id: Id, me: Id) -> bool {
    let well = rules.is_well(id, view.process(id), how(view.process(me)));
    rules.check != Check::Never && !well
}

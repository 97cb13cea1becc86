//! When, with perfect timing, a process has waited long enough.

use super::{Coordinator, Invitation, Message, State, Timer};
use bellwether_engine::protocol::{Id, View};

pub(super) fn may_time_out(view: &View<'_, Invitation>, me: Id, timer: Timer) -> bool {
    match timer {
        // Longer than a message takes, also one to a process that is down.
        Timer::Check => !view.in_flight(|from, _, m| from == me && m == Message::AreYouCoordinator),
        Timer::Answers => answered(view, me, |m| match m {
            Message::AreYouCoordinator => Call::Question,
            Message::Coordinator => Call::Answer,
            _ => Call::Other,
        }),
        Timer::Ready => answered(view, me, |m| match m {
            Message::Ready { .. } => Call::Question,
            Message::Done(_) => Call::Answer,
            _ => Call::Other,
        }),
        Timer::There => answered(view, me, |m| match m {
            Message::AreYouThere(_) => Call::Question,
            Message::Here(_) => Call::Answer,
            _ => Call::Other,
        }),
        Timer::Accepts => all_have_accepted(view, me),
        Timer::Delay => no_higher_one_will_merge(view, me),
        Timer::Watch => coordinator_is_silent(view, me),
    }
}

/// A check finds no other group.
pub(super) fn no_other_is_found(rules: &Invitation, view: &View<'_, Invitation>, me: Id) -> bool {
    let found = |id| view.links(me, id) && view.process(id).leads() && rules.admits(id, me);
    !view.ids().any(|id| id != me && found(id))
}

enum Call {
    Question,
    Answer,
    Other,
}

/// Every question of `me` has reached each process that is up or may recover, and no answer is on
/// its way.
fn answered(view: &View<'_, Invitation>, me: Id, call: impl Fn(Message) -> Call) -> bool {
    !view.in_flight(|from, to, m| match call(m) {
        Call::Question => from == me && view.may_answer(to),
        Call::Answer => to == me,
        Call::Other => false,
    })
}

/// Every invitation to this group, also those passed on, has reached each process that is up or may
/// recover, and no acceptance is on its way.
fn all_have_accepted(view: &View<'_, Invitation>, me: Id) -> bool {
    let mine = view.process(me).group;
    !view.in_flight(|_, to, m| match m {
        Message::Invitation(group) => mine == Some(group) && view.may_answer(to),
        Message::Accept(group) => mine == Some(group) && to == me,
        _ => false,
    })
}

/// No invitation is on its way, and no higher coordinator is left that would find this one.
fn no_higher_one_will_merge(view: &View<'_, Invitation>, me: Id) -> bool {
    let will = |id: Id| {
        id > me && view.links(me, id) && view.process(id).coordinator == Some(Coordinator::Itself)
    };
    !invited(view, me) && !view.ids().any(will)
}

/// The coordinator would not say that this process is in its group, nor is it about to count it
/// in, and nothing is on its way that would make the process think of something else.
fn coordinator_is_silent(view: &View<'_, Invitation>, me: Id) -> bool {
    let process = view.process(me);
    let Some(coordinator) = process.coordinator_of(me) else { return false };
    let other = view.process(coordinator);
    let accepting = other.state == State::Election
        && view.in_flight(|from, to, m| {
            (from, to) == (me, coordinator) && process.group.map(Message::Accept) == Some(m)
        });
    let counts_in = view.links(me, coordinator)
        && other.coordinator == Some(Coordinator::Itself)
        && other.group == process.group
        && (other.members.contains(me) || accepting);
    !counts_in && !invited(view, me)
}

fn invited(view: &View<'_, Invitation>, me: Id) -> bool {
    view.in_flight(|_, to, m| to == me && matches!(m, Message::Invitation(_)))
}

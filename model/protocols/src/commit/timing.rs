//! When, with perfect timing, a process has waited long enough.

use super::{Commit, Duty, Message, Timer, belief, election, record};
use bellwether_engine::protocol::{Belief, Id, View};

/// Whether what `timer` of `me` waits for can no longer come.
pub(crate) fn may_time_out<P: Commit>(view: &View<'_, P>, me: Id, timer: Timer) -> bool {
    match timer {
        Timer::Election(timer) => election::may_time_out(view, (me, timer)),
        // They only pace.
        Timer::Begin | Timer::Send => true,
        Timer::Answers if view.process(me).duty == Duty::Blocked => a_poll_would_help(view, me),
        Timer::Answers => no_answer_can_come(view, me),
        Timer::Word => a_question_would_help(view, me),
    }
}

/// Whether a message that `wanted` is in flight, or is yet to be sent to a process that hears it.
fn under_way<P: Commit>(view: &View<'_, P>, wanted: impl Fn(Id, Id, Message) -> bool) -> bool {
    let outgoing = |from: Id| {
        let outgoing = view.process(from).outgoing.filter(|_| view.up(from));
        outgoing.is_some_and(|outgoing| {
            outgoing.to.iter().any(|to| view.hears(to, from) && wanted(from, to, outgoing.message))
        })
    };
    view.in_flight(&wanted) || view.ids().any(outgoing)
}

/// Every question of the coordinator has reached each process that is up or may recover, and no
/// answer is on its way.
fn no_answer_can_come<P: Commit>(view: &View<'_, P>, me: Id) -> bool {
    !under_way(view, |from, to, message| match message {
        Message::Request | Message::Poll | Message::Precommit | Message::Preabort => {
            from == me && view.may_answer(to)
        }
        Message::Yes | Message::No | Message::State(_) | Message::Commit | Message::Abort => {
            to == me
        }
        Message::Election(_) => false,
    })
}

/// The coordinator that `me` follows hears it, says nothing by itself, and knows the decision or
/// has yet to hear what `me` would say.
fn a_question_would_help<P: Commit>(view: &View<'_, P>, me: Id) -> bool {
    let Belief::Follows(leader) = belief(view.process(me)) else { return false };
    let between = |from, to, message: Message| {
        let pair = (from, to) == (me, leader) || (from, to) == (leader, me);
        pair && !matches!(message, Message::Election(_))
    };
    let process = view.process(leader);
    let news = record(view, leader).is_decided()
        || process.duty == Duty::Blocked && process.reports.of(me) != Some(record(view, me));
    view.links(me, leader) && news && !under_way(view, between)
}

/// A process that answers a poll of the blocked coordinator `me` hears it, and its record is not
/// what `me` knows of it; nothing between the two is under way.
fn a_poll_would_help<P: Commit>(view: &View<'_, P>, me: Id) -> bool {
    let reports = view.process(me).reports;
    let would_tell = |id: Id| {
        let between = |from, to, message: Message| {
            let pair = (from, to) == (me, id) || (from, to) == (id, me);
            pair && !matches!(message, Message::Election(_))
        };
        let answers = view.links(me, id) && view.process(id).duty == Duty::None;
        answers && reports.of(id) != Some(record(view, id)) && !under_way(view, between)
    };
    view.ids().any(|id| id != me && would_tell(id))
}

/// The next poll of a blocked coordinator would tell it nothing new.
pub(super) fn poll_is_no_news<P: Commit>(_: &P, view: &View<'_, P>, me: Id) -> bool {
    view.process(me).duty == Duty::Blocked && !a_poll_would_help(view, me)
}

/// The next question of a participant tells the coordinator nothing new.
pub(super) fn question_is_no_news<P: Commit>(_: &P, view: &View<'_, P>, me: Id) -> bool {
    !a_question_would_help(view, me)
}

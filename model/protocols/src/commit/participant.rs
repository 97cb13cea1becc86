//! What every process does for the coordinator: it votes, reports its record, and obeys.

use super::{Commit, Duty, Heeds, Message, Record, Timer, belief, coordinator, say, write};
use bellwether_engine::protocol::{Belief, Id, Ids, Local};

/// REQUEST: the vote. A process votes once; to any other coordinator it says NO, as it does while
/// it takes itself for the coordinator.
pub(super) fn on_request<P: Commit>(rules: &P, p: &mut Local<'_, P>, from: Id) {
    let vote = match p.state.record {
        Record::Nothing if coordinator::leads(p) || rules.commit().refuses == Some(p.id()) => {
            write(rules, p, Record::Aborted);
            p.cancel(Timer::Begin);
            Message::No
        }
        Record::Nothing => {
            write(rules, p, Record::Uncertain);
            p.state.heeds = Some(from);
            Message::Yes
        }
        _ => Message::No,
    };
    say(p, Ids::NONE.with(from), vote);
}

/// POLL: what its record is. One that has not voted aborts, so that it cannot vote YES later. One
/// that coordinates itself says nothing until it has decided.
pub(super) fn on_poll<P: Commit>(rules: &P, p: &mut Local<'_, P>, from: Id) {
    if p.state.duty != Duty::None {
        return;
    }
    if p.state.record == Record::Nothing {
        write(rules, p, Record::Aborted);
        p.cancel(Timer::Begin);
    }
    reply(p, from);
}

/// PRECOMMIT or PREABORT: only one that is uncertain follows, and by the rule `heeds` only the
/// coordinator that it last told so; one that has promised the opposite says nothing.
pub(super) fn on_prepare<P: Commit>(rules: &P, p: &mut Local<'_, P>, from: Id, to: Record) {
    let heeds = rules.commit().heeds == Heeds::Any || p.state.heeds == Some(from);
    if p.state.record == Record::Uncertain && heeds {
        write(rules, p, to);
    }
    if p.state.record == to || p.state.record.is_decided() {
        reply(p, from);
    }
}

/// The record, or the decision.
fn reply<P: Commit>(p: &mut Local<'_, P>, to: Id) {
    if !p.state.record.is_decided() {
        p.state.heeds = Some(to);
    }
    say(p, Ids::NONE.with(to), p.state.record.message());
}

/// COMMIT or ABORT: the word. A coordinator that hears it tells the others.
pub(super) fn on_decision<P: Commit>(rules: &P, p: &mut Local<'_, P>, decision: Record) {
    if p.state.record.is_decided() {
        return;
    }
    if coordinator::leads(p) {
        coordinator::decide(rules, p, decision);
    } else {
        write(rules, p, decision);
    }
}

/// A participant that waits for the word, and knows whose.
pub(super) fn wait_for_the_word<P: Commit>(p: &mut Local<'_, P>) {
    let waits = p.state.record.waits() && matches!(belief(p.state), Belief::Follows(_));
    if !waits {
        p.cancel(Timer::Word);
    } else if !p.armed(Timer::Word) {
        p.arm(Timer::Word);
    }
}

/// The word has not come: it asks.
pub(super) fn ask<P: Commit>(p: &mut Local<'_, P>) {
    if let Belief::Follows(leader) = belief(p.state) {
        reply(p, leader);
    }
}

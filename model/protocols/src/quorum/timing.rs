//! When, with perfect timing, a process has waited long enough, and what tells no process anything
//! new.
//!
//! The order that the durations are to give is this. An answer comes before anything else. Then a
//! leader's round, if it has anything to say. Then a lease that no majority renews runs out, then
//! the promises that it rested on, and only when none is left that will run out does a process
//! canvass. One that has failed is electable again after all others have tried.

use super::founding::is_let_in_by;
use super::properties::{kept, votes};
use super::{
    Canvass, Defers, Epoch, Message, Preemption, Process, Quorum, Role, TaggedMessage, Timer,
};
use bellwether_engine::protocol::{Id, View};

type Moment<'a> = View<'a, Quorum>;

pub(super) fn may_time_out(rules: &Quorum, view: &Moment<'_>, me: Id, timer: Timer) -> bool {
    match timer {
        // The operator and the disk wait for no process.
        Timer::Sync | Timer::Request | Timer::Away | Timer::Change => true,
        // A challenge that is ignored would only keep others from being quiet.
        Timer::Dwell => {
            let sent = |from, _, letter: TaggedMessage| {
                from == me && matches!(letter.message, Message::Challenge(_))
            };
            !is_ignored(rules, view, me) && !view.in_flight(sent)
        }
        // The lease would run out no earlier than the wait for the answers ends, and a leader's
        // present one no later.
        Timer::Asked | Timer::Later => false,
        // One that tells nothing new would keep others from being quiet, too.
        Timer::Meet => !has_met_all(rules, view, me) && !concerns(view, me),
        Timer::Round | Timer::Election => !concerns(view, me),
        Timer::Lease => !has_contact(rules, view, me) && !view.in_flight(|_, to, _| to == me),
        Timer::Promise | Timer::Quiet => {
            is_quiet(view) && !view.ids().any(|id| asks(view, id)) && is_over(rules, view, me)
        }
        Timer::Watch => is_calm(rules, view),
        // One that a process outranks while that defers waits from then on, and so for longer.
        Timer::Coordinator => {
            let waits = |id| view.rules_of(rules, id).defers == Defers::Waits;
            let defers = |id| id > me && view.armed(id, Timer::Coordinator) && waits(id);
            !view.ids().any(defers)
                && is_calm(rules, view)
                && !any_armed(rules, view, &[Timer::Watch])
        }
        Timer::Backoff => {
            is_calm(rules, view) && !any_armed(rules, view, &[Timer::Watch, Timer::Coordinator])
        }
    }
}

/// Whether a message from or to this process is in flight, or one that others answer to it.
fn concerns(view: &Moment<'_>, me: Id) -> bool {
    let entrusts = |m| matches!(m, Message::Yield(_, Some(next)) if next == me);
    view.in_flight(|from, to, m| from == me || to == me || entrusts(m.message))
}

/// Nothing is on its way.
fn is_quiet(view: &Moment<'_>) -> bool {
    !view.in_flight(|_, _, _| true)
}

/// Nothing is on its way or about to be, and all leases and promises have run out that will.
fn is_calm(rules: &Quorum, view: &Moment<'_>) -> bool {
    let waits = [Timer::Lease, Timer::Promise, Timer::Quiet];
    let begins = |id| asks(view, id) || (sends_rounds(view, id) && has_news(rules, view, id));
    is_quiet(view) && !view.ids().any(begins) && !any_armed(rules, view, &waits)
}

/// Whether a process has armed one of these timers and it may expire.
fn any_armed(rules: &Quorum, view: &Moment<'_>, timers: &[Timer]) -> bool {
    view.ids().any(|id| {
        let own = view.rules_of(rules, id);
        timers.iter().any(|&timer| view.armed(id, timer) && may_time_out(own, view, id, timer))
    })
}

/// Whether a process waits for answers.
fn asks(view: &Moment<'_>, id: Id) -> bool {
    view.armed(id, Timer::Election)
}

/// Whether the promises of a voter, or those that it may have forgotten, have had their time:
/// leaders that it does not hear have a lease that rests on others.
fn is_over(rules: &Quorum, view: &Moment<'_>, voter: Id) -> bool {
    let lasts = |leader: Id| {
        sends_rounds(view, leader)
            && (has_news(rules, view, leader)
                || !has_contact(rules, view, leader)
                || renews(rules, view, leader, voter))
    };
    !view.ids().any(lasts)
}

/// Whether a leader's next round renews a voter's promise.
fn renews(rules: &Quorum, view: &Moment<'_>, leader: Id, voter: Id) -> bool {
    hears(rules, view, voter, leader) && epoch(view, voter) <= epoch(view, leader)
}

/// A challenge changes nothing: the leader is one no longer, or does not hear it.
pub(super) fn is_ignored(rules: &Quorum, view: &Moment<'_>, me: Id) -> bool {
    let heeds = |leader: Id| {
        let leads = view.up(leader) && view.process(leader).role == Role::Leader;
        leads && hears(rules, view, leader, me)
    };
    !view.process(me).leader.is_some_and(heeds)
}

/// Whether a leader's next round would change anything: a process is to follow it, or to tell it
/// that it is behind.
pub(super) fn has_news(rules: &Quorum, view: &Moment<'_>, leader: Id) -> bool {
    let hearers = |&id: &Id| id != leader && hears(rules, view, id, leader);
    if !is_healthy(rules, view, leader) || view.process(leader).invited.is_some() {
        return true;
    }
    view.live().filter(hearers).any(|id| {
        let own = view.rules_of(rules, id);
        let at_once = own.preemption == Preemption::AtOnce;
        let outranks = id > leader && is_healthy(rules, view, id);
        let challenges = at_once && outranks && view.hears(leader, id);
        let Process { role, leader: followed, .. } = *view.process(id);
        let stable = kept(view, id);
        if stable.mark != kept(view, leader).mark {
            return true;
        }
        let answers = stable.epoch <= epoch(view, leader) && view.hears(leader, id);
        if answers && is_let_in_by(rules, view, leader, id) {
            return true;
        }
        match epoch(view, id) {
            higher if higher > epoch(view, leader) => {
                own.answer_lower && votes(rules, view, id) && view.hears(leader, id)
            }
            same if same == epoch(view, leader) => {
                let follows = followed == Some(leader) && !challenges;
                !matches!(role, Role::Leader | Role::Lapsed) && !follows
            }
            _ => true,
        }
    })
}

/// Whether a majority, itself included, acknowledges a leader's rounds.
fn has_contact(rules: &Quorum, view: &Moment<'_>, leader: Id) -> bool {
    let talk = |id| hears(rules, view, leader, id) && view.hears(id, leader);
    let answers = |&id: &Id| {
        let follows = talk(id) && epoch(view, id) <= epoch(view, leader);
        id == leader || (follows && votes(rules, view, id))
    };
    let (process, own) = (view.process(leader), view.rules_of(rules, leader));
    let electors = own.electors_of(process, view.nodes);
    own.makes_majority(process, view.nodes, electors.iter().filter(answers).collect())
}

/// Running again changes nothing: every process that hears it refuses it, and tells it nothing.
pub(super) fn is_refused_anyway(rules: &Quorum, view: &Moment<'_>, me: Id) -> bool {
    let refuses = |id: Id| {
        let Process { promised, role, .. } = *view.process(id);
        let bound = role == Role::Leader || promised.is_some();
        bound && epoch(view, id) <= epoch(view, me)
    };
    let hear = |&id: &Id| id != me && hears(rules, view, id, me) && votes(rules, view, id);
    let hear = view.live().filter(hear);
    let keeps = |id| view.rules_of(rules, id).canvass != Canvass::AsksAnyway && refuses(id);
    let asks = view.rules_of(rules, me).canvass != Canvass::None;
    asks && hear.clone().all(keeps) && hear.count() > 0
}

/// Asking again whom it has met changes nothing: those that hear it have met it, and it has met
/// them.
pub(super) fn has_met_all(rules: &Quorum, view: &Moment<'_>, me: Id) -> bool {
    let (process, stable) = (view.process(me), kept(view, me));
    let changes = |id: Id| {
        let (own, other, theirs) = (view.rules_of(rules, id), view.process(id), kept(view, id));
        let answers = view.hears(me, id);
        if theirs.mark != stable.mark {
            return answers;
        }
        let may_found = own.founds(&theirs, id, view.nodes);
        let is_met = process.met.of(id) == Some(theirs.birth);
        let is_new = other.met.of(me) != Some(stable.birth);
        let is_told = is_met && !other.met_by.contains(me);
        (may_found && (is_new || is_told))
            || (answers && !is_met && (may_found || votes(rules, view, id)))
            || is_let_in_by(rules, view, id, me)
    };
    let asked = view.rules_of(rules, me).electors_of(process, view.nodes).without(me);
    let hear = |&id: &Id| view.up(id) && hears(rules, view, id, me);
    !asked.iter().filter(hear).any(changes)
}

/// Whether what `other` sends reaches `me`, and is for it: each has the other as a member.
fn hears(rules: &Quorum, view: &Moment<'_>, me: Id, other: Id) -> bool {
    let has =
        |id, of: Id| view.rules_of(rules, id).members_of(view.process(id), view.nodes).contains(of);
    view.hears(me, other) && has(me, other) && has(other, me)
}

fn sends_rounds(view: &Moment<'_>, id: Id) -> bool {
    view.up(id) && matches!(view.process(id).role, Role::Leader | Role::Lapsed)
}

fn is_healthy(rules: &Quorum, view: &Moment<'_>, id: Id) -> bool {
    let own = view.rules_of(rules, id);
    let may_lead = own.may_lead(view.process(id), id, kept(view, id).birth, view.nodes);
    !view.process(id).unfit && !view.armed(id, Timer::Away) && may_lead
}

fn epoch(view: &Moment<'_>, id: Id) -> Epoch {
    kept(view, id).epoch
}

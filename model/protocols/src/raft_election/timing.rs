//! When, with perfect timing, a process has waited long enough.
//!
//! Raft asks of time that broadcasts are much quicker than election time-outs (5.6), and that these
//! are so spread out that in most cases one process times out alone and wins before others do
//! (5.2). Perfect timing takes both at their word: an election time-out expires only when nothing
//! is in flight and no heartbeat is due that a process has yet to hear. So elections happen one at
//! a time, and no vote is split because two happen to begin together. The shortest of all election
//! time-outs is over before any other, for every process ([`Timer::Baseline`]). Whose time-out is
//! the next is open; that no process is for ever too late is what
//! [randomness](bellwether_engine::protocol::TimerRow::random) gives. What worse timing does,
//! `--suspicions` and `--timing asynchronous` show.

use super::{Message, RaftElection, Role, Timer, majority};
use bellwether_engine::protocol::{Id, View};

pub(super) fn may_time_out(
    rules: &RaftElection,
    view: &View<'_, RaftElection>,
    me: Id,
    timer: Timer,
) -> bool {
    match timer {
        Timer::Election => {
            let forgets = |id| view.armed(id, Timer::Baseline) && !hears_a_leader(view, id);
            is_quiet(rules, view) && !hears_a_leader(view, me) && !view.ids().any(forgets)
        }
        Timer::Baseline => is_quiet(rules, view) && !hears_a_leader(view, me),
        Timer::Heartbeat => {
            // Who is to answer the last one has done so.
            let on_its_way = |from, to, m| match m {
                Message::Heartbeat(_) => from == me,
                Message::HigherTerm(_) => to == me,
                _ => false,
            };
            has_news(rules, view, me) && !view.in_flight(on_its_way)
        }
        Timer::Quorum => !has_contact(rules, view, me),
    }
}

/// Nothing is on its way, and no leader has anything to say.
fn is_quiet(rules: &RaftElection, view: &View<'_, RaftElection>) -> bool {
    !view.in_flight(|_, _, _| true)
        && !view.ids().any(|id| leads(view, id) && has_news(rules, view, id))
}

/// Whether a leader whose heartbeats start this process's time-out again is heard.
fn hears_a_leader(view: &View<'_, RaftElection>, me: Id) -> bool {
    let term = |id| view.stable(id).term;
    view.ids().any(|id| leads(view, id) && view.hears(me, id) && term(id) >= term(me))
}

/// A leader's next heartbeat changes nothing.
pub(super) fn has_no_news(rules: &RaftElection, view: &View<'_, RaftElection>, me: Id) -> bool {
    !has_news(rules, view, me)
}

/// Whether a leader's next heartbeat would change anything: a process is to follow it, or to tell
/// it that it is behind.
fn has_news(rules: &RaftElection, view: &View<'_, RaftElection>, leader: Id) -> bool {
    let term = |id| view.stable(id).term;
    view.ids().filter(|&id| id != leader && view.up(id) && view.hears(id, leader)).any(|id| {
        let process = view.process(id);
        match term(id) {
            higher if higher > term(leader) => {
                view.rules_of(rules, id).answer_lower && view.hears(leader, id)
            }
            same if same == term(leader) => {
                process.role != Role::Leader && process.leader != Some(leader)
            }
            _ => true,
        }
    })
}

/// Whether a majority, itself included, hears a leader and answers it.
fn has_contact(rules: &RaftElection, view: &View<'_, RaftElection>, leader: Id) -> bool {
    let term = |id| view.stable(id).term;
    let answers = |&id: &Id| {
        let both_ways = view.hears(leader, id) && view.hears(id, leader);
        let answers = || view.rules_of(rules, id).answer_lower || term(id) <= term(leader);
        id == leader || (both_ways && answers())
    };
    view.ids().filter(answers).count() >= majority(view.ids().count())
}

fn leads(view: &View<'_, RaftElection>, id: Id) -> bool {
    view.up(id) && view.process(id).role == Role::Leader
}

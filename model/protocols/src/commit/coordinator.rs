//! What the elected process does: it counts votes, or terminates what another began.

use super::{
    Commit, Confirm, Duty, Message, Record, Reports, Silence, Termination, Timer, belief,
    participant, say, say_to_others, write,
};
use crate::three_phase_commit::Termination as Three;
use crate::two_phase_commit::Termination as Two;
use bellwether_engine::protocol::{Belief, Id, Ids, Local};

/// A process has been elected. Its log says what to do: nothing was begun, the decision is known,
/// or the transaction is to be terminated.
pub(super) fn take_over<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    match p.state.record {
        Record::Nothing => p.arm(Timer::Begin),
        decided @ (Record::Committed | Record::Aborted) => say_to_others(p, decided.message()),
        Record::Uncertain | Record::Committable | Record::Abortable => {
            p.state.heeds = None;
            turn_to(rules, p, Duty::Polling);
            say_to_others(p, Message::Poll);
        }
    }
}

/// It leads no longer.
pub(super) fn resign<P: Commit>(p: &mut Local<'_, P>) {
    p.cancel(Timer::Begin);
    p.cancel(Timer::Answers);
    p.state.duty = Duty::None;
    p.state.reports = Reports::default();
}

/// What it does from now on, and what it waits for.
fn turn_to<P: Commit>(rules: &P, p: &mut Local<'_, P>, duty: Duty) {
    p.state.duty = duty;
    p.cancel(Timer::Answers);
    if duty != Duty::Voting || rules.commit().silence != Silence::Waits {
        p.arm(Timer::Answers);
    }
}

/// What it knows does not suffice. It waits for more, and polls again after some time.
fn block<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    if p.state.duty != Duty::Blocked {
        turn_to(rules, p, Duty::Blocked);
    }
}

/// Phase 1: it votes itself, and asks all others to.
pub(super) fn begin<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    if rules.commit().refuses == Some(p.id()) {
        return decide(rules, p, Record::Aborted);
    }
    write(rules, p, Record::Uncertain);
    turn_to(rules, p, Duty::Voting);
    say_to_others(p, Message::Request);
}

/// YES: if it is the last vote, the second phase begins.
pub(super) fn on_yes<P: Commit>(rules: &P, p: &mut Local<'_, P>, from: Id) {
    if p.state.duty != Duty::Voting {
        return;
    }
    p.state.reports.note(from, Record::Uncertain);
    if all_have_reported(p) {
        end_votes(rules, p);
    }
}

/// It takes it that all have voted YES.
fn end_votes<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    match rules.commit().termination {
        Termination::Two(_) => decide(rules, p, Record::Committed),
        Termination::Three(_) => prepare(rules, p, Record::Committable),
    }
}

/// NO: one is enough.
pub(super) fn on_no<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    if p.state.duty == Duty::Voting {
        decide(rules, p, Record::Aborted);
    }
}

/// A participant says what its record is.
pub(super) fn on_report<P: Commit>(rules: &P, p: &mut Local<'_, P>, from: Id, record: Record) {
    if p.state.record.is_decided() {
        return say(p, Ids::NONE.with(from), p.state.record.message());
    }
    if record.is_decided() {
        return participant::on_decision(rules, p, record);
    }
    if !record.waits() {
        return;
    }
    let counts = match p.state.duty {
        Duty::None | Duty::Voting => false,
        Duty::Precommitting => record == Record::Committable,
        Duty::Preaborting => record == Record::Abortable,
        Duty::Polling | Duty::Blocked => true,
    };
    if !counts {
        return;
    }
    p.state.reports.note(from, record);
    match p.state.duty {
        Duty::Polling if !all_have_reported(p) => {}
        Duty::Polling | Duty::Blocked => run_termination(rules, p),
        _ => confirm(rules, p),
    }
}

/// Those that have not answered do not. One that is blocked asks again: others may know more by
/// now, and an answer may have been lost.
pub(super) fn on_silence<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    match p.state.duty {
        Duty::Voting if rules.commit().silence == Silence::Commits => end_votes(rules, p),
        Duty::Voting => decide(rules, p, Record::Aborted),
        Duty::Polling => run_termination(rules, p),
        Duty::Precommitting if rules.commit().confirm == Confirm::Live => {
            decide(rules, p, Record::Committed);
        }
        Duty::Precommitting | Duty::Preaborting => block(rules, p),
        Duty::Blocked => {
            turn_to(rules, p, Duty::Blocked);
            say_to_others(p, Message::Poll);
        }
        Duty::None => {}
    }
}

/// The termination protocol: what follows from the records that are known, none of them a decision.
fn run_termination<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    let count = |record| p.state.reports.count(record) + usize::from(p.state.record == record);
    let (uncertain, abortable) = (count(Record::Uncertain), count(Record::Abortable));
    let committable = count(Record::Committable);
    let majority = |count: usize| 2 * count > p.nodes();
    let all = all_have_reported(p);
    match rules.commit().termination {
        Termination::Two(Two::Cooperative) if !all => block(rules, p),
        Termination::Three(Three::Live) if p.state.recovered && !all => block(rules, p),
        Termination::Three(Three::Live) if committable > 0 => {
            prepare(rules, p, Record::Committable);
        }
        Termination::Two(_) | Termination::Three(Three::Live) => {
            decide(rules, p, Record::Aborted);
        }
        Termination::Three(Three::Majority | Three::Quorum)
            if committable > 0 && majority(committable + uncertain) =>
        {
            prepare(rules, p, Record::Committable);
        }
        Termination::Three(Three::Optimistic) if majority(committable + uncertain) => {
            prepare(rules, p, Record::Committable);
        }
        Termination::Three(Three::Majority) if committable == 0 && majority(uncertain) => {
            prepare(rules, p, Record::Abortable);
        }
        Termination::Three(Three::Quorum) if majority(uncertain + abortable) => {
            prepare(rules, p, Record::Abortable);
        }
        Termination::Three(_) => block(rules, p),
    }
}

/// It makes itself and the others committable, or abortable.
fn prepare<P: Commit>(rules: &P, p: &mut Local<'_, P>, record: Record) {
    let (duty, message) = match record {
        Record::Committable => (Duty::Precommitting, Message::Precommit),
        _ => (Duty::Preaborting, Message::Preabort),
    };
    if p.state.record == Record::Uncertain {
        write(rules, p, record);
    }
    p.state.reports = p.state.reports.only(record);
    turn_to(rules, p, duty);
    say_to_others(p, message);
    confirm(rules, p);
}

/// It decides once enough are committable, or abortable.
fn confirm<P: Commit>(rules: &P, p: &mut Local<'_, P>) {
    let (prepared, decision, confirm) = match p.state.duty {
        Duty::Precommitting => (Record::Committable, Record::Committed, rules.commit().confirm),
        Duty::Preaborting => (Record::Abortable, Record::Aborted, Confirm::Majority),
        Duty::None | Duty::Voting | Duty::Polling | Duty::Blocked => return,
    };
    let count = p.state.reports.count(prepared) + usize::from(p.state.record == prepared);
    let enough = match confirm {
        Confirm::Live => all_have_reported(p),
        Confirm::Majority => 2 * count > p.nodes(),
    };
    if enough {
        decide(rules, p, decision);
    }
}

/// The decision: it is written, and then said to all. This is the point of no return.
pub(super) fn decide<P: Commit>(rules: &P, p: &mut Local<'_, P>, decision: Record) {
    write(rules, p, decision);
    resign(p);
    say_to_others(p, decision.message());
}

pub(super) fn leads<P: Commit>(p: &Local<'_, P>) -> bool {
    belief(p.state) == Belief::Leads
}

fn all_have_reported<P: Commit>(p: &Local<'_, P>) -> bool {
    p.state.reports.len() + 1 == p.nodes()
}

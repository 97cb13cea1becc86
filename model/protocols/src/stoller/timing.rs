//! When, with perfect timing, a process has waited long enough.

use super::{Message, Status, Stoller, Timer};
use bellwether_engine::protocol::{Id, View};

/// A detector that makes no mistake reports a process that is down, cannot be reached, or plays
/// dead. Questions are repeated once the last ones are answered or lost. A HALT is unanswered once
/// neither it nor an answer is on its way, unless its receiver is down: the detector is quicker.
pub(super) fn may_time_out(view: &View<'_, Stoller>, me: Id, timer: Timer) -> bool {
    match timer {
        Timer::Monitor(j) => {
            let reached = view.hears(me, j) && view.hears(j, me);
            !reached || (me < j && view.process(j).plays_dead)
        }
        Timer::Ask => {
            let answered = !view.in_flight(|from, to, m| match m {
                Message::NormQ(_) | Message::Halt(_) => from == me,
                Message::NotNorm(_) | Message::Ack(_) | Message::Rej(_) => to == me,
                _ => false,
            });
            let reached = |asked| view.hears(asked, me) && view.hears(me, asked);
            answered && view.process(me).pendack.is_none_or(reached)
        }
    }
}

/// No process that would be asked would say no.
pub(super) fn all_follow(rules: &Stoller, view: &View<'_, Stoller>, me: Id) -> bool {
    let process = view.process(me);
    let Some(elid) = process.elid else { return false };
    let gets = |id| view.up(id) && view.hears(id, me);
    if process.status == Status::Elec2 {
        return process.pendack.is_none_or(|asked| !gets(asked));
    }
    let asked = rules.asked(process, me, view.ids());
    asked.iter().all(|id| !gets(id) || !rules.says_no(view.process(id), (id, me), elid))
}

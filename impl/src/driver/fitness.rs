//! Whether a node may lead, as far as it was told: for its status. What follows from it is decided
//! by its [member](crate::member).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::lock::lock;
use crate::member::Command;
use crate::protocol::Time;

/// The longest reason that is told, in bytes. A status has room for it.
const LONGEST_REASON: usize = 160;

/// What a node was told of whether it may lead. A clone is the same, and not a copy.
#[derive(Clone, Debug, Default)]
pub(super) struct Fitness(Arc<Mutex<State>>);

#[derive(Clone, Debug, Default)]
struct State {
    /// Whether its program says that it is not fit, and why.
    unhealthy: Option<String>,
    away: Option<Away>,
}

/// A time for which the node does not run.
#[derive(Clone, Copy, Debug)]
struct Away {
    /// None if the node leads without its program, as it cannot step down.
    until: Option<Time>,
    /// The program could not prepare itself.
    unprepared: bool,
}

/// The reason why a node may not lead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    /// Its program says that its machine is not fit to lead, and why.
    Unhealthy(String),
    /// It was asked not to run, for so long from now on.
    Asked(Duration),
    /// Its program could not prepare itself. So it does not run, for so long from now on; or it
    /// leads without its program, if its protocol cannot step down.
    Unprepared(Option<Duration>),
}

impl Fitness {
    /// Notes what a node is asked at `now`, which may serve such requests. The `preparation` is the
    /// number of what its program is asked.
    pub(super) fn note(&self, now: Time, command: Command, serves: bool, preparation: Option<u64>) {
        let mut state = lock(&self.0);
        match command {
            Command::SetHealthy(true) if serves => state.unhealthy = None,
            Command::SetHealthy(false) if serves => {
                state.unhealthy.get_or_insert_with(|| "its program says so".to_owned());
            }
            Command::StepDown(time) | Command::Freeze(time) if serves && !time.is_zero() => {
                state.away = Some(Away { until: Some(now + time), unprepared: false });
            }
            Command::Unprepared(number, time) if preparation == Some(number) => {
                let until = serves.then(|| now + time);
                state.away = Some(Away { until, unprepared: true });
            }
            _ => {}
        }
    }

    /// Notes that another node leads, or that this one leads or does not: it no longer leads
    /// without its program.
    pub(super) fn note_change(&self) {
        let mut state = lock(&self.0);
        state.away = state.away.filter(|away| away.until.is_some());
    }

    /// Returns why the node may not lead at `now`, if it may not.
    pub(super) fn unfit(&self, now: Time) -> Option<Unfit> {
        let State { unhealthy, away } = lock(&self.0).clone();
        let away =
            away.and_then(|Away { until, unprepared }| match until.map(|until| until.since(now)) {
                Some(left) if left.is_zero() => None,
                Some(left) if !unprepared => Some(Unfit::Asked(left)),
                left => Some(Unfit::Unprepared(left)),
            });
        away.or_else(|| unhealthy.map(Unfit::Unhealthy))
    }

    /// Notes why the program says that the node is not fit to lead. A long reason is cut.
    pub(super) fn explain(&self, reason: &str) {
        let ends = reason.char_indices().map(|(start, c)| start + c.len_utf8());
        let end = ends.take_while(|&end| end <= LONGEST_REASON).last().unwrap_or(0);
        lock(&self.0).unhealthy = Some(reason[..end].to_owned());
    }

    /// Returns what is wrong with the node, as its program says.
    pub(super) fn problem(&self) -> Option<String> {
        lock(&self.0).unhealthy.as_deref().map(unfit_because)
    }
}

/// The sentence for the status.
pub(super) fn unfit_because(reason: &str) -> String {
    format!("this node is not fit to lead: {reason}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(seconds: u32) -> Time {
        Time::ZERO + SECOND * seconds
    }

    #[test]
    fn what_was_asked_last_counts_until_its_time_is_over() {
        let fitness = Fitness::default();
        assert_eq!(fitness.unfit(at(0)), None);
        fitness.note(at(0), Command::Freeze(SECOND * 60), true, None);
        assert_eq!(fitness.unfit(at(20)), Some(Unfit::Asked(SECOND * 40)));
        fitness.note(at(20), Command::StepDown(SECOND * 2), true, None);
        fitness.note(at(21), Command::StepDown(Duration::ZERO), true, None);
        fitness.note_change();
        assert_eq!(fitness.unfit(at(21)), Some(Unfit::Asked(SECOND)));
        assert_eq!(fitness.unfit(at(22)), None);
    }

    #[test]
    fn a_node_that_serves_no_requests_is_fit_whatever_it_is_asked() {
        let fitness = Fitness::default();
        fitness.note(at(0), Command::Freeze(SECOND), false, None);
        fitness.note(at(0), Command::SetHealthy(false), false, None);
        assert_eq!(fitness.unfit(at(0)), None);
        fitness.note(at(0), Command::SetHealthy(false), true, None);
        let says_so = Unfit::Unhealthy("its program says so".to_owned());
        assert_eq!(fitness.unfit(at(9)), Some(says_so));
        fitness.note(at(9), Command::SetHealthy(true), true, None);
        assert_eq!(fitness.unfit(at(9)), None);
    }

    #[test]
    fn a_long_reason_is_cut_between_two_characters() {
        let fitness = Fitness::default();
        assert_eq!(fitness.problem(), None);
        let long = format!("x{}", "\u{1f980}".repeat(LONGEST_REASON));
        fitness.explain(&long);
        let told = fitness.problem().expect("it is not fit");
        let reason = told.strip_prefix("this node is not fit to lead: ").expect("words");
        assert!(long.starts_with(reason) && reason.len() == LONGEST_REASON - 3, "{told}");
        fitness.note(at(0), Command::SetHealthy(false), true, None);
        assert_eq!(fitness.problem(), Some(told), "the reason stays");
        fitness.note(at(0), Command::SetHealthy(true), true, None);
        assert_eq!(fitness.problem(), None);
    }

    #[test]
    fn a_refusal_counts_if_it_answers_what_the_program_was_asked_last() {
        let fitness = Fitness::default();
        let refuses = |number| Command::Unprepared(number, SECOND * 30);
        fitness.note(at(0), refuses(1), true, None);
        fitness.note(at(0), refuses(1), true, Some(2));
        assert_eq!(fitness.unfit(at(0)), None);
        fitness.note(at(0), refuses(2), true, Some(2));
        fitness.note_change();
        assert_eq!(fitness.unfit(at(10)), Some(Unfit::Unprepared(Some(SECOND * 20))));
        assert_eq!(fitness.unfit(at(30)), None);
        // A node that cannot step down leads on.
        fitness.note(at(40), refuses(3), false, Some(3));
        assert_eq!(fitness.unfit(at(4_000)), Some(Unfit::Unprepared(None)));
        fitness.note_change();
        assert_eq!(fitness.unfit(at(4_000)), None);
    }
}

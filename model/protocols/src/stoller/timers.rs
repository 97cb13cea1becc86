//! What a process waits for: its failure detectors, and the time to ask again.

use super::durations::{T_ASK, T_DETECT};
use super::election::id;
use super::{Query, Stoller, Unanswered, timing};
use bellwether_engine::protocol::{Id, TimerRow};
use serde::{Deserialize, Serialize};

/// What a process waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Timer {
    /// The failure detector of this process: its expiry is the report that the process is down.
    Monitor(Id),
    /// A leader asks again who does not follow it; in stage 2 a HALT has not been answered.
    Ask,
}

/// A detector for each process that a world can have, which none starts for itself.
pub(super) const ROWS: &[TimerRow<Stoller>] = &[
    monitor(0),
    monitor(1),
    monitor(2),
    monitor(3),
    monitor(4),
    monitor(5),
    monitor(6),
    TimerRow::fixed(Timer::Ask, &T_ASK)
        .armed_if(|rules: &Stoller| {
            rules.query != Query::None || rules.unanswered != Unanswered::Waits
        })
        .periodic(timing::all_follow)
        .waits_if(|process| process.pendack.is_some()),
];

const fn monitor(at: usize) -> TimerRow<Stoller> {
    TimerRow::detector(Timer::Monitor(Id::at(at)), &T_DETECT)
}

const _: () = assert!(ROWS.len() == bellwether_engine::protocol::MAX_SEARCHED + 1);

impl From<Timer> for String {
    fn from(timer: Timer) -> String {
        match timer {
            Timer::Monitor(id) => format!("monitor-{id}"),
            Timer::Ask => "ask".to_owned(),
        }
    }
}

impl TryFrom<String> for Timer {
    type Error = String;

    fn try_from(text: String) -> Result<Timer, String> {
        if text == "ask" {
            return Ok(Timer::Ask);
        }
        let number = text.strip_prefix("monitor-").and_then(|number| number.parse().ok());
        number
            .and_then(id)
            .map(Timer::Monitor)
            .ok_or_else(|| format!("no timer is called '{text}'"))
    }
}

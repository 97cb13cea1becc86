//! What a process waits for: its failure detectors, and the time to ask again.

use super::election::id;
use crate::protocol::Id;
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

/// A detector for each process that a world can have; nobody starts its own.
pub(super) const ALL: &[Timer] = &[
    Timer::Monitor(Id::at(0)),
    Timer::Monitor(Id::at(1)),
    Timer::Monitor(Id::at(2)),
    Timer::Monitor(Id::at(3)),
    Timer::Monitor(Id::at(4)),
    Timer::Monitor(Id::at(5)),
    Timer::Monitor(Id::at(6)),
    Timer::Ask,
];

const _: () = assert!(ALL.len() == crate::protocol::MAX_NODES + 1);
const _: () = assert!(ALL.len() <= crate::protocol::MAX_TIMERS);

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_read_as_it_is_written() {
        for &timer in ALL {
            assert_eq!(Timer::try_from(String::from(timer)), Ok(timer));
        }
        for wrong in ["", "monitor", "monitor-0", "monitor-8", "Ask"] {
            assert!(Timer::try_from(wrong.to_owned()).is_err(), "{wrong}");
        }
    }
}

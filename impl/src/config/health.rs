//! The section `[health]`: the program that says whether the node is fit to lead.

use std::time::Duration;

use humantime::format_duration;
use serde::Deserialize;

use super::{Config, Error, Runnable};

/// The check of a node: a program that the daemon runs again and again, and that says by its exit
/// status whether the node is fit to lead.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Health {
    /// The program and its arguments; none if empty. No shell is asked.
    pub check: Vec<String>,
    /// The time between the beginnings of two checks.
    #[serde(deserialize_with = "super::fields::time")]
    pub interval: Duration,
    /// The time that a check may take before it is killed, and has failed.
    #[serde(deserialize_with = "super::fields::time")]
    pub timeout: Duration,
    /// The number of successes in a row that make a node fit which is not.
    pub rise: u32,
    /// The number of failures in a row that make a node unfit which is fit.
    pub fall: u32,
}

impl Default for Health {
    fn default() -> Self {
        let [interval, timeout] = [5, 2].map(Duration::from_secs);
        Self { check: Vec::new(), interval, timeout, rise: 2, fall: 3 }
    }
}

impl<C: Runnable> Config<C> {
    /// Returns the check of the node, which the daemon runs. The library runs nothing: a program
    /// tells its node by [`Handle::set_healthy`](crate::Handle::set_healthy).
    #[must_use]
    pub fn health(&self) -> &Health {
        &self.health
    }
}

impl Health {
    /// Checks whether this makes sense for a node of the protocol `C`.
    pub(super) fn validate<C: Runnable>(&self) -> Result<(), Error> {
        let Self { check, interval, timeout, rise, fall } = self;
        let problem = if check.first().is_some_and(String::is_empty) {
            "check names no program: write [\"/path/to/program\", ...]".to_owned()
        } else if interval.is_zero() {
            "interval is 0s: use a second or more".to_owned()
        } else if timeout.is_zero() {
            "timeout is 0s, and nothing ends at once: use a second or more".to_owned()
        } else if timeout > interval {
            let [timeout, interval] = [*timeout, *interval].map(format_duration);
            format!(
                "timeout ({timeout}) must not be longer than health.interval ({interval}): one \
                 check ends before the next begins"
            )
        } else if *rise == 0 || *fall == 0 {
            let key = if *rise == 0 { "rise" } else { "fall" };
            format!("{key} is 0: use 1 or more")
        } else if !check.is_empty() && !C::REQUESTS {
            format!(
                "check cannot keep a node of protocol {} from leading: remove it, or run the \
                 protocol quorum",
                C::NAME
            )
        } else {
            return Ok(());
        };
        Err(Error::Health { problem })
    }
}

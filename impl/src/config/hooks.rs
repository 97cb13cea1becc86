//! The section `[hooks]`: what the daemon runs before it leads, and on each change.

use std::time::Duration;

use serde::Deserialize;

use super::Error;

/// The programs that the daemon runs before it leads, and on each change of role, leader or epoch.
/// Each is a program and its arguments; no shell is asked.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Hooks {
    /// The program that must succeed before the node leads; none if empty.
    pub before_leading: Vec<String>,
    /// The program that runs after each change; none if empty.
    pub on_change: Vec<String>,
    /// The time that each program may take before it is killed.
    #[serde(deserialize_with = "super::fields::time")]
    pub timeout: Duration,
    /// The time for which a node does not run after `before_leading` has failed.
    #[serde(deserialize_with = "super::fields::time")]
    pub retry: Duration,
}

impl Default for Hooks {
    fn default() -> Self {
        let [timeout, retry] = [10, 30].map(Duration::from_secs);
        Self { before_leading: Vec::new(), on_change: Vec::new(), timeout, retry }
    }
}

impl Hooks {
    /// Checks what can be checked before anything runs.
    pub(super) fn check(&self) -> Result<(), Error> {
        for (key, words) in
            [("before_leading", &self.before_leading), ("on_change", &self.on_change)]
        {
            if words.first().is_some_and(String::is_empty) {
                let problem = format!("{key} names no program: write [\"/path/to/program\", ...]");
                return Err(Error::Hooks { problem });
            }
        }
        if self.timeout.is_zero() {
            let problem = "timeout is 0s, and nothing ends at once: use a second or more".into();
            return Err(Error::Hooks { problem });
        }
        Ok(())
    }
}

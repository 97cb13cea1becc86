//! The keys and sections of a file that say the same for every protocol: `priority`,
//! `preempt_delay`, `[network]`, `[hooks]` and `[health]`.

use std::time::Duration;

use humantime::format_duration;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::fields::section;
use super::groups::GroupNames;
use super::{Config, Error, Runnable};

/// The longest delay.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How much a node is preferred as the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Preference {
    #[serde(deserialize_with = "priority")]
    priority: u8,
    #[serde(with = "super::fields::time")]
    preempt_delay: Duration,
}

fn priority<'de, D: Deserializer<'de>>(value: D) -> Result<u8, D::Error> {
    let number = i64::deserialize(value)?;
    let wrong =
        |_| D::Error::custom(format!("{number} is no priority: use a number from 0 to 255"));
    u8::try_from(number).map_err(wrong)
}

impl Default for Preference {
    fn default() -> Self {
        Self { priority: 100, preempt_delay: Duration::from_secs(10) }
    }
}

impl<C: Runnable> Config<C> {
    /// Returns the priority of the node. A leader hands over to a node that is connected and fit to
    /// lead, and has had a higher priority than its own for the [delay](Config::preempt_delay).
    #[must_use]
    pub fn priority(&self) -> u8 {
        self.preference.priority
    }

    /// Returns how long another node must have had a higher priority, and this one have led, before
    /// this node hands over to it.
    #[must_use]
    pub fn preempt_delay(&self) -> Duration {
        self.preference.preempt_delay
    }

    /// Returns this configuration with another [priority](Config::priority), which is 100 if it is
    /// not given, and [delay](Config::preempt_delay), which is 10 s.
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when leaders of the protocol cannot name their successor, or are replaced
    /// by higher nodes; or when the delay is longer than a day.
    pub fn with_priority(mut self, priority: u8, preempt_delay: Duration) -> Result<Self, Error> {
        self.preference = Preference { priority, preempt_delay };
        self.preference.validate::<C>(&self.core, &self.groups)?;
        Ok(self)
    }
}

impl Preference {
    /// Checks whether this makes sense for a node of the protocol `C`.
    pub(super) fn validate<C: Runnable>(
        self,
        core: &C::Config,
        groups: &GroupNames,
    ) -> Result<(), Error> {
        let problem = if self.preempt_delay > LONGEST_DELAY {
            "preempt_delay is longer than a day: use 24h or less".to_owned()
        } else if self.priority == Self::default().priority {
            return Ok(());
        } else if !groups.is_empty() {
            "priority has no effect with [groups], each of which has an order of its own: remove it"
                .to_owned()
        } else if C::prefers_by_priority(core) {
            return Ok(());
        } else if C::TRANSFERS {
            format!(
                "priority has no effect while higher nodes take over by themselves: set \
                 `preemption = \"never\"` under [{}], or remove `priority`",
                C::NAME
            )
        } else {
            format!(
                "priority has no effect with the protocol {}, whose leaders name no successor: \
                 remove it, or run the protocol quorum",
                C::NAME
            )
        };
        Err(Error::Setting { problem })
    }
}

/// The longest time-out of the network.
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The time-outs that follow from the protocol are from the first to the second; a configuration
/// may have others.
const SHORTEST_USUAL: Duration = Duration::from_secs(1);
const LONGEST_USUAL: Duration = Duration::from_secs(5);

section! {
    /// The settings of the network. A setting that is not given is `None`.
    #[derive(Copy)]
    pub struct NetworkSettings in "network.", "Network" {
        /// How long a connection may take until it stands, as in 2s
        #[serde(with = "super::fields::time")]
        timeout: Option<Duration> = "network-timeout", "TIME", "BELLWETHER_NETWORK_TIMEOUT",
            value_parser = super::duration, hide_short_help = true;
        /// Whether to wait no longer for a member that has hung up, and whose address refuses
        suspect_refused: Option<bool> = "suspect-refused", "BOOL", "BELLWETHER_SUSPECT_REFUSED",
            hide_short_help = true;
    }
}

impl<C: Runnable> Config<C> {
    /// Returns how long a connection may take until it stands; a third of what a handshake may
    /// take; and how long what was sent may stay unacknowledged. If nothing is configured, it
    /// follows from how long a message of the protocol is worth sending.
    #[must_use]
    pub fn network_timeout(&self) -> Duration {
        // There and back, within reason.
        let usual = || (C::message_lifetime(&self.core) * 2).clamp(SHORTEST_USUAL, LONGEST_USUAL);
        self.network.timeout.unwrap_or_else(usual)
    }

    /// Returns whether a timer that only waits for members that have hung up, and whose addresses
    /// refuse connections, expires at once. So a leader that was killed is replaced sooner.
    #[must_use]
    pub fn suspects_refused(&self) -> bool {
        self.network.suspect_refused.unwrap_or(true)
    }
}

impl NetworkSettings {
    pub(super) fn check(&self) -> Result<(), Error> {
        match self.timeout {
            Some(timeout) if timeout.is_zero() || timeout > LONGEST_TIMEOUT => {
                let problem =
                    format!("network.timeout is {timeout:?}: use more than 0s and at most 1h");
                Err(Error::Setting { problem })
            }
            _ => Ok(()),
        }
    }
}

/// The programs that the daemon runs before it leads, and on each change of role, leader or epoch.
/// Each is a program and its arguments; no shell is asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Hooks {
    /// The program that must succeed before the node leads; none if empty.
    pub before_leading: Vec<String>,
    /// The program that runs after each change; none if empty.
    pub on_change: Vec<String>,
    /// The time that each program may take before it is killed.
    #[serde(with = "super::fields::time")]
    pub timeout: Duration,
    /// The time for which a node does not stand for election after `before_leading` has failed.
    #[serde(with = "super::fields::time")]
    pub retry: Duration,
}

impl Default for Hooks {
    fn default() -> Self {
        let [timeout, retry] = [10, 30].map(Duration::from_secs);
        Self { before_leading: Vec::new(), on_change: Vec::new(), timeout, retry }
    }
}

impl Hooks {
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

/// The check of a node: a program that the daemon runs again and again, and that says by its exit
/// status whether the node is fit to lead.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct Health {
    /// The program and its arguments; none if empty. No shell is asked.
    pub check: Vec<String>,
    /// The time between the beginnings of two checks.
    #[serde(with = "super::fields::time")]
    pub interval: Duration,
    /// The time that a check may take before it is killed, and has failed.
    #[serde(with = "super::fields::time")]
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
                 protocol quorum or lease",
                C::NAME
            )
        } else {
            return Ok(());
        };
        Err(Error::Health { problem })
    }
}

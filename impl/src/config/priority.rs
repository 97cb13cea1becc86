//! The keys `priority` and `preempt_delay`: which node is to lead, of those that can.

use std::time::Duration;

use super::groups::GroupNames;
use super::{Config, Error, Runnable};

/// The longest delay.
const LONGEST_DELAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How much a node is preferred as the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Preference {
    pub(super) priority: u8,
    pub(super) preempt_delay: Duration,
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

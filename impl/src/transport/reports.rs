//! What a node says of itself to those that ask at its port.

use std::sync::Arc;

use crate::config::GroupName;
use crate::report::{GroupReport, StatusReport};

/// What says how a node is, in one group.
pub(crate) type Report = Arc<dyn Fn() -> StatusReport + Send + Sync>;

/// What says how a node is in each of its groups.
pub(crate) struct Reports {
    /// By the number of the group. One without a name is the only one.
    groups: Vec<(Option<GroupName>, Report)>,
    /// Whether the node leads in any of them.
    leads: Box<dyn Fn() -> bool + Send + Sync>,
}

impl Reports {
    /// That of these groups.
    pub(crate) fn new(
        groups: Vec<(Option<GroupName>, Report)>,
        leads: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self { groups, leads: Box::new(leads) }
    }

    /// How many groups there are.
    pub(super) fn count(&self) -> usize {
        self.groups.len()
    }

    /// Whether there are several groups.
    pub(super) fn are_many(&self) -> bool {
        self.groups.len() > 1
    }

    /// Whether the node leads in any group.
    pub(super) fn leads(&self) -> bool {
        (self.leads)()
    }

    /// How a node without groups is; none if it has groups.
    pub(super) fn of_one(&self) -> Option<StatusReport> {
        match self.groups.as_slice() {
            [(None, report)] => Some(report()),
            _ => None,
        }
    }

    /// How the node is in the group with this name, if there is one.
    pub(super) fn of_group(&self, asked: &str) -> Option<StatusReport> {
        let is_asked = |name: &GroupName| name.as_str() == asked;
        let found = self.groups.iter().find(|(name, _)| name.as_ref().is_some_and(is_asked));
        found.map(|(_, report)| report())
    }

    /// Which node leads each group, as this one sees it.
    pub(super) fn groups(&self) -> Vec<GroupReport> {
        let told = |(name, report): &(Option<GroupName>, Report)| {
            let StatusReport { role, leader, epoch, .. } = report();
            let name = name.as_ref().map(ToString::to_string).unwrap_or_default();
            GroupReport { name, role, leader, epoch }
        };
        self.groups.iter().map(told).collect()
    }
}

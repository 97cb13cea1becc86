//! The section `[groups]`: the elections of a node that takes part in several, each with a leader
//! of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Config, Digest, Error, Runnable, digest, protocols};
use crate::protocol::ClusterId;
use crate::storage::Owner;

/// The name of a group: 1 to 64 letters, digits, dots, dashes and underscores.
///
/// ```
/// use bellwether::internal::config::GroupName;
/// assert_eq!("orders-17".parse::<GroupName>()?.as_str(), "orders-17");
/// assert!("orders/17".parse::<GroupName>().is_err());
/// # Ok::<(), bellwether::ConfigError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupName(Arc<str>);

impl GroupName {
    /// The largest number of groups of a node.
    pub const MOST: usize = 2_048;

    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn parse(text: &str) -> Result<Self, String> {
        match text.parse::<ClusterId>() {
            Ok(_) => Ok(Self(text.into())),
            Err(_) => Err(format!(
                "`{text}` is not the name of a group: use 1 to 64 letters, digits, dots, dashes \
                 and underscores"
            )),
        }
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl FromStr for GroupName {
    type Err = Error;

    /// The names of groups are made as those of clusters are.
    fn from_str(text: &str) -> Result<Self, Error> {
        Self::parse(text).map_err(wrong)
    }
}

/// The names of the groups of a node, ascending; none if it takes part in one election alone. The
/// number of a group is its place among them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Section")]
pub(super) struct GroupNames(Arc<[GroupName]>);

/// The section as a file has it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Section {
    names: Vec<String>,
    count: usize,
}

impl TryFrom<Section> for GroupNames {
    type Error = String;

    fn try_from(Section { names, count }: Section) -> Result<Self, String> {
        match (names.is_empty(), count) {
            (_, 0) => Self::new(names),
            (true, count) => Self::new((1..=count).take(GroupName::MOST + 1)),
            (false, _) => Err("`names` and `count` say it in two ways: use one".to_owned()),
        }
    }
}

impl GroupNames {
    fn new(names: impl IntoIterator<Item = impl ToString>) -> Result<Self, String> {
        let mut all = BTreeSet::new();
        for name in names {
            let name = GroupName::parse(&name.to_string())?;
            if all.contains(&name) {
                return Err(format!("two groups are named `{name}`: remove one"));
            }
            all.insert(name);
        }
        if all.len() > GroupName::MOST {
            let most = GroupName::MOST;
            return Err(format!("more than {most} groups: use another cluster for more"));
        }
        Ok(Self(all.into_iter().collect()))
    }

    /// Refuses groups of a protocol that elects the same node in each.
    pub(super) fn check<C: Runnable>(&self) -> Result<(), Error> {
        if self.0.is_empty() || C::ORDERS {
            return Ok(());
        }
        let protocol = C::NAME;
        Err(wrong(format!(
            "protocol {protocol} has no groups: remove [groups], or choose the protocol quorum, \
             which has"
        )))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the elections of this cluster, as what is outside of it knows them.
    pub(super) fn elections(&self, cluster: &ClusterId) -> Vec<String> {
        if self.is_empty() {
            return vec![cluster.to_string()];
        }
        self.0.iter().map(|group| format!("{cluster}/{group}")).collect()
    }
}

fn wrong(problem: String) -> Error {
    Error::Groups { problem }
}

impl<C: Runnable> Config<C> {
    /// Returns this configuration with these groups: elections with a leader each, in which the
    /// same members take part, over one set of connections. They are the same on every node.
    ///
    /// Which member leads which group, if it can, follows from the place of the group in the order
    /// of the names: each member leads as many as any other, or one more.
    ///
    /// ```
    /// use bellwether::Config;
    /// let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    /// let config = Config::new("orders", 2, members)?.with_groups(["north", "south"])?;
    /// # Ok::<(), bellwether::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when a name is not valid or there twice, there are too many, or the
    /// protocol has no groups.
    pub fn with_groups<N: ToString>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> Result<Self, Error> {
        self.groups = GroupNames::new(names).map_err(wrong)?;
        self.groups.check::<C>()?;
        Ok(self)
    }

    /// Returns the names of the groups, ascending; none if the node takes part in one election
    /// alone.
    #[must_use]
    pub fn groups(&self) -> &[GroupName] {
        &self.groups.0
    }

    /// How many elections the node takes part in.
    pub(crate) fn elections(&self) -> usize {
        self.groups.0.len().max(1)
    }

    /// The configuration of the core in the election with this number.
    pub(crate) fn core_of(&self, number: usize) -> Result<C::Config, Error> {
        if self.groups.0.is_empty() {
            return Ok(self.core.clone());
        }
        // The members of groups do not change by request: those of the file count.
        let members = self.members.clone().with_addresses(BTreeMap::new()).for_election(number);
        protocols::core::<C>(self.node, &members, &self.section)
    }

    /// What the other nodes are told of the groups; none if there are none.
    pub(crate) fn groups_digest(&self) -> Option<Digest> {
        let names: Vec<_> = self.groups.0.iter().map(GroupName::as_str).collect();
        // No name has this between two in it.
        (!names.is_empty()).then(|| digest(names.join(" ").as_bytes()))
    }

    /// The owner of the durable state of all groups. It is of no use to a node without groups.
    pub(crate) fn owner_of_groups(&self) -> Owner {
        Owner { protocol: format!("{} in groups", C::NAME), ..self.owner() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config() -> Config {
        let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
        Config::new("orders", 2, members).expect("valid")
    }

    #[test]
    fn groups_are_in_the_order_of_their_names_however_they_are_listed() {
        let two = config().with_groups(["south", "north"]).expect("valid");
        let names: Vec<_> = two.groups().iter().map(GroupName::as_str).collect();
        assert_eq!(names, ["north", "south"]);
        let same = config().with_groups(["north", "south"]).expect("valid");
        assert_eq!(two.groups_digest(), same.groups_digest());
        let other = config().with_groups(["north", "south", "west"]).expect("valid");
        assert!(two.groups_digest().is_some() && two.groups_digest() != other.groups_digest());
        assert_eq!((config().groups_digest(), config().elections()), (None, 1));
        assert_eq!(other.elections(), 3);
        assert_ne!(&two.core_of(1).expect("valid"), two.core(), "another order of the members");
    }

    #[test]
    fn groups_have_each_a_name_and_are_not_too_many() {
        for names in [&["a", "b", "a"][..], &["a b"]] {
            assert!(matches!(config().with_groups(names), Err(Error::Groups { .. })));
        }
        assert!(matches!(config().with_groups(0..=GroupName::MOST), Err(Error::Groups { .. })));
        assert!(config().with_groups(0..GroupName::MOST).is_ok());
    }
}

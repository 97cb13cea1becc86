//! Group numbers, and sets of members as messages carry them.

use bellwether_engine::protocol::Id;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A group number: who formed the group, and which of its groups this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// Who formed it, and coordinates it.
    pub coordinator: Id,
    /// How many groups that process had formed then, this one included.
    pub number: u8,
}

/// `3.1` is the first group of 3.
impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.coordinator, self.number)
    }
}

impl FromStr for Group {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("a group is written like 3.1, not {text:?}");
        let (coordinator, number) = text.split_once('.').ok_or_else(wrong)?;
        let coordinator = id(coordinator).ok_or_else(wrong)?;
        Ok(Group { coordinator, number: number.parse().map_err(|_| wrong())? })
    }
}

impl Serialize for Group {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Group {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// A set of processes as it stands in messages: `1+3` are 1 and 3.
pub(super) mod with_plus {
    use super::id;
    use bellwether_engine::protocol::Ids;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(ids: &Ids, to: S) -> Result<S::Ok, S::Error> {
        let ids: Vec<_> = ids.iter().map(|id| id.to_string()).collect();
        to.serialize_str(&ids.join("+"))
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Ids, D::Error> {
        let text = String::deserialize(from)?;
        let ids = text.split('+').filter(|part| !part.is_empty());
        ids.map(|part| id(part).ok_or_else(|| D::Error::custom(format!("{part:?} is no id"))))
            .collect()
    }
}

fn id(text: &str) -> Option<Id> {
    let number = text.parse::<usize>().ok()?;
    (1..=bellwether_engine::protocol::MAX_NODES).contains(&number).then(|| Id::at(number - 1))
}

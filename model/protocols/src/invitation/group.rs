//! Group numbers, sets of members as messages carry them, and names of groups that do not depend on
//! how many there were.

use super::{Counter, Invitation, Message};
use bellwether_engine::protocol::{Everything, Id};
use bellwether_engine::terms;
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
        match (coordinator.parse(), number.parse()) {
            (Ok(coordinator), Ok(number)) => Ok(Group { coordinator, number }),
            _ => Err(wrong()),
        }
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
    use bellwether_engine::protocol::{Id, Ids};
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
        let id = |part: &str| part.parse::<Id>().map_err(|_| format!("{part:?} is no id"));
        ids.map(id).collect::<Result<_, _>>().map_err(D::Error::custom)
    }
}

/// Replaces every group number by its rank, where the counter is stable.
///
/// Group numbers are compared for equality and for nothing else, and of the numbers of one
/// coordinator only its own last one, on its stable storage, is ever added to, which is the largest
/// of all. A step from the renamed state leads to the renamed result of that step.
///
/// A volatile counter starts at the beginning again, and may meet a number that is still known; how
/// large that is decides. There, nothing is renamed.
pub(super) fn canonicalize(rules: &Invitation, all: Everything<'_, Invitation>) {
    if rules.counter == Counter::Volatile {
        return;
    }
    let Everything { processes, stable, messages, .. } = all;
    for coordinator in Id::all(processes.len()) {
        terms::rank(|show| {
            let of_processes = processes.iter_mut().filter_map(|p| p.group.as_mut());
            let of_messages = messages.iter_mut().filter_map(|e| e.message.group_mut());
            let groups = of_processes.chain(of_messages);
            let its = groups.filter(|group| group.coordinator == coordinator);
            its.for_each(|group| show(&mut group.number));
            show(&mut stable[coordinator.index()].counter);
        });
    }
}

impl Message {
    fn group_mut(&mut self) -> Option<&mut Group> {
        match self {
            Message::AreYouCoordinator | Message::Coordinator => None,
            Message::Invitation(group)
            | Message::Accept(group)
            | Message::Ready { group, .. }
            | Message::Done(group)
            | Message::AreYouThere(group)
            | Message::Here(group) => Some(group),
        }
    }
}

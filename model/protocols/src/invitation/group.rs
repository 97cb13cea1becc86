//! Group numbers, sets of members as messages carry them, and names of groups that do not depend on
//! how many there were.

use super::{Counter, Invitation, Message};
use bellwether_engine::protocol::{Everything, Id};
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

/// The numbers that are known, a set of bytes.
struct Known([u128; 2]);

impl Known {
    fn note(&mut self, number: u8) {
        self.0[usize::from(number >> 7)] |= 1 << (number & 127);
    }

    /// How many known numbers above 0 are not larger than `number`, which is known.
    fn rank(&self, number: u8) -> u8 {
        let upto = |half: u128, number: u8| (half & (u128::MAX >> (127 - number))).count_ones();
        let counted = match number {
            0..=127 => upto(self.0[0] & !1, number),
            _ => (self.0[0] & !1).count_ones() + upto(self.0[1], number - 128),
        };
        u8::try_from(counted).expect("a set of 8-bit numbers")
    }
}

/// Replaces every group number by its rank, where the counter is stable.
///
/// Group numbers are compared for equality and for nothing else, and of the numbers of one
/// coordinator only its own last one, on its stable storage, is ever added to. The numbers of each
/// coordinator may therefore be replaced by their ranks among those that a process still knows:
/// equal ones stay equal, different ones different, and since the last one is the largest of all,
/// the next one is again a number that no process knows. A step from the renamed state leads to the
/// renamed result of that step.
///
/// A volatile counter starts at the beginning again, and may meet a number that is still known; how
/// large that is decides. There, nothing is renamed.
pub(super) fn canonicalize(rules: &Invitation, all: Everything<'_, Invitation>) {
    if rules.counter == Counter::Stable {
        rank(all);
    }
}

fn rank(all: Everything<'_, Invitation>) {
    let Everything { processes, stable, messages, .. } = all;
    for (coordinator, at) in Id::all(processes.len()).zip(0..) {
        let mut known = Known([0; 2]);
        let mut note = |group: &mut Group| {
            if group.coordinator == coordinator {
                known.note(group.number);
            }
        };
        let mut groups = |each: &mut dyn FnMut(&mut Group)| {
            processes.iter_mut().filter_map(|p| p.group.as_mut()).for_each(&mut *each);
            messages.iter_mut().filter_map(|e| e.message.group_mut()).for_each(each);
        };
        groups(&mut note);
        known.note(stable[at].counter);
        groups(&mut |group| {
            if group.coordinator == coordinator {
                group.number = known.rank(group.number);
            }
        });
        stable[at].counter = known.rank(stable[at].counter);
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

//! What elections are called.

use bellwether_engine::protocol::Id;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The id of an election: whose it is, in which incarnation, and a counter. Processes compare
/// these for equality and look at the owner, nothing else.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Elid {
    /// Whose election it is.
    pub owner: Id,
    /// The owner's incarnation.
    pub incarnation: u8,
    /// How many elections the owner had begun before in that incarnation.
    pub counter: u8,
}

impl fmt::Display for Elid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.owner, self.incarnation, self.counter)
    }
}

impl fmt::Debug for Elid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Elid> for String {
    fn from(elid: Elid) -> String {
        elid.to_string()
    }
}

impl TryFrom<String> for Elid {
    type Error = String;

    fn try_from(text: String) -> Result<Elid, String> {
        let wrong = || format!("an election is called OWNER.INCARNATION.COUNTER, not '{text}'");
        let mut parts = text.split('.');
        let mut number = || parts.next()?.parse::<u8>().ok();
        let (owner, incarnation, counter) = (number(), number(), number());
        match (owner.and_then(id), incarnation, counter, parts.next()) {
            (Some(owner), Some(incarnation), Some(counter), None) => {
                Ok(Elid { owner, incarnation, counter })
            }
            _ => Err(wrong()),
        }
    }
}

/// The process with this number.
pub(super) fn id(number: u8) -> Option<Id> {
    Id::all(bellwether_engine::protocol::MAX_NODES).find(|id| id.number() == number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_election_is_read_as_it_is_written() {
        let elid = Elid { owner: Id::at(2), incarnation: 1, counter: 40 };
        assert_eq!(elid.to_string(), "3.1.40");
        assert_eq!(Elid::try_from(elid.to_string()), Ok(elid));
        for wrong in ["", "3.1", "3.1.2.0", "0.1.2", "8.1.2", "3.1.256", "3.-1.0", "x.1.2"] {
            let refused = Elid::try_from(wrong.to_owned()).expect_err(wrong);
            assert!(refused.contains("OWNER.INCARNATION.COUNTER"), "{refused}");
        }
    }
}

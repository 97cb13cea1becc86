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
    Id::all(bellwether_engine::protocol::MAX_SEARCHED).find(|id| id.number() == number)
}

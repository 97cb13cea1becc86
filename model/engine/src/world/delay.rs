//! How long a message may be on its way.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The longest duration, in ticks.
pub const MAX_TICKS: u8 = 100;

/// The longest time that a message may be on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "Spelled", try_from = "Spelled")]
pub enum Delay {
    /// The message takes at most this number of ticks.
    AtMost(u8),
    /// The message arrives in the end, if it is not lost.
    Unbounded,
}

/// How a delay stands in JSON: a number, or a word.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Spelled {
    Ticks(u8),
    Word(String),
}

const UNBOUNDED: &str = "unbounded";

impl From<Delay> for Spelled {
    fn from(delay: Delay) -> Spelled {
        match delay {
            Delay::AtMost(ticks) => Spelled::Ticks(ticks),
            Delay::Unbounded => Spelled::Word(UNBOUNDED.to_owned()),
        }
    }
}

impl TryFrom<Spelled> for Delay {
    type Error = String;

    fn try_from(spelled: Spelled) -> Result<Delay, String> {
        match spelled {
            Spelled::Ticks(ticks) => Ok(Delay::AtMost(ticks)),
            Spelled::Word(word) if word == UNBOUNDED => Ok(Delay::Unbounded),
            Spelled::Word(word) => {
                Err(format!("a delay is a number of ticks or \"{UNBOUNDED}\", not {word:?}"))
            }
        }
    }
}

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delay::AtMost(ticks) => ticks.fmt(f),
            Delay::Unbounded => f.write_str(UNBOUNDED),
        }
    }
}

//! The numbers of grants, of writes and of requests.

use serde::{Deserialize, Serialize};

/// A fencing token: the number of a grant.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Token(pub u8);

impl Token {
    /// The first that is granted.
    pub const FIRST: Token = Token(1);

    pub(super) fn next(self) -> Token {
        Token(self.0 + 1)
    }
}

/// How often the store's record was written, where clients watch it ([`Term::Observed`]).
///
/// [`Term::Observed`]: super::Term::Observed
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Version(pub u8);

impl Version {
    /// The first that a client can see.
    pub const FIRST: Version = Version(1);

    pub(super) fn next(self) -> Version {
        Version(self.0 + 1)
    }
}

/// What a request is called, among those of one client: how often that had started, and which one
/// it was since. Written as in `1.2`.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(into = "String", try_from = "String")]
pub struct Number {
    /// How often the client had started.
    pub incarnation: u8,
    /// Which of its requests since it is, from 1.
    pub request: u8,
}

impl From<Number> for String {
    fn from(Number { incarnation, request }: Number) -> String {
        format!("{incarnation}.{request}")
    }
}

impl TryFrom<String> for Number {
    type Error = String;

    fn try_from(text: String) -> Result<Number, String> {
        let parts = text.split_once('.').and_then(|(incarnation, request)| {
            Some(Number { incarnation: incarnation.parse().ok()?, request: request.parse().ok()? })
        });
        parts.ok_or_else(|| format!("a request is called as in 1.2, not {text:?}"))
    }
}

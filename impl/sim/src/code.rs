//! The short string that repeats a run: protocol, number of nodes, faults, seed, and if some faults
//! are left out, the numbers of those that are kept: `quorum:5:all:00c0ffee`,
//! `quorum:5:all:00c0ffee:3,17`. A wrong world follows the protocol: `quorum!forgets:5:all:07`.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum as _;
use thiserror::Error;

use crate::faults::{Faults, Kind};
use crate::subject::{self, Subject, Visitor};
use crate::wrong::Wrong;

/// The most nodes that are simulated.
pub const MOST_NODES: usize = 5_000;

/// The most nodes that are simulated with operators, whose work grows with the square of that.
pub const MOST_OPERATED: usize = 100;

/// The parameters that decide everything in a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The protocol, and its configuration.
    pub protocol: String,
    /// The mistake that the world or the program has on purpose.
    pub wrong: Option<Wrong>,
    /// How many nodes there are.
    pub nodes: usize,
    /// Which faults.
    pub faults: Faults,
    /// The seed.
    pub seed: u64,
    /// The faults of the plan that strike, by their numbers; all if not given.
    pub kept: Option<Vec<usize>>,
}

/// Why a string is no code.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CodeError {
    /// Its parts.
    #[error("`{0}` is not PROTOCOL:NODES:FAULTS:SEED, such as quorum:5:all:00c0ffee")]
    Parts(String),
    /// Its protocol.
    #[error("`{0}` is not simulated: use one of {names}", names = subject::NAMES.join(", "))]
    Protocol(String),
    /// Its wrong world.
    #[error("`{0}` is no wrong world: use one of {names}", names = Wrong::names())]
    Wrong(String),
    /// Its number of nodes.
    #[error("`{0}` is no number of nodes from 2 to {MOST_NODES}")]
    Nodes(String),
    /// Its faults.
    #[error(
        "`{0}` names no faults: use all, none, flap, or kinds joined by +, such as losses+crashes"
    )]
    Faults(String),
    /// Its faults are for another protocol, or for fewer nodes.
    #[error(
        "{kinds} are simulated with the protocol quorum and up to {MOST_OPERATED} nodes: use \
         those, or other faults",
        kinds = listed(Kind::operators())
    )]
    Operators,
    /// Its faults are for another protocol.
    #[error(
        "{kinds} are simulated with the protocol lease: use that, or other faults",
        kinds = listed(Kind::stores())
    )]
    Stores,
    /// Its seed.
    #[error("`{0}` is no seed: use up to 16 hexadecimal digits")]
    Seed(String),
    /// The faults that are kept.
    #[error("`{0}` is no list of the faults that are kept: use numbers with commas, such as 3,17")]
    Kept(String),
}

fn listed(kinds: &[Kind]) -> String {
    let names: Vec<_> = kinds.iter().map(|kind| kind.name()).collect();
    names.join(", ")
}

/// The number of nodes in a text.
///
/// # Errors
///
/// [`CodeError::Nodes`] unless it is one from 2 to [`MOST_NODES`].
pub fn nodes(text: &str) -> Result<usize, CodeError> {
    let number = text.parse().ok().filter(|number| (2..=MOST_NODES).contains(number));
    number.ok_or_else(|| CodeError::Nodes(text.to_owned()))
}

/// The faults in a text.
///
/// # Errors
///
/// [`CodeError::Faults`] unless it [names](Faults::named) some.
pub fn faults(text: &str) -> Result<Faults, CodeError> {
    Faults::named(text).ok_or_else(|| CodeError::Faults(text.to_owned()))
}

/// The seed in a text.
///
/// # Errors
///
/// [`CodeError::Seed`] unless it is a hexadecimal number of 64 bits.
pub fn seed(text: &str) -> Result<u64, CodeError> {
    u64::from_str_radix(text, 16).map_err(|_| CodeError::Seed(text.to_owned()))
}

/// The protocol in a text.
///
/// # Errors
///
/// [`CodeError::Protocol`] unless it is simulated.
pub fn protocol(text: &str) -> Result<String, CodeError> {
    let known = subject::NAMES.contains(&text);
    known.then(|| text.to_owned()).ok_or_else(|| CodeError::Protocol(text.to_owned()))
}

/// The wrong world in a text.
///
/// # Errors
///
/// [`CodeError::Wrong`] unless there is one of that name.
pub fn wrong(text: &str) -> Result<Wrong, CodeError> {
    Wrong::from_str(text, false).map_err(|_| CodeError::Wrong(text.to_owned()))
}

impl FromStr for Code {
    type Err = CodeError;

    fn from_str(text: &str) -> Result<Self, CodeError> {
        let parts: Vec<_> = text.split(':').collect();
        let [name, number, kinds, digits, kept @ ..] = parts.as_slice() else {
            return Err(CodeError::Parts(text.to_owned()));
        };
        if kept.len() > 1 {
            return Err(CodeError::Parts(text.to_owned()));
        }
        let (name, what) = name.split_once('!').map_or((*name, None), |(a, b)| (a, Some(b)));
        let list = |text: &str| {
            let numbers = text.split(',').filter(|number| !number.is_empty());
            let numbers = numbers.map(|number| number.parse().ok()).collect::<Option<Vec<_>>>();
            numbers.ok_or_else(|| CodeError::Kept(text.to_owned()))
        };
        let code = Self {
            protocol: protocol(name)?,
            wrong: what.map(wrong).transpose()?,
            nodes: nodes(number)?,
            faults: faults(kinds)?,
            seed: seed(digits)?,
            kept: kept.first().copied().map(list).transpose()?,
        };
        code.suits()?;
        Ok(code)
    }
}

impl Code {
    /// Returns whether the protocol has what its faults need, and there are not too many nodes for
    /// them.
    ///
    /// # Errors
    ///
    /// [`CodeError::Operators`] or [`CodeError::Stores`] if not.
    pub fn suits(&self) -> Result<(), CodeError> {
        let (is_operated, has_store) = subject::with(&self.protocol, Has).unwrap_or_default();
        if self.faults.have_any(Kind::operators()) && !(is_operated && self.nodes <= MOST_OPERATED)
        {
            return Err(CodeError::Operators);
        }
        if self.faults.have_any(Kind::stores()) && !has_store {
            return Err(CodeError::Stores);
        }
        Ok(())
    }
}

/// The visitor that returns whether operators have something to do with a protocol, and whether
/// the protocol has a store.
struct Has;

impl Visitor for Has {
    type Output = (bool, bool);

    fn visit<S: Subject>(self) -> (bool, bool) {
        (S::OPERATED, !S::STORES.is_empty())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.protocol)?;
        if let Some(wrong) = self.wrong {
            write!(f, "!{}", wrong.name())?;
        }
        write!(f, ":{}:{}:{:08x}", self.nodes, self.faults, self.seed)?;
        if let Some(kept) = &self.kept {
            let kept: Vec<_> = kept.iter().map(usize::to_string).collect();
            write!(f, ":{}", kept.join(","))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Code, CodeError};

    #[test]
    fn a_code_is_read_as_it_is_written() {
        let codes = [
            "quorum:5:all:00c0ffee",
            "quorum:5:all:00c0ffee:3,17",
            "quorum:5:all:00c0ffee:",
            "bully:1000:none:ffffffffffffffff",
            "quorum!forgets:3:crashes+syncs:00000001",
            "quorum:4:all+transfers+members:00000001",
            "lease-redis:5:all+outages+twins:00000001",
        ];
        for text in codes {
            let code: Code = text.parse().expect("a code");
            assert_eq!(code.to_string(), text);
        }
    }

    #[test]
    fn what_is_no_code_is_refused_by_the_part_that_is_wrong() {
        let error = |text: &str| text.parse::<Code>().expect_err("no code");
        assert!(matches!(error("quorum:5:all"), CodeError::Parts(_)));
        assert!(matches!(error("quorum:5:all:1:2:3"), CodeError::Parts(_)));
        assert!(matches!(error("paxos:5:all:1"), CodeError::Protocol(_)));
        assert!(matches!(error("quorum!tired:5:all:1"), CodeError::Wrong(_)));
        assert!(matches!(error("quorum:1:all:1"), CodeError::Nodes(_)));
        assert!(matches!(error("quorum:5:floods:1"), CodeError::Faults(_)));
        assert!(matches!(error("bully:5:all+members:1"), CodeError::Operators));
        assert!(matches!(error("quorum:500:transfers:1"), CodeError::Operators));
        assert!(matches!(error("quorum:5:twins:1"), CodeError::Stores));
        assert!(matches!(error("lease:5:members:1"), CodeError::Operators));
        assert!(matches!(error("quorum:5:all:xyz"), CodeError::Seed(_)));
        assert!(matches!(error("quorum:5:all:1:2,b"), CodeError::Kept(_)));
    }
}

//! What a cell of the matrix says: of everything that was asked, what holds, what fails, what is
//! not known, and what the protocol never promised.

use crate::check::{Counts, Reason, Verdict};
use crate::property::Kind;
use serde::Serialize;

/// What a protocol does in a world.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The world's name.
    pub world: &'static str,
    /// The verdicts; none if the protocol says nothing of the time that it takes.
    pub findings: Option<Vec<Finding>>,
    /// How much there was to search.
    pub states: Option<Counts>,
    /// The bounds of the search that executions exceed, in words.
    pub bounds_met: Vec<String>,
}

/// The verdict on one property.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The property's name.
    pub property: &'static str,
    /// Whether the protocol promises it, if only in other worlds.
    pub promised: bool,
    /// What kind of formula it is.
    pub kind: Kind,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why it is not known, or known only within bounds.
    pub reason: Option<Reason>,
    /// The number of steps of the counterexample, its cycle included.
    pub steps: Option<usize>,
}

/// What there is to say of a property, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// It is violated.
    Fails,
    /// The search did not decide it.
    Unknown(Reason),
    /// Its premise is never true, so that it says nothing.
    Vacuous,
    /// It holds within the bounds of the search, which executions exceed.
    Within,
    /// It is violated, and the protocol never promised it.
    NotPromised,
    /// It holds.
    Holds,
}

impl Finding {
    /// What there is to say of the property.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.verdict, self.reason) {
            (Verdict::Holds, _) => Standing::Holds,
            (Verdict::HoldsWithin, _) => Standing::Within,
            (Verdict::Violated, _) if self.promised => Standing::Fails,
            (Verdict::Violated, _) => Standing::NotPromised,
            (Verdict::Unknown, None | Some(Reason::Vacuous)) => Standing::Vacuous,
            (Verdict::Unknown, Some(reason)) => Standing::Unknown(reason),
        }
    }

    /// What goes wrong if it fails, in a few words.
    fn wrong(&self) -> &'static str {
        match self.property {
            "at-most-one-leader" => "two leaders",
            "stabilises" | "settles" => "no agreement in the end",
            "succession" => "no successor",
            other => other,
        }
    }
}

/// So many properties are named where more are counted.
const FEW: usize = 2;

impl Standing {
    /// What is said of these findings, which all stand like this, among so many.
    fn words(self, found: &[&Finding], all: usize) -> String {
        let wrongs = || found.iter().map(|f| f.wrong()).collect::<Vec<_>>().join(", ");
        let names = || match found.len() {
            0..=FEW => found.iter().map(|f| f.property).collect::<Vec<_>>().join(", "),
            many => many.to_string(),
        };
        match self {
            Standing::Fails => format!("fails: {}", wrongs()),
            Standing::Unknown(reason) => format!("unknown: {} ({})", names(), short(reason)),
            Standing::Vacuous => format!("vacuous: {}", names()),
            Standing::Within => format!("within bounds: {}", names()),
            Standing::NotPromised => format!("not promised: {}", wrongs()),
            Standing::Holds if found.len() == all => format!("all {all} hold"),
            Standing::Holds => format!("holds: {} of {all}", found.len()),
        }
    }
}

/// The reason in a word or two.
pub(super) fn short(reason: Reason) -> &'static str {
    match reason {
        Reason::States => "too many states",
        Reason::Time => "out of time",
        Reason::Memory => "out of memory",
        Reason::Disk => "disk trouble",
        Reason::TooMany => "too many states",
        Reason::NotInDataflow => "not in a dataflow",
        Reason::NotReduced | Reason::AsksForMessages => "not reduced",
        Reason::Interrupted => "interrupted",
        Reason::FirstViolation => "stopped at a violation",
        Reason::Bounds => "beyond bounds",
        Reason::Sampled => "sampled",
        Reason::Vacuous => "vacuous",
    }
}

impl Cell {
    /// What was found, the worst first: how each group of properties stands, and that in words.
    /// Nothing if nothing was asked.
    #[must_use]
    pub fn parts(&self) -> Vec<(Standing, String)> {
        let findings: Vec<&Finding> = self.findings.iter().flatten().collect();
        let mut standings: Vec<_> = findings.iter().map(|f| f.standing()).collect();
        standings.sort_unstable();
        standings.dedup();
        let part = |standing: Standing| {
            let found = findings.iter().copied().filter(|f| f.standing() == standing);
            (standing, standing.words(&found.collect::<Vec<_>>(), findings.len()))
        };
        standings.into_iter().map(part).collect()
    }

    /// The names that the words show, each with the property that it is about.
    #[must_use]
    pub fn names(&self) -> Vec<(&'static str, &'static str)> {
        let findings: Vec<&Finding> = self.findings.iter().flatten().collect();
        let alike = |one: &Finding| {
            findings.iter().filter(|other| other.standing() == one.standing()).count()
        };
        let name = |one: &&Finding| match one.standing() {
            Standing::Holds => None,
            Standing::Fails | Standing::NotPromised => Some((one.wrong(), one.property)),
            _ if alike(one) <= FEW => Some((one.property, one.property)),
            _ => None,
        };
        findings.iter().filter_map(name).collect()
    }

    /// How the whole cell stands: like the worst of what was asked; `None` if nothing was.
    #[must_use]
    pub fn standing(&self) -> Option<Standing> {
        self.findings.iter().flatten().map(Finding::standing).min()
    }

    /// The cell in words.
    #[must_use]
    pub fn words(&self) -> String {
        let parts: Vec<_> = self.parts().into_iter().map(|(_, words)| words).collect();
        if parts.is_empty() { "not asked".to_owned() } else { parts.join("; ") }
    }

    /// Whether the search was interrupted.
    #[must_use]
    pub fn was_interrupted(&self) -> bool {
        self.findings.iter().flatten().any(|f| f.reason == Some(Reason::Interrupted))
    }
}

//! What a cell of the matrix says: of everything that was asked, what holds, what fails, what is
//! not known, and what the protocol never promised.

use super::Rung;
use crate::check::{Counterexample, Counts, Decision, Reason, Report, Verdict};
use crate::machine::AnyProtocol;
use crate::property::Kind;
use serde::Serialize;

/// What a protocol does in a world.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The world's name.
    pub world: &'static str,
    /// The verdicts; none if the protocol says nothing of the time that it takes.
    pub findings: Option<Vec<Finding>>,
    /// How much of the world itself was searched.
    pub states: Option<Counts>,
    /// The bounds of that search that executions exceed, in words.
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
    /// The number of steps of the counterexample, as `check` counts them: without a cycle.
    pub steps: Option<usize>,
    /// The bounds within which this was found, in words: what there is at most.
    pub within: Vec<String>,
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
    /// What a search says of a property.
    pub(super) fn of(
        protocol: &dyn AnyProtocol,
        rung: &Rung,
        report: &Report,
        decision: &Decision,
    ) -> Finding {
        let property = &decision.property;
        let (kind, verdict) = (property.kind(), decision.verdict);
        let met = report.bounds_met.iter().filter(|_| verdict == Verdict::HoldsWithin);
        let mut within: Vec<String> = rung.bound.iter().chain(met).cloned().collect();
        // An execution that violates safety is one of the whole world as well. One that goes on for
        // ever may be fair only where fewer time-outs are possible.
        if verdict == Verdict::Violated && kind == Kind::Safety {
            within.clear();
        }
        let counterexample = decision.counterexample.as_ref();
        Finding {
            property: property.name,
            promised: !protocol.not_promised().contains(&property.name),
            kind,
            verdict: match verdict {
                Verdict::Holds if !within.is_empty() => Verdict::HoldsWithin,
                verdict => verdict,
            },
            reason: decision.reason,
            steps: counterexample.map(Counterexample::length),
            within,
        }
    }

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
    /// Whether the search did not decide it.
    #[must_use]
    pub const fn is_unknown(self) -> bool {
        matches!(self, Standing::Unknown(_))
    }

    /// What is said of these findings, which all stand like this within some bounds, among so many.
    fn words(self, found: &[&Finding], within: &[String], all: usize) -> String {
        let wrongs = || found.iter().map(|f| f.wrong()).collect::<Vec<_>>().join(", ");
        let names = || match found.len() {
            0..=FEW => found.iter().map(|f| f.property).collect::<Vec<_>>().join(", "),
            many => many.to_string(),
        };
        let bounds = within.join(" and ");
        let within = if bounds.is_empty() { bounds } else { format!(" within {bounds}") };
        match self {
            Standing::Fails => format!("fails{within}: {}", wrongs()),
            Standing::Unknown(reason) => format!("unknown: {} ({})", names(), short(reason)),
            Standing::Vacuous => format!("vacuous{within}: {}", names()),
            Standing::Within => format!("holds{within}: {}", names()),
            Standing::NotPromised => format!("not promised{within}: {}", wrongs()),
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
        Reason::Interrupted => "interrupted",
        Reason::FirstViolation => "stopped at a violation",
        Reason::Bounds => "beyond bounds",
        Reason::Sampled => "sampled",
        Reason::Vacuous => "vacuous",
    }
}

impl Cell {
    /// What was found, the worst first: how each group of properties stands, and that in words with
    /// the bounds within which it was found. Nothing if nothing was asked.
    #[must_use]
    pub fn parts(&self) -> Vec<(Standing, String)> {
        let findings: Vec<&Finding> = self.findings.iter().flatten().collect();
        let stands = |f: &&Finding| (f.standing(), f.within.clone());
        let mut groups: Vec<_> = findings.iter().map(stands).collect();
        groups.sort();
        groups.dedup();
        let part = |group: (Standing, Vec<String>)| {
            let found = findings.iter().copied().filter(|f| stands(f) == group);
            let (standing, within) = &group;
            (*standing, standing.words(&found.collect::<Vec<_>>(), within, findings.len()))
        };
        groups.into_iter().map(part).collect()
    }

    /// The names that the words show, each with the property that it is about.
    #[must_use]
    pub fn names(&self) -> Vec<(&'static str, &'static str)> {
        let findings: Vec<&Finding> = self.findings.iter().flatten().collect();
        let alike = |one: &Finding| {
            let stands = |f: &Finding| (f.standing(), f.within.clone());
            findings.iter().filter(|other| stands(other) == stands(one)).count()
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

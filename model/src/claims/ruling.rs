//! From what runs find to a ruling on the claim.

use super::demand::{Finding, Point};
use super::entry::{Check, Claim, Source};
use super::formula::FormulaError;
use super::run::Ran;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// Every check finds what the claim demands.
    Confirmed,
    /// No check does.
    Refuted,
    /// Some do: it holds only under an assumption.
    OnlyIf,
    /// It waits for a protocol, or something else that the model does not have yet.
    Pending,
    /// Another part of the project decides it.
    Elsewhere,
    /// No run can decide it.
    Undecidable,
}

impl Ruling {
    /// Every ruling, in the order in which they are counted.
    pub const ALL: [Ruling; 6] = [
        Ruling::Confirmed,
        Ruling::Refuted,
        Ruling::OnlyIf,
        Ruling::Pending,
        Ruling::Elsewhere,
        Ruling::Undecidable,
    ];

    /// Whether it comes out of runs.
    #[must_use]
    pub fn is_of_runs(self) -> bool {
        matches!(self, Ruling::Confirmed | Ruling::Refuted | Ruling::OnlyIf)
    }
}

impl fmt::Display for Ruling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ruling::Confirmed => "confirmed",
            Ruling::Refuted => "refuted",
            Ruling::OnlyIf => "holds only if",
            Ruling::Pending => "not decided yet",
            Ruling::Elsewhere => "decided elsewhere",
            Ruling::Undecidable => "not for a machine",
        })
    }
}

/// A claim after its checks were run.
pub struct Judged<'a> {
    /// The text.
    pub source: &'a Source,
    /// The claim.
    pub claim: &'a Claim,
    /// What its checks found.
    pub checks: Vec<Outcome<'a>>,
    /// What its cures found.
    pub cures: Vec<Outcome<'a>>,
}

/// A check after it was run.
pub struct Outcome<'a> {
    /// The check.
    pub check: &'a Check,
    /// What each run found.
    pub ran: Vec<Ran>,
    /// Whether all runs found what is demanded; `None` if one decided nothing.
    pub met: Option<bool>,
    /// Whether the runs found what the ledger says; `None` if one decided nothing.
    pub expected: Option<bool>,
}

impl<'a> Outcome<'a> {
    /// Compares what was found with what is demanded, and with what the ledger says.
    pub(super) fn new(check: &'a Check, ran: Vec<Ran>) -> Result<Outcome<'a>, FormulaError> {
        let each = ran.iter().map(|ran| check.demands.met(&ran.point, &ran.finding));
        let each = each.collect::<Result<Vec<Option<bool>>, _>>()?;
        let known: Option<Vec<bool>> = each.into_iter().collect();
        let met = known.map(|known| known.into_iter().all(|met| met));
        let as_written = if check.finds.is_empty() {
            // That something holds only within bounds must stand in the ledger.
            met.map(|met| met && !ran.iter().any(|ran| ran.finding.is_within_bounds()))
        } else {
            met.map(|_| {
                // One word stands for every run.
                let same = check.finds.len() == 1 || check.finds.len() == ran.len();
                let mut pairs = ran.iter().zip(check.finds.iter().cycle());
                same && pairs.all(|(ran, expected)| ran.finding.is(expected))
            })
        };
        Ok(Outcome { check, ran, met, expected: as_written })
    }

    /// The findings in words: once if all are the same, otherwise each with what differs.
    #[must_use]
    pub fn found(&self) -> String {
        let Some((first, others)) = self.ran.split_first() else { return String::new() };
        if others.iter().all(|other| other.finding == first.finding) {
            return first.finding.to_string();
        }
        let differs = |name: &str| {
            let value = |ran: &Ran| ran.point.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
            others.iter().any(|other| value(other) != value(first))
        };
        let one = |ran: &Ran| {
            let varied = ran.point.0.iter().filter(|(name, _)| differs(name)).copied().collect();
            format!("{} ({})", ran.finding, Point(varied))
        };
        self.ran.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    /// The run that shows best what was found: of violations the first, of numbers that of the
    /// largest world that can still be read.
    #[must_use]
    pub fn example(&self) -> Option<&Ran> {
        let readable = |ran: &&Ran| ran.scenario.is_none_or(|scenario| scenario.nodes <= READABLE);
        let shown = || self.ran.iter().filter(|ran| ran.trace.is_some());
        match self.check.demands.is_of_a_number() {
            true => shown().rfind(readable).or_else(|| shown().next()),
            false => shown().next(),
        }
    }
}

/// A diagram of more processes is too wide for most terminals.
const READABLE: usize = 4;

impl Judged<'_> {
    /// What the runs say; where none decides, what the ledger says. `None` if a run that should
    /// decide decided nothing.
    #[must_use]
    pub fn ruling(&self) -> Option<Ruling> {
        if !self.claim.ruling.is_of_runs() {
            return Some(self.claim.ruling);
        }
        let met: Vec<bool> =
            self.checks.iter().map(|outcome| outcome.met).collect::<Option<_>>()?;
        let any = |wanted| met.contains(&wanted);
        Some(match (any(true), any(false)) {
            (true, true) => Ruling::OnlyIf,
            (true, false) => Ruling::Confirmed,
            _ => Ruling::Refuted,
        })
    }

    /// The ruling in a few words, and whether it is known only within the bounds of the search.
    #[must_use]
    pub fn words(&self) -> String {
        let within = |ran: &Ran| ran.finding.is_within_bounds();
        let within = self.checks.iter().flat_map(|outcome| &outcome.ran).any(within);
        match self.ruling() {
            None => "unknown".to_owned(),
            Some(ruling) if within && ruling != Ruling::OnlyIf => {
                format!("{ruling} (within bounds)")
            }
            Some(ruling) => ruling.to_string(),
        }
    }

    /// The ruling in words, with the assumption under which the claim holds.
    #[must_use]
    pub fn assuming(&self) -> String {
        match (self.ruling(), &self.claim.only_if) {
            (Some(Ruling::OnlyIf), Some(only_if)) => format!("{} {only_if}", self.words()),
            _ => self.words(),
        }
    }

    /// Whether everything came out as the ledger says: `None` if something was not decided.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let absent =
            |outcome: &Outcome<'_>| outcome.ran.iter().any(|ran| ran.finding == Finding::Absent);
        let waits =
            |outcome: &&Outcome<'_>| self.claim.ruling == Ruling::Pending && absent(outcome);
        let outcomes = self.checks.iter().chain(&self.cures).filter(|outcome| !waits(outcome));
        let cured = self.cures.iter().filter(|outcome| !waits(outcome)).map(|cure| cure.met);
        let known: Option<Vec<bool>> =
            outcomes.map(|outcome| outcome.expected).chain(cured).collect();
        let all = known.map(|known| known.into_iter().all(|agrees| agrees));
        match (all, self.ruling()) {
            (Some(false), _) => Some(false),
            (None, _) | (_, None) => None,
            (Some(true), Some(ruling)) => Some(ruling == self.claim.ruling),
        }
    }
}

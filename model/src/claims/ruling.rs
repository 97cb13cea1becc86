//! From what runs find to a ruling on the claim.

use super::assumption::{Assumption, Standing};
use super::coverage;
use super::demand::{Finding, Point};
use super::entry::{Check, Claim, Source};
use super::formula::FormulaError;
use super::prose;
use super::quantifier::rule;
use super::run::Ran;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// It holds in every world that is run, and that the stated assumptions admit.
    Confirmed,
    /// It fails in one of them.
    Refuted,
    /// It fails in one that only an assumption of which the text is silent would exclude.
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
}

/// Why no run decides a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Open {
    /// It waits for a protocol, or something else that the model does not have yet.
    Pending,
    /// Another part of the project decides it.
    Elsewhere,
    /// No run can decide it.
    Undecidable,
}

impl From<Open> for Ruling {
    fn from(open: Open) -> Ruling {
        match open {
            Open::Pending => Ruling::Pending,
            Open::Elsewhere => Ruling::Elsewhere,
            Open::Undecidable => Ruling::Undecidable,
        }
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
    /// What the runs beside them found.
    pub besides: Vec<Outcome<'a>>,
    /// What its cures found.
    pub cures: Vec<Outcome<'a>>,
}

/// A check after it was run.
pub struct Outcome<'a> {
    /// The check.
    pub check: &'a Check,
    /// Where it stands towards what the text assumes.
    pub standing: Standing,
    /// What each run found.
    pub ran: Vec<Ran>,
    /// Whether all runs found what is demanded; `None` if one decided nothing.
    pub met: Option<bool>,
    /// Whether the runs found what the ledger says; `None` if one decided nothing.
    pub expected: Option<bool>,
}

impl<'a> Outcome<'a> {
    /// Compares what was found with what is demanded, and with what the ledger says.
    pub(super) fn new(
        (check, standing): (&'a Check, Standing),
        ran: Vec<Ran>,
    ) -> Result<Outcome<'a>, FormulaError> {
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
        Ok(Outcome { check, standing, ran, met, expected: as_written })
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
    /// The ruling that follows from the quantifier, the assumptions and the runs; for a claim that
    /// no run decides, what the ledger says of it. `None` if a run that should decide decided
    /// nothing.
    #[must_use]
    pub fn ruling(&self) -> Option<Ruling> {
        self.ruled().map(|(ruling, _)| ruling)
    }

    /// The ruling, and the assumptions under which the claim holds if it holds only so.
    #[must_use]
    pub fn ruled(&self) -> Option<(Ruling, Vec<Assumption>)> {
        match (self.claim.open, self.claim.quantifier) {
            (Some(open), _) => Some((open.into(), Vec::new())),
            (None, Some(quantifier)) => {
                let run = |outcome: &Outcome<'_>| (outcome.standing.clone(), outcome.met);
                rule(quantifier, &self.checks.iter().map(run).collect::<Vec<_>>())
            }
            (None, None) => None,
        }
    }

    /// Everything that was run.
    pub fn outcomes(&self) -> impl Iterator<Item = &Outcome<'_>> {
        self.checks.iter().chain(&self.besides).chain(&self.cures)
    }

    /// The ruling in a few words, and whether it is known only within the bounds of the search.
    #[must_use]
    pub fn words(&self) -> String {
        let within = |ran: &Ran| ran.finding.is_within_bounds();
        let within = self.checks.iter().flat_map(|outcome| &outcome.ran).any(within);
        match self.ruling() {
            None => "unknown".to_owned(),
            Some(Ruling::Confirmed) if within => "confirmed (within bounds)".to_owned(),
            Some(ruling) => ruling.to_string(),
        }
    }

    /// The ruling in words, with the assumptions under which the claim holds.
    #[must_use]
    pub fn assuming(&self) -> String {
        let Some((Ruling::OnlyIf, assumptions)) = self.ruled() else { return self.words() };
        let words: Vec<String> = assumptions.iter().map(ToString::to_string).collect();
        format!("{} {}", self.words(), words.join(" and "))
    }

    /// What is wrong with the entry, now that its runs are known.
    #[must_use]
    pub fn flaws(&self) -> Vec<String> {
        let mut flaws = prose::unshown(self);
        let ruling = self.ruling();
        if ruling == Some(Ruling::Confirmed) {
            let mut runs: Vec<(&Check, &Standing)> = Vec::new();
            for outcome in &self.checks {
                runs.push((outcome.check, &outcome.standing));
            }
            let missing = coverage::flaws(self.source, self.claim, &runs);
            flaws.extend(missing.unwrap_or_else(|wrong| vec![wrong]));
        } else if !self.claim.left_out.is_empty() {
            flaws.push("It is not confirmed; leave 'left_out' out.".to_owned());
        }
        let refuted = ruling == Some(Ruling::Refuted);
        match (refuted, self.cures.is_empty(), &self.claim.no_cure) {
            (true, true, None) => flaws.push(
                "It is refuted; give a [[claim.cure]], or say in 'no_cure' why there is none."
                    .to_owned(),
            ),
            (true, false, Some(_)) => {
                flaws.push("It has a cure, and 'no_cure' says that there is none.".to_owned());
            }
            (false, _, Some(_)) => {
                flaws.push("It is not refuted; leave 'no_cure' out.".to_owned());
            }
            _ => {}
        }
        flaws
    }

    /// Whether everything came out as the ledger says: `None` if something was not decided.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let absent =
            |outcome: &Outcome<'_>| outcome.ran.iter().any(|ran| ran.finding == Finding::Absent);
        let pending = self.claim.open == Some(Open::Pending);
        let waits = |outcome: &&Outcome<'_>| pending && absent(outcome);
        let cured = self.cures.iter().filter(|outcome| !waits(outcome)).map(|cure| cure.met);
        let outcomes = self.outcomes().filter(|outcome| !waits(outcome));
        let known: Option<Vec<bool>> =
            outcomes.map(|outcome| outcome.expected).chain(cured).collect();
        let all = known.map(|known| known.into_iter().all(|agrees| agrees));
        match (all, self.ruling()) {
            (Some(false), _) => Some(false),
            (None, _) | (_, None) => None,
            (Some(true), Some(_)) => Some(self.flaws().is_empty()),
        }
    }
}

//! From what runs find to a ruling on the claim.

use super::assumption::{Assumption, Standing};
use super::demand::{Finding, Point};
use super::entry::{Check, Claim, Source};
use super::formula::FormulaError;
use super::quantifier::rule;
use super::run::Ran;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ruling {
    /// It holds in every world that is run, and that the stated assumptions admit.
    #[serde(skip_deserializing)]
    Confirmed,
    /// It fails in one of them.
    #[serde(skip_deserializing)]
    Refuted,
    /// It fails in one that only an assumption of which the text is silent would exclude.
    #[serde(skip_deserializing)]
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

    /// Its name on the command line and in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Ruling::Confirmed => "confirmed",
            Ruling::Refuted => "refuted",
            Ruling::OnlyIf => "only-if",
            Ruling::Pending => "pending",
            Ruling::Elsewhere => "elsewhere",
            Ruling::Undecidable => "undecidable",
        }
    }

    /// The ruling of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<Ruling> {
        Ruling::ALL.into_iter().find(|ruling| ruling.name() == name)
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
        check: &'a Check,
        standing: Standing,
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

    /// The findings in words, as answers to what is demanded: once if all are the same, otherwise
    /// each with what differs.
    #[must_use]
    pub fn found(&self) -> String {
        let words = |ran: &Ran| self.check.demands.answer(&ran.finding);
        let Some((first, others)) = self.ran.split_first() else { return String::new() };
        if others.iter().all(|other| other.finding == first.finding) {
            return words(first);
        }
        let differs = |name: &str| {
            let value = |ran: &Ran| ran.point.0.iter().find(|(n, _)| *n == name).map(|(_, v)| *v);
            others.iter().any(|other| value(other) != value(first))
        };
        let each_link = self.check.ask.subject().is_some_and(|subject| subject.each_link);
        let one = |ran: &Ran| {
            let varied: Vec<_> =
                ran.point.0.iter().filter(|(name, _)| differs(name)).copied().collect();
            let mut where_found = Vec::new();
            if !varied.is_empty() {
                where_found.push(Point(varied).to_string());
            }
            if each_link {
                let links = ran.scenario.map(|scenario| scenario.missing.words());
                where_found.extend(links.into_iter().flatten().map(|link| format!("no {link}")));
            }
            format!("{} ({})", words(ran), where_found.join(", "))
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

impl<'a> Judged<'a> {
    /// The claim with what its checks, the runs beside them and its cures found, in this order.
    pub(super) fn of(
        source: &'a Source,
        claim: &'a Claim,
        outcomes: Vec<Outcome<'a>>,
    ) -> Judged<'a> {
        let mut outcomes = outcomes.into_iter();
        Judged {
            source,
            claim,
            checks: outcomes.by_ref().take(claim.checks.len()).collect(),
            besides: outcomes.by_ref().take(claim.besides.len()).collect(),
            cures: outcomes.collect(),
        }
    }
}

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
            (Some(open), _) => Some((open, Vec::new())),
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

    /// The steps of the shortest execution that decides the claim, if one does.
    #[must_use]
    pub fn steps(&self) -> Option<usize> {
        let ruling = self.ruling()?;
        let decides = |outcome: &&Outcome<'_>| {
            let wanted = ruling == Ruling::Confirmed;
            outcome.met == Some(wanted) && !matches!(outcome.standing, Standing::Outside(_))
        };
        let steps = |ran: &Ran| match ran.finding {
            Finding::Violated { steps } => steps,
            _ => None,
        };
        self.checks.iter().filter(decides).flat_map(|outcome| &outcome.ran).filter_map(steps).min()
    }

    /// Whether it is true, and dangerous to rely on.
    #[must_use]
    pub fn is_dangerous(&self) -> bool {
        self.ruling() == Some(Ruling::Confirmed) && self.claim.dangerous.is_some()
    }

    /// Whether everything came out as the ledger says: `None` if something was not decided.
    #[must_use]
    pub fn agrees(&self) -> Option<bool> {
        let absent =
            |outcome: &Outcome<'_>| outcome.ran.iter().any(|ran| ran.finding == Finding::Absent);
        let pending = self.claim.open == Some(Ruling::Pending);
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

#[cfg(test)]
mod tests {
    use super::Ruling;

    /// The command line and JSON use the same names.
    #[test]
    fn a_ruling_has_one_name() {
        for ruling in Ruling::ALL {
            assert_eq!(serde_json::to_value(ruling).expect("JSON"), ruling.name());
            assert_eq!(Ruling::find(ruling.name()), Some(ruling));
        }
        assert_eq!(Ruling::find("holds only if"), None);
    }
}

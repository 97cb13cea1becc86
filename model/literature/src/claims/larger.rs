//! What holds for some processes is tried for one more: a claim may be false within what its text
//! assumes, and only a larger group may show it.

use super::assumption::{Departure, Standing};
use super::demand::{Demand, Expectation, Word};
use super::entry::{Check, Claim, Source};
use super::quantifier::{Quantifier, rule};
use super::ruling::Ruling;
use super::run::{Ran, Runner};
use bellwether_model::in_parallel::in_parallel;

/// A check that confirms, run again with one process more than in the ledger.
#[derive(Clone, Debug)]
pub struct Larger {
    /// How many processes there are.
    pub nodes: usize,
    /// What came out; an error if there is no such world.
    pub ran: Result<Vec<Ran>, String>,
    /// Whether it is what the claim demands; `None` if that was not decided.
    pub met: Option<bool>,
    /// Whether two faults happen in it, and the ledger could run it with so many processes.
    pub pair_is_feasible: bool,
}

impl Larger {
    /// What came out, in words.
    #[must_use]
    pub fn found(&self, demands: &Demand) -> String {
        match &self.ran {
            Err(wrong) => format!("not run: {wrong}"),
            Ok(all) => {
                let words = all.iter().map(|ran| demands.answer(&ran.finding));
                words.collect::<Vec<_>>().join("; ")
            }
        }
    }
}

impl Claim {
    /// The ruling that the entry itself says: it follows from what it says that its runs find.
    ///
    /// # Errors
    /// If the world of a check is none.
    pub fn as_written(&self, source: &Source) -> Result<Option<Ruling>, String> {
        let Some(quantifier) = self.quantifier else { return Ok(self.open) };
        let run = |check: &Check| Ok((Standing::of(source, self, check)?, Some(check.says_met())));
        let runs = self.checks.iter().map(run).collect::<Result<Vec<_>, String>>()?;
        Ok(rule(quantifier, &runs).map(|(ruling, _)| ruling))
    }

    /// The checks by which the claim holds, or holds only if: those inside of what the text assumes
    /// that say something of all executions, and of groups of any size. None if it is refuted, or
    /// speaks of one execution.
    ///
    /// # Errors
    /// If the world of a check is none.
    pub fn confirming(&self, source: &Source) -> Result<Vec<&Check>, String> {
        let holds = matches!(self.as_written(source)?, Some(Ruling::Confirmed | Ruling::OnlyIf));
        let mut all = Vec::new();
        if !holds || self.quantifier == Some(Quantifier::CanHappen) || self.open.is_some() {
            return Ok(all);
        }
        for check in &self.checks {
            let of_all = !matches!(check.demands, Demand::Violated | Demand::Unbounded);
            let inside = Standing::of(source, self, check)? == Standing::Inside;
            let larger = check.ask.subject().is_some() && check.this_size.is_none();
            if of_all && inside && larger && check.says_met() {
                all.push(check);
            }
        }
        Ok(all)
    }
}

impl Check {
    /// Whether the ledger says that its runs find what is demanded.
    pub(super) fn says_met(&self) -> bool {
        let within = |finds: &Expectation| *finds == Expectation::Word(Word::HoldsWithin);
        self.finds.iter().all(within)
    }
}

impl Runner {
    /// Runs each of these checks again with one process more, each with what came out.
    ///
    /// # Errors
    /// If the world of a check is none, a formula has no value, or the system gives no threads.
    pub fn all_larger<'a>(&self, checks: &[&'a Check]) -> Result<Vec<(&'a Check, Larger)>, String> {
        type Found<'a> = Result<(&'a Check, Option<Larger>), String>;
        let one = |check: &&'a Check| -> Found<'a> { Ok((*check, self.larger(check)?)) };
        let all = in_parallel(self.threads, checks, &one).map_err(|e| e.to_string())?;
        let all = all.into_iter().collect::<Result<Vec<_>, String>>()?;
        Ok(all.into_iter().filter_map(|(check, larger)| Some((check, larger?))).collect())
    }

    /// Runs a check again with one process more than the most that it has; `None` if it has none.
    ///
    /// # Errors
    /// If the world of the check is none, or a formula has no value.
    pub fn larger(&self, check: &Check) -> Result<Option<Larger>, String> {
        let Some(subject) = check.ask.subject() else { return Ok(None) };
        let Some(most) = subject.nodes.iter().max() else { return Ok(None) };
        let nodes = most + 1;
        let mut subject = subject.clone();
        subject.nodes = vec![nodes];
        let ran = self.ask(&check.ask.of(subject));
        let all = ran.as_deref().unwrap_or_default();
        let met = check.met(all)?.filter(|_| !all.is_empty());
        let within = all.iter().any(|ran| ran.finding.is_within_bounds());
        let faults = Departure::of(check)?.into_iter().filter(|one| one.is_a_fault()).count();
        let pair_is_feasible = faults > 1 && met == Some(true) && !within;
        Ok(Some(Larger { nodes, ran, met, pair_is_feasible }))
    }
}

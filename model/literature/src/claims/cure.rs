//! The smallest changes of rules under which a claim holds: every single rule, then every pair.

use super::assumption::{Departure, Says, Standing};
use super::entry::{Ask, Check, Claim, Source, Subject};
use super::run::{self, Runner};
use bellwether_model::in_parallel::in_parallel;
use bellwether_model::protocol::REGISTRY;
use serde_json::Value;
use std::collections::BTreeSet;

/// Rules and what they become.
pub type Change = Vec<(String, String)>;

/// What a search for the smallest changes found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cures {
    /// How many changes were tried.
    pub tried: usize,
    /// Those under which every check finds what the claim demands, all of the same size.
    pub found: Vec<Change>,
}

impl Runner {
    /// Tries every value that a rule has in some variant of the protocol: in place of each single
    /// rule, and if no such change helps, of each two. `None` if the claim is not decided by
    /// properties of one protocol.
    ///
    /// # Errors
    /// If a check cannot be run as it stands in the ledger, or the system gives no threads.
    pub fn cures(&self, source: &Source, claim: &Claim) -> Result<Option<Cures>, String> {
        let checks = deciding(source, claim)?;
        let Some(first) = checks.first().and_then(|check| check.ask.subject()) else {
            return Ok(None);
        };
        let same = |check: &&Check| match &check.ask {
            Ask::Property(subject, _) => {
                (&subject.protocol, &subject.variant) == (&first.protocol, &first.variant)
            }
            _ => false,
        };
        if !checks.iter().all(same) {
            return Ok(None);
        }
        let singles = singles(first)?;
        let mut pairs = Vec::new();
        for (at, one) in singles.iter().enumerate() {
            let others = singles[at + 1..].iter().filter(|other| other.0 != one.0);
            pairs.extend(others.map(|other| vec![one.clone(), other.clone()]));
        }
        let mut tried = 0;
        for changes in [singles.into_iter().map(|single| vec![single]).collect(), pairs] {
            let changes: Vec<Change> = changes;
            let helps = |change: &Change| self.helps(&checks, change);
            let all = in_parallel(self.threads, &changes, &helps).map_err(|e| e.to_string())?;
            tried += changes.len();
            let mut found = Vec::new();
            for (change, helps) in changes.into_iter().zip(all) {
                if helps? {
                    found.push(change);
                }
            }
            if !found.is_empty() {
                return Ok(Some(Cures { tried, found }));
            }
        }
        Ok(Some(Cures { tried, found: Vec::new() }))
    }

    /// Whether the rules that this cure changes help every check that decides the claim and asks
    /// the same property of the same variant; `None` if there is no such check, or the cure changes
    /// no rule of it. Timed worlds are left out: other rules may need durations that they do not
    /// give.
    ///
    /// # Errors
    /// If a check cannot be run as it stands in the ledger, or the system gives no threads.
    pub fn helps_all(
        &self,
        source: &Source,
        claim: &Claim,
        cure: &Check,
    ) -> Result<Option<bool>, String> {
        let Ask::Property(theirs, property) = &cure.ask else { return Ok(None) };
        let changed = rules(theirs)?;
        let timed = |subject: &Subject| {
            subject.world.get("timing").is_some_and(|timing| timing.get("timed").is_some())
        };
        let same = |check: &&Check| match &check.ask {
            Ask::Property(ours, asked) => {
                (&ours.protocol, &ours.variant, asked)
                    == (&theirs.protocol, &theirs.variant, property)
                    && !timed(ours)
            }
            _ => false,
        };
        let checks: Vec<&Check> = deciding(source, claim)?.into_iter().filter(same).collect();
        let mut smallest: Option<Change> = None;
        for ours in checks.iter().filter_map(|check| check.ask.subject()) {
            let change: Change = changed.difference(&rules(ours)?).cloned().collect();
            if smallest.as_ref().is_none_or(|known| change.len() < known.len()) {
                smallest = Some(change);
            }
        }
        match smallest.filter(|change| !change.is_empty()) {
            Some(change) => self.helps(&checks, &change).map(Some),
            None => Ok(None),
        }
    }

    /// What the cure finds where more happens than in its own world: of each departure that the
    /// text admits, whether what the claim demands is found, or nothing if the search was cut
    /// short, or the rules need more than the world gives. A cure that is counted in one calm
    /// election, and a program, have no other world.
    ///
    /// # Errors
    /// If the system gives no threads, or a formula has no value.
    pub fn cure_where_admitted(
        &self,
        source: &Source,
        claim: &Claim,
        cure: &Check,
    ) -> Result<Vec<(Departure, Option<bool>)>, String> {
        let (Ask::Property(subject, _) | Ask::Most(subject, ..)) = &cure.ask else {
            return Ok(Vec::new());
        };
        let has = Departure::of(cure)?;
        let admitted = |departure: &Departure| {
            !has.contains(departure) && Says::of(source, claim, *departure) == Says::ItMayHappen
        };
        let mut worlds = Vec::new();
        for departure in Departure::ALL.into_iter().filter(admitted) {
            worlds.extend(subject.with(departure).map(|subject| (departure, subject)));
        }
        type Found = Result<(Departure, Option<bool>), String>;
        let one = |(departure, subject): &(Departure, Subject)| -> Found {
            let Ok(all) = self.ask(&cure.ask.of(subject.clone())) else {
                return Ok((*departure, None));
            };
            Ok((*departure, cure.met(&all)?))
        };
        let all = in_parallel(self.threads, &worlds, &one).map_err(|e| e.to_string())?;
        all.into_iter().collect()
    }

    /// Whether every check finds what the claim demands if these rules are changed. A timed world
    /// that lacks a duration which they need is not helped.
    fn helps(&self, checks: &[&Check], change: &Change) -> Result<bool, String> {
        for check in checks {
            let Ask::Property(subject, _) = &check.ask else { return Ok(false) };
            let mut subject = subject.clone();
            subject.rules.retain(|(rule, _)| change.iter().all(|(changed, _)| changed != rule));
            subject.rules.extend(change.iter().cloned());
            let changed = check.ask.of(subject);
            let Ok(all) = self.ask(&changed) else { return Ok(false) };
            if check.met(&all)? != Some(true) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// In how many rules the two differ; `None` if they are rules of different protocols.
///
/// # Errors
/// If one of them has a rule that its protocol does not have.
pub fn rules_apart(one: &Subject, other: &Subject) -> Result<Option<usize>, String> {
    if one.protocol != other.protocol {
        return Ok(None);
    }
    let (one, other) = (rules(one)?, rules(other)?);
    Ok(Some(one.difference(&other).count()))
}

/// The checks that decide the claim.
fn deciding<'a>(source: &Source, claim: &'a Claim) -> Result<Vec<&'a Check>, String> {
    let mut all = Vec::new();
    for check in &claim.checks {
        let standing = Standing::of(source, claim, check)?;
        if !matches!(standing, Standing::Outside(_)) {
            all.push(check);
        }
    }
    Ok(all)
}

/// Every value that is not that of the subject and that a rule has in some variant.
fn singles(subject: &Subject) -> Result<Vec<(String, String)>, String> {
    let protocol = REGISTRY.find(&subject.protocol).map_err(|e| e.to_string())?;
    let known: BTreeSet<(String, String)> =
        protocol.variants().iter().flat_map(|variant| named(&variant.rules)).collect();
    let ours = rules(subject)?;
    Ok(known.difference(&ours).cloned().collect())
}

fn rules(subject: &Subject) -> Result<BTreeSet<(String, String)>, String> {
    let protocol = REGISTRY.find(&subject.protocol).map_err(|e| e.to_string())?;
    Ok(named(&run::rules(protocol, subject)?.json()))
}

/// The rules of an object, as they are typed.
fn named(rules: &Value) -> BTreeSet<(String, String)> {
    let word = |value: &Value| match value {
        Value::String(word) => word.clone(),
        other => other.to_string(),
    };
    let all = rules.as_object().into_iter().flatten();
    all.map(|(rule, value)| (rule.clone(), word(value))).collect()
}

//! The ledger's entries: what they say.

use super::assumption::{self, Assumption, Departure, Stance};
use super::cause::Cause;
use super::demand::{Demand, Expectation};
use super::program::Program;
use super::quantifier::Quantifier;
use super::ruling::Ruling;
use super::written;
use crate::entries;
use bellwether_model::check::bounds::Until;
use bellwether_model::round::Starters;
use bellwether_model::world::{AbsentLinks, Scenario};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// A text and its claims.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The short name, by which it is chosen.
    #[serde(rename = "source")]
    pub name: String,
    /// What kind of text it is.
    #[serde(deserialize_with = "entries::prose")]
    pub title: String,
    /// The assumptions of the text, or of its parts, by their names.
    #[serde(default, rename = "assumptions")]
    pub stances: BTreeMap<String, Stance>,
    /// Its claims, by number.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
}

impl Source {
    /// What the text assumes where the claim stands, if it says.
    #[must_use]
    pub fn stance(&self, claim: &Claim) -> Option<&Stance> {
        self.stances.get(claim.of.as_ref()?)
    }
}

/// Something that a text says, and how it is decided.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its number in the whole ledger.
    pub number: u16,
    /// On what the verdict hangs, if runs decide it.
    pub cause: Option<Cause>,
    /// Why it is dangerous to rely on it, although it is true.
    #[serde(default, deserialize_with = "entries::some_prose")]
    pub dangerous: Option<String>,
    /// The section of the text.
    pub section: String,
    /// What it says, as a paraphrase.
    #[serde(deserialize_with = "entries::prose")]
    pub says: String,
    /// Of how many executions it speaks; nothing if no run decides it.
    pub quantifier: Option<Quantifier>,
    /// The assumptions of the text under which it stands, by their name.
    pub of: Option<String>,
    /// What it assumes itself.
    #[serde(default)]
    pub assumes: BTreeSet<Assumption>,
    /// What may happen, by its own words.
    #[serde(default, deserialize_with = "assumption::may_happen")]
    pub admits: BTreeSet<Departure>,
    /// Rules of the protocol that the text leaves open, and what it says instead.
    #[serde(default, deserialize_with = "entries::named_prose")]
    pub leaves_open: BTreeMap<String, String>,
    /// What may happen and is in no run that decides, and why.
    #[serde(default)]
    pub left_out: Vec<LeftOut>,
    /// The ruling of a claim that no run decides: pending, elsewhere or undecidable.
    pub open: Option<Ruling>,
    /// What makes it so, or why nothing decides it here.
    #[serde(deserialize_with = "entries::prose")]
    pub why: String,
    /// Protocols that have to exist before it is decided.
    #[serde(default)]
    pub waits_for: Vec<String>,
    /// What the claim says, as checks.
    #[serde(default, rename = "check", deserialize_with = "written::checks")]
    pub checks: Vec<Check>,
    /// Runs that decide nothing, and show what the reason speaks of.
    #[serde(default, rename = "beside", deserialize_with = "written::checks")]
    pub besides: Vec<Check>,
    /// The smallest changes of a rule or an assumption under which it holds.
    #[serde(default, rename = "cure", deserialize_with = "written::checks")]
    pub cures: Vec<Check>,
    /// Why there is no such change, or none that a run can show.
    #[serde(default, deserialize_with = "entries::some_prose")]
    pub no_cure: Option<String>,
}

impl Claim {
    /// Whether what it says, its section, its reason, or what one of its runs shows has this in it,
    /// in capital letters or small ones.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        let runs = self.checks.iter().chain(&self.besides).chain(&self.cures);
        let words = [&self.says, &self.section, &self.why].into_iter();
        let words = words.chain(&self.no_cure).chain(&self.dangerous);
        let wanted = text.to_lowercase();
        let has = |words: &String| words.to_lowercase().contains(&wanted);
        words.chain(runs.map(|check| &check.shows)).any(has)
    }
}

/// What no run has that decides the claim, although the text says that it may happen.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    /// One thing that is in no run, or several of which no two are in one run.
    pub of: BTreeSet<Departure>,
    /// Why not.
    #[serde(deserialize_with = "entries::prose")]
    pub why: String,
}

/// Something to run, and what is demanded of it.
#[derive(Clone, Debug)]
pub struct Check {
    /// What it shows, or what is changed.
    pub shows: String,
    /// What is run.
    pub ask: Ask,
    /// Assumptions that it does without, besides those that its world tells.
    pub without: BTreeSet<Assumption>,
    /// Why one link is missing in it and no other, if not every one has to be tried.
    pub this_link: Option<String>,
    /// Why it has so many processes, if what it asks is of so many and no more.
    pub this_size: Option<String>,
    /// What a program has of what may happen; of a world it is read off the scenario.
    pub has: BTreeSet<Departure>,
    /// What the runs must find if the claim is true.
    pub demands: Demand,
    /// What each run finds; empty if it is what is demanded.
    pub finds: Vec<Expectation>,
}

/// What a check runs.
#[derive(Clone, Debug)]
pub enum Ask {
    /// Is the property kept in each of these worlds?
    Property(Subject, String),
    /// How many of this can an execution of each of these worlds cost?
    Most(Subject, String, Until),
    /// How many does a single calm election cost?
    Round {
        /// The protocol, its rules and the worlds.
        subject: Subject,
        /// What is counted.
        metric: String,
        /// Which processes notice.
        starters: Starters,
        /// How many of the highest processes are down.
        crashed: usize,
    },
    /// What is the shortest of this duration that keeps the property?
    Least {
        /// The protocol, its rules and the worlds, timed ones.
        subject: Subject,
        /// What is looked for.
        duration: String,
        /// What it has to keep.
        keeping: String,
        /// Largest message delays.
        delays: [u8; 2],
        /// Largest processing times.
        processing: [u8; 2],
    },
    /// What does this function find?
    Program(&'static Program),
}

/// A protocol, its rules, and worlds that differ in the number of processes.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject {
    /// The protocol's name.
    pub protocol: String,
    /// The named variant; the protocol's first if there is none.
    pub variant: Option<String>,
    /// Rules that replace those of the variant.
    pub rules: Vec<(String, String)>,
    /// How many processes there are in each world.
    pub nodes: Vec<usize>,
    /// Whether each world is as many as there are links, and each is without another one.
    pub each_link: bool,
    /// The rest of the scenario.
    pub world: Table,
}

impl Ask {
    /// The protocol that is asked, if one is.
    #[must_use]
    pub fn subject(&self) -> Option<&Subject> {
        match self {
            Ask::Property(subject, _)
            | Ask::Most(subject, ..)
            | Ask::Round { subject, .. }
            | Ask::Least { subject, .. } => Some(subject),
            Ask::Program(_) => None,
        }
    }

    /// The same question of something else.
    pub(super) fn of(&self, subject: Subject) -> Ask {
        let mut other = self.clone();
        match &mut other {
            Ask::Property(ours, _)
            | Ask::Most(ours, ..)
            | Ask::Round { subject: ours, .. }
            | Ask::Least { subject: ours, .. } => *ours = subject,
            Ask::Program(_) => {}
        }
        other
    }
}

impl Subject {
    /// The scenarios with so many processes: one, or one for each link that is missing in it.
    ///
    /// # Errors
    /// If the ledger's `world` is not a scenario.
    pub fn scenarios(&self, nodes: usize) -> Result<Vec<Scenario>, String> {
        let mut table = self.world.clone();
        let number = i64::try_from(nodes).map_err(|_| format!("{nodes} processes are too many"))?;
        if table.insert("nodes".to_owned(), number.into()).is_some() {
            return Err("'nodes' stands beside 'world', not in it".to_owned());
        }
        let scenario: Scenario = table
            .try_into()
            .map_err(|error: toml::de::Error| format!("world: {}", error.message()))?;
        if !self.each_link {
            return Ok(vec![scenario]);
        }
        if !scenario.missing.is_empty() {
            return Err("'links' removes each link; leave 'missing' out of 'world'".to_owned());
        }
        let link = |(a, b): (usize, usize)| {
            let missing = format!("{a}-{b}").parse::<AbsentLinks>();
            missing.map(|missing| Scenario { missing, ..scenario })
        };
        pairs(nodes).into_iter().map(link).collect()
    }

    /// The scenarios of each number of processes.
    ///
    /// # Errors
    /// If the ledger's `world` is not a scenario.
    pub(super) fn all_scenarios(&self) -> Result<Vec<Scenario>, String> {
        let mut all = Vec::new();
        for &nodes in &self.nodes {
            all.extend(self.scenarios(nodes)?);
        }
        Ok(all)
    }

    /// The first of the scenarios with so many processes.
    ///
    /// # Errors
    /// If the ledger's `world` is not a scenario.
    pub fn scenario(&self, nodes: usize) -> Result<Scenario, String> {
        let first = self.scenarios(nodes)?.into_iter().next();
        first.ok_or_else(|| "a link is between two processes; give two 'nodes'".to_owned())
    }

    /// The same in worlds that also have `departure`; nothing if no scenario can be made so, or it
    /// takes a clock.
    pub(super) fn with(&self, departure: Departure) -> Option<Subject> {
        let mut other = self.clone();
        let world = &mut other.world;
        match departure {
            Departure::Crash | Departure::AllNotice => at_least(world, "crashes", 1),
            Departure::SecondCrash | Departure::CrashInElection => at_least(world, "crashes", 2),
            Departure::Recovery | Departure::LateRecovery => {
                at_least(world, "crashes", 1);
                at_least(world, "recoveries", 1);
            }
            Departure::Loss => at_least(world, "losses", 1),
            Departure::Duplicate => at_least(world, "duplicates", 1),
            Departure::EarlyTimeOut => at_least(world, "suspicions", 1),
            Departure::Cut => {
                at_least(world, "cuts", 1);
                world.entry("heals").or_insert_with(|| Value::from("must"));
                world.entry("capacity").or_insert_with(|| Value::Integer(2));
            }
            Departure::Overtaking => drop(world.insert("network".to_owned(), Value::from("set"))),
            Departure::AllStart => drop(world.insert("start".to_owned(), Value::from("cold"))),
            Departure::MissingLink => other.each_link = !world.contains_key("missing"),
            Departure::Pause | Departure::Drift => return None,
        }
        Some(other)
    }
}

/// Every two of the processes 1 to `nodes`.
pub(super) fn pairs(nodes: usize) -> Vec<(usize, usize)> {
    (1..=nodes).flat_map(|a| (a + 1..=nodes).map(move |b| (a, b))).collect()
}

/// Raises a budget of faults. One without a bound stays so.
fn at_least(world: &mut Table, fault: &str, budget: i64) {
    let faults = world.entry("faults").or_insert_with(|| Value::Table(Table::new()));
    let Some(faults) = faults.as_table_mut() else { return };
    let before = faults.entry(fault).or_insert_with(|| Value::Integer(0));
    if before.as_integer().is_some_and(|before| before < budget) {
        *before = Value::Integer(budget);
    }
}

#[cfg(test)]
mod tests {
    use super::Subject;
    use crate::claims::Departure;
    use bellwether_model::world::Scenario;

    fn subject(world: &str) -> Subject {
        Subject {
            protocol: "bully".to_owned(),
            variant: None,
            rules: Vec::new(),
            nodes: vec![3],
            each_link: false,
            world: toml::from_str(world).expect("a table"),
        }
    }

    /// What is added to a world is read off it again.
    #[test]
    fn a_world_has_what_was_added_to_it() {
        let calm = subject("");
        assert_eq!(calm.scenario(3), Ok(Scenario::calm(3)));
        for departure in Departure::ALL {
            let Some(more) = calm.with(departure) else { continue };
            let scenario = more.scenario(3).expect("a scenario");
            assert_ne!(scenario, Scenario::calm(3), "{departure:?}");
            let again = more.with(departure).expect("as before").scenario(3);
            assert_eq!(again, Ok(scenario), "{departure:?}");
        }
        let many = subject("faults = { crashes = 3, losses = 'unbounded' }");
        for departure in [Departure::Crash, Departure::SecondCrash, Departure::Loss] {
            let more = many.with(departure).expect("it has them already");
            assert_eq!(more.scenario(3), many.scenario(3), "{departure:?}");
        }
    }

    #[test]
    fn each_link_is_missing_once() {
        let each = Subject { each_link: true, ..subject("") };
        let words = |scenario: Scenario| scenario.missing.words().join(", ");
        let all: Vec<String> =
            each.scenarios(3).expect("scenarios").into_iter().map(words).collect();
        assert_eq!(all, ["1-2", "1-3", "2-3"]);
        let twice = Subject { each_link: true, ..subject("missing = ['1-2']") };
        assert!(twice.scenarios(3).expect_err("twice").contains("leave 'missing' out"));
    }
}

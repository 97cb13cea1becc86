//! The ledger's entries as they are written in TOML, and how they are read.

use super::assumption::{Assumption, Departure, Stance};
use super::cause::Cause;
use super::demand::{Demand, Expectation};
use super::entry::{Ask, Check, Claim, LeftOut, Source, Subject};
use super::program::Program;
use super::quantifier::Quantifier;
use super::ruling::Open;
use crate::entries::Prose;
use bellwether_model::check::bounds::Until;
use bellwether_model::round::Starters;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// A file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WrittenSource {
    source: String,
    title: Prose,
    #[serde(default)]
    assumptions: BTreeMap<String, WrittenStance>,
    #[serde(default)]
    claim: Vec<WrittenClaim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenStance {
    says: Prose,
    #[serde(default)]
    assumes: BTreeSet<Assumption>,
    #[serde(default)]
    admits: BTreeSet<Departure>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenClaim {
    number: u16,
    cause: Option<Cause>,
    dangerous: Option<Prose>,
    section: String,
    says: Prose,
    quantifier: Option<Quantifier>,
    of: Option<String>,
    #[serde(default)]
    assumes: BTreeSet<Assumption>,
    #[serde(default)]
    admits: BTreeSet<Departure>,
    #[serde(default)]
    leaves_open: BTreeMap<String, Prose>,
    #[serde(default)]
    left_out: Vec<LeftOut>,
    open: Option<Open>,
    why: Prose,
    #[serde(default)]
    waits_for: Vec<String>,
    #[serde(default)]
    check: Vec<WrittenCheck>,
    #[serde(default)]
    beside: Vec<WrittenCheck>,
    #[serde(default)]
    cure: Vec<WrittenCheck>,
    no_cure: Option<Prose>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCheck {
    shows: Prose,
    #[serde(default)]
    without: BTreeSet<Assumption>,
    #[serde(default)]
    has: BTreeSet<Departure>,
    this_link: Option<Prose>,
    this_size: Option<Prose>,
    demands: String,
    finds: Option<OneOrMany<Expectation>>,

    protocol: Option<String>,
    variant: Option<String>,
    #[serde(default)]
    rules: BTreeMap<String, toml::Value>,
    nodes: Option<OneOrMany<usize>>,
    links: Option<WrittenLinks>,
    #[serde(default)]
    world: toml::Table,

    property: Option<String>,
    most: Option<String>,
    until: Option<WrittenUntil>,
    round: Option<String>,
    starters: Option<Starters>,
    crashed: Option<usize>,
    least: Option<String>,
    delays: Option<[u8; 2]>,
    processing: Option<[u8; 2]>,
    program: Option<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenUntil {
    Rest,
    Agreed,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WrittenLinks {
    EachMissing,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

impl<T> OneOrMany<T> {
    fn many(self) -> Vec<T> {
        match self {
            OneOrMany::One(one) => vec![one],
            OneOrMany::Many(many) => many,
        }
    }
}

impl WrittenSource {
    /// Returns the source, its claims read; or the number of one that is wrong, and what to do.
    pub(super) fn read(self) -> Result<Source, (u16, String)> {
        let claims = self.claim.into_iter().map(|claim| {
            let number = claim.number;
            claim.read().map_err(|wrong| (number, wrong))
        });
        let mut claims = claims.collect::<Result<Vec<_>, _>>()?;
        claims.sort_by_key(|claim| claim.number);
        let stances = self.assumptions.into_iter().map(|(name, stance)| stance.read(name));
        let stances = stances.collect();
        Ok(Source { name: self.source, title: self.title.0, stances, claims })
    }
}

/// A process that may recover at any moment may also recover late.
fn may_happen(mut all: BTreeSet<Departure>) -> BTreeSet<Departure> {
    if all.contains(&Departure::Recovery) {
        all.insert(Departure::LateRecovery);
    }
    all
}

impl WrittenStance {
    fn read(self, name: String) -> Stance {
        let admits = may_happen(self.admits);
        Stance { name, says: self.says.0, assumes: self.assumes, admits }
    }
}

impl WrittenClaim {
    fn read(self) -> Result<Claim, String> {
        let all = |kind: &str, checks: Vec<WrittenCheck>| {
            let one = |(at, check): (usize, WrittenCheck)| {
                check.read().map_err(|wrong| format!("{kind} {}: {wrong}", at + 1))
            };
            checks.into_iter().enumerate().map(one).collect::<Result<Vec<_>, _>>()
        };
        Ok(Claim {
            number: self.number,
            cause: self.cause,
            dangerous: self.dangerous.map(|text| text.0),
            section: self.section,
            says: self.says.0,
            quantifier: self.quantifier,
            of: self.of,
            assumes: self.assumes,
            admits: may_happen(self.admits),
            leaves_open: self.leaves_open.into_iter().map(|(rule, says)| (rule, says.0)).collect(),
            left_out: self.left_out,
            open: self.open,
            why: self.why.0,
            waits_for: self.waits_for,
            checks: all("check", self.check)?,
            besides: all("beside", self.beside)?,
            cures: all("cure", self.cure)?,
            no_cure: self.no_cure.map(|text| text.0),
        })
    }
}

impl WrittenCheck {
    fn read(mut self) -> Result<Check, String> {
        let demands: Demand = self.demands.parse().map_err(|e| format!("{e}"))?;
        let finds = self.finds.take().map_or_else(Vec::new, OneOrMany::many);
        let shows = std::mem::take(&mut self.shows.0);
        let without = std::mem::take(&mut self.without);
        let has = std::mem::take(&mut self.has);
        let this_link = self.this_link.take().map(|text| text.0);
        let this_size = self.this_size.take().map(|text| text.0);
        let ask = self.ask()?;
        if !has.is_empty() && ask.subject().is_some() {
            return Err("'has' is for programs; of a world it is read off the scenario".to_owned());
        }
        let of_a_number = match &ask {
            Ask::Property(..) | Ask::Program(_) => false,
            Ask::Most(..) | Ask::Round { .. } | Ask::Least { .. } => true,
        };
        if demands.is_of_a_number() != of_a_number {
            let kind = if of_a_number { "a number" } else { "holds or violated" };
            return Err(format!("it demands '{demands}', but what comes out is {kind}"));
        }
        Ok(Check { shows, ask, without, this_link, this_size, has, demands, finds })
    }

    /// Exactly one kind of question, with what belongs to it and nothing else.
    fn ask(mut self) -> Result<Ask, String> {
        let (property, most) = (self.property.take(), self.most.take());
        let (round, least, program) = (self.round.take(), self.least.take(), self.program.take());
        let asked = match (most, round, least, program) {
            (None, None, None, Some(program)) if property.is_none() => {
                let known = || Program::all().map(|p| p.name).collect::<Vec<_>>().join(", ");
                Ask::Program(Program::find(&program).ok_or_else(|| {
                    format!("there is no program '{program}'; there are: {}", known())
                })?)
            }
            (None, None, None, None) => {
                let property = property.ok_or(
                    "nothing is asked; give one of property, most, round, least or program",
                )?;
                Ask::Property(self.subject()?, property)
            }
            (Some(metric), None, None, None) if property.is_none() => {
                let until = match self.until.take() {
                    None | Some(WrittenUntil::Rest) => Until::Rest,
                    Some(WrittenUntil::Agreed) => Until::Agreed,
                };
                Ask::Most(self.subject()?, metric, until)
            }
            (None, Some(metric), None, None) if property.is_none() => Ask::Round {
                starters: self
                    .starters
                    .take()
                    .ok_or("'starters' is missing: which processes notice?")?,
                crashed: self.crashed.take().unwrap_or(0),
                metric,
                subject: self.subject()?,
            },
            (None, None, Some(duration), None) => Ask::Least {
                keeping: property.ok_or("'property' is missing: what has it to keep?")?,
                delays: self.delays.take().ok_or("'delays' is missing, such as [1, 3]")?,
                processing: self.processing.take().unwrap_or([0, 0]),
                duration,
                subject: self.subject()?,
            },
            _ => return Err("it asks several things; make a check of each".to_owned()),
        };
        self.nothing_left()?;
        Ok(asked)
    }

    fn subject(&mut self) -> Result<Subject, String> {
        let nodes = self.nodes.take().map_or_else(Vec::new, OneOrMany::many);
        if nodes.is_empty() {
            return Err("'nodes' is missing: how many processes, such as 3 or [2, 3]?".to_owned());
        }
        Ok(Subject {
            protocol: self.protocol.take().ok_or("'protocol' is missing")?,
            variant: self.variant.take(),
            rules: typed(std::mem::take(&mut self.rules)),
            nodes,
            each_link: self.links.take().is_some(),
            world: std::mem::take(&mut self.world),
        })
    }

    /// Refuses what the question does not use: a reader would believe that it matters.
    fn nothing_left(&self) -> Result<(), String> {
        let left = [
            ("protocol", self.protocol.is_some()),
            ("variant", self.variant.is_some()),
            ("rules", !self.rules.is_empty()),
            ("nodes", self.nodes.is_some()),
            ("links", self.links.is_some()),
            ("world", !self.world.is_empty()),
            ("until", self.until.is_some()),
            ("starters", self.starters.is_some()),
            ("crashed", self.crashed.is_some()),
            ("delays", self.delays.is_some()),
            ("processing", self.processing.is_some()),
        ];
        match left.into_iter().find(|&(_, left)| left) {
            Some((name, _)) => Err(format!("'{name}' has no meaning there; leave it out")),
            None => Ok(()),
        }
    }
}

/// Rules with their values, as they are typed.
pub(crate) fn typed(rules: BTreeMap<String, toml::Value>) -> Vec<(String, String)> {
    let word = |value: toml::Value| match value {
        toml::Value::String(word) => word,
        other => other.to_string(),
    };
    rules.into_iter().map(|(rule, value)| (rule, word(value))).collect()
}

//! The checks of the ledger as they are written in TOML, and how they are read.

use super::assumption::{Assumption, Departure};
use super::demand::{Demand, Expectation};
use super::entry::{Ask, Check, Subject};
use super::program::Program;
use crate::entries::{self, Prose};
use bellwether_model::check::bounds::Until;
use bellwether_model::round::Starters;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use std::collections::{BTreeMap, BTreeSet};

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

/// Reads the checks of a claim. An error says of which one it is, by its number.
pub(super) fn checks<'de, D: Deserializer<'de>>(all: D) -> Result<Vec<Check>, D::Error> {
    let all = Vec::<WrittenCheck>::deserialize(all)?;
    let read = |(at, written): (usize, WrittenCheck)| {
        written.check().map_err(|wrong| D::Error::custom(format!("check {at}: {wrong}")))
    };
    (1..).zip(all).map(read).collect()
}

impl WrittenCheck {
    fn check(mut self) -> Result<Check, String> {
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
        let rules = std::mem::take(&mut self.rules).into_iter();
        Ok(Subject {
            protocol: self.protocol.take().ok_or("'protocol' is missing")?,
            variant: self.variant.take(),
            rules: rules.map(|(rule, value)| (rule, entries::word(value))).collect(),
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

//! The ledger's entries: what they say.

use super::assumption::{Assumption, Departure, Stance};
use super::cause::Cause;
use super::demand::{Demand, Expectation};
use super::program::Program;
use super::quantifier::Quantifier;
use super::ruling::Open;
use crate::check::bounds::Until;
use crate::round::Starters;
use std::collections::{BTreeMap, BTreeSet};

/// A text and its claims.
#[derive(Clone, Debug)]
pub struct Source {
    /// The short name, by which it is chosen.
    pub name: String,
    /// What kind of text it is.
    pub title: String,
    /// What it assumes, or what its parts assume.
    pub stances: Vec<Stance>,
    /// Its claims, by number.
    pub claims: Vec<Claim>,
}

impl Source {
    /// What the text assumes where the claim stands, if it says.
    #[must_use]
    pub fn stance(&self, claim: &Claim) -> Option<&Stance> {
        let of = claim.of.as_ref()?;
        self.stances.iter().find(|stance| stance.name == *of)
    }
}

/// Something that a text says, and how it is decided.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its number in the whole ledger.
    pub number: u16,
    /// On what the verdict hangs, if runs decide it.
    pub cause: Option<Cause>,
    /// Why it is dangerous to rely on it, although it is true.
    pub dangerous: Option<String>,
    /// The section of the text.
    pub section: String,
    /// What it says, as a paraphrase.
    pub says: String,
    /// Of how many executions it speaks; nothing if no run decides it.
    pub quantifier: Option<Quantifier>,
    /// The assumptions of the text under which it stands, by their name.
    pub of: Option<String>,
    /// What it assumes itself.
    pub assumes: BTreeSet<Assumption>,
    /// What may happen, by its own words.
    pub admits: BTreeSet<Departure>,
    /// Rules of the protocol that the text leaves open, and what it says instead.
    pub leaves_open: BTreeMap<String, String>,
    /// What may happen and is in no run that decides, and why.
    pub left_out: Vec<LeftOut>,
    /// Why no run decides it, if none does.
    pub open: Option<Open>,
    /// What makes it so, or why nothing decides it here.
    pub why: String,
    /// Protocols that have to exist before it is decided.
    pub waits_for: Vec<String>,
    /// What the claim says, as checks.
    pub checks: Vec<Check>,
    /// Runs that decide nothing, and show what the reason speaks of.
    pub besides: Vec<Check>,
    /// The smallest changes of a rule or an assumption under which it holds.
    pub cures: Vec<Check>,
    /// Why there is no such change, or none that a run can show.
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
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// One thing that is in no run, or several of which no two are in one run.
    pub of: BTreeSet<Departure>,
    /// Why not.
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
    pub world: toml::Table,
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

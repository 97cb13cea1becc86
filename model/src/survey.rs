//! Every protocol in the worlds that matter: one matrix of verdicts.
//!
//! Each protocol is asked by its default rules what every election is asked, and what is asked of
//! it alone. The worlds are the same for all, and small: a cell says what happens there, not that
//! the protocol is right.

pub mod matrix;
mod worlds;

pub use worlds::{Surrounding, surroundings};

use crate::check::bounds::{Bound, Until, bounds};
use crate::check::{self, CheckError, Counts, Limits, Options, Reason, Verdict};
use crate::erased::AnyProtocol;
use crate::property::{self, Kind};
use crate::protocol::RuleError;
use crate::side_by_side::side_by_side;
use crate::world::{Scenario, WorldError};
use serde::Serialize;

/// What a protocol does in a world.
#[derive(Clone, Debug, Serialize)]
pub struct Cell {
    /// The world's name.
    pub world: &'static str,
    /// The verdicts; none if the protocol says nothing of the time that it takes.
    pub findings: Option<Vec<Finding>>,
    /// How much there was to search.
    pub states: Option<Counts>,
}

/// The verdict on one property.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The property's name.
    pub property: &'static str,
    /// Whether it is asked of this protocol alone.
    pub own: bool,
    /// What kind of formula it is.
    pub kind: Kind,
    /// Whether it holds.
    pub verdict: Verdict,
    /// Why it is not known, if it is not.
    pub reason: Option<Reason>,
    /// The number of steps of the counterexample, its cycle included.
    pub steps: Option<usize>,
}

/// A row of the matrix.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The protocol.
    pub protocol: &'static str,
    /// Its cells, in the order of the worlds.
    pub cells: Vec<Cell>,
    /// The most messages of an execution from the first crash until the world is quiescent.
    pub messages: Most,
}

/// The most that there can be of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Most {
    /// A number.
    AtMost(u64),
    /// There is no bound.
    Unbounded,
    /// The search was cut short, or left its boundary.
    Unknown,
}

/// How to survey.
#[derive(Clone, Copy, Debug)]
pub struct How {
    /// The number of processes that elect.
    pub nodes: usize,
    /// When to give up on a world.
    pub limits: Limits,
    /// With how many threads; each searches a world of its own.
    pub threads: usize,
}

/// One thing to find out.
#[derive(Clone, Copy)]
enum Task {
    Cell(usize),
    Messages,
}

enum Found {
    Cell(Cell),
    Messages(Most),
}

/// Surveys these protocols, and calls `done` with the name of one whenever a task of it is done.
///
/// # Errors
/// If a world cannot be, or the system gives no threads.
pub fn survey(
    protocols: &[&'static dyn AnyProtocol],
    how: How,
    done: &(dyn Fn(&'static str) + Sync),
) -> Result<Vec<Row>, SurveyError> {
    let worlds = surroundings(how.nodes);
    let tasks = || (0..worlds.len()).map(Task::Cell).chain([Task::Messages]);
    let all: Vec<_> =
        protocols.iter().flat_map(|&one| tasks().map(move |task| (one, task))).collect();
    let find = |&(protocol, task): &(&'static dyn AnyProtocol, Task)| {
        let found = find(protocol, task, &worlds, how);
        done(protocol.name());
        found
    };
    let found = side_by_side(how.threads, &all, &find)
        .map_err(|error| SurveyError::Threads { error: error.to_string() })?;
    let mut found = found.into_iter();
    let row = |protocol: &&'static dyn AnyProtocol| {
        let mut row = Row { protocol: protocol.name(), cells: Vec::new(), messages: Most::Unknown };
        for found in found.by_ref().take(worlds.len() + 1) {
            match found? {
                Found::Cell(cell) => row.cells.push(cell),
                Found::Messages(most) => row.messages = most,
            }
        }
        Ok(row)
    };
    protocols.iter().map(row).collect()
}

fn find(
    protocol: &dyn AnyProtocol,
    task: Task,
    worlds: &[Surrounding],
    how: How,
) -> Result<Found, SurveyError> {
    match task {
        Task::Cell(at) => cell(protocol, &worlds[at], how).map(Found::Cell),
        Task::Messages => messages(protocol, how).map(Found::Messages),
    }
}

fn cell(protocol: &dyn AnyProtocol, world: &Surrounding, how: How) -> Result<Cell, SurveyError> {
    let mut cell = Cell { world: world.name, findings: None, states: None };
    let Some(scenario) = world.scenario(protocol)? else { return Ok(cell) };
    let world = protocol.rules(None, &[])?.world(scenario)?;
    let asked = world.select(&[])?;
    let options = Options { limits: how.limits, ..Options::default() };
    let report = check::decide(&*world, &asked, &options, &mut |_| {})?;
    let findings = report.decisions.iter().map(|decision| Finding {
        property: decision.property.name,
        own: protocol.owns(decision.property.name),
        kind: decision.property.kind(),
        verdict: decision.verdict,
        reason: decision.reason,
        steps: decision
            .counterexample
            .as_ref()
            .map(|found| found.steps.len() + found.cycle.as_ref().map_or(0, Vec::len)),
    });
    cell.findings = Some(findings.collect());
    cell.states = Some(report.counts);
    Ok(cell)
}

fn messages(protocol: &dyn AnyProtocol, how: How) -> Result<Most, SurveyError> {
    let scenario = Scenario::calm(how.nodes).with_crashes(1, 0);
    let world = protocol.rules(None, &[])?.world(scenario)?;
    let found = bounds(&*world, Until::Rest, (how.limits, 1), &mut |_| {})?;
    let line = found.lines.iter().find(|line| line.name() == "messages");
    Ok(match (found.incomplete, line.map(|line| &line.bound)) {
        (_, Some(Bound::Unbounded(_))) => Most::Unbounded,
        (None, Some(Bound::Most(most, _))) => Most::AtMost(*most),
        _ => Most::Unknown,
    })
}

impl Cell {
    /// Whether this property is violated.
    fn violates(&self, named: impl Fn(&Finding) -> bool) -> bool {
        let found = self.findings.iter().flatten();
        found.filter(|f| f.verdict == Verdict::Violated).any(named)
    }

    /// What goes wrong, in a few words; empty if all holds.
    #[must_use]
    pub fn wrongs(&self) -> Vec<String> {
        let mut wrongs = Vec::new();
        if self.violates(|f| f.property == "at-most-one-leader") {
            wrongs.push("two leaders".to_owned());
        }
        if self.violates(|f| matches!(f.property, "stabilises" | "settles")) {
            wrongs.push("no agreement in the end".to_owned());
        }
        let own = self.findings.iter().flatten().filter(|f| f.own);
        let own = own.filter(|f| f.verdict == Verdict::Violated);
        wrongs.extend(own.map(|finding| format!("not {}", finding.property)));
        wrongs
    }

    /// The verdict on everything together: violated if something is, otherwise unknown if
    /// something is; `None` if nothing was asked.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        let findings = self.findings.as_ref()?;
        let any = |verdict| findings.iter().any(|f| f.verdict == verdict);
        // A property that is vacuous, because the world is never quiescent, does not count.
        let open = |f: &Finding| f.verdict == Verdict::Unknown && f.reason != Some(Reason::Vacuous);
        Some(if any(Verdict::Violated) {
            Verdict::Violated
        } else if findings.iter().any(open) {
            Verdict::Unknown
        } else if any(Verdict::HoldsWithin) {
            Verdict::HoldsWithin
        } else {
            Verdict::Holds
        })
    }

    /// The cell in words.
    #[must_use]
    pub fn words(&self) -> String {
        match self.verdict() {
            None => "not asked".to_owned(),
            Some(Verdict::Holds) => "holds".to_owned(),
            Some(Verdict::HoldsWithin) => "holds within bounds".to_owned(),
            Some(Verdict::Unknown) => "undecided".to_owned(),
            Some(Verdict::Violated) => match self.wrongs() {
                wrongs if wrongs.is_empty() => "not at every moment".to_owned(),
                wrongs => wrongs.join(", "),
            },
        }
    }
}

impl Most {
    /// The bound in words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Most::AtMost(most) => most.to_string(),
            Most::Unbounded => "unbounded".to_owned(),
            Most::Unknown => "undecided".to_owned(),
        }
    }
}

/// Why there is no survey.
#[derive(Debug, thiserror::Error)]
pub enum SurveyError {
    /// The protocol has no variant.
    #[error(transparent)]
    Rule(#[from] RuleError),
    /// A world cannot be.
    #[error(transparent)]
    World(#[from] WorldError),
    /// A property cannot be asked for.
    #[error(transparent)]
    Property(#[from] property::PropertyError),
    /// A check failed.
    #[error(transparent)]
    Check(#[from] CheckError),
    /// The system gives no threads.
    #[error("cannot start threads: {error}; try fewer with --threads")]
    Threads {
        /// What the system says.
        error: String,
    },
}

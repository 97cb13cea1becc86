//! Every protocol in the worlds that matter: one matrix of verdicts.
//!
//! Each protocol is asked by its default rules what every election is asked, and what is asked of
//! it alone. The worlds are the same for all, and small: a cell says what happens there, not that
//! the protocol is right.

mod cell;
pub mod matrix;
mod worlds;

pub use cell::{Cell, Finding, Standing};
pub use worlds::{Surrounding, surroundings};

use crate::check::bounds::{Bound, Until, bounds};
use crate::check::{self, CheckError, Limits, Options, Reason};
use crate::machine::AnyProtocol;
use crate::property::Property;
use crate::property::{self, PropertyError};
use crate::protocol::RuleError;
use crate::side_by_side::side_by_side;
use crate::world::World;
use crate::world::{Scenario, WorldError};
use serde::Serialize;

/// A row of the matrix.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The protocol.
    pub protocol: &'static str,
    /// Its cells, in the order of the worlds.
    pub cells: Vec<Cell>,
    /// The most messages of an execution from the first crash until the world is quiescent.
    pub messages: Most,
    /// The properties that are [proved](crate::prove) for every number of processes.
    pub proved: &'static [&'static str],
}

impl Row {
    /// What is proved for every number of processes, in words.
    #[must_use]
    pub fn proved_words(&self) -> String {
        if self.proved.is_empty() { "-".to_owned() } else { self.proved.join(", ") }
    }
}

/// The most that there can be of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Most {
    /// A number.
    AtMost(u64),
    /// There is no bound.
    Unbounded,
    /// The search was cut short, or executions exceed its bounds.
    Unknown(Reason),
}

/// How to survey.
#[derive(Clone, Copy, Debug)]
pub struct SurveyOptions {
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

enum TaskResult {
    Cell(Cell),
    Messages(Most),
}

/// Surveys these protocols, and calls `done` with the name of one whenever a task of it is done.
///
/// # Errors
/// If a world cannot be, or the system gives no threads.
pub fn survey(
    protocols: &[&'static dyn AnyProtocol],
    settings: SurveyOptions,
    done: &(dyn Fn(&'static str) + Sync),
) -> Result<Vec<Row>, SurveyError> {
    let worlds = surroundings(settings.nodes);
    let tasks = || (0..worlds.len()).map(Task::Cell).chain([Task::Messages]);
    let all: Vec<_> =
        protocols.iter().flat_map(|&one| tasks().map(move |task| (one, task))).collect();
    let find = |&(protocol, task): &(&'static dyn AnyProtocol, Task)| {
        let found = find(protocol, task, &worlds, settings);
        done(protocol.name());
        found
    };
    let found = side_by_side(settings.threads, &all, &find)
        .map_err(|error| SurveyError::Threads { error: error.to_string() })?;
    let mut found = found.into_iter();
    let row = |protocol: &&'static dyn AnyProtocol| {
        let name = protocol.name();
        let (messages, proved) = (Most::AtMost(0), crate::prove::proved(name));
        let mut row = Row { protocol: name, cells: Vec::new(), messages, proved };
        for found in found.by_ref().take(worlds.len() + 1) {
            match found? {
                TaskResult::Cell(cell) => row.cells.push(cell),
                TaskResult::Messages(most) => row.messages = most,
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
    settings: SurveyOptions,
) -> Result<TaskResult, SurveyError> {
    match task {
        Task::Cell(at) => cell(protocol, &worlds[at], settings).map(TaskResult::Cell),
        Task::Messages => messages(protocol, settings).map(TaskResult::Messages),
    }
}

fn cell(
    protocol: &dyn AnyProtocol,
    world: &Surrounding,
    settings: SurveyOptions,
) -> Result<Cell, SurveyError> {
    let mut cell = Cell { world: world.name, findings: None, states: None, bounds_met: Vec::new() };
    let Some(scenario) = world.scenario(protocol)? else { return Ok(cell) };
    let world = World::of(protocol.rules(None, &[])?, scenario)?;
    let asked = questions(&world)?;
    let options = Options { limits: settings.limits, ..Options::default() };
    let report = check::check(&world, &asked, &options, &mut |_| {})?;
    let findings = report.decisions.iter().map(|decision| Finding {
        property: decision.property.name,
        promised: !protocol.not_promised().contains(&decision.property.name),
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
    cell.bounds_met = report.bounds_met;
    Ok(cell)
}

/// What is asked in a world of the survey. Where every process has to agree
/// [within some time](property::AGREED_WITHIN), nothing is asked of quiescent states: a state that
/// is quiescent stays as it is for longer than that.
///
/// # Errors
/// As [`property::select`].
pub fn questions(world: &World) -> Result<Vec<Property>, PropertyError> {
    let mut asked = property::select(world, &[])?;
    if asked.iter().any(|p| p.name == property::AGREED_WITHIN) {
        asked.retain(|p| p.premise.as_ref().is_none_or(|(name, _)| *name != property::QUIESCENT));
    }
    Ok(asked)
}

fn messages(protocol: &dyn AnyProtocol, settings: SurveyOptions) -> Result<Most, SurveyError> {
    let scenario = Scenario::calm(settings.nodes).with_crashes(1, 0);
    let world = World::of(protocol.rules(None, &[])?, scenario)?;
    let found = bounds(&world, Until::Rest, (settings.limits, 1), &mut |_| {})?;
    let line = found.lines.iter().find(|line| line.name() == "messages");
    Ok(match (found.incomplete, line.map(|line| &line.bound)) {
        (_, Some(Bound::Unbounded(_))) => Most::Unbounded,
        (None, Some(Bound::Most(most, _))) => Most::AtMost(*most),
        (Some(reason), _) => Most::Unknown(reason),
        (None, None) => Most::AtMost(0),
    })
}

impl Most {
    /// The bound in words.
    #[must_use]
    pub fn words(self) -> String {
        match self {
            Most::AtMost(most) => most.to_string(),
            Most::Unbounded => "unbounded".to_owned(),
            Most::Unknown(reason) => format!("unknown ({})", cell::short(reason)),
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
    Property(#[from] PropertyError),
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

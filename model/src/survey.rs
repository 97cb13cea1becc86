//! Every protocol in the worlds that matter: one matrix of verdicts.
//!
//! Each protocol is asked by its default rules what every election is asked, and what is asked of
//! it alone. The worlds are the same for all, and small: a cell says what happens there, not that
//! the protocol is right. Where a world is too large, narrower ones answer for it, and the cell
//! names their bounds.

mod cell;
pub mod matrix;
mod proved;
mod worlds;

pub use cell::{Cell, Finding, Standing};
pub use proved::proved;
pub use worlds::{Narrower, Rung, Surrounding, surroundings};

use crate::check::bounds::{Bound, Until, bounds};
use crate::check::{self, CheckError, Decision, Event, Limits, Options, Reason, Report, Verdict};
use crate::in_parallel::in_parallel;
use crate::machine::AnyProtocol;
use crate::property::Property;
use crate::property::{self, PropertyError};
use crate::protocol::RuleError;
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
    /// The properties that are [proved](fn@proved) for every number of processes.
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
    /// How many time-outs are early at most in the narrower worlds that stand in for one in which
    /// they may all be, if that is too large; at least 1.
    pub most_early: u8,
}

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
    let found = in_parallel(settings.threads, &all, &find)
        .map_err(|error| SurveyError::Threads { error: error.to_string() })?;
    let mut found = found.into_iter();
    let row = |protocol: &&'static dyn AnyProtocol| {
        let name = protocol.name();
        let (messages, proved) = (Most::AtMost(0), proved(name));
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
    climb(protocol, world, settings, &mut |_| {}, &mut |rung, report| {
        let found = report.decisions.iter().map(|d| Finding::of(protocol, rung, &report, d));
        match &mut cell.findings {
            Some(findings) if rung.is_further => {
                let broken = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
                for name in broken.map(|decision| decision.property.name) {
                    for finding in findings.iter_mut().filter(|f| f.property == name) {
                        finding.verdict = Verdict::HoldsWithin;
                        finding.within = vec![world.budget()];
                    }
                }
            }
            Some(findings) => {
                for found in found.filter(|found| !found.standing().is_unknown()) {
                    let before = findings.iter_mut().find(|f| f.property == found.property);
                    if let Some(before) = before {
                        *before = found;
                    }
                }
            }
            none => {
                *none = Some(found.collect());
                cell.states = Some(report.counts);
                cell.bounds_met.clone_from(&report.bounds_met);
            }
        }
    })?;
    Ok(cell)
}

/// Searches a world, and tells `found` of it; then narrower ones for what it did not decide, and
/// one with another fault of its kind for what holds. Now and then `tell` hears how far it is.
///
/// # Errors
/// If a world cannot be, or the system gives no threads.
pub fn climb(
    protocol: &dyn AnyProtocol,
    world: &Surrounding,
    settings: SurveyOptions,
    tell: &mut (dyn FnMut(Event) + Send),
    found: &mut dyn FnMut(&Rung, Report),
) -> Result<(), SurveyError> {
    let Some(scenario) = world.scenario(protocol)? else { return Ok(()) };
    let options = Options { limits: settings.limits, ..Options::default() };
    // Asks for these, or for everything, and returns what stays open and what holds.
    let mut search = |rung: &Rung, open: Option<&[&'static str]>| {
        let world = World::of(protocol.rules(None, &[])?, rung.scenario)?;
        let mut asked = questions(&world)?;
        asked.retain(|property| open.is_none_or(|open| open.contains(&property.name)));
        if asked.is_empty() {
            return Ok((open.unwrap_or_default().to_vec(), Vec::new()));
        }
        let report = check::check(&world, &asked, &options, tell)?;
        let named = |is: fn(&Decision) -> bool| {
            let these = report.decisions.iter().filter(|&decision| is(decision));
            these.map(|decision| decision.property.name).collect()
        };
        let found_so = (named(is_open), named(|decision| decision.verdict == Verdict::Holds));
        found(rung, report);
        Ok::<(Vec<&'static str>, Vec<_>), SurveyError>(found_so)
    };
    let (left, holding) = search(&Rung { scenario, bound: None, is_further: false }, None)?;
    let Narrower { wider, narrower } = Surrounding::narrower(scenario, settings.most_early);
    let mut open = left.clone();
    for (at, rung) in wider.iter().enumerate() {
        let (rest, _) = search(rung, Some(&left))?;
        if at == 0 {
            open.clone_from(&rest);
        }
        if !rest.is_empty() {
            break;
        }
    }
    for rung in &narrower {
        if open.is_empty() {
            break;
        }
        (open, _) = search(rung, Some(&open))?;
    }
    search(&world.further(scenario), Some(&holding))?;
    Ok(())
}

/// Whether a narrower world could decide what this one did not.
fn is_open(decision: &Decision) -> bool {
    let lost = [None, Some(Reason::Vacuous), Some(Reason::Interrupted)];
    decision.verdict == Verdict::Unknown && !lost.contains(&decision.reason)
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

//! What a check found.

use super::{Counts, Engine, Growth, Options, Reason, Unfinished};
use crate::expression::Expression;
use crate::property::{self, Kind, Property};
use crate::trace::{Shows, Step, Trace};
use crate::world::swarm::Taken;
use crate::world::{Action, Budget, Faults, Recovers, Timed, World};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::sync::Arc;
use std::time::Duration;

/// The report of a check: what it found out about a world, and how.
pub struct Report {
    /// The world that was checked.
    pub world: Arc<World>,
    /// The engine that searched.
    pub engine: Engine,
    /// The number of threads in each process.
    pub threads: usize,
    /// The number of processes that searched.
    pub processes: usize,
    /// The size of the search.
    pub counts: Counts,
    /// The time that the check took.
    pub elapsed: Duration,
    /// The most memory that the process has used, in bytes, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    /// The limit or fault that ended the search before everything was decided, if one did.
    pub cut_short: Option<Reason>,
    /// The progress of the search at that moment, if not every state was searched and the engine
    /// tells.
    pub unfinished: Option<Unfinished>,
    /// What grew from level to level, and so may keep the search from ending, if a limit or the
    /// user ended it before every state was found.
    pub growth: Vec<Growth>,
    /// The bounds of the search that executions exceeded, in words: what there may be at most.
    pub bounds_met: Vec<String>,
    /// The fault of the disk, if that ended the search or kept it from being saved.
    pub trouble: Option<String>,
    /// The number of levels that had been searched to their end when the search went on, if it had
    /// been interrupted and was saved.
    pub resumed_after: Option<usize>,
    /// The result of random walks, if those were the search.
    pub simulation: Option<Simulation>,
    /// The properties with their verdicts, in the order in which they were asked.
    pub decisions: Vec<Decision>,
    /// The expressions whose values are shown along counterexamples.
    pub shown: Vec<Expression>,
}

/// The result of random walks: what they met.
#[derive(Clone, Debug, Serialize)]
pub struct Simulation {
    /// The number of walks.
    pub walks: u64,
    /// The number of steps that the walks took in all.
    pub steps: u64,
    /// The number of steps of the longest walk.
    pub longest: u64,
    /// The largest number of steps that a walk was to take.
    pub depth: usize,
    /// The seed of the walks.
    pub seed: u64,
    /// The number of different states that the walks met, as an estimate.
    pub about_states: u64,
    /// The number of times that each kind of action happened to a process in each role.
    pub actions: Taken,
    /// The number of walks that looked in which each rule decided a step: another value of it would
    /// have made the step another one.
    pub rules: std::collections::BTreeMap<String, u64>,
    /// The number of walks that looked which rules decide.
    pub looked: u64,
}

impl Simulation {
    /// Returns the rules that decided no step of the walks that looked.
    #[must_use]
    pub fn rules_not_met(&self) -> Vec<&str> {
        self.rules.iter().filter(|(_, walks)| **walks == 0).map(|(rule, _)| &**rule).collect()
    }
}

/// The verdict on a property: whether it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The property holds in this world.
    Holds,
    /// No execution violates the property within the [bounds](Report::bounds_met) of the search.
    /// Some exceed them, and what follows then is not known. Of liveness it is said only where a
    /// fair execution that stays within them meets each kind of fault that the world has.
    HoldsWithin,
    /// The property does not hold: there is a counterexample.
    Violated,
    /// The property was not decided; the [`Reason`] says why.
    Unknown,
}

impl Verdict {
    /// Returns the verdict on several things together: that of the one of which least can be said.
    pub fn all(verdicts: impl IntoIterator<Item = Verdict>) -> Verdict {
        let rank = |verdict: &Verdict| match verdict {
            Verdict::Violated => 3,
            Verdict::Unknown => 2,
            Verdict::HoldsWithin => 1,
            Verdict::Holds => 0,
        };
        verdicts.into_iter().max_by_key(rank).unwrap_or(Verdict::Holds)
    }

    /// The verdict on a property of this kind, `shown` if an execution decides it: a violation, or
    /// for reachability an example. Otherwise the search must have been complete, but for
    /// executions that exceed its bounds. A safety property then holds within them, and so does
    /// liveness if executions `last` there.
    pub(super) fn of(
        kind: Kind,
        shown: bool,
        incomplete: Option<Reason>,
        last: bool,
    ) -> (Verdict, Option<Reason>) {
        match (kind, shown, incomplete) {
            (Kind::Safety | Kind::Liveness, true, _) => (Verdict::Violated, None),
            (Kind::Reachability, true, _) => (Verdict::Holds, None),
            (Kind::Safety, false, Some(Reason::Bounds)) => {
                (Verdict::HoldsWithin, Some(Reason::Bounds))
            }
            (Kind::Liveness, false, Some(Reason::Bounds)) if last => {
                (Verdict::HoldsWithin, Some(Reason::Bounds))
            }
            (_, false, Some(reason)) => (Verdict::Unknown, Some(reason)),
            (Kind::Reachability, false, None) => (Verdict::Violated, None),
            (Kind::Safety | Kind::Liveness, false, None) => (Verdict::Holds, None),
        }
    }
}

/// Returns [`Verdict::HoldsWithin`] in words, with the bounds.
#[must_use]
pub fn holds_within(bounds_met: &[String]) -> String {
    format!("holds within {}, beyond is not claimed", bounds_met.join(" and "))
}

/// The decision on a property: its verdict, and what shows it.
pub struct Decision {
    /// The property that was asked.
    pub property: Property,
    /// The verdict: whether the property holds.
    pub verdict: Verdict,
    /// The reason why the verdict is not known, or known only within bounds.
    pub reason: Option<Reason>,
    /// An execution that violates the property, if it is violated and one exists (nothing shows
    /// that a state cannot be reached).
    pub counterexample: Option<Counterexample>,
    /// Different ones, if several were asked for; the first is the one above.
    pub several: Option<Counterexamples>,
}

/// Several different counterexamples to one property.
///
/// Two are different if they need different kinds of faults or, of a safety property, if another
/// kind of step ends them. Of those that the same kind of step ends, only these are listed: no
/// execution does with fewer of their kinds of faults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexamples {
    /// The counterexamples, one for each difference; shorter ones first, and each as short as any
    /// of its kind.
    pub listed: Vec<DistinctCounterexample>,
    /// How many there are, more than are listed if fewer were asked for.
    pub known: usize,
    /// The reason why there may be more, if there may.
    pub incomplete: Option<Reason>,
}

/// A counterexample, and what makes it different.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistinctCounterexample {
    /// The execution.
    pub found: Counterexample,
    /// How often each kind of fault strikes in it.
    pub faults: Faults,
    /// The kind of step that ends it, in words; not said of a cycle.
    pub ends: Option<String>,
}

/// An execution that violates a property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counterexample {
    /// The actions from the initial state to the violation.
    pub steps: Vec<Action>,
    /// The actions that repeat for ever after `steps`, for liveness; if there are none, nothing
    /// happens any more.
    pub cycle: Option<Vec<Action>>,
}

impl Counterexample {
    /// Returns the number of steps that it takes. A cycle goes on for ever, so those of it are not
    /// counted.
    #[must_use]
    pub fn length(&self) -> usize {
        self.steps.len()
    }

    /// Returns all actions: the steps, and then the cycle once.
    #[must_use]
    pub fn actions(&self) -> Vec<Action> {
        self.steps.iter().chain(self.cycle.iter().flatten()).copied().collect()
    }

    /// Returns what `expression` is worth at the beginning and after each of the actions, with the
    /// names that the processes use.
    #[must_use]
    pub fn values(&self, world: &World, expression: &Expression) -> Vec<serde_json::Value> {
        expression.values(world, &self.actions())
    }

    /// Returns the counterexample of `property` as a trace.
    #[must_use]
    pub fn trace(&self, world: &World, property: &Property) -> Trace {
        Trace::record(world, &self.actions(), Some(self.shows(property)))
    }

    /// Returns what the counterexample shows, as one of `property`.
    #[must_use]
    pub fn shows(&self, property: &Property) -> Shows {
        Shows {
            property: property.name.to_owned(),
            formula: property.formula.to_owned(),
            kind: property.kind(),
            cycle_after: self.cycle.as_ref().map(|_| self.steps.len()),
            until: None,
        }
    }
}

impl DistinctCounterexample {
    /// Returns the kinds of faults that it needs.
    pub fn needs(&self) -> impl Iterator<Item = &'static str> {
        let struck = self.faults.named().into_iter().filter(|(_, times)| *times != Budget::NONE);
        struck.map(|(name, _)| name)
    }
}

impl Report {
    /// Returns the report on a check of `world` that has found nothing.
    pub(super) fn of(world: &World, options: &Options) -> Report {
        Report {
            world: Arc::new(world.clone()),
            engine: options.engine,
            threads: options.threads,
            processes: 1,
            counts: Counts::default(),
            elapsed: Duration::ZERO,
            peak_rss_bytes: None,
            cut_short: None,
            unfinished: None,
            growth: Vec::new(),
            bounds_met: Vec::new(),
            trouble: None,
            resumed_after: None,
            simulation: None,
            decisions: Vec::new(),
            shown: Vec::new(),
        }
    }

    /// Returns the names of the properties for which a symmetry was not made use of, because they
    /// ask for what it changes.
    #[must_use]
    pub fn ask_for_names(&self) -> Vec<&'static str> {
        let decided = self.decisions.iter().map(|decision| &decision.property);
        let named = decided.filter(|property| property::asks_for_names(property));
        let symmetric = self.world.machine().protocol().canonicalizes();
        named.filter(|_| symmetric).map(|property| property.name).collect()
    }

    /// Returns the [verdict on all](Verdict::all) properties together.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        Verdict::all(self.decisions.iter().map(|decision| decision.verdict))
    }
}

/// The JSON that `check --json` prints.
impl Serialize for Report {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        world_entries(&mut map, &self.world)?;
        map.serialize_entry("engine", &self.engine)?;
        map.serialize_entry("threads", &self.threads)?;
        if self.engine == Engine::Dataflow {
            map.serialize_entry("processes", &self.processes)?;
        }
        map.serialize_entry("states", &self.counts)?;
        map.serialize_entry("cut_short", &self.cut_short)?;
        map.serialize_entry("unfinished", &self.unfinished)?;
        if !self.growth.is_empty() {
            map.serialize_entry("growth", &self.growth)?;
        }
        if let Some(trouble) = &self.trouble {
            map.serialize_entry("trouble", trouble)?;
        }
        if let Some(levels) = self.resumed_after {
            map.serialize_entry("resumed_after", &levels)?;
        }
        if let Some(simulation) = &self.simulation {
            map.serialize_entry("simulation", simulation)?;
        }
        map.serialize_entry("bounds_met", &self.bounds_met)?;
        map.serialize_entry("caveats", &self.caveats())?;
        map.serialize_entry("seconds", &self.elapsed.as_secs_f64())?;
        map.serialize_entry("peak_rss_bytes", &self.peak_rss_bytes)?;
        let named = self.ask_for_names();
        if !named.is_empty() {
            map.serialize_entry("concrete_names_for", &named)?;
        }
        let decisions: Vec<_> = self.decisions.iter().map(|d| decision(self, d)).collect();
        map.serialize_entry("properties", &decisions)?;
        map.end()
    }
}

/// The protocol, its rules and the scenario.
pub(super) fn world_entries<M: SerializeMap>(map: &mut M, world: &World) -> Result<(), M::Error> {
    let scenario = world.scenario();
    let rules = world.machine();
    map.serialize_entry("protocol", rules.protocol().name())?;
    map.serialize_entry("variant", &rules.variant_name())?;
    map.serialize_entry("rules", &rules.json())?;
    map.serialize_entry("nodes", &scenario.nodes)?;
    map.serialize_entry("faults", &scenario.faults)?;
    map.serialize_entry("heals", &scenario.heals)?;
    if scenario.recovers != Recovers::May {
        map.serialize_entry("recovers", &scenario.recovers)?;
    }
    if scenario.jump > 0 {
        map.serialize_entry("jump", &scenario.jump)?;
    }
    map.serialize_entry("fairness", &scenario.fairness)?;
    map.serialize_entry("network", &scenario.network)?;
    let timing = TimingView { kind: scenario.timing.kind(), timed: scenario.timing.timed() };
    map.serialize_entry("timing", &timing)?;
    map.serialize_entry("start", &scenario.start)?;
    if !scenario.down.is_empty() {
        map.serialize_entry("down", &scenario.down)?;
    }
    map.serialize_entry("capacity", &scenario.capacity)
}

#[derive(Serialize)]
struct TimingView {
    kind: &'static str,
    #[serde(flatten)]
    timed: Option<Timed>,
}

#[derive(Serialize)]
struct DecisionView {
    name: &'static str,
    formula: &'static str,
    kind: Kind,
    verdict: Verdict,
    reason: Option<Reason>,
    counterexample: Option<CounterexampleView>,
    #[serde(flatten)]
    several: Option<SeveralView>,
}

#[derive(Serialize)]
struct SeveralView {
    counterexamples: Vec<DistinctView>,
    counterexamples_known: usize,
    counterexamples_incomplete: Option<Reason>,
}

#[derive(Serialize)]
struct DistinctView {
    needs: Vec<&'static str>,
    ends: Option<String>,
    #[serde(flatten)]
    execution: CounterexampleView,
}

#[derive(Serialize)]
struct CounterexampleView {
    steps: Vec<Step>,
    cycle: Option<Vec<Step>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    shown: Vec<ShownView>,
}

/// What an expression is worth at the beginning and after each step.
#[derive(Serialize)]
struct ShownView {
    expression: String,
    values: Vec<serde_json::Value>,
}

fn decision(report: &Report, decision: &Decision) -> DecisionView {
    let view = |found: &Counterexample| {
        let mut steps = found.trace(&report.world, &decision.property).steps;
        let cycle = found.cycle.as_ref().map(|_| steps.split_off(found.steps.len()));
        let shown = report.shown.iter().map(|expression| ShownView {
            expression: expression.text().to_owned(),
            values: found.values(&report.world, expression),
        });
        CounterexampleView { steps, cycle, shown: shown.collect() }
    };
    let distinct = |one: &DistinctCounterexample| DistinctView {
        needs: one.needs().collect(),
        ends: one.ends.clone(),
        execution: view(&one.found),
    };
    let several = decision.several.as_ref().map(|several| SeveralView {
        counterexamples: several.listed.iter().map(distinct).collect(),
        counterexamples_known: several.known,
        counterexamples_incomplete: several.incomplete,
    });
    DecisionView {
        name: decision.property.name,
        formula: decision.property.formula,
        kind: decision.property.kind(),
        verdict: decision.verdict,
        reason: decision.reason,
        counterexample: decision.counterexample.as_ref().map(view),
        several,
    }
}

//! What executions of a world cost at most.

use super::tally::{Column, Tally};
use super::{Bound, ComponentOrder, Until};
use crate::check::exact::{Exact, Graph, SearchOptions};
use crate::check::report::world_entries;
use crate::check::rows::Rows;
use crate::check::{
    CheckError, Counts, Event, Limits, Phase, Reason, Unfinished, Watch, peak_rss_bytes,
};
use crate::property::Kind;
use crate::trace::{Shows, Step, Trace};
use crate::world::packed::Packed;
use crate::world::{Action, World};
use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The costs of executions of a world: what they are at most.
pub struct Bounds {
    /// The world whose executions are bounded.
    pub world: Arc<World>,
    /// The steps that were counted.
    pub until: Until,
    /// The size of the search.
    pub counts: Counts,
    /// The time that the search took.
    pub elapsed: Duration,
    /// The most memory that the process has used, in bytes, where the system tells.
    pub peak_rss_bytes: Option<u64>,
    /// The reason why the bounds are not complete, if they are not. After a limit some lines are
    /// missing, and those that are there are bounds; where executions exceed the bounds of the
    /// search, they may cost more.
    pub incomplete: Option<Reason>,
    /// The progress of the search, if a limit ended it before it had reached every state.
    pub unfinished: Option<Unfinished>,
    /// The bounds of the search that executions exceeded, in words: what there may be at most.
    pub bounds_met: Vec<String>,
    /// The bounds, one for each thing that is counted.
    pub lines: Vec<Line>,
}

/// How the name begins of what an execution shows that attains a bound.
pub(crate) const THE_MOST: &str = "the most ";

/// What the formula is of what has no bound.
pub(crate) const UNBOUNDED: &str = "unbounded";

/// The bound on one thing that is counted.
pub struct Line {
    /// The steps that were counted.
    pub until: Until,
    /// The name of what is counted.
    pub metric: &'static str,
    /// The meaning: what counts as one.
    pub meaning: &'static str,
    /// The kind that is counted, if kinds are told apart.
    pub kind: Option<String>,
    /// The largest number that there can be in an execution.
    pub bound: Bound<Action>,
}

impl Line {
    /// Returns the name of the line on the command line.
    #[must_use]
    pub fn name(&self) -> String {
        match &self.kind {
            Some(kind) => format!("{}/{kind}", self.metric),
            None => self.metric.to_owned(),
        }
    }

    /// Returns the execution that attains the bound, or repeats what has none, as a trace.
    #[must_use]
    pub fn trace(&self, world: &World) -> Trace {
        let (actions, cycle_after, most) = match &self.bound {
            Bound::Most(most, steps) => (steps.clone(), None, most.to_string()),
            Bound::Unbounded(lasso) => {
                let steps = lasso.stem.iter().chain(&lasso.cycle).copied().collect();
                (steps, Some(lasso.stem.len()), UNBOUNDED.to_owned())
            }
        };
        let property = format!("{THE_MOST}{}", self.name());
        let until = Some(self.until.name().to_owned());
        let (formula, kind) = (most, Kind::Reachability);
        let shows = Shows { property, formula, kind, cycle_after, until };
        Trace::record(world, &actions, Some(shows))
    }
}

/// Computes the largest number of everything that is counted, over all executions of `world`,
/// telling `on_event` now and then how far the search is.
///
/// # Errors
/// If the world is too large to be searched, or the system gives no threads.
pub fn bounds(
    world: &World,
    until: Until,
    (limits, threads): (Limits, usize),
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Result<Bounds, CheckError> {
    world.is_searchable()?;
    let started = Instant::now();
    let (violations, first) = (&[][..], false);
    let disk = None;
    let search_options = SearchOptions {
        limits,
        edges: true,
        threads,
        violations,
        first,
        disk,
        on_event: &mut *on_event,
    };
    let mut space = Packed::new(world, Vec::new());
    let exact = Exact::search(&mut space, search_options);
    let exact = exact.map_err(|error| CheckError::of(threads, error))?;
    let (counts, unfinished) = (exact.counts(), exact.unfinished());
    let bounds = exact.leaves_boundary().then_some(Reason::Bounds);
    let mut watch = Watch::new(limits, exact.progress(Phase::Bounds, started.elapsed()), on_event);
    let mut lines = Vec::new();
    let cut_short = exact.cut_short().or_else(|| {
        let graph = exact.graph(&space)?;
        measured(until, &space, &graph, &mut lines, &mut watch).err()
    });
    Ok(Bounds {
        world: Arc::new(world.clone()),
        until,
        counts,
        elapsed: started.elapsed(),
        peak_rss_bytes: peak_rss_bytes(),
        incomplete: cut_short.or(bounds),
        unfinished,
        bounds_met: space.bounds_met(),
        lines,
    })
}

/// Adds what is counted to `lines`, one after the other.
fn measured(
    until: Until,
    space: &Packed,
    graph: &Graph<'_>,
    lines: &mut Vec<Line>,
    watch: &mut Watch<'_>,
) -> Result<(), Reason> {
    watch.begin(Phase::Bounds)?;
    let mut go_on = Ok(());
    let mut words = (0..graph.len()).map_while(|number| {
        go_on = watch.step();
        go_on.is_ok().then(|| graph.words(number))
    });
    let tally = Tally::of(space, until, &mut words);
    go_on?;
    let order = ComponentOrder::new(graph, watch)?;
    for (at, Column { metric, meaning, kind }) in tally.columns() {
        let bound = order.bound(tally.gain(at), watch)?;
        let bound = match bound.map(|steps| space.named(steps)) {
            Bound::Most(most, steps) => Bound::Most(most + tally.begun(at), steps),
            unbounded @ Bound::Unbounded(_) => unbounded,
        };
        lines.push(Line { until, metric, meaning, kind, bound });
    }
    Ok(())
}

/// The JSON that `bounds --json` prints.
impl Serialize for Bounds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        world_entries(&mut map, &self.world)?;
        map.serialize_entry("until", &self.until)?;
        map.serialize_entry("states", &self.counts)?;
        map.serialize_entry("incomplete", &self.incomplete)?;
        map.serialize_entry("unfinished", &self.unfinished)?;
        map.serialize_entry("bounds_met", &self.bounds_met)?;
        map.serialize_entry("caveats", &self.caveats())?;
        map.serialize_entry("seconds", &self.elapsed.as_secs_f64())?;
        map.serialize_entry("peak_rss_bytes", &self.peak_rss_bytes)?;
        let lines: Vec<_> = self.lines.iter().map(|line| view(self, line)).collect();
        map.serialize_entry("bounds", &lines)?;
        map.end()
    }
}

#[derive(Serialize)]
struct View {
    name: String,
    metric: &'static str,
    kind: Option<String>,
    bounded: bool,
    most: Option<u64>,
    execution: Execution,
}

#[derive(Serialize)]
struct Execution {
    steps: Vec<Step>,
    cycle: Option<Vec<Step>>,
}

fn view(bounds: &Bounds, line: &Line) -> View {
    let mut steps = line.trace(&bounds.world).steps;
    let (most, cycle) = match &line.bound {
        Bound::Most(most, _) => (Some(*most), None),
        Bound::Unbounded(lasso) => (None, Some(steps.split_off(lasso.stem.len()))),
    };
    View {
        name: line.name(),
        metric: line.metric,
        kind: line.kind.clone(),
        bounded: most.is_some(),
        most,
        execution: Execution { steps, cycle },
    }
}

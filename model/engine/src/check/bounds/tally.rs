//! The gains of every transition of a world, of everything that is counted.
//!
//! Most transitions gain the same as some other one, so each keeps only the number of what it
//! gains in a list of all that there is. To count something else, add an entry to [`metrics`].

use super::Until;
use crate::machine::{Effect, Message, Timer};
use crate::property::{Condition, Liveness, Temporal, agreed};
use crate::world::packed::Packed;
use crate::world::{Action, Faults, Outcome, Start, State, Timing, World};
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// One thing that is counted: a metric, and of those that are told apart the kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) metric: &'static str,
    pub(super) meaning: &'static str,
    pub(super) kind: Option<String>,
}

/// How much of each column, in the order of the columns; those behind the last are 0.
type Row = Vec<u32>;

/// The gains of every transition of a graph.
pub struct Tally {
    columns: Vec<Column>,
    /// What the processes gain when they all start at the same moment.
    begun: Row,
    distinct: IndexSet<Row, FxBuildHasher>,
    /// Of each transition, the number of its row among the distinct ones.
    gained: Vec<u32>,
    /// Where the transitions of each state begin.
    offsets: Vec<usize>,
}

impl Tally {
    /// What every transition from each of `states` gains, in the order of [`World::enabled`].
    pub(crate) fn of(
        space: &Packed,
        until: Until,
        states: &mut dyn Iterator<Item = Vec<u64>>,
    ) -> Tally {
        let world = space.world();
        let mut counter = Counter::new(world);
        counter.begin();
        let until = End::of(until, world);
        let mut actions = Vec::new();
        for words in states {
            let before = space.decode(&words);
            let counts = counts(world, &until, &before);
            actions.clear();
            world.enabled(&before, &mut actions);
            for action in &actions {
                let fault = !world.is_fair(action);
                let row = (counts || fault).then(|| {
                    let outcome = world.apply(&before, action);
                    let action = Some(action);
                    counter.row(&CountedStep { world, before: &before, action, outcome: &outcome })
                });
                counter.tally.push(row.unwrap_or_default());
            }
            counter.tally.close();
        }
        counter.tally
    }

    fn new(columns: Vec<Column>) -> Tally {
        Tally {
            columns,
            begun: Row::new(),
            distinct: std::iter::once(Row::new()).collect(),
            gained: Vec::new(),
            offsets: vec![0],
        }
    }

    /// The next transition of the state at hand gains this.
    fn push(&mut self, row: Row) {
        let (number, _) = self.distinct.insert_full(row);
        self.gained.push(u32::try_from(number).expect("rows have 32-bit numbers"));
    }

    /// The state at hand has no more transitions.
    fn close(&mut self) {
        self.offsets.push(self.gained.len());
    }

    /// The columns with their positions, the kinds of a metric behind it.
    pub(super) fn columns(&self) -> Vec<(usize, Column)> {
        let mut columns: Vec<_> = self.columns.iter().cloned().enumerate().collect();
        let rank = |name| self.columns.iter().position(|column| column.metric == name);
        columns.sort_by_key(|(_, column)| (rank(column.metric), column.kind.clone()));
        columns
    }

    /// What the start of all processes gains in a column.
    pub(super) fn begun(&self, column: usize) -> u64 {
        self.begun.get(column).copied().unwrap_or(0).into()
    }

    /// What the transition at this position of a state gains in a column.
    pub(super) fn gain(&self, column: usize) -> impl Fn(u32, usize) -> u32 {
        let of = |row: &Row| row.get(column).copied().unwrap_or(0);
        let gains: Vec<u32> = self.distinct.iter().map(of).collect();
        move |from, at| gains[self.gained[self.offsets[from as usize] + at] as usize]
    }
}

/// One step of an execution; at the beginning, of a process that starts.
struct CountedStep<'a> {
    world: &'a World,
    before: &'a State,
    /// None where processes start at the beginning.
    action: Option<&'a Action>,
    outcome: &'a Outcome,
}

/// What kind of thing was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum CountedKind {
    /// One of those that are not told apart.
    One,
    /// A message of this kind.
    Message(Message),
    /// This timer.
    Timer(Timer),
}

/// Tells each thing that counts in a step.
type Count = fn(&CountedStep<'_>, &mut dyn FnMut(CountedKind));

/// Something that can be counted.
struct Metric {
    /// Its name on the command line.
    name: &'static str,
    /// What counts as one.
    meaning: &'static str,
    count: Count,
}

/// Counts what steps of a world gain.
struct Counter<'w> {
    world: &'w World,
    metrics: Vec<Metric>,
    /// The column of each metric's kind, by its value.
    known: FxHashMap<(usize, CountedKind), usize>,
    tally: Tally,
}

impl<'w> Counter<'w> {
    fn new(world: &'w World) -> Self {
        let metrics = metrics(world.scenario().timing);
        let whole = |m: &Metric| Column { metric: m.name, meaning: m.meaning, kind: None };
        let tally = Tally::new(metrics.iter().map(whole).collect());
        Counter { world, metrics, known: FxHashMap::default(), tally }
    }

    /// What the processes do when they all start at the same moment; a converged start costs
    /// nothing.
    fn begin(&mut self) {
        if self.world.scenario().start == Start::Converged {
            return;
        }
        for (before, outcome) in self.world.boots() {
            let row = self.row(&CountedStep {
                world: self.world,
                before: &before,
                action: None,
                outcome: &outcome,
            });
            let begun = &mut self.tally.begun;
            begun.resize(begun.len().max(row.len()), 0);
            begun.iter_mut().zip(row).for_each(|(sum, more)| *sum += more);
        }
    }

    /// What one step gains.
    fn row(&mut self, happening: &CountedStep<'_>) -> Row {
        let mut row = Row::new();
        for metric in 0..self.metrics.len() {
            let mut found: Vec<CountedKind> = Vec::new();
            (self.metrics[metric].count)(happening, &mut |what| found.push(what));
            for what in found {
                add(&mut row, metric);
                if let Some(column) = self.column(metric, what) {
                    add(&mut row, column);
                }
            }
        }
        row
    }

    /// The column of a kind; none where kinds are not told apart.
    fn column(&mut self, metric: usize, what: CountedKind) -> Option<usize> {
        if let Some(&column) = self.known.get(&(metric, what)) {
            return Some(column);
        }
        let kind = match what {
            CountedKind::One => return None,
            CountedKind::Message(message) => {
                kind(serde_json::to_value(message).unwrap_or_default())
            }
            CountedKind::Timer(timer) => timer.plain().to_owned(),
        };
        let Metric { name, meaning, .. } = self.metrics[metric];
        let column = Column { metric: name, meaning, kind: Some(kind) };
        let columns = &mut self.tally.columns;
        let at = columns.iter().position(|known| *known == column).unwrap_or_else(|| {
            columns.push(column);
            columns.len() - 1
        });
        self.known.insert((metric, what), at);
        Some(at)
    }
}

/// Returns what an execution gains of what has this name, at the beginning and in each of its
/// steps; nothing, if nothing of that name is counted in it.
pub(in crate::check) fn gains(
    world: &World,
    until: Until,
    actions: &[Action],
    name: &str,
) -> Option<Vec<u64>> {
    let mut counter = Counter::new(world);
    counter.begin();
    let until = End::of(until, world);
    let mut before = world.initial();
    for action in actions {
        let outcome = world.apply(&before, action);
        let mut row = Row::new();
        if counts(world, &until, &before) || !world.is_fair(action) {
            let action = Some(action);
            row = counter.row(&CountedStep { world, before: &before, action, outcome: &outcome });
        }
        counter.tally.push(row);
        before = outcome.state;
    }
    // All steps stand as if they were those of one state.
    let tally = counter.tally;
    let (metric, kind) = name.split_once('/').map_or((name, None), |(m, k)| (m, Some(k)));
    let is_it = |column: &Column| column.metric == metric && column.kind.as_deref() == kind;
    let column = tally.columns.iter().position(is_it)?;
    let gain = tally.gain(column);
    let steps = (0..actions.len()).map(|step| u64::from(gain(0, step)));
    Some(std::iter::once(tally.begun(column)).chain(steps).collect())
}

/// Whether what the world owes in this state is counted when it happens.
fn counts(world: &World, until: &End, state: &State) -> bool {
    let begun = world.scenario().begins_in_trouble() || state.spent() != Faults::NONE;
    begun
        && match until {
            End::Rest => !world.is_quiescent(state),
            End::Agreed => !agreed(world, state),
            End::Holds(condition) => !condition.holds(world, state),
        }
}

/// What ends the counting, for this protocol.
enum End {
    Rest,
    Agreed,
    Holds(Condition),
}

impl End {
    fn of(until: Until, world: &World) -> Self {
        let name = match until {
            Until::Rest => return End::Rest,
            Until::Agreed => return End::Agreed,
            Until::InTheEnd(name) => name,
        };
        let protocol = world.machine().protocol();
        let own = protocol.properties().0.into_iter().find(|property| property.name == name);
        match own.map(|property| property.temporal) {
            Some(Temporal::Liveness(Liveness::EventuallyAlways(goal))) => End::Holds(goal),
            _ => panic!("{name} is a ◇□-property of {}", protocol.name()),
        }
    }
}

fn add(row: &mut Row, column: usize) {
    if row.len() <= column {
        row.resize(column + 1, 0);
    }
    row[column] += 1;
}

/// The name of a message without its fields.
fn kind(message: serde_json::Value) -> String {
    match message {
        serde_json::Value::String(name) => name,
        serde_json::Value::Object(fields) => fields.keys().next().cloned().unwrap_or_default(),
        other => other.to_string(),
    }
}

/// Everything that is counted, in the order in which it is reported.
fn metrics(timing: Timing) -> Vec<Metric> {
    let mut metrics: Vec<Metric> = vec![
        Metric {
            name: "messages",
            meaning: "messages sent, also to a process that is down, into a cut link, or lost",
            count: messages,
        },
        Metric { name: "time-outs", meaning: "timers that expire", count: time_outs },
        Metric {
            name: "elections",
            meaning: "elections that a process begins",
            count: |h, count| one(elections(h), count),
        },
        Metric {
            name: "leaderships",
            meaning: "times that a process begins to lead",
            count: |h, count| one(leaderships(h), count),
        },
    ];
    if timing.timed().is_some() {
        metrics.push(Metric {
            name: "ticks",
            meaning: "ticks that pass",
            count: |h, count| one(usize::from(matches!(h.action, Some(Action::Tick))), count),
        });
    }
    metrics
}

fn one(times: usize, count: &mut dyn FnMut(CountedKind)) {
    (0..times).for_each(|_| count(CountedKind::One));
}

fn messages(happening: &CountedStep<'_>, count: &mut dyn FnMut(CountedKind)) {
    for effect in &happening.outcome.effects {
        if let Effect::Send { message, .. } = *effect {
            count(CountedKind::Message(message));
        }
    }
}

fn time_outs(happening: &CountedStep<'_>, count: &mut dyn FnMut(CountedKind)) {
    if let Some(Action::Expire { timer, .. }) = happening.action
        && !timer.is_outcome()
    {
        count(CountedKind::Timer(*timer));
    }
}

fn elections(happening: &CountedStep<'_>) -> usize {
    let Some(actor) = happening.outcome.actor else { return 0 };
    let before = happening.before.process(actor);
    let after = happening.outcome.state.process(actor);
    let machine = happening.world.machine();
    usize::from(machine.begins_election(before, after, &happening.outcome.effects))
}

fn leaderships(happening: &CountedStep<'_>) -> usize {
    let (before, after) = (happening.before, &happening.outcome.state);
    after.ids().filter(|&id| after.leads(id) && !before.leads(id)).count()
}

//! Worlds as they are typed, what is asked of them and what is found: `check` takes the same words.

use bellwether_docs_runner::words;
use bellwether_model::check::{Counterexample, Decision, Options, Report, Verdict, check};
use bellwether_model::cli::{self, ProtocolArgs, UsageError, WorldArgs, with_durations};
use bellwether_model::property::{self, Property};
use bellwether_model::protocol::{Protocol, Rule, Values, specifications};
use bellwether_model::trace::Trace;
use bellwether_model::world::{Action, Outcome, State, World};
use clap::{Args, Command, FromArgMatches};
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

/// The flags that say what is asked.
#[derive(Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    pub(crate) protocol: ProtocolArgs,

    #[command(flatten)]
    pub(crate) world: WorldArgs,

    #[arg(short, long = "property")]
    properties: Vec<String>,
}

impl Asked {
    /// Reads such a line as `bully --recoveries 1 -p decided`.
    #[track_caller]
    pub(crate) fn read(line: &str) -> Asked {
        let command = Command::new("model").no_binary_name(true);
        let command = command.subcommand(Asked::augment_args(Command::new("check")));
        let typed = words(line).into_iter().filter(|word| !word.is_empty());
        let typed = std::iter::once("check".to_owned()).chain(typed);
        let matches = with_durations(command, specifications()).try_get_matches_from(typed);
        let matches = matches.unwrap_or_else(|why| panic!("{line}: {why}"));
        let (_, flags) = matches.subcommand().expect("a command");
        Asked::from_arg_matches(flags).expect("its flags")
    }

    fn world(&self) -> Result<Arc<World>, UsageError> {
        cli::world(specifications(), &self.protocol, &self.world)
    }
}

/// The world of such a line, and the properties that it names; if none, the usual ones.
#[track_caller]
pub(crate) fn question(line: &str) -> (Arc<World>, Vec<Property>) {
    let asked = Asked::read(line);
    let world = asked.world().unwrap_or_else(|why| panic!("{line}: {why}"));
    let properties = property::select(&world, &asked.properties);
    let properties = properties.unwrap_or_else(|why| panic!("{line}: {why}"));
    (world, properties)
}

/// Why there is no world of such a line.
#[track_caller]
pub(crate) fn refused(line: &str) -> String {
    Asked::read(line).world().err().unwrap_or_else(|| panic!("{line}: it is possible")).to_string()
}

/// The world of such a line.
#[track_caller]
pub(crate) fn world(line: &str) -> Arc<World> {
    question(line).0
}

/// What is found of such a line.
#[track_caller]
pub(crate) fn report(line: &str) -> Report {
    report_by(line, &Options::default())
}

/// What is found of such a line by other means than the usual ones.
#[track_caller]
pub(crate) fn report_by(line: &str, options: &Options) -> Report {
    let (world, properties) = question(line);
    let report = check(&world, &properties, options, &mut |_| {});
    report.unwrap_or_else(|why| panic!("{line}: {why}"))
}

/// What is found of these properties; of the usual ones, if none is named.
#[track_caller]
pub(crate) fn ask(world: &World, names: &[&str]) -> Report {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let properties = property::select(world, &names).expect("they can be asked");
    check(world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

/// The names of what is violated.
pub(crate) fn violated(report: &Report) -> Vec<&'static str> {
    let violated = report.decisions.iter().filter(|one| one.verdict == Verdict::Violated);
    violated.map(|decision| decision.property.name).collect()
}

/// What was decided of the property of this name.
#[track_caller]
pub(crate) fn decision<'r>(report: &'r Report, name: &str) -> &'r Decision {
    let found = report.decisions.iter().find(|decision| decision.property.name == name);
    found.unwrap_or_else(|| panic!("{name} was not checked"))
}

/// The execution that violates the property of this name.
#[track_caller]
pub(crate) fn shown<'r>(report: &'r Report, name: &str) -> &'r Counterexample {
    decision(report, name).counterexample.as_ref().expect("it is violated")
}

/// Executions in words.
pub(crate) fn told(actions: &[Action]) -> Vec<String> {
    actions.iter().map(ToString::to_string).collect()
}

/// Takes every step from the states that are nearest to the beginning, so many of them at most, and
/// returns those.
pub(crate) fn walk(
    world: &World,
    most: usize,
    mut step: impl FnMut(&State, &Action, &Outcome),
) -> HashSet<State> {
    let mut known = HashSet::from([world.initial()]);
    let mut todo = VecDeque::from([world.initial()]);
    while let Some(state) = todo.pop_front() {
        for action in world.actions(&state) {
            let outcome = world.apply(&state, &action);
            step(&state, &action, &outcome);
            let next = outcome.state;
            if known.len() < most && world.within_bounds(&next) && known.insert(next.clone()) {
                todo.push_back(next);
            }
        }
    }
    known
}

/// What may happen in a state, and which state it leads to; none, if that is beyond the bounds.
pub(crate) type Steps = Vec<(Action, Option<usize>)>;

/// The states of a world within its bounds, and what may happen in each.
pub(crate) fn graph(world: &World) -> (Vec<State>, Vec<Steps>) {
    let (mut states, mut next) = (vec![world.initial()], Vec::new());
    let mut known = HashMap::from([(world.initial(), 0)]);
    while let Some(state) = states.get(next.len()).cloned() {
        let mut steps = Steps::new();
        for action in world.actions(&state) {
            let after = world.apply(&state, &action).state;
            let to = world.within_bounds(&after).then(|| {
                *known.entry(after).or_insert_with_key(|after| {
                    states.push(after.clone());
                    states.len() - 1
                })
            });
            steps.push((action, to));
        }
        next.push(steps);
    }
    (states, next)
}

/// Takes these steps from the beginning, each of which must be possible.
#[track_caller]
pub(crate) fn after(world: &World, actions: &[Action]) -> State {
    actions.iter().fold(world.initial(), |state, action| {
        assert!(world.actions(&state).contains(action), "{action}: {state:?}");
        world.apply(&state, action).state
    })
}

/// A trace that was written and read again: it is the same, and each of its steps is possible.
#[track_caller]
pub(crate) fn read_again(world: &World, trace: &Trace) -> Vec<Action> {
    let mut text = Vec::new();
    trace.write(&mut text).expect("memory takes it");
    let read = Trace::read(text.as_slice()).expect("it was written whole");
    assert_eq!(read, *trace);
    read.actions(world).expect("it can happen")
}

/// The rules of a variant.
#[track_caller]
pub(crate) fn variant<P: Protocol>(name: &str) -> P {
    bellwether_model::protocol::variant(name, &[]).expect("there is such a variant")
}

/// The values that a rule may have; of those that have no names, these.
pub(crate) fn values(rule: &Rule, others: &[&str]) -> Vec<String> {
    match &rule.values {
        Values::Truth => vec!["true".to_owned(), "false".to_owned()],
        Values::Names(names) => names.iter().map(|(name, _)| name.clone()).collect(),
        Values::Other(_) => others.iter().map(ToString::to_string).collect(),
    }
}

/// Everything that can happen in a state, in words.
pub(crate) fn can(world: &World, state: &State) -> Vec<String> {
    told(&world.actions(state))
}

/// Takes these steps, in words, each of which must be possible.
#[track_caller]
pub(crate) fn go(world: &World, state: &State, steps: &[&str]) -> State {
    steps.iter().fold(state.clone(), |state, step| {
        let actions = world.actions(&state);
        let action = actions.iter().find(|action| action.to_string() == *step);
        world.apply(&state, action.unwrap_or_else(|| panic!("no {step}: {actions:?}"))).state
    })
}

/// Random numbers by a linear congruential generator (Knuth's MMIX).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `most`.
    pub(crate) fn below(&mut self, most: usize) -> usize {
        let (factor, more) = (6_364_136_223_846_793_005, 1_442_695_040_888_963_407);
        self.0 = self.0.wrapping_mul(factor).wrapping_add(more);
        (self.0 >> 33) as usize % most
    }

    /// A walk of at most so many steps in which everything is as likely.
    pub(crate) fn walk(&mut self, world: &World, steps: usize) -> Vec<Action> {
        let (mut state, mut path) = (world.initial(), Vec::new());
        for _ in 0..steps {
            let enabled = world.actions(&state);
            if enabled.is_empty() {
                break;
            }
            let action = enabled[self.below(enabled.len())];
            state = world.apply(&state, &action).state;
            path.push(action);
        }
        path
    }
}

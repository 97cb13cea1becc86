//! The worlds that the page asks for, each with its verdicts: the one of the command line, and
//! those that a person makes of it there.

use crate::cli::{
    NetworkArg, ProtocolArgs, StartArg, TimingArg, Tool, WorldArgs, searchable_world, shown,
};
use crate::explore::PropertyResult;
use bellwether_engine::check::{self, Decision, Event, Limits, Options, Phase, Progress, Report};
use bellwether_engine::property::{self, Kind, Property};
use bellwether_engine::protocol::{MAX_SEARCHED, Values};
use bellwether_engine::trace::Shows;
use bellwether_engine::world::{Action, Faults, World};
use clap::{Parser, ValueEnum};
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// So many worlds besides the first are kept; then the oldest is forgotten.
const KEPT: usize = 8;

/// The largest number of states that are searched of a world that was made in the page.
const MOST: u64 = 1_000_000;

/// The highest number of one kind of faults that the page offers.
const BUDGET: u8 = 3;

pub(super) struct Served {
    pub(super) world: Arc<World>,
    pub(super) properties: Vec<Property>,
    pub(super) verdicts: Arc<Verdicts>,
    /// The name and the flags that describe it, as after `explore`.
    flags: String,
}

pub(super) struct Worlds {
    tool: Tool,
    options: Options,
    on_demand: bool,
    first: Arc<Served>,
    others: Mutex<VecDeque<(String, Arc<Served>)>>,
}

/// What follows `explore`, as the page gives it.
#[derive(Parser)]
#[command(no_binary_name = true, disable_help_flag = true)]
struct Asked {
    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    world: WorldArgs,

    #[arg(short, long = "property")]
    properties: Vec<String>,
}

impl Served {
    pub(super) fn new(
        protocol: &ProtocolArgs,
        world: Arc<World>,
        properties: Vec<Property>,
        options: Options,
    ) -> Served {
        let flags = format!("{} {}", protocol.typed(), WorldArgs::typed(&world.scenario()));
        let verdicts = Verdicts::new(Arc::clone(&world), properties.clone(), options);
        let flags = flags.trim_end().to_owned();
        Served { world, properties, verdicts: Arc::new(verdicts), flags }
    }

    /// The actions at these places, each among those that are enabled after those before it.
    ///
    /// # Errors
    /// The first place at which there is none.
    pub(super) fn actions(&self, places: &str, most: usize) -> Result<Vec<Action>, String> {
        let mut places = places.split('/').skip(1);
        if !matches!(places.next(), Some("0")) {
            return Err("there is one initial state, 0".to_owned());
        }
        let mut state = self.world.initial();
        let mut actions = Vec::new();
        for place in places {
            let mut enabled = Vec::new();
            self.world.enabled(&state, &mut enabled);
            let at = place.parse::<usize>().ok();
            let action = at.and_then(|at| enabled.into_iter().nth(at)).ok_or_else(|| {
                format!("step {}: nothing is at place '{place}'", actions.len() + 1)
            })?;
            if actions.len() == most {
                return Err(format!("the path has more than {most} steps"));
            }
            state = self.world.apply(&state, &action).state;
            actions.push(action);
        }
        Ok(actions)
    }

    /// The same actions of another world, as far as they can happen here.
    pub(super) fn as_far_as_possible(&self, others: &[Action]) -> Vec<Action> {
        let mut state = self.world.initial();
        let mut actions = Vec::new();
        for other in others {
            let (words, mut enabled) = (other.to_string(), Vec::new());
            self.world.enabled(&state, &mut enabled);
            let Some(action) = enabled.into_iter().find(|action| action.to_string() == words)
            else {
                break;
            };
            state = self.world.apply(&state, &action).state;
            actions.push(action);
        }
        actions
    }
}

impl Worlds {
    pub(super) fn new(tool: Tool, first: Arc<Served>, options: Options, on_demand: bool) -> Worlds {
        Worlds { tool, options, on_demand, first, others: Mutex::default() }
    }

    /// The world that these flags describe; without any, the first.
    ///
    /// # Errors
    /// What is wrong with the flags.
    pub(super) fn find(&self, flags: Option<&str>) -> Result<Arc<Served>, String> {
        let Some(flags) = flags.filter(|flags| *flags != self.first.flags) else {
            return Ok(Arc::clone(&self.first));
        };
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, known)) = others.iter().find(|(known, _)| known == flags) {
            return Ok(Arc::clone(known));
        }
        let served = Arc::new(self.make(flags)?);
        if !self.on_demand {
            served.verdicts.start(|_| {});
        }
        if others.len() == KEPT {
            others.pop_front();
        }
        others.push_back((flags.to_owned(), Arc::clone(&served)));
        Ok(served)
    }

    fn make(&self, flags: &str) -> Result<Served, String> {
        let words = flags.split_whitespace().map(|word| word.trim_matches('\''));
        let asked = Asked::try_parse_from(words).map_err(|error| first_lines(&error))?;
        let Asked { protocol, world, properties } = asked;
        let world = searchable_world(self.tool.registry, &protocol, &world);
        let world = world.map_err(|error| error.to_string())?;
        let properties = shown::asked(&world, &properties).map_err(|error| error.to_string())?;
        let world = Arc::new(property::world_of(&world, &properties).into_owned());
        let states = Some(self.options.limits.states.unwrap_or(MOST).min(MOST));
        let limits = Limits { states, ..self.options.limits };
        let options = Options { limits, ..self.options.clone() };
        Ok(Served::new(&protocol, world, properties, options))
    }

    /// What a person can choose from, and what is chosen in this world.
    pub(super) fn choices(&self, served: &Served) -> Choices {
        let (machine, scenario) = (served.world.machine(), served.world.scenario());
        let protocol = machine.protocol();
        let variants = protocol.variants().iter().map(|variant| variant.name.to_owned()).collect();
        let nodes = (2..=MAX_SEARCHED).map(|nodes| nodes.to_string()).collect();
        let values = machine.json();
        let rules = protocol.rule_rows().into_iter().map(|rule| Choice {
            value: word(&values[rule.name.as_str()]),
            values: values_of(&rule.values),
            name: rule.name,
        });
        let faults = faults(&scenario.faults).into_iter().map(|(name, value)| Choice {
            name: name.to_owned(),
            values: (0..=BUDGET).map(|most| most.to_string()).collect(),
            value,
        });
        let mut flags = vec![
            Choice::new("variant", variants, machine.variant_name()),
            Choice::new("nodes", nodes, scenario.nodes.to_string()),
            Choice::new("network", names_of::<NetworkArg>(), scenario.network.to_string()),
            Choice::new("timing", names_of::<TimingArg>(), scenario.timing.kind().to_owned()),
            Choice::new("start", names_of::<StartArg>(), scenario.start.to_string()),
        ];
        flags.extend(faults);
        Choices {
            typed: served.flags.clone(),
            protocol: protocol.name(),
            protocols: self.tool.registry.names(),
            flags,
            rules: rules.collect(),
        }
    }
}

/// What a person can choose from.
#[derive(Serialize)]
pub(super) struct Choices {
    /// What describes the world, as after `explore`.
    typed: String,
    protocol: &'static str,
    protocols: Vec<&'static str>,
    flags: Vec<Choice>,
    rules: Vec<Choice>,
}

/// A flag or a rule: the values to choose from, and the one that is chosen.
#[derive(Serialize)]
struct Choice {
    name: String,
    values: Vec<String>,
    value: String,
}

impl Choice {
    fn new(name: &str, values: Vec<String>, value: String) -> Choice {
        Choice { name: name.to_owned(), values, value }
    }
}

fn names_of<T: ValueEnum>() -> Vec<String> {
    let names = T::value_variants().iter().filter_map(T::to_possible_value);
    names.map(|name| name.get_name().to_owned()).collect()
}

/// The values of a rule, if they can be listed.
fn values_of(values: &Values) -> Vec<String> {
    match values {
        Values::Truth => vec!["true".to_owned(), "false".to_owned()],
        Values::Names(names) => names.iter().map(|(name, _)| name.clone()).collect(),
        Values::Other(_) => Vec::new(),
    }
}

/// A value as it is typed.
fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// How often each fault may strike that a world without a clock has.
fn faults(faults: &Faults) -> [(&'static str, String); 7] {
    [
        ("crashes", faults.crashes.to_string()),
        ("recoveries", faults.recoveries.to_string()),
        ("losses", faults.losses.to_string()),
        ("duplicates", faults.duplicates.to_string()),
        ("cuts", faults.cuts.to_string()),
        ("one-way-cuts", faults.one_way_cuts.to_string()),
        ("suspicions", faults.suspicions.to_string()),
    ]
}

/// What is wrong with the flags, without how they are used: the page says that.
fn first_lines(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let lines = text.lines().take_while(|line| !line.starts_with("Usage:"));
    lines.collect::<Vec<_>>().join(" ").trim().to_owned()
}

/// What is known of the properties of a world so far: the verdicts of the exact engine, which
/// searches beside the page.
pub(super) struct Verdicts {
    world: Arc<World>,
    properties: Vec<Property>,
    options: Options,
    search: Mutex<Search>,
}

/// How far the search is.
enum Search {
    NotStarted,
    Searching { phase: Phase, states: u64, seconds: f64 },
    Failed(String),
    Done(Box<Report>),
}

impl Verdicts {
    pub(super) fn new(world: Arc<World>, properties: Vec<Property>, options: Options) -> Verdicts {
        Verdicts { world, properties, options, search: Mutex::new(Search::NotStarted) }
    }

    /// Starts the search, if it has not started; when it is done, `then` is called.
    pub(super) fn start(self: &Arc<Self>, then: impl FnOnce(&Verdicts) + Send + 'static) {
        let mut search = self.search();
        if !matches!(*search, Search::NotStarted) {
            return;
        }
        *search = Search::Searching { phase: Phase::States, states: 0, seconds: 0.0 };
        drop(search);
        let verdicts = Arc::clone(self);
        thread::spawn(move || {
            verdicts.decide();
            then(&verdicts);
        });
    }

    /// Searches, and returns when all is decided that can be.
    pub(super) fn decide(&self) {
        let on_event = &mut |event| {
            let Event::Progress(progress) = event else { return };
            let Progress { phase, distinct, elapsed, .. } = progress;
            let seconds = elapsed.as_secs_f64();
            *self.search() = Search::Searching { phase, states: distinct, seconds };
        };
        let Verdicts { world, properties, options, .. } = self;
        let found = check::check(world, properties, options, on_event);
        *self.search() = match found {
            Ok(report) => Search::Done(Box::new(report)),
            Err(error) => Search::Failed(error.to_string()),
        };
    }

    fn search(&self) -> MutexGuard<'_, Search> {
        self.search.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where an Explorer that listens at `address` shows the counterexamples, a line each.
    pub(super) fn links(&self, address: &str) -> String {
        let Search::Done(report) = &*self.search() else { return String::new() };
        let found = report.decisions.iter().filter_map(|decision| {
            let found = decision.counterexample.as_ref()?;
            let link = shown::link(&self.world.positions(&found.actions()), address);
            Some(format!("{} is violated: {link}\n", decision.property.name))
        });
        found.collect()
    }

    /// What `actions` show, if they are the counterexample to the property of this name.
    pub(super) fn shows(&self, name: &str, actions: &[Action]) -> Option<Shows> {
        let Search::Done(report) = &*self.search() else { return None };
        let decision = report.decisions.iter().find(|one| one.property.name == name)?;
        let found = decision.counterexample.as_ref()?;
        (found.actions() == actions).then(|| found.shows(&decision.property))
    }

    /// All of it, as the page reads it.
    pub(super) fn view(&self) -> VerdictsView {
        let search = self.search();
        let mut cut_short = None;
        let (status, properties) = match &*search {
            Search::NotStarted => ("not searched yet".to_owned(), self.open("not searched")),
            Search::Searching { phase, states, seconds } => {
                let states = HumanCount(*states);
                let status = format!("searching: {phase}, {states} states in {seconds:.0} s");
                (status, self.open("searching"))
            }
            Search::Failed(error) => (error.clone(), self.open("unknown")),
            Search::Done(report) => {
                let (states, seconds) = (report.counts.distinct, report.elapsed.as_secs_f64());
                let states = HumanCount(states);
                cut_short = report.cut_short.map(|reason| reason.to_string());
                let rows = report.decisions.iter().map(|d| self.row(report, d)).collect();
                (format!("searched: {states} states in {seconds:.1} s"), rows)
            }
        };
        let started = !matches!(*search, Search::NotStarted);
        let done = matches!(*search, Search::Done(_) | Search::Failed(_));
        VerdictsView { started, done, status, cut_short, properties }
    }

    /// The properties while nothing is known of them.
    fn open(&self, verdict: &str) -> Vec<Row> {
        let open = || PropertyResult { verdict: "open", words: verdict.to_owned() };
        let row = |property: &Property| Row::new(property, open());
        self.properties.iter().map(row).collect()
    }

    fn row(&self, report: &Report, decision: &Decision) -> Row {
        let mut row = Row::new(&decision.property, PropertyResult::of(report, decision));
        if let Some(found) = &decision.counterexample {
            row.places = Some(self.world.positions(&found.actions()));
            row.cycle_after = found.cycle.as_ref().map(|_| found.steps.len());
        }
        row
    }
}

/// What the page is told.
#[derive(Serialize)]
pub(super) struct VerdictsView {
    started: bool,
    done: bool,
    status: String,
    cut_short: Option<String>,
    properties: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    name: &'static str,
    formula: &'static str,
    meaning: &'static str,
    kind: Kind,
    #[serde(flatten)]
    found: PropertyResult,
    /// The shortest counterexample.
    places: Option<Vec<usize>>,
    /// For liveness: after how many of its steps the cycle begins.
    cycle_after: Option<usize>,
}

impl Row {
    fn new(property: &Property, found: PropertyResult) -> Row {
        let (name, formula, meaning) = (property.name, property.formula, property.meaning);
        let (places, cycle_after) = (None, None);
        Row { name, formula, meaning, kind: property.kind(), found, places, cycle_after }
    }
}

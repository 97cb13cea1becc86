//! The verdicts of the exact engine, which searches beside the page.

use crate::cli::shown::link;
use crate::explore::PropertyResult;
use bellwether_engine::check::{self, Decision, Event, Options, Phase, Progress, Report};
use bellwether_engine::property::Kind;
use bellwether_engine::property::Property;
use bellwether_engine::trace::Shows;
use bellwether_engine::world::{Action, World};
use indicatif::HumanCount;
use serde::Serialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What is known of the properties so far.
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
            let link = link(&self.world.positions(&found.actions()), address);
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

/// One property.
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

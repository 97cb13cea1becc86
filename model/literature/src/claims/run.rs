//! Runs what the ledger asks.

use super::assumption::Standing;
use super::demand::{Finding, Point};
use super::entry::{Ask, Check, Claim, Source, Subject};
use super::program::Account;
use super::ruling::{Judged, Outcome};
use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{self, Counterexample, Limits, Options, Reason, Report, Verdict};
use bellwether_model::in_parallel::as_done;
use bellwether_model::machine::{AnyProtocol, DynProtocol};
use bellwether_model::property;
use bellwether_model::property::Kind;
use bellwether_model::protocol::specifications;
use bellwether_model::round::Starters;
use bellwether_model::trace::{Shows, Trace};
use bellwether_model::tune::{self, Question};
use bellwether_model::world::World;
use bellwether_model::world::{Delay, Durations, Scenario, Timed, Timing};
use std::sync::Arc;

/// The longest duration that is tried.
const LONGEST: u8 = 40;

/// What one run of a check found.
#[derive(Clone, Debug)]
pub struct Ran {
    /// For which numbers it was made.
    pub point: Point,
    /// The world, if it is one.
    pub scenario: Option<Scenario>,
    /// What came out.
    pub finding: Finding,
    /// An execution that shows it, if one does.
    pub trace: Option<Trace>,
    /// What a program says that it did.
    pub story: Vec<String>,
}

/// How the checks are run.
#[derive(Clone, Copy, Debug)]
pub struct Runner {
    /// How many at the same time; the results do not depend on it.
    pub threads: usize,
    /// When a single check gives up.
    pub limits: Limits,
}

impl Runner {
    /// How many checks these claims have.
    #[must_use]
    pub fn checks(claims: &[(&Source, &Claim)]) -> usize {
        let of = |claim: &Claim| claim.checks.len() + claim.besides.len() + claim.cures.len();
        claims.iter().map(|(_, claim)| of(claim)).sum()
    }

    /// Runs the checks of these claims. `done` is called with the number of the claim whenever one
    /// is done, and `decided` with each claim as soon as it and all before it are decided.
    ///
    /// # Errors
    /// If a check cannot be run as it stands in the ledger, or the system gives no threads.
    pub fn judge<'a>(
        &self,
        claims: &[(&'a Source, &'a Claim)],
        done: &dyn Fn(u16),
        decided: &mut dyn FnMut(&Judged<'a>),
    ) -> Result<Vec<Judged<'a>>, String> {
        type Job<'a> = (&'a Source, &'a Claim, &'a Check);
        let jobs: Vec<Job<'a>> = claims
            .iter()
            .flat_map(|&(source, claim)| {
                let all = claim.checks.iter().chain(&claim.besides).chain(&claim.cures);
                all.map(move |check| (source, claim, check))
            })
            .collect();
        let one = |&(source, claim, check): &Job<'a>| {
            Standing::of(source, claim, check)
                .and_then(|standing| Ok((standing, self.ask(&check.ask)?)))
                .and_then(|(standing, ran)| {
                    Outcome::new(check, standing, ran).map_err(|wrong| wrong.to_string())
                })
                .map_err(|wrong| format!("claim {}, {}: {wrong}", claim.number, check.shows))
        };
        let mut order = Order::of(claims, jobs.len());
        let mut wrong: Option<(usize, String)> = None;
        let mut take = |at: usize, outcome: Result<Outcome<'a>, String>| {
            done(jobs[at].1.number);
            match outcome {
                Ok(outcome) => order.waiting[at] = Some(outcome),
                Err(error) if wrong.as_ref().is_none_or(|(first, _)| at < *first) => {
                    wrong = Some((at, error));
                }
                Err(_) => {}
            }
            order.advance(decided);
        };
        as_done(self.threads, &jobs, &one, &mut take).map_err(|error| {
            format!("cannot run {} checks at a time: {error}; try --threads 1", self.threads)
        })?;
        order.advance(decided);
        wrong.map_or(Ok(order.judged), |(_, wrong)| Err(wrong))
    }

    pub(super) fn ask(&self, ask: &Ask) -> Result<Vec<Ran>, String> {
        match (ask, ask.subject()) {
            (Ask::Program(program), _) => {
                let Account { finding, story } = (program.run)();
                let point = Point(Vec::new());
                Ok(vec![Ran { point, scenario: None, finding, trace: None, story }])
            }
            (_, Some(subject)) => match specifications().find(&subject.protocol) {
                Ok(protocol) => self.run(protocol, ask),
                Err(_) => Ok(vec![Ran::absent()]),
            },
            (_, None) => Ok(Vec::new()),
        }
    }

    fn run(&self, protocol: &dyn AnyProtocol, ask: &Ask) -> Result<Vec<Ran>, String> {
        let limits = self.limits;
        match ask {
            Ask::Property(subject, name) => {
                let worlds = worlds(protocol, subject, 0)?;
                worlds.iter().map(|world| decide(world, name, limits)).collect()
            }
            Ask::Most(subject, metric, until) => {
                let worlds = worlds(protocol, subject, 0)?;
                worlds.iter().map(|world| most(world, metric, *until, limits)).collect()
            }
            Ask::Round { subject, metric, starters, crashed } => {
                let worlds = worlds(protocol, subject, *crashed)?;
                let one = |world: &Arc<World>| calm(world, metric, *starters, *crashed);
                worlds.iter().map(one).collect()
            }
            Ask::Least { .. } => least(protocol, ask, limits),
            Ask::Program(_) => Ok(Vec::new()),
        }
    }
}

impl Check {
    /// Returns whether these runs find what the check demands; `None` if none finds something else,
    /// and one decides nothing.
    pub(super) fn met(&self, all: &[Ran]) -> Result<Option<bool>, String> {
        let each = all.iter().map(|ran| self.demands.met(&ran.point, &ran.finding));
        let each = each.collect::<Result<Vec<_>, _>>().map_err(|wrong| wrong.to_string())?;
        Ok(match each.contains(&Some(false)) {
            true => Some(false),
            false => (!each.contains(&None)).then_some(true),
        })
    }
}

/// Claims in their order, each decided when all of its outcomes have come.
struct Order<'a, 'c> {
    claims: &'c [(&'a Source, &'a Claim)],
    waiting: Vec<Option<Outcome<'a>>>,
    /// Where the outcomes of the next claim begin.
    next: usize,
    judged: Vec<Judged<'a>>,
}

impl<'a, 'c> Order<'a, 'c> {
    fn of(claims: &'c [(&'a Source, &'a Claim)], outcomes: usize) -> Order<'a, 'c> {
        let waiting = (0..outcomes).map(|_| None).collect();
        Order { claims, waiting, next: 0, judged: Vec::new() }
    }

    /// Judges the next claims, as many as have their outcomes.
    fn advance(&mut self, decided: &mut dyn FnMut(&Judged<'a>)) {
        while let Some(&(source, claim)) = self.claims.get(self.judged.len()) {
            let end = self.next + claim.checks.len() + claim.besides.len() + claim.cures.len();
            let ours = &mut self.waiting[self.next..end];
            if ours.iter().any(Option::is_none) {
                return;
            }
            let outcomes = ours.iter_mut().filter_map(Option::take).collect();
            let judged = Judged::of(source, claim, outcomes);
            decided(&judged);
            self.judged.push(judged);
            self.next = end;
        }
    }
}

impl Ran {
    fn absent() -> Ran {
        let point = Point(Vec::new());
        Ran { point, scenario: None, finding: Finding::Absent, trace: None, story: Vec::new() }
    }

    /// What a search found of the first property that it was asked.
    pub(crate) fn of(world: &World, report: &Report) -> Option<Ran> {
        let decision = report.decisions.first()?;
        let found = decision.counterexample.as_ref();
        // It may have searched the world with other names.
        let trace = found.map(|found| found.trace(&report.world, &decision.property));
        let finding = match decision.verdict {
            Verdict::Holds => Finding::Holds,
            Verdict::HoldsWithin => Finding::HoldsWithin(report.bounds_met.clone()),
            Verdict::Violated => Finding::Violated { steps: found.map(Counterexample::length) },
            Verdict::Unknown => Finding::Unknown(decision.reason.unwrap_or(Reason::Vacuous)),
        };
        Some(Ran::at(world, finding, trace))
    }

    fn at(world: &World, finding: Finding, trace: Option<Trace>) -> Ran {
        let scenario = world.scenario();
        let point = Point(vec![("n", scenario.nodes as i64)]);
        Ran { point, scenario: Some(scenario), finding, trace, story: Vec::new() }
    }
}

/// Whether this can be run; `false` if its protocol does not exist.
///
/// # Errors
/// If the protocol is there, and has no such variant, rule, property or world.
pub(super) fn possible(ask: &Ask) -> Result<bool, String> {
    let Some(subject) = ask.subject() else { return Ok(true) };
    let Ok(protocol) = specifications().find(&subject.protocol) else { return Ok(false) };
    match ask {
        Ask::Property(subject, name) => {
            for world in worlds(protocol, subject, 0)? {
                property::select(&world, std::slice::from_ref(name)).map_err(|e| words(&e))?;
            }
        }
        Ask::Most(subject, ..) => drop(worlds(protocol, subject, 0)?),
        Ask::Round { subject, crashed, .. } => drop(worlds(protocol, subject, *crashed)?),
        Ask::Least { .. } => drop(questions(protocol, ask, Limits::NONE)?),
        Ask::Program(_) => {}
    }
    Ok(true)
}

fn words(error: &dyn std::error::Error) -> String {
    error.to_string()
}

pub(super) fn rules(
    protocol: &dyn AnyProtocol,
    subject: &Subject,
) -> Result<Arc<dyn DynProtocol>, String> {
    protocol.rules(subject.variant.as_deref(), &subject.rules).map_err(|e| words(&e))
}

/// The worlds, for each number of processes, in which at least `crashes` may crash.
fn worlds(
    protocol: &dyn AnyProtocol,
    subject: &Subject,
    crashes: usize,
) -> Result<Vec<Arc<World>>, String> {
    let rules = rules(protocol, subject)?;
    let one = |mut scenario: Scenario| {
        scenario.faults.crashes =
            scenario.faults.crashes.max(u8::try_from(crashes).unwrap_or(u8::MAX));
        World::of(Arc::clone(&rules), scenario).map(Arc::new).map_err(|e| words(&e))
    };
    subject.all_scenarios()?.into_iter().map(one).collect()
}

fn decide(world: &World, name: &str, limits: Limits) -> Result<Ran, String> {
    let asked = property::select(world, &[name.to_owned()]).map_err(|e| words(&e))?;
    let options = Options { limits, ..Options::default() };
    let report = check::check(world, &asked, &options, &mut |_| {}).map_err(|e| words(&e))?;
    Ran::of(world, &report).ok_or_else(|| "nothing was decided".to_owned())
}

fn most(world: &World, metric: &str, until: Until, limits: Limits) -> Result<Ran, String> {
    let found = bounds(world, until, (limits, 1), &mut |_| {}).map_err(|e| words(&e))?;
    let line = found.lines.iter().find(|line| line.name() == metric);
    let whole = metric.split('/').next().unwrap_or(metric);
    let finding = match (line.map(|line| &line.bound), found.incomplete) {
        (Some(Bound::Unbounded(_)), _) => Finding::Unbounded,
        (_, Some(reason)) => Finding::Unknown(reason),
        (Some(Bound::Most(most, _)), None) => Finding::Count(*most),
        // Kinds that never occur have no line.
        (None, None) if found.lines.iter().any(|line| line.metric == whole) => Finding::Count(0),
        (None, None) => return Err(format!("nothing called '{metric}' is counted")),
    };
    Ok(Ran::at(world, finding, line.map(|line| line.trace(world))))
}

fn calm(world: &World, metric: &str, starters: Starters, crashed: usize) -> Result<Ran, String> {
    let found = bellwether_model::round::round(world, metric, starters, crashed)?;
    let shows = Shows {
        property: format!("one calm election: {metric}"),
        formula: found.count.to_string(),
        kind: Kind::Reachability,
        cycle_after: None,
        until: None,
    };
    let one = !found.actions.is_empty();
    let trace = one.then(|| Trace::record(world, &found.actions, Some(shows)));
    Ok(Ran::at(world, Finding::Count(found.count), trace))
}

fn least(protocol: &dyn AnyProtocol, ask: &Ask, limits: Limits) -> Result<Vec<Ran>, String> {
    let Ask::Least { duration, delays, processing, .. } = ask else { return Ok(Vec::new()) };
    let mut all = Vec::new();
    for question in questions(protocol, ask, limits)? {
        for tm in delays[0]..=delays[1] {
            for tp in processing[0]..=processing[1] {
                let row = question.row(tm, tp, &mut |_, _, _| {}).map_err(|e| words(&e))?;
                let finding = match (row.ticks(duration), row.unknown) {
                    (Some(ticks), _) => Finding::Count(u64::from(ticks)),
                    (None, Some(reason)) => Finding::Unknown(reason),
                    (None, None) => Finding::Unbounded,
                };
                let nodes = question.scenario.nodes;
                let trace = row.found.first().and_then(|found| {
                    let below = found.below.as_ref()?;
                    Some(below.counterexample.as_ref()?.trace(&below.world, &below.property))
                });
                all.push(Ran {
                    point: Point(vec![
                        ("n", nodes as i64),
                        ("Tm", i64::from(tm)),
                        ("Tp", i64::from(tp)),
                    ]),
                    scenario: Some(question.scenario),
                    finding,
                    trace,
                    story: Vec::new(),
                });
            }
        }
    }
    Ok(all)
}

/// What is looked for, one question for each scenario.
fn questions(
    protocol: &dyn AnyProtocol,
    ask: &Ask,
    limits: Limits,
) -> Result<Vec<Question>, String> {
    let Ask::Least { subject, duration, keeping, delays, .. } = ask else { return Ok(Vec::new()) };
    let rules = rules(protocol, subject)?;
    let known = tune::time_outs(&*rules);
    let sought = known.iter().copied().find(|known| known == duration).ok_or_else(|| {
        format!("no time-out takes '{duration}'; there are: {}", known.join(", "))
    })?;
    let one = |scenario: Scenario| {
        let set = scenario.timing.timed().map_or(Durations::NONE, |timed| timed.durations);
        let durations = tune::complete(&*rules, set, &[sought], LONGEST).map_err(|e| words(&e))?;
        let delay = Delay::AtMost(delays[0]);
        let given = Timed::of(delay, durations);
        let scenario = Scenario { timing: Timing::Timed(given), ..scenario };
        let tried = durations.with(sought, LONGEST)?;
        let timing = Timing::Timed(Timed { durations: tried, ..given });
        let world = World::of(Arc::clone(&rules), Scenario { timing, ..scenario })
            .map_err(|e| words(&e))?;
        property::select(&world, std::slice::from_ref(keeping)).map_err(|e| words(&e))?;
        Ok(Question {
            rules: Arc::clone(&rules),
            scenario,
            given,
            sought: vec![sought],
            property: keeping.clone(),
            most: LONGEST,
            options: Options { limits, ..Options::default() },
        })
    };
    subject.all_scenarios()?.into_iter().map(one).collect()
}

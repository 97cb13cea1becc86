//! Searches that end before everything is decided, and what is told while they go on.

use bellwether_model::check::bounds::{Until, bounds};
use bellwether_model::check::{
    Cancel, Engine, Event, Limits, Options, Phase, Progress, Reason, Report, Unfinished, Verdict,
    check,
};
use bellwether_model::property;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Faults, Scenario, Timing, World};
use std::sync::atomic::{AtomicBool, Ordering};

/// Two lead in it, in the end no process agrees, and it has enough levels.
fn world() -> World {
    let scenario = Scenario::calm(3).with_crashes(1, 1);
    World::new(Bully::RECOMMENDED, scenario).expect("a world")
}

fn decide(world: &World, names: &[&str], options: &Options) -> (Report, Vec<Event>) {
    let mut events = Vec::new();
    let report = decide_with(world, names, options, &mut |event| events.push(event));
    (report, events)
}

fn decide_with(
    world: &World,
    names: &[&str],
    options: &Options,
    on_event: &mut (dyn FnMut(Event) + Send),
) -> Report {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let properties = property::select(world, &names).expect("all exist");
    check(world, &properties, options, on_event).expect("something is asked")
}

fn violations(events: &[Event]) -> Vec<(&'static str, Option<usize>)> {
    let violation = |event: &Event| match *event {
        Event::Violated { property, steps } => Some((property, steps)),
        Event::Progress(_) | Event::Grows { .. } => None,
    };
    events.iter().filter_map(violation).collect()
}

/// What the report says is violated, and by how many steps.
fn violated(report: &Report) -> Vec<(&'static str, Option<usize>)> {
    let violated = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    let steps = |d: &bellwether_model::check::Decision| {
        d.counterexample.as_ref().map(|found| found.steps.len())
    };
    violated.map(|d| (d.property.name, steps(d))).collect()
}

const ALL: Options = options(false);
const FIRST: Options = options(true);

const fn options(first: bool) -> Options {
    let (engine, limits) = (Engine::Exact, Limits::NONE);
    let (disk, all, seed, depth) = (None, None, 1, 1_000);
    Options { engine, threads: 2, limits, first, seed, depth, disk, all }
}

#[test]
fn every_violation_is_told_once_and_shorter_ones_first() {
    let cut = Faults { cuts: 1, ..Faults::NONE };
    let cut = Scenario { faults: cut, capacity: Some(2), ..Scenario::calm(3) };
    let cut = World::new(Bully::RECOMMENDED, cut).expect("a world");
    let names = ["stabilises", "at-most-one-leader"];
    for (world, names) in [(&world(), &[][..]), (&cut, &names)] {
        let (report, events) = decide(world, names, &ALL);
        let told = violations(&events);
        let mut sorted = violated(&report);
        // Safety is decided before liveness.
        sorted.sort_by_key(|&(name, steps)| (name == "stabilises", steps));
        assert!(told.len() > 1, "{told:?}");
        assert_eq!(told, sorted);
        let alone = Options { threads: 1, ..ALL };
        assert_eq!(violations(&decide(world, names, &alone).1), told);
    }
}

/// Each is told while stateright searches, and what its search finds again is not told twice.
#[test]
fn the_other_engines_tell_each_violation_once_too() {
    for engine in [Engine::Bfs, Engine::Dfs, Engine::Simulation] {
        let (report, events) = decide(&world(), &[], &Options { engine, threads: 1, ..ALL });
        let mut told: Vec<_> = violations(&events).into_iter().map(|(name, _)| name).collect();
        let mut known: Vec<_> = violated(&report).into_iter().map(|(name, _)| name).collect();
        assert!(told.contains(&"at-most-one-leader"), "{engine}: {told:?}");
        told.sort_unstable();
        known.sort_unstable();
        assert_eq!(told, known, "{engine}");
        let safety = |event: &Event| {
            matches!(event, Event::Violated { property: "at-most-one-leader", steps: None })
        };
        let searching = events.iter().position(safety).expect("it is told");
        let after = events[searching..].iter().any(|event| match event {
            Event::Progress(progress) => progress.phase == Phase::States,
            Event::Violated { .. } | Event::Grows { .. } => false,
        });
        assert!(after, "{engine}: it is told after the search only");
    }
}

#[test]
fn the_first_violation_is_a_shortest_one_and_the_rest_is_not_decided() {
    let (whole, _) = decide(&world(), &[], &ALL);
    let shortest = violated(&whole).iter().filter_map(|&(_, steps)| steps).min();
    let (report, events) = decide(&world(), &[], &FIRST);
    assert_eq!(report.cut_short, Some(Reason::FirstViolation));
    assert!(report.counts.distinct < whole.counts.distinct, "{:?}", report.counts);
    assert_eq!(violations(&events), violated(&report));
    for (decision, before) in report.decisions.iter().zip(&whole.decisions) {
        if decision.verdict == Verdict::Violated {
            assert_eq!(decision.counterexample, before.counterexample);
            let steps = decision.counterexample.as_ref().map(|found| found.steps.len());
            assert_eq!(steps, shortest);
        } else if decision.verdict == Verdict::Unknown {
            assert_eq!(decision.reason, Some(Reason::FirstViolation), "{}", decision.property.name);
        } else {
            assert_eq!(decision.property.name, "succession");
        }
    }
    let Some(Unfinished { levels, waiting }) = report.unfinished else { panic!("it is finished") };
    assert_eq!((Some(levels - 1), levels), (shortest, report.counts.depth - 1));
    assert!(waiting > 0);
    for engine in [Engine::Bfs, Engine::Dfs] {
        let options = Options { engine, threads: 1, ..FIRST };
        let (report, _) = decide(&world(), &[], &options);
        assert_eq!(report.cut_short, Some(Reason::FirstViolation), "{engine}");
        let steps: Vec<_> = violated(&report).iter().map(|&(_, steps)| steps).collect();
        assert!(!steps.is_empty(), "{engine}");
        assert!(engine == Engine::Dfs || steps.contains(&shortest), "{engine}: {steps:?}");
        let mut open = report.decisions.iter().filter(|d| d.property.name != "succession");
        assert!(open.all(|d| d.verdict != Verdict::Holds), "{engine}");
    }
}

#[test]
fn without_a_violation_to_stop_at_everything_is_decided() {
    let names = ["validity", "decided", "succession"];
    let (report, _) = decide(&world(), &names, &FIRST);
    assert_eq!(report.verdict(), Verdict::Holds);
    assert_eq!((report.cut_short, report.unfinished), (None, None));
    assert_eq!(report.counts, decide(&world(), &names, &ALL).0.counts);
}

#[test]
fn of_liveness_the_first_that_is_violated_is_the_last_that_is_decided() {
    let asynchronous = Scenario { timing: Timing::Asynchronous, ..Scenario::calm(3) };
    let asynchronous = Scenario { capacity: Some(2), ..asynchronous.with_crashes(1, 0) };
    let world = World::new(Bully::RECOMMENDED, asynchronous).expect("a world");
    let names = ["stabilises", "settles"];
    assert_eq!(violated(&decide(&world, &names, &ALL).0).len(), 2);
    let (report, events) = decide(&world, &names, &FIRST);
    assert_eq!(violations(&events), violated(&report));
    let verdicts: Vec<_> = report.decisions.iter().map(|d| (d.verdict, d.reason)).collect();
    let rest = (Verdict::Unknown, Some(Reason::FirstViolation));
    assert_eq!(verdicts, [(Verdict::Violated, None), rest]);
    // All states have been searched.
    assert_eq!((report.cut_short, report.unfinished), (Some(Reason::FirstViolation), None));
}

/// Cancels `flag` at the first event that is `then`.
fn cancelling(
    flag: &'static AtomicBool,
    then: impl Fn(&Progress) -> bool + Send,
) -> impl FnMut(Event) + Send {
    flag.store(false, Ordering::Relaxed);
    move |event| {
        if let Event::Progress(progress) = event {
            flag.fetch_or(then(&progress), Ordering::Relaxed);
        }
    }
}

fn cancelled_by(flag: &'static AtomicBool) -> Options {
    Options { limits: Limits { cancel: Some(Cancel::when(flag)), ..Limits::NONE }, ..ALL }
}

#[test]
fn a_cancelled_search_tells_what_it_knows() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    let (whole, _) = decide(&world(), &[], &ALL);
    let mut on_event = cancelling(&FLAG, |progress| progress.levels >= Some(6));
    let report = decide_with(&world(), &[], &cancelled_by(&FLAG), &mut on_event);
    assert_eq!(report.cut_short, Some(Reason::Interrupted));
    let Some(Unfinished { levels, waiting }) = report.unfinished else { panic!("it is finished") };
    assert!(levels == 6 && waiting > 0, "{levels} levels, {waiting} waiting");
    let found = violated(&report);
    assert!(!found.is_empty() && found.len() < violated(&whole).len(), "{found:?}");
    for (decision, before) in report.decisions.iter().zip(&whole.decisions) {
        match decision.verdict {
            Verdict::Violated => assert_eq!(decision.counterexample, before.counterexample),
            Verdict::Unknown => assert_eq!(decision.reason, Some(Reason::Interrupted)),
            // One state is enough to show that it can be reached.
            _ => assert_eq!(decision.property.name, "succession"),
        }
    }
}

#[test]
fn what_is_cancelled_while_liveness_is_decided_has_decided_safety() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    let names = ["at-most-one-leader", "decided", "failover", "stabilises"];
    for (cancelled, decided) in [("failover", 2), ("stabilises", 3)] {
        let mut on_event = cancelling(&FLAG, |p| p.phase == Phase::Liveness(cancelled));
        let report = decide_with(&world(), &names, &cancelled_by(&FLAG), &mut on_event);
        assert_eq!((report.cut_short, report.unfinished), (Some(Reason::Interrupted), None));
        let open: Vec<_> = report.decisions.iter().map(|d| d.reason).collect();
        assert_eq!(open[..decided], vec![None; decided]);
        assert_eq!(open[decided..], vec![Some(Reason::Interrupted); 4 - decided]);
    }
}

#[test]
fn bounds_that_are_cancelled_are_not_claimed() {
    static FLAG: AtomicBool = AtomicBool::new(false);
    let limits = cancelled_by(&FLAG).limits;
    let mut on_event = cancelling(&FLAG, |progress| progress.phase == Phase::Bounds);
    let found = bounds(&world(), Until::Rest, (limits, 1), &mut on_event).expect("threads");
    assert_eq!((found.incomplete, found.unfinished), (Some(Reason::Interrupted), None));
    assert!(found.lines.is_empty());
    let mut on_event = cancelling(&FLAG, |progress| progress.levels >= Some(3));
    let found = bounds(&world(), Until::Rest, (limits, 1), &mut on_event).expect("threads");
    assert_eq!(found.unfinished.map(|unfinished| unfinished.levels), Some(3));
}

#[test]
fn progress_goes_from_phase_to_phase_and_says_why_it_begins_anew() {
    let phases = |options: &Options| {
        let (_, events) = decide(&world(), &["decided", "stabilises"], options);
        let mut phases: Vec<Phase> = Vec::new();
        let mut before = 0;
        for event in events {
            let Event::Progress(progress) = event else { continue };
            if phases.last() != Some(&progress.phase) {
                phases.push(progress.phase);
                before = if matches!(progress.phase, Phase::Again(_)) { 0 } else { before };
            }
            assert!(progress.distinct >= before, "it went back in {}", progress.phase);
            before = progress.distinct;
        }
        phases
    };
    let after = [Phase::Counterexamples, Phase::Liveness("stabilises")];
    assert_eq!(phases(&ALL), [&[Phase::States][..], &after].concat());
    let bfs = phases(&Options { engine: Engine::Bfs, threads: 1, ..ALL });
    assert!(matches!(bfs[..2], [Phase::States, Phase::Again(_)]), "{bfs:?}");
    assert_eq!(bfs[2..], after);
}

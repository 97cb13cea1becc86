//! Saved traces of the model, replayed in the program.

use bellwether_conformance::mapping;
use bellwether_conformance::mapping::{Mapping, Sides};
use bellwether_conformance::replay::{ROUNDS, replay};
use bellwether_conformance::{Error, Kind};
use bellwether_model::check::{Limits, Options, check};
use bellwether_model::property;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::trace::{Shows, Trace, TraceError};
use bellwether_model::world::{Action, Faults, Network, Scenario, Timing, World};

use crate::compared;

/// What `chosen` picks from what is possible, until it picks nothing.
fn record(world: &World, mut chosen: impl FnMut(&[Action]) -> Option<Action>) -> Vec<Action> {
    let (mut state, mut actions) = (world.initial(), Vec::new());
    loop {
        let mut enabled = Vec::new();
        world.enabled(&state, &mut enabled);
        let Some(action) = chosen(&enabled) else { return actions };
        state = world.apply(&state, &action).state;
        actions.push(action);
    }
}

fn world() -> World {
    World::new(mapping::bully::mapping().rules, Scenario::calm(3).with_crashes(1, 1))
        .expect("possible")
}

/// The leader crashes, and then whatever is possible first happens.
fn crash_then_first(steps: usize) -> Trace {
    let (world, mut taken) = (world(), 0);
    let actions = record(&world, |enabled| {
        taken += 1;
        let crash = enabled.iter().rfind(|action| matches!(action, Action::Crash(_)));
        let action = if taken == 1 { crash } else { enabled.first() };
        action.filter(|_| taken <= steps).copied()
    });
    Trace::record(&world, &actions, None)
}

#[test]
fn an_execution_of_the_model_is_one_of_the_program() {
    let trace = crash_then_first(20);
    let replayed = replay(&mapping::bully::mapping(), &trace).expect("comparable");
    assert_eq!((replayed.steps, replayed.rounds), (20, 0));
    assert_eq!(replayed.divergence, None);
}

#[test]
fn a_counterexample_that_the_model_finds_happens_in_the_program_too() {
    let faults = Faults { cuts: 1, ..Faults::NONE };
    let scenario = Scenario { faults, network: Network::Set, ..Scenario::calm(3) };
    let world = World::new(mapping::bully::mapping().rules, scenario).expect("possible");
    let report = check(&world, &property::all::<Bully>(), &Options::default(), &mut |_| {});
    let mut replays = 0;
    for decision in report.expect("decided").decisions {
        if let Some(found) = decision.counterexample {
            let trace = found.trace(&world, &decision.property);
            let replayed = replay(&mapping::bully::mapping(), &trace).expect("comparable");
            assert_eq!(replayed.divergence, None, "{}", decision.property.name);
            replays += 1;
        }
    }
    assert!(replays > 0, "with a cut, both sides elect a leader");
}

#[test]
fn a_cycle_is_taken_several_times() {
    let scenario =
        Scenario { timing: Timing::Asynchronous, capacity: Some(2), ..Scenario::calm(3) };
    let world =
        World::new(mapping::bully::mapping().rules, scenario.with_crashes(1, 0)).expect("possible");
    let asked = property::select(&world, &["stabilises".to_owned()]).expect("known");
    let report = check(&world, &asked, &Options::default(), &mut |_| {}).expect("decided");
    let found = report.decisions[0].counterexample.as_ref().expect("time-outs come at any time");
    let cycle = found.cycle.as_ref().map_or(0, Vec::len);
    assert!(cycle > 0, "it is busy for ever");
    let trace = found.trace(&world, &asked[0]);
    let replayed = replay(&mapping::bully::mapping(), &trace).expect("comparable");
    let steps = found.steps.len() + ROUNDS * cycle;
    assert_eq!((replayed.steps, replayed.rounds), (steps, ROUNDS));
    assert_eq!(replayed.divergence, None);
    // What it is said to show is checked first.
    let mut changed: Vec<Trace> = vec![trace; 3];
    let says = |trace: &mut Trace, change: fn(&mut Shows)| {
        change(trace.header.shows.as_mut().expect("it shows something"));
    };
    says(&mut changed[0], |shows| shows.cycle_after = shows.cycle_after.map(|after| after + 1));
    says(&mut changed[1], |shows| shows.cycle_after = None);
    says(&mut changed[2], |shows| shows.formula = "◇ anything".to_owned());
    for trace in changed {
        let error = replay(&mapping::bully::mapping(), &trace).expect_err("it does not show that");
        assert!(matches!(error, Error::Claim(_)), "{error}");
    }
}

/// The lassos that the checker finds in this world, as far as so many states go: how many there
/// are, and how many of them close but for names. The program follows each when it is read again.
fn follows_lassos<T: Sides>(mapping: &Mapping<T>, flags: &str, names: &[&str]) -> (usize, usize) {
    let world = World::new(mapping.rules, compared::scenario(flags)).expect("possible");
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let asked = property::select(&world, &names).expect("known");
    let limits = Limits { states: Some(200_000), ..Limits::NONE };
    let options = Options { limits, ..Options::default() };
    let report = check(&world, &asked, &options, &mut |_| {}).expect("decided");
    let concrete = report.world.concrete();
    let (mut lassos, mut renamed) = (0, 0);
    for decision in &report.decisions {
        let Some(found) = &decision.counterexample else { continue };
        let cycle = found.cycle.as_ref().map_or(0, Vec::len);
        if cycle == 0 {
            continue;
        }
        let mut file = Vec::new();
        found.trace(&report.world, &decision.property).write(&mut file).expect("written");
        let trace = Trace::read(&file[..]).expect("read");
        let name = decision.property.name;
        let replayed = replay(mapping, &trace).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(divergence) = replayed.divergence {
            panic!("{name}: {}", divergence.report());
        }
        let stem = found.steps.len();
        assert_eq!((replayed.steps, replayed.rounds), (stem + ROUNDS * cycle, ROUNDS), "{name}");
        let actions = trace.actions(&concrete).expect("an execution");
        let after = |steps: usize| {
            let begin = concrete.initial();
            actions[..steps]
                .iter()
                .fold(begin, |state, action| concrete.apply(&state, action).state)
        };
        lassos += 1;
        renamed += usize::from(after(stem) != after(stem + cycle));
    }
    (lassos, renamed)
}

#[test]
fn every_lasso_that_is_saved_is_followed() {
    let busy = "--nodes 2 --crashes 0 --timing asynchronous --capacity 1";
    let cut = "--nodes 2 --crashes 0 --cuts 1 --capacity 2";
    let (lassos, _) =
        follows_lassos(&mapping::bully::mapping(), "--timing asynchronous --capacity 2", &[]);
    assert!(lassos > 0, "the bully is busy for ever");
    for flags in [busy, cut] {
        follows_lassos(&mapping::garcia_molina::mapping(), flags, &[]);
        follows_lassos(&mapping::invitation::mapping(), flags, &[]);
        follows_lassos(&mapping::stoller::mapping(), flags, &[]);
        follows_lassos(&mapping::lease::recommended(), flags, &[]);
    }
    // A process that does not hear the leader canvasses for ever, and each round has a new number.
    let (flags, asked) = ("--crashes 0 --cuts 1 --capacity 2", &["settles"]);
    follows_lassos(&mapping::quorum::mapping(&mapping::quorum::PREEMPTIVE), flags, asked);
    let (_, renamed) =
        follows_lassos(&mapping::quorum::mapping(&mapping::quorum::RECOMMENDED), flags, asked);
    assert!(renamed > 0, "the rounds of a leader have no end");
}

#[test]
fn a_trace_of_other_rules_is_refused() {
    let world =
        World::new(Bully::BASELINE, Scenario::calm(3).with_crashes(1, 0)).expect("possible");
    let actions = record(&world, |enabled| enabled.first().copied());
    let refused = replay(&mapping::bully::mapping(), &Trace::record(&world, &actions[..], None));
    assert!(matches!(refused, Err(Error::Rules { .. })), "{refused:?}");
}

#[test]
fn a_trace_of_another_model_or_of_a_renamed_variant_is_refused() {
    let mut renamed = crash_then_first(20);
    renamed.header.variant = "baseline".to_owned();
    let refused = replay(&mapping::bully::mapping(), &renamed).expect_err("refused");
    assert!(matches!(refused, Error::Variant { .. }), "{refused}");

    let mut other = crash_then_first(20);
    other.header.fingerprint = "0123456789abcdef".to_owned();
    let refused = replay(&mapping::bully::mapping(), &other).expect_err("refused");
    assert!(matches!(refused, Error::Fingerprint { .. }), "{refused}");
    assert!(refused.to_string().contains("'0123456789abcdef'"), "{refused}");
}

#[test]
fn a_trace_without_steps_is_no_success() {
    let refused = replay(&mapping::bully::mapping(), &Trace::record(&world(), &[], None));
    assert!(matches!(refused, Err(Error::EmptyTrace)), "{refused:?}");
}

#[test]
fn a_trace_that_was_edited_is_refused() {
    let mut trace = crash_then_first(20);
    trace.steps.remove(0); // the crash, without which no follower may time out
    for (at, step) in trace.steps.iter_mut().enumerate() {
        step.seq = at + 1;
    }
    let refused = replay(&mapping::bully::mapping(), &trace);
    let edited = matches!(
        refused,
        Err(Error::Trace(TraceError::Impossible { .. } | TraceError::Differs { .. }))
    );
    assert!(edited, "{refused:?}");

    let mut other = crash_then_first(20);
    other.header.protocol = "raft".to_owned();
    let refused = replay(&mapping::bully::mapping(), &other);
    assert!(matches!(refused, Err(Error::Trace(TraceError::Protocol { .. }))), "{refused:?}");
}

#[test]
fn kinds_are_written_as_in_reports() {
    let words = [Kind::Missing, Kind::Unexpected, Kind::Different].map(|kind| kind.to_string());
    assert_eq!(words, ["missing", "unexpected", "different"]);
}

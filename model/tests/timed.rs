//! Timed worlds: what a tick waits for, and that all searches agree on how many states there are.
//! When time-outs are long enough is `model/verdicts/bully.toml`.

use bellwether_model::check::{Engine, Options, Report, check};
use bellwether_model::machine;
use bellwether_model::property::{self, AGREED_WITHIN, Property, TIMEOUTS_ACCURATE};
use bellwether_model::protocol::bully::{Bully, Restart, Timer};
use bellwether_model::protocol::{Id, Protocol, Wait, row};
use bellwether_model::trace::Trace;
use bellwether_model::world::{
    Action, Delay, Drift, Durations, Envelope, Faults, Network, Scenario, Slow, Start, State,
    Timed, Timing, World, WorldError,
};
use proptest::prelude::*;

/// Everything that a rule of the bully may need, as far as `rules` needs it.
fn durations(rules: &Bully, ticks: impl Fn(&str) -> u8) -> Durations {
    let needed = Bully::TIMERS.iter().filter_map(|row| row.wait(rules)).map(Wait::duration);
    Durations::of(needed.map(|name| (name, ticks(name)))).expect("few enough")
}

fn timed(rules: &Bully, delay: Delay, processing: u8, ticks: impl Fn(&str) -> u8) -> Timing {
    let durations = durations(rules, ticks);
    let drift = Drift::NONE;
    Timing::Timed(Timed { delay, slow: Slow::NONE, processing, drift, durations, within: None })
}

/// The baseline with these time-outs, and a detector of `t_detect`.
fn baseline(delay: u8, processing: u8, t_elec: u8, t_coord: u8, t_detect: u8) -> Scenario {
    let ticks = |name: &str| match name {
        "t-elec" => t_elec,
        "t-coord" => t_coord,
        _ => t_detect,
    };
    let timing = timed(&Bully::BASELINE, Delay::AtMost(delay), processing, ticks);
    Scenario { timing, ..Scenario::calm(3).with_crashes(1, 0) }
}

fn within(mut scenario: Scenario, bound: u8) -> Scenario {
    if let Timing::Timed(timed) = &mut scenario.timing {
        timed.within = Some(bound);
    }
    scenario
}

fn ask(rules: Bully, scenario: Scenario, name: &str, engine: Engine) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let asked = property::select(&world, &[name.to_owned()]).expect("it can be asked");
    let options = Options { engine, ..Options::default() };
    check(&world, &asked, &options, &mut |_| {}).expect("something is asked")
}

#[test]
fn a_slow_link_exists_and_is_slow() {
    for (slow, says) in [
        ("1-4=5", "--slow '1>4': there are only the ids 1 to 3; give two of them"),
        ("3>2=2", "--slow '3>2=2': a slow link takes longer than --delay 2"),
        ("3>2=0", "give a link and its ticks, 1 to 100, such as 1-2=5, or 1>2=5"),
        ("3>2", "give a link and its ticks, 1 to 100, such as 1-2=5, or 1>2=5"),
        ("3=2", "give two ids, such as 1-2, or 1>2 for one direction"),
    ] {
        let refused = slow.parse().and_then(|slow: Slow| {
            let mut scenario = baseline(2, 0, 5, 8, 3);
            if let Timing::Timed(timed) = &mut scenario.timing {
                timed.slow = slow;
            }
            World::new(Bully::BASELINE, scenario).map(drop).map_err(|error| error.to_string())
        });
        assert_eq!(refused, Err(says.to_owned()), "{slow}");
    }
}

/// With liveness asked, both searches run, and `check` fails if they count differently.
#[test]
fn stateright_and_the_state_graph_count_the_same() {
    let base = baseline(1, 1, 4, 6, 1);
    let fault = |faults| Scenario { faults, ..base };
    let unbounded = timed(&Bully::BASELINE, Delay::Unbounded, 0, |_| 2);
    let worlds = [
        base,
        baseline(1, 0, 2, 5, 1),
        Scenario { network: Network::Unordered, ..base },
        Scenario { network: Network::Set, ..base },
        within(base, 9),
        Scenario { start: Start::Cold, ..base },
        Scenario { timing: unbounded, capacity: Some(1), ..base },
        fault(Faults { crashes: 1, losses: 1.into(), ..Faults::NONE }),
        fault(Faults { crashes: 1, duplicates: 1, ..Faults::NONE }),
        fault(Faults { suspicions: 1, ..Faults::NONE }),
        fault(Faults { cuts: 1, ..Faults::NONE }),
        Scenario { nodes: 2, ..base.with_crashes(1, 1) },
    ];
    for scenario in worlds {
        for engine in [Engine::Bfs, Engine::Dfs] {
            let report = ask(Bully::BASELINE, scenario, "stabilises", engine);
            assert!(report.counts.distinct > 10, "{scenario}: {:?}", report.counts);
        }
    }
}

/// What the semantics of time give today: any change of them must be meant.
#[test]
fn small_timed_worlds_have_these_counts() {
    let count = |scenario| {
        let counts = ask(Bully::BASELINE, scenario, TIMEOUTS_ACCURATE, Engine::Bfs).counts;
        (counts.distinct, counts.generated)
    };
    assert_eq!(count(baseline(1, 0, 3, 5, 1)), (98, 191));
    assert_eq!(count(baseline(2, 1, 6, 9, 3)), (357, 751));
}

/// One tick after the other from the leader's crash: the follower notices at each moment that its
/// detector allows, and the clock waits for it at the last.
#[test]
fn a_detector_takes_any_time_up_to_its_duration() {
    for t_detect in 0..4 {
        let scenario = Scenario { nodes: 2, ..baseline(1, 0, 3, 5, t_detect) };
        let world = World::new(Bully::BASELINE, scenario).expect("possible");
        let mut state = world.apply(&world.initial(), &Action::Crash(Id::at(1))).state;
        let notices = Action::Expire {
            id: Id::at(0),
            timer: machine::Timer::of::<Bully>(Timer::Watch),
            early: false,
        };
        for passed in 0..=t_detect {
            let enabled = enabled(&world, &state);
            assert!(enabled.contains(&notices), "after {passed} of {t_detect} ticks");
            assert_eq!(enabled.contains(&Action::Tick), passed < t_detect);
            state = world.apply(&state, &Action::Tick).state;
        }
    }
}

#[test]
fn a_detector_that_is_not_overdue_forgets_what_it_has_counted() {
    let scenario = Scenario { nodes: 2, ..baseline(1, 0, 3, 5, 2).with_crashes(1, 1) };
    let world = World::new(Bully::BASELINE, scenario).expect("possible");
    let take = |state: &State, action| world.apply(state, &action).state;
    let (one, two) = (Id::at(0), Id::at(1));
    let waited = take(&take(&world.initial(), Action::Crash(two)), Action::Tick);
    let watch = machine::Timer::of::<Bully>(Timer::Watch);
    assert_eq!(waited.clock(one, watch), Some(1));
    assert_eq!(take(&waited, Action::Recover(two)).clock(one, watch), Some(0));
}

/// Where no process waits for anything, time changes nothing: the group may stay so for ever.
#[test]
fn a_quiescent_tick_leads_back_to_the_same_state() {
    let world = World::new(Bully::BASELINE, baseline(1, 0, 3, 5, 1)).expect("possible");
    let initial = world.initial();
    assert!(world.is_quiescent(&initial));
    assert_eq!(enabled(&world, &initial), [Action::Tick, crash(1), crash(2), crash(3)]);
    assert!(world.apply(&initial, &Action::Tick).state == initial);
}

fn crash(number: usize) -> Action {
    Action::Crash(Id::at(number - 1))
}

fn enabled(world: &World, state: &State) -> Vec<Action> {
    let mut actions = Vec::new();
    world.enabled(state, &mut actions);
    actions
}

/// What must be true in every state of every timed world.
fn consistent(world: &World, state: &State) {
    let actions = enabled(world, state);
    assert!(actions.iter().any(|action| world.is_fair(action)), "time stops: {state:?}");
    let left = state.ticks_left();
    assert!(left.is_empty() || left.len() == state.in_flight().len(), "{state:?}");
    if world.scenario().network == Network::Fifo {
        // A message leaves after the one before it, and is not expected before it.
        let flight: Vec<_> = state.in_flight().iter().zip(left).collect();
        let queued = |pair: &[(&Envelope, &u8)]| {
            let (a, b) = (pair[0], pair[1]);
            (a.0.from, a.0.to) != (b.0.from, b.0.to) || a.1 <= b.1
        };
        assert!(flight.windows(2).all(queued), "{state:?}");
    }
    let waits = |(e, &left): (&Envelope, &u8)| left == 0 && !state.paused(e.to);
    let rules = world.rules().expect("a world of the bully");
    let fixed = |timer| matches!(row::<Bully>(timer).wait(rules), Some(Wait::Fixed(_)));
    let mut blocked = state.in_flight().iter().zip(left).any(waits);
    for id in state.ids() {
        for timer in Bully::TIMERS.iter().map(|row| row.timer) {
            let armed = state.timers(id).contains::<Bully>(timer);
            let clock = state.clock(id, machine::Timer::of::<Bully>(timer));
            assert!(armed || clock == Some(0), "{timer:?} of {id}: {state:?}");
            let due = armed && fixed(timer) && clock == Some(0);
            blocked |= due && !state.paused(id);
        }
    }
    assert!(!(blocked && actions.contains(&Action::Tick)), "a deadline is passed: {state:?}");
}

/// What a tick does to what can be seen: every time is one less, but what waits for a process that
/// is paused can have none left, and may merge then.
fn ticked(before: &State, after: &State) {
    let less = before.ticks_left().iter().map(|left| left.saturating_sub(1));
    let less: Vec<_> = before.in_flight().iter().zip(less).collect();
    let is: Vec<_> = after.in_flight().iter().zip(after.ticks_left().iter().copied()).collect();
    if before.ids().any(|id| before.paused(id)) {
        assert!(is.iter().all(|one| less.contains(one)));
    } else if after.ticks_left().is_empty() {
        assert!(before.in_flight() == after.in_flight());
    } else {
        assert_eq!(less, is);
    }
}

fn rules() -> impl Strategy<Value = Bully> {
    let named = prop::sample::select(Bully::VARIANTS.iter().map(|v| v.rules).collect::<Vec<_>>());
    let restart = prop::sample::select(vec![
        Restart::Election,
        Restart::ImBack,
        Restart::CheckFirst,
        Restart::Nothing,
    ]);
    (named, restart, any::<bool>()).prop_map(|(rules, restart, t_coord)| Bully {
        restart,
        t_coord,
        ..rules
    })
}

fn surrounding() -> impl Strategy<Value = Scenario> {
    let network = prop::sample::select(vec![Network::Fifo, Network::Unordered, Network::Set]);
    let start = prop::sample::select(vec![Start::Converged, Start::Cold]);
    (2..=4_usize, network, start, prop::array::uniform8(0..=2_u8)).prop_map(
        |(nodes, network, start, budgets)| {
            let [crashes, recoveries, losses, duplicates, cuts, one_way_cuts, suspicions, pauses] =
                budgets;
            let duplicates = if network == Network::Set { 0 } else { duplicates };
            let losses = losses.into();
            let faults = Faults {
                crashes,
                recoveries,
                losses,
                duplicates,
                cuts,
                one_way_cuts,
                suspicions,
                pauses,
                jumps: 0,
            };
            Scenario { network, start, faults, ..Scenario::calm(nodes) }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None,
                                        ..ProptestConfig::default() })]

    #[test]
    fn no_tick_passes_a_deadline_and_time_never_stops(
        rules in rules(),
        surrounding in surrounding(),
        delay in prop::option::of(1..=4_u8),
        processing in 0..=2_u8,
        drift in prop::sample::select(vec![(0, 1), (1, 10), (1, 2)]),
        ticks in 1..=9_u8,
        choices in prop::collection::vec(any::<prop::sample::Index>(), 120),
    ) {
        let (delay, processing) =
            delay.map_or((Delay::Unbounded, 0), |ticks| (Delay::AtMost(ticks), processing));
        let durations = durations(&rules, |_| ticks);
        let drift = Drift::of(drift.0, drift.1).expect("small enough");
        let (slow, within) = (Slow::NONE, None);
        let timing = Timing::Timed(Timed { delay, slow, processing, drift, durations, within });
        let world = World::new(rules, Scenario { timing, ..surrounding }).expect("possible");
        let mut state = world.initial();
        for choice in choices {
            consistent(&world, &state);
            let actions = enabled(&world, &state);
            let action = *choice.get(&actions);
            let after = world.apply(&state, &action).state;
            if action == Action::Tick {
                ticked(&state, &after);
            }
            if state.in_flight().len() > 30 {
                break;
            }
            state = after;
        }
    }
}

#[test]
fn what_every_variant_needs_is_said_and_nothing_more() {
    for variant in Bully::VARIANTS {
        let rules = variant.rules;
        let all = durations(&rules, |_| 1);
        let with = |durations| {
            let delay = Delay::AtMost(1);
            let (processing, drift, within) = (0, Drift::NONE, None);
            let timed = Timed { delay, slow: Slow::NONE, processing, drift, durations, within };
            World::new(rules, Scenario { timing: Timing::Timed(timed), ..Scenario::calm(3) })
                .map(drop)
        };
        assert_eq!(with(all), Ok(()), "{}", variant.name);
        for (gone, _) in all.iter() {
            let fewer = Durations::of(all.iter().filter(|&(name, _)| name != gone));
            let refused = with(fewer.expect("fewer"));
            assert!(
                matches!(&refused, Err(WorldError::NoDuration { missing })
                    if matches!(missing[..], [(name, _)] if name == gone)),
                "{}: {refused:?}",
                variant.name
            );
        }
    }
}

#[test]
fn scenario_of_timed_worlds_survive_their_json() {
    for timing in [
        within(baseline(2, 1, 6, 9, 0), 7).timing,
        timed(&Bully::RECOMMENDED, Delay::Unbounded, 0, |_| 3),
    ] {
        let scenario = Scenario { timing, ..Scenario::calm(3) };
        let text = serde_json::to_string(&scenario).expect("JSON");
        assert_eq!(serde_json::from_str::<Scenario>(&text).expect("the same"), scenario, "{text}");
    }
    let short = r#"{"nodes":3,"timing":{"timed":{"delay":"soon","durations":{}}}}"#;
    let refused = serde_json::from_str::<Scenario>(short).expect_err("no delay").to_string();
    assert!(refused.contains("unbounded"), "{refused}");
}

#[test]
fn a_timed_execution_is_told_saved_and_replayed() {
    let report = ask(Bully::BASELINE, baseline(2, 0, 4, 8, 1), "at-most-one-leader", Engine::Exact);
    let decision = &report.decisions[0];
    let found = decision.counterexample.as_ref().expect("it is violated");
    let trace = found.trace(&report.world, &decision.property);
    let mut file = Vec::new();
    trace.write(&mut file).expect("it is written");
    let again = Trace::read(file.as_slice()).expect("it is read");
    assert_eq!(again, trace);
    assert_eq!(again.actions(&report.world).expect("it can happen"), found.steps);
    let story = bellwether_model::report::story::tell(&trace);
    assert!(story.contains(" ticks pass. "), "{story}");
    assert!(story.contains("4 have passed so far."), "{story}");
}

#[test]
fn properties_of_timed_worlds_are_not_asked_elsewhere() {
    let names = |scenario| {
        let world = World::new(Bully::BASELINE, scenario).expect("possible");
        let asked: Vec<Property> = property::select(&world, &[]).expect("all of them");
        asked.iter().map(|p| p.name).collect::<Vec<_>>()
    };
    let calm = Scenario::calm(3).with_crashes(1, 0);
    let base = baseline(1, 0, 3, 5, 1);
    assert!(!names(calm).contains(&TIMEOUTS_ACCURATE));
    assert_eq!(names(base).last(), Some(&TIMEOUTS_ACCURATE));
    assert_eq!(names(within(base, 9)).last(), Some(&AGREED_WITHIN));
}

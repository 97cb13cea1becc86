//! Timed worlds: what a tick waits for, what pauses, drifting clocks and clocks that jump do to
//! time, and that nothing is lost in them. When time-outs are long enough is
//! `model/verdicts/bully.toml`.

use crate::asked::{can, go, read_again, refused, report, report_by, shown, violated, world};
use bellwether_model::check::{Options, Report, Verdict};
use bellwether_model::machine;
use bellwether_model::property::{self, AGREED_WITHIN, TIMEOUTS_ACCURATE};
use bellwether_model::protocol::bully::{Bully, Restart, Timer};
use bellwether_model::protocol::{Id, Protocol, REGISTRY, Wait, row};
use bellwether_model::report::story::tell;
use bellwether_model::trace::Trace;
use bellwether_model::world::{
    Action, Delay, Drift, Durations, Envelope, Faults, Network, Scenario, SlowLinks, Start, State,
    Timed, Timing, World, WorldError,
};
use proptest::prelude::*;
use std::sync::Arc;

const ONE: Id = Id::at(0);
const TWO: Id = Id::at(1);
const THREE: Id = Id::at(2);
const TICK: &str = "a tick passes";

/// The baseline of the bully, with durations that are enough as long as no process is paused and no
/// clock drifts, and what there is besides.
fn clocked(more: &str) -> Arc<World> {
    let clock = "--timing timed --delay 1 --t-elec 3 --t-coord 5 --t-detect 2";
    world(&format!("bully --variant baseline {clock} {more}"))
}

fn timer(timer: Timer) -> machine::Timer {
    machine::Timer::of::<Bully>(timer)
}

/// One tick after the other from the leader's crash: the follower notices at each moment that its
/// detector allows, and the clock waits for it at the last.
#[test]
fn a_detector_takes_any_time_up_to_its_duration() {
    for t_detect in 0..4 {
        let world = world(&format!(
            "bully --variant baseline --nodes 2 --timing timed --delay 1 --t-elec 3 --t-coord 5 \
             --t-detect {t_detect}"
        ));
        let mut state = go(&world, &world.initial(), &["2 crashes"]);
        for passed in 0..=t_detect {
            let enabled = can(&world, &state);
            let notices = enabled.iter().any(|action| action == "1's watch timer expires");
            assert!(notices, "after {passed} of {t_detect} ticks");
            assert_eq!(enabled.iter().any(|action| action == TICK), passed < t_detect);
            state = world.apply(&state, &Action::Tick).state;
        }
    }
}

#[test]
fn a_detector_that_is_not_overdue_forgets_what_it_has_counted() {
    let world = clocked("--nodes 2 --recoveries 1");
    let waited = go(&world, &world.initial(), &["2 crashes", TICK]);
    assert_eq!(waited.clock(ONE, timer(Timer::Watch)), Some(1));
    let back = go(&world, &waited, &["2 recovers"]);
    assert_eq!(back.clock(ONE, timer(Timer::Watch)), Some(0));
}

/// Steps in worlds with other flags, and all that can happen after them.
const AFTER: [(&str, &str, &str); 9] = [
    // Where no process waits for anything, time may go on.
    ("", "", "a tick passes; 1 crashes; 2 crashes; 3 crashes"),
    // Whoever is paused takes no step, and holds no time up: the clock waits for 1, but not for 2,
    // whose detector has to notice as well.
    (
        "--pauses 1",
        "3 crashes; 2 is paused; a tick passes; a tick passes",
        "1's watch timer expires; 2 goes on",
    ),
    (
        "--pauses 2",
        "3 crashes; 2 is paused; 1 is paused; a tick passes; a tick passes; a tick passes",
        "a tick passes; 1 goes on; 2 goes on",
    ),
    (
        "--pauses 2",
        "3 crashes; 2 is paused; 1 is paused; a tick passes; a tick passes; a tick passes; \
         2 goes on",
        "2's watch timer expires; 1 goes on",
    ),
    // A crash may be noticed at once, a pause only after some time; and no pause is left then.
    (
        "--pauses 1",
        "3 crashes",
        "1's watch timer expires; 2's watch timer expires; a tick passes; 1 is paused; 2 is paused",
    ),
    ("--pauses 1", "3 is paused", "a tick passes; 1 crashes; 2 crashes; 3 crashes; 3 goes on"),
    (
        "--pauses 1",
        "3 is paused; a tick passes",
        "1's watch timer expires; 2's watch timer expires; a tick passes; 1 crashes; 2 crashes; \
         3 crashes; 3 goes on",
    ),
    (
        "--pauses 1",
        "3 is paused; a tick passes; 3 goes on",
        "a tick passes; 1 crashes; 2 crashes; 3 crashes",
    ),
    // Whoever is paused may crash, and comes back awake.
    ("--pauses 1 --recoveries 1", "1 is paused; 1 crashes", "a tick passes; 1 recovers"),
];

#[test]
fn this_can_happen_and_nothing_else() {
    for (flags, steps, next) in AFTER {
        let world = clocked(flags);
        let steps: Vec<&str> = steps.split("; ").filter(|step| !step.is_empty()).collect();
        let state = go(&world, &world.initial(), &steps);
        assert_eq!(can(&world, &state).join("; "), next, "{flags}: {steps:?}");
    }
}

#[test]
fn what_is_sent_to_somebody_who_is_paused_waits_and_arrives_in_the_end() {
    let world = clocked("--pauses 1");
    let first = ["3 crashes", "2 is paused", "1's watch timer expires"];
    let mut state = go(&world, &world.initial(), &first);
    let arrives = |state: &State| can(&world, state).contains(&"2 gets ELECTION from 1".to_owned());
    for _ in 0..3 {
        assert!(!arrives(&state), "{state:?}");
        assert!(state.in_flight().iter().any(|e| (e.from, e.to) == (ONE, TWO)), "{state:?}");
        // What is sent to 3, which is down, arrives like anything else.
        for e in state.in_flight().to_vec().into_iter().filter(|e| e.to == THREE) {
            state = world.apply(&state, &Action::Deliver(e)).state;
        }
        state = world.apply(&state, &Action::Tick).state;
    }
    let awake = go(&world, &state, &["2 goes on"]);
    assert!(arrives(&awake), "{awake:?}");
    assert!(!can(&world, &awake).contains(&TICK.to_owned()), "it is late already: {awake:?}");
}

#[test]
fn a_pause_keeps_everything_but_the_time() {
    let world = clocked("--pauses 1 --recoveries 1");
    let before = go(&world, &world.initial(), &["3 crashes"]);
    let paused = go(&world, &before, &["2 is paused"]);
    assert!(paused.paused(TWO) && !paused.paused(ONE));
    let again = go(&world, &paused, &["2 goes on"]);
    assert_eq!(again.process(TWO), before.process(TWO));
    assert_eq!(again.timers(TWO), before.timers(TWO));
    assert_eq!(again.clock(TWO, timer(Timer::Watch)), before.clock(TWO, timer(Timer::Watch)));
    assert_eq!(again.spent().pauses, 1);
    // None stays paused for ever, and none rests meanwhile. A crash ends a pause too.
    assert!(world.is_fair(&Action::Resume(ONE)) && !world.is_fair(&Action::Pause(ONE)));
    let paused = go(&world, &world.initial(), &["1 is paused"]);
    assert!(world.is_quiescent(&world.initial()) && !world.is_quiescent(&paused));
    assert!(go(&world, &world.initial(), &[TICK]) == world.initial(), "nothing is waited for");
    let crashed = go(&world, &paused, &["1 crashes"]);
    let back = go(&world, &crashed, &["1 recovers"]);
    assert!(!crashed.paused(ONE) && back.up(ONE) && !back.paused(ONE));
}

/// From the first tick of its window on it may, at the last it must.
#[test]
fn a_timer_expires_anywhere_in_its_window() {
    let world = clocked("--drift 1/3");
    let mut state = go(
        &world,
        &world.initial(),
        &[
            "3 crashes",
            "2's watch timer expires",
            "3 gets ELECTION from 2",
            "1's watch timer expires",
            "3 gets ELECTION from 1",
            // 1's own election ends at once: it cannot be the one that the clock waits for.
            "2 gets ELECTION from 1",
            "1 gets OK from 2",
        ],
    );
    let may = [(); 6].map(|()| {
        let enabled = can(&world, &state);
        state = world.apply(&state, &Action::Tick).state;
        ["2's election timer expires", TICK].map(|what| enabled.iter().any(|known| known == what))
    });
    // 3 ticks at a third: 3/(4/3) is 2.25, 3/(2/3) is 4.5.
    let (no, may_be, must) = ([false, true], [true, true], [true, false]);
    assert_eq!(may, [no, no, may_be, may_be, may_be, must]);
}

#[test]
fn a_clock_that_jumps_moves_the_timers_of_its_process_and_nothing_else() {
    for (jump, left) in [(2, [1, 5]), (5, [0, 8])] {
        let world = clocked(&format!("--jumps 1 --jump {jump}"));
        let state = go(&world, &world.initial(), &["3 crashes", "2's watch timer expires"]);
        assert_eq!(state.clock(TWO, timer(Timer::Election)), Some(3));
        for (by, left) in [jump, -jump].into_iter().zip(left) {
            let jump = Action::Jump(TWO, by);
            assert!(world.actions(&state).contains(&jump) && !world.is_fair(&jump));
            let after = world.apply(&state, &jump).state;
            assert_eq!(after.clock(TWO, timer(Timer::Election)), Some(left), "{jump}");
            assert_eq!(after.in_flight(), state.in_flight());
            assert_eq!(after.ticks_left(), state.ticks_left());
            let more = can(&world, &after);
            assert!(!more.iter().any(|next| next.contains("clock jumps")), "{more:?}");
            // What has run out happens before the clock goes on.
            let runs_out = more.contains(&"2's election timer expires".to_owned());
            assert_eq!(runs_out, left == 0, "{jump}");
            assert!(!runs_out || !more.contains(&TICK.to_owned()), "{more:?}");
        }
    }
}

#[test]
fn what_no_timed_world_has_is_refused() {
    let timed = "bully --variant baseline --timing timed --delay 2 --t-elec 5 --t-coord 8 \
                 --t-detect 3";
    let far = WorldError::JumpsTooFar { jump: 9, ticks: 908 }.to_string();
    for (line, says) in [
        ("bully --pauses 1", "no answer is late"),
        ("bully --pauses 1 --timing asynchronous", "adds nothing"),
        ("bully --jumps 1 --jump 2", &WorldError::JumpsUntimed.to_string()),
        (&format!("{timed} --jumps 1"), &WorldError::NoJump.to_string()),
        (&format!("{timed} --jumps 100 --jump 9"), &far),
        (&format!("{timed} --slow 1-4=5"), "--slow '1>4': there are only the ids 1 to 3"),
        (
            &format!("{timed} --slow 3>2=2"),
            "--slow '3>2=2': a slow link takes longer than --delay 2",
        ),
    ] {
        let told = refused(line);
        assert!(told.contains(says), "{line}: {told}");
    }
    let ticks = "give a link and its ticks, 1 to 100, such as 1-2=5, or 1>2=5";
    let ids = "give two ids, such as 1-2, or 1>2 for one direction";
    for (slow, says) in [("3>2=0", ticks), ("3>2", ticks), ("3=2", ids)] {
        assert_eq!(slow.parse::<SlowLinks>().map(drop), Err(says.to_owned()), "{slow}");
    }
}

/// d/(1+ρ) and d/(1−ρ), rounded outwards; by hand.
#[test]
fn a_drifting_clock_is_early_or_late_by_its_ratio() {
    for (drift, ticks, window) in [
        ("0", 7, (7, 7)),
        ("10%", 10, (9, 12)),
        ("1/10", 11, (10, 13)),
        ("1/10", 9, (8, 10)),
        ("1/3", 4, (3, 6)),
        ("1/2", 100, (66, 200)),
        // What takes time at all takes a tick.
        ("1/100", 1, (1, 2)),
        ("1/2", 0, (0, 0)),
    ] {
        assert_eq!(drift.parse::<Drift>().expect("a ratio").window(ticks), window, "{drift}");
    }
    assert_eq!("2/20".parse(), Drift::of(1, 10));
    assert_eq!("20%".parse(), Drift::of(1, 5));
    assert_eq!("0%".parse(), Ok(Drift::NONE));
    for wrong in ["2/3", "51%", "1", "1/0", "-1/10", "0.1", "", "/", "%"] {
        assert!(wrong.parse::<Drift>().is_err(), "{wrong}");
    }
}

/// What must be true in every state of every timed world.
fn consistent(world: &World, state: &State) {
    let actions = world.actions(state);
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
            let clock = state.clock(id, self::timer(timer));
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

/// Everything that a rule of the bully may need, as far as `rules` needs it.
fn durations(rules: &Bully, ticks: u8) -> Durations {
    let needed = Bully::TIMERS.iter().filter_map(|row| row.wait(rules)).map(Wait::duration);
    Durations::of(needed.map(|name| (name, ticks))).expect("few enough")
}

fn rules() -> impl Strategy<Value = Bully> {
    let named = prop::sample::select(Bully::VARIANTS.iter().map(|v| v.rules).collect::<Vec<_>>());
    let restart = prop::sample::select(vec![
        Restart::Election,
        Restart::ImBack,
        Restart::CheckFirst,
        Restart::Nothing,
    ]);
    let rules = |(rules, restart, t_coord)| Bully { restart, t_coord, ..rules };
    (named, restart, any::<bool>()).prop_map(rules)
}

fn surrounding() -> impl Strategy<Value = Scenario> {
    let network = prop::sample::select(vec![Network::Fifo, Network::Unordered, Network::Set]);
    let start = prop::sample::select(vec![Start::Converged, Start::Cold]);
    (2..=4_usize, network, start, prop::array::uniform8(0..=2_u8)).prop_map(
        |(nodes, network, start, budgets)| {
            let [crashes, recoveries, losses, duplicates, cuts, one_way_cuts, suspicions, pauses] =
                budgets;
            let duplicates = if network == Network::Set { 0 } else { duplicates };
            let faults = Faults { crashes, recoveries, losses: losses.into(), ..Faults::NONE };
            let faults = Faults { duplicates, cuts, one_way_cuts, suspicions, pauses, ..faults };
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
        let drift = Drift::of(drift.0, drift.1).expect("small enough");
        let timed = Timed { processing, drift, ..Timed::of(delay, durations(&rules, ticks)) };
        let timing = Timing::Timed(timed);
        let world = World::new(rules, Scenario { timing, ..surrounding }).expect("possible");
        let mut state = world.initial();
        for choice in choices {
            consistent(&world, &state);
            let action = *choice.get(&world.actions(&state));
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
        let all = durations(&variant.rules, 1);
        let with = |durations| {
            let timing = Timing::Timed(Timed::of(Delay::AtMost(1), durations));
            World::new(variant.rules, Scenario { timing, ..Scenario::calm(3) }).map(drop)
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
fn scenarios_of_timed_worlds_survive_their_json() {
    for clock in ["--delay 2 --processing 1 --within 7", "--delay unbounded --capacity none"] {
        let line = format!("bully --timing timed {clock} --t-elec 6 --t-coord 9 --t-detect 0");
        let scenario = world(&format!("{line} --t-heartbeat 3")).scenario();
        let text = serde_json::to_string(&scenario).expect("JSON");
        assert_eq!(serde_json::from_str::<Scenario>(&text).expect("the same"), scenario, "{text}");
    }
    let short = r#"{"nodes":3,"timing":{"timed":{"delay":"soon","durations":{}}}}"#;
    let refused = serde_json::from_str::<Scenario>(short).expect_err("no delay").to_string();
    assert!(refused.contains("unbounded"), "{refused}");
}

/// The story of what violates the one property that is asked, whose trace is read as it is written.
fn story(report: &Report) -> String {
    let property = &report.decisions[0].property;
    let found = shown(report, property.name);
    let trace = found.trace(&report.world, property);
    assert_eq!(read_again(&report.world, &trace), found.steps);
    tell(&trace)
}

#[test]
fn a_timed_execution_is_told_saved_and_replayed() {
    let line = "bully --variant baseline --timing timed -p at-most-one-leader";
    let told = story(&report(&format!("{line} --delay 2 --t-elec 4 --t-coord 8 --t-detect 1")));
    assert!(told.contains(" ticks pass. ") && told.contains("4 have passed so far."), "{told}");
    let paused = "--pauses 1 --drift 1/10 --delay 1 --t-elec 3 --t-coord 5 --t-detect 2";
    let report = report(&format!("{line} {paused}"));
    let said = report.world.scenario().to_string();
    assert!(said.contains("1 pause;") && said.contains("drift 1/10"), "{said}");
    let told = story(&report);
    assert!(told.contains(" is paused.") && told.contains("(paused)"), "{told}");
    let world = clocked("--jumps 2 --jump 3");
    let said = world.scenario().to_string();
    assert!(said.contains("2 jumps (a clock jumps ahead or back by 3 ticks)"), "{said}");
    let state = go(&world, &world.initial(), &["3 crashes", "2's watch timer expires"]);
    let notices = world.actions(&go(&world, &world.initial(), &["3 crashes"]));
    let notices = notices.into_iter().find(|one| one.to_string() == "2's watch timer expires");
    let jumps = [Action::Jump(TWO, 3), Action::Jump(TWO, -3)];
    assert!(world.actions(&state).contains(&jumps[0]));
    let [ahead, back] = jumps;
    let actions = [Action::Crash(THREE), notices.expect("it may"), ahead, back];
    let trace = Trace::record(&world, &actions, None);
    assert_eq!(read_again(&world, &trace), actions);
    for told in ["P2's clock jumps ahead by 3 ticks.", "P2's clock jumps back by 3 ticks."] {
        assert!(tell(&trace).contains(told), "{}", tell(&trace));
    }
}

#[test]
fn properties_of_timed_worlds_are_not_asked_elsewhere() {
    let names = |world: &World| {
        let asked = property::select(world, &[]).expect("all of them");
        asked.iter().map(|property| property.name).collect::<Vec<_>>()
    };
    assert!(!names(&world("bully --variant baseline")).contains(&TIMEOUTS_ACCURATE));
    assert_eq!(names(&clocked("")).last(), Some(&TIMEOUTS_ACCURATE));
    assert_eq!(names(&clocked("--within 9")).last(), Some(&AGREED_WITHIN));
}

/// The flags of a clock with the durations that a protocol says are enough, one of them a tick
/// shorter.
fn enough(protocol: &str, shorter: Option<&str>) -> String {
    let enough = REGISTRY.find(protocol).expect("the protocol exists").enough().into_iter();
    let flags = enough.map(|(name, ticks)| {
        let ticks = ticks - u8::from(shorter == Some(name));
        format!(" --{name} {ticks}")
    });
    format!("--timing timed --delay 1{}", flags.collect::<String>())
}

/// With the durations that a protocol says are enough, perfect timing speaks of its rules.
#[test]
fn what_is_enough_is_what_perfect_timing_assumes() {
    let mut asked = Vec::new();
    for protocol in REGISTRY.iter().filter(|protocol| !protocol.enough().is_empty()) {
        let (name, all) = (protocol.name(), "-p timeouts-accurate -p periods-accurate");
        let report = report(&format!("{name} {} {all}", enough(name, None)));
        assert!(violated(&report).is_empty(), "{name}");
        asked.push(name);
    }
    assert!(asked.len() >= 10, "{asked:?}");
}

/// Worlds in which what is called enough is, and the durations of which one tick less is not.
const ENOUGH: [(&str, &str, &[&str]); 7] = [
    ("invitation", "--nodes 2 --recoveries 1 -p timeouts-accurate", &["t-answer"]),
    ("invitation", "--recoveries 1 -p timeouts-accurate", &["t-accept", "t-delay"]),
    ("chang-roberts", "-p timeouts-accurate -p periods-accurate", &["t-hop", "t-lap"]),
    ("list-ring", "-p timeouts-accurate -p periods-accurate", &["t-hop", "t-lap"]),
    (
        "lease",
        "--nodes 2 -p at-most-one-leader -p no-stale-write -p settles -p timeouts-accurate",
        &[],
    ),
    ("lease", "--nodes 2 --crashes 0 --cuts 1 -p at-most-one-leader", &["t-grant"]),
    ("stoller", "--recoveries 1 -p stabilises", &["t-ask"]),
];

#[test]
fn what_is_called_enough_is_no_longer_than_it_must_be() {
    for (protocol, world, needed) in ENOUGH {
        let all = std::iter::once((None, Verdict::Holds));
        let less = needed.iter().map(|name| (Some(*name), Verdict::Violated));
        for (shorter, verdict) in all.chain(less) {
            let line = format!("{protocol} {world} {}", enough(protocol, shorter));
            // With too short a time-out, a world may have no end.
            let first = Options { first: true, ..Options::default() };
            assert_eq!(report_by(&line, &first).verdict(), verdict, "{line}");
        }
    }
}

//! Pauses and clocks that drift: what they do to time, that nothing is lost in them, and that all
//! searches know them.

use bellwether_model::check::{Engine, Options, Report, check};
use bellwether_model::machine;
use bellwether_model::property;
use bellwether_model::protocol::Id;
use bellwether_model::protocol::bully::{Bully, Message, Timer};
use bellwether_model::report::story::tell;
use bellwether_model::trace::Trace;
use bellwether_model::world::{
    Action, Delay, Drift, Durations, Envelope, Faults, Network, Scenario, Slow, State, Timed,
    Timing, World, WorldError,
};

const ONE: Id = Id::at(0);
const TWO: Id = Id::at(1);
const THREE: Id = Id::at(2);

/// The baseline of the bully, with durations that are enough as long as no process is paused and no
/// clock drifts.
fn scenario(pauses: u8, drift: &str) -> Scenario {
    let drift: Drift = drift.parse().expect("a ratio");
    let durations = [("t-elec", 3), ("t-coord", 5), ("t-detect", 2)];
    let durations = Durations::of(durations).expect("short names");
    let timed = Timed {
        delay: Delay::AtMost(1),
        slow: Slow::NONE,
        processing: 0,
        drift,
        durations,
        within: None,
    };
    let faults = Faults { crashes: 1, pauses, ..Faults::NONE };
    Scenario { timing: Timing::Timed(timed), faults, ..Scenario::calm(3) }
}

fn world(scenario: Scenario) -> World {
    World::new(Bully::BASELINE, scenario).expect("possible")
}

fn ask(scenario: Scenario, name: &str, engine: Engine) -> Report {
    let world = world(scenario);
    let asked = property::select(&world, &[name.to_owned()]).expect("it can be asked");
    let options = Options { engine, ..Options::default() };
    check(&world, &asked, &options, &mut |_| {}).expect("something is asked")
}

fn enabled(world: &World, state: &State) -> Vec<Action> {
    let mut actions = Vec::new();
    world.enabled(state, &mut actions);
    actions
}

/// Takes these steps from the beginning, each of which must be possible.
fn after(world: &World, actions: &[Action]) -> State {
    actions.iter().fold(world.initial(), |state, action| {
        assert!(enabled(world, &state).contains(action), "{action}: {state:?}");
        world.apply(&state, action).state
    })
}

fn expires(id: Id, timer: Timer) -> Action {
    Action::Expire { id, timer: machine::Timer::of::<Bully>(timer), early: false }
}

fn sent(from: Id, to: Id, message: Message) -> Envelope {
    Envelope::of::<Bully>(from, to, message)
}

#[test]
fn what_is_sent_to_somebody_who_is_paused_waits_and_arrives_in_the_end() {
    let world = world(scenario(1, "0"));
    let asked = [Action::Crash(THREE), Action::Pause(TWO)];
    let state = after(&world, &asked);
    let notices = expires(ONE, Timer::Watch);
    let waiting = world.apply(&state, &notices).state;
    let election = sent(ONE, TWO, Message::Election);
    let mut state = waiting;
    for _ in 0..3 {
        assert!(!enabled(&world, &state).contains(&Action::Deliver(election)), "{state:?}");
        assert!(state.in_flight().contains(&election));
        // What is sent to 3, which is down, arrives like anything else.
        for e in state.in_flight().to_vec().into_iter().filter(|e| e.to == THREE) {
            state = world.apply(&state, &Action::Deliver(e)).state;
        }
        state = world.apply(&state, &Action::Tick).state;
    }
    let awake = world.apply(&state, &Action::Resume(TWO)).state;
    assert!(enabled(&world, &awake).contains(&Action::Deliver(election)), "{awake:?}");
    assert!(!enabled(&world, &awake).contains(&Action::Tick), "it is late already: {awake:?}");
}

/// Its detector has long had to notice that 3 is gone, and the clock has not waited for it.
#[test]
fn whoever_is_paused_takes_no_step_and_holds_no_time_up() {
    let world = world(scenario(1, "0"));
    let tick = [Action::Tick; 6];
    let state = after(&world, &[&[Action::Crash(THREE), Action::Pause(TWO)], &tick[..2]].concat());
    let others: Vec<_> =
        enabled(&world, &state).into_iter().filter(|a| a.to_string().starts_with("2")).collect();
    assert_eq!(others, [Action::Resume(TWO)]);
    assert!(!enabled(&world, &state).contains(&Action::Tick), "1 has to notice: {state:?}");
    let both = Faults { crashes: 1, pauses: 2, ..Faults::NONE };
    let world =
        World::new(Bully::BASELINE, Scenario { faults: both, ..world.scenario() }).expect("one");
    let stopped = [Action::Crash(THREE), Action::Pause(TWO), Action::Pause(ONE)];
    let state = after(&world, &[&stopped, &tick[..]].concat());
    assert_eq!(enabled(&world, &state), [Action::Tick, Action::Resume(ONE), Action::Resume(TWO)]);
    let awake = world.apply(&state, &Action::Resume(TWO)).state;
    assert_eq!(enabled(&world, &awake), [expires(TWO, Timer::Watch), Action::Resume(ONE)]);
}

#[test]
fn a_pause_keeps_everything_but_the_time() {
    let world = world(scenario(1, "0"));
    let before = after(&world, &[Action::Crash(THREE)]);
    let paused = world.apply(&before, &Action::Pause(TWO)).state;
    assert!(paused.paused(TWO) && !paused.paused(ONE));
    let again = world.apply(&paused, &Action::Resume(TWO)).state;
    assert_eq!(again.process(TWO), before.process(TWO));
    assert_eq!(again.timers(TWO), before.timers(TWO));
    let watch = machine::Timer::of::<Bully>(Timer::Watch);
    assert_eq!(again.clock(TWO, watch), before.clock(TWO, watch));
    assert_eq!(again.spent().pauses, 1);
    assert!(!enabled(&world, &again).contains(&Action::Pause(TWO)), "the budget is spent");
}

/// A crash may be noticed at once, a pause only after some time.
#[test]
fn a_pause_of_no_time_trips_no_detector() {
    let world = world(scenario(1, "0"));
    let may_notice = |actions: &[_]| {
        enabled(&world, &after(&world, actions)).contains(&expires(TWO, Timer::Watch))
    };
    assert!(may_notice(&[Action::Crash(THREE)]));
    assert!(!may_notice(&[Action::Pause(THREE)]));
    assert!(may_notice(&[Action::Pause(THREE), Action::Tick]));
    assert!(!may_notice(&[Action::Pause(THREE), Action::Tick, Action::Resume(THREE)]));
}

#[test]
fn nobody_stays_paused_for_ever_and_nobody_rests_meanwhile() {
    let world = world(scenario(1, "0"));
    let paused = after(&world, &[Action::Pause(ONE)]);
    assert!(world.is_fair(&Action::Resume(ONE)) && !world.is_fair(&Action::Pause(ONE)));
    assert!(world.is_quiescent(&world.initial()) && !world.is_quiescent(&paused));
}

#[test]
fn whoever_is_paused_may_crash_and_comes_back_awake() {
    let scenario = Scenario {
        faults: Faults { recoveries: 1, ..scenario(1, "0").faults },
        ..scenario(1, "0")
    };
    let world = world(scenario);
    let state = after(&world, &[Action::Pause(ONE), Action::Crash(ONE)]);
    assert!(!state.paused(ONE) && !enabled(&world, &state).contains(&Action::Resume(ONE)));
    let back = world.apply(&state, &Action::Recover(ONE)).state;
    assert!(back.up(ONE) && !back.paused(ONE));
}

#[test]
fn pauses_need_a_clock() {
    for (timing, why) in
        [(Timing::Perfect, "no answer is late"), (Timing::Asynchronous, "adds nothing")]
    {
        let scenario = Scenario { timing, ..scenario(1, "0") };
        let refused = World::new(Bully::BASELINE, scenario).map(drop).expect_err("no clock");
        assert_eq!(refused, WorldError::PausesUntimed { timing: timing.kind() });
        assert!(refused.to_string().contains(why), "{refused}");
    }
}

/// d/(1+ρ) and d/(1−ρ), rounded outwards; by hand.
#[test]
fn a_drifting_clock_is_early_or_late_by_its_ratio() {
    let window = |drift: &str, ticks| drift.parse::<Drift>().expect("a ratio").window(ticks);
    assert_eq!(window("0", 7), (7, 7));
    assert_eq!(window("10%", 10), (9, 12));
    assert_eq!(window("1/10", 11), (10, 13));
    assert_eq!(window("1/10", 9), (8, 10));
    assert_eq!(window("1/3", 4), (3, 6));
    assert_eq!(window("1/2", 100), (66, 200));
    assert_eq!(window("1/100", 1), (1, 2), "what takes time at all takes a tick");
    assert_eq!(window("1/2", 0), (0, 0));
}

#[test]
fn a_drift_is_a_ratio_up_to_a_half() {
    assert_eq!("2/20".parse(), Drift::of(1, 10));
    assert_eq!("20%".parse(), Drift::of(1, 5));
    assert_eq!("0%".parse(), Ok(Drift::NONE));
    for wrong in ["2/3", "51%", "1", "1/0", "-1/10", "0.1", "", "/", "%"] {
        assert!(wrong.parse::<Drift>().is_err(), "{wrong}");
    }
}

/// From the first tick of its window on it may, at the last it must.
#[test]
fn a_timer_expires_anywhere_in_its_window() {
    let world = world(scenario(0, "1/3"));
    let held = expires(TWO, Timer::Election);
    let mut state = after(&world, &[Action::Crash(THREE), expires(TWO, Timer::Watch)]);
    for e in state.in_flight().to_vec() {
        state = world.apply(&state, &Action::Deliver(e)).state;
    }
    let one = expires(ONE, Timer::Watch);
    state = world.apply(&state, &one).state;
    // 1's own election ends at once: it cannot be the one that the clock waits for.
    for e in [(ONE, THREE), (ONE, TWO)].map(|(from, to)| sent(from, to, Message::Election)) {
        state = world.apply(&state, &Action::Deliver(e)).state;
    }
    let ok = sent(TWO, ONE, Message::Ok);
    state = world.apply(&state, &Action::Deliver(ok)).state;
    let may: Vec<_> = (0..=5)
        .map(|_| {
            let actions = enabled(&world, &state);
            let now = (actions.contains(&held), actions.contains(&Action::Tick));
            state = world.apply(&state, &Action::Tick).state;
            now
        })
        .collect();
    // 3 ticks at a third: 3/(4/3) is 2.25, 3/(2/3) is 4.5.
    let (no, may_be, must) = ((false, true), (true, true), (true, false));
    assert_eq!(may, [no, no, may_be, may_be, may_be, must]);
}

/// With liveness asked, both searches run, and `check` fails if they count differently.
#[test]
fn stateright_and_the_state_graph_count_the_same() {
    let set = Scenario { network: Network::Set, ..scenario(1, "0") };
    let two = |scenario| Scenario { nodes: 2, ..scenario };
    for scenario in [two(scenario(1, "0")), two(scenario(2, "1/4")), two(set), scenario(0, "1/4")] {
        let report = ask(scenario, "stabilises", Engine::Bfs);
        assert!(report.counts.distinct > 20, "{scenario}: {:?}", report.counts);
    }
}

#[test]
fn pauses_and_drift_stand_in_dials_traces_and_stories() {
    let report = ask(scenario(1, "1/10"), "at-most-one-leader", Engine::Exact);
    let said = report.world.scenario().to_string();
    assert!(said.contains("1 pause;") && said.contains("drift 1/10"), "{said}");
    let decision = &report.decisions[0];
    let found = decision.counterexample.as_ref().expect("it is violated");
    let trace = found.trace(&report.world, &decision.property);
    let mut file = Vec::new();
    trace.write(&mut file).expect("it is written");
    let again = Trace::read(file.as_slice()).expect("it is read");
    assert_eq!(again, trace);
    assert_eq!(again.actions(&report.world).expect("it can happen"), found.steps);
    assert!(found.steps.iter().any(|step| matches!(step, Action::Pause(_))));
    let story = tell(&trace);
    assert!(story.contains(" is paused.") && story.contains("(paused)"), "{story}");
}

fn jumping(jumps: u8, jump: u8) -> Scenario {
    let faults = Faults { crashes: 1, jumps, ..Faults::NONE };
    Scenario { faults, jump, ..scenario(0, "0") }
}

#[test]
fn a_clock_that_jumps_moves_the_timers_of_its_process_and_nothing_else() {
    let election = machine::Timer::of::<Bully>(Timer::Election);
    for (jump, left) in [(2, [1, 5]), (5, [0, 8])] {
        let world = world(jumping(1, jump));
        let state = after(&world, &[Action::Crash(THREE), expires(TWO, Timer::Watch)]);
        assert_eq!(state.clock(TWO, election), Some(3));
        for (by, left) in [i16::from(jump), -i16::from(jump)].into_iter().zip(left) {
            let jump = Action::Jump(TWO, by);
            assert!(enabled(&world, &state).contains(&jump) && !world.is_fair(&jump));
            let after = world.apply(&state, &jump).state;
            assert_eq!(after.clock(TWO, election), Some(left), "{jump}");
            assert_eq!(after.in_flight(), state.in_flight());
            assert_eq!(after.ticks_left(), state.ticks_left());
            let more = enabled(&world, &after);
            assert!(!more.iter().any(|next| matches!(next, Action::Jump(..))), "{more:?}");
            // What has run out happens before the clock goes on.
            let runs_out = more.contains(&expires(TWO, Timer::Election));
            assert_eq!(runs_out, left == 0, "{jump}");
            assert!(!runs_out || !more.contains(&Action::Tick), "{more:?}");
        }
    }
}

#[test]
fn jumps_need_a_clock_a_size_and_room() {
    let refused = |scenario| World::new(Bully::BASELINE, scenario).map(drop);
    let untimed = Scenario { timing: Timing::Perfect, ..jumping(1, 2) };
    assert_eq!(refused(untimed), Err(WorldError::JumpsUntimed));
    assert_eq!(refused(jumping(1, 0)), Err(WorldError::NoJump));
    let far = refused(jumping(100, 9));
    assert_eq!(far, Err(WorldError::JumpsTooFar { jump: 9, ticks: 905 }));
    assert_eq!(refused(jumping(0, 0)), Ok(()));
}

#[test]
fn a_jump_is_told_saved_and_replayed() {
    let world = world(jumping(2, 3));
    let said = world.scenario().to_string();
    assert!(said.contains("2 jumps (a clock jumps ahead or back by 3 ticks)"), "{said}");
    let actions = [
        Action::Crash(THREE),
        expires(TWO, Timer::Watch),
        Action::Jump(TWO, 3),
        Action::Jump(TWO, -3),
    ];
    let trace = Trace::record(&world, &actions, None);
    let mut file = Vec::new();
    trace.write(&mut file).expect("it is written");
    let again = Trace::read(file.as_slice()).expect("it is read");
    assert_eq!(again, trace);
    assert_eq!(again.actions(&world).expect("it can happen"), actions);
    let story = tell(&trace);
    assert!(story.contains("2's clock jumps ahead by 3 ticks."), "{story}");
    assert!(story.contains("2's clock jumps back by 3 ticks."), "{story}");
}

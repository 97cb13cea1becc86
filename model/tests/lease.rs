//! The lease: what each telling keeps in the worlds that matter, and how long leases must be.

use Verdict::{Holds, Violated};
use bellwether_model::check::{Engine, Options, Report, Verdict, check};
use bellwether_model::machine::machine;
use bellwether_model::property;
use bellwether_model::protocol::lease::{
    Acquire, Answers, Count, Expiry, Fence, Lease, Release, Renewal, StoreFault,
};
use bellwether_model::trace::Trace;
use bellwether_model::tune::Question;
use bellwether_model::world::{
    Delay, Drift, Durations, Faults, Network, Scenario, Slow, Start, Timed, Timing, World,
};

pub(crate) const AMO: &str = "at-most-one-leader";
pub(crate) const GRANT: &str = "one-grant";
const FENCE: &str = "tokens-grow";
pub(crate) const FRESH: &str = "no-stale-write";

fn ask(rules: Lease, scenario: Scenario, name: &str) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let asked = property::select(&world, &[name.to_owned()]).expect("it can be asked");
    check(&world, &asked, &Options::default(), &mut |_| {}).expect("something is asked")
}

pub(crate) fn verdict(rules: Lease, scenario: Scenario, name: &str) -> Verdict {
    ask(rules, scenario, name).verdict()
}

pub(crate) fn variant(name: &str) -> Lease {
    bellwether_model::protocol::variant(name, &[]).expect("there is one")
}

/// How long a holder counts its lease, and the store. A holder renews its lease a tick after an
/// answer to the last request must have come.
fn timed(holder: u8, grant: u8, delay: u8, drift: Drift) -> Timing {
    let renew = 2 * delay + 1;
    let all = [("t-holder", holder), ("t-grant", grant), ("t-renew", renew), ("t-retry", 2)];
    clocks(&all, delay, drift)
}

/// So long is everything, and so long may a message take.
pub(crate) fn clocks(all: &[(&str, u8)], delay: u8, drift: Drift) -> Timing {
    let durations = Durations::of(all.iter().copied()).expect("short names");
    let delay = Delay::AtMost(delay);
    Timing::Timed(Timed { delay, slow: Slow::NONE, processing: 0, drift, durations, within: None })
}

/// Two clients that know how long a message takes, and these faults.
fn two(holder: u8, grant: u8, faults: Faults) -> Scenario {
    Scenario { timing: timed(holder, grant, 1, Drift::NONE), faults, ..Scenario::calm(2) }
}

pub(crate) const CUT: Faults = Faults { cuts: 1, ..Faults::NONE };
pub(crate) const PAUSE: Faults = Faults { pauses: 1, ..Faults::NONE };

#[test]
fn crashes_recoveries_and_losses_break_nothing() {
    let with = |faults| Scenario { faults, ..Scenario::calm(3) };
    let worlds = [
        with(Faults { crashes: 1, ..Faults::NONE }),
        with(Faults { crashes: 1, recoveries: 1, ..Faults::NONE }),
        with(Faults { losses: 1.into(), ..Faults::NONE }),
        with(Faults { duplicates: 1, ..Faults::NONE }),
        with(Faults { cuts: 1, ..Faults::NONE }),
        Scenario { start: Start::Cold, ..with(Faults { crashes: 1, ..Faults::NONE }) },
        Scenario { network: Network::Unordered, ..Scenario::calm(2).with_crashes(1, 1) },
    ];
    for scenario in worlds {
        for name in [AMO, GRANT, FENCE, FRESH, "agreement"] {
            assert_eq!(verdict(Lease::RECOMMENDED, scenario, name), Holds, "{name} in {scenario}");
        }
    }
}

#[test]
fn a_holder_that_crashes_is_succeeded() {
    for scenario in [Scenario::calm(3).with_crashes(1, 0), Scenario::calm(3).with_crashes(1, 1)] {
        for name in ["settles", "succession", "decided", "lowest-can-lead"] {
            assert_eq!(verdict(Lease::RECOMMENDED, scenario, name), Holds, "{name} in {scenario}");
        }
    }
    let alone = Scenario::calm(2);
    assert_eq!(verdict(Lease::RECOMMENDED, alone, "lowest-can-lead"), Violated);
}

/// The fence lets through what no client has overtaken yet, unless it knows of the grant.
#[test]
fn a_pause_makes_two_holders_and_only_the_fence_tells_them_apart() {
    let scenario = two(8, 10, PAUSE);
    let found = |name: &str| {
        [AMO, GRANT, FENCE, FRESH].map(|property| verdict(variant(name), scenario, property))
    };
    assert_eq!(found("recommended"), [Violated, Holds, Holds, Holds]);
    assert_eq!(found("fenced"), [Violated, Holds, Holds, Violated]);
    assert_eq!(found("unfenced"), [Violated, Holds, Violated, Violated]);
    let calm = two(8, 10, Faults { crashes: 1, ..Faults::NONE });
    for property in [AMO, FENCE, FRESH] {
        assert_eq!(verdict(variant("unfenced"), calm, property), Holds, "{property}");
    }
}

/// A holder that is cut off counts its lease by its own clock, and the store by its own. One of
/// them jumps once: the store's ahead, or the holder's back. What the store's lease is longer by
/// bears it.
#[test]
fn a_clock_that_jumps_under_a_lease_makes_two_holders() {
    let rules = Lease { count: Count::BeforeSending, ..Lease::RECOMMENDED };
    let faults = Faults { jumps: 1, ..CUT };
    for (holder, grant, enough) in [(8, 10, 1), (8, 11, 2)] {
        let with = |jump| Scenario { jump, ..two(holder, grant, faults) };
        let found = [enough, enough + 1].map(|jump| verdict(rules, with(jump), AMO));
        assert_eq!(found, [Holds, Violated], "{grant} against {holder}");
    }
    let scenario = Scenario { jump: 2, ..two(8, 10, faults) };
    assert_eq!(verdict(variant("recommended"), scenario, FRESH), Holds, "the fence knows");
}

/// The store's lease must be longer than the holder's even if its clock is as fast, and the
/// holder's as slow, as may be: L_h/(1−ρ) < L_g/(1+ρ), and the delay of the answer more where the
/// holder counts from that. One tick less is too short, in each row of the page's table.
#[test]
fn the_stores_lease_must_be_longer_than_the_holders_by_the_drift_and_the_delay() {
    let rows = [
        (Count::BeforeSending, 8, 1, Drift::NONE, 9),
        (Count::FromReceipt, 8, 1, Drift::NONE, 10),
        (Count::FromReceipt, 8, 2, Drift::NONE, 11),
        (Count::BeforeSending, 8, 1, Drift::of(1, 5).expect("small"), 14),
    ];
    for (count, holder, delay, drift, enough) in rows {
        let late = if count == Count::FromReceipt { delay } else { 0 };
        let lasts = drift.window(holder.into()).1 + u32::from(late);
        let formula = (1..=40_u8).find(|&ticks| drift.window(ticks.into()).0 > lasts);
        assert_eq!(formula, Some(enough), "{count:?} of {holder}, Tm {delay}, drift {drift}");
        let rules = Lease { count, ..Lease::RECOMMENDED };
        let with = |grant| {
            let timing = timed(holder, grant, delay, drift);
            verdict(rules, Scenario { timing, faults: CUT, ..Scenario::calm(2) }, AMO)
        };
        let found = (with(enough - 1), with(enough));
        assert_eq!(found, (Violated, Holds), "{count:?} of {holder}, Tm {delay}, drift {drift}");
    }
}

/// What `tune` finds is the same.
#[test]
fn the_smallest_lease_of_the_store_is_found() {
    let durations = [("t-holder", 8), ("t-renew", 3), ("t-retry", 2)];
    let durations = Durations::of(durations).expect("short names");
    let delay = Delay::AtMost(1);
    let question = Question {
        rules: machine(Lease::RECOMMENDED),
        scenario: Scenario { faults: CUT, ..Scenario::calm(2) },
        given: Timed::of(delay, durations),
        sought: vec!["t-grant"],
        property: AMO.to_owned(),
        most: 12,
        options: Options::default(),
    };
    let row = question.row((1, 0), &mut |_, _, _| {}).expect("possible");
    assert_eq!(row.ticks("t-grant"), Some(9));
}

#[test]
fn each_rule_is_there_for_a_reason() {
    let base = Lease::RECOMMENDED;
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(2) };
    let set = Lease { acquire: Acquire::ReadThenWrite, ..base };
    assert_eq!((verdict(base, cold, GRANT), verdict(set, cold, GRANT)), (Holds, Violated));

    let local = Lease { renewal: Renewal::Assumes, ..base };
    let cut = two(8, 10, CUT);
    assert_eq!((verdict(base, cut, AMO), verdict(local, cut, AMO)), (Holds, Violated));

    let stays = Lease { expiry: Expiry::Ignores, ..base };
    assert_eq!(verdict(stays, cut, AMO), Violated);

    // An answer may come when it is no longer waited for, and another one is.
    let slow = Scenario { timing: timed(3, 4, 2, Drift::NONE), ..Scenario::calm(2) };
    let any = Lease { answers: Answers::Any, ..base };
    assert_eq!((verdict(base, slow, AMO), verdict(any, slow, AMO)), (Holds, Violated));
}

/// A holder that gives its lease back while it works is not alone any more. The fence still knows
/// whose turn it is.
#[test]
fn a_lease_is_given_back_when_the_work_has_ended() {
    let asked = |release| Lease { release, asked: true, ..Lease::RECOMMENDED };
    let calm = Scenario::calm(2);
    let safe = [AMO, GRANT, FENCE, FRESH];
    let found = |release| safe.map(|name| verdict(asked(release), calm, name));
    assert_eq!(found(Release::AtOnce), [Violated, Holds, Holds, Holds]);
    let duplicates = Faults { duplicates: 1, ..Faults::NONE };
    let worlds = [
        Scenario::calm(3),
        Scenario::calm(2).with_crashes(1, 1),
        Scenario { faults: Faults { losses: 1.into(), ..Faults::NONE }, ..calm },
        Scenario { faults: duplicates, network: Network::Unordered, ..calm },
    ];
    for scenario in worlds {
        for name in safe.into_iter().chain(["settles", "succession", "decided"]) {
            for release in [Release::Never, Release::AfterWork] {
                let found = verdict(asked(release), scenario, name);
                assert_eq!(found, Holds, "{release:?}: {name} in {scenario}");
            }
        }
    }
}

#[test]
fn a_store_that_crashes_must_remember() {
    let with = |store| Lease { store, ..Lease::RECOMMENDED };
    let (keeps, forgets) = (with(StoreFault::CrashesAndKeeps), with(StoreFault::CrashesAndForgets));
    let worlds = [
        (AMO, Scenario::calm(2).with_crashes(1, 1)),
        (FENCE, Scenario::calm(2).with_crashes(2, 1)),
    ];
    for (name, scenario) in worlds {
        assert_eq!(verdict(keeps, scenario, name), Holds, "{name}");
        assert_eq!(verdict(forgets, scenario, name), Violated, "{name}");
    }
    let gone = Scenario::calm(2).with_crashes(1, 0);
    assert_eq!(verdict(keeps, gone, "settles"), Violated, "a single point of failure");
    assert_eq!(verdict(Lease::RECOMMENDED, gone, "settles"), Holds);
}

/// By default `tune` asks when time-outs are accurate; these durations are enough for the survey.
#[test]
fn enough_is_enough() {
    use bellwether_model::protocol::enough;
    let durations = Durations::of(enough::<Lease>()).expect("short names");
    let delay = Delay::AtMost(1);
    let timed = Timed::of(delay, durations);
    let scenario =
        Scenario { timing: Timing::Timed(timed), ..Scenario::calm(2).with_crashes(1, 0) };
    for name in [AMO, FRESH, "settles", "timeouts-accurate"] {
        assert_eq!(verdict(Lease::RECOMMENDED, scenario, name), Holds, "{name}");
    }
}

/// With liveness asked, both searches run, and `check` fails if they count differently.
#[test]
fn stateright_and_the_state_graph_count_the_same() {
    let drift = Drift::of(1, 4).expect("small");
    let drifting = Scenario { timing: timed(8, 14, 1, drift), ..two(8, 14, CUT) };
    for scenario in [Scenario::calm(2).with_crashes(1, 1), two(8, 10, PAUSE), drifting] {
        let world = World::new(Lease::RECOMMENDED, scenario).expect("possible");
        let asked = property::select(&world, &["settles".to_owned()]).expect("it can be asked");
        let options = Options { engine: Engine::Bfs, ..Options::default() };
        let report = check(&world, &asked, &options, &mut |_| {}).expect("both count the same");
        assert!(report.counts.distinct > 100, "{scenario}: {:?}", report.counts);
    }
}

/// Tokens and requests are told by the names that the processes know.
#[test]
fn a_stale_write_is_told_in_plain_names() {
    let report = ask(variant("fenced"), two(8, 10, PAUSE), FRESH);
    let decision = &report.decisions[0];
    let found = decision.counterexample.as_ref().expect("it is violated");
    let trace = found.trace(&report.world, &decision.property);
    let world: World = trace.world::<Lease>().expect("the same world");
    let actions = trace.actions(&world).expect("it can happen");
    let state = actions.iter().fold(world.initial(), |state, a| world.apply(&state, a).state);
    let store = state.ids().last().expect("the store");
    assert_eq!(state.process_of::<Lease>(store).written.0, 1, "the first holder's");
    assert_eq!(state.process_of::<Lease>(store).token.0, 2, "the second one's");
    let mut file = Vec::new();
    trace.write(&mut file).expect("it is written");
    assert_eq!(Trace::read(file.as_slice()).expect("it is read"), trace);
}

#[test]
fn the_variants_differ_in_what_they_say_they_do() {
    assert_eq!(variant("unfenced").fence, Fence::None);
    assert_eq!(variant("from-receipt").count, Count::FromReceipt);
    assert_eq!(variant("lesson").renewal, Renewal::Assumes);
}

//! The lease: which durations are enough, what `tune` finds, that all searches count the same, and
//! that a stale write is told. What each telling keeps in which world is `model/verdicts/lease.toml`.

use bellwether_model::check::{Engine, Options, Report, Verdict, check};
use bellwether_model::machine::machine;
use bellwether_model::property;
use bellwether_model::protocol::lease::{Count, Fence, Lease, Renewal};
use bellwether_model::trace::Trace;
use bellwether_model::tune::Question;
use bellwether_model::world::{
    Delay, Drift, Durations, Faults, Scenario, Slow, Timed, Timing, World,
};

const AMO: &str = "at-most-one-leader";
const FRESH: &str = "no-stale-write";

fn ask(rules: Lease, scenario: Scenario, name: &str) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let asked = property::select(&world, &[name.to_owned()]).expect("it can be asked");
    check(&world, &asked, &Options::default(), &mut |_| {}).expect("something is asked")
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

const CUT: Faults = Faults { cuts: 1, ..Faults::NONE };
const PAUSE: Faults = Faults { pauses: 1, ..Faults::NONE };

/// `tune` finds the lease of which one tick less is violated in `model/verdicts/lease.toml`.
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
    let row = question.row(1, 0, &mut |_, _, _| {}).expect("possible");
    assert_eq!(row.ticks("t-grant"), Some(9));
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
        let found = ask(Lease::RECOMMENDED, scenario, name).verdict();
        assert_eq!(found, Verdict::Holds, "{name}");
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

//! The formulas of liveness on the bully: what the fairness of deliveries has to do with them, and
//! where they say nothing. Which of them hold where is `model/verdicts/bully.toml`.

use bellwether_model::check::{Options, Reason, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::REGISTRY;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{
    Budget, Delay, DeliveryFairness, Drift, Durations, Faults, Network, Scenario, Slow, Timed,
    Timing, World, WorldError,
};

const LIVENESS: [&str; 4] = ["stabilises", "leader-emerges", "leader-recurs", "failover"];

fn report(rules: Bully, scenario: Scenario) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let named = LIVENESS.map(str::to_owned);
    let properties = property::select(&world, &named).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

/// A crash, and links that lose as much as they like.
fn lossy(network: Network) -> Scenario {
    let faults = Faults { crashes: 1, losses: Budget::Unbounded, ..Faults::NONE };
    let fairness = DeliveryFairness::Weak;
    Scenario { faults, fairness, network, capacity: Some(3), ..Scenario::calm(3) }
}

/// Time-outs that are long enough where no message is lost.
fn timed() -> Timing {
    let durations = [("t-elec", 3), ("t-coord", 10), ("t-detect", 4), ("t-heartbeat", 3)];
    let durations = Durations::of(durations).expect("short names");
    let (delay, drift) = (Delay::AtMost(1), Drift::NONE);
    Timing::Timed(Timed { delay, slow: Slow::NONE, processing: 0, drift, durations, within: None })
}

/// With `--fairness strong` it gets through: `model/verdicts/bully.toml`.
#[test]
fn a_repeated_announcement_may_be_lost_for_ever() {
    for network in [Network::Fifo, Network::Set] {
        let timed = Scenario { timing: timed(), ..lossy(network) };
        let weak = report(Bully::RECOMMENDED, timed);
        let lasso = weak.decisions[0].counterexample.as_ref().expect("it is violated");
        let cycle: Vec<_> = lasso.cycle.iter().flatten().map(ToString::to_string).collect();
        let again = |step: &str| cycle.iter().any(|one| one == step);
        assert!(again("COORDINATOR from 2 to 1 is lost"), "{cycle:?}");
        assert!(again("2's heartbeat timer expires") && again("a tick passes"), "{cycle:?}");
        assert!(!again("1 gets COORDINATOR from 2"), "{cycle:?}");
    }
}

/// With perfect timing a lost heartbeat raises no suspicion, for the next could always still come.
/// So nothing would ever be noticed where any number may be lost: no verdict is given.
#[test]
fn losses_without_bound_are_refused_with_perfect_timing_where_a_message_is_repeated() {
    let mut accepted = Vec::new();
    for protocol in REGISTRY.iter() {
        for variant in protocol.variants() {
            let rules = protocol.rules(Some(variant.name), &[]).expect("it is a variant");
            let scenario = lossy(Network::Fifo);
            let asynchronous = Scenario { timing: Timing::Asynchronous, ..scenario };
            assert!(
                World::of(rules.clone(), asynchronous).is_ok(),
                "{} {}",
                protocol.name(),
                variant.name
            );
            match World::of(rules.clone(), scenario).map(drop) {
                Ok(()) => accepted.push(format!("{} {}", protocol.name(), variant.name)),
                Err(refused @ WorldError::LossesNeverNoticed { .. }) => {
                    assert!(refused.to_string().contains(protocol.name()), "{refused}");
                    assert!(refused.to_string().contains("--timing timed"), "{refused}");
                }
                Err(other) => panic!("{} {}: {other}", protocol.name(), variant.name),
            }
        }
    }
    // Where nothing is repeated, what is lost can be told from what is late.
    let once = [
        ("bully", &["recommended"][..]),
        ("chang-roberts", &["recommended"]),
        ("list-ring", &["recommended"]),
        ("queue", &["pings"]),
    ];
    let others = |(name, repeats): &(&str, &[&str])| {
        let variants = REGISTRY.find(name).expect("a protocol").variants();
        let others = variants.into_iter().filter(|v| !repeats.contains(&v.name));
        others.map(|v| format!("{name} {}", v.name)).collect::<Vec<_>>()
    };
    assert_eq!(accepted, once.iter().flat_map(others).collect::<Vec<_>>());
}

#[test]
fn where_no_leader_is_ever_missed_failover_says_nothing() {
    let report = report(Bully::RECOMMENDED, Scenario::calm(3));
    let failover = report.decisions.last().expect("it was asked");
    assert_eq!((failover.verdict, failover.reason), (Verdict::Unknown, Some(Reason::Vacuous)));
}

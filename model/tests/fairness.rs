//! The formulas of liveness on the bully: which of them hold where, and what the fairness of
//! deliveries has to do with it.

use bellwether_model::check::{Options, Reason, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::world::{Budget, DeliveryFairness, Faults, Network, Scenario, Start, World};

const LIVENESS: [&str; 4] = ["stabilises", "leader-emerges", "leader-recurs", "failover"];

fn report(rules: Bully, scenario: Scenario) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let named = LIVENESS.map(str::to_owned);
    let properties = property::select(&world, &named).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn with(report: &Report, verdict: Verdict) -> Vec<&'static str> {
    let found = report.decisions.iter().filter(|decision| decision.verdict == verdict);
    found.map(|decision| decision.property.name).collect()
}

fn variant(name: &str) -> Bully {
    Bully::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

/// A crash, and links that lose as much as they like.
fn lossy(fairness: DeliveryFairness, network: Network) -> Scenario {
    let faults = Faults { crashes: 1, losses: Budget::Unbounded, ..Faults::NONE };
    Scenario { faults, fairness, network, capacity: Some(3), ..Scenario::calm(3) }
}

#[test]
fn without_lasting_losses_the_recommended_rules_keep_every_promise() {
    for start in [Start::Converged, Start::Cold] {
        let report =
            report(Bully::RECOMMENDED, Scenario { start, ..Scenario::calm(3) }.with_crashes(1, 0));
        assert_eq!(with(&report, Verdict::Holds), LIVENESS, "{start} start");
    }
}

#[test]
fn a_repeated_announcement_gets_through_only_if_what_is_sent_again_and_again_arrives() {
    for network in [Network::Fifo, Network::Set] {
        let weak = report(Bully::RECOMMENDED, lossy(DeliveryFairness::Weak, network));
        assert_eq!(with(&weak, Verdict::Violated), ["stabilises", "failover"], "{network}");
        let lasso = weak.decisions[0].counterexample.as_ref().expect("it is violated");
        let cycle: Vec<_> = lasso.cycle.iter().flatten().map(ToString::to_string).collect();
        assert_eq!(cycle, ["COORDINATOR from 2 to 1 is lost", "2's heartbeat timer expires"]);
        let strong = report(Bully::RECOMMENDED, lossy(DeliveryFairness::Strong, network));
        assert_eq!(with(&strong, Verdict::Holds), LIVENESS, "{network}");
    }
}

#[test]
fn an_announcement_that_is_not_repeated_may_be_lost_for_good_however_fair_the_link() {
    let rules = Bully { t_coord: false, ..variant("coulouris") };
    let strong = report(rules, lossy(DeliveryFairness::Strong, Network::Set));
    assert_eq!(with(&strong, Verdict::Violated), ["stabilises", "failover"]);
}

#[test]
fn a_cold_start_that_waits_to_hear_of_a_leader_has_none() {
    let cold = Scenario { start: Start::Cold, ..Scenario::calm(3) };
    assert_eq!(with(&report(variant("clustering"), cold), Verdict::Violated), LIVENESS);
}

#[test]
fn without_the_second_time_out_nobody_leads_in_the_end() {
    let rules = Bully { t_coord: false, ..Bully::RECOMMENDED };
    let report = report(rules, Scenario::calm(3).with_crashes(2, 0));
    let violated = with(&report, Verdict::Violated);
    assert_eq!(violated, ["stabilises", "leader-recurs", "failover"]);
    // The first leader did lead once.
    assert_eq!(with(&report, Verdict::Holds), ["leader-emerges"]);
}

#[test]
fn where_no_leader_is_ever_missed_failover_says_nothing() {
    let report = report(Bully::RECOMMENDED, Scenario::calm(3));
    let failover = report.decisions.last().expect("it was asked");
    assert_eq!((failover.verdict, failover.reason), (Verdict::Unknown, Some(Reason::Vacuous)));
}

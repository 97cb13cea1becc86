//! The member: it keeps what it promises, and each of its rules is needed for something.

use bellwether_model::check::{Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::member::{Gated, Member, Order, Pause, Stall, Work};
use bellwether_model::protocol::{REGISTRY, specifications};
use bellwether_model::world::{Faults, Scenario, Start, Timing, World};

const ALL: [&str; 6] = [
    "one-program-leads",
    "told-is-durable",
    "sent-is-durable",
    "silence-is-a-loss",
    "prepared-first",
    "work-ends-first",
];

fn report(rules: Member, scenario: Scenario) -> Report {
    let world = World::new(rules, scenario).expect("the scenario is possible");
    let asked = property::select(&world, &ALL.map(str::to_owned)).expect("they can be asked");
    check(&world, &asked, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn two() -> Scenario {
    Scenario::calm(2).with_crashes(1, 1)
}

#[test]
fn a_member_keeps_what_it_promises() {
    let with = |faults| Scenario { faults, ..Scenario::calm(2) };
    let worlds = [
        two(),
        Scenario { start: Start::Cold, ..two() },
        with(Faults { crashes: 1, recoveries: 1, duplicates: 1, ..Faults::NONE }),
        with(Faults { losses: 1.into(), ..Faults::NONE }),
        with(Faults { cuts: 1, ..Faults::NONE }),
        Scenario { timing: Timing::Asynchronous, capacity: Some(2), ..two() },
        Scenario::calm(3).with_crashes(1, 1),
    ];
    for scenario in worlds {
        for decision in report(Member::RECOMMENDED, scenario).decisions {
            let holds = matches!(decision.verdict, Verdict::Holds | Verdict::HoldsWithin);
            assert!(holds, "{scenario}: {}: {:?}", decision.property.name, decision.verdict);
        }
    }
}

/// Each mistake, and what comes of it in a world of two processes.
#[test]
fn each_rule_is_needed() {
    let right = Member::RECOMMENDED;
    let wrong = [
        (Member { pause: Pause::IfTold, ..right }, "silence-is-a-loss"),
        (Member { pause: Pause::Ignored, ..right }, "silence-is-a-loss"),
        (Member { stall: Stall::Ignored, ..right }, "silence-is-a-loss"),
        (Member { leads: Order::AtOnce, ..right }, "told-is-durable"),
        (Member { sends: Order::AtOnce, ..right }, "sent-is-durable"),
        (Member { sends: Order::AtOnce, ..right }, "one-program-leads"),
        (Member { gate: Gated::Open, ..right }, "prepared-first"),
        (Member { work: Work::Ignored, ..right }, "work-ends-first"),
        (Member { work: Work::Ignored, ..right }, "one-program-leads"),
    ];
    for (rules, property) in wrong {
        let decisions = report(rules, two()).decisions;
        let found = decisions.iter().find(|decision| decision.property.name == property);
        let verdict = found.expect("it is asked").verdict;
        assert_eq!(verdict, Verdict::Violated, "{property} of {rules:?}");
    }
}

/// A process that stands still while its state is saved is what a member once missed.
#[test]
fn a_pause_of_which_no_program_knows_is_a_loss_too() {
    let rules = Member { pause: Pause::IfTold, ..Member::RECOMMENDED };
    let report = report(rules, two());
    let found = report.decisions.iter().find(|d| d.property.name == "silence-is-a-loss");
    let steps = &found.expect("it is asked").counterexample.as_ref().expect("violated").steps;
    let told: Vec<String> = steps.iter().map(ToString::to_string).collect();
    let place = |what: &str| told.iter().rposition(|step| step.contains(what));
    assert!(place("pause").is_some() && place("pause") < place("prepared"), "{told:?}");
}

#[test]
fn a_member_is_listed_behind_the_elections() {
    let all = specifications().names();
    assert_eq!(all[..all.len() - 1], REGISTRY.names());
    assert_eq!(all.last(), Some(&"member"));
}

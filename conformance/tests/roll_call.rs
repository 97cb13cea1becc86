//! The toy protocol of `docs/adding-a-protocol.md`: that it works, and that the page shows it.

#![expect(unreachable_pub, reason = "the modules stand here as in the libraries")]

#[path = "../examples/roll_call/mapping.rs"]
mod mapping;
#[path = "../examples/roll_call/program.rs"]
mod program;
#[path = "../examples/roll_call/spec.rs"]
mod spec;

use bellwether_conformance::lockstep::{Outcome, lockstep};
use bellwether_conformance::mapping::Mapping;
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property;
use bellwether_model::world::{Network, Scenario, Start, Timing, World};
use mapping::RollCallMapping;
use spec::RollCall;

const COLD: Scenario = Scenario { start: Start::Cold, ..Scenario::calm(3) };

/// The properties that the protocol breaks in this world.
fn broken(rules: RollCall, scenario: Scenario) -> Vec<&'static str> {
    let world = World::new(rules, scenario).expect("possible");
    let properties = property::select(&world, &[]).expect("known");
    let report = check(&world, &properties, &Options::default(), &mut |_| {}).expect("decided");
    let broken = report.decisions.iter().filter(|d| d.verdict != Verdict::Holds);
    broken.map(|d| d.property.name).collect()
}

#[test]
fn it_elects_but_does_not_watch_and_must_answer() {
    let answering = RollCall { answer: true };
    assert_eq!(broken(answering, COLD), [""; 0]);
    let after_a_crash = broken(answering, COLD.with_crashes(1, 0));
    assert!(after_a_crash.contains(&"decided"), "{after_a_crash:?}");
    let late = COLD.with_crashes(1, 1);
    let silent = broken(RollCall { answer: false }, late);
    assert!(silent.contains(&"agreement"), "a process that recovers hears no other: {silent:?}");
}

#[test]
fn the_program_conforms() {
    for start in [Start::Converged, Start::Cold] {
        for (network, timing) in
            [(Network::Fifo, Timing::Perfect), (Network::Unordered, Timing::Asynchronous)]
        {
            let scenario = Scenario { start, network, timing, ..COLD.with_crashes(1, 1) };
            let world = World::new(RollCallMapping::RULES, scenario).expect("possible");
            let walked = lockstep(&world, &RollCallMapping, &Limits::NONE, &mut |_| {});
            let Outcome { summary, divergence } = walked.expect("comparable");
            assert_eq!(divergence, None);
            assert!(summary.transitions > 0 && summary.probes > 0);
            summary.recount(&world, &mut |_| {}).expect("nothing left out");
        }
    }
}

#[test]
fn a_world_in_which_nothing_can_happen_is_no_success() {
    let world = World::new(RollCallMapping::RULES, Scenario::calm(3)).expect("possible");
    let nothing = lockstep(&world, &RollCallMapping, &Limits::NONE, &mut |_| {});
    let error = nothing.expect_err("no process calls in a converged group").to_string();
    assert!(error.starts_with("nothing was compared"), "{error}");
}

#[test]
fn every_piece_of_code_on_the_page_stands_in_the_example() {
    let page = include_str!("../../docs/adding-a-protocol.md");
    let files = [
        include_str!("../examples/roll_call/spec.rs"),
        include_str!("../examples/roll_call/program.rs"),
        include_str!("../examples/roll_call/mapping.rs"),
        include_str!("../examples/roll_call/main.rs"),
    ];
    let blocks = page.split("```rust\n").skip(1).map(|rest| rest.split("```").next());
    let mut shown = 0;
    for block in blocks.flatten() {
        assert!(files.iter().any(|file| file.contains(block)), "not in the example:\n{block}");
        shown += 1;
    }
    assert!(shown > 5, "only {shown} pieces of code");
}

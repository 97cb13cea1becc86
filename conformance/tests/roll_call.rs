//! The toy protocol and the template of `docs/adding-a-protocol.md`: that they work, and that the
//! page shows them.

#![expect(unreachable_pub, reason = "the modules stand here as in the libraries")]

#[path = "../examples/roll-call/src/mapping.rs"]
mod mapping;
#[path = "../../examples/own-protocol/src/spec.rs"]
mod own;
#[path = "../examples/roll-call/src/program.rs"]
mod program;
#[path = "../examples/roll-call/src/spec.rs"]
mod spec;

use bellwether_conformance::lockstep::lockstep;
use bellwether_conformance::suite::find;
use bellwether_docs_runner::{Block, blocks};
use bellwether_model::check::{Limits, Options, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::world::{Network, Scenario, Start, Timing, World};
use own::OwnProtocol;
use spec::RollCall;
use std::env;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::compared::walk;

const COLD: Scenario = Scenario { start: Start::Cold, ..Scenario::calm(3) };

/// The properties that the protocol breaks in this world.
fn broken(rules: impl Protocol, scenario: Scenario) -> Vec<&'static str> {
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
fn the_template_promises_what_it_keeps_and_must_keep_its_term() {
    let durable = OwnProtocol { keeps_term: true };
    for scenario in [COLD, Scenario::calm(3)] {
        assert_eq!(broken(durable, scenario.with_crashes(1, 1)), [""; 0]);
    }
    let forgetful = broken(OwnProtocol { keeps_term: false }, COLD.with_crashes(1, 1));
    assert!(forgetful.contains(&"terms-kept"), "{forgetful:?}");
    let missed = broken(durable, COLD.with_crashes(2, 1));
    assert!(missed.contains(&"at-most-one-leader"), "one that was down misses a claim: {missed:?}");

    // Terms can grow for ever here, and the states have an end.
    let (timing, capacity) = (Timing::Asynchronous, Some(2));
    let world = World::new(durable, Scenario { timing, capacity, ..Scenario::calm(2) });
    let world = world.expect("possible");
    let kept = property::select(&world, &["terms-kept".to_owned()]).expect("known");
    let limits = Limits { states: Some(50_000), ..Limits::NONE };
    let options = Options { limits, ..Options::default() };
    let report = check(&world, &kept, &options, &mut |_| {}).expect("decided");
    assert_ne!(report.verdict(), Verdict::Unknown, "{:?}", report.counts);
}

#[test]
fn the_program_conforms() {
    for start in [Start::Converged, Start::Cold] {
        for (network, timing) in
            [(Network::Fifo, Timing::Perfect), (Network::Unordered, Timing::Asynchronous)]
        {
            let scenario = Scenario { start, network, timing, ..COLD.with_crashes(1, 1) };
            let summary = walk(&mapping::mapping(), scenario, &Limits::NONE);
            assert!(summary.transitions > 0 && summary.probes > 0);
        }
    }
}

#[test]
fn a_world_in_which_nothing_can_happen_is_no_success() {
    let world = World::new(mapping::mapping().rules, Scenario::calm(3)).expect("possible");
    let nothing = lockstep(&world, &mapping::mapping(), 1, &Limits::NONE, &mut |_| {});
    let error = nothing.expect_err("no process calls in a converged group").to_string();
    assert!(error.starts_with("nothing was compared"), "{error}");
    let nothing = find(&mapping::mapping(), &world, 1, &Limits::NONE, &mut |_| {});
    let error = nothing.err().expect("there is no execution either").to_string();
    assert!(error.starts_with("nothing was compared"), "{error}");
}

#[test]
fn every_piece_of_code_on_the_page_stands_in_the_example_or_a_test() {
    let page = include_str!("../../docs/adding-a-protocol.md");
    let files = [
        include_str!("../../examples/own-protocol/src/spec.rs"),
        include_str!("../examples/roll-call/src/spec.rs"),
        include_str!("../examples/roll-call/src/program.rs"),
        include_str!("../examples/roll-call/src/mapping.rs"),
        include_str!("../examples/roll-call/src/main.rs"),
        include_str!("../../model/tests/choosing.rs"),
    ];
    let blocks = blocks(page, "rust");
    for Block { text, .. } in &blocks {
        assert!(files.iter().any(|file| file.contains(text)), "not in the example:\n{text}");
    }
    assert!(blocks.len() > 5, "only {} pieces of code", blocks.len());
}

/// A user builds it like this, in a repository of their own: with a command line of its own, and
/// without any protocol of ours. To compile the engine once more, as that package needs it, takes
/// longer than most tests, so without `BELLWETHER_LONG` it is checked and not run.
#[test]
fn it_is_a_program_of_its_own_outside_the_workspace() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let example = here.join("examples/roll-call");
    let lines = |file: &str| {
        let text = fs::read_to_string(example.join("src").join(file)).expect("a source file");
        text.lines().count()
    };
    let lines = lines("spec.rs") + lines("program.rs") + lines("mapping.rs");
    assert!(lines < 300, "{lines} lines for a protocol, its core and its mapping");

    // The folder that tests may write to is below the one that cargo builds into.
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a folder above");
    let cargo = |what: &str, args: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command.args([what, "--quiet", "--locked", "--target-dir"]).arg(target);
        let done = command.args(args).current_dir(&example).output().expect("cargo runs");
        let said = String::from_utf8_lossy(&done.stdout).into_owned();
        let errors = String::from_utf8_lossy(&done.stderr).into_owned();
        (done.status.code(), said, errors)
    };
    let (status, said, errors) = cargo("check", &[]);
    assert_eq!(status, Some(0), "{said}{errors}");
    if env::var_os("BELLWETHER_LONG").is_none() {
        return;
    }
    let run = |args: &[&str]| cargo("run", &[&["--"], args].concat());
    let (status, said, errors) = run(&["check", "--start", "cold", "--crashes", "0"]);
    assert_eq!(status, Some(0), "{said}{errors}");
    let (status, said, errors) =
        run(&["check", "roll-call", "--start", "cold", "--property", "decided"]);
    assert_eq!(status, Some(1), "no process watches the leader: {said}{errors}");
    let (status, said, errors) = run(&["lockstep", "--start", "cold", "--recoveries", "1"]);
    assert_eq!(status, Some(0), "{said}{errors}");
    assert!(said.contains("The program conforms"), "{said}");
    let (status, said, _) = run(&["help"]);
    assert_eq!(status, Some(0), "{said}");
    for command in ["check", "explore", "bounds", "tune", "trace", "lockstep", "replay"] {
        assert!(said.contains(&format!("\n  {command} ")), "no {command}: {said}");
    }
    assert!(said.contains("lockstep     Take every transition"), "{said}");
    assert!(!said.contains("bully"), "{said}");
}

//! Stories, diagrams and pictures of executions, drawn from their traces.
//!
//! The SVG pictures of these tests are left in the target directory's `tmp/report`, to be looked at.

use bellwether_model::property::{self, Kind};
use bellwether_model::protocol::bully::Bully;
use bellwether_model::report::{diagram, story, svg};
use bellwether_model::trace::{Shows, Trace};
use bellwether_model::world::{Action, Dials, Faults, World};
use std::path::Path;

/// The world with these nodes and faults, otherwise calm.
fn world(rules: Bully, nodes: usize, faults: Faults) -> World<Bully> {
    World::new(rules, Dials { faults, ..Dials::calm(nodes) }).expect("a possible world")
}

/// The actions that read like this, one after the other. A line ending in "..." is repeated as
/// long as an action begins like it.
fn script(world: &World<Bully>, lines: &str) -> Vec<Action<Bully>> {
    let mut state = world.initial();
    let mut script = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (wanted, often) = match line.strip_suffix("...") {
            Some(wanted) => (wanted, 50),
            None => (line, 1),
        };
        for nth in 0..often {
            let mut enabled = Vec::new();
            world.enabled(&state, &mut enabled);
            let fits = |a: &&Action<Bully>| match often {
                1 => a.to_string() == wanted,
                _ => a.to_string().contains(wanted),
            };
            let Some(action) = enabled.iter().find(fits) else {
                assert!(nth > 0, "'{line}' is not among {enabled:#?}");
                break;
            };
            state = world.apply(&state, action).state;
            script.push(*action);
        }
    }
    script
}

fn shows(name: &str, cycle_after: Option<usize>) -> Shows {
    let all = property::all::<Bully>();
    let property = all.iter().find(|p| p.name == name).expect("a property");
    let formula = property.formula.to_owned();
    Shows { property: name.to_owned(), formula, kind: property.kind, cycle_after }
}

fn record(world: &World<Bully>, lines: &str, shows: Option<Shows>) -> Trace {
    Trace::record(world, &script(world, lines), shows)
}

/// Everything of a trace that is text, after its picture was found to be well-formed.
fn told_and_drawn(name: &str, trace: &Trace) -> String {
    let picture = svg::draw(trace);
    keep(name, &picture);
    roxmltree::Document::parse(&picture).expect("well-formed XML");
    format!("{}\n{}", story::tell(trace), diagram::draw(trace, diagram::Options::default()))
}

fn keep(name: &str, picture: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report");
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    std::fs::write(folder.join(name).with_extension("svg"), picture).expect("a picture");
}

#[test]
fn a_leader_crashes_and_the_next_one_takes_over() {
    let faults = Faults { crashes: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 3, faults);
    let trace = record(
        &world,
        "3 crashes
         1's watch timer expires
         2 gets ELECTION from 1
         1 gets OK from 2
         3 gets ELECTION from 1
         3 gets ELECTION from 2
         2's election timer expires
         1 gets COORDINATOR from 2",
        Some(shows("succession", None)),
    );
    insta::assert_snapshot!(told_and_drawn("succession", &trace));
}

#[test]
fn two_lead_after_a_recovery() {
    let faults = Faults { crashes: 1, recoveries: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 3, faults);
    let trace = record(
        &world,
        "3 crashes
         2's watch timer expires
         3 gets ELECTION from 2
         2's election timer expires
         3 comes back
         1 gets COORDINATOR from 3
         1 gets COORDINATOR from 2",
        Some(shows("at-most-one-leader", None)),
    );
    insta::assert_snapshot!(told_and_drawn("two-leaders", &trace));
}

#[test]
fn every_fault_is_told() {
    let faults = Faults { losses: 1, duplicates: 1, cuts: 1, suspicions: 1, ..Faults::NONE };
    let world = world(Bully::BASELINE, 3, faults);
    let trace = record(
        &world,
        "1's watch timer expires too early
         ELECTION from 1 to 2 is doubled
         2 gets ELECTION from 1
         2 gets ELECTION from 1
         OK from 2 to 1 is lost
         the link between 1 and 3 is cut
         1 gets OK from 2
         the link between 1 and 3 heals",
        None,
    );
    insta::assert_snapshot!(told_and_drawn("faults", &trace));
}

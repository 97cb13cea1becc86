//! What the checker decides about the queue and its tellings, and what a crash costs.

use bellwether_model::check::bounds::{Bound, Until, bounds};
use bellwether_model::check::{Decision, Limits, Options, Report, Verdict, check};
use bellwether_model::property;
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::queue::{Entries, Message, Own, Queue, Silence};
use bellwether_model::trace::Trace;
use bellwether_model::world::{Dials, Faults, Heals, Names, Network, Start, World};

fn variant(name: &str) -> Queue {
    Queue::VARIANTS.iter().find(|v| v.name == name).expect("the variant exists").rules
}

fn report(rules: Queue, dials: Dials) -> Report<Queue> {
    let world = World::new(rules, dials).expect("the dials are possible");
    let properties = property::select(&world, &[]).expect("all exist");
    check(&world, &properties, &Options::default(), &mut |_| {}).expect("something is asked")
}

fn decision<'r>(report: &'r Report<Queue>, name: &str) -> &'r Decision<Queue> {
    let found = report.decisions.iter().find(|d| d.property.name == name);
    found.unwrap_or_else(|| panic!("{name} was not checked"))
}

fn violated(report: &Report<Queue>) -> Vec<&'static str> {
    let violated = report.decisions.iter().filter(|d| d.verdict == Verdict::Violated);
    violated.map(|d| d.property.name).collect()
}

fn story(report: &Report<Queue>, name: &str) -> Vec<String> {
    let found = decision(report, name).counterexample.as_ref();
    let steps = found.unwrap_or_else(|| panic!("{name} is not violated")).steps.iter();
    steps.map(ToString::to_string).collect()
}

fn with(nodes: usize, faults: Faults) -> Dials {
    Dials { faults, ..Dials::calm(nodes) }
}

fn cold(nodes: usize) -> Dials {
    Dials { start: Start::Cold, ..Dials::calm(nodes) }
}

/// A cut link that heals in the end.
fn cut(nodes: usize) -> Dials {
    let faults = Faults { cuts: 1, ..Faults::NONE };
    Dials { heals: Heals::Must, capacity: Some(2), ..with(nodes, faults) }
}

//! A toy protocol in all wings of the house, in one folder: `docs/adding-a-protocol.md` walks
//! through it.
//!
//! ```text
//! cargo run --release -p bellwether-conformance --example roll_call
//! ```

#![expect(unreachable_pub, reason = "the modules stand here as in the libraries")]

mod mapping;
mod program;
mod spec;

use bellwether_conformance::lockstep::{Outcome, lockstep};
use bellwether_conformance::mapping::Mapping;
use bellwether_model::check::{Limits, Options, check};
use bellwether_model::property;
use bellwether_model::report::story;
use bellwether_model::world::{Scenario, Start, World};
use mapping::RollCallMapping;
use spec::RollCall;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let calm = Scenario { start: Start::Cold, ..Scenario::calm(3) };
    decide(RollCall { answer: true }, calm)?;
    decide(RollCall { answer: true }, calm.with_crashes(1, 0))?;
    compare(calm.with_crashes(1, 1))
}

/// The first wing: what the protocol keeps in a world.
fn decide(rules: RollCall, scenario: Scenario) -> Result<(), Box<dyn std::error::Error>> {
    let world = World::new(rules, scenario)?;
    let properties = property::select(&world, &[])?;
    let report = check(&world, &properties, &Options::default(), &mut |_| {})?;
    println!("{scenario}");
    for decision in &report.decisions {
        println!("  {:20} {:?}", decision.property.name, decision.verdict);
    }
    let violated = report.decisions.iter().find_map(|d| Some((d, d.counterexample.as_ref()?)));
    if let Some((decision, found)) = violated {
        println!("{}", story::tell(&found.trace(&world, &decision.property)));
    }
    Ok(())
}

/// The bridge: whether the program does what the specification says, everywhere in a world.
fn compare(scenario: Scenario) -> Result<(), Box<dyn std::error::Error>> {
    let world = World::new(RollCallMapping::RULES, scenario)?;
    let Outcome { summary, divergence } =
        lockstep(&world, &RollCallMapping, &Limits::NONE, &mut |_| {})?;
    summary.recount(&world, &mut |_| {})?;
    println!("{scenario}\n  {} transitions, {} probes", summary.transitions, summary.probes);
    match divergence {
        None => println!("  the program conforms"),
        Some(divergence) => println!("{}", divergence.report(false)),
    }
    Ok(())
}

//! What a comparison of a right program must show, and one of a wrong program.

use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::lockstep::{Outcome, Summary, lockstep};
use bellwether_conformance::mapping::{Mapping, Sides};
use bellwether_model::check::Limits;
use bellwether_model::cli::WorldArgs;
use bellwether_model::world::{Scenario, World};
use clap::Parser;
use std::iter;

/// A command line with the flags of a world alone.
#[derive(Parser)]
struct Line {
    #[command(flatten)]
    world: WorldArgs,
}

/// The world that `lockstep` walks with these flags, but that no link has a capacity unless they
/// say one.
#[track_caller]
pub(crate) fn scenario(flags: &str) -> Scenario {
    let words = iter::once("lockstep").chain(flags.split_whitespace());
    let line = Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}"));
    let scenario = line.world.scenario().expect("possible");
    let is_bounded = flags.contains("--capacity");
    Scenario { capacity: scenario.capacity.filter(|_| is_bounded), ..scenario }
}

/// As far as `limits` allow, the program does what the model does. If the walk was whole, the model
/// alone has as many transitions.
#[track_caller]
pub(crate) fn walk<T: Sides>(mapping: &Mapping<T>, scenario: Scenario, limits: &Limits) -> Summary {
    let world = World::new(mapping.rules, scenario).expect("possible");
    let walked = lockstep(&world, mapping, 1, limits, &mut |_| {}).expect("comparable");
    let Outcome { mut summary, divergence, .. } = walked;
    if let Some(divergence) = divergence {
        panic!("{}", divergence.report());
    }
    summary
        .recount(&world, 1, &Limits::NONE, &mut |_| {})
        .expect("every transition of the model was taken");
    summary
}

/// The program conforms in the whole of this world, and enough of it was compared to say so.
#[track_caller]
pub(crate) fn conforms<T: Sides>(mapping: &Mapping<T>, scenario: Scenario) -> Summary {
    let summary = walk(mapping, scenario, &Limits::NONE);
    let all: u64 = summary.kinds.values().sum();
    assert_eq!(summary.transitions, all, "each transition has one kind");
    assert!(summary.transitions > 100, "{scenario}: only {}", summary.transitions);
    assert!(summary.probes > 0, "{scenario}");
    println!("{scenario}: {summary:?}");
    summary
}

/// How the program first differs from the model in this world.
pub(crate) fn first_difference<T: Sides>(
    mapping: &Mapping<T>,
    scenario: Scenario,
) -> Option<Box<Divergence>> {
    let world = World::new(mapping.rules, scenario).expect("possible");
    lockstep(&world, mapping, 1, &Limits::NONE, &mut |_| {}).expect("comparable").divergence
}

/// The wrong program is caught; what is told is of this kind and about this.
#[track_caller]
pub(crate) fn caught<T: Sides>(
    mapping: &Mapping<T>,
    scenario: Scenario,
    kind: Kind,
    about: &str,
) -> Box<Divergence> {
    let divergence = first_difference(mapping, scenario);
    let divergence = divergence.unwrap_or_else(|| panic!("not caught in {scenario}"));
    assert_eq!(divergence.kind, kind, "{divergence}");
    assert!(divergence.to_string().contains(about), "{about:?} is not in:\n{divergence}");
    divergence
}

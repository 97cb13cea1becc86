//! Bounds of the search: a property that is kept as far as it goes holds only within them, and no
//! verdict depends on where they are. With `PROPTEST_CASES` the comparisons take more cases.

use bellwether_model::check::{self, Engine, Limits, Options, Reason, Report, Verdict};
use bellwether_model::machine::Machine;
use bellwether_model::property::{self, Kind};
use bellwether_model::protocol::REGISTRY;
use bellwether_model::world::World;
use bellwether_model::world::{Faults, Network, Scenario, Start, Symmetry, Timing};
use proptest::prelude::*;
use std::sync::Arc;

/// The rules of a protocol's variant.
fn rules(protocol: &str, variant: &str) -> Arc<dyn Machine> {
    let protocol = REGISTRY.find(protocol).expect("the protocol exists");
    protocol.rules(Some(variant), &[]).expect("the variant exists")
}

fn decide(
    rules: &Arc<dyn Machine>,
    scenario: Scenario,
    names: &[&str],
    options: &Options,
) -> Report {
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let world = World::of(Arc::clone(rules), scenario).expect("the scenario is possible");
    let asked = property::select(&world, &names).expect("all exist");
    check::check(&world, &asked, options, &mut |_| {}).expect("something is asked")
}

/// What is found of these properties: verdicts with reasons, and the bounds that are exceeded.
fn found(
    (protocol, variant): (&str, &str),
    scenario: Scenario,
    names: &[&str],
    engine: Engine,
) -> (Vec<(Verdict, Option<Reason>)>, Vec<String>) {
    let options = Options { engine, ..Options::default() };
    let report = decide(&rules(protocol, variant), scenario, names, &options);
    let verdicts = report.decisions.iter().map(|d| (d.verdict, d.reason)).collect();
    (verdicts, report.bounds_met)
}

const WITHIN: (Verdict, Option<Reason>) = (Verdict::HoldsWithin, Some(Reason::Bounds));
const HOLDS: (Verdict, Option<Reason>) = (Verdict::Holds, None);

/// Three bounds: of terms, of tasks, and of links. Where no execution exceeds one, it does not
/// matter. Stateright's searches say the same as ours.
#[test]
fn what_is_kept_up_to_a_bound_holds_within_it() {
    let links = ["1-4", "2-4"].map(|link| link.parse().expect("a link"));
    let missing = links.into_iter().reduce(|a: bellwether_model::world::Missing, b| a.and(b));
    let edge = Scenario { missing: missing.expect("two"), ..Scenario::calm(4) };
    let (raft, asked) = (("raft-election", "paper"), ["election-safety", "votes-stand"]);
    let terms = vec!["2 terms between a candidate and the next higher term".to_owned()];
    for engine in [Engine::Exact, Engine::Bfs, Engine::Dfs] {
        assert_eq!(found(raft, edge, &asked, engine), (vec![WITHIN; 2], terms.clone()));
        let calm = Scenario::calm(3).with_crashes(1, 0);
        assert_eq!(found(raft, calm, &asked, engine), (vec![HOLDS; 2], vec![]));
    }
    let restarts = Scenario::calm(2).with_crashes(4, 4);
    let concrete = Scenario { symmetry: Symmetry::Concrete, ..restarts };
    let (repaired, tasks) = (("garcia-molina", "repaired"), ["assertion-1-task"]);
    let within = (vec![WITHIN], vec!["7 tasks of a process told apart".to_owned()]);
    assert_eq!(found(repaired, concrete, &tasks, Engine::Exact), within);
    assert_eq!(found(repaired, restarts, &tasks, Engine::Exact), (vec![HOLDS], vec![]));
    let (invitation, asked) = (("invitation", "paper"), ["assertion-3"]);
    let faults = Faults { losses: 1.into(), duplicates: 1, ..Faults::NONE };
    let cold = Scenario { faults, start: Start::Cold, ..Scenario::calm(2) };
    let full = |most| Scenario { capacity: Some(most), ..cold };
    let within = (vec![WITHIN], vec!["2 messages on a link".to_owned()]);
    assert_eq!(found(invitation, full(2), &asked, Engine::Exact), within);
    assert_eq!(found(invitation, full(3), &asked, Engine::Exact), (vec![HOLDS], vec![]));
}

/// Everything about a small world but its capacity and its symmetry.
#[derive(Clone, Debug)]
struct Drawn {
    rules: Arc<dyn Machine>,
    scenario: Scenario,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let variants = REGISTRY.iter().flat_map(|protocol| {
        let named = protocol.variants().into_iter().map(|variant| variant.name);
        named.map(|name| protocol.rules(Some(name), &[]).expect("the variant exists"))
    });
    let rules = proptest::sample::select(variants.collect::<Vec<_>>());
    let network = proptest::sample::select(vec![Network::Fifo, Network::Unordered, Network::Set]);
    let timing = proptest::sample::select(vec![Timing::Perfect, Timing::Asynchronous]);
    let start = proptest::sample::select(vec![Start::Converged, Start::Cold]);
    let faults = (0..=1_u8, 0..=1_u8, 0..=1_u8, 0..=1_u8, 0..=1_u8);
    let nodes = prop_oneof![3 => Just(2_usize), 1 => Just(3)];
    (rules, nodes, network, timing, start, faults).prop_map(
        |(rules, nodes, network, timing, start, (crashes, recoveries, losses, cuts, early))| {
            let suspicions = if timing == Timing::Perfect { early } else { 0 };
            let losses = losses.into();
            let faults = Faults { crashes, recoveries, losses, cuts, suspicions, ..Faults::NONE };
            let scenario = Scenario { faults, network, timing, start, ..Scenario::calm(nodes) };
            Drawn { rules, scenario }
        },
    )
}

/// How much of a world is searched here.
const FEW: Limits = Limits { states: Some(6_000), ..Limits::NONE };

/// What a whole search finds; nothing if there is no such world, or it is too large.
fn whole(Drawn { rules, .. }: &Drawn, scenario: Scenario) -> Option<Report> {
    let world = World::of(Arc::clone(rules), scenario).ok()?;
    let asked = property::select(&world, &[]).expect("the usual ones exist");
    let options = Options { limits: FEW, ..Options::default() };
    let report = check::check(&world, &asked, &options, &mut |_| {}).expect("threads");
    report.cut_short.is_none().then_some(report)
}

/// Each property with what two searches say of it.
fn pairs<'r>(
    one: &'r Report,
    other: &'r Report,
) -> impl Iterator<Item = (&'static str, Kind, Verdict, Verdict)> + 'r {
    one.decisions.iter().zip(&other.decisions).map(|(one, other)| {
        assert_eq!(one.property.name, other.property.name);
        (one.property.name, one.property.kind(), one.verdict, other.verdict)
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None,
                                        ..ProptestConfig::with_cases(cases()) })]

    /// What holds with one capacity holds with the next, and is counted alike; what is violated is
    /// violated.
    #[test]
    fn a_larger_capacity_overturns_no_verdict(drawn in drawn(), capacity in 1..=2_usize) {
        let with = |most| whole(&drawn, Scenario { capacity: Some(most), ..drawn.scenario });
        let (Some(small), Some(large)) = (with(capacity), with(capacity + 1)) else {
            return Ok(());
        };
        if small.bounds_met.is_empty() {
            prop_assert_eq!(small.counts, large.counts);
        }
        for (name, _, here, there) in pairs(&small, &large) {
            let kept = match here {
                Verdict::Holds | Verdict::Violated => there == here,
                Verdict::HoldsWithin | Verdict::Unknown => true,
            };
            prop_assert!(kept, "{name}: {here:?} with {capacity}, {there:?} with one more");
        }
    }

    /// Canonical and concrete states lead to the same verdicts, unless the concrete ones, whose
    /// numbers grow, exceed a bound. On networks that are not FIFO liveness may differ.
    #[test]
    fn canonical_states_stand_for_concrete_ones(drawn in drawn()) {
        let scenario = Scenario { capacity: Some(2), ..drawn.scenario };
        let with = |symmetry| whole(&drawn, Scenario { symmetry, ..scenario });
        let (Some(canonical), Some(concrete)) = (with(Symmetry::Reduced), with(Symmetry::Concrete))
        else {
            return Ok(());
        };
        let exceeds = !concrete.bounds_met.is_empty();
        prop_assert!(exceeds || canonical.counts.distinct <= concrete.counts.distinct);
        for (name, kind, here, there) in pairs(&canonical, &concrete) {
            if kind == Kind::Liveness && scenario.network != Network::Fifo {
                continue;
            }
            let kept = match there {
                Verdict::Holds | Verdict::Violated => here == there,
                Verdict::HoldsWithin => here != Verdict::Unknown,
                Verdict::Unknown => true,
            };
            prop_assert!(kept, "{name}: {here:?} canonically, {there:?} concretely");
        }
    }
}

fn cases() -> u32 {
    let few = if cfg!(feature = "slow") { 192 } else { 48 };
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(few)
}

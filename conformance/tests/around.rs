//! The member around each node, walked as the node is: by the mapping of the node, with a disk that
//! answers at once. Wrong members are among the mutants.

use bellwether_conformance::mapping::{Comparison, mappings, members, quorum};
use bellwether_conformance::program::Program;
use bellwether_conformance::shelled::Shelled;
use bellwether_core::member::Setup;
use bellwether_core::protocol::quorum::{Durable, Message, Quorum};
use bellwether_core::protocol::{Event, Members, NodeId, Output, Role, Time};
use bellwether_model::check::Limits;
use bellwether_model::world::Scenario;
use std::iter;

use crate::cli::{json_of, says};

/// Small worlds, of which the walks take so many pairs.
const WORLDS: [(Scenario, Option<u64>); 2] = [
    (Scenario::calm(2).with_crashes(1, 1), None),
    (Scenario::calm(3).with_crashes(1, 0), Some(2_000)),
];

#[track_caller]
fn conforms(member: &dyn Comparison) {
    for (scenario, states) in WORLDS {
        let of = member.description();
        let name = format!("{} ({}), {scenario}", of.protocol, of.variant);
        let limits = Limits { states, ..Limits::NONE };
        let outcome = member.lockstep(scenario, 1, &limits, &mut |_, _| {});
        let outcome = outcome.unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(divergence) = &outcome.divergence {
            panic!("{name}:\n{}", divergence.report());
        }
        assert_eq!(outcome.large_group.wrong, None, "{name}");
        assert!(outcome.summary.transitions > 0 && outcome.summary.probes > 0, "{name}");
    }
}

#[test]
fn the_member_around_each_node_shows_what_its_node_shows() {
    for member in members().0 {
        conforms(&**member);
    }
}

#[test]
fn every_protocol_of_the_daemon_has_its_member() {
    let (all, members) = (mappings().names(), members().names());
    let left_out = all.into_iter().filter(|name| !members.contains(name)).collect::<Vec<_>>();
    assert_eq!(left_out, ["two-phase-commit", "three-phase-commit", "member"]);
}

/// Decides whether a node claims here, or its program is told that the node leads.
fn claims_or_leads(outputs: &[Output<Durable, Message>]) -> bool {
    outputs.iter().any(|output| {
        matches!(
            output,
            Output::Send { message: Message::Claim(..), .. }
                | Output::Event(Event::RoleChanged { to: Role::Leader, .. })
        )
    })
}

#[test]
fn nothing_that_follows_from_a_state_leaves_a_member_before_its_disk_has_answered() {
    let ids = [1, 2, 3].map(|id| NodeId::new(id).expect("not zero"));
    let (mapping, members) =
        (quorum::mapping(&quorum::RECOMMENDED), Members::new(ids).expect("valid"));
    let node = (mapping.program)(ids[2], &members, None).expect("valid");
    let setup = Setup { stores: true, ..Setup::of::<Quorum>(node.config(), ids.len()) };
    let mut late = Shelled::new(node, &setup);
    let (mut now, mut outputs) = (Time::ZERO, Vec::new());
    for (at, input) in (mapping.settle)(ids[2], &members) {
        now = Time::ZERO + at;
        late.handle(now, input);
        outputs.extend(iter::from_fn(|| late.poll()));
    }
    assert!(late.saving().is_some() && !outputs.is_empty());
    assert_eq!(late.member().node().status().role, Role::Leader, "the node has what it needs");
    assert!(!claims_or_leads(&outputs) && late.status().role != Role::Leader, "{outputs:?}");
    late.on_saved(now);
    let outputs: Vec<_> = iter::from_fn(|| late.poll()).collect();
    assert!(matches!(outputs[0], Output::Persist(_)) && claims_or_leads(&outputs), "{outputs:?}");
    assert_eq!(late.status().role, Role::Leader);
    assert_eq!(late.broken_promise(), None);
}

#[test]
fn the_report_says_through_what_the_world_was_walked() {
    let line = "lockstep bully --recoveries 1 --through member";
    says(line, 0, &["bully, recommended: model and member", "The program conforms"]);
    let [core, member] = ["lockstep bully --recoveries 1", line]
        .map(|line| json_of(line, "bellwether-conformance-lockstep"));
    assert_eq!(core["through"], "core");
    assert_eq!(member["through"], "member");
    assert_eq!(core["compared"]["transitions"], member["compared"]["transitions"]);
}

//! The member against its specification: every transition of bounded worlds.

use bellwether_conformance::lockstep::Summary;
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::member::MemberMapping;
use bellwether_core::protocol::{Members, NodeId};
use bellwether_model::world::{Faults, Scenario, Start, Timing};

use crate::compared;
use crate::wrapper::{Hooks, WrongMapping};

fn conforms(scenario: Scenario) -> Summary {
    compared::conforms(&MemberMapping, scenario)
}

fn two(faults: Faults) -> Scenario {
    Scenario { faults, ..Scenario::calm(2) }
}

/// Whatever can happen to a member happens on the way, in two worlds that are small enough to be
/// walked often.
#[test]
fn all_that_happens_from_outside() {
    let worlds = [Scenario::calm(2), Scenario { start: Start::Cold, ..Scenario::calm(2) }];
    for scenario in worlds {
        let coverage = conforms(scenario).coverage;
        assert!(coverage.missing.is_empty(), "{scenario}: {:?}", coverage.missing);
        for (timer, met) in &coverage.timers {
            assert!(met.walked > 0, "{scenario}: {timer} never expires");
        }
    }
}

#[test]
fn a_crash_and_a_recovery() {
    conforms(Scenario::calm(2).with_crashes(1, 1));
    conforms(Scenario::calm(3).with_crashes(1, 1));
    conforms(Scenario { start: Start::Cold, ..Scenario::calm(2).with_crashes(1, 1) });
}

/// What waits for work has come twice.
#[test]
fn messages_are_lost_and_doubled() {
    conforms(two(Faults { losses: 1.into(), ..Faults::NONE }));
    conforms(two(Faults { duplicates: 1, ..Faults::NONE }));
    conforms(two(Faults { cuts: 1, ..Faults::NONE }));
}

#[test]
fn timers_that_may_always_expire() {
    conforms(Scenario {
        timing: Timing::Asynchronous,
        capacity: Some(1),
        ..Scenario::calm(2).with_crashes(1, 1)
    });
}

/// The right program: nothing departs from it.
#[derive(Clone, Copy, Debug)]
struct NoMistake;

impl Hooks<MemberMapping> for NoMistake {}

/// The timers that lead it there are no part of its script.
#[test]
fn a_member_with_something_around_it_is_led_into_the_same_group() {
    let ids = [1, 2].map(|id| NodeId::new(id).expect("not zero"));
    let members = Members::new(ids).expect("valid");
    let around = WrongMapping::new(MemberMapping, NoMistake);
    let timers = ids.map(|id| MemberMapping.settling_timers(id, &members));
    assert_eq!(ids.map(|id| around.settling_timers(id, &members)), timers);
    assert!(timers[0].is_empty() && timers[1].len() > 1, "{timers:?}");
}

//! Programs whose timers are due at the wrong time, and nothing else: each must be caught.

mod wrong;

use bellwether_conformance::divergence::Divergence;
use bellwether_conformance::lockstep::lockstep;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::garcia_molina::GarciaMolinaMapping;
use bellwether_conformance::mapping::invitation::InvitationMapping;
use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_conformance::mapping::list_ring::ListRingMapping;
use bellwether_conformance::mapping::stoller::StollerMapping;
use bellwether_conformance::mapping::{Mapping, SpecTimer};
use bellwether_core::protocol::{Members, NodeId, Time};
use bellwether_model::check::Limits;
use bellwether_model::protocol::{bully, lease};
use bellwether_model::world::{Scenario, Start, World};
use std::time::Duration;
use wrong::{Arming, Mistake, Timed, Wrong};

use crate::compared;
use crate::wrapper::WrongMapping;

fn first_difference<M: Timed>(
    mapping: M,
    mistake: Mistake<M>,
    scenario: Scenario,
) -> Option<Box<Divergence>> {
    let wrong = WrongMapping::new(mapping, Wrong::new(mapping, mistake, None));
    compared::first_difference(&wrong, scenario)
}

/// The mistake is caught, from either start, and what is told is about this.
#[track_caller]
fn caught<M: Timed>(mapping: M, mistake: Mistake<M>, nodes: usize, about: &str) {
    let world = Scenario::calm(nodes).with_crashes(1, 1);
    for start in [Start::Converged, Start::Cold] {
        let divergence = first_difference(mapping, mistake, Scenario { start, ..world });
        let divergence = divergence.unwrap_or_else(|| panic!("not caught"));
        assert!(divergence.to_string().contains(about), "{about:?} is not in:\n{divergence}");
    }
}

/// How long a timer takes, on any node.
fn period<M: Mapping>(mapping: &M, timer: SpecTimer<M>) -> Duration {
    let ids: Vec<NodeId> = (1..=3).filter_map(NodeId::new).collect();
    let members = Members::new(ids.iter().copied()).expect("valid");
    mapping.period(ids[0], &members, timer).expect("it has one")
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    let world = Scenario::calm(2).with_crashes(1, 1);
    assert_eq!(first_difference(BullyMapping, |arming| arming.right, world), None);
    assert_eq!(first_difference(LeaseMapping::new(), |arming| arming.right, world), None);
}

#[test]
fn the_coordinator_is_waited_for_as_long_as_an_answer() {
    let mistake = |arming: &Arming<BullyMapping>| match arming.timer {
        bully::Timer::Coordinator => arming.now + period(&BullyMapping, bully::Timer::Election),
        _ => arming.right,
    };
    caught(BullyMapping, mistake, 3, "coordinator due in 900ms in the model");
}

#[test]
fn the_lease_counts_from_the_answer() {
    let mistake = |arming: &Arming<LeaseMapping>| match arming.timer {
        lease::Timer::Lease => arming.now + period(&LeaseMapping::new(), arming.timer),
        _ => arming.right,
    };
    caught(LeaseMapping::new(), mistake, 2, "lease due in 9.999");
}

#[test]
fn the_store_keeps_a_lease_only_as_long_as_the_client() {
    let mistake = |arming: &Arming<LeaseMapping>| match arming.timer {
        lease::Timer::Grant => arming.now + period(&LeaseMapping::new(), lease::Timer::Lease),
        _ => arming.right,
    };
    caught(LeaseMapping::new(), mistake, 2, "grant due in 15s in the model");
}

/// As if the wake-up had come at its deadline: it always comes later.
#[track_caller]
fn from_the_old_deadline<M: Timed>(mapping: M, nodes: usize) {
    let mistake = |arming: &Arming<M>| match arming.before {
        Some(before) if before < arming.now => earlier(arming.right, arming.now.since(before)),
        _ => arming.right,
    };
    let world = Scenario::calm(nodes).with_crashes(1, 1);
    let divergence = first_difference(mapping, mistake, world).expect("caught");
    assert!(divergence.to_string().contains("different deadline"), "{divergence}");
}

fn earlier(time: Time, by: Duration) -> Time {
    Time::from_nanos(time.as_nanos() - u64::try_from(by.as_nanos()).expect("short"))
}

#[test]
fn a_timer_counts_from_its_old_deadline() {
    from_the_old_deadline(BullyMapping, 3);
    from_the_old_deadline(GarciaMolinaMapping, 3);
    from_the_old_deadline(InvitationMapping, 3);
    from_the_old_deadline(ChangRobertsMapping, 3);
    from_the_old_deadline(ListRingMapping, 3);
    from_the_old_deadline(StollerMapping, 3);
    from_the_old_deadline(LeaseMapping::new(), 2);
}

#[test]
fn a_mapping_that_gives_two_durations_one_period_is_refused() {
    let world = World::new(LeaseMapping::<false>::RULES, Scenario::calm(2)).expect("possible");
    let period = Some(Duration::from_secs(1));
    let wrong = Wrong::new(LeaseMapping::new(), |arming| arming.right, period);
    let wrong = WrongMapping::new(LeaseMapping::new(), wrong);
    let refused = lockstep(&world, &wrong, &Limits::NONE, &mut |_| {}).expect_err("refused");
    let words = refused.to_string();
    assert!(words.contains("gives 'renew' the period of 'asked'"), "{words}");
}

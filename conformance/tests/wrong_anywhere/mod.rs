//! Mistakes that a program of any protocol can have: in what it remembers, and in what it tells.

mod wrong;

use bellwether_conformance::divergence::{Divergence, Kind};
use bellwether_conformance::large_group::large_group;
use bellwether_conformance::lockstep::{Outcome, lockstep};
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::chang_roberts::ChangRobertsMapping;
use bellwether_conformance::mapping::garcia_molina::GarciaMolinaMapping;
use bellwether_conformance::mapping::invitation::InvitationMapping;
use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_conformance::mapping::list_ring::ListRingMapping;
use bellwether_conformance::mapping::quorum::{AnyQuorum, Recommended};
use bellwether_conformance::mapping::stoller::StollerMapping;
use bellwether_model::check::{Limits, Reason};
use bellwether_model::protocol::Protocol;
use bellwether_model::world::{Scenario, World};
use wrong::{Mistake, Wrong};

use crate::compared;
use crate::wrapper::WrongMapping;

/// Without a service that the protocol may need besides.
fn scenario<M: Mapping>() -> Scenario {
    Scenario::calm(3 - M::Spec::OPTIONS.services.count).with_crashes(1, 0)
}

fn walk<M: Mapping>(mapping: M, mistake: Mistake, limits: &Limits) -> Outcome {
    let world = World::new(mapping.own_rules(), scenario::<M>()).expect("possible");
    let wrong = WrongMapping::new(mapping, Wrong::new(mistake));
    lockstep(&world, &wrong, limits, &mut |_| {}).expect("comparable")
}

fn first_difference<M: Mapping>(mapping: M, mistake: Mistake) -> Option<Box<Divergence>> {
    compared::first_difference(&WrongMapping::new(mapping, Wrong::new(mistake)), scenario::<M>())
}

/// The mistake is caught; what is told is of this kind and about this.
#[track_caller]
fn caught<M: Mapping>(mapping: M, mistake: Mistake, kind: Kind, about: &str) -> Box<Divergence> {
    compared::caught(&WrongMapping::new(mapping, Wrong::new(mistake)), scenario::<M>(), kind, about)
}

/// Calls a function with each mapping, and with these arguments.
macro_rules! everywhere {
    ($call:ident, $($argument:expr),*) => {{
        $call(BullyMapping, $($argument),*);
        $call(GarciaMolinaMapping, $($argument),*);
        $call(InvitationMapping, $($argument),*);
        $call(ChangRobertsMapping, $($argument),*);
        $call(ListRingMapping, $($argument),*);
        $call(StollerMapping, $($argument),*);
        $call(LeaseMapping::new(), $($argument),*);
    }};
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    for mistake in [Mistake::None, Mistake::RemembersAnInstant, Mistake::CountsWakeUpsAndSaysSo] {
        let found = first_difference(BullyMapping, mistake);
        assert_eq!(found, None, "{mistake:?}");
        assert_eq!(first_difference(LeaseMapping::new(), mistake), None, "{mistake:?}");
        assert_eq!(first_difference(StollerMapping, mistake), None, "{mistake:?}");
    }
}

#[test]
fn wake_ups_are_counted_in_a_byte() {
    let kind = Kind::Different;
    caught(InvitationMapping, Mistake::CountsWakeUps, kind, "different hidden state of ");
    caught(ChangRobertsMapping, Mistake::CountsWakeUps, kind, "different hidden state of ");
    let found = caught(BullyMapping, Mistake::CountsWakeUps, kind, "'wake_ups: ");
    let other = found.other.as_ref().expect("two executions lead to one process");
    assert_ne!(other.steps, found.trace.steps);
    let report = found.report(true);
    assert_eq!(report.matches("At the beginning").count(), 2, "both are told:\n{report}");
    let json = serde_json::to_value(&found).expect("JSON");
    assert_eq!(json["other_steps"].as_array().map(Vec::len), Some(other.steps.len()));
}

#[test]
fn the_first_challenger_is_let_through() {
    caught(BullyMapping, Mistake::LetsTheFirstThrough, Kind::Missing, "OK to ");
    let found = first_difference(StollerMapping, Mistake::LetsTheFirstThrough);
    assert!(found.is_some(), "what it does not answer shows, or that it remembers whom it let");
}

#[test]
fn every_change_has_the_same_reason() {
    everywhere!(caught, Mistake::OneReason, Kind::Different, "different reason of ");
    let about = "different reason of 2: highest_id or";
    let found = first_difference(BullyMapping, Mistake::OneReason).expect("caught");
    assert!(!found.to_string().contains(about), "one step has one reason:\n{found}");
}

#[test]
fn what_is_ignored_is_not_told() {
    let about = "missing event of ";
    everywhere!(caught, Mistake::IgnoresInSilence, Kind::Missing, about);
}

#[test]
fn what_is_not_ignored_is_told_to_be() {
    everywhere!(caught, Mistake::IgnoresInWords, Kind::Unexpected, "ignores a message of ");
}

#[test]
fn what_is_ignored_is_answered() {
    everywhere!(caught, Mistake::AnswersWhatItIgnores, Kind::Unexpected, "unexpected message of ");
    // Rings ignore nothing but what names a node that is no member.
    let found = first_difference(ChangRobertsMapping, Mistake::AnswersWhatItIgnores);
    assert!(found.expect("caught").probe);
}

#[test]
fn a_number_is_too_large() {
    let (mistake, about) = (Mistake::PanicsAtLargeNumbers, "it panics: attempt to add");
    caught(StollerMapping, mistake, Kind::Different, about);
    caught(InvitationMapping, mistake, Kind::Different, about);
    caught(GarciaMolinaMapping, mistake, Kind::Different, about);
    caught(LeaseMapping::new(), mistake, Kind::Different, about);
}

#[test]
fn ids_are_kept_in_a_byte() {
    let divergence = first_difference(BullyMapping, Mistake::KeepsIdsInAByte);
    assert_eq!(divergence, None, "no world has so many processes");
    everywhere!(fails_in_a_large_group,);
    fails_in_a_large_group(AnyQuorum::of::<Recommended>());
}

fn fails_in_a_large_group<M: Mapping>(mapping: M) {
    let right = large_group(&mapping);
    assert!(right.wrong.is_none() && right.size >= 8, "{right:?}");
    let wrong = large_group(&WrongMapping::new(mapping, Wrong::new(Mistake::KeepsIdsInAByte)));
    assert!(wrong.wrong.is_some(), "{}: {wrong:?}", M::Spec::NAME);
}

/// Probes run as nodes are met: a walk that is cut short has probed, says what, and has found what
/// only a probe finds.
#[test]
fn a_walk_that_is_cut_short_has_probed() {
    let short = Limits { states: Some(1), ..Limits::NONE };
    everywhere!(probed, &short);
    let Outcome { summary, divergence, .. } = walk(BullyMapping, Mistake::IgnoresInSilence, &short);
    assert!(divergence.expect("found by a probe").probe);
    assert_eq!(summary.cut_short, Some(Reason::States), "{summary:?}");
}

fn probed<M: Mapping>(mapping: M, short: &Limits) {
    let summary = walk(mapping, Mistake::None, short).summary;
    assert_eq!(summary.cut_short, Some(Reason::States));
    assert!(summary.probes > 0 && summary.probed > 0, "{summary:?}");
    assert_eq!(summary.probed, summary.nodes, "{summary:?}");
}

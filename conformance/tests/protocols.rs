//! The production cores against their models, one protocol after the other: every transition of
//! bounded worlds. The quorum bully, and the lease on the stores that people run, have files of
//! their own.

use bellwether_conformance::mapping;
use bellwether_conformance::mapping::commit::Pair;
use bellwether_conformance::mapping::{Built, Further, Mapping, Sides};
use bellwether_conformance::surroundings::{around, long_run, restarting, surroundings};
use bellwether_core::protocol::commit::{Three, Two};
use bellwether_core::protocol::{Members, NodeId};
use bellwether_model::check::Limits;
use bellwether_model::world::{Budget, Faults, Scenario, World};
use std::collections::BTreeSet;

use crate::compared::{self, scenario};

/// The worlds of both rings.
const RINGS: [&str; 6] = [
    "--recoveries 1",
    "--network set",
    "--start cold",
    "--crashes 0 --losses 1",
    "--duplicates 1",
    "--nodes 4",
];

/// The program conforms in each of these worlds, whose transitions are of the kinds that their
/// faults allow, and of no others. Transitions that leave the boundary of a search are compared
/// too.
#[track_caller]
fn conforms<T: Sides>(mapping: &Mapping<T>, worlds: &[&str]) {
    for flags in worlds {
        let scenario = scenario(flags);
        let summary = compared::conforms(mapping, scenario);
        let found: BTreeSet<&str> = summary.kinds.keys().copied().collect();
        assert_eq!(found, kinds(&scenario.faults), "{flags}");
        assert!(scenario.capacity.is_none() || summary.outside > 0, "{flags}");
    }
}

/// The kinds of transitions in a world with these faults.
fn kinds(faults: &Faults) -> BTreeSet<&'static str> {
    let Faults { crashes, recoveries, losses, duplicates, cuts, .. } = *faults;
    let all: [(bool, &[&str]); 6] = [
        (true, &["deliver", "expire"]),
        (crashes > 0, &["crash"]),
        (recoveries > 0, &["recover"]),
        (losses != Budget::NONE, &["lose"]),
        (duplicates > 0, &["duplicate"]),
        (cuts > 0, &["cut", "heal"]),
    ];
    all.into_iter().filter(|(is, _)| *is).flat_map(|(_, kinds)| kinds).copied().collect()
}

#[test]
fn bully() {
    let worlds = [
        "--recoveries 1",
        "--recoveries 1 --network unordered",
        "--recoveries 1 --network set",
        "--recoveries 1 --timing asynchronous --capacity 2",
        "--recoveries 1 --timing asynchronous --capacity 2 --network unordered",
        "--start cold",
        "--losses 1 --network set",
        "--cuts 1 --network set",
        "--crashes 0 --suspicions 2",
        "--duplicates 1",
        "--nodes 4 --network set",
    ];
    conforms(&mapping::bully::mapping(), &worlds);
}

#[test]
fn garcia_molina() {
    let worlds = [
        "--recoveries 1",
        "--recoveries 1 --network unordered",
        "--recoveries 1 --network set",
        // A number of a task must not be forgotten.
        "--nodes 2 --crashes 2 --recoveries 2",
        "--start cold",
        "--suspicions 1",
        "--nodes 2 --crashes 0 --timing asynchronous --capacity 1",
        "--losses 1",
        "--duplicates 1",
        "--crashes 0 --cuts 1 --capacity 2",
        "--nodes 4",
    ];
    conforms(&mapping::garcia_molina::mapping(), &worlds);
}

#[test]
fn invitation() {
    let worlds = [
        "--crashes 0 --start cold",
        "--nodes 2 --recoveries 1",
        "--crashes 1",
        "--recoveries 1",
        "--nodes 2 --crashes 0 --losses 1 --duplicates 1 --suspicions 1",
    ];
    conforms(&mapping::invitation::mapping(), &worlds);
}

#[test]
fn chang_roberts() {
    conforms(&mapping::chang_roberts::mapping(), &RINGS);
}

#[test]
fn list_ring() {
    conforms(&mapping::list_ring::mapping(), &RINGS);
}

#[test]
fn stoller() {
    let worlds = [
        "--recoveries 1",
        "--crashes 2 --recoveries 1",
        "--start cold",
        "--crashes 0 --suspicions 2",
        "--nodes 4",
    ];
    conforms(&mapping::stoller::mapping(), &worlds);
}

#[test]
fn lease() {
    let worlds = [
        "--nodes 2 --recoveries 1",
        "--nodes 2 --start cold",
        "--nodes 2 --crashes 0 --losses 1",
        "--nodes 2 --duplicates 1",
        "--nodes 2 --network unordered",
        "--recoveries 1",
    ];
    conforms(&mapping::lease::recommended(), &worlds);
}

#[test]
fn commit() {
    fn of<K: Pair>() {
        let mapping = mapping::commit::mapping::<K>();
        let worlds = [
            "--nodes 2 --crashes 2 --recoveries 1",
            "--crashes 1",
            "--crashes 0 --start cold",
            "--nodes 2 --crashes 0 --cuts 1",
            "--nodes 2 --crashes 0 --suspicions 3",
        ];
        conforms(&mapping, &worlds);
        // A partition of three in every phase, as far as so many states go.
        let limits = Limits { states: Some(20_000), ..Limits::NONE };
        let summary = compared::walk(&mapping, scenario("--crashes 0 --cuts 2"), &limits);
        assert!(summary.transitions > 20_000);
    }
    of::<Two>();
    of::<Three>();
}

#[test]
fn member() {
    let worlds = [
        "--nodes 2 --recoveries 1",
        "--recoveries 1",
        "--nodes 2 --start cold --recoveries 1",
        "--nodes 2 --crashes 0 --losses 1",
        // A message that waits for work has come twice.
        "--nodes 2 --crashes 0 --duplicates 1",
        "--nodes 2 --crashes 0 --cuts 1",
        "--nodes 2 --recoveries 1 --timing asynchronous --capacity 1",
    ];
    conforms(&mapping::member::mapping(), &worlds);
    // Whatever can happen to a member from outside happens on the way, in two worlds that are small
    // enough to be walked often.
    for flags in ["--nodes 2 --crashes 0", "--nodes 2 --crashes 0 --start cold"] {
        let coverage = compared::conforms(&mapping::member::mapping(), scenario(flags)).coverage;
        assert_eq!(coverage.missing, [""; 0], "{flags}");
        for (timer, met) in &coverage.timers {
            assert!(met.walked > 0, "{flags}: {timer} never expires");
        }
    }
}

/// The timers that lead it there are no part of its script.
#[test]
fn a_member_with_something_around_it_is_led_into_the_same_group() {
    let ids = [1, 2].map(|id| NodeId::new(id).expect("not zero"));
    let members = Members::new(ids).expect("valid");
    let member = mapping::member::mapping();
    let build = |node: Built<mapping::member::BatonMember>, _, _: &Members, _: Option<&_>| node;
    let timer = std::sync::Arc::clone(&member.timer);
    let around = around(&member, build, |node| node, move |own| timer(own));
    let timers = ids.map(|id| (member.more.events.settling_timers)(id, &members));
    assert_eq!(ids.map(|id| (around.more.events.settling_timers)(id, &members)), timers);
    assert!(timers[0].is_empty() && timers[1].len() > 1, "{timers:?}");
}

fn quorum() -> Mapping<mapping::quorum::Quorum> {
    mapping::quorum::mapping(&mapping::quorum::RECOMMENDED)
}

const CRASH: Scenario = Scenario::calm(2).with_crashes(1, 1);

#[test]
fn large_numbers_make_no_difference() {
    /// The program conforms whatever its numbers are, in as many transitions.
    fn same<T: Sides>(mapping: &Mapping<T>) {
        let long = long_run(mapping).expect("its numbers are not small");
        let small = compared::walk(mapping, CRASH, &Limits::NONE);
        let large = compared::walk(&long, CRASH, &Limits::NONE);
        assert_eq!((small.transitions, small.probes), (large.transitions, large.probes));
        assert!(large.transitions > 0 && large.probes > 0);
    }
    same(&mapping::invitation::mapping());
    same(&mapping::stoller::mapping());
    same(&mapping::lease::recommended());
    let redis = mapping::lease::variant("redis-setnx").expect("known");
    same(&mapping::lease::mapping(redis));
    same(&quorum());
    same(&mapping::quorum::mapping(&mapping::quorum::PREEMPTIVE));
}

/// With shorter durations and with longer ones, the longest promise counts.
#[test]
fn a_node_starts_again_with_other_durations() {
    let quorum = quorum();
    assert_eq!(quorum.more.restarts.count, 2);
    let once = compared::walk(&quorum, CRASH, &Limits::NONE);
    for with in 0..2 {
        let again = compared::walk(&restarting(&quorum, with), CRASH, &Limits::NONE);
        assert!(again.transitions >= once.transitions, "{again:?}");
    }
}

#[test]
fn lists_of_members_change() {
    let quorum = quorum();
    let worlds = &quorum.more.variants.further;
    assert!(!worlds.is_empty());
    for Further { mapping, scenario, .. } in worlds {
        assert!(World::new(mapping.rules, *scenario).is_ok(), "{scenario}");
    }
    let others = surroundings(&quorum, false).len();
    for around in &surroundings(&quorum, true)[others..] {
        let walked = around.walk(1, &Limits::NONE).expect("comparable").expect("possible");
        if let Some(divergence) = walked.divergence {
            panic!("{}", divergence.report());
        }
        let cut_short = walked.summary.cut_short;
        assert_eq!(cut_short, None, "the number of states is no limit that was asked for");
        assert!(walked.summary.transitions > 0);
    }
}

//! Programs that have run for long: their numbers are large, and the walk is otherwise the same.

use bellwether_conformance::divergence::Kind;
use bellwether_conformance::further::LongRun;
use bellwether_conformance::mapping::Mapping;
use bellwether_conformance::mapping::invitation::InvitationMapping;
use bellwether_conformance::mapping::lease::{self as stores, LeaseMapping};
use bellwether_conformance::mapping::quorum::{AnyQuorum, Preemptive, Recommended};
use bellwether_conformance::mapping::stoller::StollerMapping;
use bellwether_core::protocol::quorum::Mark;
use bellwether_core::protocol::quorum::{self, Epoch, Quorum};
use bellwether_core::protocol::stoller::{self, Elid, Stoller};
use bellwether_core::protocol::{Input, Node, Output, Time};
use bellwether_model::check::Limits;
use bellwether_model::world::Scenario;

use crate::compared;
use crate::wrapper::{Hooks, Wrapped, WrongMapping};

const WORLD: Scenario = Scenario::calm(2).with_crashes(1, 1);

/// The program conforms whatever its numbers are, in as many transitions.
#[track_caller]
fn conforms<M: Mapping>(mapping: &M) {
    assert!(!M::FROM.is_empty(), "its numbers are small");
    let [small, large] = [
        compared::walk(mapping, WORLD, &Limits::NONE),
        compared::walk(&LongRun(mapping), WORLD, &Limits::NONE),
    ];
    assert_eq!((small.transitions, small.probes), (large.transitions, large.probes));
    assert!(large.transitions > 0 && large.probes > 0);
}

#[test]
fn large_numbers_make_no_difference() {
    conforms(&InvitationMapping);
    conforms(&StollerMapping);
    conforms(&LeaseMapping::new());
    conforms(&stores::REDIS_SETNX);
    conforms(&AnyQuorum::of::<Recommended>());
    conforms(&AnyQuorum::of::<Preemptive>());
}

/// What a number of 64 bits is that was kept in 32.
fn narrow(number: u64) -> u64 {
    number & u64::from(u32::MAX)
}

/// A program that cuts numbers off that do not fit into 32 bits.
#[derive(Clone, Copy, Debug)]
struct Narrow;

impl<M: Mapping<Program = Node<Stoller>>> Hooks<M> for Narrow {
    fn handle(
        &mut self,
        node: &mut Wrapped<Node<Stoller>>,
        now: Time,
        input: Input<stoller::Message>,
    ) {
        node.feed(now, input);
        node.change(|_, output| {
            Some(match output {
                Output::Send { to, message: stoller::Message::Halt(of) } => {
                    let of = Elid { incarnation: narrow(of.incarnation), ..of };
                    Output::Send { to, message: stoller::Message::Halt(of) }
                }
                other => other,
            })
        });
    }
}

/// The same, of an epoch that is claimed.
#[derive(Clone, Copy, Debug)]
struct NarrowClaim;

impl<M: Mapping<Program = Node<Quorum>>> Hooks<M> for NarrowClaim {
    fn handle(
        &mut self,
        node: &mut Wrapped<Node<Quorum>>,
        now: Time,
        input: Input<quorum::Message>,
    ) {
        node.feed(now, input);
        node.change(|_, output| {
            Some(match output {
                Output::Send { to, message: quorum::Message::Claim(epoch, _, birth) } => {
                    let epoch = Epoch::new(narrow(epoch.number()));
                    Output::Send { to, message: quorum::Message::Claim(epoch, Mark::FIRST, birth) }
                }
                other => other,
            })
        });
    }
}

#[test]
fn a_number_that_is_cut_off_shows_in_a_long_run_alone() {
    let short = WrongMapping::new(StollerMapping, Narrow);
    assert_eq!(compared::first_difference(&short, WORLD), None);
    let long = WrongMapping::new(LongRun(&StollerMapping), Narrow);
    compared::caught(&long, WORLD, Kind::Missing, "HALT(");

    const QUORUM: AnyQuorum = AnyQuorum::of::<Recommended>();
    let short = WrongMapping::new(QUORUM, NarrowClaim);
    assert_eq!(compared::first_difference(&short, WORLD), None);
    let long = WrongMapping::new(LongRun(&QUORUM), NarrowClaim);
    compared::caught(&long, WORLD, Kind::Missing, "CLAIM(");
}

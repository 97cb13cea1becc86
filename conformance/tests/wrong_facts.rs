//! Programs that do what is right and tell the outside what is wrong: their epoch, until when they
//! lead, whom they wait for, which nodes may lead, and the durations by which others act.

use bellwether_conformance::divergence::Kind;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_conformance::mapping::quorum::{AnyQuorum, Recommended, Transfers};
use bellwether_conformance::mapping::{Mapping, ProgramTimer};
use bellwether_conformance::program::{Facts, Limits, Program as _};
use bellwether_core::protocol::{Epoch, Lease, NodeId, Role, Time};
use bellwether_model::world::Scenario;
use std::time::Duration;

use crate::compared;
use crate::wrapper::{Hooks, Wrapped, WrongMapping};

const TICK: Duration = Duration::from_nanos(1);

/// What is told wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mistake {
    None,
    FollowersKnowNoEpoch,
    LeadersTellTheNextEpoch,
    LeadsWhenItsLeaseIsOver,
    LeadsATickTooShort,
    LeaseEndsATickLater,
    LeaseOfTheEpochBefore,
    LeadsWithoutALease,
    WaitsForItself,
    WaitsForNone,
    NamesItself,
    AwaitsAny,
    NeverLeads,
    LifetimeIsTheSilence,
    NeverPauses,
}

impl<M: Mapping> Hooks<M> for Mistake {
    fn compares_facts(&self) -> bool {
        true
    }

    fn facts(&self, node: &Wrapped<M::Program>) -> Facts<ProgramTimer<M>> {
        let mut right = node.core.facts();
        let me = node.id();
        let leads = node.role() == Role::Leader;
        match self {
            Mistake::FollowersKnowNoEpoch => right.epoch = right.epoch.filter(|_| leads),
            Mistake::LeadersTellTheNextEpoch if leads => {
                right.epoch = right.epoch.map(Epoch::next);
            }
            Mistake::LeaseEndsATickLater => {
                right.lease = right.lease.map(|lease| Lease { until: lease.until + TICK, ..lease });
            }
            Mistake::LeaseOfTheEpochBefore => {
                let before = |epoch: Epoch| Epoch::new(epoch.number().saturating_sub(1));
                right.lease =
                    right.lease.map(|lease| Lease { epoch: before(lease.epoch), ..lease });
            }
            Mistake::WaitsForItself => {
                right.waits_for = right.waits_for.map(|(timer, _)| (timer, vec![me]));
            }
            Mistake::WaitsForNone => right.waits_for = None,
            Mistake::NamesItself if leads => right.successor = Some(me),
            _ => {}
        }
        right
    }

    fn leads(&self, node: &Wrapped<M::Program>, now: Time) -> Option<Epoch> {
        let lease = node.core.facts().lease;
        match self {
            Mistake::LeadsWhenItsLeaseIsOver => {
                lease.filter(|lease| lease.until >= now).map(|lease| lease.epoch)
            }
            Mistake::LeadsATickTooShort => {
                lease.filter(|lease| lease.until > now + TICK).map(|lease| lease.epoch)
            }
            Mistake::LeadsWithoutALease => {
                node.core.leads(now).or((node.role() == Role::Follower).then_some(Epoch::new(1)))
            }
            _ => node.core.leads(now),
        }
    }

    fn awaits_successor(&self, node: &Wrapped<M::Program>, to: NodeId) -> bool {
        *self == Mistake::AwaitsAny || node.core.awaits_successor(to)
    }

    fn may_lead(&self, node: &Wrapped<M::Program>, id: NodeId) -> bool {
        (*self != Mistake::NeverLeads || id != node.id()) && node.core.may_lead(id)
    }

    fn limits(&self, right: Option<Limits>) -> Option<Limits> {
        right.map(|right| match self {
            Mistake::LifetimeIsTheSilence => Limits { lifetime: right.silence, ..right },
            Mistake::NeverPauses => Limits { silence: right.silence * 2, ..right },
            _ => right,
        })
    }
}

/// The mistake is caught in a world of two; what is told is about this.
#[track_caller]
fn caught<M: Mapping>(mapping: M, mistake: Mistake, about: &str) {
    let world = Scenario::calm(2).with_crashes(1, 1);
    compared::caught(&WrongMapping::new(mapping, mistake), world, Kind::Different, about);
}

fn quorum() -> AnyQuorum {
    AnyQuorum::of::<Recommended>()
}

#[test]
fn without_a_mistake_the_wrapper_conforms() {
    let world = Scenario::calm(2).with_crashes(1, 1);
    let right = WrongMapping::new(quorum(), Mistake::None);
    assert_eq!(compared::first_difference(&right, world), None);
    let right = WrongMapping::new(BullyMapping, Mistake::None);
    assert_eq!(compared::first_difference(&right, world), None);
}

#[test]
fn another_epoch_is_told() {
    caught(quorum(), Mistake::FollowersKnowNoEpoch, "different epoch of 1: 1 in the model, none");
    caught(quorum(), Mistake::LeadersTellTheNextEpoch, "different epoch of 2: 1 in the model, 2");
}

#[test]
fn a_node_leads_at_the_instant_at_which_its_lease_is_over() {
    let about = "epoch that it leads when its lease ends of 2: none in the model, 1";
    caught(quorum(), Mistake::LeadsWhenItsLeaseIsOver, about);
    caught(LeaseMapping::new(), Mistake::LeadsWhenItsLeaseIsOver, about);
}

#[test]
fn a_node_leads_no_longer_before_its_lease_is_over() {
    let about = "epoch that it leads before its lease ends of 2: 1 in the model, none";
    caught(quorum(), Mistake::LeadsATickTooShort, about);
}

#[test]
fn the_lease_is_another_one() {
    caught(quorum(), Mistake::LeaseEndsATickLater, "different end of the lease of 2");
    caught(quorum(), Mistake::LeaseOfTheEpochBefore, "epoch of the lease of 2: 1 in the model, 0");
    caught(quorum(), Mistake::LeadsWithoutALease, "epoch that it leads of 1: none in the model, 1");
}

#[test]
fn other_nodes_are_waited_for() {
    let about = "nodes that it waits for of 1: 2 (election) in the model, 1 (election) in";
    caught(BullyMapping, Mistake::WaitsForItself, about);
    caught(BullyMapping, Mistake::WaitsForNone, "2 (election) in the model, none in the program");
}

#[test]
fn another_node_is_named() {
    caught(quorum(), Mistake::NamesItself, "node that is best to lead next of 2: one of 1 in");
    let transfers = AnyQuorum::of::<Transfers>();
    caught(transfers, Mistake::AwaitsAny, "node that is to lead instead of 1: none in the model");
    caught(quorum(), Mistake::NeverLeads, "nodes that may lead of 1: 1, 2 in the model, 2 in");
}

#[test]
fn others_act_by_other_durations() {
    let about = "lifetime of messages of 1: 300ms in the model, 1s in the program";
    caught(quorum(), Mistake::LifetimeIsTheSilence, about);
    let about = "silence that is a pause of 1: 400ms in the model, 800ms in the program";
    caught(BullyMapping, Mistake::NeverPauses, about);
}

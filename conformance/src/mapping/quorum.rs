//! The quorum bully: the recommended rules against the production core, and those with preemption
//! against the same core, which is configured for it.

use super::{Happening, Mapping, Step, node_id, process_id};
use bellwether::protocol::quorum as program;
use bellwether::protocol::{Input, Members, Node, NodeId};
use bellwether_bridge::program::Refusal;
use bellwether_model::protocol::{Id, Ids, quorum as spec};
use std::collections::BTreeSet;
use std::fmt::Debug;
use std::marker::PhantomData;
use std::time::Duration;

/// How a node of the quorum bully reads as a process of [`spec::Quorum`].
///
/// | program                                  | model                                   |
/// |------------------------------------------|-----------------------------------------|
/// | not started                              | down                                    |
/// | follower that has promised, has heard    | follower, the same promise, as leader   |
/// | deferring, canvassing, claiming, leader  | the same role                           |
/// | supports, grants, acknowledgements       | granted                                 |
/// | epoch and to which node it is granted    | the same, stable                        |
#[derive(Clone, Copy, Debug, Default)]
pub struct QuorumMapping<V = Never>(PhantomData<V>);

/// Whether a higher process takes over, on both sides.
pub trait Preempts: Copy + Debug + Default {
    /// In the specification.
    const RULE: spec::Preemption;
    /// In the program's configuration.
    const SETTING: program::Preemption;
}

/// It does not: the recommended rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct Never;

/// It does after a dwell time: the rules of the variant `preemptive`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dwell;

/// It does at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct AtOnce;

impl Preempts for Never {
    const RULE: spec::Preemption = spec::Preemption::Never;
    const SETTING: program::Preemption = program::Preemption::Never;
}

impl Preempts for Dwell {
    const RULE: spec::Preemption = spec::Preemption::Dwell;
    const SETTING: program::Preemption = program::Preemption::Dwell;
}

impl Preempts for AtOnce {
    const RULE: spec::Preemption = spec::Preemption::AtOnce;
    const SETTING: program::Preemption = program::Preemption::AtOnce;
}

impl<V: Preempts> QuorumMapping<V> {
    /// The mapping, for a registry.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// The watch of the highest node takes one skew, and that of each other one more; no two timers
    /// that the specification tells apart take equally long.
    const TIMING: program::Timing = program::Timing {
        skew: Duration::from_millis(110),
        preemption: V::SETTING,
        ..program::Timing::DEFAULT
    };

    /// The configuration of a node.
    #[must_use]
    pub fn config(id: NodeId, members: &Members) -> program::Config {
        program::Config { id, members: members.clone(), timing: Self::TIMING }
    }

    /// The process that a node stands for.
    #[must_use]
    pub fn stands_for(node: &Node<program::Quorum>) -> spec::Process {
        use program::State::{Canvassing, Claiming, Deferring, Follower, Leader};
        let idle = spec::Process::default();
        let process = |role, granted| spec::Process { role, granted, ..idle };
        let Some(core) = node.core() else { return idle };
        match core.state() {
            Follower { promised, heard } => {
                let promised = promised.and_then(process_id);
                spec::Process { leader: promised.filter(|_| *heard), promised, ..idle }
            }
            Deferring => process(spec::Role::Deferring, Ids::NONE),
            Canvassing(supports) => process(spec::Role::Canvassing, ids(supports)),
            Claiming(grants) => process(spec::Role::Claiming, ids(grants)),
            Leader { round, acks } => {
                let leader = node.status().leader.and_then(process_id);
                let round = u16::try_from(*round).unwrap_or(u16::MAX);
                spec::Process { leader, round, ..process(spec::Role::Leader, ids(acks)) }
            }
        }
    }
}

impl<V: Preempts> Mapping for QuorumMapping<V> {
    type Spec = spec::Quorum;
    type Program = Node<program::Quorum>;
    type Memory = ();

    const RULES: spec::Quorum = spec::Quorum { preemption: V::RULE, ..spec::Quorum::RECOMMENDED };

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&program::Durable>,
    ) -> Result<Self::Program, Refusal> {
        Ok(Node::new(Self::config(id, members), durable.copied(), 0)?)
    }

    /// The highest node canvasses, claims, and is granted epoch 1 by a majority, which acknowledges
    /// its first round.
    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
        use program::Message::{Ack, Coordinator, Grant, Support};
        let epoch = program::Epoch::new(1);
        let highest = members.iter().max().unwrap_or(id);
        if id != highest {
            let message = Coordinator(epoch, 1);
            let heard = Input::Receive { from: highest, message };
            return [Input::Boot, heard].map(|input| (Duration::ZERO, input)).to_vec();
        }
        let quiet = Self::TIMING.promise;
        let runs = quiet + Self::TIMING.skew;
        let mut inputs = vec![(Duration::ZERO, Input::Boot), (quiet, Input::Wake)];
        inputs.push((runs, Input::Wake));
        for message in [Support(epoch), Grant(epoch), Ack(epoch, 1)] {
            // Half of the others make a majority with it.
            let others = members.below(id).iter().take(members.count() / 2);
            inputs.extend(others.map(|&from| (runs, Input::Receive { from, message })));
        }
        inputs
    }

    fn to_program(&self, message: spec::Message) -> Option<program::Message> {
        let epoch = |epoch: spec::Epoch| program::Epoch::new(epoch.into());
        Some(match message {
            spec::Message::Canvass(of) => program::Message::Canvass(epoch(of)),
            spec::Message::Support(of) => program::Message::Support(epoch(of)),
            spec::Message::Outrank(of) => program::Message::Outrank(epoch(of)),
            spec::Message::Claim(of) => program::Message::Claim(epoch(of)),
            spec::Message::Grant(of) => program::Message::Grant(epoch(of)),
            spec::Message::Coordinator(of, round) => {
                program::Message::Coordinator(epoch(of), round.into())
            }
            spec::Message::Ack(of, round) => program::Message::Ack(epoch(of), round.into()),
            spec::Message::Refuse(of, holder) => {
                program::Message::Refuse(epoch(of), holder.map(node_id))
            }
            spec::Message::Challenge(of) => program::Message::Challenge(epoch(of)),
            spec::Message::Yield(of, next) => program::Message::Yield(epoch(of), next.map(node_id)),
            spec::Message::Succeed(of) => program::Message::Succeed(epoch(of)),
        })
    }

    fn to_model(&self, message: program::Message) -> spec::Message {
        match message {
            program::Message::Canvass(of) => spec::Message::Canvass(epoch(of)),
            program::Message::Support(of) => spec::Message::Support(epoch(of)),
            program::Message::Outrank(of) => spec::Message::Outrank(epoch(of)),
            program::Message::Claim(of) => spec::Message::Claim(epoch(of)),
            program::Message::Grant(of) => spec::Message::Grant(epoch(of)),
            program::Message::Coordinator(of, round) => {
                spec::Message::Coordinator(epoch(of), small(round))
            }
            program::Message::Ack(of, round) => spec::Message::Ack(epoch(of), small(round)),
            program::Message::Refuse(of, holder) => {
                spec::Message::Refuse(epoch(of), holder.and_then(process_id))
            }
            program::Message::Challenge(of) => spec::Message::Challenge(epoch(of)),
            program::Message::Yield(of, next) => {
                spec::Message::Yield(epoch(of), next.and_then(process_id))
            }
            program::Message::Succeed(of) => spec::Message::Succeed(epoch(of)),
        }
    }

    fn timer(&self, timer: program::Timer) -> spec::Timer {
        match timer {
            program::Timer::Asked => spec::Timer::Asked,
            program::Timer::Lease => spec::Timer::Lease,
            program::Timer::Promise => spec::Timer::Promise,
            program::Timer::Quiet => spec::Timer::Quiet,
            program::Timer::Watch => spec::Timer::Watch,
            program::Timer::Election => spec::Timer::Election,
            program::Timer::Coordinator => spec::Timer::Coordinator,
            program::Timer::Backoff => spec::Timer::Backoff,
            program::Timer::Round => spec::Timer::Round,
            program::Timer::Dwell => spec::Timer::Dwell,
        }
    }

    fn period(&self, id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
        let timing = Self::TIMING;
        Some(match timer {
            spec::Timer::Asked | spec::Timer::Lease => timing.lease,
            spec::Timer::Promise | spec::Timer::Quiet => timing.promise,
            spec::Timer::Watch => {
                members.iter().filter(|&other| other >= id).map(|_| timing.skew).sum()
            }
            spec::Timer::Election => timing.election,
            spec::Timer::Coordinator => timing.coordinator,
            spec::Timer::Backoff => timing.backoff,
            spec::Timer::Round => timing.round,
            spec::Timer::Dwell => timing.dwell,
            // The disk syncs before anything is sent, and no operator asks.
            spec::Timer::Sync | spec::Timer::Request | spec::Timer::Away => return None,
        })
    }

    fn checked_first(&self) -> &'static [spec::Timer] {
        &[spec::Timer::Lease]
    }

    fn process(&self, program: &Node<program::Quorum>) -> spec::Process {
        Self::stands_for(program)
    }

    fn stable(&self, durable: &program::Durable) -> spec::Stable {
        let granted_to = durable.granted_to.and_then(process_id);
        spec::Stable { epoch: epoch(durable.epoch), granted_to }
    }

    fn memory(&self, _: &Node<program::Quorum>) {}

    fn messages(&self) -> Vec<spec::Message> {
        use spec::Message::{Ack, Canvass, Challenge, Claim, Coordinator, Grant, Outrank, Refuse};
        use spec::Message::{Succeed, Support, Yield};
        let of_epoch = |epoch| {
            let rounds = [1, 2].map(|round| [Coordinator(epoch, round), Ack(epoch, round)]);
            let holders = [None, Some(Id::at(0)), Some(Id::at(1))];
            let questions = [Canvass(epoch), Support(epoch), Outrank(epoch), Claim(epoch)];
            let refusals = holders.map(|holder| Refuse(epoch, holder));
            let yields = holders.map(|next| Yield(epoch, next));
            let claims = [Grant(epoch), Challenge(epoch), Succeed(epoch)];
            [&questions[..], &claims, rounds.as_flattened(), &refusals, &yields].concat()
        };
        (0..4).flat_map(of_epoch).collect()
    }

    fn reason(&self, step: &Step<'_, spec::Quorum>) -> Option<&'static str> {
        Some(match step.happening {
            Happening::Boot => "booted",
            Happening::Receive { message, .. } => match message {
                spec::Message::Canvass(_) => "canvassed",
                spec::Message::Outrank(_) => "outranked",
                spec::Message::Claim(_) | spec::Message::Succeed(_) => "claimed_by",
                spec::Message::Challenge(_) => "handed_over",
                spec::Message::Yield(..) => "yielded",
                spec::Message::Grant(_) => "granted",
                spec::Message::Coordinator(..) if step.before.role == spec::Role::Leader => {
                    "higher_epoch"
                }
                spec::Message::Coordinator(..) => "leader_heard",
                spec::Message::Refuse(..) => "higher_epoch",
                _ => return None,
            },
            Happening::Expire(timer) => match timer {
                spec::Timer::Lease => "lease_over",
                spec::Timer::Promise => "promise_over",
                spec::Timer::Watch | spec::Timer::Backoff => "watch_over",
                spec::Timer::Coordinator => "no_winner",
                spec::Timer::Election | spec::Timer::Asked => "no_majority",
                _ => return None,
            },
            Happening::Crash => return None,
        })
    }

    /// What belongs to an epoch, a round or a question that is over.
    fn ignores(&self, step: &Step<'_, spec::Quorum>) -> Option<&'static str> {
        use spec::Role::{Canvassing, Claiming, Leader};
        let Happening::Receive { from, message } = step.happening else { return None };
        let (role, own) = (step.before.role, step.stable.epoch);
        let counts = match message {
            spec::Message::Support(epoch) | spec::Message::Outrank(epoch) => {
                role == Canvassing && epoch == own + 1
            }
            spec::Message::Grant(epoch) => role == Claiming && epoch == own,
            spec::Message::Ack(epoch, round) => {
                role == Leader && epoch == own && round == step.before.round
            }
            spec::Message::Refuse(epoch, _) => {
                epoch > own && matches!(role, Canvassing | Claiming | Leader)
            }
            spec::Message::Coordinator(epoch, _) => epoch != own || role != Leader,
            spec::Message::Challenge(epoch) => role == Leader && epoch == own && from > step.id,
            spec::Message::Yield(epoch, _) => epoch == own && step.before.promised == Some(from),
            spec::Message::Canvass(_) | spec::Message::Claim(_) | spec::Message::Succeed(_) => true,
        };
        (!counts).then_some("stale")
    }

    fn never(&self) -> &'static [(&'static str, &'static str)] {
        const SYNC: (&str, &str) =
            ("timer sync", "the disk syncs before anything is sent that follows");
        const HEALTHY: (&str, &str) =
            ("rule unhealthy", "it says which process is not electable, and here every one is");
        const NO_DWELL: (&str, &str) = ("timer dwell", "by these rules no process waits so long");
        const LATE: (&str, &str) = ("rule late", "without a clock, no lease runs out unnoticed");
        const TRANSFER: (&str, &str) = ("rule transfer", "no operator asks");
        const STEP_DOWN: (&str, &str) = ("rule step_down", "no operator asks");
        const REQUEST: (&str, &str) = ("timer request", "no operator asks");
        const AWAY: (&str, &str) = ("timer away", "no operator asks");
        const EPOCHS: (&str, &str) = ("rule epochs", "it bounds a search, and no process");
        const NEVER: [(&str, &str); 8] =
            [SYNC, HEALTHY, LATE, TRANSFER, STEP_DOWN, REQUEST, AWAY, EPOCHS];
        const NOR_DWELL: [(&str, &str); 9] =
            [SYNC, HEALTHY, LATE, TRANSFER, STEP_DOWN, REQUEST, AWAY, EPOCHS, NO_DWELL];
        match V::RULE {
            spec::Preemption::Dwell => &NEVER,
            spec::Preemption::AtOnce | spec::Preemption::Never => &NOR_DWELL,
        }
    }

    fn rules(&self, happening: &Happening<spec::Quorum>) -> &'static [&'static str] {
        match happening {
            Happening::Boot | Happening::Crash => &["quiet", "storage"],
            Happening::Receive { message, .. } => match message {
                spec::Message::Canvass(_) => {
                    &["canvass", "outrank", "promises", "binds_itself", "quiet"]
                }
                spec::Message::Support(_) => &["canvass", "grants"],
                spec::Message::Outrank(_) => &["outrank"],
                spec::Message::Claim(_) => &["grants", "promises", "quiet"],
                spec::Message::Grant(_) => &["grants", "count"],
                spec::Message::Coordinator(..) => &["answer_lower", "preemption"],
                spec::Message::Ack(..) => &["rounds", "count"],
                spec::Message::Refuse(..) => &["deposed"],
                spec::Message::Challenge(_) => &["preemption"],
                spec::Message::Yield(..) | spec::Message::Succeed(_) => &["handover"],
            },
            Happening::Expire(timer) => match timer {
                spec::Timer::Lease => &["expiry"],
                spec::Timer::Election | spec::Timer::Backoff => &["backoff"],
                spec::Timer::Coordinator => &["outrank"],
                spec::Timer::Quiet => &["quiet"],
                spec::Timer::Promise => &["promises"],
                spec::Timer::Asked => &["count"],
                spec::Timer::Watch => &["canvass"],
                spec::Timer::Dwell => &["preemption"],
                spec::Timer::Round
                | spec::Timer::Sync
                | spec::Timer::Request
                | spec::Timer::Away => &[],
            },
        }
    }
}

fn ids(nodes: &BTreeSet<NodeId>) -> Ids {
    nodes.iter().copied().filter_map(process_id).collect()
}

fn epoch(of: program::Epoch) -> spec::Epoch {
    spec::Epoch::try_from(of.number()).unwrap_or(spec::Epoch::MAX)
}

fn small(round: u64) -> spec::Round {
    spec::Round::try_from(round).unwrap_or(spec::Round::MAX)
}

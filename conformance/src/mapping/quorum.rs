//! The quorum bully: the recommended rules against the production core, and those with preemption
//! against the same core, which is configured for it.

use super::{
    Asked, Counters, ExpectedFacts, Mapping, Order, ProcessView, Restart, SpecEvent, Step,
};
use super::{node_id, process_id};
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_core::protocol::quorum as program;
use bellwether_core::protocol::{Birth, Core as _, Input, Members, Node, NodeId, Request, Role};
use bellwether_model::protocol::{Id, Ids, Timers, quorum as spec};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

mod any;
mod coverage;
mod facts;
mod lists;
mod numbers;
mod orders;
mod restarts;
mod values;
mod variants;

pub use any::AnyQuorum;
use values::{birth, epoch, ids, met, program_birth, program_mark, small, waits_for};
use variants::AWAY;
pub use variants::{
    AtOnce, Declines, Founds, Joins, Leaves, LetIn, Observed, Overlooks, Preemptive, Promotes,
    Recommended, Resigns, StepsAside, StepsDown, Transfers, Variant, Witnessed,
};

/// The birth of each node that starts without a state, and without having had one.
const FIRST_BIRTH: u64 = 1;

/// How a node of the quorum bully reads as a process of [`spec::Quorum`].
///
/// | program                                  | model                                   |
/// |------------------------------------------|-----------------------------------------|
/// | not started                              | down                                    |
/// | follower that has promised, has heard    | follower, the same promise, as leader   |
/// | deferring, canvassing, claiming,         | the same role                           |
/// | succeeding, leader                       |                                         |
/// | supports, grants                         | granted                                 |
/// | the two rounds that wait, and which      | asked, later, granted, granted later    |
/// | nodes have acknowledged at least those   |                                         |
/// | has challenged                           | the same, where a process can be next   |
/// | epoch and to which node it is granted    | the same, stable                        |
/// | birth, which others it has met, and      | the same, stable; as it is in memory,   |
/// | which have met it                        | and what was written                    |
#[derive(Clone, Copy, Debug, Default)]
pub struct QuorumMapping<V = Recommended>(PhantomData<V>);

impl<V: Variant> QuorumMapping<V> {
    /// The mapping, for a registry.
    #[must_use]
    pub const fn new() -> Self {
        Self(PhantomData)
    }

    /// The watch of the highest node takes one skew, and that of each other one more; no two timers
    /// that the specification tells apart take equally long. A leader waits for two rounds at once.
    const TIMING: program::Timing = program::Timing {
        round: Duration::from_millis(400),
        skew: Duration::from_millis(110),
        preemption: V::PREEMPTION,
        ..program::Timing::DEFAULT
    };

    /// The configuration of a node.
    #[must_use]
    pub fn config(id: NodeId, members: &Members) -> program::Config {
        program::Config { id, members: members.clone(), timing: Self::TIMING }
    }

    /// Whether nodes start without a state.
    const FOUNDS: bool = !matches!(V::RULES.founding, spec::Founding::Given);

    /// Whether there is more than one list of members.
    const CHANGES: bool = !matches!(V::RULES.lists, spec::Lists::One) || Self::FOUNDS;

    /// Whether some members only observe.
    const OBSERVED: bool =
        V::RULES.observer.is_some() || matches!(V::RULES.lists, spec::Lists::Promotes);

    /// Whether the list of members says more than who they are.
    const LISTED: bool = Self::CHANGES || Self::OBSERVED || V::RULES.witness.is_some();

    /// The process that a node stands for.
    #[must_use]
    pub fn abstraction(node: &Node<program::Quorum>) -> spec::Process {
        use program::State::{Canvassing, Claiming, Deferring, Follower, Leader, Succeeding};
        let idle = spec::Process::default();
        let Some(core) = node.core() else { return idle };
        let challenged = V::HANDS_OVER && core.challenged();
        let (decided, list) = core.lists().map(Self::lists).unwrap_or_default();
        let (met, met_by) = (met(&core.durable().met), ids(core.met_by()));
        let idle = spec::Process { led: core.led(), challenged, list, decided, ..idle };
        let idle = spec::Process { met, met_by, ..idle };
        let process = |role, granted| spec::Process { role, granted, ..idle };
        match core.state() {
            Follower { promised, heard } => {
                let promised = promised.and_then(process_id);
                spec::Process { leader: promised.filter(|_| *heard), promised, ..idle }
            }
            Deferring => process(spec::Role::Deferring, Ids::NONE),
            Canvassing(supports) => process(spec::Role::Canvassing, ids(supports)),
            Claiming(grants) => process(spec::Role::Claiming, ids(grants)),
            Succeeding(grants) => process(spec::Role::Succeeding, ids(grants)),
            Leader { round, waiting, followers, invited, marked } => {
                let alone: Ids = process_id(node.config().id).into_iter().collect();
                let acks =
                    |number| followers.iter().filter(move |(_, node)| node.acknowledged >= number);
                let voters = |number| acks(number).filter_map(|(&id, _)| process_id(id));
                let granted = |number| voters(number).fold(alone, Ids::with);
                let waits = |place: usize| waiting.get(place).copied();
                spec::Process {
                    leader: node.status().leader.and_then(process_id),
                    granted: waits(0).map_or(alone, granted),
                    granted_later: waits(1).map_or(Ids::NONE, granted),
                    round: small(*round),
                    asked: waits(0).map_or(0, small),
                    later: waits(1).map_or(0, small),
                    invited: invited.and_then(|invited| process_id(invited.to)),
                    waits_for: invited.map_or(0, waits_for),
                    marked: ids(marked),
                    ..process(spec::Role::Leader, alone)
                }
            }
        }
    }
}

impl<V: Variant> Mapping for QuorumMapping<V> {
    type Spec = spec::Quorum;
    type Program = Node<program::Quorum>;
    type Memory = ();

    const RULES: spec::Quorum = V::RULES;
    const LOG_RULES: spec::Quorum = V::LOG_RULES;
    const COUNTERS: Counters<Self> = numbers::counters();
    const LARGEST_EPOCH: u64 = spec::Epoch::MAX as u64;
    const FROM: &'static [u64] = if Self::CHANGES { &[] } else { numbers::FROM };
    const RESTARTS: usize = if Self::LISTED { 0 } else { restarts::TIMES.len() };

    fn program(
        &self,
        id: NodeId,
        members: &Members,
        durable: Option<&program::Durable>,
    ) -> Result<Self::Program, Refusal> {
        let members = Self::first(members)?;
        // Where no node founds the cluster, each has from the start.
        let promise = Some(Self::TIMING.promise);
        let founder = program::Durable { promise, ..program::Durable::default() };
        let durable = durable.cloned().or_else(|| (!Self::FOUNDS).then_some(founder));
        Ok(Node::new(Self::config(id, &members), durable, FIRST_BIRTH)?)
    }

    /// The highest node canvasses, claims, and is granted epoch 1 by a majority, which acknowledges
    /// its first round. One that is to join has just started.
    fn settle(&self, id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
        use program::Message::{Ack, Coordinator, Grant, Support};
        let (epoch, mark) = (program::Epoch::new(1), program::Mark::FIRST);
        let boot = vec![(Duration::ZERO, Input::Boot)];
        let Ok(members) = Self::first(members) else { return boot };
        if !members.contains(id) || Self::FOUNDS {
            return boot;
        }
        let highest = members.candidates().last().unwrap_or(id);
        if id != highest {
            let message = Coordinator(epoch, 1, mark);
            let heard = Input::Receive { from: highest, message };
            return [Input::Boot, heard].map(|input| (Duration::ZERO, input)).to_vec();
        }
        let quiet = Self::TIMING.promise;
        let runs = quiet + Self::TIMING.skew;
        let mut inputs = [boot, vec![(quiet, Input::Wake), (runs, Input::Wake)]].concat();
        for message in [Support(epoch), Grant(epoch, Birth::FOUNDER), Ack(epoch, 1, mark)] {
            // Half of the others make a majority with it.
            let others = members.voters().iter().filter(|&&other| other != id);
            let others = others.take(members.voters().len() / 2);
            let receive = |&from: &NodeId| Input::Receive { from, message: message.clone() };
            inputs.extend(others.map(|from| (runs, receive(from))));
        }
        inputs
    }

    fn to_program(&self, letter: spec::Letter) -> Option<program::Message> {
        let epoch = |epoch: spec::Epoch| program::Epoch::new(epoch.into());
        let (mark, life) = (program_mark(letter.mark), program_birth(letter.birth));
        Some(match letter.message {
            spec::Message::Canvass(of) => program::Message::Canvass(epoch(of), mark),
            spec::Message::Support(of) => program::Message::Support(epoch(of)),
            spec::Message::Outrank(of) => program::Message::Outrank(epoch(of)),
            spec::Message::Claim(of) => program::Message::Claim(epoch(of), mark, life),
            spec::Message::Grant(of) => program::Message::Grant(epoch(of), life),
            spec::Message::Coordinator(of, round) => {
                program::Message::Coordinator(epoch(of), round.into(), mark)
            }
            spec::Message::Ack(of, round) => program::Message::Ack(epoch(of), round.into(), mark),
            spec::Message::Refuse(of, holder) => {
                program::Message::Refuse(epoch(of), holder.map(node_id))
            }
            spec::Message::Challenge(of) => program::Message::Challenge(epoch(of), mark),
            spec::Message::Yield(of, next) => program::Message::Yield(epoch(of), next.map(node_id)),
            spec::Message::Entrust(of) => program::Message::Entrust(epoch(of)),
            spec::Message::Invite(of) => program::Message::Invite(epoch(of)),
            spec::Message::Lists(decided, list) => {
                let lists = Self::program_lists(decided, list, letter.mark);
                program::Message::Lists(Arc::new(lists))
            }
            spec::Message::Meet(of, met) => {
                program::Message::Meet(program_birth(of), met.map(program_birth), mark)
            }
        })
    }

    fn to_model(&self, message: program::Message) -> spec::Letter {
        let life = match message {
            program::Message::Claim(.., life) | program::Message::Grant(_, life) => birth(life),
            _ => spec::FOUNDER,
        };
        let mut carried = spec::Mark::FIRST;
        let mut carries = |of, message| {
            carried = Self::mark(of);
            message
        };
        let message = match message {
            program::Message::Canvass(of, by) => carries(by, spec::Message::Canvass(epoch(of))),
            program::Message::Support(of) => spec::Message::Support(epoch(of)),
            program::Message::Outrank(of) => spec::Message::Outrank(epoch(of)),
            program::Message::Claim(of, by, _) => carries(by, spec::Message::Claim(epoch(of))),
            program::Message::Grant(of, _) => spec::Message::Grant(epoch(of)),
            program::Message::Coordinator(of, round, by) => {
                carries(by, spec::Message::Coordinator(epoch(of), small(round)))
            }
            program::Message::Ack(of, round, by) => {
                carries(by, spec::Message::Ack(epoch(of), small(round)))
            }
            program::Message::Refuse(of, holder) => {
                spec::Message::Refuse(epoch(of), holder.and_then(process_id))
            }
            program::Message::Challenge(of, by) => carries(by, spec::Message::Challenge(epoch(of))),
            program::Message::Yield(of, next) => {
                spec::Message::Yield(epoch(of), next.and_then(process_id))
            }
            program::Message::Entrust(of) => spec::Message::Entrust(epoch(of)),
            program::Message::Invite(of) => spec::Message::Invite(epoch(of)),
            program::Message::Lists(lists) => {
                let (decided, latest) = Self::lists(&lists);
                carries(lists.mark, spec::Message::Lists(decided, latest))
            }
            program::Message::Meet(of, met, by) => {
                carries(by, spec::Message::Meet(birth(of), met.map(birth)))
            }
        };
        spec::Letter { message, mark: carried, birth: life }
    }

    fn timer(&self, timer: program::Timer) -> spec::Timer {
        match timer {
            program::Timer::Asked => spec::Timer::Asked,
            program::Timer::Later(_) => spec::Timer::Later,
            program::Timer::Lease => spec::Timer::Lease,
            program::Timer::Promise => spec::Timer::Promise,
            program::Timer::Quiet => spec::Timer::Quiet,
            program::Timer::Watch => spec::Timer::Watch,
            program::Timer::Election => spec::Timer::Election,
            program::Timer::Coordinator => spec::Timer::Coordinator,
            program::Timer::Backoff => spec::Timer::Backoff,
            program::Timer::Round => spec::Timer::Round,
            program::Timer::Dwell => spec::Timer::Dwell,
            program::Timer::Away => spec::Timer::Away,
            program::Timer::Meet => spec::Timer::Meet,
        }
    }

    fn period(&self, id: NodeId, members: &Members, timer: spec::Timer) -> Option<Duration> {
        let timing = Self::TIMING;
        let never_run = [V::RULES.observer, V::RULES.witness];
        let runs = |other| process_id(other).is_none_or(|id| !never_run.contains(&Some(id)));
        let higher = members.iter().filter(|&other| other > id && runs(other));
        let skews: Duration = higher.map(|_| timing.skew).sum();
        Some(match timer {
            spec::Timer::Asked | spec::Timer::Later | spec::Timer::Lease => timing.lease,
            spec::Timer::Promise | spec::Timer::Quiet => timing.promise,
            spec::Timer::Watch => timing.skew + skews,
            spec::Timer::Election => timing.election,
            spec::Timer::Coordinator => timing.coordinator,
            spec::Timer::Backoff => timing.backoff,
            spec::Timer::Round | spec::Timer::Meet => timing.round,
            spec::Timer::Dwell => timing.dwell + skews,
            spec::Timer::Away => AWAY,
            // What is asked comes when it comes, and the disk syncs before anything is sent.
            spec::Timer::Request | spec::Timer::Change | spec::Timer::Sync => return None,
        })
    }

    fn restart(
        &self,
        with: usize,
        id: NodeId,
        members: &Members,
        durable: &program::Durable,
    ) -> Result<Restart<Self::Program>, Refusal> {
        restarts::restart(with, Self::config(id, members), durable)
    }

    fn period_again(
        &self,
        with: usize,
        id: NodeId,
        members: &Members,
        timer: spec::Timer,
    ) -> Option<Duration> {
        let again = restarts::period(with, Self::TIMING.promise, timer);
        again.or_else(|| self.period(id, members, timer))
    }

    fn checked_first(&self) -> &'static [spec::Timer] {
        &[spec::Timer::Lease]
    }

    fn process(&self, program: &Node<program::Quorum>) -> spec::Process {
        Self::abstraction(program)
    }

    fn believes(&self, _: Id, process: &spec::Process) -> Option<(Role, Option<Id>)> {
        Some((numbers::role(process.role)?, process.leader))
    }

    fn facts(&self, of: &ProcessView<'_, spec::Quorum>) -> Option<ExpectedFacts<spec::Quorum>> {
        Some(facts::facts::<V>(of))
    }

    fn limits(&self, _: NodeId, members: &Members) -> Option<Limits> {
        facts::limits::<V>(members)
    }

    fn stable(&self, durable: &program::Durable) -> spec::Stable {
        let granted_to = durable.granted_to.and_then(process_id);
        let lists = durable.lists.as_ref();
        let (decided, list) = lists.map(Self::lists).unwrap_or_default();
        let mark = lists.map_or(spec::Mark::FIRST, |lists| Self::mark(lists.mark));
        let (epoch, birth, met) = (epoch(durable.epoch), birth(durable.birth), met(&durable.met));
        // No node of a comparison loses its state.
        spec::Stable { epoch, granted_to, list, decided, mark, birth, met, lost: 0 }
    }

    fn ignored_fields(&self) -> &'static [(&'static str, &'static str)] {
        const ASKED: &str = "beyond the rounds that wait, it is told to a program that asks which \
                             node is next, and read by no step";
        const NEVER_NEXT: &str = "by these rules no process is to be next, and no step reads it";
        if V::HANDS_OVER {
            &[("followers", ASKED)]
        } else {
            &[("followers", ASKED), ("challenged", NEVER_NEXT)]
        }
    }

    /// It has heard of an epoch, and neither granted it nor any other.
    fn began(&self, _: NodeId, _: &Members) -> Option<program::Durable> {
        let epoch = program::Epoch::new(numbers::FROM[0]);
        let promise = Some(Self::TIMING.promise);
        Some(program::Durable { epoch, promise, ..program::Durable::default() })
            .filter(|_| !Self::CHANGES)
    }

    fn memory(&self, _: &Node<program::Quorum>) {}

    fn messages(&self) -> Vec<spec::Letter> {
        values::messages::<V>()
    }

    fn reason(&self, step: &Step<'_, spec::Quorum>) -> Option<&'static str> {
        let leads = |process: &spec::Process| process.role == spec::Role::Leader;
        Some(match step.happening {
            SpecEvent::Boot => "booted",
            SpecEvent::Receive { message, .. } => match message.message {
                spec::Message::Canvass(_) => "canvassed",
                spec::Message::Outrank(_) => "outranked",
                spec::Message::Claim(_) => "claimed_by",
                spec::Message::Challenge(_) => "handed_over",
                spec::Message::Yield(..) | spec::Message::Entrust(_) if !leads(step.after) => {
                    "yielded"
                }
                spec::Message::Grant(_) | spec::Message::Yield(..) | spec::Message::Entrust(_) => {
                    "granted"
                }
                spec::Message::Coordinator(..) if leads(step.before) => "higher_epoch",
                spec::Message::Coordinator(..) => "leader_heard",
                spec::Message::Refuse(..) | spec::Message::Lists(..) => "higher_epoch",
                _ => return None,
            },
            SpecEvent::Expire(timer) => match timer {
                spec::Timer::Lease => "lease_over",
                spec::Timer::Promise => "promise_over",
                spec::Timer::Watch | spec::Timer::Backoff => "watch_over",
                spec::Timer::Coordinator => "no_winner",
                spec::Timer::Election | spec::Timer::Asked => "no_majority",
                // No process is unfit here, so a leader that does not start its round was asked.
                spec::Timer::Request | spec::Timer::Round => "asked_to_yield",
                _ => return None,
            },
            SpecEvent::Crash => return None,
        })
    }

    /// What belongs to an epoch, a round or a question that is over.
    fn ignores(&self, step: &Step<'_, spec::Quorum>) -> Option<&'static str> {
        use spec::Role::{Canvassing, Claiming, Follower, Leader, Succeeding};
        let SpecEvent::Receive { from, message } = step.happening else { return None };
        let role = step.before.role;
        let own = step.stable.epoch;
        let who = lists::Heard::of::<V>(step, from);
        let is_outdated = message.mark < step.stable.mark;
        let is_for_all =
            matches!(message.message, spec::Message::Coordinator(..) | spec::Message::Yield(..));
        match message.message {
            _ if !who.is_member => return Some("unknown_sender"),
            spec::Message::Canvass(_) | spec::Message::Claim(_) if is_outdated => return None,
            spec::Message::Challenge(_) if is_outdated => return Some("stale"),
            spec::Message::Lists(..) | spec::Message::Meet(..) => {}
            _ if !who.votes || (who.observes && !is_for_all) => return Some("observes"),
            _ => {}
        }
        let observes = who.observes;
        let counts = match message.message {
            spec::Message::Support(epoch) | spec::Message::Outrank(epoch) => {
                role == Canvassing && epoch == own + 1
            }
            spec::Message::Grant(epoch) => {
                let is_own = message.birth == step.stable.birth;
                role == Claiming && epoch == own && is_own
            }
            spec::Message::Ack(epoch, round) => {
                role == Leader && epoch == own && round <= step.before.round
            }
            spec::Message::Refuse(epoch, _) => {
                epoch > own && matches!(role, Canvassing | Claiming | Leader)
            }
            spec::Message::Coordinator(epoch, _) if observes => epoch >= own,
            spec::Message::Coordinator(epoch, _) => epoch != own || role != Leader,
            spec::Message::Challenge(epoch) => {
                let next = from > step.id || step.before.invited == Some(from);
                role == Leader && epoch == own && next
            }
            spec::Message::Yield(epoch, next) => {
                let counts = role == Succeeding && next == Some(step.id) && epoch + 1 == own;
                counts || (epoch == own && step.before.promised == Some(from))
            }
            // Only one that is prepared becomes another than it was.
            spec::Message::Entrust(epoch) => {
                (role == Succeeding && epoch == own) || step.before != step.after
            }
            spec::Message::Invite(epoch) => {
                role == Follower && epoch == own && step.before.leader == Some(from)
            }
            spec::Message::Canvass(_) | spec::Message::Claim(_) | spec::Message::Meet(..) => true,
            spec::Message::Lists(..) => message.mark > step.stable.mark,
        };
        (!counts).then_some("stale")
    }

    fn when_asked(
        &self,
        request: Request,
        process: &spec::Process,
        armed: Timers,
    ) -> Asked<spec::Quorum> {
        variants::when_asked::<V>(&request, process, armed)
    }

    fn orders(
        &self,
        of: &ProcessView<'_, spec::Quorum>,
        armed: Timers,
    ) -> Vec<Order<spec::Quorum>> {
        orders::orders::<V>(of, armed)
    }

    fn asks(&self, timer: spec::Timer) -> Option<Request> {
        if timer == spec::Timer::Change {
            let list = spec::List { number: 1, place: 1, ..spec::List::default() };
            return Self::listed(list, V::NODES).ok().map(Request::Change);
        }
        V::ASKED.clone().filter(|_| timer == spec::Timer::Request)
    }

    fn uncovered(&self) -> &'static [(&'static str, &'static str)] {
        coverage::uncovered::<V>()
    }

    fn rules(&self, happening: &SpecEvent<spec::Quorum>) -> &'static [&'static str] {
        coverage::rules::<V>(happening)
    }
}

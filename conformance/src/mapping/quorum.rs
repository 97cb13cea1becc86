//! The quorum bully: the recommended rules against the production core, and those with preemption
//! against the same core, which is configured for it.

use super::{
    AWAY, Bound, Counters, Durations, ExpectedFacts, Logs, Mapping, More, Probes, ProcessView,
    Renaming, Restart, Restarts, TICK, Variants, Waits, bounds_of, longer_than, node_id,
    process_id, shorter_than,
};
use bellwether_bridge::program::{Limits, Refusal};
use bellwether_bridge::timer_table;
use bellwether_core::protocol::quorum as program;
use bellwether_core::protocol::{
    Birth, Core as _, Input, MemberError, Members, Node, NodeId, Request, Role,
};
use bellwether_core::trace::Start;
use bellwether_model::protocol::{Id, Ids, MAX_NODES, Timers, quorum as spec};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

mod variants;

use variants::further;
pub use variants::{
    AT_ONCE, DECLINES, FOUNDS, JOINS, LEAVES, LET_IN, OBSERVED, OVERLOOKS, PREEMPTIVE, PROMOTES,
    RECOMMENDED, RESIGNS, STEPS_ASIDE, STEPS_DOWN, TRANSFERS, Variant, WITNESSED,
};

/// The birth of each node that starts without a state, and without having had one.
const FIRST_BIRTH: u64 = 1;

/// The specification and the program.
pub type Quorum = (spec::Quorum, Node<program::Quorum>);

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
/// | its machine is not fit                   | unfit                                   |
/// | epoch and to which node it is granted    | the same, stable                        |
/// | birth, which others it has met, and      | the same, stable; as it is in memory,   |
/// | which have met it                        | and what was written                    |
#[must_use]
pub fn mapping(variant: &'static Variant) -> Mapping<Quorum> {
    use NodeId as N;
    use spec::{Process, TaggedMessage};
    let probes = Probes { ignored_fields: ignored_fields(variant).to_vec(), ..Probes::default() };
    let durations = Durations {
        limits: Arc::new(|_, members: &Members| limits(variant, members)),
        checked_first: &[spec::Timer::Lease],
        bounds,
    };
    let restarts = Restarts {
        count: if variant.listed() { 0 } else { TIMES.len() },
        program: Arc::new(|with, id, members: &Members, durable: &program::Durable| {
            restart(with, config(variant, id, members), durable)
        }),
        period: Arc::new(|with, timer| period_after_restart(with, variant.timing().promise, timer)),
        ..Restarts::default()
    };
    let logs = Logs {
        rules: Some(variant.log_rules()),
        after_leading: Arc::new(|before: &Process, leader, stable: &spec::Stable, timers| {
            after_leading(variant, before, leader, stable, timers)
        }),
        ..logs()
    };
    let from = if variant.changes() { &[][..] } else { FROM };
    let more = More {
        durations,
        counters: Counters { from, ..counters() },
        asks: Arc::new(|timer| asks(variant, timer)),
        restarts,
        logs,
        probes,
        variants: Variants { further: further(variant), ..Variants::default() },
        ..More::default()
    };
    Mapping {
        rules: variant.rules,
        program: Arc::new(|id: N, members: &Members, durable: Option<&program::Durable>| {
            program(variant, id, members, durable)
        }),
        settle: Arc::new(|id: N, members: &Members| settle(variant, id, members)),
        to_program: Arc::new(|letter: TaggedMessage| to_program(variant, letter)),
        to_model: Arc::new(|message: program::Message, _| to_model(variant, message)),
        timer: Arc::new(timer),
        period: Arc::new(|id: N, members: &Members, timer| period(variant, id, members, timer)),
        process: Arc::new(|node: &Node<program::Quorum>| abstraction(variant, node)),
        stable: Arc::new(|durable: &program::Durable| stable(variant, durable)),
        believes,
        facts: Arc::new(|of: &ProcessView<'_, spec::Quorum>| Some(facts(variant, of))),
        messages: Arc::new(|_| messages(variant)),
        more,
    }
}

/// The configuration of a node.
#[must_use]
pub fn config(variant: &Variant, id: NodeId, members: &Members) -> program::Config {
    program::Config { id, members: members.clone(), timing: variant.timing() }
}

/// The process that a node stands for.
#[must_use]
pub fn abstraction(variant: &Variant, node: &Node<program::Quorum>) -> spec::Process {
    use program::State::{Canvassing, Claiming, Deferring, Follower, Leader, Succeeding};
    let idle = spec::Process::default();
    let Some(core) = node.core() else { return idle };
    let challenged = variant.hands_over() && core.challenged();
    let (decided, list) = core.lists().map(|known| known_lists(variant, known)).unwrap_or_default();
    let (met, met_by) = (met(&core.durable().met), ids(core.met_by()));
    let idle = spec::Process { led: core.led(), unfit: !core.healthy(), challenged, ..idle };
    let idle = spec::Process { list, decided, met, met_by, ..idle };
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
                waits_for: invited.and_then(|invited| invited.rounds.map(rounds)),
                marked: ids(marked),
                ..process(spec::Role::Leader, alone)
            }
        }
    }
}

fn program(
    variant: &Variant,
    id: NodeId,
    members: &Members,
    durable: Option<&program::Durable>,
) -> Result<Node<program::Quorum>, Refusal> {
    let members = first(variant, members)?;
    // Where no node founds the cluster, each has from the start.
    let promise = Some(variant.timing().promise);
    let founder = program::Durable { promise, ..program::Durable::default() };
    let durable = durable.cloned().or_else(|| (!variant.founds()).then_some(founder));
    Ok(Node::new(config(variant, id, &members), durable, FIRST_BIRTH)?)
}

/// The highest node canvasses, claims, and is granted epoch 1 by a majority, which acknowledges
/// its first round. One that is to join has just started.
fn settle(
    variant: &Variant,
    id: NodeId,
    members: &Members,
) -> Vec<(Duration, Input<program::Message>)> {
    use program::Message::{Ack, Coordinator, Grant, Support};
    let (epoch, mark) = (program::Epoch::new(1), program::Mark::FIRST);
    let boot = vec![(Duration::ZERO, Input::Boot)];
    let Ok(members) = first(variant, members) else { return boot };
    if !members.contains(id) || variant.founds() {
        return boot;
    }
    let highest = members.candidates().last().unwrap_or(id);
    if id != highest {
        let message = Coordinator(epoch, 1, mark);
        let heard = Input::Receive { from: highest, message };
        return [Input::Boot, heard].map(|input| (Duration::ZERO, input)).to_vec();
    }
    let quiet = variant.timing().promise;
    let runs = quiet + variant.timing().skew;
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

fn to_program(variant: &Variant, letter: spec::TaggedMessage) -> Option<program::Message> {
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
            let lists = program_lists(variant, decided, list, letter.mark);
            program::Message::Lists(Arc::new(lists))
        }
        spec::Message::Meet(of, met) => {
            program::Message::Meet(program_birth(of), met.map(program_birth), mark)
        }
    })
}

fn to_model(variant: &Variant, message: program::Message) -> spec::TaggedMessage {
    let life = match message {
        program::Message::Claim(.., life) | program::Message::Grant(_, life) => birth(life),
        _ => spec::FOUNDER,
    };
    let mut carried = spec::Mark::FIRST;
    let mut carries = |of, message| {
        carried = listed_mark(variant, of);
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
            let (decided, latest) = known_lists(variant, &lists);
            carries(lists.mark, spec::Message::Lists(decided, latest))
        }
        program::Message::Meet(of, met, by) => {
            carries(by, spec::Message::Meet(birth(of), met.map(birth)))
        }
    };
    spec::TaggedMessage { message, mark: carried, birth: life }
}

timer_table! {
    fn timer(program::Timer) -> spec::Timer;
    fn period(variant: &Variant, id: NodeId, members: &Members)
        with (timing, skews) = (variant.timing(), skews(variant, id, members));
    Asked = Asked: timing.lease;
    Later = Later(_): timing.lease;
    Lease = Lease: timing.lease;
    Promise = Promise: timing.promise;
    Quiet = Quiet: timing.promise;
    Watch = Watch: timing.skew + skews;
    Election = Election: timing.election;
    Coordinator = Coordinator: timing.coordinator;
    Backoff = Backoff: timing.backoff;
    Round = Round: timing.round;
    Dwell = Dwell: timing.dwell + skews;
    Away = Away: AWAY;
    Meet = Meet: timing.round;
    // A request comes at any moment, and the disk syncs before anything is sent.
    _ { spec::Timer::Request | spec::Timer::Change | spec::Timer::Sync }
}

/// How much longer a node waits than the highest that runs.
fn skews(variant: &Variant, id: NodeId, members: &Members) -> Duration {
    let never_run = [variant.rules.observer, variant.rules.witness];
    let runs = |other| process_id(other).is_none_or(|id| !never_run.contains(&Some(id)));
    let higher = members.iter().filter(|&other| other > id && runs(other));
    higher.map(|_| variant.timing().skew).sum()
}

fn believes(_: Id, process: &spec::Process) -> Option<(Role, Option<Id>)> {
    Some((role(process.role)?, process.leader))
}

fn stable(variant: &Variant, durable: &program::Durable) -> spec::Stable {
    let granted_to = durable.granted_to.and_then(process_id);
    let lists = durable.lists.as_ref();
    let (decided, list) = lists.map(|known| known_lists(variant, known)).unwrap_or_default();
    let mark = lists.map_or(spec::Mark::FIRST, |lists| listed_mark(variant, lists.mark));
    let (epoch, birth, met) = (epoch(durable.epoch), birth(durable.birth), met(&durable.met));
    // No node of a comparison loses its state.
    spec::Stable { epoch, granted_to, list, decided, mark, birth, met, lost: 0 }
}

fn ignored_fields(variant: &Variant) -> &'static [(&'static str, &'static str)] {
    const ASKED: &str = "beyond the rounds that wait, it is told to a program that asks which \
                         node is next, and read by no step";
    const NEVER_NEXT: &str = "by these rules no process is to be next, and no step reads it";
    if variant.hands_over() {
        &[("followers", ASKED)]
    } else {
        &[("followers", ASKED), ("challenged", NEVER_NEXT)]
    }
}

/// Returns the state of a node that has heard of an epoch, and granted neither that nor any other.
fn began(_: NodeId, _: &Members) -> Option<program::Durable> {
    let epoch = program::Epoch::new(FROM[0]);
    let promise = Some(program::Timing::DEFAULT.promise);
    Some(program::Durable { epoch, promise, ..program::Durable::default() })
}

fn asks(variant: &Variant, timer: spec::Timer) -> Option<Request> {
    if timer == spec::Timer::Change {
        let list = spec::List { number: 1, place: 1, ..spec::List::default() };
        return given_list(variant, list, variant.nodes).ok().map(Request::Change);
    }
    variant.asked.clone().filter(|_| timer == spec::Timer::Request)
}

// How single values of the program read as those of the model.

/// How many lists were decided before the one with this config epoch.
fn number(config_epoch: u64) -> u8 {
    u8::try_from(config_epoch - Members::FIRST).unwrap_or(u8::MAX)
}

/// A node that starts without a state has a random birth. None does twice.
fn birth(of: Birth) -> spec::Birth {
    spec::Birth::from(of != Birth::FOUNDER)
}

fn program_birth(of: spec::Birth) -> Birth {
    if of == spec::FOUNDER { Birth::FOUNDER } else { Birth::random(of.into()) }
}

/// The births with which a node has met others.
fn met(all: &BTreeMap<NodeId, Birth>) -> spec::Met {
    let known = all.iter().filter_map(|(&id, &of)| Some((process_id(id)?, birth(of))));
    known.fold(spec::Met::default(), |met, (id, birth)| met.with(id, birth))
}

/// A message among members of the first list.
fn of_the_list(message: spec::Message) -> spec::TaggedMessage {
    spec::TaggedMessage { message, mark: spec::Mark::FIRST, birth: spec::FOUNDER }
}

fn mark(of: program::Mark) -> spec::Mark {
    let turn = u8::try_from(of.turn).unwrap_or(u8::MAX);
    spec::Mark { epoch: epoch(of.epoch), turn }
}

fn program_mark(of: spec::Mark) -> program::Mark {
    program::Mark { epoch: program::Epoch::new(of.epoch.into()), turn: of.turn.into() }
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

fn rounds(number: usize) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// Returns those messages from a process with the first list and from one with a pending one, what
/// processes say to each other of their births, and the lists.
fn of_both(variant: &Variant, all: &[spec::TaggedMessage]) -> Vec<spec::TaggedMessage> {
    use spec::Message::{Ack, Canvass, Challenge, Claim, Coordinator, Grant, Lists, Meet};
    let of = |epoch, turn| spec::Mark { epoch, turn };
    let meets =
        [Meet(0, None), Meet(0, Some(1)), Meet(1, None), Meet(1, Some(0)), Meet(1, Some(1))];
    let all: Vec<_> = all.iter().copied().chain(meets.map(of_the_list)).collect();
    let carries = |letter: &&spec::TaggedMessage| {
        let with_a_round = matches!(letter.message, Coordinator(..) | Ack(..) | Meet(..));
        with_a_round || matches!(letter.message, Canvass(_) | Claim(_) | Challenge(_))
    };
    let later = all.iter().filter(carries);
    let later = later.map(|&letter| spec::TaggedMessage { mark: of(1, 1), ..letter });
    let first = spec::List::default();
    let next = variant.rules.next_list(Id::at(0), first, variant.nodes);
    let next = next.unwrap_or(first.letting_in(Id::at(0), 1));
    let lists = [
        (Lists(first, next), of(1, 1)),
        (Lists(next, next), of(1, 2)),
        (Lists(first, next), of(2, 1)),
    ];
    let lists = lists.map(|(message, mark)| spec::TaggedMessage { mark, ..of_the_list(message) });
    let of_a_life = |letter: &&spec::TaggedMessage| matches!(letter.message, Claim(_) | Grant(_));
    let lives =
        all.iter().filter(of_a_life).map(|&letter| spec::TaggedMessage { birth: 1, ..letter });
    all.iter().copied().chain(later).chain(lives).chain(lists).collect()
}

/// Every message, for probing; of the first two lists, if there are more than one.
fn messages(variant: &Variant) -> Vec<spec::TaggedMessage> {
    use spec::Message::{Ack, Canvass, Challenge, Claim, Coordinator, Entrust, Grant, Invite};
    use spec::Message::{Outrank, Refuse, Support, Yield};
    let of_epoch = |epoch| {
        let rounds = [1, 2].map(|round| [Coordinator(epoch, round), Ack(epoch, round)]);
        let holders = [None, Some(Id::at(0)), Some(Id::at(1))];
        let questions = [Canvass(epoch), Support(epoch), Outrank(epoch), Claim(epoch)];
        let refusals = holders.map(|holder| Refuse(epoch, holder));
        let yields = holders.map(|next| Yield(epoch, next));
        let claims = [Grant(epoch), Challenge(epoch), Entrust(epoch)];
        let invitations = [Invite(epoch)];
        let invitations = if variant.hands_over() { &invitations[..] } else { &[] };
        [&questions[..], &claims, invitations, rounds.as_flattened(), &refusals, &yields].concat()
    };
    let all: Vec<_> = (0..4).flat_map(of_epoch).map(of_the_list).collect();
    if variant.changes() { of_both(variant, &all) } else { all }
}

// Lists of members that change, and who is heard by them.

/// The first list of members.
fn first(variant: &Variant, members: &Members) -> Result<Members, MemberError> {
    let listed = variant.listed() && members.count() <= MAX_NODES;
    if listed {
        given_list(variant, spec::List::default(), members.count())
    } else {
        Ok(members.clone())
    }
}

/// This list of the specification, in a group of so many.
fn given_list(variant: &Variant, list: spec::List, nodes: usize) -> Result<Members, MemberError> {
    let ids = variant.rules.members(list.place, nodes).unwrap_or(Ids::NONE);
    let given = Members::of_any_size(ids.iter().map(node_id));
    let observers = variant.rules.observers(list.place, nodes).iter().map(node_id);
    let given = given.numbered(u64::from(list.number) + Members::FIRST);
    let given = given.with_observers(observers)?;
    let given = given.with_witnesses(variant.rules.witness.map(node_id))?;
    // Who does not vote by the list before is awaited.
    let voters = variant.rules.voters(list, nodes);
    let voting = Members::of_any_size(voters.iter().map(node_id));
    let births = voters.iter().map(|id| (node_id(id), program_birth(list.births.of(id))));
    let voting = births.fold(voting, |voting, (id, birth)| voting.letting_in(id, birth));
    Ok(given.after(&voting))
}

/// The lists that a node knows: the one that is decided, and the latest.
fn known_lists(variant: &Variant, lists: &program::Lists) -> (spec::List, spec::List) {
    // Where lists do not change, the one that there is is the first.
    if !variant.changes() {
        return (spec::List::default(), spec::List::default());
    }
    (list(variant, &lists.decided), list(variant, lists.latest()))
}

fn list(variant: &Variant, members: &Members) -> spec::List {
    let all = |nodes: &[NodeId]| nodes.iter().copied().filter_map(process_id).collect::<Ids>();
    let (ids, observers) = (members.iter(), members.observers());
    let [ids, observers] = [all(&ids.collect::<Vec<_>>()), all(&observers.collect::<Vec<_>>())];
    let is_listed = |&place: &u8| {
        let listed = variant.rules.members(place, variant.nodes);
        listed == Some(ids)
            && variant.rules.observers(place, variant.nodes).common(ids) == observers
    };
    let births = members.iter().filter_map(|id| Some((process_id(id)?, members.birth(id)?)));
    spec::List {
        number: number(members.config_epoch()),
        place: (0..u8::MAX).find(is_listed).unwrap_or(u8::MAX),
        awaited: all(members.awaited()),
        births: births.fold(spec::Births::NONE, |all, (id, of)| all.with(id, birth(of))),
    }
}

fn listed_mark(variant: &Variant, of: program::Mark) -> spec::Mark {
    if variant.changes() { mark(of) } else { spec::Mark::FIRST }
}

fn program_lists(
    variant: &Variant,
    decided: spec::List,
    latest: spec::List,
    mark: spec::Mark,
) -> program::Lists {
    let of = |list| given_list(variant, list, variant.nodes).ok();
    let first = || Members::of_any_size(Id::all(variant.nodes).map(node_id));
    let pending = (latest != decided).then(|| of(latest)).flatten();
    let decided = of(decided).unwrap_or_else(first);
    program::Lists { decided, pending, mark: program_mark(mark) }
}

// The facts that a node tells the outside which stands for a process.

/// Returns what the node says: it knows the epoch of the leader that it is, or has heard. A leader
/// leads by the lease of its epoch, may name any other that may lead, and waits for the one that it
/// has invited.
fn facts(variant: &Variant, of: &ProcessView<'_, spec::Quorum>) -> ExpectedFacts<spec::Quorum> {
    let ProcessView { id, nodes, process, stable } = *of;
    let leads = process.role == spec::Role::Leader;
    let voters = variant.rules.voters(process.list, nodes);
    let witnesses: Ids =
        variant.rules.witness.into_iter().filter(|id| id.index() < nodes).collect();
    let candidates = voters.except(witnesses);
    ExpectedFacts {
        epoch: process.leader.map(|_| u64::from(stable.epoch)),
        prepares: None,
        lease: leads.then_some(spec::Timer::Lease),
        waits_for: awaited_supports(variant, of, voters, candidates),
        successors: if leads { candidates.without(id) } else { Ids::NONE },
        awaited: Some(process.invited.into_iter().collect()),
        may_lead: Some(candidates),
        witnesses,
    }
}

/// With a majority of supports, a process canvasses on only for those that come before it: the
/// higher ones, and the last leader. Which majority it needs is not said where lists change.
fn awaited_supports(
    variant: &Variant,
    of: &ProcessView<'_, spec::Quorum>,
    voters: Ids,
    candidates: Ids,
) -> Waits<spec::Quorum> {
    let ProcessView { id, process, stable, .. } = *of;
    let supports = process.granted;
    if process.role != spec::Role::Canvassing {
        return Waits::Nothing;
    }
    if variant.changes() {
        return Waits::Unsaid;
    }
    if 2 * supports.len() <= voters.len() {
        return Waits::Nothing;
    }
    let never = matches!(variant.rules.preemption, spec::Preemption::Never);
    let last = stable.granted_to.filter(|_| variant.rules.returns && never);
    let before = candidates.iter().filter(|&other| other > id || last == Some(other));
    Waits::For(spec::Timer::Election, before.filter(|&other| !supports.contains(other)).collect())
}

/// A candidate does without an answer that is late, a leader that is silent has no lease any more,
/// and the promises to it are over before the lowest node runs, which a higher one may outrank.
/// Which members may lead is not said where lists change.
fn limits(variant: &Variant, members: &Members) -> Option<Limits> {
    let timing = variant.timing();
    let never_lead = [variant.rules.observer, variant.rules.witness];
    let leads =
        |other: &NodeId| process_id(*other).is_none_or(|id| !never_lead.contains(&Some(id)));
    let candidates = u32::try_from(members.iter().filter(leads).count()).unwrap_or(u32::MAX);
    let election = timing.promise + timing.skew * candidates + timing.election + timing.coordinator;
    // A lost round ends no lease, be the next as late as it may.
    let spare = timing.lease.saturating_sub(timing.round * 2);
    let slack = (timing.round / 16).min(spare / 4);
    let all = Limits { lifetime: timing.election, silence: timing.lease, election, slack };
    Some(all).filter(|_| !variant.changes())
}

/// A lease that a slow clock counts is over before a promise that a fast clock counts, one round
/// may be lost before a lease is over, and a process that has given way waits for a whole election
/// of another.
fn bounds(id: NodeId, members: &Members) -> Vec<Bound> {
    const MILLION: u128 = 1_000_000;
    let timing = program::Timing::DEFAULT;
    let config = program::Config { id, members: members.clone(), timing };
    let program::Timing { lease, election, drift_ppm, .. } = timing;
    let drift = drift_ppm as u128;
    let promise = (lease.as_nanos() * (MILLION + drift)).div_ceil(MILLION - drift);
    let promise = Duration::from_nanos(u64::try_from(promise).unwrap_or(u64::MAX));
    let shown = "t-promise (1 - drift) >= t-lease (1 + drift)";
    bounds_of::<program::Quorum, _>(
        &config,
        [
            (shown, |of| &mut of.timing.promise, [promise, promise.saturating_sub(TICK)]),
            ("2 t-round < t-lease", |of| &mut of.timing.round, shorter_than(lease / 2)),
            ("t-coord > t-elec", |of| &mut of.timing.coordinator, longer_than(election)),
            ("t-round > 0", |of| &mut of.timing.round, longer_than(Duration::ZERO)),
            ("t-elec > 0", |of| &mut of.timing.election, longer_than(Duration::ZERO)),
            ("t-backoff > 0", |of| &mut of.timing.backoff, longer_than(Duration::ZERO)),
            ("t-skew > 0", |of| &mut of.timing.skew, longer_than(Duration::ZERO)),
            ("t-dwell > 0", |of| &mut of.timing.dwell, longer_than(Duration::ZERO)),
        ],
    )
}

// The durations of a node that starts again, and had others before.

/// Promises and leases that are shorter than before, and longer ones. Nodes with either and nodes
/// with those before would talk, and a leader waits for two rounds at once by all of them.
const TIMES: [(Duration, Duration); 2] = [
    (Duration::from_millis(1_100), Duration::from_millis(950)),
    (Duration::from_millis(1_500), Duration::from_millis(1_150)),
];

/// A node of this configuration, but that its promises and leases are others. Longer promises are
/// durable before any is given.
fn restart(
    with: usize,
    config: program::Config,
    durable: &program::Durable,
) -> Result<Restart<Quorum>, Refusal> {
    let ((promise, lease), before) = (TIMES[with], config.timing);
    let timing = program::Timing { promise, lease, ..before };
    let node = Node::new(program::Config { timing, ..config }, Some(durable.clone()), 0)?;
    let longest = program::Durable { promise: Some(promise), ..durable.clone() };
    Ok(Restart { program: node, written: Some(longest).filter(|_| promise > before.promise) })
}

/// How long a timer takes on such a node whose promises were as long as `before`, if not as long as
/// then. It is quiet for the longest promise that it may have given.
fn period_after_restart(with: usize, before: Duration, timer: spec::Timer) -> Option<Duration> {
    let (promise, lease) = TIMES[with];
    match timer {
        spec::Timer::Asked | spec::Timer::Later | spec::Timer::Lease => Some(lease),
        spec::Timer::Promise => Some(promise),
        spec::Timer::Quiet => Some(promise.max(before)),
        _ => None,
    }
}

// Epochs and rounds, which grow for as long as nodes run; and what a node tells of its process.

/// Epochs, by which processes ask which is higher, and which is the next.
const EPOCH: usize = 0;
/// A leader's own rounds.
const ROUND: usize = 1;
/// Another's rounds, which are only repeated.
const REPEATED: usize = 2;

/// In a long run, epochs are near the last that there can be. Rounds begin anew with each epoch.
const FROM: &[u64] = &[u64::MAX - 1_000];

fn counters() -> Counters<spec::Quorum, program::Message, program::Durable> {
    Counters {
        kinds: 3,
        epochs: Some(EPOCH),
        largest_epoch: spec::Epoch::MAX.into(),
        in_message,
        in_durable,
        lower,
        began,
        ..Counters::default()
    }
}

fn logs() -> Logs<spec::Quorum, program::Message, program::Durable> {
    Logs { is_settled, any_ids: true, members: MAX_NODES, contradicts, ..Logs::default() }
}

/// How what becomes durable contradicts what was so before: an epoch stays or grows, a vote stays
/// with its node, and a founder stays one.
fn contradicts(
    starts: &[&Start],
    before: Option<&program::Durable>,
    now: &program::Durable,
) -> Option<String> {
    let wrong = promise_contradicts(starts, before, now);
    let wrong = wrong.or_else(|| lists_contradict(starts, before, now));
    let Some(before) = before.filter(|_| wrong.is_none()) else { return wrong };
    if now.epoch < before.epoch {
        let [now, before] = [now.epoch, before.epoch].map(program::Epoch::number);
        return Some(format!("epoch {now} after epoch {before}"));
    }
    if now.epoch == before.epoch
        && let Some(granted) = before.granted_to
        && now.granted_to != Some(granted)
    {
        let other = now.granted_to.map_or("no node".to_owned(), |other| format!("node {other}"));
        let epoch = now.epoch.number();
        return Some(format!("epoch {epoch} granted to {other}, and to node {granted} before"));
    }
    let stays = now.birth == before.birth || now.birth == Birth::FOUNDER;
    let mark = |of: &program::Durable| of.lists.as_ref().map(|lists| lists.mark);
    let meets = before.birth != Birth::FOUNDER || mark(before) != mark(now);
    let is_met = meets || before.met == now.met;
    (!(stays && is_met))
        .then(|| "another birth than before, or other births of the nodes that it had met".into())
}

/// A promise is as long as it is configured, or as it was.
fn promise_contradicts(
    starts: &[&Start],
    before: Option<&program::Durable>,
    now: &program::Durable,
) -> Option<String> {
    let kept = before.and_then(|before| before.promise);
    let Some(promise) = now.promise.filter(|_| now.promise != kept) else {
        return (now.promise != kept).then(|| "no promise, where one may have been given".into());
    };
    let configured = starts.iter().map(|start| start.durations.get("Promise"));
    let is_known = configured.clone().all(|of| of.is_some());
    let is_one = configured.flatten().any(|&of| u128::from(of) == promise.as_nanos());
    (is_known && !is_one).then(|| format!("a promise of {promise:?}, which is not configured"))
}

/// The first lists are those of the start of a founder, and others have a higher mark. As a node
/// boots, a file may have corrected how the members of the first list are reached.
fn lists_contradict(
    starts: &[&Start],
    before: Option<&program::Durable>,
    now: &program::Durable,
) -> Option<String> {
    let first = program::Mark::FIRST;
    let old = before.and_then(|of| {
        let lists = of.lists.as_ref()?;
        (of.birth == Birth::FOUNDER || lists.mark != first).then_some(lists)
    });
    let Some(new) = &now.lists else {
        return old.map(|_| "no list of members, where there was one".into());
    };
    let boots = starts.len() > 1;
    let is_of_start = starts.first().is_none_or(|start| {
        let number = start.config_epoch.is_none_or(|given| given == new.decided.config_epoch());
        number && new.pending.is_none() && new.decided.iter().eq(start.members.iter().copied())
    });
    let has_roles = |old: &program::Lists| boots && old.decided.has_roles_of(&new.decided);
    match old {
        Some(old) if new.mark < old.mark => Some("an older list of members than before".into()),
        Some(old) if new.mark > old.mark || new == old => None,
        Some(old) if new.mark != first || !has_roles(old) => {
            Some("another list of members, which has the same mark".into())
        }
        None if boots => None,
        _ if new.mark == first && !is_of_start => {
            Some("a first list of members that is not that of the start".into())
        }
        _ => None,
    }
}

fn in_durable(durable: &program::Durable, names: &mut Renaming<'_>) -> program::Durable {
    let mut durable = durable.clone();
    durable.epoch = program::Epoch::new((names.number)(EPOCH, durable.epoch.number()));
    durable.granted_to = durable.granted_to.map(names.node);
    durable.met = durable.met.into_iter().map(|(id, birth)| ((names.node)(id), birth)).collect();
    if let Some(lists) = durable.lists.as_mut() {
        lists.mark = in_mark(lists.mark, names);
    }
    durable
}

/// Returns whether a node has the list of members that it was started with, in which all are
/// founders, and no other is pending. That one was started as a founder does not show before it
/// knows an epoch.
fn is_settled(durable: Option<&program::Durable>, config_epoch: Option<u64>) -> bool {
    let Some(durable) = durable else { return true };
    let is_founder = durable.birth == Birth::FOUNDER;
    let shows = !is_founder || durable.epoch.number() > 0 || !durable.met.is_empty();
    let is_first = durable.lists.as_ref().is_none_or(|lists| {
        let (decided, given) = (&lists.decided, |number| lists.decided.config_epoch() == number);
        let founded = |&id: &NodeId| decided.birth(id) == Some(Birth::FOUNDER);
        let all_founded = decided.awaited().is_empty() && decided.voters().iter().all(founded);
        all_founded && lists.pending.is_none() && config_epoch.is_none_or(given)
    });
    shows && is_first
}

/// The first list has no leader's mark.
fn in_mark(mark: program::Mark, names: &mut Renaming<'_>) -> program::Mark {
    if mark == program::Mark::FIRST {
        return mark;
    }
    program::Mark { epoch: program::Epoch::new((names.number)(EPOCH, mark.epoch.number())), ..mark }
}

fn in_message(message: program::Message, sent: bool, names: &mut Renaming<'_>) -> program::Message {
    use program::Message as P;
    let round = match message {
        P::Coordinator(_, round, _) => (names.number)(if sent { ROUND } else { REPEATED }, round),
        P::Ack(_, round, _) => (names.number)(if sent { REPEATED } else { ROUND }, round),
        _ => 0,
    };
    if let P::Lists(lists) = message {
        let mark = in_mark(lists.mark, names);
        return P::Lists(Arc::new(program::Lists { mark, ..(*lists).clone() }));
    }
    let mark = match message {
        P::Canvass(_, mark) | P::Claim(_, mark, _) | P::Challenge(_, mark) => mark,
        P::Coordinator(.., mark) | P::Ack(.., mark) | P::Meet(.., mark) => mark,
        _ => program::Mark::FIRST,
    };
    let mark = in_mark(mark, names);
    let node = names.node;
    let mut epoch = |of: program::Epoch| program::Epoch::new((names.number)(EPOCH, of.number()));
    match message {
        P::Canvass(of, _) => P::Canvass(epoch(of), mark),
        P::Support(of) => P::Support(epoch(of)),
        P::Outrank(of) => P::Outrank(epoch(of)),
        P::Claim(of, _, birth) => P::Claim(epoch(of), mark, birth),
        P::Grant(of, birth) => P::Grant(epoch(of), birth),
        P::Coordinator(of, ..) => P::Coordinator(epoch(of), round, mark),
        P::Ack(of, ..) => P::Ack(epoch(of), round, mark),
        P::Refuse(of, holder) => P::Refuse(epoch(of), holder.map(node)),
        P::Challenge(of, _) => P::Challenge(epoch(of), mark),
        P::Yield(of, next) => P::Yield(epoch(of), next.map(node)),
        P::Entrust(of) => P::Entrust(epoch(of)),
        P::Invite(of) => P::Invite(epoch(of)),
        P::Lists(lists) => P::Lists(lists),
        P::Meet(birth, met, _) => P::Meet(birth, met, mark),
    }
}

fn lower(kind: usize, by: u64, process: &mut spec::Process, stable: &mut spec::Stable) -> u64 {
    let by = u16::try_from(by).unwrap_or(u16::MAX);
    match kind {
        EPOCH => {
            stable.epoch = stable.epoch.saturating_sub(by);
            stable.mark.epoch = stable.mark.epoch.saturating_sub(by);
            stable.epoch.into()
        }
        ROUND => {
            // 0 stands for no round.
            let less = |round: spec::Round| match round {
                0 => 0,
                round => round.saturating_sub(by).max(1),
            };
            let spec::Process { round, asked, later, .. } = *process;
            let [round, asked, later] = [round, asked, later].map(less);
            *process = spec::Process { round, asked, later, ..*process };
            round.into()
        }
        _ => 0,
    }
}

/// The role that a node tells, if the program has it.
fn role(role: spec::Role) -> Option<Role> {
    Some(match role {
        spec::Role::Follower => Role::Follower,
        spec::Role::Deferring => Role::Waiting,
        spec::Role::Canvassing | spec::Role::Claiming | spec::Role::Succeeding => Role::Candidate,
        spec::Role::Leader => Role::Leader,
        spec::Role::Lapsed => return None,
    })
}

/// A leader may wait for more rounds than the specification tells apart. Once it follows, it waits
/// for none, and if its promise runs, it is to the node to which it has granted its epoch.
fn after_leading(
    variant: &Variant,
    before: &spec::Process,
    leader: Option<Id>,
    stable: &spec::Stable,
    timers: Timers,
) -> Option<spec::Process> {
    if !matches!(variant.rules.lists, spec::Lists::One) {
        return None;
    }
    let promises = timers.contains::<spec::Quorum>(spec::Timer::Promise);
    let promised = stable.granted_to.filter(|_| promises);
    // Only another node's promise ends that it has led.
    let led = variant.rules.returns && !promises;
    (leader.is_none() || leader == promised).then_some(spec::Process {
        leader,
        promised,
        led,
        unfit: before.unfit,
        met: stable.met,
        ..spec::Process::default()
    })
}

//! The invitation algorithm: the paper's rules against the program's core.

use super::{Bound, Counters, Durations, Mapping, More, OnInvalid, Probes, bounds_of};
use super::{facts_among_equals, known, longer_than, node, node_id, process_id, small, strangers};
use bellwether_bridge::program::Limits;
use bellwether_bridge::{message_table, timer_table};
use bellwether_core::protocol::invitation as program;
use bellwether_core::protocol::{Input, Members, Node, NodeId, Role};
use bellwether_model::protocol::{Id, Ids, MAX_SEARCHED, invitation as spec};
use std::sync::Arc;
use std::time::Duration;

/// The specification and the program.
pub type Invitation = (spec::Invitation, Node<program::Invitation>);

/// How a node reads as a process of [`spec::Invitation`].
///
/// | program                       | model                                             |
/// |-------------------------------|---------------------------------------------------|
/// | not started                   | down                                              |
/// | coordinator, member           | normal, coordinated by itself, by another         |
/// | inviting                      | election                                          |
/// | handing out, joining          | reorganization, coordinated by itself, by another |
/// | group `(c, n)`                | group `c.n`                                       |
/// | durable: groups formed        | stable: counter                                   |
/// | timers Silence and the others | Watch, and those of the same names                |
///
/// A roster reads as a set only beside the configured members, so messages are translated for the
/// members 1, 2, 3, …, which are those of every world. A node remembers nothing besides.
#[must_use]
pub fn mapping() -> Mapping<Invitation> {
    Mapping {
        rules: spec::Invitation::PAPER,
        program: Arc::new(node::<program::Invitation>(config)),
        settle: Arc::new(settle),
        to_program: Arc::new(to_program),
        to_model: Arc::new(|message, _| to_model(message)),
        timer: Arc::new(timer),
        period: Arc::new(period),
        process: Arc::new(abstraction),
        stable: Arc::new(stable),
        believes,
        facts: Arc::new(facts_among_equals::<spec::Invitation>),
        messages: Arc::new(|_| messages()),
        more: More {
            durations: Durations { limits: Arc::new(limits), bounds, ..Durations::default() },
            rebase: Arc::new(rebase),
            counters: Counters {
                began: |_, _| Some(program::Durable { groups: GROUPS }),
                in_message: |message, _, names| {
                    use program::Message as P;
                    let mut all = |group: program::GroupNumber| program::GroupNumber {
                        count: (names.number)(0, group.count),
                        ..group
                    };
                    match message {
                        P::AreYouCoordinator | P::IAm => message,
                        P::Invitation(group) => P::Invitation(all(group)),
                        P::Accept(group) => P::Accept(all(group)),
                        P::Ready(group, task) => P::Ready(all(group), task),
                        P::Done(group) => P::Done(all(group)),
                        P::AreYouThere(group) => P::AreYouThere(all(group)),
                        P::Here(group) => P::Here(all(group)),
                    }
                },
                in_durable: |durable, names| program::Durable {
                    groups: (names.number)(0, durable.groups),
                },
                from: &[GROUPS],
                ..Counters::default()
            },
            probes: Probes { invalid_messages: Arc::new(invalid_messages), ..Probes::default() },
            ..More::default()
        },
    }
}

/// How many groups each node has formed in a long run: nearly as many as it can.
const GROUPS: u64 = u64::MAX - 1_000;

/// The configuration of a node. The durations are the default ones, which are different.
#[must_use]
pub fn config(id: NodeId, members: &Members) -> program::Config {
    program::Config { id, members: members.clone(), timing: program::Timing::DEFAULT }
}

/// The process that a node stands for.
#[must_use]
pub fn abstraction(node: &Node<program::Invitation>) -> spec::Process {
    use program::State;
    let me = node.status().id;
    let Some(node) = node.core() else { return spec::Process::default() };
    let group = to_group(node.group());
    let itself = Some(spec::Coordinator::Itself);
    let other = Some(spec::Coordinator::Other(group.coordinator));
    let process = |state, coordinator| spec::Process {
        state,
        coordinator,
        group: Some(group),
        ..spec::Process::default()
    };
    let election = spec::State::Election;
    let (reorganization, normal) = (spec::State::Reorganization, spec::State::Normal);
    match *node.state() {
        State::Coordinator { members, task, found, delays } => spec::Process {
            members: set(members),
            task: set(task),
            found: set(found),
            delays: u8::try_from(delays).unwrap_or(u8::MAX),
            ..process(normal, itself)
        },
        State::Inviting { accepted } => {
            spec::Process { members: set(accepted), ..process(election, itself) }
        }
        State::HandingOut { members, missing } => spec::Process {
            members: set(members),
            task: process_id(me).map_or(set(members), |me| set(members).with(me)),
            pending: set(missing),
            ..process(reorganization, itself)
        },
        State::Joining => process(reorganization, other),
        State::Member { task } => spec::Process { task: set(task), ..process(normal, other) },
    }
}

message_table! {
    fn to_program(spec::Message) -> program::Message; fn to_model;
    AreYouCoordinator = AreYouCoordinator;
    Coordinator = IAm;
    Invitation(group) = Invitation(group), group: from_group(group) => to_group(group);
    Accept(group) = Accept(group), group: from_group(group) => to_group(group);
    Ready { group, task } = Ready(group, task),
        group: from_group(group) => to_group(group), task: roster(task) => set(task);
    Done(group) = Done(group), group: from_group(group) => to_group(group);
    AreYouThere(group) = AreYouThere(group), group: from_group(group) => to_group(group);
    Here(group) = Here(group), group: from_group(group) => to_group(group);
}

timer_table! {
    fn timer(program::Timer) -> spec::Timer;
    fn period(id: NodeId, members: &Members) with timing = config(id, members).timing;
    Check = Check: timing.check;
    Answers = Answers: timing.answer;
    Delay = Delay: timing.delay;
    Accepts = Accepts: timing.accept;
    Ready = Ready: timing.answer;
    Watch = Watch: timing.silence;
    There = There: timing.answer;
}

fn believes(id: Id, process: &spec::Process) -> Option<(Role, Option<Id>)> {
    use spec::Coordinator::{Itself, Other};
    use spec::State::{Down, Election, Normal, Reorganization};
    Some(match (process.state, process.coordinator) {
        (Normal, Some(Itself)) => (Role::Leader, Some(id)),
        (Normal, Some(Other(leader))) => (Role::Follower, Some(leader)),
        (Election, _) | (Reorganization, Some(Itself)) => (Role::Candidate, None),
        (Reorganization, Some(Other(_))) => (Role::Waiting, None),
        (Down, _) | (Normal | Reorganization, None) => return None,
    })
}

/// A member that has heard nothing for so long asks its coordinator.
fn limits(id: NodeId, members: &Members) -> Option<Limits> {
    let program::Timing { check, answer, accept, delay, silence } = config(id, members).timing;
    let election = silence + check + delay + answer + accept;
    Some(Limits { lifetime: answer, silence, election, slack: Duration::ZERO })
}

/// A member passes an invitation on once before it is accepted.
fn bounds(id: NodeId, members: &Members) -> Vec<Bound> {
    let config = config(id, members);
    let answer = config.timing.answer;
    bounds_of::<program::Invitation, _>(
        &config,
        [
            ("t-accept > t-answer", |of| &mut of.timing.accept, longer_than(answer)),
            ("t-answer > 0", |of| &mut of.timing.answer, longer_than(Duration::ZERO)),
            ("t-check > 0", |of| &mut of.timing.check, longer_than(Duration::ZERO)),
            ("t-delay > 0", |of| &mut of.timing.delay, longer_than(Duration::ZERO)),
            ("t-detect > 0", |of| &mut of.timing.silence, longer_than(Duration::ZERO)),
        ],
    )
}

/// Returns the stable state. The program does not have what no rule reads, whether a number was
/// used twice; with a durable counter none is.
fn stable(durable: &program::Durable) -> spec::Stable {
    spec::Stable { counter: small(durable.groups), reused: false }
}

fn rebase(node: &Node<program::Invitation>, process: spec::Process) -> spec::Process {
    let Some(core) = node.core() else { return process };
    let program::GroupNumber { coordinator, count } = core.group();
    let count = count.saturating_sub(GROUPS);
    let group = Some(to_group(program::GroupNumber { coordinator, count }));
    spec::Process { group, ..process }
}

/// About the first groups of 1 and 2, who are members of every world.
fn messages() -> Vec<spec::Message> {
    use spec::Message::{
        Accept, AreYouCoordinator, AreYouThere, Coordinator, Done, Here, Invitation, Ready,
    };
    let coordinators = [Id::at(0), Id::at(1)].into_iter();
    let groups = coordinators
        .flat_map(|coordinator| [1, 2].map(|number| spec::Group { coordinator, number }));
    let task = Ids::from_iter([Id::at(0), Id::at(1)]);
    let about = groups.flat_map(|group| {
        let ready = Ready { group, task };
        let others = [Invitation, Accept, Done, AreYouThere, Here].map(|about| about(group));
        others.into_iter().chain([ready])
    });
    [AreYouCoordinator, Coordinator].into_iter().chain(about).collect()
}

fn invalid_messages(members: &Members) -> Vec<(program::Message, OnInvalid<spec::Invitation>)> {
    use program::Message as P;
    let group = |coordinator| program::GroupNumber { coordinator, count: u64::MAX };
    let about = |group| {
        [P::Invitation, P::Accept, P::Done, P::AreYouThere, P::Here].map(|about| about(group))
    };
    let (mine, large) = (program::Roster::of(members, members.iter()), all());
    let misfit = program::Roster::of(&large, large.iter().skip(members.count()).take(1));
    let ready = |group, roster| P::Ready(group, roster);
    let ignored = |message| (message, OnInvalid::Ignored("wrong_group"));
    let strange = strangers(members).map(group);
    let strange = strange.flat_map(|of| about(of).into_iter().chain([ready(of, mine)]));
    let late = members.iter().map(group).flat_map(about);
    let late = late.map(|message| (message, OnInvalid::Like(to_model(message))));
    let misfits = members.iter().map(|id| ready(group(id), misfit));
    let misfits = misfits.filter(|_| members.count() < MAX_SEARCHED);
    strange.chain(misfits).map(ignored).chain(late).collect()
}

/// Returns what happens to a node before it is in the first group of the highest.
fn settle(id: NodeId, members: &Members) -> Vec<(Duration, Input<program::Message>)> {
    use program::Message as P;
    let program::Timing { check, answer, accept, .. } = program::Timing::DEFAULT;
    let highest = members.iter().max().unwrap_or(id);
    let group = program::GroupNumber { coordinator: highest, count: 2 };
    let all = program::Roster::of(members, members.iter());
    let hears = |from, message| Input::Receive { from, message };
    if id != highest {
        let ready = P::Ready(group, all);
        let joins = [Input::Boot, hears(highest, P::Invitation(group)), hears(highest, ready)];
        return joins.map(|input| (Duration::ZERO, input)).into();
    }
    let others = || members.iter().filter(|&other| other != id);
    let all_say = |at, message| others().map(move |from| (at, hears(from, message)));
    let (asks, invites, begins) = (check, check + answer, check + answer + accept);
    let mut inputs = vec![(Duration::ZERO, Input::Boot), (asks, Input::Wake)];
    inputs.extend(all_say(asks, P::IAm));
    inputs.push((invites, Input::Wake));
    inputs.extend(all_say(invites, P::Accept(group)));
    inputs.push((begins, Input::Wake));
    inputs.extend(all_say(begins, P::Done(group)));
    inputs
}

/// The members of a world are 1, 2, 3, …; a smaller world has the first of them.
fn all() -> Members {
    Members::new(Id::all(MAX_SEARCHED).map(node_id))
        .unwrap_or_else(|_| unreachable!("2 to 255 ids"))
}

fn set(roster: program::Roster) -> Ids {
    roster.iter(&all()).filter_map(process_id).collect()
}

fn roster(set: Ids) -> program::Roster {
    program::Roster::of(&all(), set.iter().map(node_id))
}

fn to_group(group: program::GroupNumber) -> spec::Group {
    spec::Group { coordinator: known(group.coordinator), number: small(group.count) }
}

fn from_group(group: spec::Group) -> program::GroupNumber {
    let coordinator = node_id(group.coordinator);
    program::GroupNumber { coordinator, count: u64::from(group.number) }
}

//! Whatever is put into a node, in whatever order: it keeps the contracts that
//! `bellwether_core::protocol` states, with every core that there is.

mod cores;

use std::time::Duration;

use bellwether_core::member::{self, Action, Member, Setup, StorageAnswer};
use bellwether_core::protocol::{
    Core, Event, Input, Members, Membership as _, Node, NodeId, NodeStep, Output, Reason, Request,
    Role, Status, Time, Trigger,
};
use bellwether_core::trace::{Entry, Line, Out, Received};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// What is needed to test a core: nodes 1 to 4, and what they might hear.
trait Tested: Core {
    fn config(number: u16) -> Self::Config;

    fn messages() -> BoxedStrategy<Self::Message>;

    /// What holds of a node that has booted after every input, by the rules of this protocol.
    fn holds(core: &Self, node: &Node<Self>) -> Result<(), TestCaseError>;

    /// Whether a node sends this message in this direction.
    fn sends(me: NodeId, to: NodeId, message: Self::Message) -> bool {
        let _ = (me, to, message);
        true
    }

    /// Until when the node may lead, if it leads for a time and not until it hears otherwise.
    fn leads_until(node: &Node<Self>) -> Option<Time> {
        let _ = node;
        None
    }

    /// Whether a node sends this because it leads.
    fn is_work(message: Self::Message) -> bool {
        let _ = message;
        false
    }
}

/// The timers that are armed.
fn armed<C: Core>(node: &Node<C>) -> Vec<C::Timer> {
    node.armed().map(|(timer, _)| timer).collect()
}

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn members() -> Members {
    Members::new((1..=4).map(id)).expect("valid")
}

/// Five is the id of no node.
fn ids() -> impl Strategy<Value = NodeId> + Clone {
    (1..=5_u16).prop_map(id)
}

/// Something that happens, `later` nanoseconds after what happened before.
#[derive(Clone, Debug)]
struct Step<M> {
    later: u64,
    input: Input<M>,
}

type Steps<C> = Vec<Step<<C as Core>::Message>>;
type Effect<C> = Output<<C as Core>::Durable, <C as Core>::Message>;

fn requests() -> impl Strategy<Value = Request> {
    let next = || proptest::option::of(ids());
    let milliseconds = prop_oneof![Just(0), 1..5_000_u64, Just(1 << 40)];
    prop_oneof![
        next().prop_map(Request::Yield),
        (next(), milliseconds)
            .prop_map(|(next, time)| Request::StepDown(next, Duration::from_millis(time))),
        any::<bool>().prop_map(Request::Healthy),
    ]
}

fn steps<C: Tested>() -> impl Strategy<Value = Steps<C>> {
    let receive =
        (ids(), C::messages()).prop_map(|(from, message)| Input::Receive { from, message });
    let input = prop_oneof![
        1 => Just(Input::Boot),
        12 => receive,
        4 => ids().prop_map(Input::Suspect),
        2 => requests().prop_map(Input::Request),
        5 => Just(Input::Wake),
    ];
    let milliseconds =
        prop_oneof![Just(0), 1..30_u64, 30..400_u64, 400..5_000_u64, 5_000..10_000_000_u64];
    let step = (milliseconds, -1..=1_i64, input).prop_map(|(milliseconds, jitter, input)| Step {
        later: (milliseconds * 1_000_000).saturating_add_signed(jitter),
        input,
    });
    vec(step, 0..60)
}

fn node<C: Tested>(number: u16) -> Node<C> {
    Node::new(C::config(number), C::founder(), 0).expect("valid")
}

fn effects<C: Core>(node: &mut Node<C>, now: Time, input: Input<C::Message>) -> Vec<Effect<C>> {
    node.handle(now, input);
    std::iter::from_fn(|| node.poll()).collect()
}

/// Runs `test` on many random executions of a node.
fn for_any<C: Tested>(test: impl Fn(u16, Steps<C>) -> Result<(), TestCaseError>) {
    run::<C>(&test);
}

/// The same for a test of any kind, so that what draws and shrinks is compiled once for a core.
fn run<C: Tested>(test: &dyn Fn(u16, Steps<C>) -> Result<(), TestCaseError>) {
    let config = ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(512) };
    let mut runner = TestRunner::new(config);
    let result = runner.run(&(1..=4_u16, steps::<C>()), |(number, steps)| test(number, steps));
    if let Err(error) = result {
        panic!("{}: {error}", C::NAME);
    }
}

fn place_in_order<D, M>(effect: &Output<D, M>) -> u8 {
    match effect {
        Output::Persist(_) => 0,
        Output::Send { .. } => 1,
        Output::Event(_) => 2,
        Output::WakeAt(_) => 3,
    }
}

/// Follows the events from one status to the next: each change is told once, and is legal.
fn follow<C: Core>(
    before: Status,
    after: Status,
    effects: &[Effect<C>],
) -> Result<(), TestCaseError> {
    let mut known = (before.role, before.leader);
    for effect in effects {
        if let Output::Event(Event::RoleChanged { from, to, leader, .. }) = *effect {
            prop_assert_eq!(from, known.0, "events tell every change");
            prop_assert!(known != (to, leader), "an event without a change");
            prop_assert!(C::may_become(from, to), "{} cannot become {}", from, to);
            known = (to, leader);
        }
        if let Output::Event(Event::RivalHeard { .. }) = *effect {
            prop_assert_eq!(known.0, Role::Leader, "a rival of a node that does not lead");
        }
    }
    prop_assert_eq!(known, (after.role, after.leader));
    prop_assert_eq!(after.role == Role::Leader, after.leader == Some(after.id));
    Ok(())
}

/// A message of a node that this one does not hear is ignored, and that is told.
fn strangers<C: Core>(
    config: &C::Config,
    input: &Input<C::Message>,
    effects: &[Effect<C>],
) -> Result<(), TestCaseError> {
    let &Input::Receive { from, .. } = input else { return Ok(()) };
    let told = |cause| effects.contains(&Output::Event(Event::Ignored { from, cause }));
    let own = from == config.id();
    prop_assert_eq!(told(Reason::OWN_ID), own);
    prop_assert_eq!(told(Reason::UNKNOWN_SENDER), !own && !config.hears(from));
    Ok(())
}

/// What leaves the node is fit to leave it: it goes to another member, and can be read again.
fn leaves<C: Tested>(config: &C::Config, effect: &Effect<C>) -> Result<(), TestCaseError> {
    match effect {
        Output::Send { to, message } => {
            prop_assert!(config.hears(*to) && *to != config.id(), "sent to {}", to);
            prop_assert!(
                C::sends(config.id(), *to, message.clone()),
                "{:?} sent to {}",
                message,
                to
            );
            let frame = postcard::to_stdvec(message).expect("written");
            prop_assert_eq!(postcard::from_bytes::<C::Message>(&frame), Ok(message.clone()));
        }
        Output::Persist(durable) => {
            let slot = postcard::to_stdvec(durable).expect("written");
            prop_assert_eq!(&postcard::from_bytes::<C::Durable>(&slot).expect("read"), durable);
        }
        Output::Event(Event::RivalHeard { rival }) => {
            prop_assert!(config.hears(*rival) && *rival != config.id(), "a rival: {}", rival);
        }
        Output::Event(_) | Output::WakeAt(_) => {}
    }
    Ok(())
}

/// A leader whose time is over steps down, and does nothing as a leader first, however many
/// deadlines have passed before that one.
fn steps_down_first<C: Tested>(effects: &[Effect<C>]) -> Result<(), TestCaseError> {
    let works = |effect: &Effect<C>| match effect {
        Output::Send { message, .. } => C::is_work(message.clone()),
        Output::Persist(_) | Output::Event(_) | Output::WakeAt(_) => false,
    };
    let steps_down = |effect: &Effect<C>| {
        matches!(effect, Output::Event(Event::RoleChanged { from: Role::Leader, .. }))
    };
    prop_assert!(!effects.iter().any(works), "worked when its time was over: {:?}", effects);
    prop_assert!(effects.iter().any(steps_down), "leads when its time is over: {:?}", effects);
    Ok(())
}

fn any_inputs_keep_the_contracts<C: Tested>() {
    for_any::<C>(|number, steps| {
        let (mut node, mut durable) = (node::<C>(number), None);
        let (mut now, mut told) = (Time::from_nanos(1 << 40), None);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            let before = node.status();
            let was_up = node.core().is_some();
            let over = C::leads_until(&node).is_some_and(|until| until <= now);
            let effects = effects(&mut node, now, input.clone());

            prop_assert_eq!(node.core().is_some(), was_up || input == Input::Boot);
            prop_assert_eq!(node.core().is_some(), node.status().role != Role::NotStarted);
            prop_assert!(node.core().is_some() || effects.is_empty(), "an output before the boot");
            prop_assert!(effects.iter().map(place_in_order).is_sorted(), "{:?}", effects);
            follow::<C>(before, node.status(), &effects)?;
            if over {
                steps_down_first::<C>(&effects)?;
            }
            if was_up {
                strangers::<C>(node.config(), &input, &effects)?;
            }
            let wakes = effects.iter().filter_map(|effect| match effect {
                Output::WakeAt(wake) => Some(*wake),
                _ => None,
            });
            for wake in wakes {
                prop_assert_ne!(wake, told, "asked for again, or twice");
                told = wake;
            }
            let armed: Vec<_> = node.armed().collect();
            prop_assert_eq!(told, armed.iter().map(|&(_, deadline)| deadline).min());
            prop_assert!(armed.iter().all(|&(_, deadline)| deadline > now), "expired and armed");
            if let Some(core) = node.core() {
                C::holds(core, &node)?;
            }
            for watched in node.watched() {
                prop_assert!(node.config().hears(watched) && watched != id(number));
            }
            for effect in &effects {
                leaves::<C>(node.config(), effect)?;
                if let Output::Persist(kept) = effect {
                    durable = Some(kept.clone());
                }
            }
        }
        let mut again = Node::<C>::new(C::config(number), durable, 0).expect("can start again");
        prop_assert!(!effects(&mut again, now, Input::Boot).is_empty());
        Ok(())
    });
}

fn what_is_spurious_changes_nothing<C: Tested>() {
    for_any::<C>(|number, steps| {
        let (mut node, mut now) = (node::<C>(number), Time::ZERO);
        effects(&mut node, now, Input::Boot);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            effects(&mut node, now, input);
            let before = node.clone();
            prop_assert_eq!(effects(&mut node, now, Input::Wake), []);
            prop_assert_eq!(effects(&mut node, now, Input::Boot), []);
            let idle = (1..=5).map(id).filter(|&other| before.watched().all(|w| w != other));
            for other in idle {
                prop_assert_eq!(effects(&mut node, now, Input::Suspect(other)), []);
            }
            prop_assert_eq!(&node, &before);
        }
        Ok(())
    });
}

/// An input after deadlines have passed is as a wake-up at that time, and then the input.
fn deadlines_come_first<C: Tested>() {
    for_any::<C>(|number, steps| {
        let (mut at_once, mut now) = (node::<C>(number), Time::ZERO);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            let mut in_turn = at_once.clone();
            let expected =
                [Input::Wake, input.clone()].map(|input| effects(&mut in_turn, now, input));
            let mut expected: Vec<_> = expected.into_iter().flatten().collect();
            expected.sort_by_key(place_in_order);
            let mut put_out = effects(&mut at_once, now, input);
            prop_assert_eq!(&at_once, &in_turn);
            // Of the wake-ups only the last counts, and it stands in the node.
            expected.retain(|effect| !matches!(effect, Output::WakeAt(_)));
            put_out.retain(|effect| !matches!(effect, Output::WakeAt(_)));
            prop_assert_eq!(put_out, expected);
        }
        Ok(())
    });
}

fn only_differences_of_times_matter<C: Tested>() {
    let shift = 1 << 33;
    let late = |time: Time| Time::from_nanos(time.as_nanos() + shift);
    for_any::<C>(|number, steps| {
        let (mut node, mut shifted, mut now) = (node::<C>(number), node::<C>(number), 0);
        for Step { later, input } in steps {
            now += later;
            let concrete = effects(&mut node, Time::from_nanos(now), input.clone());
            let moved = effects(&mut shifted, Time::from_nanos(now + shift), input);
            let expected = concrete.into_iter().map(|effect| match effect {
                Output::WakeAt(wake) => Output::WakeAt(wake.map(late)),
                other => other,
            });
            prop_assert_eq!(moved, Vec::from_iter(expected));
            prop_assert_eq!(node.status(), shifted.status());
            prop_assert_eq!(node.core(), shifted.core());
        }
        Ok(())
    });
}

/// A timer that waits for nodes that are gone can expire early: it is armed, it waits for others,
/// and after a few of them the node waits for something else.
fn no_wait_is_in_vain_for_ever<C: Tested>() {
    for_any::<C>(|number, steps| {
        let (mut node, mut now) = (node::<C>(number), 0);
        for Step { later, input } in steps {
            now += later;
            effects(&mut node, Time::from_nanos(now), input);
            let mut expired = 0;
            while let Some((timer, waits)) = node.skippable_wait() {
                prop_assert!(armed(&node).contains(&timer), "{timer:?} is not armed");
                let other = |to: &NodeId| *to != id(number) && node.config().hears(*to);
                prop_assert!(!waits.is_empty() && waits.iter().all(other), "{waits:?}");
                expired += 1;
                prop_assert!(expired <= C::TIMERS.len(), "it waits for ever for {waits:?}");
                node.bring_forward(timer, Time::from_nanos(now));
                effects(&mut node, Time::from_nanos(now), Input::Wake);
            }
        }
        Ok(())
    });
}

/// What these steps have put out, in the order of kinds.
fn put_out<C: Core>(steps: &[NodeStep<C>]) -> Vec<Effect<C>> {
    let persists = steps.iter().flat_map(|step| &step.persists).cloned().map(Output::Persist);
    let sends = steps.iter().flat_map(|step| &step.sends).cloned();
    let sends = sends.map(|(to, message)| Output::Send { to, message });
    let events = steps.iter().flat_map(|step| &step.events).copied().map(Output::Event);
    persists.chain(sends).chain(events).collect()
}

/// Whether the last of these steps, and no other, is what this input says.
fn end_with<C: Core>(steps: &[NodeStep<C>], input: &Input<C::Message>) -> bool {
    let is_input = |step: &&NodeStep<C>| match (&step.trigger, input) {
        (Trigger::Boot(_), Input::Boot) => true,
        (Trigger::Receive { from, message }, Input::Receive { from: sender, message: said }) => {
            (*from, message) == (*sender, said)
        }
        (Trigger::Suspect(node), Input::Suspect(suspect)) => node == suspect,
        (Trigger::Request(request), Input::Request(asked)) => request == asked,
        _ => false,
    };
    let expires = |step: &NodeStep<C>| matches!(step.trigger, Trigger::Expire(_));
    let before = steps.len().saturating_sub(1);
    steps.last().filter(is_input).is_some() && steps[..before].iter().all(expires)
}

/// What is true at the end of the last step is true of the node.
fn is_after<C: Core>(node: &Node<C>, step: &NodeStep<C>) -> bool {
    (step.status, step.epoch, step.lease) == (node.status(), node.epoch(), node.lease())
        && step.armed.iter().copied().eq(node.armed())
        && step.watched.iter().copied().eq(node.watched())
}

/// The steps that a node records are all that it does, and a node that records is as one that does
/// not.
fn steps_put_out_all_that_a_node_does<C: Tested>() {
    for_any::<C>(|number, steps| {
        let (mut silent, mut node) = (node::<C>(number), node::<C>(number).recording());
        let mut now = Time::ZERO;
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            let was_up = node.core().is_some();
            let mut effects_of_it = effects(&mut node, now, input.clone());
            prop_assert_eq!(&effects_of_it, &effects(&mut silent, now, input.clone()));
            prop_assert_eq!(&node, &silent);
            prop_assert_eq!(silent.take_steps(), []);

            let taken = node.take_steps();
            effects_of_it.retain(|effect| !matches!(effect, Output::WakeAt(_)));
            prop_assert_eq!(put_out(&taken), effects_of_it);
            prop_assert!(taken.last().is_none_or(|last| is_after(&node, last)), "{:?}", taken);
            let is_step = match input {
                Input::Boot => !was_up,
                Input::Receive { .. } | Input::Request(_) => was_up,
                Input::Wake => false,
                // Of a node that it watches when its timers have expired.
                Input::Suspect(_) => end_with(&taken, &input),
            };
            prop_assert_eq!(end_with(&taken, &input), is_step, "{:?}", taken);
            let expires = |step: &NodeStep<C>| matches!(step.trigger, Trigger::Expire(_));
            prop_assert!(is_step || taken.iter().all(expires), "{:?}", taken);
            prop_assert_eq!(node.take_steps(), [], "each once");
        }
        Ok(())
    });
}

/// A step can be written and read again, and the messages of a member have numbers without a gap.
fn steps_are_read_as_they_were_written<C: Tested>() {
    for_any::<C>(|number, steps| {
        let setup = Setup { stores: true, ..Setup::of::<C>(&C::config(number), 4) };
        let mut member = Member::new(node::<C>(number).recording(), &setup, Time::ZERO);
        let (mut now, mut n, mut numbered) = (Time::ZERO, 0, 0);
        for Step { later, input } in steps {
            now = now + Duration::from_nanos(later);
            let mut events = vec![match input {
                Input::Boot => member::Event::Start,
                Input::Receive { from, message } => {
                    let (incarnation, id) = (Some(u64::MAX), Some(later));
                    member::Event::Received(Received { from, incarnation, id, message })
                }
                Input::Suspect(_) | Input::Request(_) | Input::Wake => member::Event::Wake,
            }];
            while let Some(event) = events.pop() {
                for action in member.handle(now, event) {
                    match action {
                        Action::Save(_) | Action::Probe => {
                            events.push(member::Event::StorageAnswered(StorageAnswer::Done));
                        }
                        Action::EndWork(_) => events.push(member::Event::WorkEnded),
                        Action::Trace(step) => {
                            numbered = next_number(&step.out, numbered)?;
                            let at = Some(now.as_nanos());
                            let line = Line { n, at, entry: Entry::Step(*step) };
                            let text = serde_json::to_string(&line).expect("it can be written");
                            let read = serde_json::from_str::<Line<C::Durable, C::Message>>(&text);
                            prop_assert_eq!(read.ok(), Some(line), "{}", text);
                            n += 1;
                        }
                        _ => {}
                    }
                }
            }
        }
        Ok(())
    });
}

/// The number of the last message after these, if they follow the one with this number.
fn next_number<D, M>(out: &[Out<D, M>], before: u64) -> Result<u64, TestCaseError> {
    let mut number = before;
    for put_out in out {
        if let Out::Send(sent) = put_out {
            number += 1;
            prop_assert_eq!(sent.id, number);
        }
    }
    Ok(number)
}

/// The protocols in which no two nodes lead at the same time: with a majority, or a store.
const ONE_LEADER: [&str; 2] = ["lease", "quorum"];

/// How long anything may take between rivals, in milliseconds.
const LIMIT: usize = 10_000;

/// Nodes 1 and 2 of a group whose other nodes are down, which both lead, as after a cut, and then
/// hear each other. A message takes a millisecond.
struct Pair<C: Core> {
    nodes: [Node<C>; 2],
    now: Time,
    connected: bool,
    in_flight: Vec<(NodeId, NodeId, C::Message)>,
    /// Which node has heard of which rival.
    heard: Vec<(NodeId, NodeId)>,
}

impl<C: Tested> Pair<C> {
    /// Both have started, and hear no other.
    fn cut_off() -> Self {
        let (nodes, now) = ([1, 2].map(node::<C>), Time::from_nanos(1 << 40));
        let (in_flight, heard) = (Vec::new(), Vec::new());
        let mut pair = Self { nodes, now, connected: false, in_flight, heard };
        (0..2).for_each(|at| pair.handle(at, Input::Boot));
        pair
    }

    fn handle(&mut self, at: usize, input: Input<C::Message>) {
        let node = &mut self.nodes[at];
        let me = node.status().id;
        node.handle(self.now, input);
        while let Some(output) = node.poll() {
            match output {
                Output::Send { to, message } if self.connected => {
                    self.in_flight.push((me, to, message));
                }
                Output::Event(Event::RivalHeard { rival }) => self.heard.push((me, rival)),
                _ => {}
            }
        }
    }

    /// The place of this node, if it is up.
    fn place(&self, node: NodeId) -> Option<usize> {
        self.nodes.iter().position(|other| other.status().id == node)
    }

    /// A millisecond passes. A detector reports at once all nodes that cannot be heard.
    fn pass(&mut self) {
        self.now = self.now + Duration::from_millis(1);
        for (from, to, message) in std::mem::take(&mut self.in_flight) {
            if let Some(at) = self.place(to) {
                self.handle(at, Input::Receive { from, message });
            }
        }
        for at in 0..2 {
            self.handle(at, Input::Wake);
            let lost = |node: &NodeId| !self.connected || self.place(*node).is_none();
            let lost: Vec<_> = self.nodes[at].watched().filter(lost).collect();
            lost.into_iter().for_each(|node| self.handle(at, Input::Suspect(node)));
        }
    }

    fn leaders(&self) -> usize {
        self.nodes.iter().filter(|node| node.status().role == Role::Leader).count()
    }
}

/// At least one of the two says that the other leads as well, and none does before.
fn at_least_one_of_two_rivals_hears_of_the_other<C: Tested>() {
    let mut pair = Pair::<C>::cut_off();
    let both = (0..LIMIT).any(|_| {
        pair.pass();
        pair.leaders() == 2
    });
    assert_eq!(both, !ONE_LEADER.contains(&C::NAME), "{}", C::NAME);
    assert!(pair.heard.is_empty(), "{}: {:?}", C::NAME, pair.heard);
    if !both {
        return;
    }
    let ids = pair.nodes.each_ref().map(|node| node.status().id);
    pair.connected = true;
    (0..LIMIT).for_each(|_| pair.pass());
    assert_eq!(pair.leaders(), 1, "{}", C::NAME);
    assert!(!pair.heard.is_empty(), "{}: no node hears of its rival", C::NAME);
    let each_other = |pair: &(NodeId, NodeId)| [(ids[0], ids[1]), (ids[1], ids[0])].contains(pair);
    assert!(pair.heard.iter().all(each_other), "{}: {:?}", C::NAME, pair.heard);
}

macro_rules! contracts {
    ($($core:ty),+ $(,)?) => {
        mod every_core {
            #[test]
            fn keeps_the_contracts_whatever_the_inputs_are() {
                $(super::any_inputs_keep_the_contracts::<$core>();)+
            }

            #[test]
            fn takes_no_notice_of_what_is_spurious() {
                $(super::what_is_spurious_changes_nothing::<$core>();)+
            }

            #[test]
            fn handles_deadlines_first() {
                $(super::deadlines_come_first::<$core>();)+
            }

            #[test]
            fn reads_differences_of_times_only() {
                $(super::only_differences_of_times_matter::<$core>();)+
            }

            #[test]
            fn records_each_step_with_what_it_puts_out() {
                $(super::steps_put_out_all_that_a_node_does::<$core>();)+
            }

            #[test]
            fn has_steps_that_are_read_as_they_were_written() {
                $(super::steps_are_read_as_they_were_written::<$core>();)+
            }

            #[test]
            fn reports_a_rival_of_a_leader() {
                $(super::at_least_one_of_two_rivals_hears_of_the_other::<$core>();)+
            }

            #[test]
            fn waits_for_nodes_that_are_gone_a_few_times_only() {
                $(super::no_wait_is_in_vain_for_ever::<$core>();)+
            }
        }
    };
}

/// The cores of the daemon, and those that only the library has.
macro_rules! all {
    ($($core:ty),+ $(,)?) => {
        contracts! {
            $($core,)+
            bellwether_core::protocol::commit::TwoPhaseCommit,
            bellwether_core::protocol::commit::ThreePhaseCommit,
        }
    };
}

bellwether_core::for_each_core!(all);

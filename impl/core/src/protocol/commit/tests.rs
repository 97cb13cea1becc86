//! Stories of a few nodes, told by hand.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Commit, Config, Kind, Message, Outcome, Record, Three, Timing, Two};
use crate::protocol::{Input, Members, Node, NodeId, Output, Role, Time, bully};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn config(number: u16, agrees: bool) -> Config {
    let members = Members::new((1..=3).map(id)).expect("valid");
    let election = bully::Config { id: id(number), members, timing: bully::Timing::DEFAULT };
    Config { election, agrees, timing: Timing::DEFAULT }
}

/// Three nodes, a network without delay, and a clock.
struct Group<K: Kind> {
    nodes: Vec<Option<Node<Commit<K>>>>,
    logs: Vec<Option<Record>>,
    flight: VecDeque<(NodeId, NodeId, Message)>,
    now: Time,
}

impl<K: Kind> Group<K> {
    /// Nodes 1 to 3, of which those in the list vote NO, have agreed that 3 leads.
    fn new(against: &[u16]) -> Self {
        let node = |number| Node::new(config(number, !against.contains(&number)), None, 0);
        let nodes = (1..=3).map(|number| Some(node(number).expect("valid"))).collect();
        let (logs, flight) = (vec![None; 3], VecDeque::new());
        let mut group = Group { nodes, logs, flight, now: Time::ZERO };
        for number in [3, 2, 1] {
            group.put(number, Input::Boot);
        }
        group.deliver(|_, _, _| true);
        group
    }

    fn put(&mut self, number: u16, input: Input<Message>) {
        let at = usize::from(number) - 1;
        let Some(node) = &mut self.nodes[at] else { return };
        node.handle(self.now, input);
        while let Some(output) = node.poll() {
            match output {
                Output::Persist(record) => self.logs[at] = Some(record),
                Output::Send { to, message } => self.flight.push_back((id(number), to, message)),
                Output::Event(_) | Output::WakeAt(_) => {}
            }
        }
    }

    /// Delivers what is in flight and what follows; what is not wanted is lost.
    fn deliver(&mut self, wanted: impl Fn(u16, u16, Message) -> bool) {
        while let Some((from, to, message)) = self.flight.pop_front() {
            if wanted(from.get(), to.get(), message) {
                self.put(to.get(), Input::Receive { from, message });
            }
        }
    }

    /// Time passes, in which everything arrives.
    fn pass(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds / 10 {
            self.now = self.now + Duration::from_millis(10);
            for number in 1..=3 {
                self.put(number, Input::Wake);
            }
            self.deliver(|_, _, _| true);
        }
    }

    /// The coordinator begins, and what it asks for is in flight.
    fn begin(&mut self) {
        self.now = self.now + Timing::DEFAULT.begin;
        self.put(3, Input::Wake);
    }

    fn crash(&mut self, number: u16) {
        self.nodes[usize::from(number) - 1] = None;
    }

    fn recover(&mut self, number: u16) {
        let at = usize::from(number) - 1;
        let node = Node::new(config(number, true), self.logs[at], 0);
        self.nodes[at] = Some(node.expect("valid"));
        self.put(number, Input::Boot);
    }

    fn core(&self, number: u16) -> &Commit<K> {
        let node = self.nodes[usize::from(number) - 1].as_ref().expect("it is up");
        node.core().expect("it has booted")
    }

    fn outcomes(&self) -> Vec<Option<Outcome>> {
        let up = self.nodes.iter().flatten();
        up.map(|node| node.core().and_then(Commit::outcome)).collect()
    }
}

const COMMIT: Option<Outcome> = Some(Outcome::Commit);
const ABORT: Option<Outcome> = Some(Outcome::Abort);

#[test]
fn all_commit_if_all_agree() {
    fn commits<K: Kind>() {
        let mut group = Group::<K>::new(&[]);
        group.pass(1_000);
        assert_eq!(group.outcomes(), [COMMIT; 3], "{}", K::NAME);
        assert_eq!(group.logs, [Some(Record::Decided(Outcome::Commit)); 3]);
    }
    commits::<Two>();
    commits::<Three>();
}

#[test]
fn all_abort_if_one_does_not_agree() {
    for against in 1..=3 {
        let mut group = Group::<Three>::new(&[against]);
        group.pass(2_000);
        assert_eq!(group.outcomes(), [ABORT; 3], "{against} is against");
    }
}

/// The votes are in, the coordinator fails before it says what is decided: the next one is blocked
/// until it recovers.
#[test]
fn two_phases_block_until_the_coordinator_recovers() {
    let mut group = Group::<Two>::new(&[]);
    group.begin();
    group.deliver(|_, _, message| !matches!(message, Message::Decision(_)));
    group.crash(3);
    group.pass(5_000);
    assert_eq!(group.outcomes(), [None, None]);
    assert!(group.core(2).is_blocked(), "it waits for 3");
    group.recover(3);
    group.pass(5_000);
    assert_eq!(group.outcomes(), [COMMIT; 3], "3 had written it");
}

/// The word that 3 sent before it failed comes late, to 1 only: 2 asks again.
#[test]
fn a_blocked_coordinator_polls_again() {
    let mut group = Group::<Two>::new(&[]);
    group.begin();
    group.deliver(|_, _, message| !matches!(message, Message::Decision(_)));
    group.crash(3);
    group.pass(5_000);
    assert!(group.core(2).is_blocked(), "it waits for 3");
    let late = Message::Decision(Outcome::Commit);
    group.put(1, Input::Receive { from: id(3), message: late });
    group.pass(1_000);
    assert_eq!(group.outcomes(), [COMMIT; 2]);
}

/// The same with three phases: the two that are left are a majority.
#[test]
fn three_phases_go_on_with_a_majority() {
    let mut group = Group::<Three>::new(&[]);
    group.begin();
    group.deliver(|_, to, message| !(matches!(message, Message::Prepare(_)) && to == 1));
    group.crash(3);
    group.pass(5_000);
    let outcomes = group.outcomes();
    assert!(outcomes[0].is_some() && outcomes[0] == outcomes[1], "{outcomes:?}");
    assert_eq!(outcomes[0], COMMIT, "3 had committed with 2");
}

/// A node that was down when the others decided asks when it is back.
#[test]
fn one_that_recovers_learns_the_decision() {
    let mut group = Group::<Three>::new(&[]);
    group.begin();
    group.deliver(|from, to, message| {
        !(to == 1 && matches!(message, Message::Decision(_))) || from == 1
    });
    group.crash(1);
    group.pass(1_000);
    group.recover(1);
    group.pass(5_000);
    assert_eq!(group.outcomes(), [COMMIT; 3]);
}

/// One that answered the next coordinator takes no notice of what the one before it sent.
#[test]
fn what_a_coordinator_sent_before_it_failed_comes_too_late() {
    let mut group = Group::<Three>::new(&[]);
    group.begin();
    group.deliver(|_, _, message| !matches!(message, Message::Vote(_)));
    group.put(1, Input::Receive { from: id(2), message: Message::Poll });
    let late = Message::Prepare(Outcome::Commit);
    group.put(1, Input::Receive { from: id(3), message: late });
    assert_eq!(group.core(1).record(), Some(Record::Voted));
    let latest = Message::Prepare(Outcome::Abort);
    group.put(1, Input::Receive { from: id(2), message: latest });
    assert_eq!(group.core(1).record(), Some(Record::Prepared(Outcome::Abort)));
}

/// The bully is a part of the core: its leader is the one that begins.
#[test]
fn the_leader_of_the_bully_coordinates() {
    let group = Group::<Two>::new(&[]);
    let roles = group.nodes.iter().flatten().map(|node| node.status().role);
    assert!(roles.eq([Role::Follower, Role::Follower, Role::Leader]));
}

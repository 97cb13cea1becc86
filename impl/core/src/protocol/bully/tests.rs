//! Stories: what happens to one node, line by line, and to three of them on virtual time.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Bully, Config, Message, Timer, Timing};
use crate::protocol::{Input, MemberError, Members, Node, NodeId, Nothing, Output, Reason, Time};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

fn config(node: u16, members: &[u16]) -> Config {
    let members = Members::new(members.iter().map(|&number| id(number))).expect("valid");
    Config { id: id(node), members, timing: Timing::DEFAULT }
}

fn node(number: u16) -> Node<Bully> {
    Node::new(config(number, &[1, 2, 3, 4]), None, 0).expect("valid")
}

/// One node, told what happens at which millisecond, and the outputs it gave, on one line.
struct Story(Node<Bully>);

impl Story {
    fn of(number: u16) -> Self {
        Self(node(number))
    }

    fn at(&mut self, milliseconds: u64, input: Input<Message>) -> String {
        self.0.handle(ms(milliseconds), input);
        let outputs: Vec<_> = std::iter::from_fn(|| self.0.poll()).map(|o| line(&o)).collect();
        outputs.join(", ")
    }

    fn hears(&mut self, milliseconds: u64, from: u16, message: Message) -> String {
        self.at(milliseconds, Input::Receive { from: id(from), message })
    }
}

fn line(output: &Output<Nothing, Message>) -> String {
    match output {
        Output::Persist(nothing) => match *nothing {},
        Output::Send { to, message } => format!("{message:?} to {to}"),
        Output::Event(event) => event.to_string(),
        Output::WakeAt(None) => "no timer".to_owned(),
        Output::WakeAt(Some(time)) => {
            format!("wake at {}", time.since(Time::ZERO).as_millis())
        }
    }
}

#[test]
fn a_node_that_nobody_answers_leads_and_keeps_saying_so() {
    let mut two = Story::of(2);
    assert_eq!(
        two.at(0, Input::Boot),
        "Election to 3, Election to 4, not_started becomes candidate: the node started, \
         wake at 300"
    );
    assert_eq!(two.at(299, Input::Wake), "");
    assert_eq!(
        two.at(300, Input::Wake),
        "Coordinator to 1, candidate becomes leader of 2: no higher node answered in time, \
         wake at 400"
    );
    assert_eq!(two.at(400, Input::Wake), "Coordinator to 1, wake at 500");
    assert_eq!(two.at(400, Input::Wake), "");
}

#[test]
fn a_node_that_is_answered_waits_for_the_winner_and_follows_it() {
    let mut two = Story::of(2);
    two.at(0, Input::Boot);
    assert_eq!(
        two.hears(10, 3, Message::Ok),
        "candidate becomes waiting: a higher node answered, wake at 910"
    );
    assert_eq!(two.hears(11, 4, Message::Ok), "", "one answer is enough");
    assert_eq!(
        two.hears(20, 4, Message::Coordinator),
        "waiting becomes follower of 4: a higher node claims to lead, wake at 520"
    );
    assert_eq!(two.hears(120, 4, Message::Coordinator), "wake at 620", "a heartbeat");
    assert_eq!(two.hears(130, 4, Message::Ok), "", "of an election that is over");
    assert_eq!(
        two.at(620, Input::Wake),
        "Election to 3, Election to 4, follower becomes candidate: the leader was silent for too \
         long, wake at 920"
    );
}

#[test]
fn a_node_that_is_answered_but_hears_of_no_winner_begins_anew() {
    let mut two = Story::of(2);
    two.at(0, Input::Boot);
    two.hears(10, 3, Message::Ok);
    assert_eq!(
        two.at(910, Input::Wake),
        "Election to 3, Election to 4, waiting becomes candidate: no winner announced itself in \
         time, wake at 1210"
    );
}

#[test]
fn the_highest_node_leads_at_once_and_answers_challengers_twice() {
    let mut four = Story::of(4);
    assert_eq!(
        four.at(0, Input::Boot),
        "Coordinator to 1, Coordinator to 2, Coordinator to 3, not_started becomes leader of 4: \
         no configured id is higher, wake at 100"
    );
    assert_eq!(four.hears(50, 2, Message::Election), "Ok to 2, Coordinator to 2");
}

#[test]
fn a_challenged_follower_answers_and_waits_for_its_own_watch() {
    let mut three = Story::of(3);
    three.at(0, Input::Boot);
    three.hears(1, 4, Message::Coordinator);
    assert_eq!(three.hears(50, 1, Message::Election), "Ok to 1");
    assert_eq!(three.hears(60, 2, Message::Election), "Ok to 2");
    assert_eq!(three.0.armed().collect::<Vec<_>>(), [(Timer::Watch, ms(501))]);
    assert_eq!(
        three.hears(501, 1, Message::Election),
        "Election to 4, Ok to 1, follower becomes candidate: the leader was silent for too long, \
         wake at 801",
        "the watch has expired before"
    );
    three.hears(510, 4, Message::Ok);
    assert_eq!(three.hears(520, 1, Message::Election), "Ok to 1", "while it waits, too");
}

#[test]
fn a_leader_steps_down_for_a_higher_claim_and_a_follower_changes_over() {
    let mut two = Story::of(2);
    two.at(0, Input::Boot);
    two.at(300, Input::Wake);
    assert_eq!(
        two.hears(310, 3, Message::Coordinator),
        "3 leads as well, leader becomes follower of 3: a higher node claims to lead, wake at 810"
    );
    assert_eq!(two.at(400, Input::Wake), "", "the heartbeat timer of the leader is gone");
    assert_eq!(
        two.hears(410, 4, Message::Coordinator),
        "follower becomes follower of 4: a higher node claims to lead, wake at 910"
    );
}

#[test]
fn a_deadline_that_has_passed_comes_before_the_message_that_arrives_after_it() {
    let mut two = Story::of(2);
    two.at(0, Input::Boot);
    assert_eq!(
        two.hears(5_000, 3, Message::Ok),
        "Coordinator to 1, candidate becomes leader of 2: no higher node answered in time, \
         wake at 5100",
        "the answer came after the time-out, so the node leads and the answer is void"
    );
}

#[test]
fn a_clock_that_jumped_far_ahead_brings_one_heartbeat_not_a_thousand() {
    let mut four = Story::of(4);
    four.at(0, Input::Boot);
    assert_eq!(
        four.at(100_000, Input::Wake),
        "Coordinator to 1, Coordinator to 2, Coordinator to 3, wake at 100100"
    );
}

#[test]
fn nothing_happens_before_boot_and_a_second_boot_is_a_no_op() {
    let mut two = Story::of(2);
    assert_eq!(two.hears(0, 4, Message::Coordinator), "");
    assert_eq!(two.hears(0, 9, Message::Ok), "");
    assert_eq!(two.at(5_000, Input::Wake), "");
    assert_ne!(two.at(5_000, Input::Boot), "");
    assert_eq!(two.at(5_001, Input::Boot), "");
    assert_eq!(two.0.armed().collect::<Vec<_>>(), [(Timer::Election, ms(5_300))]);
}

#[test]
fn a_follower_changes_to_a_higher_leader_but_never_to_a_lower_one() {
    let mut one = Story::of(1);
    one.at(0, Input::Boot);
    one.hears(10, 3, Message::Coordinator);
    assert_eq!(
        one.hears(20, 2, Message::Coordinator),
        format!("ignored 2: {}", super::BELOW_LEADER)
    );
    assert_eq!(one.0.status().leader, Some(id(3)));
    assert_eq!(one.0.armed().collect::<Vec<_>>(), [(Timer::Watch, ms(510))]);
    one.hears(30, 4, Message::Coordinator);
    assert_eq!(one.0.status().leader, Some(id(4)));
}

#[test]
fn what_no_correct_node_would_send_is_ignored_and_told() {
    let mut two = Story::of(2);
    two.at(0, Input::Boot);
    for (from, message, cause) in [
        (9, Message::Coordinator, Reason::UNKNOWN_SENDER),
        (2, Message::Coordinator, Reason::OWN_ID),
        (1, Message::Coordinator, Reason::WRONG_DIRECTION),
        (1, Message::Ok, Reason::WRONG_DIRECTION),
        (3, Message::Election, Reason::WRONG_DIRECTION),
    ] {
        assert_eq!(two.hears(1, from, message), format!("ignored {from}: {cause}"));
    }
}

#[test]
fn settings_that_contradict_themselves_are_refused_with_numbers_and_a_remedy() {
    let build = |change: &dyn Fn(&mut Config)| {
        let mut config = config(2, &[1, 2, 3]);
        change(&mut config);
        Node::<Bully>::new(config, None, 0).expect_err("must be refused").to_string()
    };
    assert_eq!(
        build(&|s| s.id = id(9)),
        "node 9 is not among the members (1, 2, 3): add it to them, or use another id"
    );
    assert_eq!(
        build(&|s| s.timing.election = Duration::ZERO),
        "bully.election is 0ns: use more than 0s and at most 24h"
    );
    assert_eq!(
        build(&|s| s.timing.coordinator = s.timing.election),
        "bully.coordinator (300ms) must be longer than bully.election (300ms): the winner \
         waits that long before it announces itself; try 900ms"
    );
    assert_eq!(
        build(&|s| s.timing.heartbeat = Duration::from_millis(250)),
        "bully.heartbeat (250ms) must be shorter than half of bully.watch (500ms): one lost \
         heartbeat would start an election; try 100ms"
    );
    let twice = Members::new([id(1), id(2), id(1)]).expect_err("must be refused");
    assert_eq!(twice, MemberError::DuplicateId { node: id(1) });
    let none = Members::new([]).expect_err("must be refused");
    assert!(none.to_string().starts_with("0 member(s) configured"), "{none}");
    let crowd = Members::new((1..=300).map(id)).expect_err("must be refused");
    assert!(crowd.to_string().starts_with("more than 255 member(s)"), "{crowd}");
}

/// A few nodes and the messages between them, which take one millisecond.
struct Network {
    nodes: BTreeMap<NodeId, Node<Bully>>,
    in_flight: VecDeque<(Time, NodeId, NodeId, Message)>,
    members: Vec<u16>,
    now: Time,
    messages: usize,
}

impl Network {
    fn of(members: &[u16]) -> Self {
        let mut network = Self {
            nodes: BTreeMap::new(),
            in_flight: VecDeque::new(),
            members: members.to_vec(),
            now: Time::ZERO,
            messages: 0,
        };
        for &member in members {
            network.start(member);
        }
        network
    }

    fn start(&mut self, number: u16) {
        let node = Node::new(config(number, &self.members), None, 0).expect("valid");
        assert!(self.nodes.insert(id(number), node).is_none(), "not up already");
        self.handle(id(number), Input::Boot);
    }

    fn crash(&mut self, number: u16) {
        self.nodes.remove(&id(number)).expect("up");
    }

    fn handle(&mut self, to: NodeId, input: Input<Message>) {
        let Some(node) = self.nodes.get_mut(&to) else {
            return;
        };
        node.handle(self.now, input);
        while let Some(output) = node.poll() {
            if let Output::Send { to: peer, message } = output {
                let arrival = self.now + Duration::from_millis(1);
                self.in_flight.push_back((arrival, to, peer, message));
                self.messages += 1;
            }
        }
    }

    fn run(&mut self, milliseconds: u64) {
        let end = self.now + Duration::from_millis(milliseconds);
        loop {
            let arrival = self.in_flight.front().map(|flight| flight.0);
            let nodes = self.nodes.iter();
            let wake = nodes.filter_map(|(&id, n)| Some((n.armed().map(|a| a.1).min()?, id))).min();
            match (arrival, wake) {
                (Some(time), _) if wake.is_none_or(|w| time <= w.0) && time <= end => {
                    let (time, from, to, message) = self.in_flight.pop_front().expect("seen");
                    self.now = time;
                    self.handle(to, Input::Receive { from, message });
                }
                (_, Some((time, id))) if time <= end => {
                    self.now = time;
                    self.handle(id, Input::Wake);
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn leaders(&self) -> Vec<Option<u16>> {
        self.nodes.values().map(|node| node.status().leader.map(NodeId::get)).collect()
    }
}

#[test]
fn three_nodes_agree_on_the_highest_through_a_crash_and_a_recovery() {
    let mut network = Network::of(&[1, 2, 3]);
    network.run(10);
    assert_eq!(network.leaders(), [Some(3); 3]);
    network.crash(3);
    network.run(1_000);
    assert_eq!(network.leaders(), [Some(2); 2]);
    network.start(3);
    network.run(10);
    assert_eq!(network.leaders(), [Some(3); 3]);
}

#[test]
fn the_lowest_leads_when_all_others_are_down() {
    let mut network = Network::of(&[1, 2, 3]);
    network.run(10);
    network.crash(3);
    network.crash(2);
    network.run(1_000);
    assert_eq!(network.leaders(), [Some(1)]);
    network.start(2);
    network.run(310);
    assert_eq!(network.leaders(), [Some(2); 2]);
}

#[test]
fn a_quiet_cluster_sends_only_the_claims_of_its_leader() {
    let mut network = Network::of(&[1, 2, 3]);
    network.run(1_000);
    network.messages = 0;
    network.run(10_000);
    assert_eq!(network.messages, 200, "a hundred claims to two followers");
}

/// Each wait ends early if all of these are gone.
#[test]
fn a_follower_waits_for_its_leader_and_the_others_for_all_higher_nodes() {
    let mut two = Story::of(2);
    two.at(0, Input::Boot);
    let waits = |two: &Story| two.0.waits_for();
    assert_eq!(waits(&two), Some((Timer::Election, vec![id(3), id(4)])));
    two.hears(10, 3, Message::Ok);
    assert_eq!(waits(&two), Some((Timer::Coordinator, vec![id(3), id(4)])));
    two.hears(20, 3, Message::Coordinator);
    assert_eq!(waits(&two), Some((Timer::Watch, vec![id(3)])));
    let mut four = Story::of(4);
    four.at(0, Input::Boot);
    assert_eq!(waits(&four), None, "it leads");
}

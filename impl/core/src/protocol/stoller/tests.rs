//! Stories: what happens to one node, line by line, and to a few of them with a detector.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use super::{Config, Elid, Error, Message, Stoller, Timer};
use crate::protocol::{
    DurationError, Input, MemberError, Members, Node, NodeId, Output, Reason, Role, Time,
};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

fn elid(owner: u16, incarnation: u64, counter: u64) -> Elid {
    Elid { owner: id(owner), incarnation, counter }
}

fn config(node: u16, members: &[u16]) -> Config {
    let members = Members::new(members.iter().map(|&number| id(number))).expect("valid");
    Config { id: id(node), members, ask: Duration::from_millis(100) }
}

/// One node, told what happens at which millisecond, and the outputs it gave, on one line.
struct Story(Node<Stoller>);

impl Story {
    fn of(number: u16) -> Self {
        Self(Node::new(config(number, &[1, 2, 3, 4]), None, 0).expect("valid"))
    }

    fn at(&mut self, milliseconds: u64, input: Input<Message>) -> String {
        self.0.handle(ms(milliseconds), input);
        let outputs: Vec<_> = std::iter::from_fn(|| self.0.poll()).map(|o| line(&o)).collect();
        outputs.join(", ")
    }

    fn hears(&mut self, from: u16, message: Message) -> String {
        self.at(1, Input::Receive { from: id(from), message })
    }

    fn suspects(&mut self, suspect: u16) -> String {
        self.at(1, Input::Suspect(id(suspect)))
    }

    fn core(&self) -> &Stoller {
        self.0.core().expect("booted")
    }

    fn watches(&self) -> Vec<u16> {
        self.0.watched().map(NodeId::get).collect()
    }
}

fn line(output: &Output<u64, Message>) -> String {
    match output {
        Output::Persist(incarnation) => format!("incarnation {incarnation}"),
        Output::Send { to, message } => match message {
            Message::Halt(t) => format!("Halt({t}) to {to}"),
            Message::Ack(t) => format!("Ack({t}) to {to}"),
            Message::Ldr(t) => format!("Ldr({t}) to {to}"),
            Message::NormQ(t) => format!("NormQ({t}) to {to}"),
            Message::NotNorm(t) => format!("NotNorm({t}) to {to}"),
        },
        Output::Event(event) => event.to_string(),
        Output::WakeAt(None) => "no timer".to_owned(),
        Output::WakeAt(Some(time)) => {
            format!("wake at {}", time.since(Time::ZERO).as_millis())
        }
    }
}

/// Node 3 of 4, that leads election 3.1.0 with 2 and 1 behind it.
fn leading() -> Story {
    let mut three = Story::of(3);
    three.at(0, Input::Boot);
    three.suspects(4);
    three.hears(2, Message::Ack(elid(3, 1, 0)));
    three.hears(1, Message::Ack(elid(3, 1, 0)));
    assert_eq!(three.0.status().role, Role::Leader);
    three
}

#[test]
fn a_node_waits_for_all_above_then_halts_all_below_one_by_one_and_leads() {
    let mut three = Story::of(3);
    assert_eq!(
        three.at(0, Input::Boot),
        "incarnation 1, not_started becomes candidate: the node started"
    );
    assert_eq!(three.watches(), [4]);
    assert_eq!(three.suspects(4), "Halt(3.1.0) to 2, wake at 101");
    assert_eq!(three.watches(), [2]);
    assert_eq!(three.hears(2, Message::Ack(elid(3, 1, 0))), "Halt(3.1.0) to 1");
    assert_eq!(
        three.hears(1, Message::Ack(elid(3, 1, 0))),
        "Ldr(3.1.0) to 1, Ldr(3.1.0) to 2, candidate becomes leader of 3: every lower node has \
         given way or failed"
    );
    assert_eq!(three.watches(), [0; 0]);
    assert_eq!(
        three.at(101, Input::Wake),
        "NormQ(3.1.0) to 1, NormQ(3.1.0) to 2, wake at 201",
        "it asks from time to time"
    );
}

#[test]
fn stage_one_ends_when_the_last_higher_node_is_reported() {
    let mut two = Story::of(2);
    two.at(0, Input::Boot);
    assert_eq!(two.watches(), [3, 4]);
    assert_eq!(two.suspects(3), "");
    assert_eq!(two.watches(), [4]);
    assert_eq!(two.suspects(3), "", "it is not watched any more");
    assert_eq!(two.suspects(4), "Halt(2.1.0) to 1, wake at 101");
    assert_eq!(
        two.at(101, Input::Wake),
        "no timer",
        "no answer: it begins again, and waits for those above"
    );
    assert_eq!(two.watches(), [3, 4]);
    assert_eq!(two.core().election().elid, elid(2, 1, 1));
    assert_eq!(
        two.hears(1, Message::Ack(elid(2, 1, 0))),
        format!("ignored 1: {}", super::OTHER_ELECTION),
        "too late"
    );
}

#[test]
fn a_node_that_fails_instead_of_giving_way_is_passed_over() {
    let mut three = Story::of(3);
    three.at(0, Input::Boot);
    three.suspects(4);
    assert_eq!(three.suspects(2), "Halt(3.1.0) to 1");
    assert_eq!(
        three.suspects(1),
        "candidate becomes leader of 3: every lower node has given way or failed"
    );
}

#[test]
fn the_highest_node_waits_for_nobody_and_the_lowest_halts_nobody() {
    let mut four = Story::of(4);
    assert_eq!(
        four.at(0, Input::Boot),
        "incarnation 1, Halt(4.1.0) to 3, not_started becomes candidate: the node started, \
         wake at 100"
    );
    let mut one = Story::of(1);
    one.at(0, Input::Boot);
    one.suspects(2);
    one.suspects(4);
    assert_eq!(
        one.suspects(3),
        "candidate becomes leader of 1: every lower node has given way or failed",
        "and has no other to ask"
    );
}

#[test]
fn a_halted_node_gives_way_and_follows_the_winner_until_that_fails() {
    let mut three = leading();
    assert_eq!(
        three.hears(4, Message::Halt(elid(4, 2, 0))),
        "Ack(4.2.0) to 4, leader becomes waiting: a higher node is about to lead, no timer"
    );
    assert_eq!(three.watches(), [4]);
    assert_eq!(
        three.hears(4, Message::Ldr(elid(4, 2, 0))),
        "waiting becomes follower of 4: a higher node claims to lead"
    );
    assert_eq!(
        three.suspects(4),
        "follower becomes candidate: the failure detector reports the node that was to lead"
    );
    assert_eq!(three.core().election().elid, elid(3, 1, 1), "a new election has a new name");
    assert_eq!(three.watches(), [4]);
}

#[test]
fn what_belongs_to_another_election_changes_nothing() {
    let other = format!("ignored 2: {}", super::OTHER_ELECTION);
    let mut three = Story::of(3);
    three.at(0, Input::Boot);
    three.suspects(4);
    assert_eq!(three.hears(2, Message::Ack(elid(3, 0, 0))), other, "of an earlier incarnation");
    assert_eq!(three.hears(2, Message::Ack(elid(3, 1, 1))), other, "of another election");
    let early = three.hears(1, Message::Ack(elid(3, 1, 0)));
    assert_eq!(early, format!("ignored 1: {}", super::OTHER_ELECTION), "it was not asked yet");
    three.hears(4, Message::Halt(elid(4, 2, 1)));
    let old = three.hears(4, Message::Ldr(elid(4, 2, 0)));
    assert_eq!(old, format!("ignored 4: {}", super::OTHER_ELECTION), "it gave way to a later one");
    assert_eq!(leading().hears(2, Message::NotNorm(elid(3, 0, 0))), other);
}

#[test]
fn who_does_not_follow_says_so_and_there_is_another_election() {
    let mut three = leading();
    assert_eq!(
        three.hears(1, Message::NotNorm(elid(3, 1, 0))),
        "leader becomes candidate: another node does not follow this one, no timer"
    );
    let question = Message::NormQ(elid(3, 1, 0));
    let no = "NotNorm(3.1.0) to 3";
    let mut one = Story::of(1);
    one.at(0, Input::Boot);
    assert_eq!(one.hears(3, question), no, "in stage 1");
    one.hears(3, Message::Halt(elid(3, 1, 0)));
    assert_eq!(one.hears(3, question), no, "it gave way, and was passed over");
    one.hears(3, Message::Ldr(elid(3, 1, 0)));
    assert_eq!(one.hears(3, question), "", "now it follows");
    assert_eq!(one.hears(3, Message::NormQ(elid(3, 1, 1))), "NotNorm(3.1.1) to 3", "not that one");
    assert_eq!(one.hears(2, Message::NormQ(elid(2, 1, 0))), "", "it follows a higher one");
    assert_eq!(one.hears(4, Message::NormQ(elid(4, 1, 0))), "NotNorm(4.1.0) to 4");
    let mut two = leading();
    for _ in 0..2 {
        let said = two.hears(4, Message::NormQ(elid(4, 1, 0)));
        assert_eq!(said, "NotNorm(4.1.0) to 4, 4 leads as well", "it leads");
    }
}

#[test]
fn a_node_that_restarts_unnoticed_is_told_again_to_give_way() {
    let mut network = Network::of(&[1, 2, 3]);
    network.run(51); // the detector has just looked
    network.crash(3);
    network.start(3); // which halts 2 at once
    network.crash(2);
    network.run(1); // the HALT is lost on it
    network.start(2);
    network.run(50);
    assert_eq!(network.leaders(), [Some(3), None, None], "3 waits for 2, and 2 for 3");
    network.run(150);
    assert_eq!(network.leaders(), [Some(3); 3]);
}

#[test]
fn each_incarnation_has_a_number_of_its_own_and_makes_it_durable_first() {
    let mut core = Node::<Stoller>::new(config(4, &[1, 2, 3, 4]), Some(7), 0).expect("valid");
    core.handle(ms(0), Input::Boot);
    assert_eq!(core.poll(), Some(Output::Persist(8)));
    assert_eq!(core.core().map(|core| core.election().elid), Some(elid(4, 8, 0)));
}

#[test]
fn nothing_happens_before_boot_and_a_second_boot_is_a_no_op() {
    let mut two = Story::of(2);
    assert_eq!(two.hears(4, Message::Halt(elid(4, 1, 0))), "");
    assert_eq!(two.suspects(4), "");
    assert_eq!(two.at(5_000, Input::Wake), "");
    assert_ne!(two.at(5_000, Input::Boot), "");
    assert_eq!(two.at(5_001, Input::Boot), "");
}

#[test]
fn what_no_correct_node_would_send_is_ignored_and_told() {
    let mut two = Story::of(2);
    two.at(0, Input::Boot);
    for (from, message, cause) in [
        (9, Message::Halt(elid(9, 1, 0)), Reason::UNKNOWN_SENDER),
        (2, Message::Halt(elid(2, 1, 0)), Reason::OWN_ID),
        (1, Message::Halt(elid(1, 1, 0)), Reason::WRONG_DIRECTION),
        (4, Message::Halt(elid(3, 1, 0)), Reason::WRONG_DIRECTION),
        (1, Message::NormQ(elid(1, 1, 0)), Reason::WRONG_DIRECTION),
        (1, Message::Ldr(elid(1, 1, 0)), Reason::WRONG_DIRECTION),
    ] {
        assert_eq!(two.hears(from, message), format!("ignored {from}: {cause}"), "{message:?}");
    }
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused_with_a_remedy() {
    let build = |change: &dyn Fn(&mut Config)| {
        let mut config = config(2, &[1, 2, 3]);
        change(&mut config);
        Node::<Stoller>::new(config, None, 0).expect_err("must be refused")
    };
    assert_eq!(
        build(&|c| c.id = id(9)).to_string(),
        "node 9 is not among the members (1, 2, 3): add it to them, or use another id"
    );
    assert_eq!(
        build(&|c| c.ask = Duration::ZERO),
        DurationError::OutOfRange { section: "stoller", name: "ask", value: Duration::ZERO }.into()
    );
    let stranger = build(&|c| c.id = id(9));
    assert!(matches!(stranger, Error::Members(MemberError::NotAMember { .. })));
    let damaged = Node::<Stoller>::new(config(2, &[1, 2, 3]), Some(u64::MAX), 0);
    assert_eq!(damaged.expect_err("refused"), Error::NoIncarnationLeft { node: id(2) });
}

/// A few nodes, the messages between them, which take one millisecond, a detector that reports a
/// failure after three, and what each node made durable.
struct Network {
    nodes: BTreeMap<NodeId, Node<Stoller>>,
    durable: BTreeMap<NodeId, u64>,
    in_flight: VecDeque<(Time, NodeId, NodeId, Message)>,
    members: Vec<u16>,
    now: Time,
    sent: Vec<Message>,
}

impl Network {
    fn of(members: &[u16]) -> Self {
        let mut network = Self {
            nodes: BTreeMap::new(),
            durable: BTreeMap::new(),
            in_flight: VecDeque::new(),
            members: members.to_vec(),
            now: Time::ZERO,
            sent: Vec::new(),
        };
        for &member in members {
            network.start(member);
        }
        network
    }

    fn start(&mut self, number: u16) {
        let durable = self.durable.get(&id(number)).copied();
        let node = Node::new(config(number, &self.members), durable, 0).expect("valid");
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
            match output {
                Output::Send { to: peer, message } => {
                    let arrival = self.now + Duration::from_millis(1);
                    self.in_flight.push_back((arrival, to, peer, message));
                    self.sent.push(message);
                }
                Output::Persist(incarnation) => {
                    self.durable.insert(to, incarnation);
                }
                Output::Event(_) | Output::WakeAt(_) => {}
            }
        }
    }

    /// A millisecond passes: what has arrived is handled, deadlines pass, and every third
    /// millisecond the detector looks around.
    fn tick(&mut self) {
        self.now = self.now + Duration::from_millis(1);
        while self.in_flight.front().is_some_and(|flight| flight.0 <= self.now) {
            let (_, from, to, message) = self.in_flight.pop_front().expect("seen");
            self.handle(to, Input::Receive { from, message });
        }
        let up: Vec<NodeId> = self.nodes.keys().copied().collect();
        for &node in &up {
            self.handle(node, Input::Wake);
            if self.now.since(Time::ZERO).as_millis().is_multiple_of(3) {
                let watched: Vec<_> = self.nodes[&node].watched().collect();
                for failed in watched.into_iter().filter(|id| !up.contains(id)) {
                    self.handle(node, Input::Suspect(failed));
                }
            }
            let leaders = self.nodes.values().filter(|n| n.status().role == Role::Leader);
            assert!(leaders.count() <= 1, "two leaders");
        }
    }

    fn run(&mut self, milliseconds: u64) {
        (0..milliseconds).for_each(|_| self.tick());
    }

    fn leaders(&self) -> Vec<Option<u16>> {
        self.nodes.values().map(|node| node.status().leader.map(NodeId::get)).collect()
    }

    /// How many of the three messages of an election were sent since this was asked last.
    fn election_messages(&mut self) -> usize {
        let kinds = |m: &Message| matches!(m, Message::Halt(_) | Message::Ack(_) | Message::Ldr(_));
        std::mem::take(&mut self.sent).iter().filter(|m| kinds(m)).count()
    }
}

#[test]
fn four_nodes_agree_on_the_highest_through_crashes_and_recoveries_with_never_two_leaders() {
    let mut network = Network::of(&[1, 2, 3, 4]);
    network.run(50);
    assert_eq!(network.leaders(), [Some(4); 4]);
    assert_eq!(network.election_messages(), 9, "3(n - 1)");
    network.crash(4);
    network.run(50);
    assert_eq!(network.leaders(), [Some(3); 3]);
    assert_eq!(network.election_messages(), 6, "3(n - 1) among the three that are left");
    network.start(4);
    network.run(50);
    assert_eq!(network.leaders(), [Some(4); 4]);
    network.crash(2);
    network.run(1);
    network.start(2); // before the detector looked
    network.run(300);
    assert_eq!(network.leaders(), [Some(4); 4], "the leader asked, and 2 said no");
}

#[test]
fn a_false_suspicion_is_healed_by_the_leaders_question() {
    let mut network = Network::of(&[1, 2, 3]);
    network.run(50);
    network.handle(id(1), Input::Suspect(id(3)));
    assert_eq!(network.leaders(), [None, Some(3), Some(3)]);
    network.run(300);
    assert_eq!(network.leaders(), [Some(3); 3]);
}

#[test]
fn who_gave_way_has_nothing_to_ask() {
    let three = leading();
    assert_eq!(three.0.armed().collect::<Vec<_>>(), [(Timer::Ask, ms(101))]);
    let mut three = three;
    three.hears(4, Message::Halt(elid(4, 2, 0)));
    assert_eq!(three.0.armed().count(), 0);
}

//! Stories: what happens to one node, line by line, and to three of them on virtual time.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Config, Durable, GroupNumber, Invitation, Message, Roster, Timing};
use crate::protocol::{
    DurationError, Input, MemberError, Members, Node, NodeId, Output, Reason, Role, SettingsError,
    Time,
};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

fn all() -> Members {
    Members::new((1..=4).map(id)).expect("valid")
}

fn config(node: u16) -> Config {
    Config { id: id(node), members: all(), timing: Timing::DEFAULT }
}

fn group(coordinator: u16, count: u64) -> GroupNumber {
    GroupNumber { coordinator: id(coordinator), count }
}

fn these(ids: &[u16]) -> Roster {
    Roster::of(&all(), ids.iter().map(|&number| id(number)))
}

/// One node, told what happens at which millisecond, and the outputs it gave, on one line.
struct Story(Node<Invitation>);

impl Story {
    fn of(number: u16) -> Self {
        Self(Node::new(config(number), None, 0).expect("valid"))
    }

    /// It has started at 0.
    fn begun(number: u16) -> Self {
        let mut story = Self::of(number);
        story.at(0, Input::Boot);
        story
    }

    fn at(&mut self, milliseconds: u64, input: Input<Message>) -> String {
        self.0.handle(ms(milliseconds), input);
        let outputs: Vec<_> = std::iter::from_fn(|| self.0.poll()).map(|o| line(&o)).collect();
        outputs.join(", ")
    }

    fn wakes(&mut self, milliseconds: u64) -> String {
        self.at(milliseconds, Input::Wake)
    }

    fn hears(&mut self, milliseconds: u64, from: u16, message: Message) -> String {
        self.at(milliseconds, Input::Receive { from: id(from), message })
    }
}

fn name(group: GroupNumber) -> String {
    format!("{}.{}", group.coordinator, group.count)
}

fn words(message: Message) -> String {
    match message {
        Message::AreYouCoordinator => "AreYouCoordinator".to_owned(),
        Message::IAm => "IAm".to_owned(),
        Message::Invitation(group) => format!("Invitation {}", name(group)),
        Message::Accept(group) => format!("Accept {}", name(group)),
        Message::Ready(group, task) => {
            let all = all();
            let task: Vec<_> = task.iter(&all).map(|id| id.to_string()).collect();
            format!("Ready {} for {}", name(group), task.join("+"))
        }
        Message::Done(group) => format!("Done {}", name(group)),
        Message::AreYouThere(group) => format!("AreYouThere {}", name(group)),
        Message::Here(group) => format!("Here {}", name(group)),
    }
}

fn line(output: &Output<Durable, Message>) -> String {
    match output {
        Output::Persist(Durable { groups }) => format!("durable: {groups}"),
        Output::Send { to, message } => format!("{} to {to}", words(*message)),
        Output::Event(event) => event.to_string(),
        Output::WakeAt(None) => "no timer".to_owned(),
        Output::WakeAt(Some(time)) => format!("wake at {}", time.since(Time::ZERO).as_millis()),
    }
}

#[test]
fn a_node_that_starts_is_a_group_of_its_own_and_looks_for_others_from_time_to_time() {
    let mut two = Story::of(2);
    assert_eq!(
        two.at(0, Input::Boot),
        "durable: 1, not_started becomes leader of 2: the node started, wake at 1000"
    );
    assert_eq!(two.wakes(999), "");
    assert_eq!(
        two.wakes(1000),
        "AreYouCoordinator to 1, AreYouCoordinator to 3, AreYouCoordinator to 4, wake at 1300"
    );
    assert_eq!(two.wakes(1300), "wake at 2300", "no other has answered");
    assert_eq!(two.hears(1400, 1, Message::IAm), "", "too late");
    assert_eq!(two.wakes(2300).split(", ").count(), 4, "it looks again");
}

#[test]
fn the_highest_coordinator_merges_at_once_and_hands_out_the_task() {
    let mut four = Story::begun(4);
    four.wakes(1000);
    assert_eq!(four.hears(1010, 1, Message::IAm), "1 leads as well");
    assert_eq!(four.hears(1020, 3, Message::IAm), "3 leads as well");
    assert_eq!(
        four.wakes(1300),
        "durable: 2, Invitation 4.2 to 1, Invitation 4.2 to 3, \
         leader becomes candidate: another coordinator was found, wake at 1750"
    );
    assert_eq!(four.hears(1310, 2, Message::AreYouCoordinator), "", "it is busy");
    assert_eq!(four.hears(1320, 1, Message::Accept(group(4, 2))), "");
    assert_eq!(
        four.hears(1330, 2, Message::Accept(group(4, 2))),
        "",
        "a member of 3's, by now 4's"
    );
    assert_eq!(four.hears(1340, 3, Message::Accept(group(4, 1))), "", "of another group");
    assert_eq!(four.hears(1350, 1, Message::AreYouThere(group(4, 2))), "Here 4.2 to 1");
    assert_eq!(
        four.wakes(1750),
        "Ready 4.2 for 1+2+4 to 1, Ready 4.2 for 1+2+4 to 2, wake at 2050"
    );
    assert_eq!(four.hears(1760, 3, Message::Accept(group(4, 2))), "", "the window is closed");
    assert_eq!(four.hears(1770, 2, Message::Done(group(4, 2))), "");
    assert_eq!(
        four.hears(1780, 1, Message::Done(group(4, 2))),
        "candidate becomes leader of 4: the group is formed, wake at 2780"
    );
    let said = four.hears(1790, 3, Message::AreYouCoordinator);
    assert_eq!(said, "IAm to 3, 3 leads as well");
}

#[test]
fn a_coordinator_leaves_a_higher_one_a_delay_for_each_rank() {
    let mut two = Story::begun(2);
    two.wakes(1000);
    two.hears(1010, 1, Message::IAm);
    two.hears(1010, 4, Message::IAm);
    assert_eq!(two.wakes(1300), "wake at 1700", "4 is two ranks above it");
    let said = two.hears(1310, 4, Message::AreYouCoordinator);
    assert_eq!(said, "IAm to 4, 4 leads as well", "it has said so before");
    assert_eq!(two.wakes(1700), "wake at 2100");
    assert_eq!(
        two.wakes(2100),
        "durable: 2, Invitation 2.2 to 1, Invitation 2.2 to 4, \
         leader becomes candidate: another coordinator was found, wake at 2550"
    );
    assert_eq!(two.hears(2110, 4, Message::Invitation(group(4, 2))), "", "it is busy");
    assert_eq!(
        two.wakes(2550),
        "candidate becomes leader of 2: the group is formed, wake at 3550",
        "none has come"
    );
}

#[test]
fn a_coordinator_that_is_invited_sends_its_members_after_it() {
    let mut three = Story::begun(3);
    three.wakes(1000);
    three.hears(1010, 1, Message::IAm);
    three.hears(1010, 2, Message::IAm);
    three.wakes(1300);
    three.hears(1310, 1, Message::Accept(group(3, 2)));
    three.hears(1310, 2, Message::Accept(group(3, 2)));
    three.wakes(1750);
    three.hears(1760, 1, Message::Done(group(3, 2)));
    three.hears(1760, 2, Message::Done(group(3, 2)));
    assert_eq!(
        three.hears(1800, 2, Message::Invitation(group(2, 5))),
        "Invitation 2.5 to 1, Accept 2.5 to 2, 2 leads as well, leader becomes waiting: a \
         coordinator invited the node, wake at 2300",
        "2 has come back meanwhile, and gets no invitation to its own group"
    );
    assert_eq!(three.hears(1810, 2, Message::Invitation(group(2, 5))), "", "once is enough");
    assert_eq!(
        three.hears(1820, 2, Message::Ready(group(2, 5), these(&[1, 2, 3]))),
        "Done 2.5 to 2, waiting becomes follower of 2: the group is formed"
    );
    assert_eq!(three.hears(1830, 1, Message::AreYouCoordinator), "", "it leads no longer");
}

#[test]
fn a_member_asks_after_a_silence_and_starts_anew_if_nobody_answers() {
    let mut one = Story::begun(1);
    one.hears(10, 3, Message::Invitation(group(3, 2)));
    one.hears(20, 3, Message::Ready(group(3, 2), these(&[1, 3])));
    assert_eq!(one.wakes(510), "AreYouThere 3.2 to 3, wake at 810");
    assert_eq!(one.hears(520, 3, Message::Here(group(3, 1))), "", "of a group long gone");
    assert_eq!(one.hears(530, 3, Message::Here(group(3, 2))), "wake at 1030");
    assert_eq!(one.hears(540, 3, Message::Here(group(3, 2))), "", "nothing was asked");
    assert_eq!(one.wakes(1030), "AreYouThere 3.2 to 3, wake at 1330");
    assert_eq!(
        one.wakes(1330),
        "durable: 2, follower becomes leader of 1: the leader was silent for too long, \
         wake at 2330"
    );
}

#[test]
fn a_coordinator_whose_member_does_not_take_the_task_starts_anew() {
    let mut two = Story::begun(2);
    two.wakes(1000);
    two.hears(1010, 1, Message::IAm);
    two.wakes(1300);
    two.hears(1310, 1, Message::Accept(group(2, 2)));
    two.wakes(1750);
    assert_eq!(
        two.wakes(2050),
        "durable: 3, candidate becomes leader of 2: a member did not answer, wake at 3050"
    );
    assert_eq!(two.hears(2060, 1, Message::AreYouThere(group(2, 2))), "", "that group is no more");
}

#[test]
fn a_late_task_changes_nothing_but_is_answered() {
    let mut one = Story::begun(1);
    let late = Message::Ready(group(3, 2), these(&[1, 3]));
    assert_eq!(one.hears(10, 3, late), "Done 3.2 to 3");
    one.hears(20, 3, Message::Invitation(group(3, 3)));
    assert_eq!(one.hears(30, 3, late), "Done 3.2 to 3", "not the group it waits for");
    assert_eq!(one.0.status().role, Role::Waiting);
}

#[test]
fn a_number_is_not_used_again_after_a_crash() {
    let mut again =
        Node::<Invitation>::new(config(2), Some(Durable { groups: 7 }), 0).expect("valid");
    again.handle(ms(0), Input::Boot);
    assert_eq!(again.poll(), Some(Output::Persist(Durable { groups: 8 })));
    assert_eq!(again.core().map(Invitation::group), Some(group(2, 8)));
    assert_eq!(again.core().map(Invitation::formed), Some(8));
}

#[test]
fn what_no_correct_node_says_is_ignored() {
    let wrong = format!("ignored 3: {}", super::WRONG_GROUP);
    for message in [
        Message::Invitation(group(2, 9)),
        Message::Invitation(group(9, 1)),
        Message::Accept(group(3, 1)),
        Message::Ready(group(4, 1), these(&[2, 4])),
        Message::Ready(group(3, 1), foreign()),
        Message::Done(group(3, 1)),
        Message::AreYouThere(group(1, 1)),
        Message::Here(group(2, 1)),
    ] {
        assert_eq!(Story::begun(2).hears(10, 3, message), wrong, "{message:?}");
    }
    let mut two = Story::begun(2);
    let stranger = format!("ignored 9: {}", Reason::UNKNOWN_SENDER);
    assert_eq!(two.hears(10, 9, Message::AreYouCoordinator), stranger);
    let own = format!("ignored 2: {}", Reason::OWN_ID);
    assert_eq!(two.hears(10, 2, Message::AreYouCoordinator), own);
}

/// A place that four members do not have.
fn foreign() -> Roster {
    let more = Members::new((1..=9).map(id)).expect("valid");
    Roster::of(&more, [id(9)])
}

#[test]
fn before_it_has_started_nothing_moves_it() {
    let mut two = Story::of(2);
    assert_eq!(two.hears(0, 3, Message::AreYouCoordinator), "");
    assert_eq!(two.hears(0, 3, Message::Invitation(group(3, 1))), "");
    assert_eq!(two.wakes(9_999), "");
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused() {
    let refused = |config| Node::<Invitation>::new(config, None, 0).expect_err("refused");
    let out_of_range = |error: SettingsError, key| match error {
        SettingsError::Duration(DurationError::OutOfRange { name, .. }) => name == key,
        _ => false,
    };
    let stranger = Config { id: id(9), ..config(1) };
    assert!(matches!(refused(stranger), SettingsError::Members(MemberError::NotAMember { .. })));
    let with = |timing| Config { timing, ..config(1) };
    let zero = Timing { delay: Duration::ZERO, ..Timing::DEFAULT };
    assert!(out_of_range(refused(with(zero)), "delay"));
    let ages = Timing { check: Duration::from_secs(24 * 60 * 60 + 1), ..Timing::DEFAULT };
    assert!(out_of_range(refused(with(ages)), "check"));
    let short = Timing { accept: Timing::DEFAULT.answer, ..Timing::DEFAULT };
    let error = refused(with(short));
    assert_eq!(
        error.to_string(),
        "invitation.accept (300ms) must be longer than invitation.answer (300ms): an invitation is \
         passed on once before it is accepted; try 450ms"
    );
    assert_eq!(Timing::default().validate(), Ok(()));
}

/// Some nodes on virtual time; every message takes 10 ms.
struct Cluster {
    now: u64,
    nodes: Vec<Option<Node<Invitation>>>,
    durable: Vec<Option<Durable>>,
    flight: VecDeque<(u64, NodeId, NodeId, Message)>,
}

impl Cluster {
    fn started(size: u16) -> Self {
        let mut cluster = Self {
            now: 0,
            nodes: vec![None; usize::from(size)],
            durable: vec![None; usize::from(size)],
            flight: VecDeque::new(),
        };
        (1..=size).for_each(|node| cluster.start(node));
        cluster
    }

    fn start(&mut self, node: u16) {
        let at = usize::from(node) - 1;
        let members = Members::new((1..=self.nodes.len()).map(|n| id(n as u16))).expect("valid");
        let config = Config { members, ..config(node) };
        self.nodes[at] = Some(Node::new(config, self.durable[at], 0).expect("valid"));
        self.feed(at, Input::Boot);
    }

    fn crash(&mut self, node: u16) {
        self.nodes[usize::from(node) - 1] = None;
    }

    fn feed(&mut self, at: usize, input: Input<Message>) {
        let Some(core) = &mut self.nodes[at] else { return };
        core.handle(ms(self.now), input);
        while let Some(output) = core.poll() {
            match output {
                Output::Persist(durable) => self.durable[at] = Some(durable),
                Output::Send { to, message } => {
                    let from = core.status().id;
                    self.flight.push_back((self.now + 10, from, to, message));
                }
                Output::Event(_) | Output::WakeAt(_) => {}
            }
        }
    }

    fn run(&mut self, milliseconds: u64) {
        for _ in 0..milliseconds {
            self.now += 1;
            while self.flight.front().is_some_and(|&(due, ..)| due <= self.now) {
                let Some((_, from, to, message)) = self.flight.pop_front() else { break };
                self.feed(usize::from(to.get()) - 1, Input::Receive { from, message });
            }
            (0..self.nodes.len()).for_each(|at| self.feed(at, Input::Wake));
        }
    }

    /// The leader of each node that is up, as that node believes.
    fn leaders(&self) -> Vec<Option<u16>> {
        let up = self.nodes.iter().flatten();
        up.map(|core| core.status().leader.map(NodeId::get)).collect()
    }
}

#[test]
fn nodes_that_start_together_become_one_group_and_stay_one() {
    let mut cluster = Cluster::started(4);
    assert_eq!(cluster.leaders(), [Some(1), Some(2), Some(3), Some(4)]);
    cluster.run(3_000);
    assert_eq!(cluster.leaders(), [Some(4); 4]);
    let formed = cluster.durable.clone();
    cluster.run(10_000);
    assert_eq!(cluster.leaders(), [Some(4); 4]);
    assert_eq!(cluster.durable, formed, "no group is formed without need");
}

#[test]
fn a_group_that_loses_its_coordinator_forms_anew_and_takes_it_back_later() {
    let mut cluster = Cluster::started(3);
    cluster.run(3_000);
    cluster.crash(3);
    cluster.run(5_000);
    assert_eq!(cluster.leaders(), [Some(2); 2]);
    cluster.start(3);
    cluster.run(5_000);
    let leaders = cluster.leaders();
    assert!(leaders[0].is_some() && leaders.iter().all(|&leader| leader == leaders[0]));
}

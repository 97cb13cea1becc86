//! Stories: what happens to one node, line by line, and what is wrong with a configuration.

use std::num::NonZeroU64;
use std::time::Duration;

use super::{Computed, Config, GarciaMolina, Message, Task, Timing};
use crate::protocol::{
    Input, MemberError, Members, Node, NodeId, Output, Reason, SettingsError, Time,
};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn ms(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

fn config(node: u16) -> Config {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    Config { id: id(node), members, timing: Timing::DEFAULT }
}

/// One node, told what happens at which millisecond, and the outputs it gave, on one line.
struct Story(Node<GarciaMolina>);

impl Story {
    /// The node has booted at 0 and waits its 200 milliseconds.
    fn of(number: u16) -> Self {
        let mut story = Self(Node::new(config(number), None, 0).expect("valid"));
        story.at(0, Input::Boot);
        story
    }

    /// The node follows 3 from 300 on.
    fn follower(number: u16) -> Self {
        let mut story = Self::of(number);
        story.hears(100, 3, Message::Halt);
        story.hears(200, 3, Message::NewCoordinator);
        story.hears(300, 3, Message::Ready(7));
        story
    }

    /// Node 2 leads node 1 from 700 on; 3 is down.
    fn leader() -> Self {
        let mut story = Self::of(2);
        story.at(200, Input::Wake);
        story.at(400, Input::Wake);
        story.hears(500, 1, Message::Halted);
        story.hears(600, 1, Message::Noted);
        story.hears(700, 1, Message::Started);
        story
    }

    fn core(&self) -> &GarciaMolina {
        self.0.core().expect("booted")
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

fn line(output: &Output<Computed, Message>) -> String {
    match output {
        Output::Persist(computed) => format!("keep {}", computed.count()),
        Output::Send { to, message } => format!("{message:?} to {to}"),
        Output::Event(event) => event.to_string(),
        Output::WakeAt(None) => "no timer".to_owned(),
        Output::WakeAt(Some(time)) => format!("wake at {}", time.since(Time::ZERO).as_millis()),
    }
}

#[test]
fn an_election_is_one_call_after_the_other() {
    let mut two = Story(Node::new(config(2), None, 0).expect("valid"));
    assert_eq!(
        two.at(0, Input::Boot),
        "not_started becomes candidate: the node started, wake at 200"
    );
    assert_eq!(two.at(200, Input::Wake), "AreYouThere to 3, wake at 400");
    assert_eq!(two.at(400, Input::Wake), "Halt to 1, wake at 600");
    assert_eq!(two.hears(500, 1, Message::Halted), "NewCoordinator to 1, wake at 700");
    assert_eq!(two.hears(600, 1, Message::Noted), "keep 1, Ready(1) to 1, wake at 800");
    assert_eq!(
        two.hears(700, 1, Message::Started),
        "candidate becomes leader of 2: no higher node answered in time, wake at 950"
    );
}

#[test]
fn a_node_that_is_answered_by_a_higher_one_waits_to_be_halted() {
    let mut one = Story::of(1);
    assert_eq!(one.at(200, Input::Wake), "AreYouThere to 2, wake at 400");
    assert_eq!(
        one.hears(250, 2, Message::Here),
        "candidate becomes waiting: a higher node answered, wake at 2250"
    );
    assert_eq!(one.hears(300, 3, Message::Halt), "Halted to 3, wake at 2300");
    assert_eq!(one.hears(400, 3, Message::NewCoordinator), "Noted to 3, wake at 1400");
    assert_eq!(
        one.hears(500, 3, Message::Ready(7)),
        "Started to 3, waiting becomes follower of 3: a higher node claims to lead, wake at 1500"
    );
    assert_eq!(one.core().task(), Some(Task { coordinator: id(3), number: 7 }));
}

#[test]
fn a_time_out_starts_another_election_if_nothing_came_of_a_higher_ones() {
    let mut one = Story::of(1);
    one.at(200, Input::Wake);
    one.hears(250, 2, Message::Here);
    assert_eq!(
        one.at(2250, Input::Wake),
        "AreYouThere to 2, waiting becomes candidate: no winner announced itself in time, \
         wake at 2450"
    );
}

#[test]
fn a_silent_coordinator_is_asked_before_it_is_given_up() {
    let mut two = Story::follower(2);
    assert_eq!(two.at(1300, Input::Wake), "AreYouThere to 3, wake at 1500");
    assert_eq!(two.hears(1400, 3, Message::Here), "wake at 2400", "it is there after all");
    assert_eq!(two.at(2400, Input::Wake), "AreYouThere to 3, wake at 2600");
    assert_eq!(two.at(2600, Input::Wake), "AreYouThere to 3, wake at 2800", "its own election");
    assert_eq!(
        two.at(2800, Input::Wake),
        "Halt to 1, follower becomes candidate: no higher node answered in time, wake at 3000"
    );
}

#[test]
fn every_call_of_the_coordinator_is_a_sign_of_it() {
    let mut two = Story::follower(2);
    assert_eq!(
        two.hears(900, 3, Message::AreYouNormal),
        "Normal(Task { coordinator: NodeId(3), number: 7 }) to 3, wake at 1900"
    );
    assert_eq!(
        two.hears(1000, 1, Message::AreYouThere),
        "Here to 1",
        "another's call is answered, and says nothing about the coordinator"
    );
}

#[test]
fn a_halted_node_stops_its_own_election_for_good() {
    let mut two = Story::of(2);
    two.at(200, Input::Wake);
    two.at(400, Input::Wake);
    assert_eq!(
        two.hears(450, 3, Message::Halt),
        "Halted to 3, candidate becomes waiting: a higher node is about to lead, wake at 2450"
    );
    assert_eq!(two.hears(500, 1, Message::Halted), "", "the answer to a call that is over");
    assert_eq!(two.at(600, Input::Wake), "", "its time-out is over as well");
    assert_eq!(two.core().halted(), []);
}

#[test]
fn only_the_last_that_halted_a_node_may_lead_it() {
    let mut one = Story::of(1);
    one.hears(10, 2, Message::Halt);
    one.hears(20, 3, Message::Halt);
    assert_eq!(one.hears(30, 2, Message::NewCoordinator), "Noted to 2");
    assert_eq!(one.hears(40, 2, Message::Ready(1)), "Started to 2");
    assert_eq!(
        one.hears(50, 3, Message::Ready(1)),
        "Started to 3",
        "it is not the coordinator yet"
    );
    assert_eq!(one.hears(60, 3, Message::NewCoordinator), "Noted to 3, wake at 1060");
    assert_eq!(one.core().coordinator(), Some(id(3)));
}

#[test]
fn a_reorganization_that_loses_a_node_begins_anew_and_computes_another_task() {
    let mut two = Story::of(2);
    two.at(200, Input::Wake);
    two.at(400, Input::Wake);
    two.hears(500, 1, Message::Halted);
    two.hears(600, 1, Message::Noted);
    assert_eq!(two.at(800, Input::Wake), "AreYouThere to 3, wake at 1000", "1 is gone");
    assert_eq!(two.at(1000, Input::Wake), "Halt to 1, wake at 1200");
    assert_eq!(
        two.at(1200, Input::Wake),
        "keep 2, candidate becomes leader of 2: no higher node answered in time, wake at 1450"
    );
}

#[test]
fn a_coordinator_checks_what_every_node_works_on() {
    let mut two = Story::leader();
    let (mine, other) =
        (Task { coordinator: id(2), number: 1 }, Task { coordinator: id(3), number: 1 });
    assert_eq!(two.at(950, Input::Wake), "AreYouNormal to 1, wake at 1150");
    assert_eq!(two.hears(1100, 1, Message::Normal(mine)), "AreYouNormal to 3, wake at 1300");
    assert_eq!(two.at(1300, Input::Wake), "wake at 1550", "who is down needs no check");
    two.at(1550, Input::Wake);
    assert_eq!(
        two.hears(1600, 1, Message::Normal(other)),
        "AreYouThere to 3, wake at 1800",
        "1 works, but not for this coordinator"
    );
    assert_eq!(
        two.at(1800, Input::Wake),
        "Halt to 1, leader becomes candidate: no higher node answered in time, wake at 2000"
    );
}

/// Two that lead ask each other, and answer each other.
#[test]
fn a_coordinator_at_work_hears_of_another_and_says_so_each_time() {
    let theirs = |coordinator| Message::Normal(Task { coordinator: id(coordinator), number: 1 });
    let mut two = Story::leader();
    for time in [710, 720] {
        assert_eq!(
            two.hears(time, 3, Message::AreYouNormal),
            "Normal(Task { coordinator: NodeId(2), number: 1 }) to 3, 3 leads as well"
        );
    }
    assert_eq!(two.hears(730, 1, theirs(1)), "", "it has not asked");
    two.at(950, Input::Wake);
    let said = two.hears(1_000, 1, theirs(1));
    assert_eq!(said, "AreYouThere to 3, 1 leads as well, wake at 1200");
    let mut two = Story::follower(2);
    assert!(!two.hears(400, 1, Message::AreYouNormal).contains("leads as well"), "it follows");
    let mut two = Story::leader();
    two.at(950, Input::Wake);
    let said = two.hears(1_000, 1, theirs(3));
    assert!(!said.contains("leads as well"), "whether 3 leads is not known: {said}");
}

#[test]
fn the_highest_needs_to_ask_no_other() {
    let mut three = Story::of(3);
    assert_eq!(three.at(200, Input::Wake), "Halt to 2, wake at 400");
    three.at(400, Input::Wake);
    three.at(600, Input::Wake);
    three.at(850, Input::Wake);
    assert_eq!(
        three.hears(900, 1, Message::NotNormal),
        "Halt to 2, leader becomes candidate: another node does not follow this one, wake at 1100"
    );
}

#[test]
fn a_task_is_never_handed_out_twice_whatever_is_forgotten() {
    let kept = Some(Computed::new(41));
    let mut three = Story(Node::new(config(3), kept, 0).expect("valid"));
    three.at(0, Input::Boot);
    three.at(200, Input::Wake);
    three.hears(300, 2, Message::Halted);
    three.at(500, Input::Wake);
    assert_eq!(three.hears(550, 2, Message::Noted), "keep 42, Ready(42) to 2, wake at 750");
}

#[test]
fn numbers_that_must_fit_a_narrow_field_begin_again() {
    let round = NonZeroU64::new(4).expect("not zero");
    let kept = Some(Computed::in_rounds(3, round));
    let mut one = Story(Node::new(config(1), kept, 0).expect("valid"));
    one.at(0, Input::Boot);
    one.at(200, Input::Wake);
    one.at(400, Input::Wake);
    assert!(one.at(600, Input::Wake).starts_with("keep 0, candidate becomes leader of 1"));
    assert_eq!(Computed::new(u64::MAX), Computed::new(0), "this is 584 years away");
}

#[test]
fn what_no_correct_node_sends_is_ignored() {
    let mut two = Story::follower(2);
    let ignored = |from: u16, cause: Reason| format!("ignored {from}: {cause}");
    assert_eq!(two.hears(400, 1, Message::Halt), ignored(1, Reason::WRONG_DIRECTION));
    assert_eq!(two.hears(400, 2, Message::AreYouThere), ignored(2, Reason::OWN_ID));
    assert_eq!(two.hears(400, 9, Message::Halt), ignored(9, Reason::UNKNOWN_SENDER));
    assert_eq!(two.hears(400, 1, Message::Started), "", "it has called no node");
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = config(2);
        change(&mut config);
        Node::<GarciaMolina>::new(config, None, 0).expect_err("refused").to_string()
    };
    assert_eq!(
        refused(&|c| c.timing.silence = c.timing.call),
        "garcia-molina.silence (200ms) must be longer than garcia-molina.call (200ms): an old \
         answer could pass \
         for a new one; try 800ms"
    );
    assert!(refused(&|c| c.timing.election = c.timing.call).contains("garcia-molina.election"));
    assert!(
        refused(&|c| c.timing.check = Duration::from_secs(1)).contains("garcia-molina.check (1s)")
    );
    assert!(refused(&|c| c.timing.call = Duration::ZERO).contains("garcia-molina.call is 0ns"));
    let stranger = Node::<GarciaMolina>::new(config(9), None, 0).expect_err("refused");
    assert!(
        matches!(stranger, SettingsError::Members(MemberError::NotAMember { .. })),
        "{stranger}"
    );
}

//! Stories: what happens to one node of three, and to three of them on virtual time.

mod changes;
mod founding;
mod handover;
mod observers;
mod orders;
mod promises;
mod requests;
mod returns;
mod rounds;
mod witnesses;

use crate::protocol::Birth;
use crate::protocol::quorum::Mark;
use std::time::Duration;

use super::{Config, Durable, Epoch, Message, Preemption, Quorum, Timer, Timing};
use crate::protocol::{Core, DurationError, Input, Members, Node, NodeId, Output, Role, Time};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Duration::from_millis(milliseconds)
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// A node that does not wait for others to vote.
fn founder() -> Option<Durable> {
    <Quorum as Core>::founder()
}

fn node(number: u16, durable: Option<Durable>) -> Node<Quorum> {
    node_with(number, durable, Timing::DEFAULT)
}

fn node_with(number: u16, durable: Option<Durable>, timing: Timing) -> Node<Quorum> {
    let members = Members::new([1, 2, 3].map(id)).expect("valid");
    let durable = durable.or_else(founder);
    Node::new(Config { id: id(number), members, timing }, durable, 0).expect("valid")
}

/// One node, told what happens at which millisecond, and the outputs it gave, on one line.
struct Story(Node<Quorum>);

impl Story {
    fn at(&mut self, milliseconds: u64, input: Input<Message>) -> String {
        self.0.handle(at(milliseconds), input);
        let outputs: Vec<_> = std::iter::from_fn(|| self.0.poll()).map(|o| line(&o)).collect();
        outputs.join(", ")
    }

    fn hears(&mut self, milliseconds: u64, from: u16, message: Message) -> String {
        self.at(milliseconds, Input::Receive { from: id(from), message })
    }

    /// Node 3, which leads epoch 1 from the 1310th millisecond on, with a lease until 2310.
    fn of_a_leader() -> Self {
        let mut three = Story(node(3, None));
        three.at(0, Input::Boot);
        three.at(1_200, Input::Wake);
        three.at(1_300, Input::Wake);
        three.hears(1_310, 2, Message::Support(epoch(1)));
        three.hears(1_320, 2, Message::Grant(epoch(1), Birth::FOUNDER));
        assert_eq!(three.0.leads(at(2_309)), Some(epoch(1)));
        assert_eq!(three.0.leads(at(2_310)), None, "its lease is over, whatever it believes");
        three
    }

    /// Node 2, which leads epoch 1 from the 1700th millisecond on.
    fn of_a_leader_in_the_middle() -> Self {
        let mut two = Story(node(2, None));
        two.at(0, Input::Boot);
        two.at(1_200, Input::Wake);
        two.at(1_400, Input::Wake);
        two.hears(1_410, 1, Message::Support(epoch(1)));
        two.at(1_700, Input::Wake);
        two.hears(1_700, 1, Message::Grant(epoch(1), Birth::FOUNDER));
        two
    }
}

fn line(output: &Output<Durable, Message>) -> String {
    match output {
        Output::Persist(Durable { epoch, granted_to: Some(to), .. }) => {
            format!("durable: {epoch} to {to}")
        }
        Output::Persist(Durable { epoch, granted_to: None, .. }) => format!("durable: {epoch}"),
        Output::Send { to, message } => format!("{} to {to}", said(message.clone())),
        Output::Event(event) => event.to_string(),
        Output::WakeAt(None) => "no timer".to_owned(),
        Output::WakeAt(Some(time)) => format!("wake at {}", time.since(Time::ZERO).as_millis()),
    }
}

fn said(message: Message) -> String {
    match message {
        Message::Canvass(epoch, _) => format!("Canvass {epoch}"),
        Message::Support(epoch) => format!("Support {epoch}"),
        Message::Outrank(epoch) => format!("Outrank {epoch}"),
        Message::Claim(epoch, _, _) => format!("Claim {epoch}"),
        Message::Grant(epoch, _) => format!("Grant {epoch}"),
        Message::Coordinator(epoch, round, _) => format!("Coordinator {epoch}.{round}"),
        Message::Ack(epoch, round, _) => format!("Ack {epoch}.{round}"),
        Message::Refuse(epoch, None) => format!("Refuse {epoch}"),
        Message::Refuse(epoch, Some(to)) => format!("Refuse {epoch} for {to}"),
        Message::Challenge(epoch, _) => format!("Challenge {epoch}"),
        Message::Yield(epoch, None) => format!("Yield {epoch}"),
        Message::Yield(epoch, Some(to)) => format!("Yield {epoch} to {to}"),
        Message::Entrust(epoch) => format!("Entrust {epoch}"),
        Message::Invite(epoch) => format!("Invite {epoch}"),
        Message::Meet(_, None, _) => "Meet".to_owned(),
        Message::Meet(_, Some(_), _) => "Meet again".to_owned(),
        Message::Lists(lists) => format!("Lists {}.{}", lists.mark.epoch, lists.mark.turn),
    }
}

/// What a node remembers that has always had the timing of these tests.
const PROMISE: Option<Duration> = Some(Timing::DEFAULT.promise);

fn mark(epoch_number: u64, turn: u64) -> Mark {
    Mark { epoch: epoch(epoch_number), turn }
}

fn epoch(number: u64) -> Epoch {
    Epoch::new(number)
}

fn granted(number: u64, to: u16) -> Option<Durable> {
    let (epoch, granted_to) = (epoch(number), Some(id(to)));
    Some(Durable { epoch, granted_to, promise: PROMISE, ..Durable::default() })
}

#[test]
fn the_highest_node_canvasses_claims_and_leads() {
    let mut three = Story(node(3, None));
    assert_eq!(
        three.at(0, Input::Boot),
        "not_started becomes follower: the node started, wake at 1200"
    );
    assert_eq!(three.at(1_200, Input::Wake), "wake at 1300", "the highest waits one skew");
    assert_eq!(
        three.at(1_300, Input::Wake),
        "Canvass 1 to 1, Canvass 1 to 2, \
         follower becomes candidate: no leader was heard in time, wake at 1600"
    );
    assert_eq!(
        three.hears(1_310, 2, Message::Support(epoch(1))),
        "durable: 1 to 3, Claim 1 to 1, Claim 1 to 2, wake at 1610"
    );
    assert_eq!(
        three.hears(1_320, 2, Message::Grant(epoch(1), Birth::FOUNDER)),
        "Coordinator 1.1 to 1, Coordinator 1.1 to 2, \
         candidate becomes leader of 3: a majority granted the epoch, wake at 1520"
    );
}

#[test]
fn a_lease_counts_from_before_the_round_that_a_majority_acknowledged() {
    let mut three = Story::of_a_leader();
    assert_eq!(
        three.at(1_520, Input::Wake),
        "Coordinator 1.2 to 1, Coordinator 1.2 to 2, wake at 1720"
    );
    three.hears(1_700, 1, Message::Ack(epoch(1), 2, Mark::FIRST));
    assert_eq!(three.0.leads(at(2_519)), Some(epoch(1)));
    assert_eq!(three.0.leads(at(2_520)), None, "not 2700, which is when the answer came");
}

#[test]
fn a_leader_that_wakes_up_late_says_nothing_as_leader() {
    let mut three = Story::of_a_leader();
    assert_eq!(
        three.at(60_000, Input::Wake),
        "leader becomes follower: no majority renewed the lease in time, wake at 60100"
    );
}

#[test]
fn a_grant_is_durable_and_binds() {
    let mut one = Story(node(1, None));
    one.at(0, Input::Boot);
    one.at(1_200, Input::Wake);
    assert_eq!(
        one.hears(1_250, 3, Message::Claim(epoch(1), Mark::FIRST, Birth::FOUNDER)),
        "durable: 1 to 3, Grant 1 to 3, wake at 2450"
    );
    assert_eq!(
        one.hears(1_260, 2, Message::Claim(epoch(2), Mark::FIRST, Birth::FOUNDER)),
        "Refuse 1 for 3 to 2"
    );
    assert_eq!(one.hears(1_270, 2, Message::Canvass(epoch(2), Mark::FIRST)), "Refuse 1 for 3 to 2");
    assert_eq!(
        one.hears(1_300, 3, Message::Coordinator(epoch(1), 1, Mark::FIRST)),
        "Ack 1.1 to 3, follower becomes follower of 3: the leader of the epoch was heard, \
         wake at 2500"
    );
    one.at(2_500, Input::Wake);
    assert_eq!(
        one.hears(2_501, 2, Message::Claim(epoch(2), Mark::FIRST, Birth::FOUNDER)),
        "durable: 2 to 2, Grant 2 to 2, wake at 3701"
    );
    assert_eq!(
        one.hears(2_502, 3, Message::Coordinator(epoch(1), 9, Mark::FIRST)),
        "Refuse 2 for 2 to 3"
    );
}

#[test]
fn a_late_question_of_the_leader_breaks_no_promise_to_it() {
    let mut three = Story(node(3, None));
    three.at(0, Input::Boot);
    three.at(1_200, Input::Wake);
    three.hears(1_210, 2, Message::Claim(epoch(1), Mark::FIRST, Birth::FOUNDER));
    assert_eq!(three.hears(1_220, 2, Message::Canvass(epoch(1), Mark::FIRST)), "Support 1 to 2");
    three.hears(1_230, 2, Message::Coordinator(epoch(1), 1, Mark::FIRST));
    assert_eq!(three.hears(1_240, 2, Message::Canvass(epoch(1), Mark::FIRST)), "Support 1 to 2");
    assert_eq!(three.0.status().leader, Some(id(2)), "it does not run while the promise lasts");
}

#[test]
fn a_restarted_voter_grants_nothing_while_a_promise_that_it_forgot_may_last() {
    let mut one = Story(node(1, granted(4, 3)));
    one.at(0, Input::Boot);
    assert_eq!(
        one.hears(1_199, 2, Message::Claim(epoch(5), Mark::FIRST, Birth::FOUNDER)),
        "Refuse 4 to 2"
    );
    assert_eq!(
        one.hears(1_200, 2, Message::Claim(epoch(5), Mark::FIRST, Birth::FOUNDER)),
        "durable: 5 to 2, Grant 5 to 2, wake at 2400"
    );
}

#[test]
fn an_epoch_is_granted_once_also_after_a_restart() {
    let mut one = Story(node(1, granted(4, 3)));
    one.at(0, Input::Boot);
    one.at(1_200, Input::Wake);
    assert_eq!(
        one.hears(1_210, 2, Message::Claim(epoch(4), Mark::FIRST, Birth::FOUNDER)),
        "Refuse 4 to 2"
    );
    assert_eq!(
        one.hears(1_220, 3, Message::Claim(epoch(4), Mark::FIRST, Birth::FOUNDER)),
        "Grant 4 to 3, wake at 2420"
    );
}

#[test]
fn a_higher_node_that_is_asked_runs_itself() {
    let mut two = Story(node(2, None));
    two.at(0, Input::Boot);
    two.at(1_200, Input::Wake);
    assert_eq!(
        two.hears(1_210, 1, Message::Canvass(epoch(1), Mark::FIRST)),
        "Outrank 1 to 1, Canvass 1 to 1, Canvass 1 to 3, \
         follower becomes candidate: a lower node asked for support, wake at 1510"
    );
    let mut one = Story(node(1, None));
    one.at(0, Input::Boot);
    one.at(1_200, Input::Wake);
    one.at(1_500, Input::Wake);
    assert_eq!(
        one.hears(1_510, 2, Message::Outrank(epoch(1))),
        "candidate becomes waiting: a higher node runs itself, wake at 2410"
    );
}

#[test]
fn a_node_without_a_majority_supports_lower_ones_for_a_while() {
    let mut three = Story(node(3, None));
    three.at(0, Input::Boot);
    three.at(1_200, Input::Wake);
    three.at(1_300, Input::Wake);
    assert_eq!(
        three.at(1_600, Input::Wake),
        "candidate becomes follower: no majority answered in time, wake at 2200"
    );
    assert_eq!(three.hears(1_700, 1, Message::Canvass(epoch(1), Mark::FIRST)), "Support 1 to 1");
}

#[test]
fn a_higher_epoch_deposes() {
    let mut three = Story::of_a_leader();
    assert_eq!(
        three.hears(1_400, 1, Message::Refuse(epoch(7), Some(id(2)))),
        "durable: 7, leader becomes follower: there is a higher epoch, wake at 1500"
    );
}

#[test]
fn a_promise_that_a_lease_may_outlast_is_refused_with_the_numbers() {
    let timing = Timing { promise: ms(1_010), ..Timing::DEFAULT };
    let Err(DurationError::Conflict(conflict)) = timing.validate() else {
        panic!("{timing:?} is refused")
    };
    let text = conflict.to_string();
    for part in ["quorum.promise", "1.01s", "quorum.lease", "1s", "try 1.02020202"] {
        assert!(text.contains(part), "{part} is missing in: {text}");
    }
    let enough = Timing { promise: conflict.remedy, ..timing };
    assert_eq!(enough.validate(), Ok(()));
    let clocks = Timing { drift_ppm: 1_000_000, ..Timing::DEFAULT };
    assert!(clocks.validate().is_err(), "no promise is long enough for such clocks");
}

/// Messages in flight, with the time at which they arrive.
type Flights = Vec<(Time, NodeId, NodeId, Message)>;

/// Three nodes on virtual time, until `end`; a message takes ten milliseconds. What a crashed node
/// is sent is lost.
fn run(nodes: &mut [Option<Node<Quorum>>; 3], flights: &mut Flights, from: u64, end: u64) {
    for now in (from..end).map(at) {
        let (due, later): (Flights, _) = flights.drain(..).partition(|flight| flight.0 <= now);
        *flights = later;
        let inputs =
            due.into_iter().map(|(_, from, to, message)| (to, Input::Receive { from, message }));
        let wakes = (1..=3).map(|number| (id(number), Input::Wake));
        for (to, input) in inputs.chain(wakes).collect::<Vec<_>>() {
            let Some(node) = &mut nodes[usize::from(to.get()) - 1] else { continue };
            node.handle(now, input);
            while let Some(output) = node.poll() {
                if let Output::Send { to: other, message } = output {
                    flights.push((now + ms(10), to, other, message));
                }
            }
        }
        let leaders = nodes.iter().flatten().filter(|node| node.leads(now).is_some());
        assert!(leaders.count() <= 1, "two leases at {now:?}");
    }
}

#[test]
fn three_nodes_replace_their_leader_within_the_promise_and_the_election() {
    let mut nodes = [1, 2, 3].map(|number| Some(node(number, None)));
    for node in nodes.iter_mut().flatten() {
        node.handle(Time::ZERO, Input::Boot);
        while node.poll().is_some() {}
    }
    let mut flights = Vec::new();
    run(&mut nodes, &mut flights, 1, 1_400);
    assert_eq!(nodes[2].as_ref().and_then(|three| three.leads(at(1_400))), Some(epoch(1)));
    nodes[2] = None;
    // What it said last arrives 10 ms later; then the promise, two skews, a canvass and a claim.
    run(&mut nodes, &mut flights, 1_400, 1_400 + 10 + 1_200 + 200 + 300 + 40);
    let two = nodes[1].as_ref().expect("it is up");
    assert_eq!(two.status().role, Role::Leader);
    assert_eq!(two.core().map(super::Quorum::epoch), Some(epoch(2)));
}

/// What waits for nodes that are gone may end early, and a promise never does.
#[test]
fn a_candidate_with_a_majority_waits_for_higher_nodes_only() {
    let mut two = Story(node(2, None));
    let waits = |two: &Story| two.0.waits_for();
    two.at(0, Input::Boot);
    assert_eq!(waits(&two), None, "for what it may have promised");
    two.at(1_200, Input::Wake);
    assert_eq!(waits(&two), None, "for the promises of others to end");
    two.at(1_400, Input::Wake);
    assert_eq!(waits(&two), None, "for a majority");
    two.hears(1_410, 1, Message::Support(epoch(1)));
    assert_eq!(waits(&two), Some((Timer::Election, vec![id(3)])));
    two.hears(1_420, 3, Message::Outrank(epoch(1)));
    assert_eq!(waits(&two), None, "for the time that the higher one has");
    two.hears(1_430, 3, Message::Coordinator(epoch(1), 0, Mark::FIRST));
    assert_eq!(waits(&two), None, "for its promise to end, whatever became of the leader");
    let mut one = Story(node(1, None));
    one.at(0, Input::Boot);
    one.at(1_200, Input::Wake);
    one.at(1_500, Input::Wake);
    one.hears(1_510, 3, Message::Support(epoch(1)));
    assert_eq!(waits(&one), Some((Timer::Election, vec![id(2)])), "3 has answered");
}

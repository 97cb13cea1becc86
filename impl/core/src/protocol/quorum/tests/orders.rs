//! Several elections of the same members: in each, another member comes first.

use super::*;
use crate::protocol::Birth;
use crate::protocol::quorum::Mark;

/// Three nodes of the election with this number, which have started.
fn started(election: usize) -> [Option<Node<Quorum>>; 3] {
    let members = Members::new([1, 2, 3].map(id)).expect("valid").for_election(election);
    [1, 2, 3].map(|number| {
        let config = Config { id: id(number), members: members.clone(), timing: Timing::DEFAULT };
        let mut node = Node::new(config, founder(), 0).expect("valid");
        node.handle(Time::ZERO, Input::Boot);
        while node.poll().is_some() {}
        Some(node)
    })
}

/// The node that leads then.
fn leader(nodes: &[Option<Node<Quorum>>; 3], now: u64) -> Option<NodeId> {
    let leads = |node: &&Node<Quorum>| node.leads(at(now)).is_some();
    nodes.iter().flatten().find(leads).map(|node| node.status().id)
}

#[test]
fn in_each_election_the_member_leads_that_comes_first_and_after_it_the_second() {
    let orders = [[3, 2], [2, 3], [1, 3], [3, 1], [2, 1], [1, 2]];
    for (election, [first, second]) in orders.into_iter().enumerate() {
        let (mut nodes, mut flights) = (started(election), Vec::new());
        run(&mut nodes, &mut flights, 1, 1_400);
        assert_eq!(leader(&nodes, 1_400), Some(id(first)), "{election}");
        nodes[usize::from(first) - 1] = None;
        let end = 1_400 + 10 + 1_200 + 200 + 300 + 40;
        run(&mut nodes, &mut flights, 1_400, end);
        assert_eq!(leader(&nodes, end), Some(id(second)), "{election}");
    }
}

#[test]
fn a_leader_makes_way_for_the_member_that_comes_before_it_and_for_no_other() {
    let members = Members::new([1, 2, 3].map(id)).expect("valid").for_election(1);
    let timing = Timing { preemption: Preemption::AtOnce, ..Timing::DEFAULT };
    for (number, challenges) in [(2, true), (1, false)] {
        let config = Config { id: id(number), members: members.clone(), timing };
        let mut node = Story(Node::new(config, founder(), 0).expect("valid"));
        node.at(0, Input::Boot);
        node.at(1_200, Input::Wake);
        let told = node.hears(1_250, 3, Message::Coordinator(epoch(1), 1, Mark::FIRST));
        assert_eq!(told.contains("Challenge"), challenges, "{number}: {told}");
    }
}

#[test]
fn the_next_leader_is_the_follower_that_comes_first() {
    let members = Members::new([1, 2, 3].map(id)).expect("valid").for_election(2);
    let config = Config { id: id(1), members, timing: Timing::DEFAULT };
    let mut one = Story(Node::new(config, founder(), 0).expect("valid"));
    one.at(0, Input::Boot);
    one.at(1_200, Input::Wake);
    one.at(1_300, Input::Wake);
    one.hears(1_310, 2, Message::Support(epoch(1)));
    one.hears(1_320, 2, Message::Grant(epoch(1), Birth::FOUNDER));
    assert_eq!(one.0.successor(), None);
    one.hears(1_330, 2, Message::Ack(epoch(1), 1, Mark::FIRST));
    assert_eq!(one.0.successor(), Some(id(2)));
    one.hears(1_340, 3, Message::Ack(epoch(1), 1, Mark::FIRST));
    assert_eq!(one.0.successor(), Some(id(3)), "it comes after node 1, and before node 2");
}

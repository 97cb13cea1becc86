//! What a node without a leader says is the cause.

use super::*;
use crate::report::LONGEST_PROBLEM;

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// A member to which messages can go both ways.
fn reached(node: u16) -> MemberReport {
    MemberReport {
        node: id(node),
        address: format!("10.0.0.{node}:7000").parse().expect("an address"),
        observes: false,
        link: Link::Connected,
        problem: None,
        heard: true,
        priority: Some(100),
        fit: Some(true),
        error: None,
        error_ms: None,
        sent: 0,
        received: 0,
        dropped: 0,
    }
}

fn missing(node: u16, link: Link, error: &str) -> MemberReport {
    let error = Some(error.to_owned());
    MemberReport { link, heard: false, problem: error.clone(), error, ..reached(node) }
}

/// What a voter says that needs a majority, and may lead.
fn says(members: &[MemberReport]) -> String {
    says_with(None, members)
}

fn says_with(own: Option<Own>, members: &[MemberReport]) -> String {
    let time = Duration::from_millis(12_345);
    explain(&Situation { time, majority: true, observes: false, own, members })
}

#[test]
fn each_voter_that_cannot_be_reached_is_named_with_its_error() {
    let members = [
        missing(2, Link::Connecting, "Connection refused (os error 111)"),
        missing(3, Link::Refused, "it does not know the secret of this node"),
    ];
    assert_eq!(
        says(&members),
        "no leader for 12s: 1 of 3 voters can be reached, this node included, and 2 are needed; \
         node 2 (10.0.0.2:7000): Connection refused (os error 111); \
         node 3 (10.0.0.3:7000): it does not know the secret of this node; \
         if they are gone for good, see `bellwether recover --help`"
    );
}

#[test]
fn a_member_that_has_not_answered_or_does_not_call_is_not_reached() {
    let silent = MemberReport { error: None, ..missing(2, Link::Connecting, "") };
    // There was another error before: it is connected now.
    let deaf = MemberReport { link: Link::Connected, ..missing(3, Link::Connecting, "refused") };
    let said = says(&[silent, deaf]);
    assert!(said.contains("1 of 3 voters"), "{said}");
    assert!(said.contains("node 2 (10.0.0.2:7000): no answer yet"), "{said}");
    assert!(said.contains("node 3 (10.0.0.3:7000): it has no connection to this node"), "{said}");
}

#[test]
fn if_a_majority_is_reached_the_cause_is_with_the_nodes() {
    let all = [reached(2), reached(3)];
    let said = says(&all);
    let asks = "ask each for its status";
    assert!(said.contains("3 of 3 voters") && !said.contains("needed"), "{said}");
    assert!(said.contains("`freeze`, `before_leading`") && said.ends_with(asks), "{said}");
    let said = says(&[reached(2), missing(3, Link::Connecting, "gone")]);
    assert!(said.contains("2 of 3 voters") && said.contains(asks), "{said}");
    assert!(said.ends_with("node 3 (10.0.0.3:7000): gone"), "{said}");
    let said = says(&[missing(2, Link::Connecting, "gone"), missing(3, Link::Connecting, "gone")]);
    assert!(!said.contains(asks), "they cannot be reached: {said}");
}

#[test]
fn what_keeps_the_node_itself_from_leading_is_said() {
    let minute = Duration::from_secs(60);
    let unfit = |unfit| own_cause(None, None, Some(unfit));
    for (own, words) in [
        (
            unfit(Unfit::Unhealthy("the disk is full".to_owned())),
            "not fit to lead: the disk is full",
        ),
        (unfit(Unfit::Asked(minute)), "(`freeze`, `step-down`), and does not run for another 1m"),
        (
            unfit(Unfit::Unprepared(Some(minute))),
            "`before_leading` has failed, and does not run for another 1m",
        ),
        (unfit(Unfit::Unprepared(None)), "cannot step down"),
        (own_cause(Some(Reason::PREPARING), None, None), "`before_leading` has not ended"),
    ] {
        let said = says_with(own, &[reached(2), reached(3)]);
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(own_cause(Some(Reason::BOOTED), None, None), None);
}

#[test]
fn a_node_without_a_vote_says_what_lets_it_vote() {
    let ids = |nodes: &[u16]| nodes.iter().map(|&node| id(node)).collect();
    let to_found = |silent: &[u16], founders: &[u16]| WaitsToVote::ToFound {
        silent: ids(silent),
        founders: ids(founders),
    };
    let members = [reached(2), missing(3, Link::Connecting, "refused")];
    let says = |waits| says_with(own_cause(None, Some(waits), None), &members);
    assert_eq!(
        says(to_found(&[3], &[])),
        "no leader for 12s: 1 of 3 voters can be reached, and 2 are needed; this node starts \
         without a state and does not vote before each other voter has met it: start node 3; or, \
         if this cluster is new and they are gone for good, start each node with `--new-cluster`; \
         node 3 (10.0.0.3:7000): refused"
    );
    let said = says(to_found(&[2, 3], &[]));
    assert!(said.contains("start nodes 2, 3; or"), "{said}");
    for waits in [to_found(&[3], &[2]), to_found(&[], &[2])] {
        let said = says(waits);
        assert!(said.contains("node 2 voted before, so a leader has to let it in"), "{said}");
        assert!(said.contains("`bellwether recover --help`"), "{said}");
    }
    let said = says(WaitsToVote::ToBeLetIn);
    assert!(said.contains("no vote before a leader lets it in"), "{said}");
    let unfit = Some(Unfit::Unhealthy("the disk is full".to_owned()));
    let own = own_cause(None, Some(WaitsToVote::ToBeLetIn), unfit);
    assert_eq!(own, Some(Own::Waits(WaitsToVote::ToBeLetIn)));
    let all = says_with(own, &[reached(2), reached(3)]);
    assert!(all.contains("2 of 3 voters") && !all.contains("ask each"), "{all}");
}

#[test]
fn observers_are_in_no_majority_and_only_some_protocols_need_one() {
    let gone = [2, 3].map(|node| missing(node, Link::Connecting, "gone"));
    let observer = MemberReport { observes: true, ..missing(9, Link::Connecting, "away") };
    let said = says(&[gone[0].clone(), observer]);
    assert!(said.contains("1 of 2 voters") && !said.contains("node 9"), "{said}");
    let time = Duration::from_millis(250);
    let situation = Situation { time, majority: true, observes: true, own: None, members: &gone };
    let said = explain(&situation);
    let begin = "no leader for 250ms: 0 of 2 voters can be reached, and 2 are needed; node 2";
    assert!(said.starts_with(begin), "{said}");
    let said = explain(&Situation { majority: false, ..situation });
    assert!(said.contains("0 of 2 voters") && !said.contains("needed"), "{said}");
}

#[test]
fn of_many_members_some_are_named_and_it_is_never_too_long() {
    let error = "e".repeat(160);
    let host = "h".repeat(255 - ":65535".len());
    let address = format!("{host}:65535");
    let member = |node| MemberReport {
        node: id(u16::MAX - node),
        address: address.parse().expect("an address"),
        ..missing(1, Link::Refused, &error)
    };
    let mut members: Vec<_> = (0..100).map(member).collect();
    members.extend((0..154).map(|node| MemberReport { node: id(1 + node), ..reached(1) }));
    let silent = members.iter().map(|member| member.node).collect();
    let waits = WaitsToVote::ToFound { silent, founders: BTreeSet::new() };
    let asked = Own::Unfit(Unfit::Asked(Duration::from_millis(u64::MAX)));
    for own in [asked, Own::Waits(waits)] {
        let said = says_with(Some(own), &members);
        assert_eq!(said.matches(&error).count(), NAMED);
        assert!(said.ends_with("; and 96 more"), "{said}");
        assert!(said.len() <= LONGEST_PROBLEM, "{}", said.len());
    }
}

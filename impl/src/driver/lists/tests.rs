//! Which voters must be there before a list of members is asked for, and what a node is told of its
//! vote.

use super::*;
use crate::protocol::Birth;
use crate::protocol::quorum::Quorum;

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// Node 1 of so many.
fn config(nodes: u16) -> Config<Quorum> {
    let members = (1..=nodes).map(|node| (node, format!("127.0.0.1:{node}")));
    Config::new("lists", 1, members).expect("valid")
}

/// Of node 1 of so many, and the end of its loop.
fn ends(nodes: u16) -> (OwnLists, LoopEnd) {
    let config = config(nodes);
    OwnLists::new(&config, Lists::first(config.members().clone()))
}

/// The same. The other end is gone.
fn own(nodes: u16) -> OwnLists {
    ends(nodes).0
}

/// Of a node that is alone.
impl Default for OwnLists {
    fn default() -> Self {
        own(1)
    }
}

/// Which voters are missing when node 1 leads these voters, and is asked for a change.
fn missing_of(voters: &Members, change: &MemberChange, heard: &[u16]) -> Vec<u16> {
    let list = MemberList::from(voters).changed(change).expect("it makes sense");
    let missing = missing(id(1), (voters, &list), |id| heard.contains(&id.get()));
    missing.into_keys().map(NodeId::get).collect()
}

fn add(node: u16) -> MemberChange {
    MemberChange::Add(id(node), format!("127.0.0.1:{node}").parse().expect("an address"))
}

#[test]
fn a_vote_is_taken_only_if_a_majority_of_the_rest_is_there() {
    let [three, four] = [3, 4].map(|nodes| config(nodes).members().clone());
    for heard in [&[2, 3][..], &[2], &[]] {
        assert!(missing_of(&three, &add(4), heard).is_empty(), "it is counted later");
    }
    assert_eq!(missing_of(&four, &MemberChange::Remove(id(2)), &[2]), [3, 4]);
    assert!(missing_of(&three, &MemberChange::Remove(id(3)), &[2]).is_empty());
    assert_eq!(missing_of(&three, &MemberChange::Remove(id(2)), &[2]), [3]);
    assert_eq!(missing_of(&three, &MemberChange::Observe(id(2)), &[2]), [3]);
}

#[test]
fn those_that_are_not_let_in_yet_are_not_missing() {
    let three = config(3).members().clone();
    let list = MemberList::from(&three).changed(&add(4)).expect("valid");
    let list = config(3).with_list(list).expect("valid").members().clone().after(&three);
    assert_eq!(list.awaited(), [id(4)]);
    assert!(missing_of(&list, &MemberChange::Remove(id(4)), &[]).is_empty());
    assert!(missing_of(&list, &MemberChange::Remove(id(3)), &[2]).is_empty());
    assert!(missing_of(&list, &add(5), &[]).is_empty());
}

/// A change waits until a voter is let in, and is decided if the leader lets in another at once.
#[tokio::test(start_paused = true)]
async fn a_voter_that_is_let_in_is_no_change_of_its_own() {
    let (own, end) = ends(3);
    let before = own.now();
    let next = before.decided.clone().letting_in(id(3), Birth::random(5)).numbered(2);
    assert!(is_same_change(&next, &before.decided));
    let without = MemberList::from(&before.decided).changed(&MemberChange::Remove(id(3)));
    let without = own.check.as_ref().expect("it can")(&without.expect("valid")).expect("valid");
    assert!(!is_same_change(&without, &before.decided));

    end.tell(Lists { pending: Some(without), ..before.clone() });
    let started = tokio::time::Instant::now();
    assert!(own.settled().await.pending.is_some(), "an operator has asked for it");
    assert_eq!(started.elapsed(), Duration::ZERO);
    end.tell(Lists { pending: Some(next), ..before.clone() });
    let decides = async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        end.tell(before.clone());
    };
    let (settled, ()) = tokio::join!(own.settled(), decides);
    assert_eq!(settled, before);
}

#[test]
fn the_beginning_and_the_end_of_a_wait_for_a_vote_are_told_once() {
    let (own, end) = ends(3);
    let waits = |silent: &[u16]| {
        let silent = silent.iter().map(|&node| id(node)).collect();
        Some(WaitsToVote::ToFound { silent, founders: [].into() })
    };
    assert_eq!(end.tell_waits(None), None);
    assert_eq!(end.tell_waits(waits(&[2, 3])), Some(VoteChange::Waits));
    assert_eq!(end.tell_waits(waits(&[2, 3])), None);
    assert_eq!(end.tell_waits(waits(&[3])), None);
    assert_eq!(own.waits(), waits(&[3]));
    assert_eq!(own.problem_of_vote(VOTES_WITHIN), None, "it has just begun");
    assert_eq!(end.tell_waits(None), Some(VoteChange::Ends));
    assert_eq!((own.waits(), end.tell_waits(None)), (None, None));

    let long_ago = Instant::now().checked_sub(VOTES_WITHIN).expect("the machine runs for longer");
    end.waits.send_replace(Some((WaitsToVote::ToBeLetIn, long_ago)));
    assert_eq!(own.problem_of_vote(Duration::ZERO), None, "there is a leader for a moment only");
    assert!(own.problem_of_vote(VOTES_WITHIN).is_some_and(|text| text.contains("has no vote")));
}

#[test]
fn with_groups_the_file_says_where_the_members_are() {
    let config = config(2).with_groups(["north"]).expect("valid");
    let (own, end) = OwnLists::new(&config, Lists::first(config.members().clone()));
    assert!(end.is_by_file() && own.check.is_none());
    end.tell(Lists::first(Members::new([id(1), id(2)]).expect("valid")));
    assert_eq!(own.now().decided.addresses(), config.members().addresses());
    assert!(!ends(2).1.is_by_file());
}

#[test]
fn a_node_that_is_in_neither_list_is_told_to_stop() {
    let (own, end) = ends(3);
    let mut known = own.now();
    assert_eq!(own.problem(id(3)), None);
    let next = MemberList::from(&known.decided).changed(&MemberChange::Remove(id(3)));
    let next = own.check.as_ref().expect("it can")(&next.expect("valid")).expect("valid");
    (known.decided, known.pending) = (next, None);
    end.tell(known);
    assert!(own.problem(id(3)).is_some_and(|text| text.contains("list 2 any more: stop it")));
}

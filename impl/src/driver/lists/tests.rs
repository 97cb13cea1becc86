//! Which voters must be there before a list of members is asked for.

use super::*;
use crate::config::Credentials;
use crate::protocol::quorum::Quorum;

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// Of node 1 of so many. The other end is gone.
fn own(nodes: u16) -> OwnLists {
    let members = (1..=nodes).map(|node| (node, format!("127.0.0.1:{node}")));
    let config = Config::<Quorum>::new("lists", 1, members).expect("valid");
    let known = Lists::first(config.members().clone());
    OwnLists::new(&config, known, &Current::new(Credentials::none())).0
}

/// Of a node that is alone.
impl Default for OwnLists {
    fn default() -> Self {
        own(1)
    }
}

async fn missing(nodes: u16, change: MemberChange, heard: &[u16]) -> Vec<u16> {
    let own = own(nodes);
    let list = MemberList::from(&own.now().decided).changed(&change).expect("it makes sense");
    let missing = own.missing(id(1), &list, |id| heard.contains(&id.get())).await;
    missing.into_keys().map(NodeId::get).collect()
}

/// No process listens at the addresses.
#[tokio::test]
async fn a_list_needs_a_majority_that_is_there() {
    let add = || MemberChange::Add(id(4), "127.0.0.1:4".parse().expect("an address"));
    assert!(missing(3, add(), &[2, 3]).await.is_empty(), "three of four are there");
    assert_eq!(missing(3, add(), &[2]).await, [4], "with it there would be three");
    assert_eq!(missing(4, MemberChange::Remove(id(2)), &[2]).await, [3, 4]);
    assert!(missing(3, MemberChange::Remove(id(3)), &[2]).await.is_empty());
    assert_eq!(missing(3, MemberChange::Remove(id(2)), &[2]).await, [3]);
}

#[test]
fn a_node_that_is_in_neither_list_is_told_to_stop() {
    let (mut known, own) = (own(3).now(), own(3));
    assert_eq!(own.problem(id(3)), None);
    let next = MemberList::from(&known.decided).changed(&MemberChange::Remove(id(3)));
    let next = own.check.as_ref().expect("it can")(&next.expect("valid")).expect("valid");
    (known.decided, known.pending) = (next, None);
    let (end, told, _) = channel(own.now());
    let own = OwnLists { known: told, ..own };
    end.tell(known);
    assert!(own.problem(id(3)).is_some_and(|text| text.contains("list 2 any more: stop it")));
}

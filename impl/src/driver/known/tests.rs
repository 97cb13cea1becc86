//! What a node starts with: as it was, as an operator says, or as its file says.

use super::*;
use crate::protocol::quorum::{Durable, Quorum};
use crate::protocol::{Birth, Core as _, Epoch, Members, NodeId, Output};

fn id(number: u16) -> NodeId {
    NodeId::new(number).expect("not zero")
}

/// Node 1 of so many, which are reached at ports from this one on.
fn config(nodes: u16, port: u16) -> Config<Quorum> {
    let members = (1..=nodes).map(|node| (node, format!("127.0.0.1:{}", port + node)));
    Config::new("known", 1, members).expect("valid")
}

/// What a node saves that has started without a state.
fn saved(config: &Config<Quorum>) -> Durable {
    let mut node = start(config, 0, None).expect("valid");
    node.handle(Time::ZERO, Input::Boot);
    let saved = std::iter::from_fn(|| node.poll()).find_map(|output| match output {
        Output::Persist(state) => Some(state),
        _ => None,
    });
    saved.expect("it has a birth")
}

#[test]
fn only_a_node_that_has_never_voted_founds_a_new_cluster() {
    let config = config(3, 7_000);
    let states = || vec![Some(Durable::default())];
    let kept = of_new_cluster(&config, states()).expect("no operator says so");
    assert_eq!(kept, states());
    let config = config.with_new_cluster().expect("they wait");
    let refused = of_new_cluster(&config, states()).expect_err("it is a founder").to_string();
    let expected = "node 1 has a state in its storage, so its cluster is not new: start it without \
                    --new-cluster";
    assert_eq!(refused, expected);

    let waits = saved(&config);
    assert_ne!(waits.birth, Birth::FOUNDER);
    for state in [None, Some(waits.clone())] {
        let new = of_new_cluster(&config, vec![state]).expect("it has never voted");
        assert_eq!(new, [Quorum::founder()]);
    }
    let met = [(id(2), Birth::FOUNDER)].into();
    let forgets = Durable { met, ..waits };
    of_new_cluster(&config, vec![Some(forgets)]).expect_err("node 2 has voted before");
}

#[test]
fn of_many_groups_those_without_a_state_are_founded() {
    let config = config(2, 7_000).with_groups(["north", "south"]).expect("valid");
    let config = config.with_new_cluster().expect("they wait");
    let kept = Durable { epoch: Epoch::new(7), ..Durable::default() };
    let new = of_new_cluster(&config, vec![Some(kept.clone()), None]).expect("one is new");
    assert_eq!(new, [Some(kept.clone()), Quorum::founder()]);
    of_new_cluster(&config, vec![Some(kept.clone()), Some(kept)]).expect_err("none is");
}

#[test]
fn the_members_of_groups_are_those_of_the_file() {
    let config = config(3, 7_000).with_groups(["north"]).expect("valid");
    let members = |nodes: &[u16]| Members::new(nodes.iter().map(|&node| id(node))).expect("valid");
    let mark = Mark { epoch: Epoch::new(9), turn: 2 };
    let lists = |decided: Members| Lists { decided, pending: None, mark };
    let state = |lists| Some(Durable { lists: Some(lists), ..Durable::default() });
    let one = members(&[1]);
    let birth = Birth::random(5);
    let let_in = members(&[1, 2]).after(&one).letting_in(id(2), birth).numbered(4);
    let kept = by_file(&config, vec![state(lists(let_in)), None]);
    let [Some(Durable { lists: Some(kept), .. }), None] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((kept.mark, kept.decided.config_epoch()), (mark, 5));
    assert_eq!(kept.decided.voters(), [id(1), id(2)], "3 waits to be let in");
    assert_eq!((kept.decided.birth(id(2)), kept.decided.awaited()), (Some(birth), &[id(3)][..]));

    let same = vec![state(lists(members(&[1, 2, 3]).after(&one).numbered(4)))];
    assert_eq!(by_file(&config, same.clone()), same, "the roles are those of the file");
    let node = start(&config, 0, same[0].clone()).expect("valid");
    let known = of_group(&config, &node, &Lists::first(config.members().clone()));
    assert_eq!((known.mark, known.decided.addresses().len()), (mark, 3));
}

#[test]
fn addresses_may_be_corrected_in_the_file_until_a_list_is_decided() {
    let before = config(2, 7_000);
    let first = Durable { birth: Birth::FOUNDER, ..saved(&before) };
    let after = config(2, 8_000);
    let corrected = by_file(&after, vec![Some(first.clone())]);
    let lists = Lists::first(after.members().clone());
    assert_eq!(corrected, [Some(Durable { lists: Some(lists), ..first.clone() })]);
    let mark = Mark { epoch: Epoch::new(1), turn: 2 };
    let decided = first.lists.clone().map(|lists| Lists { mark, ..lists });
    let decided = vec![Some(Durable { lists: decided, ..first })];
    assert_eq!(by_file(&after, decided.clone()), decided);
}

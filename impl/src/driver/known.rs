//! What a node knows when it starts: what its groups have made durable, what an operator says of
//! that, and which list of members counts.

use std::collections::BTreeMap;

use super::commit::States;
use super::{JoinError, lists};
use crate::config::{self, Config, MemberList, Runnable};
use crate::protocol::quorum::{Lists, Mark, WaitsToVote};
use crate::protocol::{Input, Node, Time};

/// The states with which the nodes start. If an operator says that the cluster is new, a node
/// without a state votes all the same.
pub(super) fn of_new_cluster<C: Runnable>(
    config: &Config<C>,
    states: States<C::Durable>,
) -> Result<States<C::Durable>, JoinError> {
    if !config.is_new_cluster() {
        return Ok(states);
    }
    let mut founds = false;
    let mut new = Vec::with_capacity(states.len());
    for (number, state) in states.into_iter().enumerate() {
        let is_new = match &state {
            Some(state) => waits_to_found(config, number, state)?,
            None => true,
        };
        founds |= is_new;
        new.push(if is_new { C::founder() } else { state });
    }
    if founds {
        return Ok(new);
    }
    let path = config.directory().ok().flatten();
    let place = path.map(|path| path.display().to_string());
    let place = place.unwrap_or_else(|| "its storage".to_owned());
    Err(JoinError::NotNew { node: config.node(), place })
}

/// Whether a node with this state has never voted: it has no other than that it waits for all to
/// meet it.
fn waits_to_found<C: Runnable>(
    config: &Config<C>,
    number: usize,
    state: &C::Durable,
) -> Result<bool, JoinError> {
    let mut node = start(config, number, Some(state.clone()))?;
    node.handle(Time::ZERO, Input::Boot);
    let waits = node.core().and_then(|core| core.waits_to_vote(config.node()));
    Ok(matches!(waits, Some(WaitsToVote::ToFound { founders, .. }) if founders.is_empty()))
}

/// The node in the election with this number, with what it made durable before.
pub(super) fn start<C: Runnable>(
    config: &Config<C>,
    number: usize,
    state: Option<C::Durable>,
) -> Result<Node<C>, JoinError> {
    let node = Node::new(config.core_of(number)?, state, rand::random());
    let node = node.map_err(|error| config::Error::Contradiction(Box::new(error)))?;
    Ok(if config.trace().is_some() { node.recording() } else { node })
}

/// The states with which the nodes start, where the file counts. The members of groups are those of
/// the file, so a state that has others gets these. Without groups, addresses may be corrected in
/// the files until a list is decided.
pub(super) fn by_file<C: Runnable>(
    config: &Config<C>,
    states: States<C::Durable>,
) -> States<C::Durable> {
    let (file, is_grouped) = (config.members(), !config.groups().is_empty());
    let correct = |state: C::Durable| {
        let Some(kept) = C::durable_lists(&state) else { return state };
        let has_roles = kept.each().all(|list| list.has_roles_of(file));
        let lists = match (is_grouped, has_roles) {
            (true, false) => {
                let number = kept.latest().config_epoch().saturating_add(1);
                let members = file.clone().with_addresses(BTreeMap::new());
                let decided = members.after(&kept.decided).numbered(number);
                Lists { decided, pending: None, mark: kept.mark }
            }
            (false, true) if kept.mark == Mark::FIRST => Lists::first(file.clone()),
            _ => return state,
        };
        C::with_lists(state, lists)
    };
    states.into_iter().map(|state| state.map(correct)).collect()
}

/// The configuration with the list of members that counts, and the lists that the node knows: those
/// that it has made durable, or that of its file. A node that is no member any more has the
/// addresses of its file.
pub(super) fn with_lists<C: Runnable>(
    config: Config<C>,
    states: &[Option<C::Durable>],
) -> Result<(Config<C>, Lists), JoinError> {
    let state = states.first().and_then(Option::as_ref).filter(|_| config.groups().is_empty());
    let file = config.members();
    let counts = |known: &&Lists| known.mark != Mark::FIRST || !known.decided.has_roles_of(file);
    let Some(known) = state.and_then(C::durable_lists).filter(counts).cloned() else {
        let known = Lists::first(file.clone());
        return Ok((config, known));
    };
    let (node, file) = (config.node(), config.list());
    let latest = MemberList::from(known.latest());
    let list = MemberList::from(&known.decided);
    let MemberList { config_epoch, awaited, .. } = list.clone();
    if list != (MemberList { config_epoch, awaited, ..file }) {
        tracing::info!(
            node = node.get(),
            config_epoch,
            "the members are those in the directory, and no longer those of the file: change them \
             with `bellwether members`; the file may have: {list}"
        );
    }
    if latest.members.contains_key(&node) {
        return Ok((config.with_list(latest)?, known));
    }
    if !known.each().any(|list| list.contains(node)) {
        tracing::warn!(node = node.get(), "{}", lists::no_member(&known));
    }
    Ok((config, known))
}

/// The lists that a node knows in one of its groups; without groups, these that are known.
pub(super) fn of_group<C: Runnable>(config: &Config<C>, node: &Node<C>, known: &Lists) -> Lists {
    let own = node.lists().filter(|_| !config.groups().is_empty()).cloned();
    let at_file = |own| lists::reached_at(own, config.members().addresses());
    own.map_or_else(|| known.clone(), at_file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::tests::id;
    use crate::protocol::quorum::{Durable, Quorum};
    use crate::protocol::{Birth, Core as _, Epoch, Members, Output};

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
        let members =
            |nodes: &[u16]| Members::new(nodes.iter().map(|&node| id(node))).expect("valid");
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
        assert_eq!(
            (kept.decided.birth(id(2)), kept.decided.awaited()),
            (Some(birth), &[id(3)][..])
        );

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
}

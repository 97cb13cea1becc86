//! What a node knows when it starts: what its groups have made durable, what an operator says of
//! that, and which list of members counts.

use std::collections::BTreeMap;

use super::store::States;
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
    Ok(node.map_err(|error| config::Error::Contradiction(Box::new(error)))?)
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
mod tests;

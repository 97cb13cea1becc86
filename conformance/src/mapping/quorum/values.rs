//! How single values of the program read as those of the model.

use super::{program, spec};
use crate::mapping::process_id;
use bellwether_core::protocol::{Members, NodeId};
use bellwether_model::protocol::Ids;
use std::collections::BTreeSet;

/// The list with this config epoch.
pub(super) fn list(config_epoch: u64) -> spec::List {
    spec::List::try_from(config_epoch - Members::FIRST).unwrap_or(spec::List::MAX)
}

/// A message among members of the first list.
pub(super) fn of_the_list(message: spec::Message) -> spec::Letter {
    spec::Letter { message, list: 0 }
}

pub(super) fn ids(nodes: &BTreeSet<NodeId>) -> Ids {
    nodes.iter().copied().filter_map(process_id).collect()
}

pub(super) fn epoch(of: program::Epoch) -> spec::Epoch {
    spec::Epoch::try_from(of.number()).unwrap_or(spec::Epoch::MAX)
}

pub(super) fn small(round: u64) -> spec::Round {
    spec::Round::try_from(round).unwrap_or(spec::Round::MAX)
}

/// For how many further rounds a leader waits for the node that it has invited. One that yields if
/// that does not come does so before it could count.
pub(super) fn waits_for(invited: program::Invitation) -> u8 {
    invited.rounds.map_or(1, |rounds| u8::try_from(rounds).unwrap_or(u8::MAX))
}

//! How single values of the program read as those of the model.

use super::{QuorumMapping, Variant, program, spec};
use crate::mapping::process_id;
use bellwether_core::protocol::{Members, NodeId};
use bellwether_model::protocol::{Id, Ids};
use std::collections::BTreeSet;

/// The list with this config epoch.
pub(super) fn list(config_epoch: u64) -> spec::List {
    spec::List::try_from(config_epoch - Members::FIRST).unwrap_or(spec::List::MAX)
}

/// A message among members of the first list.
pub(super) fn of_the_list(message: spec::Message) -> spec::Letter {
    spec::Letter { message, mark: spec::Mark::FIRST }
}

pub(super) fn mark(of: program::Mark) -> spec::Mark {
    let turn = u8::try_from(of.turn).unwrap_or(u8::MAX);
    spec::Mark { epoch: epoch(of.epoch), turn }
}

/// A mark in the program.
pub(super) fn program_mark(of: spec::Mark) -> program::Mark {
    program::Mark { epoch: program::Epoch::new(of.epoch.into()), turn: of.turn.into() }
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

/// Those messages from a process with the first list and from one with a pending one, and the
/// lists.
fn of_both(all: &[spec::Letter]) -> Vec<spec::Letter> {
    use spec::Message::{Ack, Canvass, Challenge, Claim, Coordinator, Lists};
    let of = |epoch, turn| spec::Mark { epoch, turn };
    let carries = |letter: &&spec::Letter| {
        matches!(letter.message, Canvass(_) | Claim(_) | Challenge(_) | Coordinator(..) | Ack(..))
    };
    let later = all.iter().filter(carries);
    let later = later.map(|&letter| spec::Letter { mark: of(1, 1), ..letter });
    let lists = [(Lists(0, 1), of(1, 1)), (Lists(1, 1), of(1, 2)), (Lists(0, 1), of(2, 1))];
    let lists = lists.map(|(message, mark)| spec::Letter { message, mark });
    all.iter().copied().chain(later).chain(lists).collect()
}

/// Every message, for probing; of the first two lists, if there are more than one.
pub(super) fn messages<V: Variant>() -> Vec<spec::Letter> {
    use spec::Message::{Ack, Canvass, Challenge, Claim, Coordinator, Entrust, Grant, Invite};
    use spec::Message::{Outrank, Refuse, Support, Yield};
    let of_epoch = |epoch| {
        let rounds = [1, 2].map(|round| [Coordinator(epoch, round), Ack(epoch, round)]);
        let holders = [None, Some(Id::at(0)), Some(Id::at(1))];
        let questions = [Canvass(epoch), Support(epoch), Outrank(epoch), Claim(epoch)];
        let refusals = holders.map(|holder| Refuse(epoch, holder));
        let yields = holders.map(|next| Yield(epoch, next));
        let claims = [Grant(epoch), Challenge(epoch), Entrust(epoch)];
        let invitations = [Invite(epoch)];
        let invitations = if V::HANDS_OVER { &invitations[..] } else { &[] };
        [&questions[..], &claims, invitations, rounds.as_flattened(), &refusals, &yields].concat()
    };
    let all: Vec<_> = (0..4).flat_map(of_epoch).map(of_the_list).collect();
    if QuorumMapping::<V>::CHANGES { of_both(&all) } else { all }
}

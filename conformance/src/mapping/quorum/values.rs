//! How single values of the program read as those of the model.

use super::{QuorumMapping, Variant, program, spec};
use crate::mapping::process_id;
use bellwether_core::protocol::{Birth, Members, NodeId};
use bellwether_model::protocol::{Id, Ids};
use std::collections::{BTreeMap, BTreeSet};

/// How many lists were decided before the one with this config epoch.
pub(super) fn number(config_epoch: u64) -> u8 {
    u8::try_from(config_epoch - Members::FIRST).unwrap_or(u8::MAX)
}

/// A node that starts without a state has a random birth. None does twice.
pub(super) fn birth(of: Birth) -> spec::Birth {
    spec::Birth::from(of != Birth::FOUNDER)
}

/// A birth in the program.
pub(super) fn program_birth(of: spec::Birth) -> Birth {
    if of == spec::FOUNDER { Birth::FOUNDER } else { Birth::random(of.into()) }
}

/// The births with which a node has met others.
pub(super) fn met(all: &BTreeMap<NodeId, Birth>) -> spec::Met {
    let known = all.iter().filter_map(|(&id, &of)| Some((process_id(id)?, birth(of))));
    known.fold(spec::Met::default(), |met, (id, birth)| met.with(id, birth))
}

/// A message among members of the first list.
pub(super) fn of_the_list(message: spec::Message) -> spec::Letter {
    spec::Letter { message, mark: spec::Mark::FIRST, birth: spec::FOUNDER }
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

/// Those messages from a process with the first list and from one with a pending one, what
/// processes say to each other of their births, and the lists.
fn of_both<V: Variant>(all: &[spec::Letter]) -> Vec<spec::Letter> {
    use spec::Message::{Ack, Canvass, Challenge, Claim, Coordinator, Grant, Lists, Meet};
    let of = |epoch, turn| spec::Mark { epoch, turn };
    let meets =
        [Meet(0, None), Meet(0, Some(1)), Meet(1, None), Meet(1, Some(0)), Meet(1, Some(1))];
    let all: Vec<_> = all.iter().copied().chain(meets.map(of_the_list)).collect();
    let carries = |letter: &&spec::Letter| {
        let with_a_round = matches!(letter.message, Coordinator(..) | Ack(..) | Meet(..));
        with_a_round || matches!(letter.message, Canvass(_) | Claim(_) | Challenge(_))
    };
    let later = all.iter().filter(carries);
    let later = later.map(|&letter| spec::Letter { mark: of(1, 1), ..letter });
    let first = spec::List::default();
    let next = V::RULES.next_list(Id::at(0), first, V::NODES);
    let next = next.unwrap_or(first.letting_in(Id::at(0), 1));
    let lists = [
        (Lists(first, next), of(1, 1)),
        (Lists(next, next), of(1, 2)),
        (Lists(first, next), of(2, 1)),
    ];
    let lists = lists.map(|(message, mark)| spec::Letter { mark, ..of_the_list(message) });
    let of_a_life = |letter: &&spec::Letter| matches!(letter.message, Claim(_) | Grant(_));
    let lives = all.iter().filter(of_a_life).map(|&letter| spec::Letter { birth: 1, ..letter });
    all.iter().copied().chain(later).chain(lives).chain(lists).collect()
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
    if QuorumMapping::<V>::CHANGES { of_both::<V>(&all) } else { all }
}

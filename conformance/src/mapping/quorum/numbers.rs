//! Epochs and rounds, which grow for as long as nodes run; and what a node tells of its process.

use super::{QuorumMapping, Variant, program, spec};
use crate::mapping::{Counters, IdsIn};
use bellwether_core::protocol::{Birth, NodeId, Role};
use bellwether_model::protocol::{Id, MAX_NODES, Timers};
use std::sync::Arc;

/// Epochs, by which processes ask which is higher, and which is the next.
const EPOCH: usize = 0;
/// A leader's own rounds.
const ROUND: usize = 1;
/// Another's rounds, which are only repeated.
const REPEATED: usize = 2;

/// In a long run, epochs are near the last that there can be. Rounds begin anew with each epoch.
pub(super) const FROM: &[u64] = &[u64::MAX - 1_000];

pub(super) const fn counters<V: Variant>() -> Counters<QuorumMapping<V>> {
    Counters {
        kinds: 3,
        epochs: Some(EPOCH),
        in_message,
        in_durable,
        lower,
        is_settled,
        ids: Some(IdsIn {
            message: |message, name| match message {
                program::Message::Refuse(of, holder) => {
                    program::Message::Refuse(of, holder.map(name))
                }
                program::Message::Yield(of, next) => program::Message::Yield(of, next.map(name)),
                other => other,
            },
            durable: |durable, name| program::Durable {
                granted_to: durable.granted_to.map(name),
                met: durable.met.iter().map(|(&id, &birth)| (name(id), birth)).collect(),
                ..durable.clone()
            },
        }),
        members: MAX_NODES,
        after_leading: after_leading::<V>,
        ..Counters::NONE
    }
}

fn in_durable(
    durable: &program::Durable,
    rename: &mut dyn FnMut(usize, u64) -> u64,
) -> program::Durable {
    let mut durable = durable.clone();
    durable.epoch = program::Epoch::new(rename(EPOCH, durable.epoch.number()));
    if let Some(lists) = durable.lists.as_mut() {
        lists.mark = in_mark(lists.mark, rename);
    }
    durable
}

/// Whether a node has the list of members that it was started with, in which all are founders, and
/// no other is pending. That one was started as a founder does not show before it knows an epoch.
fn is_settled(durable: Option<&program::Durable>, config_epoch: Option<u64>) -> bool {
    let Some(durable) = durable else { return true };
    let is_founder = durable.birth == Birth::FOUNDER;
    let shows = !is_founder || durable.epoch.number() > 0 || !durable.met.is_empty();
    let is_first = durable.lists.as_ref().is_none_or(|lists| {
        let (decided, given) = (&lists.decided, |number| lists.decided.config_epoch() == number);
        let founded = |&id: &NodeId| decided.birth(id) == Some(Birth::FOUNDER);
        let all_founded = decided.awaited().is_empty() && decided.voters().iter().all(founded);
        all_founded && lists.pending.is_none() && config_epoch.is_none_or(given)
    });
    shows && is_first
}

/// The first list has no leader's mark.
fn in_mark(mark: program::Mark, rename: &mut dyn FnMut(usize, u64) -> u64) -> program::Mark {
    if mark == program::Mark::FIRST {
        return mark;
    }
    program::Mark { epoch: program::Epoch::new(rename(EPOCH, mark.epoch.number())), ..mark }
}

fn in_message(
    message: program::Message,
    sent: bool,
    rename: &mut dyn FnMut(usize, u64) -> u64,
) -> program::Message {
    use program::Message as P;
    let round = match message {
        P::Coordinator(_, round, _) => rename(if sent { ROUND } else { REPEATED }, round),
        P::Ack(_, round, _) => rename(if sent { REPEATED } else { ROUND }, round),
        _ => 0,
    };
    if let P::Lists(lists) = message {
        let mark = in_mark(lists.mark, rename);
        return P::Lists(Arc::new(program::Lists { mark, ..(*lists).clone() }));
    }
    let mark = match message {
        P::Canvass(_, mark) | P::Claim(_, mark, _) | P::Challenge(_, mark) => mark,
        P::Coordinator(.., mark) | P::Ack(.., mark) | P::Meet(.., mark) => mark,
        _ => program::Mark::FIRST,
    };
    let mark = in_mark(mark, rename);
    let mut epoch = |of: program::Epoch| program::Epoch::new(rename(EPOCH, of.number()));
    match message {
        P::Canvass(of, _) => P::Canvass(epoch(of), mark),
        P::Support(of) => P::Support(epoch(of)),
        P::Outrank(of) => P::Outrank(epoch(of)),
        P::Claim(of, _, birth) => P::Claim(epoch(of), mark, birth),
        P::Grant(of, birth) => P::Grant(epoch(of), birth),
        P::Coordinator(of, ..) => P::Coordinator(epoch(of), round, mark),
        P::Ack(of, ..) => P::Ack(epoch(of), round, mark),
        P::Refuse(of, holder) => P::Refuse(epoch(of), holder),
        P::Challenge(of, _) => P::Challenge(epoch(of), mark),
        P::Yield(of, next) => P::Yield(epoch(of), next),
        P::Entrust(of) => P::Entrust(epoch(of)),
        P::Invite(of) => P::Invite(epoch(of)),
        P::Lists(lists) => P::Lists(lists),
        P::Meet(birth, met, _) => P::Meet(birth, met, mark),
    }
}

fn lower(kind: usize, by: u64, process: &mut spec::Process, stable: &mut spec::Stable) -> u64 {
    let by = u16::try_from(by).unwrap_or(u16::MAX);
    match kind {
        EPOCH => {
            stable.epoch = stable.epoch.saturating_sub(by);
            stable.mark.epoch = stable.mark.epoch.saturating_sub(by);
            stable.epoch.into()
        }
        ROUND => {
            // 0 stands for no round.
            let less = |round: spec::Round| match round {
                0 => 0,
                round => round.saturating_sub(by).max(1),
            };
            let spec::Process { round, asked, later, .. } = *process;
            let [round, asked, later] = [round, asked, later].map(less);
            *process = spec::Process { round, asked, later, ..*process };
            round.into()
        }
        _ => 0,
    }
}

/// What a node tells that is in this role, if the program has it.
pub(super) fn role(role: spec::Role) -> Option<Role> {
    Some(match role {
        spec::Role::Follower => Role::Follower,
        spec::Role::Deferring => Role::Waiting,
        spec::Role::Canvassing | spec::Role::Claiming | spec::Role::Succeeding => Role::Candidate,
        spec::Role::Leader => Role::Leader,
        spec::Role::Lapsed => return None,
    })
}

/// A leader may wait for more rounds than the specification tells apart. Once it follows, it waits
/// for none, and if its promise runs, it is to the node to which it has granted its epoch.
fn after_leading<V: Variant>(
    leader: Option<Id>,
    stable: &spec::Stable,
    timers: Timers,
) -> Option<spec::Process> {
    if !matches!(V::RULES.lists, spec::Lists::One) {
        return None;
    }
    let promises = timers.contains::<spec::Quorum>(spec::Timer::Promise);
    let promised = stable.granted_to.filter(|_| promises);
    // Only another node's promise ends that it has led.
    let led = V::RULES.returns && !promises;
    (leader.is_none() || leader == promised).then_some(spec::Process {
        leader,
        promised,
        led,
        met: stable.met,
        ..spec::Process::default()
    })
}

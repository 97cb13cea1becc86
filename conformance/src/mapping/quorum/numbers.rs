//! Epochs and rounds, which grow for as long as nodes run; and what a node tells of its process.

use super::{QuorumMapping, Variant, program, spec};
use crate::mapping::{Counters, IdsIn};
use bellwether_core::protocol::{Members, Role};
use bellwether_model::protocol::{Id, MAX_NODES, Timers};

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
                ..durable.clone()
            },
        }),
        members: MAX_NODES,
        is_settled,
        after_leading: after_leading::<V>,
        ..Counters::NONE
    }
}

/// A list that is in force is to a process what the first one is.
fn in_durable(
    durable: &program::Durable,
    rename: &mut dyn FnMut(usize, u64) -> u64,
) -> program::Durable {
    let mut durable = durable.clone();
    durable.epoch = program::Epoch::new(rename(EPOCH, durable.epoch.number()));
    if let Some(list) = durable.list.as_mut().filter(|list| list.in_force) {
        list.config_epoch = Members::FIRST;
    }
    durable
}

/// Whether a node has had a part in its list since that is in force.
fn is_settled(durable: Option<&program::Durable>, config_epoch: Option<u64>) -> bool {
    let given = config_epoch.unwrap_or(Members::FIRST);
    match durable.and_then(|durable| durable.list.as_ref()) {
        Some(list) => list.in_force && config_epoch.is_none_or(|_| list.config_epoch == given),
        None => given == Members::FIRST,
    }
}

fn in_message(
    message: program::Message,
    sent: bool,
    rename: &mut dyn FnMut(usize, u64) -> u64,
) -> program::Message {
    use program::Message as P;
    let round = match message {
        P::Coordinator(_, round) => rename(if sent { ROUND } else { REPEATED }, round),
        P::Ack(_, round) => rename(if sent { REPEATED } else { ROUND }, round),
        _ => 0,
    };
    let mut epoch = |of: program::Epoch| program::Epoch::new(rename(EPOCH, of.number()));
    match message {
        P::Canvass(of) => P::Canvass(epoch(of)),
        P::Support(of) => P::Support(epoch(of)),
        P::Outrank(of) => P::Outrank(epoch(of)),
        P::Claim(of) => P::Claim(epoch(of)),
        P::Grant(of) => P::Grant(epoch(of)),
        P::Coordinator(of, _) => P::Coordinator(epoch(of), round),
        P::Ack(of, _) => P::Ack(epoch(of), round),
        P::Refuse(of, holder) => P::Refuse(epoch(of), holder),
        P::Challenge(of) => P::Challenge(epoch(of)),
        P::Yield(of, next) => P::Yield(epoch(of), next),
        P::Entrust(of) => P::Entrust(epoch(of)),
        P::Invite(of) => P::Invite(epoch(of)),
    }
}

fn lower(kind: usize, by: u64, process: &mut spec::Process, stable: &mut spec::Stable) -> u64 {
    let by = u16::try_from(by).unwrap_or(u16::MAX);
    match kind {
        EPOCH => {
            stable.epoch = stable.epoch.saturating_sub(by);
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
        ..spec::Process::default()
    })
}

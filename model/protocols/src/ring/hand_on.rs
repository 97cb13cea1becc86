//! How something is handed on from one process to the next, for every protocol on a ring.

use super::{
    Lap, Orphans, Outbox, Ring, Role, Rounds, Timer, start_election_unless_candidate,
    take_for_leader,
};
use bellwether_engine::protocol::{Id, Local};

/// Sends `message` to the successor.
pub(crate) fn hand_on<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>, message: M) {
    let successor = ring.ring().order.after(p.id(), p.nodes());
    p.send(successor, message);
    if ring.ring().skip {
        p.state.outbox.keep(message, successor);
        p.arm(Timer::Hop);
    }
}

/// Acknowledges a message that goes round to the process that handed it on.
pub(crate) fn acknowledge<M: Rounds, P: Ring<M>>(
    ring: &P,
    p: &mut Local<'_, P>,
    (from, message): (Id, M),
) {
    if let (true, Some(lap)) = (ring.ring().skip, message.lap()) {
        p.send(from, M::ack(lap));
    }
}

/// What was handed on has arrived.
pub(crate) fn acknowledged<M: Rounds, P: Ring<M>>(p: &mut Local<'_, P>, lap: Lap) {
    p.state.outbox.acknowledge(lap);
    if p.state.outbox.is_empty() {
        p.cancel(Timer::Hop);
    }
}

/// No acknowledgement came in time: who should have sent it has failed, and is skipped. If all
/// others have, there is no other process to lead. If something was removed that could not have
/// come home, there may be no leader.
pub(crate) fn on_silence<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>) {
    match skip(ring, p) {
        Skipped::AllOthers if p.state.role != Role::Leader => take_for_leader(ring, p, p.id()),
        Skipped::Orphans => start_election_unless_candidate(ring, p),
        Skipped::AllOthers | Skipped::Nothing => {}
    }
}

/// What follows when a process is skipped.
enum Skipped {
    /// All others were: the process is alone in the ring.
    AllOthers,
    /// Something was removed, because it could not have come home.
    Orphans,
    /// Everything went to the next.
    Nothing,
}

/// What a silent process should have taken goes to the one after it, except, by the rule `orphans`,
/// what could not come home.
fn skip<M: Rounds, P: Ring<M>>(ring: &P, p: &mut Local<'_, P>) -> Skipped {
    let (rules, me, nodes) = (ring.ring(), p.id(), p.nodes());
    let after = |silent| rules.order.after(silent, nodes);
    let kept = p.state.outbox;
    if kept.iter().any(|(_, silent)| after(silent) == me) {
        p.state.outbox = Outbox::default();
        p.cancel(Timer::Hop);
        return Skipped::AllOthers;
    }
    let removes = rules.orphans == Orphans::Removed;
    let orphan = |(message, silent): (M, Id)| removes && message.is_orphaned_by(silent);
    let rest = kept.iter().filter(|&one| !orphan(one));
    let rest: Outbox<M> = rest.map(|(message, silent)| (message, after(silent))).collect();
    p.state.outbox = rest;
    for (message, next) in rest.iter() {
        p.send(next, message);
    }
    if !rest.is_empty() {
        p.arm(Timer::Hop);
    }
    if kept.iter().any(orphan) { Skipped::Orphans } else { Skipped::Nothing }
}

//! When, with perfect timing, a process on a ring has waited long enough.

use super::{Accept, Lap, Ring, Role, Rounds, Timer, Watch};
use bellwether_engine::protocol::{Id, View};

/// Whether what `timer` of `me` waits for can no longer come.
pub(crate) fn may_time_out<M: Rounds, P: Ring<M>>(
    ring: &P,
    view: &View<'_, P>,
    (me, timer): (Id, Timer),
) -> bool {
    match timer {
        Timer::Hop => no_ack_can_come(view, me),
        _ if view.armed(me, Timer::Hop) => false,
        Timer::Lap => election_has_failed(ring, view, me),
        Timer::Watch => leader_is_silent(ring, view, me),
        Timer::Heartbeat => {
            !under_way(view, |message: &M| message.lap() == Some(Lap::Coordinator(me)))
        }
    }
}

/// A heartbeat tells no process anything new once every process follows the leader.
pub(super) fn all_follow<M: Rounds, P: Ring<M>>(_: &P, view: &View<'_, P>, me: Id) -> bool {
    view.ids().filter(|&id| view.up(id)).all(|id| view.process(id).leader == Some(me))
}

/// Whether `me` follows `leader` if that one is announced to it.
pub(crate) fn accepts<M: Rounds, P: Ring<M>>(ring: &P, me: Id, leader: Id) -> bool {
    ring.ring().accept == Accept::Any || leader >= me
}

/// Whether a message that `wanted` is in flight, or with a process that is up and may have to send
/// it to the next.
fn under_way<M: Rounds, P: Ring<M>>(view: &View<'_, P>, wanted: impl Fn(&M) -> bool) -> bool {
    let kept =
        |id: Id| view.up(id) && view.process(id).outbox.iter().any(|(message, _)| wanted(&message));
    view.in_flight(|_, _, message| wanted(&message)) || view.ids().any(kept)
}

/// `Hop`: everything handed on has arrived somewhere, and no acknowledgement is on its way.
fn no_ack_can_come<M: Rounds, P: Ring<M>>(view: &View<'_, P>, me: Id) -> bool {
    !view.in_flight(|from, to, message| match message.lap() {
        Some(_) => from == me,
        None => to == me,
    })
}

/// `T_lap`: nothing is under way that could end the election, and no other leader that this process
/// accepts repeats its announcement.
fn election_has_failed<M: Rounds, P: Ring<M>>(ring: &P, view: &View<'_, P>, me: Id) -> bool {
    let repeats = |id: Id| {
        let leads = accepts(ring, me, id) && view.process(id).role == Role::Leader;
        leads && ring.ring().watch == Watch::Announcement && view.hears(me, id)
    };
    let hope = |message: &M| ring.may_end_election(me, message);
    !view.ids().any(repeats) && !under_way(view, hope)
}

/// A follower's watch: its leader gives no sign of life, or (with announcements) neither leads nor
/// is about to, and no announcement of it goes round. One that knows no leader waits for any
/// leader's.
fn leader_is_silent<M: Rounds, P: Ring<M>>(ring: &P, view: &View<'_, P>, me: Id) -> bool {
    let known = view.process(me).leader;
    let leads = |id: Id| {
        view.hears(me, id) && matches!(view.process(id).role, Role::Leader | Role::Candidate)
    };
    let announced = |message: &M| {
        let said = message.announces();
        said.is_some() && (known.is_none() || said == known)
    };
    match (ring.ring().watch, known) {
        (Watch::Answer, Some(leader)) => !(view.hears(me, leader) && view.hears(leader, me)),
        (Watch::Answer, None) => false,
        (Watch::Announcement, _) => {
            let led = known.map_or_else(|| view.ids().any(leads), leads);
            !led && !under_way(view, announced)
        }
    }
}

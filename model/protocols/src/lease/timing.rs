//! When, with perfect timing, a process has waited long enough, and what tells no process anything
//! new.

use super::{Accepted, Expiry, Lease, Message, Process, Renewal, Role, Timer};
use bellwether_engine::protocol::{Id, View};

pub(super) fn may_time_out(rules: &Lease, view: &View<'_, Lease>, me: Id, timer: Timer) -> bool {
    match timer {
        // Neither the request nor an answer is on its way; a holder asks again before that.
        Timer::Asked => view.process(me).role == Role::Follower && !asks(view, me),
        Timer::Retry => !asks(view, me),
        Timer::Renew => !asks(view, me) && !writes(view, me),
        Timer::Lease => rules.renewal == Renewal::Asks && !asks(view, me) && !reaches(view, me),
        Timer::Grant => lease_is_over(rules, view, me),
        // Its operator waits for no process.
        Timer::Request => true,
    }
}

/// The store's: its holder has stepped down or is gone, or will never be heard of again; it will
/// not hear of another grant, and has nothing under way to the store or the resource.
fn lease_is_over(rules: &Lease, view: &View<'_, Lease>, store: Id) -> bool {
    let goes_on = |holder: Id| {
        let own = view.rules_of(rules, holder);
        let sends = view.in_flight(|from, _, _| from == holder);
        let renews = own.renewal == Renewal::Asks && reaches(view, holder);
        let steps_down = own.renewal == Renewal::Asks && own.expiry == Expiry::StepsDown;
        let leads = view.process(holder).role != Role::Follower;
        let holds = leads && (renews || steps_down);
        sends || (view.up(holder) && (holds || asks(view, holder)))
    };
    !view.process(store).holder.is_some_and(goes_on)
}

/// Whether a request of `client`, or an answer to one, is on its way.
fn asks(view: &View<'_, Lease>, client: Id) -> bool {
    view.in_flight(|from, to, m| {
        (from == client && !matches!(m, Message::Write(_))) || to == client
    })
}

fn writes(view: &View<'_, Lease>, client: Id) -> bool {
    view.in_flight(|from, _, m| from == client && matches!(m, Message::Write(_)))
}

/// Whether requests and answers get through.
fn reaches(view: &View<'_, Lease>, client: Id) -> bool {
    view.services().all(|store| view.hears(store, client) && view.hears(client, store))
}

/// What a holder writes and renews is nothing new if it gets nowhere, or the client has written and
/// the store has renewed the lease already.
pub(super) fn has_written_and_renewed(_: &Lease, view: &View<'_, Lease>, me: Id) -> bool {
    agree_or_cut_off(view, me, |client, store| {
        let written = store.written == client.token && store.accepted == Accepted::Fresh;
        let renewed = store.holder == Some(me) && store.token == client.token;
        client.role == Role::Holder && written && renewed
    })
}

/// Asking again is nothing new if it gets nowhere, or the client knows the holder already.
pub(super) fn knows_the_holder(_: &Lease, view: &View<'_, Lease>, me: Id) -> bool {
    agree_or_cut_off(view, me, |client, store| {
        client.holder.is_some() && store.holder == client.holder
    })
}

fn agree_or_cut_off(
    view: &View<'_, Lease>,
    me: Id,
    agree: impl Fn(&Process, &Process) -> bool,
) -> bool {
    view.services()
        .all(|store| agree(view.process(me), view.process(store)) || !view.hears(store, me))
}

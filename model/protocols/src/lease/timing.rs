//! When, with perfect timing, a process has waited long enough, and what tells no process anything
//! new.

use super::{Accepted, Acquire, Expiry, Lease, Message, Process, Renewal, Role, Term, Timer};
use bellwether_engine::protocol::{Id, View};

pub(super) fn may_time_out(rules: &Lease, view: &View<'_, Lease>, me: Id, timer: Timer) -> bool {
    match timer {
        // Neither the request nor an answer is on its way; a holder asks again before that.
        Timer::Asked => view.process(me).role == Role::Follower && !asks(view, me),
        Timer::Retry => !asks(view, me),
        Timer::Renew => !asks(view, me) && !writes(view, me),
        Timer::Lease => rules.renewal == Renewal::Asks && !asks(view, me) && !reaches(view, me),
        Timer::Grant if rules.term == Term::Session => connection_is_lost(view, me),
        Timer::Grant => lease_is_over(rules, view, me),
        // Its operator waits for no process, and nor does a replica.
        Timer::Request | Timer::Replicate => true,
        // What it has seen is the newest, and will stay so: no answer on its way has another.
        Timer::Observed => view.services().all(|store| {
            let newest = view.process(store).version == view.process(me).version;
            newest && lease_is_over(rules, view, store)
        }),
        // What was sent under the lease has arrived.
        Timer::LockDelay => !view.in_flight(|_, _, m| matches!(m, Message::Write(_))),
    }
}

/// The store's: its holder is gone, or what one of them sends does not reach the other. A process
/// that is paused still has its connection.
fn connection_is_lost(view: &View<'_, Lease>, store: Id) -> bool {
    let cut = |from: Id, to: Id| view.cut[from.index()].contains(to);
    let lost = |holder: Id| !view.up(holder) || cut(store, holder) || cut(holder, store);
    view.process(store).holder.is_none_or(lost)
}

/// The store's: its holder has stepped down or is gone, or will never be heard of again; it will
/// not hear of another grant, and has nothing under way to the store or the resource.
fn lease_is_over(rules: &Lease, view: &View<'_, Lease>, store: Id) -> bool {
    let goes_on = |holder: Id| {
        let own = view.rules_of(rules, holder);
        // It asks again and again for a lease that is free, and its own is not.
        let in_vain = |m: &Message| {
            own.acquire == Acquire::SetIfAbsent
                && matches!(m, Message::Claim(_) | Message::Refused(_, None))
        };
        let sends = view.in_flight(|from, _, m| from == holder && !in_vain(&m));
        let renews = own.renewal == Renewal::Asks && reaches(view, holder);
        let steps_down = own.renewal == Renewal::Asks && own.expiry == Expiry::StepsDown;
        let leads = view.process(holder).role != Role::Follower;
        let holds = leads && (renews || steps_down);
        let asks = view.in_flight(|from, to, m| is_asked(holder, from, to, &m) && !in_vain(&m));
        sends || (view.up(holder) && (holds || asks))
    };
    !view.process(store).holder.is_some_and(goes_on)
}

/// Whether a request of `client`, or an answer to one, is on its way.
fn asks(view: &View<'_, Lease>, client: Id) -> bool {
    view.in_flight(|from, to, m| is_asked(client, from, to, &m))
}

/// Whether a message is a request of `client`, or an answer to one.
fn is_asked(client: Id, from: Id, to: Id, message: &Message) -> bool {
    (from == client && !matches!(message, Message::Write(_))) || to == client
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

/// Asking again is nothing new if it gets nowhere, or the client knows the holder already, and
/// watches the newest version of the record if it is to watch it.
pub(super) fn knows_the_holder(rules: &Lease, view: &View<'_, Lease>, me: Id) -> bool {
    let watches = rules.term != Term::Observed || view.armed(me, Timer::Observed);
    agree_or_cut_off(view, me, |client, store| {
        let newest = rules.term != Term::Observed || client.version == store.version;
        client.holder.is_some() && store.holder == client.holder && newest && watches
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

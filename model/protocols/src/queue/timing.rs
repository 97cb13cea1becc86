//! When, with perfect timing, a process has waited long enough.

use super::store::Store;
use super::{Client, Message, Process, Queue, Role, Silence, Timer};
use bellwether_engine::protocol::{Id, View};

/// The store, as far as there is one already.
pub(super) fn store<'v>(view: &'v View<'_, Queue>) -> Option<(Id, &'v Store)> {
    let id = view.services().next()?;
    match view.process(id) {
        Process::Store(store) => Some((id, store)),
        Process::Client(_) => None,
    }
}

/// What a live client knows.
pub(super) fn client<'v>(view: &'v View<'_, Queue>, id: Id) -> Option<&'v Client> {
    match view.process(id) {
        Process::Client(client) if view.up(id) => Some(client),
        _ => None,
    }
}

/// Whether what `timer` of `me` waits for can no longer come.
pub(super) fn may_time_out(rules: &Queue, view: &View<'_, Queue>, me: Id, timer: Timer) -> bool {
    let Some((id, store)) = store(view) else { return false };
    match timer {
        Timer::Session(client) => rules.is_silent(view, (id, store), client),
        Timer::Silence => nothing_will_come(view, (id, store), me),
        Timer::Ping => !view.in_flight(|from, to, m| {
            (from == me && matches!(m, Message::Ping(_))) || (to == me && m == Message::Pong)
        }),
    }
}

/// A ping in a session that has not ended only says what is so anyway.
pub(super) fn session_goes_on(_: &Queue, view: &View<'_, Queue>, me: Id) -> bool {
    let (client, store) = (client(view, me), store(view));
    client.zip(store).is_some_and(|(client, (_, store))| store.has(client.session))
}

impl Queue {
    /// The oldest session of a client: the client is down, or has another by now, or is cut off;
    /// and nothing of it is on its way. The store is patient for longer than a client: it does not
    /// end the session of a leader that would stand down and has not yet.
    fn is_silent(&self, view: &View<'_, Self>, (id, store): (Id, &Store), owner: Id) -> bool {
        let Some(session) = store.oldest(owner) else { return false };
        let on_its_way = |from: Id, to: Id, m: Message| {
            (from == owner && to == id) || (to == owner && m == Message::Opened(session))
        };
        let Some(client) = client(view, owner) else {
            return !view.in_flight(|from, to, _| from == owner && to == id);
        };
        let heard = view.hears(id, owner) && view.hears(owner, id);
        let has_another = client.session != Some(session);
        let may_act = client.role == Role::Leader && self.silence == Silence::StandsDown;
        !view.in_flight(on_its_way) && (has_another || (!heard && !may_act))
    }
}

/// Nothing is on its way between a client and the store, and nothing will be unless the client
/// asks again: an answer was lost, or what it was to be told; or they do not hear each other.
fn nothing_will_come(view: &View<'_, Queue>, (id, store): (Id, &Store), me: Id) -> bool {
    let Some(client) = client(view, me) else { return false };
    let on_its_way =
        |from: Id, to: Id, _: Message| (from, to) == (me, id) || (from, to) == (id, me);
    let heard = view.hears(me, id) && view.hears(id, me);
    let idle = match client.role {
        Role::Opening | Role::Creating | Role::Joining | Role::Reading | Role::Checking => false,
        Role::Follower => store.watches(client.session),
        Role::Waiting | Role::Leader => store.has(client.session),
    };
    !(view.in_flight(on_its_way) || heard && idle)
}

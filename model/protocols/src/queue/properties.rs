//! What is asked of the queue alone.

use super::timing::{client, store};
use super::{Client, Queue, Role};
use bellwether_engine::protocol::{Id, Judge, Property, View};
use bellwether_engine::temporal::{Liveness, Temporal};

pub(super) const ALL: &[Property<Judge<Queue>>] = &[
    Property {
        name: "only-the-first-leads",
        formula: "□ ∀ up i: leads(i) ⇒ the first entry in the store is i's",
        meaning: "a process that leads owns the first entry in the queue (\"the smallest is the \
                  leader\")",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(only_the_first_leads),
    },
    Property {
        name: "first-leads",
        formula: "◇□ ((∃ up i) ⇒ the owner of the first entry is up and leads)",
        meaning: "in the end the owner of the first entry in the queue leads, for good",
        by_default: true,
        premise: None,
        temporal: Temporal::Liveness(Liveness::EventuallyAlways(first_leads)),
    },
    Property {
        name: "tokens-grow",
        formula: "□ ∀ up i: leads(i) ∧ the first entry f is not i's ⇒ number(i) < number(f)",
        meaning: "a process that leads out of turn has a smaller number than the owner of the \
                  first entry",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(tokens_grow),
    },
    Property {
        name: "one-entry",
        formula: "□ ∀ session s: at most one entry is s's",
        meaning: "no session owns two entries, of which its client knows only one",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(one_entry),
    },
];

/// The live clients that lead.
fn leaders<'v>(view: &'v View<'_, Queue>) -> impl Iterator<Item = (Id, &'v Client)> {
    let live = view.ids().filter_map(|id| client(view, id).map(|client| (id, client)));
    live.filter(|(_, client)| client.role == Role::Leader)
}

fn only_the_first_leads(_: &Queue, view: &View<'_, Queue>) -> bool {
    let first = store(view).and_then(|(_, store)| store.entries.first());
    leaders(view).all(|(_, client)| {
        first.is_some_and(|first| {
            Some(first.session) == client.session && Some(first.number) == client.entry
        })
    })
}

fn first_leads(_: &Queue, view: &View<'_, Queue>) -> bool {
    let first = store(view).and_then(|(_, store)| store.entries.first());
    let leads = first.is_some_and(|first| {
        leaders(view).any(|(id, client)| {
            id == first.client
                && Some(first.session) == client.session
                && Some(first.number) == client.entry
        })
    });
    leads || !view.ids().any(|id| view.up(id))
}

fn tokens_grow(_: &Queue, view: &View<'_, Queue>) -> bool {
    let Some(first) = store(view).and_then(|(_, store)| store.entries.first()) else {
        return true;
    };
    leaders(view).all(|(_, client)| {
        Some(first.session) == client.session || client.entry < Some(first.number)
    })
}

fn one_entry(_: &Queue, view: &View<'_, Queue>) -> bool {
    let Some((_, store)) = store(view) else { return true };
    store
        .sessions()
        .all(|open| store.entries.iter().filter(|entry| entry.session == open.session).count() <= 1)
}

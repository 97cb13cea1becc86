//! What a member promises its program, and all others.

use super::{Epoch, Gate, Member, Message, Process, ProgramView, Timer};
use bellwether_engine::protocol::{Id, Judge, Property, View};
use bellwether_engine::temporal::Temporal;

type Moment<'a> = View<'a, Member>;

pub(super) const ALL: &[Property<Judge<Member>>] = &[
    Property {
        name: "one-program-leads",
        formula: "□ ¬∃ i ≠ j: acts(i) ∧ acts(j), acts(i) = told(i) ∨ (works(i) ∧ the lease of that \
                  work lasts)",
        meaning: "no two programs do at the same time what only a leader may",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(|_, view| view.ids().filter(|&id| acts(view, id)).count() <= 1),
    },
    Property {
        name: "told-is-durable",
        formula: "□ ∀ told(i, e): e ≤ epoch on the stable storage of i",
        meaning: "no program knows of an epoch of its node that a crash can undo",
        by_default: true,
        premise: Some(("a program leads", |_, view| told(view).next().is_some())),
        temporal: Temporal::Always(|_, view| {
            told(view).all(|(id, epoch)| epoch <= view.stable(id).epoch)
        }),
    },
    Property {
        name: "sent-is-durable",
        formula: "□ ∀ ENTRUST(e) of i in flight: e ≤ epoch on the stable storage of i",
        meaning: "no process hears of an epoch that a crash of its sender can undo",
        by_default: true,
        premise: Some(("something is in flight", |_, view| view.in_flight(|_, _, _| true))),
        temporal: Temporal::Always(|_, view| {
            !view.in_flight(|from, _, Message::Entrust(epoch)| epoch > view.stable(from).epoch)
        }),
    },
    Property {
        name: "silence-is-a-loss",
        formula: "□ ¬∃ told(i): the node of i led while it could say nothing for too long, and the \
                  others have not had the time to hear that it leads still",
        meaning: "after a silence no program leads before all others can know",
        by_default: true,
        premise: Some(("a leader was silent", |_, view| {
            view.ids().any(|id| view.process(id).silent)
        })),
        temporal: Temporal::Always(|_, view| told(view).all(|(id, _)| !view.process(id).silent)),
    },
    Property {
        name: "prepared-first",
        formula: "□ ∀ told(i): prepared(i)",
        meaning: "no program leads that has not prepared itself",
        by_default: true,
        premise: Some(("a program leads", |_, view| told(view).next().is_some())),
        temporal: Temporal::Always(|_, view| {
            told(view).all(|(id, _)| view.process(id).gate == Gate::Open)
        }),
    },
    Property {
        name: "work-ends-first",
        formula: "□ ¬∃ i: works(i) ∧ i has given up the lease of that work, which lasts ∧ \
                  ENTRUST(epoch(i)) of i is in flight",
        meaning: "no process hears that a leadership is given up while there is work under it",
        by_default: true,
        premise: Some(("a program works", |_, view| view.ids().any(|id| view.process(id).works))),
        temporal: Temporal::Always(|_, view| {
            !view.in_flight(|from, _, Message::Entrust(epoch)| {
                works_on(view, from) && epoch >= view.process(from).epoch
            })
        }),
    },
];

/// The programs that know that their nodes lead, each with the epoch.
fn told(view: &Moment<'_>) -> impl Iterator<Item = (Id, Epoch)> {
    view.ids().filter_map(move |id| match view.process(id).program {
        ProgramView::Leads(epoch) => Some((id, epoch)),
        _ => None,
    })
}

/// Whether there is work under a lease that is given up, and lasts.
fn works_on(view: &Moment<'_>, id: Id) -> bool {
    view.process(id).works && view.armed(id, Timer::Work)
}

/// Whether the program does what only a leader may.
fn acts(view: &Moment<'_>, id: Id) -> bool {
    let Process { program, .. } = view.process(id);
    matches!(program, ProgramView::Leads(_)) || works_on(view, id)
}

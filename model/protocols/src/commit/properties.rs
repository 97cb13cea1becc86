//! What an atomic commit promises.

use super::{Commit, Record, belief, record};
use bellwether_engine::protocol::{Belief, Judge, Property, View};
use bellwether_engine::temporal::{Liveness, Temporal};

/// The properties of each of these protocols.
pub(crate) const fn all<P: Commit>() -> [Property<Judge<P>>; 6] {
    [
        Property {
            name: "atomicity",
            formula: "□ ¬∃ i, j: committed(i) ∧ aborted(j)",
            meaning: "no process commits what another aborts, whether they are up or down",
            by_default: true,
            premise: Some(("a process has decided", |_, view| decided(view))),
            temporal: Temporal::Always(|_, view| !(has(view, COMMIT) && has(view, ABORT))),
        },
        Property {
            name: "unanimity",
            formula: "□ ∀ committed(i): every process has voted YES",
            meaning: "no process commits unless every process has voted to",
            by_default: true,
            premise: None,
            temporal: Temporal::Always(|rules, view| !has(view, COMMIT) || all_agree(rules, view)),
        },
        Property {
            name: "non-blocking",
            formula: "◇□ ∀ up i that has voted YES: committed(i) ∨ aborted(i)",
            meaning: "in the end every live process that has voted YES knows the decision",
            by_default: true,
            premise: None,
            temporal: Temporal::Liveness(Liveness::EventuallyAlways(|_, view| none_waits(view))),
        },
        Property {
            name: "word-spreads",
            formula: "(∃ up i: committed(i) ∨ aborted(i)) ⇝ (∀ up i that has voted YES: \
                      committed(i) ∨ aborted(i))",
            meaning: "whenever a live process knows the decision, all live ones that have voted \
                      YES know it later",
            by_default: false,
            premise: Some(("a live process knows the decision", |_, view| known(view))),
            temporal: Temporal::Liveness(Liveness::LeadsTo(
                |_, view| known(view),
                |_, view| none_waits(view),
            )),
        },
        Property {
            name: "successor-decides",
            formula: "reachable: ∃ up i: leads(i) ∧ (committed(i) ∨ aborted(i)) ∧ the first \
                      coordinator has voted YES and does not know",
            meaning: "another coordinator can end what the first one began",
            by_default: false,
            premise: None,
            temporal: Temporal::Reachable(|_, view| {
                let first = view.ids().last();
                let decided = |id| {
                    let leads = belief(view.process(id)) == Belief::Leads;
                    view.up(id) && leads && record(view, id).is_decided()
                };
                first.is_some_and(|id| record(view, id).waits()) && view.ids().any(decided)
            }),
        },
        Property {
            name: "commits",
            formula: "◇ ∀ i: committed(i)",
            meaning: "at some moment every process has committed; ask it without faults",
            by_default: false,
            premise: None,
            temporal: Temporal::Liveness(Liveness::Eventually(|_, view| {
                view.ids().all(|id| record(view, id) == COMMIT)
            })),
        },
    ]
}

const COMMIT: Record = Record::Committed;
const ABORT: Record = Record::Aborted;

fn has<P: Commit>(view: &View<'_, P>, wanted: Record) -> bool {
    view.ids().any(|id| record(view, id) == wanted)
}

fn decided<P: Commit>(view: &View<'_, P>) -> bool {
    view.ids().any(|id| record(view, id).is_decided())
}

/// Whether a live process knows the decision.
fn known<P: Commit>(view: &View<'_, P>) -> bool {
    view.ids().any(|id| view.up(id) && record(view, id).is_decided())
}

/// Whether no live process that has voted YES waits for the decision.
fn none_waits<P: Commit>(view: &View<'_, P>) -> bool {
    view.ids().all(|id| !view.up(id) || !record(view, id).waits())
}

/// Whether every process has voted, and none refuses: a vote is a record.
fn all_agree<P: Commit>(rules: &P, view: &View<'_, P>) -> bool {
    let voted = |id| record(view, id) != Record::Nothing && rules.commit().refuses != Some(id);
    view.ids().all(voted)
}

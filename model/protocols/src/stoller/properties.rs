//! What is asked of Stoller's election alone: its specification, and invariants of its proofs.
//!
//! SLE1 and SLE2 are the paper's specification. The invariants are of the kind that H. Svensson
//! used (*A Semi-Automatic Correctness Proof Procedure applied to Stoller's Leader Election
//! Algorithm*, 2008; his conjectures are problems SWV475 to SWV484 of the TPTP library), with
//! larger ids higher.

use super::election::named;
use super::{Counter, Elid, Incarnation, Message, Process, Status, Stoller};
use bellwether_engine::protocol::{Id, Judge, Property, Protocol, View};

pub(super) const PROPERTIES: &[Property<Judge<Stoller>>] = property_table! {
    "sle1": "□ ∀ up i, j: norm(i) ∧ norm(j) ⇒ ldr(i) = ldr(j)",
        "no two normal processes have different leaders (Stoller 1997, SLE1)";
        Always(|_, view| view.agree(|id| leader(view, id)));
    "sle2": "◇□ ∀ up i: norm(i) ∧ up(ldr(i))",
        "in the end every process is normal, with a live leader, for good (Stoller 1997, SLE2)";
        EventuallyAlways(|_, view| {
            view.live().all(|id| leader(view, id).is_some_and(|leader| view.up(leader)))
        });
    "own-election" asked: "□ ∀ up i: elec1(i) ∨ elec2(i) ⇒ elid(i) is the last that i began",
        "a process that is in an election is in the latest of its own (Svensson 2008)",
        if "a process is in an election" => |_, view| live(view).any(|(_, p)| p.holds_election());
        Always(own_election);
    "downwards" asked: "□ ∀ HALT, LDR in flight from i to j: i > j",
        "only higher processes halt others and tell them that they lead (Svensson 2008)",
        if "a HALT or LDR is in flight" => |_, view| view.in_flight(|_, _, m| halts_or_leads(m));
        Always(|_, view| !view.in_flight(|from, to, m| from < to && halts_or_leads(m)));
    "leader-unsuspected" asked: "□ ∀ up i, j: leads(i) ⇒ i ∉ down(j)",
        "no process takes one that leads for down (Svensson 2008)",
        if "a process is taken for down" => someone_down;
        Always(|_, view| {
            let suspected = |i| live(view).any(|(_, p)| p.down.contains(i));
            !live(view).any(|(i, p)| p.leads() && suspected(i))
        });
    "not-passed-over" asked: "□ ∀ up i, j < i: elec2(i) ∧ i ∈ down(j) ⇒ pendack(i) ≥ j",
        "stage 2 has not passed a process that takes its owner for down (Svensson 2008)",
        if "a process is taken for down" => someone_down;
        Always(|_, view| {
            live(view).filter(|(_, p)| p.status == Status::Elec2).all(|(i, holder)| {
                let mut lower = live(view).filter(|&(j, p)| j < i && p.down.contains(i));
                lower.all(|(j, _)| holder.pendack >= Some(j))
            })
        });
    "new-names" asked: "□ ∀ i: no process and no message knows the name of i's next election",
        "the next election of a process has a name that none had before";
        Always(new_names);
};

fn live<'a>(view: &'a View<'a, Stoller>) -> impl Iterator<Item = (Id, &'a Process)> {
    view.live().map(|id| (id, view.process(id)))
}

/// The leader of a normal process.
fn leader(view: &View<'_, Stoller>, id: Id) -> Option<Id> {
    Stoller::belief(view.process(id)).leader(id)
}

fn halts_or_leads(message: Message) -> bool {
    matches!(message, Message::Halt(_) | Message::Ldr(_))
}

fn someone_down(_: &Stoller, view: &View<'_, Stoller>) -> bool {
    live(view).any(|(_, p)| !p.down.is_empty())
}

fn own_election(rules: &Stoller, view: &View<'_, Stoller>) -> bool {
    live(view).filter(|(_, p)| p.holds_election()).all(|(owner, p)| {
        let last = match rules.counter {
            Counter::Counts => p.nextel.checked_sub(1),
            Counter::Stands => Some(p.nextel),
        };
        last.is_some_and(|counter| {
            p.elid == Some(Elid { owner, incarnation: p.incarnation, counter })
        })
    })
}

fn new_names(rules: &Stoller, view: &View<'_, Stoller>) -> bool {
    let next = |owner: Id| {
        if view.up(owner) {
            let Process { incarnation, nextel, .. } = *view.process(owner);
            return Elid { owner, incarnation, counter: nextel };
        }
        let stable = rules.incarnation == Incarnation::Stable;
        let incarnation = if stable { view.stable(owner).saturating_add(1) } else { 0 };
        Elid { owner, incarnation, counter: 0 }
    };
    // Not only equal: those that come after the next one would be taken in time.
    let new = |elid: Elid| elid < next(elid.owner);
    live(view).all(|(_, p)| p.elid.is_none_or(new))
        && !view.in_flight(|_, _, message| named(message).is_some_and(|(_, elid)| !new(elid)))
}

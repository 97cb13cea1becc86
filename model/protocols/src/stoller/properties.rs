//! What is asked of Stoller's election alone: its specification, and invariants of its proofs.
//!
//! SLE1 and SLE2 are the paper's specification. The invariants are of the kind that H. Svensson
//! used (*A Semi-Automatic Correctness Proof Procedure applied to Stoller's Leader Election
//! Algorithm*, 2008; his conjectures are problems SWV475 to SWV484 of the TPTP library), with
//! larger ids higher.

use super::election::named;
use super::{Counter, Elid, Incarnation, Ldr, Message, Process, Status, Stoller};
use bellwether_engine::protocol::{Id, Judge, Property, View};

pub(super) const ALL: &[Property<Judge<Stoller>>] = property_table! {
    "sle1": "□ ∀ up i, j: norm(i) ∧ norm(j) ⇒ ldr(i) = ldr(j)",
        "no two normal processes have different leaders (Stoller 1997, SLE1)";
        Always(sle1);
    "sle2": "◇□ ∀ up i: norm(i) ∧ up(ldr(i))",
        "in the end every process is normal, with a live leader, for good (Stoller 1997, SLE2)";
        EventuallyAlways(sle2);
    "own-election" asked: "□ ∀ up i: elec1(i) ∨ elec2(i) ⇒ elid(i) is the last that i began",
        "a process that is in an election is in the latest of its own (Svensson 2008)",
        if "a process is in an election" => |_, view| live(view).any(|(_, p)| holds(p));
        Always(own_election);
    "downwards" asked: "□ ∀ HALT, LDR in flight from i to j: i > j",
        "only higher processes halt others and tell them that they lead (Svensson 2008)",
        if "a HALT or LDR is in flight" => |_, view| {
            view.in_flight(|_, _, m| matches!(m, Message::Halt(_) | Message::Ldr(_)))
        };
        Always(downwards);
    "leader-unsuspected" asked: "□ ∀ up i, j: leads(i) ⇒ i ∉ down(j)",
        "no process takes one that leads for down (Svensson 2008)",
        if "a process is taken for down" => someone_down;
        Always(leader_unsuspected);
    "not-passed-over" asked: "□ ∀ up i, j < i: elec2(i) ∧ i ∈ down(j) ⇒ pendack(i) ≥ j",
        "stage 2 has not passed a process that takes its owner for down (Svensson 2008)",
        if "a process is taken for down" => someone_down;
        Always(not_passed_over);
    "new-names" asked: "□ ∀ i: no process and no message knows the name of i's next election",
        "the next election of a process has a name that none had before";
        Always(new_names);
};

fn live<'a>(view: &'a View<'a, Stoller>) -> impl Iterator<Item = (Id, &'a Process)> {
    view.ids().filter(|&id| view.up(id)).map(|id| (id, view.process(id)))
}

fn holds(process: &Process) -> bool {
    matches!(process.status, Status::Elec1 | Status::Elec2)
}

/// The leader of a normal process.
fn leader(id: Id, process: &Process) -> Option<Id> {
    match (process.status, process.ldr) {
        (Status::Norm, Ldr::Itself) => Some(id),
        (Status::Norm, Ldr::Other(leader)) => Some(leader),
        _ => None,
    }
}

fn leads(process: &Process) -> bool {
    (process.status, process.ldr) == (Status::Norm, Ldr::Itself)
}

fn sle1(_: &Stoller, view: &View<'_, Stoller>) -> bool {
    let mut leaders = live(view).filter_map(|(id, p)| leader(id, p));
    leaders.next().is_none_or(|first| leaders.all(|other| other == first))
}

fn sle2(_: &Stoller, view: &View<'_, Stoller>) -> bool {
    live(view).all(|(id, p)| leader(id, p).is_some_and(|leader| view.up(leader)))
}

fn own_election(rules: &Stoller, view: &View<'_, Stoller>) -> bool {
    live(view).filter(|(_, p)| holds(p)).all(|(owner, p)| {
        let last = match rules.counter {
            Counter::Counts => p.nextel.checked_sub(1),
            Counter::Stands => Some(p.nextel),
        };
        last.is_some_and(|counter| {
            p.elid == Some(Elid { owner, incarnation: p.incarnation, counter })
        })
    })
}

fn downwards(_: &Stoller, view: &View<'_, Stoller>) -> bool {
    !view.in_flight(|from, to, message| {
        from < to && matches!(message, Message::Halt(_) | Message::Ldr(_))
    })
}

fn someone_down(_: &Stoller, view: &View<'_, Stoller>) -> bool {
    live(view).any(|(_, p)| p.down.iter().next().is_some())
}

fn leader_unsuspected(_: &Stoller, view: &View<'_, Stoller>) -> bool {
    let leaders = live(view).filter(|(_, p)| leads(p));
    leaders.map(|(id, _)| id).all(|id| !live(view).any(|(_, p)| p.down.contains(id)))
}

fn not_passed_over(_: &Stoller, view: &View<'_, Stoller>) -> bool {
    let mut in_stage_two = live(view).filter(|(_, p)| p.status == Status::Elec2);
    in_stage_two.all(|(i, holder)| {
        let mut lower = live(view).filter(|&(j, p)| j < i && p.down.contains(i));
        lower.all(|(j, _)| holder.pendack >= Some(j))
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

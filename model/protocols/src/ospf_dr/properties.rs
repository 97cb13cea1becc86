//! What is asked of this election besides what every election is asked.

use super::{Belief, OspfDr};
use bellwether_engine::protocol::{Judge, Property, Protocol, View};
use bellwether_engine::temporal::{Liveness, Temporal};

pub(super) const ALL: &[Property<Judge<OspfDr>>] = &[
    Property {
        name: "never-both",
        formula: "□ ∀ up i: ¬(dr(i) = i ∧ bdr(i) = i)",
        meaning: "no router takes itself for both (RFC 2328, section 9.4, step 4)",
        by_default: true,
        premise: None,
        temporal: Temporal::Always(never_both),
    },
    Property {
        name: "backup-settles",
        formula: "◇□ ∀ up i, j: bdr(i) = bdr(j) ∧ (up(bdr(i)) ∧ bdr(i) ≠ dr(i) ∨ fewer than two \
                  may be)",
        meaning: "in the end all agree on one live backup besides the DR, if there are two to \
                  choose",
        by_default: true,
        premise: None,
        temporal: Temporal::Liveness(Liveness::EventuallyAlways(backup_settled)),
    },
    Property {
        name: "dr-hears",
        formula: "◇□ ∀ up i: follows(i, l) ∧ up(l) ⇒ l hears i",
        meaning: "in the end no router relies on a DR that does not hear it",
        by_default: true,
        premise: None,
        temporal: Temporal::Liveness(Liveness::EventuallyAlways(dr_hears)),
    },
];

fn never_both(_: &OspfDr, view: &View<'_, OspfDr>) -> bool {
    view.ids().all(|id| {
        let process = view.process(id);
        !(process.dr == Some(id) && process.bdr == Some(id))
    })
}

fn backup_settled(rules: &OspfDr, view: &View<'_, OspfDr>) -> bool {
    let nodes = view.ids().count();
    let live = || view.ids().filter(|&id| view.up(id));
    let may = live().filter(|&id| rules.may_lead(id, nodes)).count();
    let Some(first) = live().next().map(|id| view.process(id)) else { return true };
    let agreed = live().all(|id| view.process(id).bdr == first.bdr);
    agreed
        && match first.bdr {
            Some(bdr) => may >= 2 && view.up(bdr) && first.dr != Some(bdr),
            None => may < 2,
        }
}

fn dr_hears(_: &OspfDr, view: &View<'_, OspfDr>) -> bool {
    let live = view.ids().filter(|&id| view.up(id));
    live.into_iter().all(|id| match OspfDr::belief(view.process(id)) {
        Belief::Follows(dr) => !view.up(dr) || view.hears(dr, id),
        Belief::Leads | Belief::Undecided => true,
    })
}

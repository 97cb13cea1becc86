//! The calculation of DR and BDR: RFC 2328, section 9.4, step by step.

use super::{Declares, Id, Interface, Local, OspfDr, Timer};
use smallvec::SmallVec;

/// Those among whom the choice is, ascending, each with what it says of itself.
type List = SmallVec<[(Id, Declares); 7]>;

impl OspfDr {
    /// "Router X calculates the two anew."
    pub(super) fn elect(&self, p: &mut Local<'_, Self>) {
        // 1. Keep in mind who is in office.
        let before = p.state.declares(p.id());
        // 2. and 3.
        self.calculate(p);
        // 4. If X has come into office, or out of it, by this, once more: as DR it can no longer be
        //    the backup, so that no router ends as both.
        if p.state.declares(p.id()) != before && self.repeat {
            self.calculate(p);
        }
        // 5. The state of the interface follows.
        if p.state.interface == Interface::Waiting {
            p.cancel(Timer::Wait);
        }
        p.state.take_office(p.id());
    }

    /// Steps 2 and 3.
    fn calculate(&self, p: &mut Local<'_, Self>) {
        let list = self.list(p);
        if self.preempt {
            let mut best = list.iter().rev().map(|&(id, _)| id);
            (p.state.dr, p.state.bdr) = (best.next(), best.next());
            return;
        }
        let declared = |office| highest(&list, |d| d == office);
        // 2. The BDR is never one that declares itself DR. It is the highest of those that declare
        //    themselves BDR; if none does, the highest of all the others.
        let bdr = declared(Declares::Backup).or_else(|| highest(&list, |d| d != Declares::Dr));
        // 3. The DR is the highest of those that declare themselves DR; if none does, the new BDR
        //    is promoted.
        p.state.dr = declared(Declares::Dr).or(bdr);
        p.state.bdr = bdr;
    }

    /// Router X itself, and its neighbours that are 2-Way; without those of priority 0.
    fn list(&self, p: &Local<'_, Self>) -> List {
        let own = |id: Id| match id == p.id() {
            true => Some(p.state.declares(id)),
            false => p.state.neighbors[id.index()].listed(),
        };
        let eligible = Id::all(p.nodes()).filter(|&id| self.may_lead(id, p.nodes()));
        eligible.filter_map(|id| own(id).map(|declares| (id, declares))).collect()
    }
}

/// The highest that says such a thing of itself: the order of ids is that of priority, and among
/// equals that of Router IDs.
fn highest(list: &List, wanted: impl Fn(Declares) -> bool) -> Option<Id> {
    list.iter().rev().find(|&&(_, declares)| wanted(declares)).map(|&(id, _)| id)
}

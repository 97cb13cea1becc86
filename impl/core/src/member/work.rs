//! Work that only a leader may do, and that its node waits for before it leads no longer.
//!
//! A core that stops leading before its lease is over has decided so, and nothing of it has left
//! the node yet: no grant, no message. The member has all work ended then, and holds that back
//! until it has ended. It renews nothing meanwhile, so the lease is the bound: once it is over, no
//! guard is valid, and no node needs to be told anything.

use super::Member;
use super::event::{Action, Event, LogLine};
use super::steps::Task;
use crate::protocol::{Core, Lease, Time};

impl<C: Core> Member<C> {
    /// Returns whether the member does nothing but wait until the work of a leadership has ended:
    /// until then, or until its [wait](Member::wait) is over, nothing else needs to be handed over.
    #[must_use]
    pub fn awaits_work(&self) -> bool {
        self.ending.is_some()
    }

    /// The node gives up this lease: work ends first. Whether a node is silent is asked anew after
    /// that.
    pub(super) fn end_work(&mut self, lease: Lease) {
        self.ending = Some(lease);
        self.tasks.retain(|task| !matches!(task, Task::Suspect | Task::AbandonWaits(_)));
        self.actions.push(Action::EndWork(lease.epoch));
    }

    /// Something happens while the member waits for work: that it has ended, or that its lease is
    /// over. Anything else comes later.
    pub(super) fn wait_for_work(&mut self, now: Time, event: Event<C::Message>) {
        let Some(lease) = self.ending else { return };
        match event {
            Event::WorkEnded => {}
            event => {
                if !matches!(event, Event::Wake) {
                    self.deferred_events.push_back(event);
                }
                if now < lease.until {
                    return;
                }
                self.actions.push(Action::Log(LogLine::WorkUnfinished(lease.epoch)));
            }
        }
        self.ending = None;
        self.drain_outputs(now);
    }
}

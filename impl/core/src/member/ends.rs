//! How a member gives up its leadership, and takes part no longer.
//!
//! A node waits for the work that only a leader may do before it leads no longer. A core that stops
//! leading before its lease is over has decided so, and nothing of it has left the node yet: no
//! grant, no message. The member has all work ended then, and holds that back until it has ended.
//! It renews nothing meanwhile, so the lease is the bound: once it is over, no guard is valid, and
//! no node needs to be told anything.
//!
//! A member that is told to stop hands over if it leads, waits for its storage for a while, and
//! ends.

use std::time::Duration;

use super::Member;
use super::event::{Action, End, Event, LogLine};
use super::steps::Task;
use crate::protocol::{Core, Input, Lease, Request, Time};

/// How long a member that leaves waits for its storage.
const LONGEST_CLOSE: Duration = Duration::from_millis(500);

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It takes part.
    Running,
    /// It was told to stop, and hands over first.
    HandingOver,
    /// It waits for its storage, until then at most.
    Closing { until: Time, end: End },
    /// It takes part no longer.
    Ended,
}

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

    /// Whether it takes part: whether it does anything but wait for its storage.
    pub(super) fn takes_part(&self) -> bool {
        matches!(self.stage, Stage::Running | Stage::HandingOver)
    }

    /// Returns whether nothing is left to do but to wait for the storage, or to [end](Action::End).
    #[must_use]
    pub fn leaves(&self) -> bool {
        !self.takes_part()
    }

    /// It is told to stop. No node is to wait for its lease to run out: a leader hands over first.
    pub(super) fn stop(&mut self, now: Time) {
        if self.stage == Stage::HandingOver {
            return;
        }
        if C::REQUESTS && self.leads() {
            self.stage = Stage::HandingOver;
            let request = Request::Yield(self.node.successor());
            self.tasks.push_back(Task::Step(Input::Request(request)));
        } else {
            self.close(now, End::Left);
        }
    }

    /// It was told to stop, and leads no longer.
    pub(super) fn close_after_step_down(&mut self, now: Time) {
        if self.stage == Stage::HandingOver && !self.leads() {
            self.close(now, End::HandedOver);
        }
    }

    /// The member leaves. What its storage has not acknowledged soon may be lost, and what depends
    /// on that is not sent; nor is the program told any more that its node leads.
    fn close(&mut self, now: Time, end: End) {
        self.stage = Stage::Closing { until: now + LONGEST_CLOSE, end };
        self.unsaved.cancel_leadership();
        self.disk.withdrawn = false;
        self.end_if_saved(end);
    }

    /// Something happens while it waits for its storage.
    pub(super) fn handle_while_closing(&mut self, now: Time, event: Event<C::Message>) {
        let Stage::Closing { until, end } = self.stage else { return };
        if let Event::StorageAnswered(answer) = event {
            if !self.on_storage_answer(now, answer) {
                return;
            }
            self.flush_unsaved(now);
        }
        self.end_if_saved(end);
        if self.stage != Stage::Ended && now >= until {
            self.actions.push(Action::Log(LogLine::Unsaved));
            self.end(end);
        }
    }

    fn end_if_saved(&mut self, end: End) {
        if !self.is_behind() {
            self.end(end);
        }
    }

    /// It does nothing any more.
    pub(super) fn end(&mut self, end: End) {
        self.stage = Stage::Ended;
        self.tasks.clear();
        self.deferred_events.clear();
        self.actions.push(Action::End(end));
    }
}

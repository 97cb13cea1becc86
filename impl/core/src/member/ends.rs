//! How a member takes part no longer: it hands over if it leads, waits for its storage for a while,
//! and ends.

use std::time::Duration;

use super::Member;
use super::event::{Action, End, Event, LogLine};
use super::steps::Task;
use crate::protocol::{Core, Input, Request, Time};

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

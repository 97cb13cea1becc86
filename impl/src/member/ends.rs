//! How a member takes part no longer: it hands over if it leads, waits for its storage for a while,
//! and ends.

use std::time::Duration;

use super::Member;
use super::event::{Action, End, Event, Line};
use super::steps::Task;
use crate::protocol::{Core, Input, Request, Time};

/// How long a member that leaves waits for its storage.
const LONGEST_CLOSE: Duration = Duration::from_millis(500);

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It takes part.
    TakesPart,
    /// It was told to stop, and hands over first.
    HandsOver,
    /// It waits for its storage, until then at most.
    Closes { until: Time, end: End },
    /// It takes part no longer.
    Over,
}

impl<C: Core> Member<C> {
    /// Whether it takes part: whether it does anything but wait for its storage.
    pub(super) fn takes_part(&self) -> bool {
        matches!(self.stage, Stage::TakesPart | Stage::HandsOver)
    }

    /// Whether nothing is left to do but to wait for the storage, or to [end](Action::End).
    #[must_use]
    pub fn leaves(&self) -> bool {
        !self.takes_part()
    }

    /// It is told to stop. No node is to wait for its lease to run out: a leader hands over first.
    pub(super) fn stop(&mut self, now: Time) {
        if self.stage == Stage::HandsOver {
            return;
        }
        if C::REQUESTS && self.leads() {
            self.stage = Stage::HandsOver;
            let request = Request::Yield(self.node.successor());
            self.todo.push_back(Task::Step(Input::Request(request)));
        } else {
            self.close(now, End::Left);
        }
    }

    /// It was told to stop, and leads no longer.
    pub(super) fn leave_if_it_may(&mut self, now: Time) {
        if self.stage == Stage::HandsOver && !self.leads() {
            self.close(now, End::HandedOver);
        }
    }

    /// The member leaves. What its storage has not acknowledged soon may be lost, and what depends
    /// on that is not sent; nor is the program told any more that its node leads.
    fn close(&mut self, now: Time, end: End) {
        self.stage = Stage::Closes { until: now + LONGEST_CLOSE, end };
        self.unsaved.lost();
        self.disk.withdrawn = false;
        self.end_if_saved(end);
    }

    /// Something happens while it waits for its storage.
    pub(super) fn close_on(&mut self, now: Time, event: Event<C::Message>) {
        let Stage::Closes { until, end } = self.stage else { return };
        if let Event::Stored(answer) = event {
            if !self.stored(now, answer) {
                return;
            }
            self.catch_up(now);
        }
        self.end_if_saved(end);
        if self.stage != Stage::Over && now >= until {
            self.actions.push(Action::Log(Line::Unsaved));
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
        self.stage = Stage::Over;
        self.todo.clear();
        self.later.clear();
        self.actions.push(Action::End(end));
    }
}

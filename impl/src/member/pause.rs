//! Whether the process, or its machine, stood still for so long that the others may have elected
//! another leader.

use std::time::Duration;

use super::steps::Task;
use super::{LONGEST_SLEEP, Member};
use crate::protocol::{Core, Input, Reason, Role, Status, Time};

/// When the member ran last, and when it was to run again.
#[derive(Debug)]
pub(super) struct Awake {
    /// For how long a leader may do nothing.
    silence: Duration,
    looked: Time,
    due: Time,
}

impl Awake {
    pub(super) fn new(silence: Duration, now: Time) -> Self {
        Self { silence, looked: now, due: now }
    }

    /// For how long a leader may do nothing.
    pub(super) fn silence(&self) -> Duration {
        self.silence
    }

    /// The member waits until its deadline, and for no longer than a process sleeps. That counts
    /// from when it ran last: a process may stand still before it begins to wait as well. Returns
    /// when the wait is over.
    pub(super) fn waits(&mut self, deadline: Option<Time>) -> Time {
        let longest = self.looked + LONGEST_SLEEP;
        self.due = deadline.map_or(longest, |deadline| deadline.min(longest));
        self.due
    }

    /// The member runs. Whether it did nothing for longer than it may, which is no wait that it
    /// chose itself.
    pub(super) fn runs(&mut self, now: Time) -> bool {
        let (gap, late) = (now.since(self.looked), now.since(self.due));
        self.looked = now;
        gap >= self.silence && late >= self.silence / 2
    }
}

impl<C: Core> Member<C> {
    /// Notices a pause. The others may follow another leader by now, also where the protocol does
    /// not tell this node: its program is told that it leads no longer. If the node leads still
    /// when the others have had the time to hear so, its program is told that. So it is if it has
    /// not been told yet that the node leads, as that waits for the storage, or for the program.
    pub(super) fn look(&mut self, now: Time) {
        if self.awake.runs(now) {
            if self.told.leads() {
                self.announce(Role::Waiting, None, Reason::PAUSED);
            }
            self.resume = self.leads().then_some(now + self.awake.silence());
        }
        if self.may_resume(now) {
            // Its deadlines come first.
            self.todo.push_back(Task::Step(Input::Wake));
            self.todo.push_back(Task::Resume);
        }
    }

    /// Tells the program that its node leads still, if it does.
    pub(super) fn resume(&mut self, now: Time) {
        if self.may_resume(now) {
            let reason = self.untold.unwrap_or(Reason::RESUMED);
            self.begin_anew();
            if self.leads() && self.is_prepared() {
                let Status { role, leader, .. } = self.node.status();
                self.announce(role, leader, reason);
            }
        }
    }

    fn may_resume(&self, now: Time) -> bool {
        self.resumes().is_some_and(|resume| resume <= now)
    }

    /// When its program is told that it leads still: not before the others can be.
    pub(super) fn resumes(&self) -> Option<Time> {
        self.resume.filter(|_| !self.is_behind())
    }

    /// Whatever the program was to be told later on, it is told something else.
    pub(super) fn begin_anew(&mut self) {
        self.resume = None;
        self.untold = None;
        self.disk.withdrawn = false;
    }
}

#[cfg(test)]
mod tests;

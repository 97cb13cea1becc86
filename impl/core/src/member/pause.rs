//! Whether the process, or its machine, stood still for so long that the others may have elected
//! another leader.

use std::time::Duration;

use super::steps::Task;
use super::{LONGEST_SLEEP, Member};
use crate::protocol::{Core, Input, Reason, Role, Status, Time};

/// When the member ran last, and when it was to run again.
#[derive(Clone, Debug)]
pub(super) struct PauseDetector {
    /// For how long a leader may do nothing.
    pub(super) silence: Duration,
    pub(super) last_run: Time,
    due: Time,
}

impl PauseDetector {
    pub(super) fn new(silence: Duration, now: Time) -> Self {
        Self { silence, last_run: now, due: now }
    }

    /// The member waits until its deadline, and for no longer than a process sleeps. That counts
    /// from when it ran last: a process may stand still before it begins to wait as well. Returns
    /// when the wait is over.
    pub(super) fn expect_wake(&mut self, deadline: Option<Time>) -> Time {
        let longest = self.last_run + LONGEST_SLEEP;
        self.due = deadline.map_or(longest, |deadline| deadline.min(longest));
        self.due
    }

    /// The member runs. Whether it did nothing for longer than it may, which is no wait that it
    /// chose itself.
    pub(super) fn check(&mut self, now: Time) -> bool {
        let (gap, late) = (now.since(self.last_run), now.since(self.due));
        self.last_run = now;
        gap >= self.silence && late >= self.silence / 2
    }
}

impl<C: Core> Member<C> {
    /// Notices a pause. The others may follow another leader by now, also where the protocol does
    /// not tell this node: its program is told that it leads no longer. If the node leads still
    /// when the others have had the time to hear so, its program is told that. So it is if it has
    /// not been told yet that the node leads, as that waits for the storage, or for the program.
    pub(super) fn check_pause(&mut self, now: Time) {
        if self.pause_detector.check(now) {
            if self.view.leads() {
                self.announce(Role::Waiting, None, Reason::PAUSED);
            }
            self.resume = self.leads().then_some(now + self.pause_detector.silence);
        }
        // A node that gives up its lease has nothing to resume.
        if !self.awaits_work() && self.may_resume(now) {
            // Its deadlines come first.
            self.tasks.push_back(Task::Step(Input::Wake));
            self.tasks.push_back(Task::Resume);
        }
    }

    /// Tells the program that its node leads still, if it does.
    pub(super) fn resume(&mut self, now: Time) {
        if self.may_resume(now) {
            let reason = self.unannounced.unwrap_or(Reason::RESUMED);
            self.cancel_announcement();
            if self.leads() && self.is_prepared() {
                let Status { role, leader, .. } = self.node.status();
                self.announce(role, leader, reason);
            }
        }
    }

    fn may_resume(&self, now: Time) -> bool {
        self.resume_deadline().is_some_and(|resume| resume <= now)
    }

    /// When its program is told that it leads still: not before the others can be.
    pub(super) fn resume_deadline(&self) -> Option<Time> {
        self.resume.filter(|_| !self.is_behind())
    }

    /// Whatever the program was to be told later on, it is told something else.
    pub(super) fn cancel_announcement(&mut self) {
        self.resume = None;
        self.unannounced = None;
        self.disk.withdrawn = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Duration::from_millis(milliseconds)
    }

    /// Until when it waits, if it does; when it runs then; and whether that is a pause.
    type Run = (Option<Option<u64>>, u64, bool);

    #[test]
    fn only_a_wait_that_was_not_chosen_is_a_pause() {
        let nothing = Some(None);
        let cases: [&[Run]; 3] = [
            &[
                (Some(Some(100)), 130, false), // It is a little late.
                (nothing, 1_150, false),       // It had nothing to do for a second.
                (Some(Some(1_250)), 1_550, true),
                (None, 1_551, false), // It is told once.
            ],
            // What it does takes too long, and the next wait has not begun.
            &[(Some(Some(100)), 100, false), (None, 600, true)],
            // It may stand still before it waits: the second counts from when it ran last.
            &[(nothing, 900, false), (nothing, 2_200, true)],
        ];
        for runs in cases {
            let mut detector = PauseDetector::new(Duration::from_millis(400), at(0));
            for &(waits, now, is_pause) in runs {
                if let Some(deadline) = waits {
                    let _ = detector.expect_wake(deadline.map(at));
                }
                assert_eq!(detector.check(at(now)), is_pause, "{now} ms: {runs:?}");
            }
        }
    }
}

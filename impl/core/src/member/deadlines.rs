//! What a member does at some moment, whatever happens before.

use std::time::Duration;

use super::Member;
use super::ends::Stage;
use super::unsaved::Unsaved;
use super::watch::Watch;
use crate::protocol::{Core, Reason, Time};

/// What is due at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Deadline<T> {
    /// A timer of the node expires.
    Timer(T),
    /// The program is told that its node leads still.
    Resume,
    /// The storage has not answered for too long.
    StorageLate,
    /// The storage is asked whether anything could be saved.
    Probe,
    /// The lease is over that the node gives up, whether the work under it has ended or not.
    Work,
}

impl<C: Core> Member<C> {
    /// When to look again, at the latest.
    pub(super) fn deadline(&self, now: Time) -> Option<Time> {
        match (self.stage, self.ending) {
            (Stage::Ended, _) => None,
            (Stage::Closing { until, .. }, _) => Some(until),
            (_, Some(lease)) => Some(lease.until),
            (_, None) => {
                let watch = self.watch.as_ref().map(Watch::deadline);
                let next = self.wake.into_iter().chain(watch).chain(self.resume_deadline());
                let disk = self.disk_due().filter(|&(deadline, at)| {
                    // Once it is late, nothing more follows from that.
                    deadline == Deadline::Probe || at > now
                });
                next.chain(disk.map(|(_, at)| at)).min()
            }
        }
    }

    /// The moment at which the round begins that is due then. All aligned members have beats in
    /// common, which are a little longer apart than rounds. A round that is due shortly before a
    /// beat waits for it, and so is due shortly before the next: it stays with the others. One that
    /// is due at another moment comes earlier with each beat, until it is due shortly before one.
    pub(super) fn align(&self, deadline: Time) -> Time {
        let config = self.node.config();
        let Some((timer, slack)) = C::beat(config).filter(|_| self.aligned) else {
            return deadline;
        };
        let (round, period) = (Deadline::Timer(timer), C::period(config, timer) + slack);
        let late = u128::from(deadline.as_nanos()) % period.as_nanos().max(1);
        let early = period.as_nanos().saturating_sub(late);
        let wait = Duration::from_nanos(u64::try_from(early).unwrap_or(u64::MAX));
        let beat = deadline + wait;
        let is_due = self.armed().any(|armed| armed == (round, deadline));
        let mut others = self.armed().filter(|&(other, _)| other != round).map(|(_, at)| at);
        let watched = self.watch.as_ref().is_none_or(|watch| watch.deadline() > beat);
        let waits = is_due && wait <= slack && watched && others.all(|at| at > beat);
        if waits { beat } else { deadline }
    }

    /// The deadlines of a member that takes part, but for those of its failure detectors, each with
    /// its time. It [waits](Member::wait) for the first of them, with two exceptions. One that has
    /// passed may stay, until what holds it up is over: a program is told nothing while a state is
    /// not durable. And while the work of a leadership ends, [`Deadline::Work`] alone counts.
    pub fn armed(&self) -> impl Iterator<Item = (Deadline<C::Timer>, Time)> + '_ {
        let timers = self.node.armed().map(|(timer, at)| (Deadline::Timer(timer), at));
        let resume = self.resume.map(|at| (Deadline::Resume, at));
        let work = self.ending.map(|lease| (Deadline::Work, lease.until));
        timers.chain(resume).chain(self.disk_due()).chain(work)
    }

    /// Lets a deadline pass at `to` already; nothing happens if there is none, or it is due by
    /// then. For tests that let things happen in an order that the configured durations forbid;
    /// see [`Node::bring_forward`](crate::protocol::Node::bring_forward).
    pub fn bring_forward(&mut self, deadline: Deadline<C::Timer>, to: Time) {
        match deadline {
            Deadline::Timer(timer) => self.node.bring_forward(timer, to),
            Deadline::Resume => self.resume = self.resume.map(|at| at.min(to)),
            Deadline::StorageLate | Deadline::Probe => {
                if self.disk_due().is_some_and(|(due, _)| due == deadline) {
                    self.disk.bring_forward(to);
                }
            }
            Deadline::Work => {
                if let Some(lease) = &mut self.ending {
                    lease.until = lease.until.min(to);
                }
            }
        }
    }

    /// Lets the time pass until `now`, as if the member had run all the while, and nothing had been
    /// due. For tests in which the time jumps.
    pub fn pass_time(&mut self, now: Time) {
        self.pause_detector.last_run = now;
    }

    /// Returns what waits for the storage.
    #[must_use]
    pub fn unsaved(&self) -> &Unsaved<C::Durable, C::Message> {
        &self.unsaved
    }

    /// Returns why the node has come to lead, if its program has not been told so yet only because
    /// the node was silent.
    #[must_use]
    pub fn unannounced(&self) -> Option<Reason> {
        self.unannounced
    }

    /// Returns what has happened while the member waited for work, in its order.
    pub fn deferred_events(&self) -> impl Iterator<Item = &super::Event<C::Message>> {
        self.deferred_events.iter()
    }

    /// Returns whether the node leads, and has said nothing for too long, as its storage does not
    /// answer.
    #[must_use]
    pub fn is_withdrawn(&self) -> bool {
        self.disk.withdrawn
    }

    /// Returns whether the storage does not answer, or has failed to.
    #[must_use]
    pub fn is_stalled(&self) -> bool {
        self.disk.stalled
    }
}

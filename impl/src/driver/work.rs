//! Work that only a leader may do, and that its node waits for before it leads no longer: what the
//! program has under way, and who waits for it. When it has to end, its [member](crate::member)
//! decides.

use std::thread;
use std::time::Duration;

use tokio::sync::watch;

use super::guard::Guard;
use super::leadership::LeadershipWatch;
use crate::protocol::Epoch;

/// The time for which a node does not stand for election after its work has panicked. Meanwhile
/// another node can lead, and the program can get ready to work again.
pub(super) const PANIC_PAUSE: Duration = Duration::from_secs(10);

/// Work that only a leader may do, under way: a [`Guard`] that the node waits for.
///
/// Before a node hands over, or makes way for a higher one or for a higher epoch, it asks all work
/// to [end](Work::asked_to_end), and waits until each value of this type is dropped. Only then do
/// other nodes learn of it, so none of them leads before. The node does not renew its lease
/// meanwhile, and waits for no longer than that lasts: work that has not ended by then counts no
/// more than with a guard alone.
///
/// Drop it when nothing of the work can happen any more: what was started has ended, what was sent
/// is answered.
///
/// A node must not lead on when a panic has ended its work. So one that is dropped by a panic, as
/// the task that has it unwinds, makes the node hand over, and not stand for election for 10 seconds.
/// No work begins any more under that leadership.
#[derive(Debug)]
pub struct Work {
    guard: Guard,
    leadership: LeadershipWatch,
}

/// All work of one node.
#[derive(Debug, Default)]
pub(super) struct WorkTracker(watch::Sender<State>);

#[derive(Clone, Copy, Debug, Default)]
struct State {
    under_way: usize,
    /// The epoch whose work is to end; none begins any more.
    ends: Option<Epoch>,
    /// The loop around the node does nothing but wait for it.
    awaited: bool,
    /// Work has panicked, and the loop around the node has not done what follows from that.
    panicked: bool,
}

impl WorkTracker {
    /// Work of this epoch is to end. Whether there is none.
    pub(super) fn ask_to_end(&self, epoch: Epoch) -> bool {
        self.0.send_modify(|state| state.ends = Some(epoch));
        self.0.borrow().under_way == 0
    }

    /// Whether the loop around the node waits for it from here on.
    pub(super) fn set_awaited(&self, awaited: bool) {
        self.0.send_if_modified(|state| std::mem::replace(&mut state.awaited, awaited) != awaited);
    }

    /// Waits until the loop around the node waits for work. If it does already, at once.
    pub(super) async fn awaited(&self) {
        // The sender is here: it does not go.
        let _ = self.0.subscribe().wait_for(|state| state.awaited).await;
    }

    /// Waits until work has panicked, and nothing has followed from that.
    pub(super) async fn panicked(&self) {
        // The sender is here: it does not go.
        let _ = self.0.subscribe().wait_for(|state| state.panicked).await;
    }

    /// Forgets a panic, as what follows from it is about to be done.
    pub(super) fn forget_panic(&self) {
        self.0.send_modify(|state| state.panicked = false);
    }

    /// Waits until there is none.
    pub(super) async fn ended(&self) {
        // The sender is here: it does not go.
        let _ = self.0.subscribe().wait_for(|state| state.under_way == 0).await;
    }
}

impl Work {
    /// Work under this guard; none if its epoch is about to end, or has ended.
    pub(super) fn begin(guard: Guard, leadership: LeadershipWatch) -> Option<Self> {
        let epoch = Some(guard.epoch());
        let begins = guard.work_tracker().0.send_if_modified(|state| {
            let begins = state.ends != epoch;
            state.under_way += usize::from(begins);
            begins
        });
        let work = begins.then(|| Self { guard, leadership });
        // One that has begun a moment too late has ended by this.
        work.filter(|work| work.guard.is_valid_now())
    }

    /// Returns the leadership under which the work is done.
    #[must_use]
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// Returns whether the work is to end: the node is about to stop leading, or leads no longer.
    #[must_use]
    pub fn is_asked_to_end(&self) -> bool {
        self.guard.work_tracker().0.borrow().ends == Some(self.guard.epoch())
            || !self.guard.is_valid_now()
    }

    /// Waits until the work is to end: until the node is about to stop leading, or its lease is
    /// over.
    pub async fn asked_to_end(&self) {
        let mut state = self.guard.work_tracker().0.subscribe();
        let epoch = Some(self.guard.epoch());
        tokio::select! {
            _ = state.wait_for(|state| state.ends == epoch) => {}
            () = self.guard.lost(self.leadership.clone()) => {}
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        let panicked = thread::panicking();
        let epoch = panicked.then_some(self.guard.epoch());
        // The queue of commands may be full, and this must not wait: the loop looks here instead.
        self.guard.work_tracker().0.send_modify(|state| {
            state.under_way -= 1;
            state.panicked |= panicked;
            state.ends = state.ends.max(epoch);
        });
    }
}

//! A time-out that would expire too early: whose it is, and what it waits for.

use super::{Envelope, State, World};
use crate::machine::Timer;
use crate::protocol::Id;

/// A time-out that is due although what it waits for can still come.
#[derive(Clone, Debug)]
pub struct TooEarly {
    /// The process whose time-out it is.
    pub id: Id,
    /// The timer.
    pub timer: Timer,
    /// The messages in flight that it waits for: if they were not in flight, it might expire, and
    /// with any of them it may not. None if it waits for more than messages.
    pub messages: Vec<Envelope>,
    /// The processes that may still send what it waits for, if it waits for more than messages: if
    /// one of them were down, it might expire.
    pub senders: Vec<Id>,
}

impl World {
    /// Returns the time-outs that are due in `state` although what they wait for can still come;
    /// none where [they are accurate](World::time_outs_are_accurate).
    #[must_use]
    pub fn too_early(&self, state: &State) -> Vec<TooEarly> {
        let is_early = |&of: &(Id, Timer)| !self.is_rightly_due(state, of);
        self.due_at(state, true).filter(is_early).map(|of| self.why(state, of)).collect()
    }

    fn is_rightly_due(&self, state: &State, (id, timer): (Id, Timer)) -> bool {
        self.machine.may_time_out(&self.view(state), id, timer)
    }

    fn why(&self, state: &State, (id, timer): (Id, Timer)) -> TooEarly {
        let silent = without(state, state.in_flight());
        let mut messages = Vec::new();
        if self.is_rightly_due(&silent, (id, timer)) {
            messages = self.least(state, (id, timer));
        }
        let decides = |&other: &Id| {
            let down = silent.without(other, &*self.machine);
            self.is_rightly_due(&down, (id, timer))
        };
        let others = state.ids().filter(|&other| other != id && state.up(other));
        let senders = others.filter(|other| messages.is_empty() && decides(other)).collect();
        TooEarly { id, timer, messages, senders }
    }

    /// As few messages as have to be out of flight for the timer to expire rightly.
    fn least(&self, state: &State, of: (Id, Timer)) -> Vec<Envelope> {
        let mut least = state.in_flight().to_vec();
        least.dedup();
        for envelope in least.clone() {
            let fewer: Vec<Envelope> = least.iter().copied().filter(|e| *e != envelope).collect();
            if self.is_rightly_due(&without(state, &fewer), of) {
                least = fewer;
            }
        }
        least
    }
}

/// The same state, but that these messages are not in flight.
fn without(state: &State, messages: &[Envelope]) -> State {
    let mut state = state.clone();
    state.flight.retain(|envelope| !messages.contains(envelope));
    state
}

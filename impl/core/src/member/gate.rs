//! What a program does before it is told that its node leads.
//!
//! With a gate, a member that has come to lead says so to the other nodes, and not to its own
//! program: that sees it waiting until it has prepared itself. The lease is renewed meanwhile, so
//! no other node leads. A program that cannot prepare itself refuses, and the node steps down.

use super::Member;
use super::event::{Action, LogLine};
use crate::protocol::{Core, Epoch, Reason};

/// A request to the program: to prepare itself for a leadership.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PreparationRequest {
    /// The number of the request: how often the program was asked, this one included.
    pub number: u64,
    /// The epoch that the node leads, if its protocol has epochs.
    pub epoch: Option<Epoch>,
    /// The reason why the node has come to lead.
    pub reason: Reason,
}

/// What stands between a leader and its program.
#[derive(Clone, Debug, Default)]
pub(super) struct Gate {
    /// How often the node has come to lead.
    number: u64,
    state: State,
    /// What the program is asked now.
    request: Option<PreparationRequest>,
}

/// What the program was told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// The node does not lead.
    #[default]
    Away,
    /// It does, for this reason, and the program prepares itself.
    Held(Reason),
    /// The program is prepared.
    Open,
}

impl Gate {
    /// The node has come to lead, or leads the next epoch. Returns what the program is asked.
    pub(super) fn request_preparation(
        &mut self,
        epoch: Option<Epoch>,
        reason: Reason,
    ) -> PreparationRequest {
        self.number += 1;
        self.state = State::Held(reason);
        let request = PreparationRequest { number: self.number, epoch, reason };
        self.request = Some(request);
        request
    }

    /// The node leads no longer. Whether the program was asked for something.
    pub(super) fn withdraw(&mut self) -> bool {
        self.state = State::Away;
        self.request.take().is_some()
    }

    /// Whether the program prepares itself for what it was asked by this number.
    fn is_preparing(&self, number: u64) -> bool {
        matches!(self.state, State::Held(_)) && self.number == number
    }

    /// The program is prepared. Returns why the node has come to lead.
    fn open(&mut self) -> Option<Reason> {
        let State::Held(reason) = self.state else { return None };
        self.state = State::Open;
        self.request = None;
        Some(reason)
    }

    /// All but how often the node has come to lead.
    pub(super) fn facts(&self) -> (State, Option<(Option<Epoch>, Reason)>) {
        (self.state, self.request.map(|request| (request.epoch, request.reason)))
    }

    /// Whether this is the epoch for which the program was asked.
    pub(super) fn is_for(&self, epoch: Option<Epoch>) -> bool {
        self.request.is_none_or(|request| request.epoch == epoch)
    }
}

impl<C: Core> Member<C> {
    /// The program is prepared for what it was asked by this number. Returns why the node leads, if
    /// that is what it was asked last.
    pub(super) fn accept_preparation(&mut self, number: u64) -> Option<Reason> {
        let gate = self.gate.as_mut().filter(|gate| gate.is_preparing(number));
        let reason = gate.and_then(Gate::open)?;
        self.actions.push(Action::Prepare(None));
        Some(reason)
    }

    /// The program cannot prepare itself. Whether the node steps down.
    pub(super) fn refuse_preparation(&mut self, number: u64) -> bool {
        let Some(gate) = self.gate.as_mut().filter(|gate| gate.is_preparing(number)) else {
            return false;
        };
        gate.request = None;
        self.actions.push(Action::Prepare(None));
        if !C::REQUESTS {
            self.actions.push(Action::Log(LogLine::Unprepared));
        }
        C::REQUESTS
    }

    /// Whether the program needs no more time to prepare itself for this leadership; always true
    /// of a program that never does.
    #[must_use]
    pub fn is_prepared(&self) -> bool {
        self.gate.as_ref().is_none_or(|gate| gate.state == State::Open)
    }

    /// Returns what the program is asked now.
    #[must_use]
    pub fn asks(&self) -> Option<PreparationRequest> {
        self.gate.as_ref()?.request
    }
}

//! What waits for the disk: states, one after the other, and what comes after each.

use super::{Member, Message, Order, Process, Reason, Stable, Stall, Timer};
use bellwether_engine::protocol::{Id, Local};
use serde::Serialize;

/// What waits for one state. A process that waits sends no more than one message after it, and a
/// leadership of which it is to tell its program comes after that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct Steps {
    /// A message, and to whom.
    pub send: Option<(Id, Message)>,
    /// That its node leads, and why.
    pub lead: Option<Reason>,
}

impl Process {
    /// Whether a state of the node is not on the disk yet.
    pub(super) fn is_behind(&self) -> bool {
        self.saving.is_some() || self.next.is_some()
    }

    /// What comes after all states so far.
    fn last(&mut self) -> &mut Steps {
        if self.next.is_some() { &mut self.behind } else { &mut self.ready }
    }
}

impl Member {
    /// The state of its node is to be durable; a later one says all that an earlier one said.
    pub(super) fn save(p: &mut Local<'_, Self>) {
        let Process { epoch, holder, .. } = *p.state;
        p.state.next = Some(Stable { epoch, holder });
    }

    /// "Nothing leaves before it is durable."
    pub(super) fn send_after_state(&self, p: &mut Local<'_, Self>, to: Id, message: Message) {
        match self.sends {
            Order::Durable => p.state.last().send = Some((to, message)),
            Order::AtOnce => p.send(to, message),
        }
    }

    /// Nor is the program told before it is durable that its node leads.
    pub(super) fn on_gain(&self, p: &mut Local<'_, Self>, reason: Reason) {
        match self.leads {
            Order::Durable => p.state.last().lead = Some(reason),
            Order::AtOnce => self.request_preparation(p, reason),
        }
    }

    /// The node leads no longer: its program is not told that it came to.
    pub(super) fn forget_gain(p: &mut Local<'_, Self>) {
        p.state.ready.lead = None;
        p.state.behind.lead = None;
    }

    /// Does what waits for no state any more, and begins to save the next.
    pub(super) fn catch_up(&self, p: &mut Local<'_, Self>) {
        if p.state.saving.is_none() {
            let Steps { send, lead } = std::mem::take(&mut p.state.ready);
            if let Some((to, message)) = send {
                p.send(to, message);
            }
            if let Some(reason) = lead {
                self.request_preparation(p, reason);
            }
            if let Some(next) = p.state.next.take() {
                p.state.saving = Some(next);
                p.state.ready = std::mem::take(&mut p.state.behind);
                p.arm(Timer::Late);
            }
        }
        Self::resume_if_due(p);
    }

    /// A leader that can say nothing, as what it says waits for a disk that is late: the others may
    /// follow another. Its program is told so at once, if it knows that the node leads.
    pub(super) fn check_stall(&self, p: &mut Local<'_, Self>) {
        let Process { late, leads, .. } = *p.state;
        if late && leads && p.state.is_behind() {
            p.state.silent = true;
            if self.stall == Stall::Withdrawn {
                Self::withdraw(p);
                p.state.withdrawn = true;
            }
        }
    }

    /// The disk has answered. One that was late is fit again. Where the node led in silence, its
    /// program learns that when the others can have heard of it.
    pub(super) fn on_saved(&self, p: &mut Local<'_, Self>) {
        if let Some(saved) = p.state.saving.take() {
            p.persist(saved);
            p.cancel(Timer::Late);
            if p.state.withdrawn && !p.state.is_behind() {
                p.state.withdrawn = false;
                Self::expect_resume(p);
            }
            self.catch_up(p);
            p.state.late = false;
        }
    }
}

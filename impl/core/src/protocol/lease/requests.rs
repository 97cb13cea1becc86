//! What a client is asked to do, and whether it may lead: its machine is fit, and it was not asked
//! to stay away.

use crate::protocol::{self, Context, Reason};

use super::client::{Client, State};
use super::{Lease, Message, Timer};

const ASKED_TO_YIELD: Reason = Reason::new("asked_to_yield", "it was asked to lead no longer");

impl Client {
    /// Something is asked of it. No request says which client is next: the store does.
    pub(super) fn on_request(&mut self, cx: &mut Context<'_, Lease>, request: &protocol::Request) {
        match *request {
            // The store decides which client is next, and who asks is a client.
            protocol::Request::Transfer(_)
            | protocol::Request::Change(_)
            | protocol::Request::Tell(_) => {}
            protocol::Request::Yield(_) => self.give_back(cx, ASKED_TO_YIELD),
            protocol::Request::StepDown(_, time) => {
                let until = cx.now() + time;
                if until > cx.now() {
                    cx.arm_at(Timer::Away, until);
                }
                self.give_back(cx, ASKED_TO_YIELD);
            }
            protocol::Request::Healthy(healthy) => {
                // A report that says nothing new makes it ask for nothing.
                let was_healthy = std::mem::replace(&mut self.healthy, healthy);
                match (was_healthy, healthy) {
                    (_, false) => self.give_back(cx, Reason::UNFIT),
                    (false, true) => self.ask_if_idle(cx),
                    (true, true) => {}
                }
            }
        }
    }

    /// A holder leads no longer, and says so to the store. The [member](crate::member) keeps that
    /// until the work of the leader has ended: the store grants the lease to another at once.
    fn give_back(&mut self, cx: &mut Context<'_, Lease>, reason: Reason) {
        let State::Holder { token } = self.state else { return };
        Self::await_nothing(cx);
        cx.send(self.store, Message::Release(token));
        cx.arm(Timer::Retry);
        self.change(cx, State::Follower { holder: None }, reason);
    }

    /// Whether it may lead.
    pub(super) fn is_fit(&self, cx: &Context<'_, Lease>) -> bool {
        self.healthy && cx.armed(Timer::Away).is_none()
    }

    /// The lease is free, or it may lead again: it asks at once, unless it has asked already.
    pub(super) fn ask_if_idle(&mut self, cx: &mut Context<'_, Lease>) {
        if cx.armed(Timer::Retry).is_some() {
            self.ask(cx);
        }
    }
}

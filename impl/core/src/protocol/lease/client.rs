//! A client: it wants the lease.

use crate::protocol::{Belief, Context, Node, NodeId, Reason, Role, Time};

use super::{
    ClientConfig, Durable, GRANTED, LEASE_EXPIRED, Lease, Message, REFUSED, Request, Timer, Token,
};

/// What a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum State {
    /// The store says that this one holds the lease; `None` while the client has not heard.
    Follower {
        holder: Option<NodeId>,
    },
    Holder {
        token: Token,
    },
}

/// A node that wants to lead.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Client {
    pub(super) store: NodeId,
    pub(super) state: State,
    /// Its latest request.
    latest: Request,
    /// Whether its machine is fit to lead.
    pub(super) healthy: bool,
}

/// The rules, one function for each event.
impl Client {
    /// Before it sends anything, that it has started once more is durable: its requests have
    /// numbers that none had before. Then it asks.
    pub(super) fn boot(
        cx: &mut Context<'_, Lease>,
        config: &ClientConfig,
        durable: Option<Durable>,
    ) -> Self {
        let started = durable.unwrap_or_default().started.saturating_add(1);
        cx.persist(Durable { started });
        let latest = Request { started, number: 0 };
        let state = State::Follower { holder: None };
        let mut client = Self { store: config.store, state, latest, healthy: true };
        client.change(cx, state, Reason::BOOTED);
        client.ask(cx);
        client
    }

    /// One that may not lead asks to extend a lease that was never granted: the store refuses, and
    /// names the holder, which it follows.
    pub(super) fn ask(&mut self, cx: &mut Context<'_, Lease>) {
        cx.cancel(Timer::Retry);
        let request = self.request(cx);
        let message = if self.is_fit(cx) {
            Message::Acquire(request)
        } else {
            Message::Renew(request, Token::default())
        };
        cx.send(self.store, message);
    }

    /// Whatever it is granted counts from here on.
    fn request(&mut self, cx: &mut Context<'_, Lease>) -> Request {
        self.latest.number = self.latest.number.saturating_add(1);
        cx.arm(Timer::Asked);
        self.latest
    }

    /// A holder works, and renews its lease; again after a while, whatever comes of it. If its
    /// lease is over it does not: that is handled next.
    fn work(&mut self, cx: &mut Context<'_, Lease>) {
        let State::Holder { token } = self.state else { return };
        if cx.armed(Timer::Lease).is_none_or(|until| until <= cx.now()) {
            return;
        }
        cx.arm(Timer::Renew);
        cx.send(self.store, Message::Write(token));
        let request = self.request(cx);
        cx.send(self.store, Message::Renew(request, token));
    }

    /// "You hold it": until the moment that was written down when it asked. If it may not lead any
    /// more, it gives back what it has asked for before.
    pub(super) fn on_granted(
        &mut self,
        cx: &mut Context<'_, Lease>,
        request: Request,
        token: Token,
    ) {
        let Some(until) = self.take_answer(cx, request) else { return };
        if !self.is_fit(cx) {
            cx.send(self.store, Message::Release(token));
            return cx.arm(Timer::Retry);
        }
        cx.arm_at(Timer::Lease, until);
        if !matches!(self.state, State::Holder { .. }) {
            cx.arm(Timer::Renew);
        }
        self.change(cx, State::Holder { token }, GRANTED);
    }

    /// "You do not": if it held it, it does so no longer.
    pub(super) fn on_refused(
        &mut self,
        cx: &mut Context<'_, Lease>,
        request: Request,
        holder: Option<NodeId>,
    ) {
        if self.take_answer(cx, request).is_some() {
            Self::await_nothing(cx);
            cx.arm(Timer::Retry);
            self.change(cx, State::Follower { holder }, REFUSED);
        }
    }

    /// Until when what was asked for would last, if this is the answer to the latest request and
    /// none has come yet.
    fn take_answer(&mut self, cx: &mut Context<'_, Lease>, request: Request) -> Option<Time> {
        let until = cx.armed(Timer::Asked).filter(|_| request == self.latest)?;
        cx.cancel(Timer::Asked);
        Some(until)
    }

    pub(super) fn expire(&mut self, cx: &mut Context<'_, Lease>, timer: Timer) {
        match timer {
            // What would be granted now is over already. A holder asks again at its pace.
            Timer::Asked if matches!(self.state, State::Holder { .. }) => {}
            Timer::Asked | Timer::Retry => self.ask(cx),
            Timer::Renew => self.work(cx),
            Timer::Lease => {
                Self::await_nothing(cx);
                self.change(cx, State::Follower { holder: None }, LEASE_EXPIRED);
                self.ask(cx);
            }
            Timer::Away => self.ask_if_idle(cx),
            Timer::Grant => {}
        }
    }

    /// It holds no lease, and has asked for none. How long it stays away is another matter.
    pub(super) fn await_nothing(cx: &mut Context<'_, Lease>) {
        for timer in [Timer::Asked, Timer::Lease, Timer::Renew, Timer::Retry] {
            cx.cancel(timer);
        }
    }

    /// The only place where the state is written.
    pub(super) fn change(&mut self, cx: &mut Context<'_, Lease>, to: State, reason: Reason) {
        self.state = to;
        cx.because(reason);
    }

    /// A client that is refused because it has the lease already, by a grant that it does not know,
    /// follows no node.
    pub(super) fn belief(&self, me: NodeId) -> Belief {
        let (role, leader) = match self.state {
            State::Holder { .. } => (Role::Leader, Some(me)),
            State::Follower { holder } if holder.is_some_and(|holder| holder != me) => {
                (Role::Follower, holder)
            }
            State::Follower { .. } => (Role::Candidate, None),
        };
        Belief { role, leader }
    }

    /// Returns the holder that the store named when it refused the lease.
    #[must_use]
    pub fn holder(&self) -> Option<NodeId> {
        if let State::Follower { holder } = self.state { holder } else { None }
    }

    /// Returns the client's latest request.
    #[must_use]
    pub fn latest(&self) -> Request {
        self.latest
    }

    /// Returns whether the client was told that its machine is fit to lead.
    #[must_use]
    pub fn healthy(&self) -> bool {
        self.healthy
    }

    /// Returns the token of the lease that the client holds or held until a deadline that it has
    /// not noticed.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        if let State::Holder { token } = self.state { Some(token) } else { None }
    }
}

impl Node<Lease> {
    /// Returns whether this is a client that holds the lease at `now`, and with which token: what
    /// it does now, it may do only with this. Ask it immediately before, and send the token along:
    /// between the question and what is done, a pause may always come.
    #[must_use]
    pub fn holds(&self, now: Time) -> Option<Token> {
        let Some(Lease::Client(client)) = self.core() else { return None };
        let lasts = self.armed().any(|(timer, until)| timer == Timer::Lease && until > now);
        client.token().filter(|_| lasts)
    }
}

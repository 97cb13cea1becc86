//! The store: one record, and the fence in front of what the lease protects.

use crate::protocol::{Belief, Context, NodeId, Reason, Role};

use super::{Config, GRANTED, LEASE_EXPIRED, Lease, Message, RELEASED, Request, Timer, Token};

/// The node that grants the lease. It keeps nothing on stable storage: it stands for a service that
/// does not fail.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    holder: Option<NodeId>,
    /// Of the newest grant.
    token: Token,
    /// Of the newest write that passed the fence.
    written: Token,
}

/// The rules, one function for each event.
impl Store {
    /// Compare and set, in one step: a lease that is free is granted, and so is one that the asker
    /// has.
    pub(super) fn on_acquire(
        &mut self,
        cx: &mut Context<'_, Lease>,
        from: NodeId,
        request: Request,
    ) {
        if self.holder.is_some_and(|holder| holder != from) {
            return cx.send(from, Message::Refused(request, self.holder));
        }
        self.token = self.token.next();
        self.holder = Some(from);
        cx.because(GRANTED);
        self.grant(cx, from, request);
    }

    /// A lease is extended as long as it has not expired and been granted anew.
    pub(super) fn on_renew(
        &mut self,
        cx: &mut Context<'_, Lease>,
        from: NodeId,
        request: Request,
        token: Token,
    ) {
        if (self.holder, self.token) == (Some(from), token) {
            self.grant(cx, from, request);
        } else {
            cx.send(from, Message::Refused(request, self.holder));
        }
    }

    fn grant(&mut self, cx: &mut Context<'_, Lease>, to: NodeId, request: Request) {
        cx.arm(Timer::Grant);
        cx.send(to, Message::Granted(request, self.token));
    }

    /// A lease that its holder gives back is free at once, and the others hear so: they would ask
    /// only later. A message that comes late, or twice, names an older grant, and frees nothing.
    pub(super) fn on_release(&mut self, cx: &mut Context<'_, Lease>, from: NodeId, token: Token) {
        let Config::Store(config) = cx.config() else { return };
        if (self.holder, self.token) != (Some(from), token) {
            return;
        }
        cx.cancel(Timer::Grant);
        self.holder = None;
        cx.because(RELEASED);
        for client in config.clients.iter().filter(|&client| client != from) {
            cx.send(client, Message::Available);
        }
    }

    /// Only the client that was granted the lease last may write.
    pub(super) fn on_write(&mut self, token: Token) {
        if token == self.token {
            self.written = token;
        }
    }

    pub(super) fn boot(cx: &mut Context<'_, Lease>) -> Self {
        cx.because(Reason::BOOTED);
        Self { holder: None, token: Token::default(), written: Token::default() }
    }

    /// What it granted has expired.
    pub(super) fn expire(&mut self, cx: &mut Context<'_, Lease>) {
        self.holder = None;
        cx.because(LEASE_EXPIRED);
    }

    /// It neither leads nor elects; it follows the client to which it has granted the lease.
    pub(super) fn belief(&self) -> Belief {
        Belief { role: Role::Follower, leader: self.holder }
    }

    /// Returns the client to which the lease is granted.
    #[must_use]
    pub fn holder(&self) -> Option<NodeId> {
        self.holder
    }

    /// Returns the token of the newest grant.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    /// Returns the token of the newest write that was accepted.
    #[must_use]
    pub fn written(&self) -> Token {
        self.written
    }
}

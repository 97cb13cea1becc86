//! The store: one record, and the fence in front of what the lease protects.

use crate::protocol::{
    ConfigError, Event, Ignored, Input, NodeId, Reason, Role, Status, Time, Timers,
};

use super::{Effect, Message, Outbox, Request, StoreConfig, Timer, Token};

/// The node that grants the lease. It keeps nothing on stable storage: it stands for a service that
/// does not fail.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Store {
    config: StoreConfig,
    started: bool,
    holder: Option<NodeId>,
    /// Of the newest grant.
    token: Token,
    /// Of the newest write that passed the fence.
    written: Token,
    timers: Timers<Timer, 5>,
    out: Outbox,
}

/// The rules, one function for each event.
impl Store {
    /// Compare and set, in one step: a lease that is free is granted, and so is one that the asker has.
    fn on_acquire(&mut self, now: Time, from: NodeId, request: Request) {
        if self.holder.is_some_and(|holder| holder != from) {
            return self.out.send(from, Message::Refused(request, self.holder));
        }
        self.token = self.token.next();
        self.change(Some(from), Reason::Granted);
        self.grant(now, from, request);
    }

    /// A lease is extended as long as it has not expired and been granted anew.
    fn on_renew(&mut self, now: Time, from: NodeId, request: Request, token: Token) {
        if (self.holder, self.token) == (Some(from), token) {
            self.grant(now, from, request);
        } else {
            self.out.send(from, Message::Refused(request, self.holder));
        }
    }

    fn grant(&mut self, now: Time, to: NodeId, request: Request) {
        self.timers.arm(Timer::Grant, now + self.config.durations.keep);
        self.out.send(to, Message::Granted(request, self.token));
    }

    /// Only who was granted the lease last may write.
    fn on_write(&mut self, token: Token) {
        if token == self.token {
            self.written = token;
        }
    }

    /// The only place where the holder is written.
    fn change(&mut self, holder: Option<NodeId>, reason: Reason) {
        if holder != self.holder {
            self.holder = holder;
            let (from, to) = (Role::Follower, Role::Follower);
            self.out.tell(Event::RoleChanged { from, to, leader: holder, reason });
        }
    }
}

impl Store {
    /// A store that has not started.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] when the durations contradict each other.
    pub fn new(config: StoreConfig) -> Result<Self, ConfigError> {
        config.durations.validate()?;
        Ok(Self {
            config,
            started: false,
            holder: None,
            token: Token::default(),
            written: Token::default(),
            timers: Timers::new(Timer::ALL),
            out: Outbox::default(),
        })
    }

    /// To whom the lease is granted.
    #[must_use]
    pub fn holder(&self) -> Option<NodeId> {
        self.holder
    }

    /// The token of the newest grant.
    #[must_use]
    pub fn token(&self) -> Token {
        self.token
    }

    /// The token of the newest write that was accepted.
    #[must_use]
    pub fn written(&self) -> Token {
        self.written
    }

    pub(super) fn handle(&mut self, now: Time, input: Input<Message>) {
        for ticket in self.timers.due(now) {
            if self.timers.fires(ticket) {
                self.change(None, Reason::LeaseExpired);
            }
        }
        match input {
            Input::Boot if !self.started => {
                self.started = true;
                let (from, to) = (Role::NotStarted, Role::Follower);
                let reason = Reason::Booted;
                self.out.tell(Event::RoleChanged { from, to, leader: None, reason });
            }
            Input::Receive { from, message } if self.started => self.receive(now, from, message),
            Input::Boot | Input::Receive { .. } | Input::Wake | Input::Suspect(_) => {}
        }
    }

    fn receive(&mut self, now: Time, from: NodeId, message: Message) {
        let cause = match message {
            _ if from == self.config.id => Ignored::OwnId,
            _ if !self.config.clients.contains(from) => Ignored::UnknownSender,
            Message::Acquire(request) => return self.on_acquire(now, from, request),
            Message::Renew(request, token) => return self.on_renew(now, from, request, token),
            Message::Write(token) => return self.on_write(token),
            Message::Granted(..) | Message::Refused(..) => Ignored::WrongDirection,
        };
        self.out.tell(Event::Ignored { from, cause });
    }

    pub(super) fn poll(&mut self) -> Option<Effect> {
        self.out.next(self.timers.next_deadline())
    }

    /// It neither leads nor elects; it follows whom it has granted the lease.
    pub(super) fn status(&self) -> Status {
        let role = if self.started { Role::Follower } else { Role::NotStarted };
        Status { id: self.config.id, role, leader: self.holder }
    }

    pub(super) fn timers(&self) -> &Timers<Timer, 5> {
        &self.timers
    }
}

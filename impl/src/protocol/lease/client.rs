//! A client: it wants the lease.

use crate::protocol::{
    ConfigError, Event, Ignored, Input, NodeId, Reason, Role, Status, Time, Timers,
};

use super::{ClientConfig, Durable, Effect, Message, Outbox, Request, Timer, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    NotStarted,
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
    config: ClientConfig,
    state: State,
    /// Its latest request.
    latest: Request,
    timers: Timers<Timer, 5>,
    out: Outbox,
}

/// The rules, one function for each event.
impl Client {
    /// Before it sends anything, that it has started once more is durable: its requests have numbers
    /// that none had before. Then it asks.
    fn boot(&mut self, now: Time) {
        if self.state != State::NotStarted {
            return;
        }
        let started = self.config.started.saturating_add(1);
        self.latest = Request { started, number: 0 };
        self.out.persist = Some(Durable { started });
        self.change(State::Follower { holder: None }, Reason::Booted);
        self.ask(now);
    }

    fn ask(&mut self, now: Time) {
        self.timers.cancel(Timer::Retry);
        let request = self.request(now);
        self.out.send(self.config.store, Message::Acquire(request));
    }

    /// Whatever it is granted counts from here on.
    fn request(&mut self, now: Time) -> Request {
        self.latest.number = self.latest.number.saturating_add(1);
        self.timers.arm(Timer::Asked, now + self.config.durations.hold);
        self.latest
    }

    /// A holder works, and renews its lease; again after a while, whatever comes of it.
    fn work(&mut self, now: Time) {
        let State::Holder { token } = self.state else { return };
        self.timers.arm(Timer::Renew, now + self.config.durations.renew);
        self.out.send(self.config.store, Message::Write(token));
        let request = self.request(now);
        self.out.send(self.config.store, Message::Renew(request, token));
    }

    /// "You hold it": until the moment that was written down when it asked.
    fn on_granted(&mut self, now: Time, request: Request, token: Token) {
        let Some(until) = self.take_answer(request) else { return };
        self.timers.arm(Timer::Lease, until);
        match &mut self.state {
            State::Holder { token: held } => *held = token,
            State::Follower { .. } | State::NotStarted => {
                self.timers.arm(Timer::Renew, now + self.config.durations.renew);
                self.change(State::Holder { token }, Reason::Granted);
            }
        }
    }

    /// "You do not": whoever held it does no longer.
    fn on_refused(&mut self, now: Time, request: Request, holder: Option<NodeId>) {
        if self.take_answer(request).is_none() {
            return;
        }
        self.timers.cancel_all();
        self.timers.arm(Timer::Retry, now + self.config.durations.retry);
        self.change(State::Follower { holder }, Reason::Refused);
    }

    /// Until when what was asked for would last, if this is the answer to the latest request and
    /// none has come yet.
    fn take_answer(&mut self, request: Request) -> Option<Time> {
        let mut armed = self.timers.armed();
        let until = armed.find(|&(timer, _)| timer == Timer::Asked).map(|(_, until)| until);
        drop(armed);
        let until = until.filter(|_| request == self.latest)?;
        self.timers.cancel(Timer::Asked);
        Some(until)
    }

    fn on_expired(&mut self, now: Time, timer: Timer) {
        match timer {
            // What would be granted now is over already. A holder asks again at its pace.
            Timer::Asked if matches!(self.state, State::Holder { .. }) => {}
            Timer::Asked | Timer::Retry => self.ask(now),
            Timer::Renew => self.work(now),
            Timer::Lease => {
                self.timers.cancel_all();
                self.change(State::Follower { holder: None }, Reason::LeaseExpired);
                self.ask(now);
            }
            Timer::Grant => {}
        }
    }

    /// The only place where the state is written.
    fn change(&mut self, to: State, reason: Reason) {
        let Status { role: from, leader: before, .. } = self.status();
        self.state = to;
        let Status { role: to, leader, .. } = self.status();
        if (from, before) != (to, leader) {
            self.out.tell(Event::RoleChanged { from, to, leader, reason });
        }
    }
}

impl Client {
    /// A client that has not started.
    ///
    /// # Errors
    ///
    /// A [`ConfigError`] when the durations contradict each other.
    pub fn new(config: ClientConfig) -> Result<Self, ConfigError> {
        config.durations.validate()?;
        Ok(Self {
            config,
            state: State::NotStarted,
            latest: Request::default(),
            timers: Timers::new(Timer::ALL),
            out: Outbox::default(),
        })
    }

    /// Whether it holds the lease at `now`, and with which token: what it does now, it may do only
    /// with this. Ask it immediately before, and send the token along: between the question and
    /// what is done, a pause may always come.
    #[must_use]
    pub fn holds(&self, now: Time) -> Option<Token> {
        let State::Holder { token } = self.state else { return None };
        let lasts = self.timers.armed().any(|(timer, until)| timer == Timer::Lease && until > now);
        lasts.then_some(token)
    }

    /// Its latest request.
    #[must_use]
    pub fn latest(&self) -> Request {
        self.latest
    }

    /// The token of the lease that it holds or held until a deadline that it has not noticed.
    #[must_use]
    pub fn token(&self) -> Option<Token> {
        if let State::Holder { token } = self.state { Some(token) } else { None }
    }

    pub(super) fn handle(&mut self, now: Time, input: Input<Message>) {
        for ticket in self.timers.due(now) {
            if self.timers.fires(ticket) {
                self.on_expired(now, ticket.timer);
            }
        }
        match input {
            Input::Boot => self.boot(now),
            Input::Receive { from, message } if self.state != State::NotStarted => {
                self.receive(now, from, message);
            }
            Input::Receive { .. } | Input::Wake | Input::Suspect(_) => {}
        }
    }

    /// Only the store is believed, and only what it says to clients.
    fn receive(&mut self, now: Time, from: NodeId, message: Message) {
        let cause = match message {
            _ if from == self.config.id => Ignored::OwnId,
            _ if from != self.config.store => Ignored::UnknownSender,
            Message::Granted(request, token) => return self.on_granted(now, request, token),
            Message::Refused(request, holder) => return self.on_refused(now, request, holder),
            Message::Acquire(_) | Message::Renew(..) | Message::Write(_) => Ignored::WrongDirection,
        };
        self.out.tell(Event::Ignored { from, cause });
    }

    pub(super) fn poll(&mut self) -> Option<Effect> {
        self.out.next(self.timers.next_deadline())
    }

    pub(super) fn status(&self) -> Status {
        let id = self.config.id;
        let (role, leader) = match self.state {
            State::NotStarted => (Role::NotStarted, None),
            State::Follower { holder: None } => (Role::Candidate, None),
            State::Follower { holder } => (Role::Follower, holder),
            State::Holder { .. } => (Role::Leader, Some(id)),
        };
        Status { id, role, leader }
    }

    pub(super) fn timers(&self) -> &Timers<Timer, 5> {
        &self.timers
    }
}

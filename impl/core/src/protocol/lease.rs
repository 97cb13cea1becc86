//! Leadership by lease: the node to which a store has granted the lease leads, until it expires.
//!
//! A [`Client`] asks the store for the lease, holds it if it is granted, renews it, and steps down
//! when it has expired by its own clock. A [`Store`] is the smallest thing that grants leases: in
//! production its place is taken by a service that replicates what it writes (etcd, ZooKeeper, a
//! database); here it says what the clients rely on, and the tests run against it.
//!
//! Where each rule comes from:
//!
//! - **A lease is a promise for a time, and both sides count:** C. Gray and D. Cheriton, *Leases:
//!   an efficient fault-tolerant mechanism for distributed file cache consistency*, SOSP 1989. The
//!   holder counts conservatively: it must have stopped before the store begins to think of
//!   another.
//! - **The holder counts from before it asked:** M. Burrows, *The Chubby lock service for
//!   loosely-coupled distributed systems*, OSDI 2006, §2.8. Whatever time the request and its
//!   answer took is then on the safe side. Counted from the answer, the lease would be too long by
//!   the delay.
//! - **A token that grows with every grant goes with every write, and what accepts writes knows the
//!   newest grant:** Chubby's sequencers, §2.4 of the same; M. Kleppmann, *How to do distributed
//!   locking*, 2016. A holder that was paused cannot know that it no longer is one; what it writes
//!   then says so.
//! - **A request has a number that no other request of the client has had, and only the answer to
//!   the latest counts:** ours. An answer that comes late would otherwise be taken for the answer
//!   to a later request, and the lease counted from too late a moment. How often the client has
//!   started is part of the number, and durable before anything is sent.
//! - **A client that starts again is granted the lease that it had before:** ours. It gets a new
//!   token, so what its former self wrote and is still under way is rejected.
//! - **A holder that notices late that its lease is over does nothing in its name any more**, not
//!   even what was due before: ours.
//! - **A holder that is asked to lead no longer ends its work, and gives the lease back after
//!   that:** Chubby's `Release`, §2.4. The store tells the other clients that the lease is free, or
//!   they would ask only when they would have asked anyway: ours.
//!
//! # What it does not promise
//!
//! That at most one client *believes* it leads holds as long as no client is paused, clocks drift
//! no more than the two durations allow, and the store keeps its word. What holds without that is
//! the fence: writes of a holder whose lease was granted again are rejected where they arrive.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::settings::{Durations as Section, Relation, check, inequality};
use super::{
    Belief, Context, Core, DurationError, Epoch, Members, Membership, Node, NodeId, Reason, Role,
    Time,
};

/// The number of a grant: it grows with every one.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Token(u64);

impl Token {
    /// Returns the token with this number.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// Returns the number of the token; 0 before the first grant.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The name of a request; no two of one client have the same.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Request {
    /// The number of times that the client had started.
    pub started: u32,
    /// The number of the request since then, from 1.
    pub number: u32,
}

/// The messages that clients and the store send to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Message {
    /// To the store: "Give me the lease, unless another has it."
    Acquire(Request),
    /// To the store: "Extend the lease with this token."
    Renew(Request, Token),
    /// To a client: "You hold the lease with this token."
    Granted(Request, Token),
    /// To a client: "You do not hold it; this one does," if any.
    Refused(Request, Option<NodeId>),
    /// To what the lease protects: the holder's work, with the token of its lease.
    Write(Token),
    /// To the store: "I give back the lease with this token."
    Release(Token),
    /// To a client: "The lease was given back, and is free."
    Available,
}

/// The timers by which a node waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Timer {
    /// The timer of a client for an answer, as long as the lease that it asks for would last.
    Asked,
    /// The timer of a client, until the lease has expired.
    Lease,
    /// The timer of a client, until it works and renews again.
    Renew,
    /// The timer of a client, until it asks again.
    Retry,
    /// The timer of the store, until what it granted has expired.
    Grant,
    /// The timer of a client that was asked not to lead for a time, until that is over.
    Away,
}

const GRANTED: Reason = Reason::new("granted", "the store granted the lease");
const REFUSED: Reason = Reason::new("refused", "the store refused the lease");
const RELEASED: Reason = Reason::new("released", "the holder has given the lease back");
const LEASE_EXPIRED: Reason = Reason::new("lease_expired", "the lease has expired");
const ASKED_TO_YIELD: Reason = Reason::new("asked_to_yield", "it was asked to lead no longer");

/// The state that a client must not forget: how often it has started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Durable {
    /// The number of times that the client has started.
    pub started: u32,
}

/// The configuration of one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Config {
    /// The configuration of a node that wants to lead.
    Client(ClientConfig),
    /// The configuration of the store.
    Store(StoreConfig),
}

impl Config {
    fn durations(&self) -> &Durations {
        match self {
            Self::Client(config) => &config.durations,
            Self::Store(config) => &config.durations,
        }
    }
}

impl Membership for Config {
    fn id(&self) -> NodeId {
        match self {
            Self::Client(config) => config.id,
            Self::Store(config) => config.id,
        }
    }

    /// A client hears the store, and the store hears its clients.
    fn hears(&self, other: NodeId) -> bool {
        match self {
            Self::Client(config) => config.store == other,
            Self::Store(config) => config.clients.contains(other),
        }
    }
}

/// The configuration of a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClientConfig {
    /// The id of the client itself.
    pub id: NodeId,
    /// The id of the node that the client asks.
    pub store: NodeId,
    /// The durations of everything in the protocol.
    pub durations: Durations,
}

/// The configuration of the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StoreConfig {
    /// The id of the store itself.
    pub id: NodeId,
    /// The nodes that may ask the store.
    pub clients: Members,
    /// The durations of everything in the protocol.
    pub durations: Durations,
}

/// The durations of everything in the protocol; the same on all clients and the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Durations {
    /// The time for which a client counts a lease, from before it asked.
    pub hold: Duration,
    /// The time for which the store keeps a lease, from when it granted it. If clocks run wrong by
    /// at most ρ, `hold` must be shorter than `keep` · (1 − ρ)/(1 + ρ).
    pub keep: Duration,
    /// The time that a holder waits before it renews its lease.
    pub renew: Duration,
    /// The time that a client that was refused waits before it asks again.
    pub retry: Duration,
}

impl Durations {
    /// The default durations: a leader that is gone is replaced within about 17 seconds; a clock
    /// may be wrong by a fifth.
    pub const DEFAULT: Self = Self {
        hold: Duration::from_secs(10),
        keep: Duration::from_secs(15),
        renew: Duration::from_secs(2),
        retry: Duration::from_secs(2),
    };

    /// Returns the durations in the proportions of [`Durations::DEFAULT`], with a store that keeps
    /// a lease for this time.
    #[must_use]
    pub fn kept_for(keep: Duration) -> Self {
        let often = keep / 15 * 2;
        Self { hold: keep / 3 * 2, keep, renew: often, retry: often }
    }

    /// Checks each value, and those that must fit together.
    ///
    /// # Errors
    ///
    /// The first contradiction found, with its numbers and the remedy.
    pub fn validate(&self) -> Result<(), DurationError> {
        let (hold, keep, renew) = (("hold", self.hold), ("keep", self.keep), ("renew", self.renew));
        Section("lease").in_range(&[hold, keep, renew, ("retry", self.retry)])?;
        check(self.relations())
    }

    /// Returns the relations in which the durations must stand.
    #[must_use]
    pub fn relations(&self) -> Vec<Relation> {
        let section = Section("lease");
        let (hold, keep, renew) = (("hold", self.hold), ("keep", self.keep), ("renew", self.renew));
        let why = "a client must have stepped down, also if clocks drift, before the store grants \
                   the lease to another";
        let (fits, shorter) = (self.hold < self.keep, "shorter than");
        let shown = inequality("hold < keep", self.hold, "<", self.keep);
        let shorter =
            section.require(fits, hold, shorter, keep, why, self.keep / 3 * 2).shown(shown);
        let why = "one lost message would end the lease";
        let (fits, half) = (self.renew * 2 <= self.hold, "at most half of");
        let shown = inequality("2 * renew <= hold", self.renew * 2, "<=", self.hold);
        let often = section.require(fits, renew, half, hold, why, self.hold / 5).shown(shown);
        vec![shorter, often]
    }
}

/// A node of the protocol: a client, or the store.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lease {
    /// The node wants to lead.
    Client(Client),
    /// The node says which client leads.
    Store(Store),
}

impl Core for Lease {
    const NAME: &'static str = "lease";
    const TIMERS: &'static [Timer] =
        &[Timer::Asked, Timer::Lease, Timer::Renew, Timer::Retry, Timer::Grant, Timer::Away];
    const REQUESTS: bool = true;
    /// The store grants the lease to the client that asks first.
    const TRANSFERS: bool = false;
    type Config = Config;
    type Error = DurationError;
    type Durable = Durable;
    type Message = Message;
    type Timer = Timer;

    fn validate(config: &Config, _: Option<&Durable>) -> Result<(), DurationError> {
        config.durations().validate()
    }

    fn period(config: &Config, timer: Timer) -> Duration {
        let durations = config.durations();
        match timer {
            Timer::Asked | Timer::Lease => durations.hold,
            Timer::Renew => durations.renew,
            Timer::Retry => durations.retry,
            Timer::Grant => durations.keep,
            // It is armed until the time that was asked for is over.
            Timer::Away => Duration::ZERO,
        }
    }

    /// As long as a client counts a lease: what is granted later is over when it arrives.
    fn message_lifetime(config: &Config) -> Duration {
        config.durations().hold
    }

    /// What the store has granted ends, and a client asks again.
    fn typical_election(config: &Config) -> Duration {
        config.durations().keep + config.durations().retry
    }

    /// A client is a candidate until it hears of a holder. The store is a follower of the holder.
    fn may_become(from: Role, to: Role) -> bool {
        match to {
            Role::NotStarted | Role::Waiting => false,
            Role::Candidate => from != Role::Candidate,
            Role::Follower => true,
            Role::Leader => matches!(from, Role::Candidate | Role::Follower),
        }
    }

    fn boot(cx: &mut Context<'_, Self>, durable: Option<Durable>, _: u64) -> Self {
        match cx.config() {
            Config::Client(config) => Self::Client(Client::boot(cx, config, durable)),
            Config::Store(_) => Self::Store(Store::boot(cx)),
        }
    }

    /// A message is believed only if a correct node could have sent it.
    fn receive(&mut self, cx: &mut Context<'_, Self>, from: NodeId, message: Message) {
        match (self, message) {
            (Self::Client(client), Message::Granted(request, token)) => {
                client.on_granted(cx, request, token);
            }
            (Self::Client(client), Message::Refused(request, holder)) => {
                client.on_refused(cx, request, holder);
            }
            (Self::Store(store), Message::Acquire(request)) => {
                store.on_acquire(cx, from, request);
            }
            (Self::Store(store), Message::Renew(request, token)) => {
                store.on_renew(cx, from, request, token);
            }
            (Self::Store(store), Message::Write(token)) => store.on_write(token),
            (Self::Store(store), Message::Release(token)) => store.on_release(cx, from, token),
            (Self::Client(client), Message::Available) => client.ask_if_idle(cx),
            (Self::Client(_) | Self::Store(_), _) => cx.ignore(from, Reason::WRONG_DIRECTION),
        }
    }

    fn expire(&mut self, cx: &mut Context<'_, Self>, timer: Timer) {
        match self {
            Self::Client(client) => client.expire(cx, timer),
            Self::Store(store) => store.expire(cx),
        }
    }

    /// The store does not lead, and is asked for nothing.
    fn request(&mut self, cx: &mut Context<'_, Self>, request: super::Request) {
        if let Self::Client(client) = self {
            client.on_request(cx, &request);
        }
    }

    /// The token is the epoch: the store grants each once.
    fn lease(&self) -> Option<(Epoch, Timer)> {
        let Self::Client(client) = self else { return None };
        client.token().map(|token| (Epoch::new(token.get()), Timer::Lease))
    }

    fn belief(&self, config: &Config) -> Belief {
        match self {
            Self::Client(client) => client.belief(config.id()),
            Self::Store(store) => store.belief(),
        }
    }
}

/// What a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
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
    store: NodeId,
    state: State,
    /// Its latest request.
    latest: Request,
    /// Whether its machine is fit to lead.
    healthy: bool,
}

impl Client {
    /// Before it sends anything, that it has started once more is durable: its requests have
    /// numbers that none had before. Then it asks.
    fn boot(cx: &mut Context<'_, Lease>, config: &ClientConfig, durable: Option<Durable>) -> Self {
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
    fn ask(&mut self, cx: &mut Context<'_, Lease>) {
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
    fn on_granted(&mut self, cx: &mut Context<'_, Lease>, request: Request, token: Token) {
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
    fn on_refused(
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

    fn expire(&mut self, cx: &mut Context<'_, Lease>, timer: Timer) {
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
    fn await_nothing(cx: &mut Context<'_, Lease>) {
        for timer in [Timer::Asked, Timer::Lease, Timer::Renew, Timer::Retry] {
            cx.cancel(timer);
        }
    }

    /// The only place where the state is written.
    fn change(&mut self, cx: &mut Context<'_, Lease>, to: State, reason: Reason) {
        self.state = to;
        cx.because(reason);
    }

    /// A client that is refused because it has the lease already, by a grant that it does not know,
    /// follows no node.
    fn belief(&self, me: NodeId) -> Belief {
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

/// Requests to a client. It may lead if its machine is fit, and it was not asked to stay away.
impl Client {
    /// Something is asked of it. No request says which client is next: the store does.
    fn on_request(&mut self, cx: &mut Context<'_, Lease>, request: &super::Request) {
        match *request {
            // The store decides which client is next, and who asks is a client.
            super::Request::Transfer(_) | super::Request::Change(_) | super::Request::Tell(_) => {}
            super::Request::Yield(_) => self.give_back(cx, ASKED_TO_YIELD),
            super::Request::StepDown(_, time) => {
                let until = cx.now() + time;
                if until > cx.now() {
                    cx.arm_at(Timer::Away, until);
                }
                self.give_back(cx, ASKED_TO_YIELD);
            }
            super::Request::Healthy(healthy) => {
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
    fn is_fit(&self, cx: &Context<'_, Lease>) -> bool {
        self.healthy && cx.armed(Timer::Away).is_none()
    }

    /// The lease is free, or it may lead again: it asks at once, unless it has asked already.
    fn ask_if_idle(&mut self, cx: &mut Context<'_, Lease>) {
        if cx.armed(Timer::Retry).is_some() {
            self.ask(cx);
        }
    }
}

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

impl Store {
    /// Compare and set, in one step: a lease that is free is granted, and so is one that the asker
    /// has.
    fn on_acquire(&mut self, cx: &mut Context<'_, Lease>, from: NodeId, request: Request) {
        if self.holder.is_some_and(|holder| holder != from) {
            return cx.send(from, Message::Refused(request, self.holder));
        }
        self.token = self.token.next();
        self.holder = Some(from);
        cx.because(GRANTED);
        self.grant(cx, from, request);
    }

    /// A lease is extended as long as it has not expired and been granted anew.
    fn on_renew(
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
    fn on_release(&mut self, cx: &mut Context<'_, Lease>, from: NodeId, token: Token) {
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
    fn on_write(&mut self, token: Token) {
        if token == self.token {
            self.written = token;
        }
    }

    fn boot(cx: &mut Context<'_, Lease>) -> Self {
        cx.because(Reason::BOOTED);
        Self { holder: None, token: Token::default(), written: Token::default() }
    }

    /// What it granted has expired.
    fn expire(&mut self, cx: &mut Context<'_, Lease>) {
        self.holder = None;
        cx.because(LEASE_EXPIRED);
    }

    /// It neither leads nor elects; it follows the client to which it has granted the lease.
    fn belief(&self) -> Belief {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::Input;
    use crate::protocol::stories::{Nodes, Scripted, id, keys};
    use crate::stories;

    /// The members are clients of the store, which is node 9.
    impl Scripted for Lease {
        fn configured(own: NodeId, members: Members) -> Config {
            let durations = durations();
            if members.contains(own) {
                Config::Client(ClientConfig { id: own, store: id(9), durations })
            } else {
                Config::Store(StoreConfig { id: own, clients: members, durations })
            }
        }
    }

    #[test]
    fn stories_go_as_they_are_told() {
        stories::run::<Nodes<Lease>>("src/protocol/lease/testdata");
    }

    fn durations() -> Durations {
        let ms = Duration::from_millis;
        Durations { hold: ms(1_000), keep: ms(1_500), renew: ms(200), retry: ms(300) }
    }

    #[test]
    fn a_holder_has_its_token_until_its_lease_is_over() {
        let at = |milliseconds| Time::ZERO + Duration::from_millis(milliseconds);
        let granted = Message::Granted(Request { started: 1, number: 1 }, Token::new(7));
        for (is_fit, token) in [(true, Some(Token::new(7))), (false, None)] {
            let config = Lease::configured(id(1), Members::new([id(1)]).expect("valid"));
            let mut one = Node::<Lease>::new(config, None, 0).expect("valid");
            one.handle(at(0), Input::Boot);
            one.handle(at(5), Input::Request(crate::protocol::Request::Healthy(is_fit)));
            one.handle(at(10), Input::Receive { from: id(9), message: granted });
            assert_eq!([11, 999].map(|now| one.holds(at(now))), [token; 2]);
            assert_eq!(one.holds(at(1_000)), None, "also before it has noticed");
        }
    }

    #[test]
    fn durations_that_contradict_each_other_are_refused() {
        assert_eq!(Durations::DEFAULT.validate(), Ok(()));
        let unfit = |change: fn(&mut Durations)| {
            let mut durations = durations();
            change(&mut durations);
            keys(&durations.validate().expect_err("refused"))
        };
        assert_eq!(unfit(|d| d.hold = d.keep), ["hold", "keep"]);
        assert_eq!(unfit(|d| d.renew = d.hold), ["renew", "hold"]);
        assert_eq!(unfit(|d| d.retry = Duration::ZERO), ["retry"]);
    }
}

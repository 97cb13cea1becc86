//! The store that grants the lease of the protocol `lease`: one record, and what people and crashes
//! do to it. In which way the real stores differ is data ([`Semantics`]).

use std::time::Duration;

use bellwether_core::protocol::Time;
use bellwether_core::protocol::lease::{Durations, Token};
use bellwether_core::store::{Answer, Holder, LeaseRecord};

use crate::clock::{Clock, Moment};
use crate::faults::Mishap;
use crate::random::Random;

/// The durations of the protocol. They are shorter than usual, so that a run has many leases.
pub(crate) const DURATIONS: Durations = Durations {
    hold: Duration::from_secs(2),
    keep: Duration::from_secs(3),
    renew: Duration::from_millis(400),
    retry: Duration::from_millis(400),
};

/// The longest time that one question to the store may take.
pub(crate) const LIMIT: Duration = Duration::from_millis(500);

/// By how much the rate of a clock may be wrong, in parts per million.
pub(crate) const DRIFT_PPM: i64 = 100_000;

/// The longest lease that a client believes a store without a clock.
const LONGEST: Duration = Duration::from_secs(3_600);

/// How long before a crash the store has acknowledged the writes that the crash loses, at most.
const UNSYNCED: Duration = Duration::from_secs(1);

/// By how much people set back the clock of the store.
const BACK: Duration = Duration::from_secs(600);

/// How a store behaves, as far as its clients see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Semantics {
    /// The name of the store.
    pub name: &'static str,
    /// True if the store ends a lease by its own clock; without one each client observes for how
    /// long the record stays the same.
    pub has_clock: bool,
    /// True if people can set that clock.
    pub can_be_set: bool,
    /// True if a crash may lose writes that the store has acknowledged.
    pub loses: bool,
    /// True if the store tells its clients of grants and releases.
    pub watches: bool,
    /// True if the store counts whole seconds.
    pub whole_seconds: bool,
}

/// A file of SQLite: its clock is that of the machine, since the start.
pub const SQLITE: Semantics = Semantics {
    name: "sqlite",
    has_clock: true,
    can_be_set: false,
    loses: false,
    watches: false,
    whole_seconds: false,
};

/// PostgreSQL, which loses writes if an asynchronous standby takes over.
pub const POSTGRES: Semantics =
    Semantics { name: "postgres", can_be_set: true, loses: true, watches: true, ..SQLITE };

/// Redis, which loses the last writes if it starts again, or a replica takes over.
pub const REDIS: Semantics = Semantics { name: "redis", ..POSTGRES };

/// Etcd: its clock is monotonic.
pub const ETCD: Semantics =
    Semantics { name: "etcd", watches: true, whole_seconds: true, ..SQLITE };

/// Kubernetes, which has no clock.
pub const KUBERNETES: Semantics = Semantics { name: "kubernetes", has_clock: false, ..ETCD };

/// A question to the store.
#[derive(Clone, Debug)]
pub(crate) enum Ask {
    Read,
    Acquire {
        holder: Holder,
        seen: Token,
        waits: bool,
        overdue: Option<u64>,
    },
    Renew(Holder, Token),
    Release(Holder, Token),
    /// To write what the lease protects, which the store keeps beside the lease.
    Write(Holder, Token),
}

/// The record, as the store has it.
#[derive(Clone, Debug, Default)]
struct Row {
    holder: Option<Holder>,
    token: Token,
    lasts: Duration,
    /// The deadline by the clock of the store, if there is one.
    until: Option<Time>,
}

/// The store.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) semantics: Semantics,
    clock: Clock,
    row: Row,
    /// The version of the record, which each write changes.
    pub(crate) version: u64,
    /// The rows that were replaced, each with the moment at which it was.
    past: Vec<(Moment, Row)>,
    /// How many outages last.
    pub(crate) outages: u32,
    /// No mishap comes before.
    pub(crate) rests: Moment,
    /// How many messages the store has sent.
    pub(crate) sent: u64,
}

impl Store {
    /// Returns a store without a record. Its clock is as wrong as it may be, in some runs.
    pub(crate) fn new(semantics: Semantics, seed: u64) -> Self {
        let mut random = Random::of(&[seed, 0x0005_702e]);
        let mut clock = Clock::new(random.number() >> 10);
        let drift = random.below(2 * DRIFT_PPM as u64 + 1) as i64 - DRIFT_PPM;
        clock.set_rate(Moment(0), if semantics == SQLITE { 0 } else { drift });
        let (row, past) = (Row::default(), Vec::new());
        Self { semantics, clock, row, version: 0, past, outages: 0, rests: Moment(0), sent: 0 }
    }

    /// Returns the token of the record.
    pub(crate) fn token(&self) -> Token {
        self.row.token
    }

    /// Returns the holder in the record, whether its lease is over or not.
    pub(crate) fn recorded(&self) -> Option<&Holder> {
        self.row.holder.as_ref()
    }

    /// Answers a question. A release and a write have no answer.
    pub(crate) fn answer(&mut self, at: Moment, ask: &Ask) -> Option<Answer> {
        let now = self.clock.read(at);
        match ask {
            Ask::Acquire { holder, seen, waits, overdue } => {
                let is_free = self.holder(now).is_none_or(|it| it == holder)
                    || *overdue == Some(self.version);
                if is_free && (self.row.token >= *seen || *waits) {
                    let token = Token::new(self.row.token.max(*seen).get() + 1);
                    self.grant(at, holder, token);
                    return Some(Answer::Granted(token));
                }
            }
            Ask::Renew(holder, token) => {
                if self.holder(now) == Some(holder) && self.row.token == *token {
                    self.grant(at, holder, *token);
                    return Some(Answer::Granted(*token));
                }
            }
            Ask::Release(holder, token) => {
                if self.holder(now) == Some(holder) && self.row.token == *token {
                    self.write(at, Row { token: *token, ..Row::default() });
                }
                return None;
            }
            Ask::Write(..) => return None,
            Ask::Read => {}
        }
        Some(Answer::Refused(self.record(now)))
    }

    /// Returns whether the fence lets a write pass: the record names its node and its token.
    pub(crate) fn admits(&self, holder: &Holder, token: Token) -> bool {
        let names = |it: &Holder| it.name() == holder.name();
        self.row.token == token && self.row.holder.as_ref().is_some_and(names)
    }

    /// Something happens to the record or the clock. Returns whether the holder must notice when it
    /// renews its lease; `None` if it cannot happen to this store.
    pub(crate) fn suffer(&mut self, at: Moment, mishap: Mishap) -> Option<bool> {
        let (now, mut row) = (self.clock.read(at), self.row.clone());
        let Semantics { has_clock, can_be_set, loses, .. } = self.semantics;
        let must_notice = match mishap {
            Mishap::Delete => {
                row = Row::default();
                true
            }
            Mishap::Stranger => {
                row.holder = Holder::new("dba", 0).ok();
                (row.until, row.lasts) = (None, Duration::MAX);
                true
            }
            Mishap::Far => {
                row.until = None;
                if !has_clock {
                    row.lasts = Duration::MAX;
                }
                false
            }
            Mishap::Back if can_be_set => {
                self.clock.lose(at, BACK);
                return Some(false);
            }
            // A dump with the same token is as good as an early end.
            Mishap::Restore => {
                let older = |(_, row): &&(Moment, Row)| row.token < self.row.token;
                row = self.past.iter().rev().find(older)?.1.clone();
                true
            }
            Mishap::Rewind if loses => {
                row = self.past.iter().find(|(until, _)| *until + UNSYNCED >= at)?.1.clone();
                false
            }
            Mishap::Expire => {
                row.until = Some(now);
                if !has_clock {
                    row.holder = None;
                }
                false
            }
            Mishap::Back | Mishap::Rewind | Mishap::Outage => return None,
        };
        self.write(at, row);
        Some(must_notice)
    }

    fn grant(&mut self, at: Moment, holder: &Holder, token: Token) {
        let lasts = DURATIONS.keep;
        let until = Some(self.clock.read(at) + lasts);
        self.write(at, Row { holder: Some(holder.clone()), token, lasts, until });
    }

    fn write(&mut self, at: Moment, row: Row) {
        self.past.push((at, std::mem::replace(&mut self.row, row)));
        self.version += 1;
    }

    /// Returns the holder whose lease is not over.
    fn holder(&self, now: Time) -> Option<&Holder> {
        let is_over = self.semantics.has_clock && self.row.until.is_some_and(|it| it <= now);
        self.row.holder.as_ref().filter(|_| !is_over)
    }

    /// Returns the record as a client reads it. Without a clock, the whole duration is left.
    fn record(&self, now: Time) -> LeaseRecord {
        let Row { token, lasts, until, .. } = self.row;
        let Some(holder) = self.holder(now).cloned() else {
            return LeaseRecord { token, ..LeaseRecord::default() };
        };
        let (left, most) = match self.semantics.has_clock {
            true => (until.map(|until| until.since(now)), lasts),
            false => (Some(lasts), LONGEST),
        };
        let left = left.filter(|left| *left <= most);
        let doubt = left.is_none().then(|| self.version.to_string());
        let whole = |left: Duration| Duration::from_secs(left.as_secs());
        let left = if self.semantics.whole_seconds { left.map(whole) } else { left };
        LeaseRecord { holder: Some(holder), token, left, doubt }
    }
}

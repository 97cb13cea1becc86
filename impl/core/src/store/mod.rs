//! The store of the protocol `lease` where the store is no node: a database or a service that
//! people already run.
//!
//! The clients' core ([`protocol::lease`](crate::protocol::lease)) is the same as with a node that
//! stores: the core sends messages to the id of the store, and gets its answers from there. A
//! [`Session`] stands in the store's place. It decides, without acting, which question a message is
//! to the store, and which message the answer is. A [`LeaseStore`] is the port through which a
//! shell asks the question; each adapter of `bellwether-stores` implements that port.
//!
//! Every adapter promises, and `docs/stores.md` says how each keeps the promise:
//!
//! - *acquire* is one step in the store. The store grants the lease if the lease is free, has
//!   expired, or belongs to the [holder](Holder) that asks, and to a claim that names the version
//!   of a [doubted](LeaseRecord::doubt) record. Each grant has a higher token than every grant
//!   before, also after a release, and a higher token than the asker [has seen](Claim::seen). A
//!   store whose newest token is lower than that grants the lease only to a client that
//!   [waits](Claim::waits) before it leads;
//! - *renew* and *release* change the record only if the record has this holder, with this start of
//!   its process, and this token;
//! - a grant lasts for [`LeaseSettings::ttl`] from the moment at which the store wrote it, by the
//!   store's clock where the store has one;
//! - an answer that was lost is no answer: the client asks again, and the record decides then.

mod session;

use std::fmt;
use std::pin::Pin;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

pub use self::session::{Problem, Question, Session, Step};
use crate::protocol::NodeId;
use crate::protocol::lease::Token;

/// The id under which a core knows a store that is no node: the highest. No member may have this
/// id then.
pub const STORE: NodeId = match NodeId::new(u16::MAX) {
    Some(id) => id,
    None => unreachable!(),
};

/// The longest name of a holder, in bytes.
pub const LONGEST_NAME: usize = 128;

/// One start of one process, as stores write it down.
///
/// Two starts are two holders, even if both have one name: a machine that was copied runs its node
/// twice, and at most one of the two holds the lease. The text form is `NAME#START`, with the start
/// as 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Holder {
    name: String,
    start: u64,
}

/// The reason why a text is no [`Holder`].
#[derive(Clone, Error, PartialEq, Eq)]
pub enum HolderError {
    /// The name is empty, too long, or has other characters.
    #[error(
        "`{0}` cannot name a holder: use 1 to {LONGEST_NAME} letters, digits, and any of `-_.:/@`"
    )]
    Name(String),
    /// The text is not of the form `NAME#START`.
    #[error("`{0}` is no holder: expected NAME#START, with 16 hexadecimal digits as START")]
    Form(String),
}

impl Holder {
    /// Returns the holder with this name, in a process whose start has this random number.
    ///
    /// # Errors
    ///
    /// [`HolderError::Name`] if the name is empty, longer than [`LONGEST_NAME`] bytes, or has
    /// characters other than ASCII letters, digits and `-_.:/@`.
    pub fn new(name: impl Into<String>, start: u64) -> Result<Self, HolderError> {
        let name = name.into();
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:/@".contains(&byte);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(plain) {
            return Err(HolderError::Name(name));
        }
        Ok(Self { name, start })
    }

    /// Returns the holder that a member with this id is, in this start of its process.
    #[must_use]
    pub fn member(id: NodeId, start: u64) -> Self {
        Self { name: id.to_string(), start }
    }

    /// Returns the name, for people: the id of a member, or a label such as `HOST:PID`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the random number of the start.
    #[must_use]
    pub fn start(&self) -> u64 {
        self.start
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}#{:016x}", self.name, self.start)
    }
}

impl FromStr for Holder {
    type Err = HolderError;

    fn from_str(text: &str) -> Result<Self, HolderError> {
        let form = || HolderError::Form(text.to_owned());
        let (name, start) = text.rsplit_once('#').ok_or_else(form)?;
        let digits = start.len() == 16 && start.bytes().all(|byte| byte.is_ascii_hexdigit());
        let start = u64::from_str_radix(start, 16).ok().filter(|_| digits).ok_or_else(form)?;
        Self::new(name, start)
    }
}

/// The record of a lease, as a store has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The holder; `None` if the lease is free, or has expired.
    pub holder: Option<Holder>,
    /// The token of the newest grant; 0 if the store knows none, as before the first grant, or
    /// after someone has deleted the record.
    pub token: Token,
    /// How much of the lease is left, where the store can say so.
    pub left: Option<Duration>,
    /// The version of a record that no client can have written like this: more is left than the
    /// whole duration that the record says, or the record has a holder and never ends. `None` if
    /// the store ends the record in time.
    ///
    /// The version changes with each renewal, so a record whose version stays for longer than the
    /// duration of a lease has no holder that renews it.
    pub doubt: Option<String>,
}

/// The answer of a store to a claim or a renewal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The lease is the asker's, with this token.
    Granted(Token),
    /// The lease is not the asker's. The record is as the store has it after the question.
    Refused(LeaseRecord),
}

/// A claim to the lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim<'a> {
    /// The process that asks.
    pub holder: &'a Holder,
    /// The highest token that the asker has seen: a grant has a higher one.
    pub seen: Token,
    /// The asker knows that the store has lost its record, and does not lead before a lease has
    /// lasted for its whole duration. Without that, a store whose newest token is lower than
    /// [`Claim::seen`] refuses the claim: the store may have forgotten a lease that another client
    /// still holds. A store without a record has the newest token 0.
    pub waits: bool,
    /// The version of a [doubted](LeaseRecord::doubt) record that the asker has watched for longer
    /// than a lease lasts: the store grants the lease as if a record of exactly this version had
    /// expired.
    pub overdue: Option<&'a str>,
}

/// The settings of an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSettings {
    /// The name of the lease. At most 64 bytes; letters, digits, `-`, `_`, `.` and `/`.
    pub name: String,
    /// The time for which the store keeps a grant.
    pub ttl: Duration,
    /// The longest time that one question to the store may take.
    pub limit: Duration,
}

/// The reason why a store does not answer, as a sentence for the log and the status, without a
/// password.
#[derive(Clone, Error, PartialEq, Eq)]
pub enum StoreError {
    /// The store cannot be reached, or did not answer in time: a new connection may help.
    #[error("{0}")]
    Unreachable(String),
    /// The store answers, and cannot do what it was asked: a table or a permission is missing.
    #[error("{problem}; {remedy}")]
    Misconfigured {
        /// The problem.
        problem: String,
        /// The remedy.
        remedy: String,
    },
}

/// The result of a question to a store.
pub type StoreResult<T> = Result<T, StoreError>;

/// A question to a store that is being asked.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = StoreResult<T>> + Send + 'a>>;

/// A connection to a store that can grant the lease, used by one task.
///
/// Each future may be dropped at any moment, as when a question takes too long. After that (but for
/// [`LeaseStore::changed`]), and after an error, the connection is not used again.
pub trait LeaseStore: Send {
    /// Claims the lease: compare and set, in one step.
    fn acquire<'a>(&'a mut self, claim: Claim<'a>) -> Asking<'a, Answer>;

    /// Extends the lease with this token, if the holder still has it.
    fn renew<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, Answer>;

    /// Gives back the lease with this token. If the holder no longer has it, nothing happens.
    fn release<'a>(&'a mut self, holder: &'a Holder, token: Token) -> Asking<'a, ()>;

    /// Reads the record, and changes nothing.
    fn read(&mut self) -> Asking<'_, LeaseRecord>;

    /// Makes what the store needs, such as a table; if that is there, nothing happens.
    fn init(&mut self) -> Asking<'_, ()>;

    /// Returns whether the store tells its clients of each change of the holder, by
    /// [`LeaseStore::changed`].
    fn watches(&self) -> bool {
        false
    }

    /// Returns when the record may have changed since the last call. Never returns if the store
    /// does not [watch](LeaseStore::watches). A store need not tell of renewals.
    ///
    /// This future may be dropped at any moment without harm, and the next call tells of what has
    /// changed meanwhile.
    fn changed(&mut self) -> Asking<'_, ()> {
        Box::pin(std::future::pending())
    }
}

/// A way to a store, which connects as often as it takes.
pub trait Connect: fmt::Debug + Send + Sync {
    /// Connects. The caller keeps [`LeaseSettings::limit`].
    fn connect<'a>(&'a self, settings: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>>;

    /// Checks that this process has what it needs besides the files that it was given, such as
    /// other files. The store is not asked.
    ///
    /// # Errors
    ///
    /// [`StoreError::Misconfigured`] with what is missing, and the remedy.
    fn check(&self) -> StoreResult<()> {
        Ok(())
    }

    /// Returns what [`LeaseStore::init`] does, as text for a person: statements of SQL, or the key.
    fn setup(&self, settings: &LeaseSettings) -> String;

    /// Returns a sentence for the log at the start, if two nodes may hold the lease at the same
    /// time with this store although every rule is kept.
    fn warning(&self) -> Option<&'static str>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_read_as_it_was_written() {
        for name in ["3", "db-1.example.org:4711", "a@b/c_d"] {
            let holder = Holder::new(name, 0xab).expect("a name");
            assert_eq!(holder.to_string(), format!("{name}#00000000000000ab"));
            assert_eq!(holder.to_string().parse(), Ok(holder));
        }
        for wrong in ["", "3", "3#", "3#ab", "#00000000000000ab", "a b#00000000000000ab"] {
            assert!(wrong.parse::<Holder>().is_err(), "{wrong}");
        }
        assert!(Holder::new("x".repeat(LONGEST_NAME + 1), 0).is_err());
    }
}

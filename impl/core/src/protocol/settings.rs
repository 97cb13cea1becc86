//! What nodes of any protocol are told, and what can be wrong with it: members, and durations.

use std::convert::Infallible;
use std::time::Duration;

use humantime::format_duration;
use thiserror::Error;

use super::{Members, NodeId};

/// The part of a configuration that every core must have: which node it is, and which nodes it
/// hears.
pub trait Membership {
    /// Returns the id of the node itself.
    fn id(&self) -> NodeId;

    /// Returns whether `other` is a node that this one hears; it need not exclude itself.
    fn hears(&self, other: NodeId) -> bool;
}

/// The configuration of a node among members that all hear each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config<T> {
    /// The id of the node itself; one of the members.
    pub id: NodeId,
    /// Every node that takes part, the node itself included. The same on every node.
    pub members: Members,
    /// The durations of the node's waits. Best the same on every node.
    pub timing: T,
}

impl<T> Membership for Config<T> {
    fn id(&self) -> NodeId {
        self.id
    }

    fn hears(&self, other: NodeId) -> bool {
        self.members.contains(other)
    }
}

/// The problem with the name of a cluster or its members, in one sentence, with the remedy.
#[derive(Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MemberError {
    /// The text is not a number between 1 and 65535.
    #[error("`{text}` is not a node id: use a whole number from 1 to 65535")]
    NotAnId {
        /// The text that was given instead.
        text: String,
    },
    /// The text is not the name of a cluster.
    #[error(
        "`{text}` is not a cluster name: use 1 to 64 letters, digits, dots, dashes, underscores"
    )]
    NotACluster {
        /// The text that was given instead.
        text: String,
    },
    /// Two members have one id.
    #[error("two nodes with one id: {node} is listed twice; give every member its own id")]
    DuplicateId {
        /// The id that two members have.
        node: NodeId,
    },
    /// The number of members is too small or too large.
    #[error(
        "{members} member(s) configured: list 1 to 255, the node itself included",
        members = if *members > Members::MAX { "more than 255".into() } else { members.to_string() }
    )]
    Size {
        /// The number of members, counted up to 256.
        members: usize,
    },
    /// The node itself is not listed.
    #[error("node {node} is not among the members ({members}): add it to them, or use another id")]
    NotAMember {
        /// The id of the node.
        node: NodeId,
        /// The members that are listed.
        members: Members,
    },
    /// The observer is not among the members.
    #[error(
        "node {node} is to observe, and is not among the members ({members}): list its address \
         under [members], or do not name it as an observer"
    )]
    UnknownObserver {
        /// The id of the observer.
        node: NodeId,
        /// The members that are listed.
        members: Members,
    },
    /// The witness is not among the members.
    #[error(
        "node {node} is to be a witness, and is not among the members ({members}): list its \
         address under [members], or do not name it as a witness"
    )]
    UnknownWitness {
        /// The id of the witness.
        node: NodeId,
        /// The members that are listed.
        members: Members,
    },
    /// The witness only observes, and so has no vote.
    #[error(
        "node {node} is to be a witness and to observe: a witness votes, and an observer does \
         not; name it as one of the two"
    )]
    WitnessObserves {
        /// The id of the witness.
        node: NodeId,
    },
    /// All voters are witnesses.
    #[error(
        "{voters} member(s) vote, and all are witnesses: let at least 1 be none, or none leads"
    )]
    NoCandidate {
        /// The number of voters.
        voters: usize,
    },
    /// The number of observers is too large.
    #[error(
        "{voters} member(s) vote, the others observe: let at least 1 vote, or there is none to lead"
    )]
    TooFewVoters {
        /// The number of voters that are left.
        voters: usize,
    },
}

/// An id is one already.
impl From<Infallible> for MemberError {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

/// The problem with a duration, under the key that it has in the configuration of the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DurationError {
    /// The duration is zero, or absurdly long.
    #[error("{section}.{name} is {value:?}: use more than 0s and at most 24h")]
    OutOfRange {
        /// The section, which has the name of the protocol.
        section: &'static str,
        /// The key of the duration.
        name: &'static str,
        /// The value of the duration.
        value: Duration,
    },
    /// The two durations do not fit together.
    #[error(transparent)]
    Conflict(Box<Conflict>),
}

/// A conflict of two durations of one section, which do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "{section}.{name} ({value:?}) must be {must} {section}.{than} ({limit:?}): {why}; \
     try {remedy:?}"
)]
#[non_exhaustive]
pub struct Conflict {
    /// The section, which has the name of the protocol.
    pub section: &'static str,
    /// The key of the duration.
    pub name: &'static str,
    /// The value of the duration.
    pub value: Duration,
    /// The comparison that must hold.
    pub must: &'static str,
    /// The key of the other duration.
    pub than: &'static str,
    /// The value of the other duration.
    pub limit: Duration,
    /// The reason: what would happen otherwise.
    pub why: &'static str,
    /// A value that fits.
    pub remedy: Duration,
}

/// The problem with a configuration of members and durations alone.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The members are wrong.
    #[error(transparent)]
    Members(#[from] MemberError),
    /// One of the durations is wrong.
    #[error(transparent)]
    Duration(#[from] DurationError),
}

/// A duration and its key.
type Named = (&'static str, Duration);

/// The durations in the section of one protocol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Durations(pub(super) &'static str);

impl Durations {
    /// The longest that any duration may be: a day. A longer one is a slip of the keyboard.
    const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

    /// Each is more than nothing, and not absurd.
    pub(super) fn in_range(self, all: &[Named]) -> Result<(), DurationError> {
        match all.iter().find(|(_, value)| value.is_zero() || *value > Self::LONGEST) {
            Some(&(name, value)) => Err(DurationError::OutOfRange { section: self.0, name, value }),
            None => Ok(()),
        }
    }

    /// One is longer than the other.
    pub(super) fn longer(
        self,
        one: Named,
        other: Named,
        why: &'static str,
        remedy: Duration,
    ) -> Relation {
        let shown = inequality(&format!("{} > {}", one.0, other.0), one.1, ">", other.1);
        self.require(one.1 > other.1, one, "longer than", other, why, remedy).shown(shown)
    }

    /// Something that is repeated comes more than twice before it is missed.
    pub(super) fn repeated(self, one: Named, other: Named, why: &'static str) -> Relation {
        let (twice, half) = (one.1 * 2, "shorter than half of");
        let shown = inequality(&format!("2 * {} < {}", one.0, other.0), twice, "<", other.1);
        self.require(twice < other.1, one, half, other, why, other.1 / 5).shown(shown)
    }

    /// Whatever `must` says holds.
    pub(super) fn require(
        self,
        holds: bool,
        one: Named,
        must: &'static str,
        other: Named,
        why: &'static str,
        remedy: Duration,
    ) -> Relation {
        let (section, (name, value), (than, limit)) = (self.0, one, other);
        let conflict = Conflict { section, name, value, must, than, limit, why, remedy };
        Relation { holds, conflict, shown: String::new() }
    }
}

/// The relation in which two durations of one section must stand, and whether they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    holds: bool,
    conflict: Conflict,
    shown: String,
}

impl Relation {
    /// The same, which is explained by this [inequality].
    pub(super) fn shown(self, shown: String) -> Self {
        Self { shown, ..self }
    }

    /// Returns the inequality, with the names of the durations and with their values, and why it
    /// must hold.
    #[must_use]
    pub fn explain(&self) -> String {
        format!("{} ({})", self.shown, self.conflict.why)
    }
}

/// An inequality, first with the names, then with these numbers.
pub(super) fn inequality(names: &str, one: Duration, sign: &str, other: Duration) -> String {
    format!("{names}: {} {sign} {}", format_duration(one), format_duration(other))
}

/// The first that does not hold.
pub(super) fn check(relations: Vec<Relation>) -> Result<(), DurationError> {
    match relations.into_iter().find(|relation| !relation.holds) {
        Some(Relation { conflict, .. }) => Err(DurationError::Conflict(Box::new(conflict))),
        None => Ok(()),
    }
}

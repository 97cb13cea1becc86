//! How a node is, as data: what it answers to a question on its port, and what others show of it.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::config::{Address, CertificateUse, Expiry};
use crate::protocol::{ClusterId, Epoch, NodeId, Role};
use crate::store::Holder;

/// The longest description of the problem of a node as a whole, in bytes.
#[cfg(test)]
pub(crate) const LONGEST_PROBLEM: usize = 2_560;

/// How many certificates are reported.
pub(crate) const MOST_CERTIFICATES: usize = 16;

/// How many characters of the path of a file are reported: the last ones.
pub(crate) const LONGEST_FILE: usize = 160;

/// The status of a node at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StatusReport {
    /// The cluster that the node belongs to.
    pub cluster: ClusterId,
    /// The protocol that the node runs.
    pub protocol: String,
    /// The id of the node.
    pub node: NodeId,
    /// The incarnation, which is one run of the node: the time of its start, in nanoseconds since
    /// 1970. `None` if the node does not tell, as it cannot know who asks.
    pub incarnation: Option<u64>,
    /// The number of the node's list of members.
    pub config_epoch: u64,
    /// Whether the node only observes: it follows the leader, and neither votes nor leads.
    pub observes: bool,
    /// The role of the node.
    pub role: Role,
    /// The node that it takes for the leader.
    pub leader: Option<NodeId>,
    /// The epoch of that leader, if the protocol has epochs.
    pub epoch: Option<Epoch>,
    /// The milliseconds until its own lease is over if it is not renewed, if it leads with a lease.
    pub lease_ms: Option<u64>,
    /// The milliseconds that were left of its own lease when it was renewed last, if it was.
    pub margin_ms: Option<u64>,
    /// The reason for its role and leader.
    pub reason: Option<String>,
    /// The number of changes: of times that the leader, its epoch, or the role of a node with a
    /// leader became another.
    pub seq: u64,
    /// The milliseconds since the node started.
    pub uptime_ms: u64,
    /// The milliseconds since its role, its leader or the epoch became another one.
    pub in_role_ms: u64,
    /// The problem of the node as a whole: it leads, and no other member listens to it; its storage
    /// does not answer; the store of its lease cannot be asked, answers too late, or has a record
    /// that cannot be right; it has had no leader for longer than three elections take, and why;
    /// its leader does not let it vote; or it is not fit to lead, or the cluster is in maintenance.
    pub problem: Option<String>,
    /// The other members.
    pub members: Vec<MemberReport>,
    /// The counters of what has gone wrong so far.
    pub counters: Counters,
    /// The certificates that the node uses, those that expire first: at most 16.
    pub certificates: Vec<CertificateReport>,
    /// The members that vote and never lead, ascending; the node itself is among them if it is one.
    pub witnesses: Vec<NodeId>,
    /// The voters that a leader has not let in yet, ascending; the node itself is among them if it
    /// is one.
    pub awaited: Vec<NodeId>,
    /// The priority of the node: a leader hands over to a member with a higher one.
    pub priority: u8,
    /// Whether the cluster is in maintenance, as far as the node knows: no node stands for
    /// election.
    pub maintenance: bool,
    /// The name of the holder of the lease, as the store says that is no member.
    pub holder: Option<String>,
}

/// The store of the lease that is no member, as a node sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoreView {
    /// Whether the store answers.
    pub up: bool,
    /// The holder of the lease, as far as it is known.
    pub holder: Option<Holder>,
    /// The reason why the store does not answer, or what is wrong with its answers.
    pub problem: Option<String>,
    /// The number of times that the store had lost its record: it had a lower token than the node
    /// had seen.
    pub regressions: u64,
    /// The address of the store, without a password.
    pub address: String,
    /// The name of the lease.
    pub name: String,
}

impl StoreView {
    /// The store at this address, which was not asked yet for the lease with this name.
    pub(crate) fn new(address: String, name: String) -> Self {
        Self { up: false, holder: None, problem: None, regressions: 0, address, name }
    }
}

/// The status of another member, as a node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct MemberReport {
    /// The id of the member.
    pub node: NodeId,
    /// The address at which the member should be.
    pub address: Address,
    /// Whether the member only observes.
    pub observes: bool,
    /// The state of the connection to the member.
    pub link: Link,
    /// The reason why there is no connection.
    pub problem: Option<String>,
    /// Whether the member has a connection to this node.
    pub heard: bool,
    /// The priority of the member, as it says; `None` if it is not heard.
    pub priority: Option<u8>,
    /// Whether the member is fit to lead and was not asked not to stand for election, as it says;
    /// `None` if it is not heard.
    pub fit: Option<bool>,
    /// The reason why there was no connection last, whether there is one now or not.
    pub error: Option<String>,
    /// The milliseconds since that was found.
    pub error_ms: Option<u64>,
    /// The number of messages handed to the network for the member.
    pub sent: u64,
    /// The number of messages received from the member.
    pub received: u64,
    /// The number of messages for the member that were dropped, because they were too many or too
    /// old.
    pub dropped: u64,
}

/// The groups of a node, and which node leads each of them, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GroupsReport {
    /// The cluster that the node belongs to.
    pub cluster: ClusterId,
    /// The protocol that the node runs in each group.
    pub protocol: String,
    /// The id of the node.
    pub node: NodeId,
    /// The groups, in the order of their names.
    pub groups: Vec<GroupReport>,
}

/// One group, as a node sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct GroupReport {
    /// The name of the group.
    pub name: String,
    /// The role of the node in the group.
    pub role: Role,
    /// The node that it takes for the leader of the group.
    pub leader: Option<NodeId>,
    /// The epoch of that leader.
    pub epoch: Option<Epoch>,
}

/// The state of the connection to another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Link {
    /// The connection is up.
    Connected,
    /// The connection is down; the member is called again and again.
    Connecting,
    /// The member answers, but the two must not talk: the configuration must be corrected.
    Refused,
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Connected => "connected",
            Self::Connecting => "connecting",
            Self::Refused => "refused",
        })
    }
}

/// The counters of what has gone wrong since the node started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Counters {
    /// The number of attempts to find a leader, in which the node took another role: it knew none
    /// before, and none after.
    pub attempts: u64,
    /// The number of handshakes that this node refused.
    pub refused_handshakes: u64,
    /// The number of frames that made no sense.
    pub bad_frames: u64,
    /// The number of well-formed messages that the protocol ignored: late, or sent by a node that
    /// is wrong.
    pub ignored_messages: u64,
    /// The number of times that the node heard of a rival, which led at the same time as it did:
    /// once of each node in each leadership of its own.
    pub rivals: u64,
    /// The number of log lines that were dropped, because they were too many or could not be
    /// written; 0 for a program that does not [count](crate::log::Lines::count_in_status) them.
    pub dropped_log_lines: u64,
    /// The number of times that the node renewed its own lease with less than a third of it left.
    pub late_renewals: u64,
    /// The number of times that the store of the lease had lost its record, if it is no member.
    pub store_regressions: u64,
}

/// A certificate that a node uses, and when it expires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CertificateReport {
    /// The use that the node makes of the certificate.
    pub which: CertificateUse,
    /// The path of the file in which it is.
    pub file: String,
    /// The place of the certificate in that file, from 1.
    pub number: u32,
    /// The end of its validity.
    #[serde(with = "rfc3339")]
    pub not_after: SystemTime,
    /// The number of whole days that are left: 0 on the last day, and negative after it.
    pub days_left: i64,
}

impl CertificateReport {
    /// What is reported of these certificates at this moment.
    pub(crate) fn all(expiries: &[Expiry], now: SystemTime) -> Vec<Self> {
        let mut first: Vec<_> = expiries.iter().collect();
        first.sort_by_key(|expiry| expiry.not_after);
        first.into_iter().take(MOST_CERTIFICATES).map(|expiry| Self::of(expiry, now)).collect()
    }

    fn of(expiry: &Expiry, now: SystemTime) -> Self {
        let Expiry { which, ref file, number, not_after } = *expiry;
        let file = file.to_string_lossy();
        let cut = file.chars().count().saturating_sub(LONGEST_FILE);
        let file = file.chars().skip(cut).collect();
        Self { which, file, number, not_after, days_left: expiry.days_left(now) }
    }
}

/// The measurements of a node at one moment. They are for the operator of that node: it tells them
/// to no other.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Measurements {
    /// The links to the other members.
    pub links: Vec<LinkMeasurements>,
    /// The storage; `None` if nothing was written since the start.
    pub storage: Option<StorageMeasurements>,
    /// The time for which the node does not stand for election, as it was asked with a request to
    /// freeze or to step down.
    pub frozen: Duration,
    /// Whether the store of the lease answers that is no member; `None` if the node asks none.
    pub store_connected: Option<bool>,
}

/// The measurements of the link to another member: of the connections in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkMeasurements {
    /// The id of the member.
    pub node: NodeId,
    /// Whether there is a connection to the member, and the member is heard.
    pub up: bool,
    /// The number of times that the link has broken.
    pub breaks: u64,
    /// The number of times that it was up again.
    pub heals: u64,
    /// The time since the member was heard last; `None` if it never was.
    pub silence: Option<Duration>,
    /// The time that the latest ping and its answer took; or for which an answer is awaited, if
    /// that is longer. `None` before the first answer, and while there is no connection.
    pub round_trip: Option<Duration>,
}

/// The measurements of the storage. A write is done when what was written is on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StorageMeasurements {
    /// The number of writes that were done.
    pub syncs: u64,
    /// The time that the latest write took; or that one has taken so far, if that is longer.
    pub last: Duration,
    /// The longest of these times since the start.
    pub longest: Duration,
    /// The time since the latest write was done; `None` if none was.
    pub age: Option<Duration>,
}

/// A moment as text, in UTC.
mod rfc3339 {
    use std::time::SystemTime;

    use humantime::{format_rfc3339_seconds, parse_rfc3339};
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &SystemTime,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&format_rfc3339_seconds(*time).to_string())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<SystemTime, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_rfc3339(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_expire_first_are_reported_with_the_end_of_a_long_path() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let hour = Duration::from_secs(60 * 60);
        let expiry = |number: u32| Expiry {
            which: CertificateUse::Authority,
            file: format!("{}/ca.pem", "ä".repeat(200)).into(),
            number,
            not_after: now + hour * (40 - number),
        };
        let all: Vec<_> = (1..=30).map(expiry).collect();
        let reported = CertificateReport::all(&all, now);
        let numbers: Vec<_> = reported.iter().map(|one| one.number).collect();
        assert_eq!(numbers, (15..=30).rev().collect::<Vec<_>>());
        assert_eq!((reported[0].days_left, reported[15].days_left), (0, 1));
        assert_eq!(reported[0].file.chars().count(), LONGEST_FILE);
        assert!(reported[0].file.ends_with("ä/ca.pem"));

        let text = serde_json::to_string(&reported[0]).expect("it can be written");
        assert!(text.contains("\"which\":\"authority\""), "{text}");
        assert!(text.contains("\"not_after\":\"2001-09-09T11:46:40Z\""), "{text}");
        assert_eq!(serde_json::from_str::<CertificateReport>(&text).expect("read"), reported[0]);
    }
}

//! What Prometheus collects: made of the status of the node and of what it measures, when it is
//! asked for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

use super::{Options, Shared, refuse};
use crate::driver::Handle;
use crate::protocol::{NodeId, Role};
use crate::status::{Link, LinkMeasurements, Measurements, MemberReport, StatusReport};

/// How many of something there have been, or how something is.
enum Kind {
    /// Counters of the node; none if it has not measured them.
    Count(fn(&Seen) -> Option<u64>),
    /// Counters of each other member.
    CountEach(fn(&MemberReport) -> u64),
    /// One value of the node; none if it has none.
    Value(fn(&Seen) -> Option<f64>),
    /// One value of each other member.
    ValueEach(fn(&MemberReport) -> f64),
    /// The end of each certificate.
    Certificates,
    /// Counters of the link to each other member.
    LinkCount(fn(&LinkMeasurements) -> u64),
    /// One value of the link to each other member; none if there is none.
    LinkValue(fn(&LinkMeasurements) -> Option<f64>),
    /// 1 for the role that the node has, 0 for the others.
    Role,
    /// 1 for the holder of the lease, by its name.
    Holder,
    /// 1, with what does not change as labels.
    Info,
}

/// What the metrics are made of.
struct Seen {
    status: StatusReport,
    leads: bool,
    healthy: bool,
    measured: Measurements,
    wrong_tokens: u64,
}

impl Seen {
    /// What there is to see of this node.
    fn of(node: &Handle, options: &Options) -> Self {
        let (leads, healthy) = (node.leads_now(), node.is_healthy());
        let (measured, wrong_tokens) = (node.measurements(), options.wrong_tokens.count());
        Self { status: node.status(), leads, healthy, measured, wrong_tokens }
    }
}

/// A metric: its name, what it says, and how.
struct Metric(&'static str, &'static str, Kind);

/// All metrics. The name of a counter ends with `_total` when it is written.
const METRICS: &[Metric] = {
    use Kind::{
        Certificates, Count, CountEach, Holder, Info, LinkCount, LinkValue, Role, Value, ValueEach,
    };
    &[
        Metric("bellwether", "The node, its cluster, its protocol and the version", Info),
        Metric(
            "bellwether_leads",
            "1 if the node leads and its lease lasts",
            Value(|seen| Some(flag(seen.leads))),
        ),
        Metric("bellwether_role", "1 for the role that the node has", Role),
        Metric(
            "bellwether_observes",
            "1 if the node only observes: it neither votes nor leads",
            Value(|seen| Some(flag(seen.status.observes))),
        ),
        Metric(
            "bellwether_config_epoch",
            "The number of the list of members",
            Value(|seen| Some(seen.status.config_epoch as f64)),
        ),
        Metric(
            "bellwether_problem",
            "1 if something is wrong with the node as a whole: `/cluster` says what",
            Value(|seen| Some(flag(seen.status.problem.is_some()))),
        ),
        Metric(
            "bellwether_healthy",
            "1 if the node is fit to lead, as far as its check says, or its program",
            Value(|seen| Some(flag(seen.healthy))),
        ),
        Metric(
            "bellwether_priority",
            "The priority of the node: a leader hands over to a member with a higher one",
            Value(|seen| Some(f64::from(seen.status.priority))),
        ),
        Metric(
            "bellwether_maintenance",
            "1 if the cluster is in maintenance, as far as the node knows",
            Value(|seen| Some(flag(seen.status.maintenance))),
        ),
        Metric(
            "bellwether_leader",
            "The id of the leader; 0 if none is known",
            Value(|seen| Some(seen.status.leader.map_or(0.0, |leader| f64::from(leader.get())))),
        ),
        Metric(
            "bellwether_epoch",
            "The epoch of the leader",
            Value(|seen| seen.status.epoch.map(|epoch| epoch.number() as f64)),
        ),
        Metric(
            "bellwether_lease_seconds",
            "How long the node's own lease lasts if it is not renewed",
            Value(|seen| seen.status.lease_ms.map(|ms| ms as f64 / 1_000.0)),
        ),
        Metric(
            "bellwether_lease_margin_seconds",
            "What was left of the node's own lease when it was renewed last",
            Value(|seen| seen.status.margin_ms.map(|ms| ms as f64 / 1_000.0)),
        ),
        Metric(
            "bellwether_late_renewals",
            "Renewals of the node's own lease with less than a third of it left",
            Count(|seen| Some(seen.status.counters.late_renewals)),
        ),
        Metric(
            "bellwether_store_holder",
            "1 for the holder of the lease, as the store says that is no member",
            Holder,
        ),
        Metric(
            "bellwether_store_regressions",
            "How often the store of the lease, which is no member, had lost its record",
            Count(|seen| Some(seen.status.counters.store_regressions)),
        ),
        Metric(
            "bellwether_uptime_seconds",
            "How long the node has taken part",
            Value(|seen| Some(seen.status.uptime_ms as f64 / 1_000.0)),
        ),
        Metric(
            "bellwether_changes",
            "Changes of leader, epoch or role, and rivals",
            Count(|seen| Some(seen.status.seq)),
        ),
        Metric(
            "bellwether_attempts",
            "Attempts to find a leader, without one before and after",
            Count(|seen| Some(seen.status.counters.attempts)),
        ),
        Metric(
            "bellwether_refused_handshakes",
            "Handshakes that the node refused",
            Count(|seen| Some(seen.status.counters.refused_handshakes)),
        ),
        Metric(
            "bellwether_bad_frames",
            "Frames that made no sense",
            Count(|seen| Some(seen.status.counters.bad_frames)),
        ),
        Metric(
            "bellwether_ignored_messages",
            "Messages that the protocol ignored",
            Count(|seen| Some(seen.status.counters.ignored_messages)),
        ),
        Metric(
            "bellwether_rivals",
            "Nodes that led at the same time as this one",
            Count(|seen| Some(seen.status.counters.rivals)),
        ),
        Metric(
            "bellwether_dropped_log_lines",
            "Lines of the log that were dropped",
            Count(|seen| Some(seen.status.counters.dropped_log_lines)),
        ),
        Metric(
            "bellwether_wrong_tokens",
            "Requests by HTTP with a wrong token",
            Count(|seen| Some(seen.wrong_tokens)),
        ),
        Metric(
            "bellwether_certificate_not_after_timestamp_seconds",
            "When a certificate expires, in seconds since 1970",
            Certificates,
        ),
        Metric(
            "bellwether_member_connected",
            "1 if there is a connection to the member",
            ValueEach(|member| flag(member.link == Link::Connected)),
        ),
        Metric(
            "bellwether_member_observes",
            "1 if the member only observes",
            ValueEach(|member| flag(member.observes)),
        ),
        Metric(
            "bellwether_member_refused",
            "1 if the member and the node must not talk",
            ValueEach(|member| flag(member.link == Link::Refused)),
        ),
        Metric(
            "bellwether_member_sent_messages",
            "Messages handed to the network for the member",
            CountEach(|member| member.sent),
        ),
        Metric(
            "bellwether_member_received_messages",
            "Messages received from the member",
            CountEach(|member| member.received),
        ),
        Metric(
            "bellwether_member_dropped_messages",
            "Messages for the member that were dropped",
            CountEach(|member| member.dropped),
        ),
        Metric(
            "bellwether_link_up",
            "1 if there is a connection to the member, and the member is heard",
            LinkValue(|link| Some(flag(link.up))),
        ),
        Metric(
            "bellwether_link_breaks",
            "How often the link to the member has broken",
            LinkCount(|link| link.breaks),
        ),
        Metric(
            "bellwether_link_heals",
            "How often the link to the member was up again",
            LinkCount(|link| link.heals),
        ),
        Metric(
            "bellwether_link_silence_seconds",
            "How long ago the member was heard last",
            LinkValue(|link| link.silence.map(|time| time.as_secs_f64())),
        ),
        Metric(
            "bellwether_link_round_trip_seconds",
            "How long the latest ping to the member and its answer took, or one has been awaited",
            LinkValue(|link| link.round_trip.map(|time| time.as_secs_f64())),
        ),
        Metric(
            "bellwether_store_connected",
            "1 if the store of the lease answers, which is no member",
            Value(|seen| seen.measured.store_connected.map(flag)),
        ),
        Metric(
            "bellwether_storage_syncs",
            "Writes to the storage that were made durable",
            Count(|seen| seen.measured.storage.map(|storage| storage.syncs)),
        ),
        Metric(
            "bellwether_storage_sync_seconds",
            "How long the latest write to the storage took, or one has taken so far",
            Value(|seen| seen.measured.storage.map(|storage| storage.last.as_secs_f64())),
        ),
        Metric(
            "bellwether_storage_longest_sync_seconds",
            "How long the longest write to the storage took",
            Value(|seen| seen.measured.storage.map(|storage| storage.longest.as_secs_f64())),
        ),
        Metric(
            "bellwether_storage_age_seconds",
            "How long ago the latest write to the storage was made durable",
            Value(|seen| seen.measured.storage?.age.map(|time| time.as_secs_f64())),
        ),
        Metric(
            "bellwether_frozen_seconds",
            "For how long the node does not stand for election, as it was asked to; else 0",
            Value(|seen| Some(seen.measured.frozen.as_secs_f64())),
        ),
    ]
};

fn flag(set: bool) -> f64 {
    f64::from(u8::from(set))
}

/// Returns the names of all metrics, as they are written.
#[must_use]
pub fn names() -> Vec<String> {
    let name = |Metric(name, _, kind): &Metric| match kind {
        _ if kind.is_counter() => format!("{name}_total"),
        Kind::Info => format!("{name}_info"),
        _ => (*name).to_owned(),
    };
    METRICS.iter().map(name).collect()
}

impl Kind {
    /// Whether it is something that is counted.
    fn is_counter(&self) -> bool {
        matches!(self, Self::Count(_) | Self::CountEach(_) | Self::LinkCount(_))
    }
}

fn encode(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: &Kind,
    seen: &Seen,
) -> Result<(), fmt::Error> {
    let status = &seen.status;
    let member = |node: NodeId| [("member", node.to_string())];
    let of = match kind {
        _ if kind.is_counter() => MetricType::Counter,
        Kind::Info => MetricType::Info,
        _ => MetricType::Gauge,
    };
    let mut metric = encoder.encode_descriptor(name, help, None, of)?;
    match kind {
        Kind::Count(count) => match count(seen) {
            Some(count) => ConstCounter::new(count).encode(metric),
            None => Ok(()),
        },
        Kind::Value(value) => match value(seen) {
            Some(value) => ConstGauge::new(value).encode(metric),
            None => Ok(()),
        },
        Kind::CountEach(count) => status.members.iter().try_for_each(|other| {
            ConstCounter::new(count(other)).encode(metric.encode_family(&member(other.node))?)
        }),
        Kind::ValueEach(value) => status.members.iter().try_for_each(|other| {
            ConstGauge::new(value(other)).encode(metric.encode_family(&member(other.node))?)
        }),
        Kind::Certificates => status.certificates.iter().try_for_each(|certificate| {
            let which = certificate.which.name().to_owned();
            let labels = [("which", which), ("number", certificate.number.to_string())];
            let since = certificate.not_after.duration_since(SystemTime::UNIX_EPOCH);
            let end = since.unwrap_or_default().as_secs_f64();
            ConstGauge::new(end).encode(metric.encode_family(&labels)?)
        }),
        Kind::LinkCount(count) => seen.measured.links.iter().try_for_each(|link| {
            ConstCounter::new(count(link)).encode(metric.encode_family(&member(link.node))?)
        }),
        Kind::LinkValue(value) => seen.measured.links.iter().try_for_each(|link| {
            let Some(value) = value(link) else { return Ok(()) };
            ConstGauge::new(value).encode(metric.encode_family(&member(link.node))?)
        }),
        Kind::Role => ROLES.iter().try_for_each(|role| {
            let labels = [("role", role.to_string())];
            ConstGauge::new(flag(status.role == *role)).encode(metric.encode_family(&labels)?)
        }),
        Kind::Holder => status.holder.iter().try_for_each(|name| {
            let labels = [("name", name.clone())];
            ConstGauge::new(1.0).encode(metric.encode_family(&labels)?)
        }),
        Kind::Info => metric.encode_info(&[
            ("cluster", status.cluster.to_string()),
            ("node", status.node.to_string()),
            ("protocol", status.protocol.clone()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ]),
    }
}

/// What means something in one group only.
const OF_ONE: [&str; 7] = [
    "bellwether_leads",
    "bellwether_role",
    "bellwether_leader",
    "bellwether_epoch",
    "bellwether_lease_seconds",
    "bellwether_lease_margin_seconds",
    "bellwether_store_holder",
];

/// Collects from one election, which has no name here, or from all groups of a node: the metrics of
/// the node, with sums over its groups, and which of the groups it leads. The metrics of one group
/// alone are at `/groups/NAME/metrics`. The groups are at most as many as [may be
/// configured](crate::config::GroupName::MOST).
#[derive(Debug)]
struct Collected(Arc<BTreeMap<String, Handle>>, Options);

impl Collected {
    /// What there is to see of the node, and of all groups together.
    fn seen(&self) -> Option<Seen> {
        let mut nodes = self.0.values().map(|handle| Seen::of(handle, &self.1));
        let mut seen = nodes.next()?;
        for other in nodes {
            seen.leads |= other.leads;
            seen.healthy &= other.healthy;
            let answers = seen.measured.store_connected.zip(other.measured.store_connected);
            seen.measured.store_connected = answers.map(|(all, one)| all && one);
            let (all, one) = (&mut seen.status, other.status);
            all.seq += one.seq;
            all.problem = all.problem.take().or(one.problem);
            all.counters.attempts += one.counters.attempts;
            all.counters.ignored_messages += one.counters.ignored_messages;
            all.counters.rivals += one.counters.rivals;
            all.counters.late_renewals += one.counters.late_renewals;
            all.counters.store_regressions += one.counters.store_regressions;
        }
        Some(seen)
    }
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (Some(seen), is_one) = (self.seen(), self.0.contains_key("")) else { return Ok(()) };
        for Metric(name, help, kind) in METRICS {
            if is_one || !OF_ONE.contains(name) {
                encode(&mut encoder, name, help, kind, &seen)?;
            }
        }
        if is_one {
            return Ok(());
        }
        let leads: Vec<_> = self.0.iter().map(|(name, node)| (name, node.leads_now())).collect();
        let led = leads.iter().filter(|(_, leads)| *leads).count();
        let without = |node: &&Handle| node.leadership().now().leader.is_none();
        let without = self.0.values().filter(without).count();
        for (name, help, value) in [
            ("bellwether_groups", "How many groups there are", leads.len()),
            ("bellwether_groups_led", "How many groups the node leads with a valid lease", led),
            ("bellwether_groups_leaderless", "Of how many groups no leader is known", without),
        ] {
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value as f64).encode(metric)?;
        }
        let help = "1 if the node leads the group and its lease lasts";
        let mut metric =
            encoder.encode_descriptor("bellwether_group_leads", help, None, MetricType::Gauge)?;
        leads.into_iter().try_for_each(|(name, leads)| {
            let labels = [("group", name.clone())];
            ConstGauge::new(flag(leads)).encode(metric.encode_family(&labels)?)
        })
    }
}

const ROLES: [Role; 5] =
    [Role::NotStarted, Role::Follower, Role::Candidate, Role::Waiting, Role::Leader];

/// The metrics in the text format of OpenMetrics.
pub(super) async fn metrics(State(shared): State<Shared>) -> Response {
    written(Arc::new([(String::new(), shared.handle)].into()), shared.options)
}

/// Returns the metrics of a node with these groups, as text.
pub(super) fn written(handles: Arc<BTreeMap<String, Handle>>, options: Options) -> Response {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Collected(handles, options)));
    let mut text = String::new();
    match prometheus_client::encoding::text::encode(&mut text, &registry) {
        Ok(()) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &error),
    }
}

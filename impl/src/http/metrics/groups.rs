//! The metrics of a node with groups: those of the node, with sums over its groups, and which of
//! the groups it leads. What is said of one group alone, `/groups/NAME/metrics` says.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use axum::response::Response;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use super::{MEASURED, METRICS, Metric, Seen, encode, flag, written};
use crate::driver::Handle;

/// What means something in one group only.
const OF_ONE: [&str; 6] = [
    "bellwether_leads",
    "bellwether_role",
    "bellwether_leader",
    "bellwether_epoch",
    "bellwether_lease_seconds",
    "bellwether_lease_margin_seconds",
];

/// Collects from all groups of a node. They are at most as many as
/// [may be configured](crate::config::GroupName::MOST).
#[derive(Debug)]
struct Collected(Arc<BTreeMap<String, Handle>>);

impl Collected {
    /// What there is to see of the node, and of all groups together.
    fn seen(&self) -> Option<Seen> {
        let mut handles = self.0.values();
        let mut seen = Seen::of(handles.next()?);
        for other in handles.map(Seen::of) {
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
        }
        Some(seen)
    }
}

impl Collector for Collected {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Some(seen) = self.seen() else { return Ok(()) };
        let all = METRICS.iter().chain(MEASURED);
        for Metric(name, help, kind) in all.filter(|metric| !OF_ONE.contains(&metric.0)) {
            encode(&mut encoder, name, help, kind, &seen)?;
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

/// The metrics in the text format of OpenMetrics.
pub(in crate::http) fn metrics(handles: Arc<BTreeMap<String, Handle>>) -> Response {
    written(Box::new(Collected(handles)))
}

//! The metrics of what a node measures beside its status.

use super::Kind::{LinkCount, LinkValue, Measured, MeasuredCount};
use super::{Metric, flag};

/// These metrics. The name of a counter ends with `_total` when it is written.
pub(super) const MEASURED: &[Metric] = &[
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
        Measured(|node| node.store_connected.map(flag)),
    ),
    Metric(
        "bellwether_storage_syncs",
        "Writes to the storage that were made durable",
        MeasuredCount(|node| node.storage.map(|storage| storage.syncs)),
    ),
    Metric(
        "bellwether_storage_sync_seconds",
        "How long the latest write to the storage took, or one has taken so far",
        Measured(|node| node.storage.map(|storage| storage.last.as_secs_f64())),
    ),
    Metric(
        "bellwether_storage_longest_sync_seconds",
        "How long the longest write to the storage took",
        Measured(|node| node.storage.map(|storage| storage.longest.as_secs_f64())),
    ),
    Metric(
        "bellwether_storage_age_seconds",
        "How long ago the latest write to the storage was made durable",
        Measured(|node| node.storage?.age.map(|time| time.as_secs_f64())),
    ),
    Metric(
        "bellwether_frozen_seconds",
        "For how long the node does not run, as it was asked to; else 0",
        Measured(|node| Some(node.frozen.as_secs_f64())),
    ),
    Metric(
        "bellwether_monitor_runs",
        "1 if the monitor runs, which judges the steps of the node",
        Measured(|node| node.monitor.map(|monitor| flag(monitor.runs))),
    ),
    Metric(
        "bellwether_monitor_judged",
        "Steps of the node that the monitor has judged",
        MeasuredCount(|node| node.monitor.map(|monitor| monitor.judged)),
    ),
    Metric(
        "bellwether_monitor_differences",
        "Differences that the monitor has found",
        MeasuredCount(|node| node.monitor.map(|monitor| monitor.differences)),
    ),
    Metric(
        "bellwether_monitor_dropped",
        "Lines of the trace that were dropped on their way to the monitor",
        MeasuredCount(|node| node.monitor.map(|monitor| monitor.dropped)),
    ),
];

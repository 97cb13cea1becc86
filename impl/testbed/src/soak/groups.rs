//! `groups`: what an election costs in which nothing happens, if many share three daemons, and if
//! each has daemons of its own; and how long it takes until each has a leader again when one daemon
//! is killed.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether::internal::config;
use bellwether_core::protocol::quorum::Timing;
use bellwether_testbed::wait;
use serde_json::{Value, json};

use super::cluster::{Cluster, Security, Setup, daemon, quorum_section};
use super::network::Loopback;
use super::quiescent::{Snapshot, allow_many_files, snapshot};
use super::report::{conclude, milliseconds, note, quantile, say, say_table};

/// How long between two questions for the leaders, after a daemon was killed.
const LOOK: Duration = Duration::from_millis(20);

/// How long an answer may take.
const ANSWER: Duration = Duration::from_secs(5);

/// How long it may take until all groups have a leader.
const LIMIT: Duration = Duration::from_secs(120);

/// Measure many elections in a few daemons, against daemons of their own for each
///
/// First the daemons take part in all groups, and nothing is asked of them for some time; then one
/// is killed. After that there are as many clusters as --single says, each with one election and
/// daemons of its own, for the same time. What they cost is told for each election, so that the two
/// can be compared; that a thousand such clusters cost a thousand times as much is not measured.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How many groups
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    groups: u16,

    /// How many nodes
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    nodes: u16,

    /// How many clusters with one election each; 0 for none
    #[arg(long, value_name = "COUNT", default_value_t = 30)]
    single: u16,

    /// For how long nothing happens
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = config::duration)]
    time: Duration,

    /// Print what was measured as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    Ok(conclude(args.json, &measure(args)?, print).into())
}

fn print(report: &Value) {
    let heads = [
        ("cluster", "cluster"),
        ("elections", "elections"),
        ("daemons", "daemons"),
        ("messages / s, each", "messages"),
        ("CPU ms / s, each", "cpu_ms"),
        ("KiB, each", "kib"),
        ("changes", "changes"),
    ];
    say_table(&heads, &report["quiescent"]);
    let heads = [
        ("killed", "killed"),
        ("groups", "groups"),
        ("median, ms", "median_ms"),
        ("p99, ms", "p99_ms"),
        ("longest, ms", "longest_ms"),
    ];
    say_table(&heads, &report["failover"]);
    say(format_args!("groups that each node leads: {}", report["led"]));
}

fn measure(args: &Args) -> anyhow::Result<Value> {
    anyhow::ensure!(args.groups > 0 && args.nodes > 1, "some groups, and two nodes or more");
    allow_many_files()?;
    note(format_args!("{} groups in {} daemons", args.groups, args.nodes));
    let mut shared = start(args.nodes, args.groups)?;
    let one = std::slice::from_ref(&shared);
    let mut rows = vec![row("groups", one, u32::from(args.groups), args.time)?];
    let led = shares(&leaders(&shared, 1).context("node 1 lists its groups")?);
    let failover = failover(&mut shared, args.nodes)?;
    drop(shared);
    if args.single > 0 {
        note(format_args!("{} clusters of {} daemons", args.single, args.nodes));
        let all: anyhow::Result<Vec<_>> = (0..args.single).map(|_| start(args.nodes, 0)).collect();
        rows.push(row("of their own", &all?, u32::from(args.single), args.time)?);
    }
    Ok(json!({ "quiescent": rows, "failover": failover, "led": led }))
}

/// A cluster with so many groups, or without, in which each election has a leader.
fn start(nodes: u16, groups: u16) -> anyhow::Result<Cluster> {
    let mut section = quorum_section(&Timing::DEFAULT, 1.0);
    if groups > 0 {
        section += &format!("[groups]\ncount = {groups}\n");
    }
    let setup = Setup::new(daemon()?, nodes, "quorum", move |_| section.clone());
    let setup = Setup { security: Security::Secret, ..setup };
    let mut cluster = Cluster::new(setup, Box::new(Loopback::new(nodes)))?;
    (1..=nodes).try_for_each(|node| cluster.start(node))?;
    let is_ready =
        |node: u16| cluster.get(node, "readyz", ANSWER).is_some_and(|(status, _)| status == 200);
    wait::until("every election has a leader", LIMIT, || (1..=nodes).all(is_ready))?;
    Ok(cluster)
}

/// What each of so many elections costs in which nothing happens.
fn row(name: &str, clusters: &[Cluster], elections: u32, time: Duration) -> anyhow::Result<Value> {
    // What the beginning has left is over, and rounds have come together.
    wait::sleep(Duration::from_secs(8))?;
    let start = Instant::now();
    let before: Vec<_> = clusters.iter().flat_map(snapshot).collect();
    wait::sleep(time)?;
    let seconds = start.elapsed().as_secs_f64();
    let after: Vec<_> = clusters.iter().flat_map(snapshot).collect();
    let daemons = clusters.iter().map(|cluster| cluster.up().len()).sum::<usize>();
    anyhow::ensure!([before.len(), after.len()] == [daemons; 2], "a node does not answer");
    let sum = |all: &[Snapshot], of: fn(&Snapshot) -> f64| all.iter().map(of).sum::<f64>();
    let more = |of: fn(&Snapshot) -> f64| sum(&after, of) - sum(&before, of);
    let each = f64::from(elections);
    let rounded = |value: f64| (value * 1e3).round() / 1e3;
    Ok(json!({
        "cluster": name,
        "elections": elections,
        "daemons": daemons,
        "messages": rounded(more(|one| one.said.sent) / seconds / each),
        "cpu_ms": rounded(more(|one| one.spent.as_secs_f64()) * 1e3 / seconds / each),
        "kib": rounded(sum(&after, |one| one.mib) * 1024.0 / each),
        "changes": more(|one| one.said.changes),
    }))
}

/// Which node leads each group, as this one sees it; none where it knows none.
fn leaders(cluster: &Cluster, node: u16) -> Option<BTreeMap<String, Option<u64>>> {
    let (_, text) = cluster.get(node, "groups", ANSWER)?;
    let told: Value = serde_json::from_str(&text).ok()?;
    let group =
        |group: &Value| Some((group["name"].as_str()?.to_owned(), group["leader"].as_u64()));
    told["groups"].as_array()?.iter().map(group).collect()
}

/// How many groups each node leads.
fn shares(leaders: &BTreeMap<String, Option<u64>>) -> BTreeMap<String, usize> {
    let mut led = BTreeMap::new();
    for leader in leaders.values() {
        let node = leader.map_or("none".to_owned(), |leader| leader.to_string());
        *led.entry(node).or_default() += 1;
    }
    led
}

/// Kills the highest node, and waits until each group that it led has another leader.
fn failover(cluster: &mut Cluster, nodes: u16) -> anyhow::Result<Value> {
    let before = leaders(cluster, 1).context("node 1 lists its groups")?;
    let is_its = |leader: &Option<u64>| *leader == Some(u64::from(nodes));
    let mut waiting: Vec<_> =
        before.into_iter().filter(|(_, leader)| is_its(leader)).map(|(name, _)| name).collect();
    anyhow::ensure!(!waiting.is_empty(), "node {nodes} leads no group");
    let count = waiting.len();
    let at = Instant::now();
    cluster.kill(nodes)?;
    let mut times = Vec::new();
    while !waiting.is_empty() {
        anyhow::ensure!(at.elapsed() < LIMIT, "{} groups have no leader", waiting.len());
        // A new leader knows it first.
        for node in 1..nodes {
            let Some(now) = leaders(cluster, node) else { continue };
            let led = |name: &String| now.get(name) == Some(&Some(u64::from(node)));
            let time = at.elapsed();
            let left = waiting.len();
            waiting.retain(|name| !led(name));
            times.extend(std::iter::repeat_n(time, left - waiting.len()));
        }
        wait::sleep(LOOK)?;
    }
    times.sort();
    Ok(json!({
        "killed": format!("node {nodes}"),
        "groups": count,
        "median_ms": milliseconds(quantile(&times, 0.5)),
        "p99_ms": milliseconds(quantile(&times, 0.99)),
        "longest_ms": milliseconds(times.last().copied().unwrap_or_default()),
    }))
}

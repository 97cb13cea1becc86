//! `quiescent`: what a cluster costs in which nothing happens, and how long it takes to get there.

use std::collections::BTreeMap;
use std::fs;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use bellwether::internal::config;
use bellwether_testbed::probe::{agent, get};
use bellwether_testbed::wait;
use rustix::process::{Resource as Limited, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};

use super::cluster::{Cluster, Setup, daemon, section};
use super::network::Loopback;
use super::report::{milliseconds, note, say, say_table};

/// Measure messages, processor time and memory of clusters in which nothing happens
///
/// For each number of nodes a cluster is started on this machine, until all of its nodes follow
/// one. Then nothing is asked of it for some time. Large clusters need many sockets: two for each
/// pair of nodes, and each socket has two ends here. While 255 nodes start on two processors,
/// nothing else gets anything done on that machine.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How many nodes, as in 3,5,9
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "3,5,9,50")]
    nodes: Vec<u16>,

    /// The protocol: quorum or bully
    #[arg(long, value_name = "NAME", default_values = ["quorum", "bully"], value_delimiter = ',')]
    #[arg(value_parser = ["quorum", "bully"])]
    protocol: Vec<String>,

    /// The times of the protocol, as a multiple of the usual ones
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pace: f64,

    /// For how long
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = config::duration)]
    time: Duration,

    /// How long it may take until all follow one
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = config::duration)]
    limit: Duration,

    /// Measure each cluster a second time, in which all nodes write traces
    #[arg(long)]
    trace: bool,

    /// Print what was measured as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    allow_many_files()?;
    let mut rows = Vec::new();
    let mut good = true;
    for &nodes in &args.nodes {
        for protocol in &args.protocol {
            for traced in [false, true].into_iter().take(1 + usize::from(args.trace)) {
                let how = if traced { ", with traces" } else { "" };
                note(format_args!("{nodes} nodes, {protocol}{how}"));
                let mut row = measure(args, nodes, protocol, traced)?;
                good &= row["agreed_ms"].is_number();
                row["traced"] = json!(traced);
                rows.push(row);
            }
        }
    }
    let rows = Value::from(rows);
    if args.json {
        say(format_args!("{rows:#}"));
    } else {
        let mut heads = vec![
            ("nodes", "nodes"),
            ("protocol", "protocol"),
            ("all agree after, ms", "agreed_ms"),
            ("messages / s, leader", "leader_messages"),
            ("messages / s, follower", "follower_messages"),
            ("CPU ms / s, leader", "leader_cpu_ms"),
            ("CPU ms / s, follower", "follower_cpu_ms"),
            ("MiB, leader", "leader_mib"),
            ("changes", "changes"),
        ];
        if args.trace {
            heads.push(("traced", "traced"));
        }
        say_table(&heads, &rows);
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The nodes inherit it.
pub(crate) fn allow_many_files() -> anyhow::Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Limited::Nofile);
    Ok(setrlimit(Limited::Nofile, Rlimit { current: maximum, maximum })?)
}

fn measure(args: &Args, nodes: u16, protocol: &str, traced: bool) -> anyhow::Result<Value> {
    let (section, _) = section(protocol, args.pace, nodes)?;
    let network_timeout = Duration::from_secs(1).mul_f64(args.pace.max(1.0));
    let setup = Setup::new(daemon()?, nodes, protocol, move |_| section.clone());
    let setup = Setup { network_timeout, ..setup };
    let mut cluster = Cluster::new(setup, Box::new(Loopback::new(nodes)))?;
    cluster.traced = traced;
    let start = Instant::now();
    (1..=nodes).try_for_each(|node| cluster.start(node))?;
    let started = start.elapsed();
    let mut last = 0;
    let mut agreed = None;
    while start.elapsed() < args.limit && agreed.is_none() {
        let followed = most_followed(&cluster, nodes, start + args.limit);
        if followed == usize::from(nodes) {
            agreed = Some(start.elapsed());
        }
        if followed != last {
            last = followed;
            let used: Duration = spent_by_all(&cluster, nodes);
            let elapsed = start.elapsed();
            note(format_args!(
                "  {elapsed:6.1?}: {followed} of {nodes} follow one; CPU {used:.1?}"
            ));
        }
        wait::sleep(Duration::from_millis(100))?;
    }
    let Some(agreed) = agreed else {
        let used = spent_by_all(&cluster, nodes).as_secs_f64();
        return Ok(json!({ "nodes": nodes, "protocol": protocol, "cpu_s": used }));
    };
    // What the beginning has left is over.
    wait::sleep(Duration::from_secs(3))?;
    let before = snapshot(&cluster);
    wait::sleep(args.time)?;
    let after = snapshot(&cluster);
    Ok(row(protocol, nodes, (started, agreed), &before, &after))
}

/// What a node says of itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    leads: bool,
    pub(crate) sent: f64,
    pub(crate) changes: f64,
}

impl Said {
    pub(crate) fn ask(address: &str) -> Option<Self> {
        let (_, text) = get(&format!("http://{address}/metrics"), Duration::from_secs(5))?;
        let sum = |name: &str| -> f64 {
            let lines = text.lines().filter(|line| line.starts_with(name));
            lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
        };
        Some(Self {
            leads: sum("bellwether_leads ") > 0.0,
            sent: sum("bellwether_member_sent_messages_total"),
            changes: sum("bellwether_changes_total"),
        })
    }
}

/// How many follow the leader that most follow, if that takes itself for it too.
pub(crate) fn most_followed(cluster: &Cluster, nodes: u16, until: Instant) -> usize {
    let agent = agent(Duration::from_secs(1));
    let leader = |node: u16| -> Option<u64> {
        // Where nodes do not answer, many questions are far longer than the limit.
        if wait::asked_to_end() || Instant::now() > until {
            return None;
        }
        let answer = agent.get(format!("http://{}/leader", cluster.http[&node])).call();
        let answer = answer.ok()?.body_mut().read_to_string().ok()?;
        serde_json::from_str::<Value>(&answer).ok()?["leader"].as_u64()
    };
    let leaders: BTreeMap<u16, u64> =
        (1..=nodes).filter_map(|node| Some((node, leader(node)?))).collect();
    let followers = |leader: &u64| leaders.values().filter(|other| *other == leader).count();
    let leads = |(node, leader): &(&u16, &u64)| u64::from(**node) == **leader;
    leaders.iter().filter(leads).map(|(_, leader)| followers(leader)).max().unwrap_or(0)
}

fn spent_by_all(cluster: &Cluster, nodes: u16) -> Duration {
    (1..=nodes).filter_map(|node| Some(spent(cluster.process(node).ok()?)?.0)).sum()
}

/// What a node has said, spent and held at one moment.
pub(crate) struct Snapshot {
    pub(crate) at: Instant,
    pub(crate) said: Said,
    pub(crate) spent: Duration,
    pub(crate) mib: f64,
}

/// Returns the snapshot of each node that is up and answers.
pub(crate) fn snapshot(cluster: &Cluster) -> Vec<Snapshot> {
    let one = |node: u16| {
        let said = Said::ask(&cluster.http[&node])?;
        let (spent, mib) = spent(cluster.process(node).ok()?)?;
        Some(Snapshot { at: Instant::now(), said, spent, mib })
    };
    cluster.up().into_iter().filter_map(one).collect()
}

/// The processor time of a process, to the nanosecond, and its memory.
fn spent(process: u32) -> Option<(Duration, f64)> {
    let threads = fs::read_dir(format!("/proc/{process}/task")).ok()?;
    let spent = |thread: std::io::Result<fs::DirEntry>| -> Option<u64> {
        let times = fs::read_to_string(thread.ok()?.path().join("schedstat")).ok()?;
        times.split(' ').next()?.parse().ok()
    };
    let spent = Duration::from_nanos(threads.filter_map(spent).sum());
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some((spent, kib / 1024.0))
}

fn row(
    protocol: &str,
    nodes: u16,
    (started, agreed): (Duration, Duration),
    before: &[Snapshot],
    after: &[Snapshot],
) -> Value {
    let mean = |leads: bool, of: &dyn Fn(&Snapshot, &Snapshot) -> f64| {
        let all: Vec<f64> = before
            .iter()
            .zip(after)
            .filter(|(_, after)| after.said.leads == leads)
            .map(|(before, after)| of(before, after))
            .collect();
        (all.iter().sum::<f64>() / all.len().max(1) as f64 * 10.0).round() / 10.0
    };
    let seconds = |a: &Snapshot, b: &Snapshot| b.at.duration_since(a.at).as_secs_f64();
    let messages = |a: &Snapshot, b: &Snapshot| (b.said.sent - a.said.sent) / seconds(a, b);
    let cpu = |a: &Snapshot, b: &Snapshot| {
        (b.spent.saturating_sub(a.spent)).as_secs_f64() * 1e3 / seconds(a, b)
    };
    let changes = |a: &Snapshot, b: &Snapshot| b.said.changes - a.said.changes;
    json!({
        "nodes": nodes,
        "protocol": protocol,
        "started_ms": milliseconds(started),
        "agreed_ms": milliseconds(agreed),
        "leader_messages": mean(true, &messages),
        "follower_messages": mean(false, &messages),
        "leader_cpu_ms": mean(true, &cpu),
        "follower_cpu_ms": mean(false, &cpu),
        "leader_mib": mean(true, &|_, after| after.mib),
        "changes": before.iter().zip(after).map(|(a, b)| changes(a, b)).sum::<f64>(),
    })
}

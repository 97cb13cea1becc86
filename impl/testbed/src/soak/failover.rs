//! `failover`: from SIGKILL of the node that leads to the next leader's first write.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use bellwether_core::protocol::quorum::Timing;
use bellwether_testbed::wait;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::cluster::{Cluster, Setup, daemon, quorum_section};
use super::etcd::{self, Etcd, Times};
use super::network::Loopback;
use super::report::{conclude, milliseconds, note, quantile, say_table};
use super::resource::Resource;

/// Nothing takes longer.
const LIMIT: Duration = Duration::from_secs(60);

/// How many nodes each cluster has.
const NODES: u16 = 3;

/// Measure the time from SIGKILL of the leader to the next leader's first accepted write
///
/// Everything on the leader's node is killed at once, at a random moment: the node, what watches
/// over its command, and the command. Where etcd and etcdctl are installed, they are measured
/// beside it, in turns, with a lease of the same length, and with etcd's own default times.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How many kills of each cluster
    #[arg(long, value_name = "COUNT", default_value_t = 50)]
    kills: usize,

    /// The seed of the moments
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// Print the times as JSON
    #[arg(long)]
    json: bool,
}

/// What is killed.
enum Subject {
    Ours(Box<Cluster>),
    Etcd(Box<Etcd>, Times),
}

struct Measured {
    name: &'static str,
    subject: Subject,
    resource: Resource,
    /// Which node was killed, by what that means for those left; how long it took; and how long it
    /// must take, by the time-outs.
    kills: Vec<(&'static str, Duration, Duration)>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut all = vec![ours()?];
    if etcd::is_there() {
        let heartbeat = Duration::from_millis(100);
        let times = |election, lease| Times {
            heartbeat,
            election: Duration::from_millis(election),
            lease: Duration::from_secs(lease),
        };
        all.push(theirs("etcd, lease 1 s", times(600, 1))?);
        all.push(theirs("etcd, default", times(1_000, 2))?);
    } else {
        note("etcd and etcdctl are not installed: Bellwether alone is measured.");
    }
    let mut random = ChaCha8Rng::seed_from_u64(args.seed);
    for measured in &all {
        let writes = || measured.resource.epoch() > 0;
        wait::until(&format!("{}: the first writes", measured.name), LIMIT, writes)?;
    }
    for number in 1..=args.kills {
        for measured in &mut all {
            let time = measured.kill(random.random())?;
            if !args.json {
                note(format_args!("{number:4}/{}  {time:>8.1?}  {}", args.kills, measured.name));
            }
        }
    }
    let wrong: Vec<_> = all.iter().flat_map(|one| one.resource.seen().violations).collect();
    anyhow::ensure!(wrong.is_empty(), "{wrong:#?}");
    Ok(conclude(args.json, &report(&all), print).into())
}

fn ours() -> anyhow::Result<Measured> {
    let resource = Resource::serve()?;
    let section = |_| quorum_section(&Timing::DEFAULT, 1.0);
    let setup = Setup::new(daemon()?, NODES, "quorum", section);
    let setup = Setup { resource: Some(resource.clone()), ..setup };
    let mut cluster = Cluster::new(setup, Box::new(Loopback::new(NODES)))?;
    (1..=NODES).try_for_each(|node| cluster.start(node))?;
    let subject = Subject::Ours(Box::new(cluster));
    Ok(Measured { name: "Bellwether", subject, resource, kills: Vec::new() })
}

fn theirs(name: &'static str, times: Times) -> anyhow::Result<Measured> {
    let resource = Resource::serve()?;
    let etcd = Box::new(Etcd::start(NODES, times, resource.clone())?);
    Ok(Measured { name, subject: Subject::Etcd(etcd, times), resource, kills: Vec::new() })
}

impl Measured {
    /// Kills the node that writes, and starts it again once another does.
    fn kill(&mut self, part: f64) -> anyhow::Result<Duration> {
        // Anywhere between two rounds, heartbeats or renewals.
        wait::sleep(Duration::from_millis(700).mul_f64(part))?;
        self.mend()?;
        let (epoch, node) = self.resource.leader();
        let (which, floor) = self.floor(node);
        let at = Instant::now();
        match &mut self.subject {
            Subject::Ours(cluster) => cluster.kill_all(node)?,
            Subject::Etcd(etcd, _) => etcd.kill(node),
        }
        let what = format!("{}: another writes", self.name);
        let mut mended = Ok(());
        let written = || {
            mended = self.mend();
            mended.is_err() || self.resource.epoch() > epoch
        };
        wait::until(&what, LIMIT, written)?;
        mended?;
        let first = self.resource.latest().map_or(at, |latest| latest.first);
        let time = first.duration_since(at);
        self.kills.push((which, time, floor));
        match &mut self.subject {
            Subject::Ours(cluster) => {
                cluster.start(node)?;
                let answer = || cluster.get(node, "readyz", Duration::from_secs(1));
                let knows = || answer().is_some_and(|(status, _)| status == 200);
                wait::until("the node is back", LIMIT, knows)?;
                // Until then it grants nothing, so that it keeps what it may have promised.
                wait::sleep(Timing::DEFAULT.promise)?;
            }
            Subject::Etcd(etcd, times) => {
                etcd.restart(node)?;
                wait::sleep(times.lease)?;
            }
        }
        Ok(time)
    }

    fn mend(&mut self) -> anyhow::Result<()> {
        match &mut self.subject {
            Subject::Ours(_) => Ok(()),
            Subject::Etcd(etcd, _) => etcd.mend(),
        }
    }

    /// What is killed with this node, and how long it takes then at least, by the time-outs.
    fn floor(&self, node: u16) -> (&'static str, Duration) {
        match &self.subject {
            Subject::Ours(_) => {
                // The last round was just answered, or is a round ago. Then the highest node that
                // is left waits for its turn. It need not wait for the answer of a dead one, whose
                // machine refuses connections.
                let Timing { promise, round, skew, .. } = Timing::DEFAULT;
                let least = promise.saturating_sub(round);
                if node == NODES {
                    ("the highest node", least + skew * 2)
                } else {
                    ("a lower node", least + skew)
                }
            }
            // A client renews after a third of its lease. A new leader of Raft begins all leases
            // anew, as it does not know when they were renewed.
            Subject::Etcd(etcd, times) => {
                if etcd.leads_raft(node) {
                    ("with Raft's leader", times.election + times.lease)
                } else {
                    ("with a follower of Raft", times.lease.mul_f64(2.0 / 3.0))
                }
            }
        }
    }

    /// What the kills have taken that this is true of, against the median of all of ours.
    fn row(&self, which: &str, fits: impl Fn(&str) -> bool, ours: Duration) -> Value {
        let kills: Vec<_> = self.kills.iter().filter(|(which, ..)| fits(which)).collect();
        let mut times: Vec<Duration> = kills.iter().map(|(_, time, _)| *time).collect();
        times.sort();
        let ratio =
            |a: Duration, b: Duration| (a.as_secs_f64() / b.as_secs_f64() * 100.0).round() / 100.0;
        let median = quantile(&times, 0.5);
        let mut above: Vec<_> = kills.iter().map(|(_, time, floor)| ratio(*time, *floor)).collect();
        above.sort_by(f64::total_cmp);
        let floor = kills.iter().map(|(.., floor)| *floor).min().unwrap_or_default();
        json!({
            "cluster": self.name,
            "killed": which,
            "kills": times.len(),
            "floor_ms": milliseconds(floor),
            "median_ms": milliseconds(median),
            "p99_ms": milliseconds(quantile(&times, 0.99)),
            "longest_ms": milliseconds(times.last().copied().unwrap_or_default()),
            "median_of_floor": above.get(above.len() / 2),
            "median_of_ours": ratio(median, ours),
        })
    }
}

fn report(all: &[Measured]) -> Value {
    let mut ours: Vec<Duration> = all[0].kills.iter().map(|(_, time, _)| *time).collect();
    ours.sort();
    let median = quantile(&ours, 0.5);
    let mut rows = Vec::new();
    for measured in all {
        rows.push(measured.row("all", |_| true, median));
        let mut kinds: Vec<_> = measured.kills.iter().map(|(which, ..)| *which).collect();
        kinds.sort_unstable();
        kinds.dedup();
        rows.extend(kinds.iter().map(|kind| measured.row(kind, |which| which == *kind, median)));
    }
    json!({ "nodes": NODES, "rows": rows })
}

fn print(report: &Value) {
    let heads = [
        ("cluster", "cluster"),
        ("killed", "killed"),
        ("kills", "kills"),
        ("floor, ms", "floor_ms"),
        ("median, ms", "median_ms"),
        ("p99, ms", "p99_ms"),
        ("longest, ms", "longest_ms"),
        ("median / floor", "median_of_floor"),
        ("median / ours", "median_of_ours"),
    ];
    say_table(&heads, &report["rows"]);
}

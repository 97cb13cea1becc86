//! What nodes ask of their store while nothing happens, and how soon another leads after a kill.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_testbed::process::{command, said};
use bellwether_testbed::servers::{Server, Store, ask, postgres};
use bellwether_testbed::wait;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::{Stand, durations};
use crate::etcd::{self, Etcd, Times};
use crate::quiescent::allow_many_files;
use crate::report::{milliseconds, note, quantile};
use crate::resource::Resource;
use crate::soak::LIMIT;

/// The heads of the table.
pub(super) const HEADS: [(&str, &str); 6] = [
    ("store", "store"),
    ("candidates", "candidates"),
    ("requests / s", "requests"),
    ("kills", "kills"),
    ("median, ms", "median_ms"),
    ("longest, ms", "longest_ms"),
];

/// All of them.
const STORES: [Store; 5] =
    [Store::Sqlite, Store::Postgres, Store::Redis, Store::Etcd, Store::Kubernetes];

/// What the beginning has left is over then.
const CALM: Duration = Duration::from_secs(5);

/// How many nodes etcd's own client is measured with.
const NODES: u16 = 3;

/// Measures each store that is here with each number of nodes, and etcd's own client beside them.
pub(super) fn rates(
    nodes: &[u16],
    time: Duration,
    kills: usize,
    pace: f64,
) -> anyhow::Result<Value> {
    allow_many_files()?;
    let mut rows = Vec::new();
    for store in STORES {
        if let Some(why) = store.missing() {
            note(why);
            continue;
        }
        for &nodes in nodes {
            note(format_args!("{}, {nodes} nodes", store.name()));
            rows.push(ours(store, nodes, time, kills, pace)?);
        }
    }
    if etcd::is_there() {
        rows.push(theirs(kills, durations(pace).keep)?);
    }
    Ok(json!({ "rates": rows }))
}

fn ours(
    store: Store,
    nodes: u16,
    time: Duration,
    kills: usize,
    pace: f64,
) -> anyhow::Result<Value> {
    let mut stand = Stand::start(store, nodes, durations(pace), false)?;
    wait::until("the first leader writes", LIMIT, || stand.resource.epoch() > 0)?;
    for node in 1..=nodes {
        stand.cluster.wait_until_it_answers(node, LIMIT)?;
    }
    wait::sleep(CALM)?;
    let before = requests(store, &stand.server)?;
    let start = Instant::now();
    wait::sleep(time)?;
    let after = requests(store, &stand.server)?;
    let seconds = start.elapsed().as_secs_f64();
    let rate = before.zip(after).map(|(before, after)| (after - before) / seconds);
    let mut times = Vec::new();
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for _ in 0..kills {
        wait::sleep(durations(pace).keep.mul_f64(1.0 + random.random::<f64>()))?;
        let (token, leader) = stand.resource.leader();
        let at = Instant::now();
        stand.cluster.kill_all(leader)?;
        wait::until("another writes", LIMIT, || stand.resource.epoch() > token)?;
        times.extend(stand.resource.latest().map(|latest| latest.first.duration_since(at)));
        stand.cluster.start(leader)?;
    }
    let rate = rate.map(|rate| (rate * 10.0).round() / 10.0);
    Ok(row(store.name(), nodes, rate, times))
}

/// `etcdctl lock`, which is the same election as `elect`, with leases as long as ours.
fn theirs(kills: usize, keep: Duration) -> anyhow::Result<Value> {
    let resource = Resource::serve()?;
    let (heartbeat, election) = (Duration::from_millis(100), Duration::from_millis(1_000));
    let times = Times { heartbeat, election, lease: keep };
    let mut etcd = Etcd::start(NODES, times, resource.clone())?;
    wait::until("the first client writes", LIMIT, || resource.epoch() > 0)?;
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let mut times = Vec::new();
    for _ in 0..kills {
        wait::sleep(keep.mul_f64(1.0 + random.random::<f64>()))?;
        etcd.mend()?;
        let latest = resource.latest().context("no write")?;
        let at = Instant::now();
        etcd.kill_client(latest.node);
        wait::until("another client writes", LIMIT, || resource.epoch() > latest.epoch)?;
        times.extend(resource.latest().map(|latest| latest.first.duration_since(at)));
    }
    Ok(row("etcdctl lock", NODES, None, times))
}

fn row(store: &str, candidates: u16, rate: Option<f64>, mut times: Vec<Duration>) -> Value {
    times.sort();
    json!({
        "store": store,
        "candidates": candidates,
        "requests": rate,
        "kills": times.len(),
        "median_ms": milliseconds(quantile(&times, 0.5)),
        "longest_ms": milliseconds(times.last().copied().unwrap_or_default()),
    })
}

/// How many requests a store has had, as it counts them: transactions of PostgreSQL, pieces that
/// Redis has read, messages of gRPC to etcd, requests to what stands in for Kubernetes. Nothing
/// counts those to a file.
fn requests(store: Store, server: &Server) -> anyhow::Result<Option<f64>> {
    let port = server.port();
    let (text, name, separator) = match store {
        Store::Sqlite => return Ok(None),
        Store::Postgres => {
            let count = "SELECT 'count ' || sum(xact_commit + xact_rollback) FROM pg_stat_database";
            let mut psql = command(postgres("psql")?);
            psql.args(["-h", "127.0.0.1", "-p", &port.to_string(), "-U", "postgres", "-Atc"]);
            (said(psql.args([count, "postgres"]))?, "count", ' ')
        }
        Store::Redis => (ask(port, "INFO stats\r\nQUIT\r\n")?, "total_reads_processed", ':'),
        Store::Etcd => {
            (ask(port, "GET /metrics HTTP/1.0\r\n\r\n")?, "grpc_server_msg_received_total", ' ')
        }
        Store::Kubernetes => {
            (ask(port, "GET /metrics HTTP/1.0\r\n\r\n")?, "apiserver_request_total", ' ')
        }
    };
    let lines = text.lines().filter(|line| line.starts_with(name));
    let counts: Vec<f64> =
        lines.filter_map(|line| line.rsplit(separator).next()?.trim().parse().ok()).collect();
    anyhow::ensure!(!counts.is_empty(), "{} does not say {name}", store.name());
    Ok(Some(counts.iter().sum()))
}

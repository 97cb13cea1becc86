//! `stores`: the soak of nodes whose lease is in a store that people already run, what a store can
//! lose, and what the nodes cost it.

mod fault;
mod rates;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether::internal::config;
use bellwether_core::protocol::lease::Durations;
use bellwether_stores::address::Files;
use bellwether_stores::connect::connector;
use bellwether_testbed::probe::Probe;
use bellwether_testbed::relay::{Gate, Relay};
use bellwether_testbed::servers::{Server, Store, ask};
use bellwether_testbed::wait;
use clap::ValueEnum;
use rand::seq::IndexedRandom as _;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::cluster::{Cluster, Setup, daemon};
use super::fault::Faults;
use super::members::Members;
use super::network::Loopback;
use super::report::{COSTS, Cost, ENDED_EARLY, conclude, note, say, say_table, say_violations};
use super::resource::Resource;
use super::soak::LIMIT;

use self::fault::{Kind, Witnesses};

/// What is done if nothing is named.
const DEFAULT: [&str; 6] = ["sqlite", "postgres", "redis", "etcd", "kubernetes", "lost"];

/// How many nodes share the store.
const NODES: u16 = 3;

/// The place of a copy of a node.
const COPY: u16 = NODES + 1;

/// The longest time for which other work on the machine may delay what a node tells.
const SLACK: Duration = Duration::from_millis(500);

/// Strike nodes and the store that they share, and check that they never have two leaders
///
/// Three processes of the daemon have their lease in a server that is started for them: SQLite,
/// PostgreSQL, Redis, etcd; for Kubernetes, a stand-in that is no API server. While one leads, a
/// command of its own hammers a resource behind a fence; every node is asked a hundred times a
/// second whether its lease lasts. Nodes are killed, stopped, copied, cut from the store; the store
/// is killed, restarted, stopped; its answers are withheld; its record is deleted, given away,
/// replaced by an older one. Ends with status 1 if anything was violated, or no store could be
/// tried, and with 3 if it was ended before all faults were struck.
/// With `lost`, a Redis fails over to a replica that lacks the last grant: two leaders are
/// expected, and not to find them is what ends with status 1. With `rates`, nothing is struck but
/// the leader: what do the nodes ask of the store, and how soon does another lead?
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// The stores, or what else is to be done
    #[arg(value_name = "WHAT", default_values = DEFAULT)]
    what: Vec<What>,

    /// How many faults of each store
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    faults: usize,

    /// The seed of their order
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// The times of the protocol, as a multiple of those of this soak; etcd and Kubernetes need
    /// whole seconds
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pace: f64,

    /// For `rates`: how many nodes
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "3,10,100")]
    nodes: Vec<u16>,

    /// For `rates`: for how long questions are counted
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = config::duration)]
    time: Duration,

    /// For `rates`: how many leaders are killed
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    kills: usize,

    /// Print the reports as JSON
    #[arg(long)]
    json: bool,
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    Sqlite,
    Postgres,
    Redis,
    Etcd,
    Kubernetes,
    Lost,
    Rates,
}

impl What {
    /// The store that is struck.
    fn store(self) -> Option<Store> {
        match self {
            Self::Sqlite => Some(Store::Sqlite),
            Self::Postgres => Some(Store::Postgres),
            Self::Redis => Some(Store::Redis),
            Self::Etcd => Some(Store::Etcd),
            Self::Kubernetes => Some(Store::Kubernetes),
            Self::Lost | Self::Rates => None,
        }
    }

    /// What it is called if the server that it needs is not installed, and why it is left out;
    /// nothing if it can be done.
    fn missing(self) -> Option<(&'static str, String)> {
        let (name, needed) = match (self, self.store()) {
            (Self::Lost, _) => ("lost (redis)", Store::Redis),
            (_, Some(store)) => (store.name(), store),
            (_, None) => return None,
        };
        needed.missing().map(|why| (name, why))
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let mut code = 0;
    let mut skipped = Vec::new();
    for what in &args.what {
        if let Some((name, why)) = what.missing() {
            note(why);
            skipped.push(name);
            continue;
        }
        let report = match (what.store(), what) {
            (Some(store), _) => soak(args, store)?,
            (None, What::Rates) => rates::rates(&args.nodes, args.time, args.kills, args.pace)?,
            // So that the old lease lasts long enough to be seen beside the new one.
            (None, _) => lost(durations(args.pace * 2.0))?,
        };
        match conclude(args.json, &report, print) {
            0 => {}
            ENDED_EARLY => code = ENDED_EARLY,
            failure => return Ok(failure.into()),
        }
    }
    if let Some(line) = left_out(args.what.len(), &skipped)? {
        note(line);
    }
    Ok(code.into())
}

/// What is said at the end if these were skipped of so many; an error if all were.
fn left_out(asked: usize, skipped: &[&str]) -> anyhow::Result<Option<String>> {
    let names = skipped.join(", ");
    anyhow::ensure!(
        skipped.len() < asked,
        "nothing was run, for no server is installed of: {names}; install one, or name a store \
         that is here, such as sqlite"
    );
    Ok((!skipped.is_empty()).then(|| format!("Skipped, for no server is installed: {names}")))
}

fn print(report: &Value) {
    let store = report["store"].as_str().unwrap_or_default();
    if report["rates"].is_array() {
        say_table(&rates::HEADS, &report["rates"]);
        return;
    }
    if report["kinds"].is_array() {
        if store == Store::Kubernetes.name() {
            say("The store was a stand-in for the API of Kubernetes, and no API server.");
        }
        say_table(&COSTS, &report["kinds"]);
        if let Some(why) = report["ended_early"].as_str() {
            say(format_args!("\nEnded before {} faults were struck: {why}.", report["asked_for"]));
        }
        say(format_args!(
            "\n{store}: {} faults in {} s, {} tokens, {} writes accepted, {} of old tokens \
             refused; {} answers of nodes.",
            report["faults"],
            report["seconds"],
            report["tokens"],
            report["writes_accepted"],
            report["writes_refused"],
            report["answers"],
        ));
    }
    if let Some(expected) = report["expected"].as_array() {
        say("A replica that lacks the last grant has taken over. As expected:");
        expected.iter().for_each(|found| say(format_args!("  {found}")));
    }
    say_violations(report);
}

/// A run with one store.
struct Soak {
    stand: Stand,
    probe: Probe,
    times: Durations,
    faults: Faults<Kind>,
    costs: BTreeMap<Kind, Cost>,
}

/// The whole run, and its report.
fn soak(args: &Args, store: Store) -> anyhow::Result<Value> {
    let start = Instant::now();
    let mut soak = Soak::start(store, durations(args.pace), args.seed)?;
    let mut ended_early = None;
    for number in 1..=args.faults {
        match soak.fault(store) {
            Ok((kind, gap)) if !args.json => {
                let (count, time) = (args.faults, start.elapsed().as_secs());
                let (store, kind) = (store.name(), kind.name());
                note(format_args!(
                    "{store} {number:4}/{count}  {time:4} s  {gap:>8.1?} without a write  {kind}"
                ));
            }
            Ok(_) => {}
            Err(_) if wait::asked_to_end() => ended_early = Some("asked to end"),
            Err(error) => soak.stand.resource.violated(format!("fault {number}: {error:#}")),
        }
        let wrong = !soak.stand.resource.seen().violations.is_empty();
        if ended_early.is_some() || wrong || !soak.probe.judge().1.is_empty() {
            break;
        }
    }
    let seen = soak.stand.resource.seen();
    let (answers, overlaps) = soak.probe.judge();
    let (tokens, logged) = soak.stand.cluster.judge_logs();
    let violations = [seen.violations, overlaps, logged].concat();
    let kinds = soak.costs.iter().map(|(kind, cost)| cost.row(kind.name()));
    let report = json!({
        "store": store.name(),
        "faults": soak.costs.values().map(|cost| cost.gaps.len()).sum::<usize>(),
        "asked_for": args.faults,
        "ended_early": ended_early,
        "seconds": start.elapsed().as_secs(),
        "seed": args.seed,
        "keep_ms": soak.times.keep.as_millis() as u64,
        "tokens": tokens,
        "writes_accepted": seen.accepted,
        "writes_refused": seen.refused,
        "answers": answers,
        "kinds": kinds.collect::<Vec<_>>(),
        "violations": violations,
    });
    if !violations.is_empty() {
        let kept = soak.stand.cluster.keep();
        note(format_args!("The files of the nodes: {}", kept.display()));
    }
    Ok(report)
}

impl Soak {
    fn start(store: Store, times: Durations, seed: u64) -> anyhow::Result<Self> {
        let stand = Stand::start(store, NODES, times, true)?;
        if let Some(warning) = warning(&stand)? {
            note(format_args!("{}: {warning}", store.name()));
        }
        let probe = Probe::start(stand.cluster.http.clone());
        let faults = Faults::new(seed, Kind::of(store));
        let mut soak = Self { stand, probe, times, faults, costs: BTreeMap::new() };
        soak.until_all_is_well("all nodes follow the first leader")?;
        Ok(soak)
    }

    /// Waits until all nodes follow one, and it writes.
    fn until_all_is_well(&mut self, what: &str) -> anyhow::Result<()> {
        let since = Instant::now();
        let nodes = self.stand.cluster.up();
        wait::until(what, LIMIT, || self.probe.agreed(&nodes, since))?;
        let writes = || self.stand.resource.latest().is_some_and(|latest| latest.last > since);
        wait::until(&format!("{what}, and it writes"), LIMIT, writes)?;
        Ok(())
    }

    /// Strikes, and heals. Returns the longest time without a write.
    fn fault(&mut self, store: Store) -> anyhow::Result<(Kind, Duration)> {
        let kind = self.faults.draw();
        if let Kind::Mistaken(_) = kind {
            // Each node has read the record by then, and so knows the newest token.
            wait::sleep(self.times.keep + self.times.retry)?;
        }
        let (token, leader) = self.stand.resource.leader();
        let others: Vec<u16> = (1..=NODES).filter(|&node| node != leader).collect();
        let follower = *others.choose(&mut self.faults.random).unwrap_or(&leader);
        self.stand.resource.take_gap();
        // No process can end the command of a node that is stopped with its keeper.
        self.stand.resource.excuse((kind == Kind::PauseLeader).then_some(leader));
        let at = Instant::now();
        kind.strike(&mut self.stand, leader, follower)?;
        self.hear_of(kind, store, leader)?;
        if let Kind::Mistaken(_) = kind {
            let what = format!("{}: a write with a newer token", kind.name());
            wait::until(&what, LIMIT, || self.stand.resource.epoch() > token)?;
        }
        let mut back = None;
        if kind.deposes() {
            let what = format!("{}: another leader writes", kind.name());
            let writes = || {
                let latest = self.stand.resource.leader();
                latest.0 > token && latest.1 != leader
            };
            // A node that stands still inside its transaction keeps the others out of the file.
            let late = || store == Store::Sqlite && at.elapsed() > self.times.keep * 3;
            let locked = || late() && self.stand.server.is_locked();
            wait::until(&what, LIMIT, || writes() || locked())?;
            if writes() {
                let first = self.stand.resource.latest().map_or(at, |latest| latest.first);
                back = Some(first.duration_since(at));
            } else {
                note(format_args!("the node that is stopped keeps the file locked"));
            }
        }
        // Shorter than a lease, or longer.
        wait::sleep(self.faults.time(self.times.keep * 2))?;
        kind.heal(&mut self.stand, NODES)?;
        self.until_all_is_well(&format!("{}: all nodes follow one after it", kind.name()))?;
        let gap = self.stand.resource.take_gap();
        let cost = self.costs.entry(kind).or_default();
        cost.back.extend(back);
        cost.gaps.push(gap);
        Ok((kind, gap))
    }

    /// Waits until the nodes that notice a mistake have told of it in their status.
    fn hear_of(&self, kind: Kind, store: Store, leader: u16) -> anyhow::Result<()> {
        let Some(part) = kind.problem(leader) else { return Ok(()) };
        let cluster = &self.stand.cluster;
        let Witnesses { nodes, all, is_late } = kind.witnesses(store, cluster.up());
        let late = if is_late { self.times.keep } else { Duration::ZERO };
        let mut silent = nodes.clone();
        let told = wait::until(kind.name(), late + self.times.renew * 3 + SLACK, || {
            silent.retain(|&node| !cluster.problem(node).contains(&part));
            if all { silent.is_empty() } else { silent.len() < nodes.len() }
        });
        told.with_context(|| format!("the `problem` of nodes {silent:?} is not `{part}`"))?;
        Ok(())
    }
}

/// What the operator must know of the store, which each node must have said at its start.
fn warning(stand: &Stand) -> anyhow::Result<Option<&'static str>> {
    let connect = connector(&stand.server.address(), &Files::default());
    let Some(warning) = connect.map_err(anyhow::Error::msg)?.warning() else { return Ok(None) };
    let said = json!(warning).to_string();
    let logged = || stand.cluster.log(1).contains(said.trim_matches('"'));
    wait::until(&format!("node 1 says: {warning}"), LIMIT, logged)?;
    Ok(Some(warning))
}

/// What is struck: nodes, the store that they share, and a relay between each and the store. What
/// is first here ends first.
struct Stand {
    cluster: Cluster,
    relays: BTreeMap<u16, Relay>,
    server: Server,
    resource: Resource,
    runtime: Runtime,
}

/// The times, `pace` times as long as here. etcd and Kubernetes count leases in whole seconds.
fn durations(pace: f64) -> Durations {
    let time = |milliseconds| Duration::from_millis(milliseconds).mul_f64(pace);
    Durations { hold: time(1_500), keep: time(2_000), renew: time(300), retry: time(300) }
}

impl Stand {
    /// So many nodes, which write to a resource while they lead, and a place for a copy of one. A
    /// file needs no relay. Nodes that find the store at several addresses say so in their logs,
    /// and talk nevertheless.
    fn start(store: Store, nodes: u16, times: Durations, relayed: bool) -> anyhow::Result<Self> {
        let server = Server::start(store)?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let relayed = if relayed && store != Store::Sqlite { nodes } else { 0 };
        let mut relays = BTreeMap::new();
        for node in 1..=relayed {
            relays.insert(node, Relay::start(runtime.handle(), server.port())?);
        }
        let address = |node| match relays.get(&node) {
            Some(relay) => server.address_at(relay.port()),
            None => server.address(),
        };
        let addresses: BTreeMap<u16, String> =
            (1..=nodes + 1).map(|node| (node, address(node))).collect();
        let resource = Resource::serve()?;
        let section = move |node: u16| section(&addresses[&node], &times);
        let setup = Setup {
            members: Members::of(1..=nodes),
            resource: Some(resource.clone()),
            ..Setup::new(daemon()?, nodes + 1, "lease", section)
        };
        let mut cluster = Cluster::new(setup, Box::new(Loopback::new(nodes + 1)))?;
        cluster.init_store(1)?;
        (1..=nodes).try_for_each(|node| cluster.start(node))?;
        Ok(Self { cluster, relays, server, resource, runtime })
    }

    /// What passes between these nodes and the store.
    fn gate(&self, nodes: &[u16], gate: Gate) {
        nodes.iter().filter_map(|node| self.relays.get(node)).for_each(|relay| relay.set(gate));
    }
}

/// The section `[lease]` with a store at this address.
fn section(address: &str, times: &Durations) -> String {
    let Durations { hold, keep, renew, retry } = times;
    let times = [("hold", hold), ("keep", keep), ("renew", renew), ("retry", retry)];
    let time = |(name, time): (&str, &Duration)| format!("{name} = \"{}us\"\n", time.as_micros());
    format!("[lease]\nstore = \"{address}\"\n{}", times.map(time).concat())
}

/// A Redis grants the lease; its replica does not hear of that. The holder is cut from both, and
/// the replica takes over, for another node, which has just started: a node that has seen the
/// newest token waits. Returns what was found, which must be two leaders.
fn lost(times: Durations) -> anyhow::Result<Value> {
    let mut stand = Stand::start(Store::Redis, NODES, times, true)?;
    let link = Relay::start(stand.runtime.handle(), stand.server.port())?;
    let replica = Server::replica(link.port())?;
    let said = warning(&stand)?;
    let probe = Probe::start(stand.cluster.http.clone());
    wait::until("the first leader writes", LIMIT, || stand.resource.epoch() > 0)?;
    let in_step = || {
        let said = ask(replica.port(), "INFO replication\r\nQUIT\r\n");
        said.is_ok_and(|said| said.contains("master_link_status:up"))
    };
    wait::until("the replica has what the other has", LIMIT, in_step)?;

    link.set(Gate::Cut);
    let (token, first) = stand.resource.leader();
    stand.cluster.kill(first)?;
    wait::until("another leader writes", LIMIT, || stand.resource.epoch() > token)?;
    let (granted, holder) = stand.resource.leader();
    let starts = stand.relays.keys().copied().find(|node| ![first, holder].contains(node));
    let starts = starts.context("a third node")?;
    stand.cluster.kill(starts)?;
    stand.gate(&[holder], Gate::Cut);
    stand.server.kill();
    let promoted = ask(replica.port(), "REPLICAOF NO ONE\r\nQUIT\r\n")?;
    anyhow::ensure!(promoted.contains("+OK"), "{promoted}");
    let others = stand.relays.iter().filter(|(node, _)| **node != holder);
    others.for_each(|(_, relay)| relay.aim(replica.port()));
    stand.cluster.start(starts)?;

    let found = || [probe.judge().1, stand.resource.seen().violations].concat();
    let two = wait::until("two leaders", times.keep * 3, || !found().is_empty());
    anyhow::ensure!(!wait::asked_to_end(), "asked to end");
    let mut violations = Vec::new();
    if two.is_err() {
        violations.push(format!(
            "not found: two leaders, after the grant of token {granted} to node {holder} was lost"
        ));
    }
    if said.is_none() {
        violations.push("no node says at its start that a grant can be lost".to_owned());
    }
    Ok(json!({ "store": "redis", "expected": found(), "violations": violations }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run of nothing is no success.
    #[test]
    fn a_soak_of_no_store_is_an_error() -> anyhow::Result<()> {
        assert!(left_out(2, &[])?.is_none(), "all were run");
        let some = left_out(3, &["redis", "etcd"])?.unwrap_or_default();
        assert!(some.ends_with(": redis, etcd"), "{some}");
        let none = left_out(2, &["redis", "lost (redis)"]).expect_err("no success").to_string();
        assert!(none.contains("nothing was run") && none.contains("redis, lost"), "{none}");
        assert!(What::Sqlite.missing().is_none(), "a file needs no server");
        assert!(What::Rates.missing().is_none(), "it leaves out stores itself");
        Ok(())
    }
}

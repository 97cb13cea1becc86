//! `soak`: faults, one after another, at a cluster whose leaders write to a resource.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bellwether::internal::config;
use bellwether_core::protocol::quorum::Timing;
use bellwether_testbed::probe::Probe;
use bellwether_testbed::relay::Slow;
use bellwether_testbed::wait;
use clap::ValueEnum;
use serde_json::{Value, json};

use super::cluster::{Cluster, Security, Setup, daemon, quorum_section};
use super::fault::{Faults, Kind, Rules};
use super::members::Members;
use super::network::{Namespaces, Network, Relays, are_ours};
use super::report::{COSTS, Cost, conclude, milliseconds, note, say, say_table, say_violations};
use super::resource::Resource;

/// Nothing is waited for longer, so that the report says what has become of it.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A node that does not reach another calls it again after this time at the latest.
const CALLS_AGAIN: Duration = Duration::from_secs(1);

/// By how much the clocks may be wrong: all that the usual lease and promise allow for.
const DRIFT_PPM: usize = 90_000;

/// How many nodes can be members, and how many of them vote at first. A fault takes two of them at
/// most, and a change of members never leaves fewer.
const NODES: u16 = 7;
const VOTERS: u16 = 5;

/// The voter that never leads, and the member that observes at first.
const WITNESS: u16 = 3;
const OBSERVER: u16 = 6;

/// Strike a cluster with faults, and check that it never has two leaders, and always one
///
/// The nodes are processes of the daemon: five vote, of which one is a witness, and at least one
/// observes. While one leads, a command of its own hammers a resource behind a fence; every node is
/// asked a hundred times a second whether its lease lasts. Each fault leaves a majority, so a
/// leader must be back within a bound that follows from the time-outs. Members come and go, where
/// no relays are between them. The clocks of the nodes go at different rates, as far apart as the
/// timing allows. Ends with status 1 if anything was violated, and with 3 if it was ended before
/// all faults were struck; in both cases it says what it has seen.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How many faults
    #[arg(long, value_name = "COUNT", default_value_t = 300)]
    faults: usize,

    /// The seed of their order
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// The network between the nodes
    #[arg(long, value_name = "NETWORK", default_value = "auto")]
    pub(crate) network: Choice,

    /// How the nodes know each other
    #[arg(long, value_name = "MODE", default_value = "tls")]
    security: Security,

    /// The times of the protocol, as a multiple of the usual ones
    #[arg(long, value_name = "FACTOR", default_value_t = 0.5)]
    pace: f64,

    /// By how much the rates of the clocks are wrong, in parts per million; with more than 90000,
    /// two leaders are possible, and the nodes refuse to talk
    #[arg(long, value_name = "PPM", default_value_t = DRIFT_PPM)]
    drift: usize,

    /// How many of 100 round trips between nodes take longer than the round of the leader; with
    /// relays only
    #[arg(long, value_name = "PERCENT", default_value_t = 0.0, value_parser = percent)]
    slow_trips: f64,

    /// No fault begins later than that
    #[arg(long, value_name = "TIME", default_value = "20min", value_parser = config::duration)]
    time_limit: Duration,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let percent = text.parse::<f64>().ok().filter(|percent| (0.0..=50.0).contains(percent));
    percent.ok_or_else(|| "give a number from 0 to 50, as in 3".to_owned())
}

/// Which network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Choice {
    /// Network namespaces where the system allows them, relays otherwise
    Auto,
    /// A network namespace for each node, with a router between them that drops packets
    Namespaces,
    /// Relays on loopback that withhold and delay data
    Relays,
}

impl Args {
    fn network(&self) -> anyhow::Result<Box<dyn Network>> {
        let relays = self.slow_trips > 0.0 || !are_ours();
        let network: Box<dyn Network> = match self.network {
            Choice::Auto if relays => Box::new(Relays::start(NODES)?),
            Choice::Relays => Box::new(Relays::start(NODES)?),
            Choice::Auto | Choice::Namespaces => Box::new(Namespaces::start(NODES)?),
        };
        Ok(network)
    }

    /// By how much a slow round trip is longer, at least: by the longest round of any node.
    fn slower(&self, timing: &Timing) -> Duration {
        if self.slow_trips > 0.0 {
            timing.round.div_f64(1.0 - self.drift as f64 / 1e6)
        } else {
            Duration::ZERO
        }
    }
}

/// A run.
struct Soak {
    args: Args,
    timing: Timing,
    network_timeout: Duration,
    start: Instant,
    /// By how much a slow round trip is longer, at least; zero if none is slow.
    slower: Duration,
    cluster: Cluster,
    resource: Resource,
    probe: Probe,
    lateness: Lateness,
    faults: Faults<Kind>,
    costs: BTreeMap<Kind, Cost>,
    /// The bound that was nearest to being missed, and the time it was for.
    tightest: (f64, Duration, Duration),
}

/// The usual times, `pace` times as long.
pub(crate) fn timing(pace: f64) -> Timing {
    let usual = Timing::DEFAULT;
    Timing {
        round: usual.round.mul_f64(pace),
        lease: usual.lease.mul_f64(pace),
        promise: usual.promise.mul_f64(pace),
        election: usual.election.mul_f64(pace),
        coordinator: usual.coordinator.mul_f64(pace),
        backoff: usual.backoff.mul_f64(pace),
        skew: usual.skew.mul_f64(pace),
        drift_ppm: DRIFT_PPM,
        ..usual
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    Ok(conclude(args.json, &soak(args)?, print).into())
}

/// The whole run, and its report.
fn soak(args: &Args) -> anyhow::Result<Value> {
    let mut soak = Soak::start(args.clone())?;
    let mut ended_early = None;
    for number in 1..=args.faults {
        if soak.start.elapsed() > args.time_limit {
            ended_early = Some("the time was over");
            break;
        }
        if let Err(error) = soak.fault(number) {
            if wait::asked_to_end() {
                ended_early = Some("asked to end");
            } else {
                soak.resource.violated(format!("fault {number}: {error:#}"));
            }
            break;
        }
        if !soak.resource.seen().violations.is_empty() || !soak.probe.judge().1.is_empty() {
            break;
        }
    }
    soak.report(ended_early)
}

impl Soak {
    fn start(args: Args) -> anyhow::Result<Self> {
        let mut network = args.network()?;
        let (timing, drift) = (timing(args.pace), args.drift);
        let slower = args.slower(&timing);
        if !slower.is_zero() {
            let slow = Slow { part: args.slow_trips / 100.0, least: slower };
            anyhow::ensure!(network.slow_trips(slow), "--slow-trips needs --network relays");
        }
        let mut members = Members::of(1..=VOTERS);
        members.witnesses.insert(WITNESS);
        members.observers.insert(OBSERVER);
        let rates = (1..=NODES).map(|node| format!("{:.2}", rate(node, drift)));
        let rates = rates.collect::<Vec<_>>().join(", ");
        note(format_args!("{members}; {}; rates of the clocks: {rates}.", network.name()));
        let resource = Resource::serve()?;
        let network_timeout = Duration::from_secs(1).mul_f64(args.pace.max(1.0));
        let section = move |node| quorum_section(&timing, rate(node, drift));
        let setup = Setup {
            members,
            security: args.security,
            resource: Some(resource.clone()),
            network_timeout,
            ..Setup::new(daemon()?, NODES, "quorum", section)
        };
        let mut cluster = Cluster::new(setup, network)?;
        let can_delay = cluster.network.delay(Duration::from_millis(1));
        cluster.network.delay(Duration::ZERO);
        cluster.members.all().into_iter().try_for_each(|node| cluster.start(node))?;
        let probe = Probe::start(cluster.http.clone());
        wait::until("the first leader writes", LIMIT, || resource.epoch() > 0)?;
        let (nodes, since) = (cluster.up(), Instant::now());
        wait::until("all nodes follow one", LIMIT, || probe.agreed(&nodes, since))?;
        resource.take_gap();
        let faults = Faults::of(args.seed, &*cluster.network, can_delay);
        let (costs, lateness) = (BTreeMap::new(), Lateness::watch(cluster.folder())?);
        let tightest = (0.0, Duration::ZERO, Duration::ZERO);
        Ok(Self {
            args,
            timing,
            network_timeout,
            start: Instant::now(),
            slower,
            cluster,
            resource,
            probe,
            lateness,
            faults,
            costs,
            tightest,
        })
    }

    /// How long a majority may be without a leader that works, by the time-outs, on the slowest
    /// clock: the promises run out, each node is given its turn, one attempt fails, and one
    /// succeeds. If the others still hear the leader, its lease runs out before. If answers can be
    /// slow, two attempts more fail, and each way of the last one is slow.
    fn bound(&self, kind: Kind) -> Duration {
        let Timing { lease, promise, election, coordinator, backoff, skew, .. } = self.timing;
        let turn = skew * u32::from(NODES) + election * 2;
        let attempt = election + coordinator.max(backoff);
        let heard = if kind.outlasts_a_lease() { lease } else { Duration::ZERO };
        let slow = if self.slower.is_zero() { Duration::ZERO } else { attempt * 2 };
        let slowest = 1.0 - self.timing.drift_ppm as f64 / 1e6;
        (heard + promise + turn + attempt + slow).div_f64(slowest) + self.slower * 3
    }

    fn fault(&mut self, number: usize) -> anyhow::Result<()> {
        let kind = self.faults.draw();
        let (epoch, leader) = self.resource.leader();
        self.resource.take_gap();
        self.lateness.take();
        self.resource.excuse((kind == Kind::PauseLeader).then_some(leader));
        let (timing, probe, voters) = (&self.timing, &self.probe, usize::from(VOTERS));
        let rules = Rules { timing, probe, nodes: NODES, voters, limit: LIMIT };
        let at = Instant::now();
        let struck = self.faults.strike(&mut self.cluster, kind, leader, &rules)?;
        let took = struck.took;
        let mut back = None;
        if kind.deposes() && !struck.leads_on {
            let what = format!("{}: another leader writes", kind.name());
            wait::until(&what, LIMIT, || self.resource.epoch() > epoch)?;
            let first = self.resource.latest().map_or(at, |latest| latest.first);
            back = Some(first.duration_since(at));
            wait::sleep(self.faults.time(self.timing.lease))?;
        } else {
            wait::sleep(self.timing.lease + self.faults.time(self.timing.lease * 2))?;
        }
        struck.heal(&mut self.cluster, LIMIT)?;
        let bound = self.bound(kind) + took;
        let healed = Instant::now();
        let nodes = self.cluster.up();
        let what = format!("{}: all nodes follow one after it", kind.name());
        wait::until(&what, LIMIT, || self.probe.agreed(&nodes, healed))?;
        let (again, late) = (healed.elapsed(), self.lateness.take());
        let gap = self.resource.take_gap();
        self.within(&format!("no leader has written, {}", kind.name()), gap, bound + late);
        let rejoin = bound + self.network_timeout * 3 + CALLS_AGAIN;
        self.within(&format!("not all follow, after {}", kind.name()), again, rejoin + late);
        wait::sleep(self.faults.time(self.timing.round * 2))?;
        let cost = self.costs.entry(kind).or_default();
        cost.back.extend(back);
        cost.gaps.push(gap);
        if !self.args.json {
            let (count, time) = (self.args.faults, self.start.elapsed().as_secs());
            let name = kind.name();
            note(format_args!(
                "{number:4}/{count}  {time:4} s  {gap:>8.1?} without a write  {name}"
            ));
        }
        Ok(())
    }

    fn within(&mut self, what: &str, time: Duration, bound: Duration) {
        let part = time.as_secs_f64() / bound.as_secs_f64();
        if part > self.tightest.0 {
            self.tightest = (part, time, bound);
        }
        if time > bound {
            self.resource.violated(format!("{time:.1?}, more than {bound:.1?}: {what}"));
        }
    }

    fn report(self, ended_early: Option<&str>) -> anyhow::Result<Value> {
        let (answers, overlaps) = self.probe.judge();
        let (epochs, logged) = self.cluster.judge_logs();
        let seen = self.resource.seen();
        let moved = self.cluster.network.moved();
        let mut violations = seen.violations.clone();
        violations.extend(overlaps);
        violations.extend(logged);
        let kind = |(kind, cost): (&Kind, &Cost)| {
            let mut row = cost.row(kind.name());
            row["bound_ms"] = json!(milliseconds(self.bound(*kind)));
            row
        };
        let report = json!({
            "faults": self.costs.values().map(|cost| cost.gaps.len()).sum::<usize>(),
            "asked_for": self.args.faults,
            "ended_early": ended_early,
            "seconds": self.start.elapsed().as_secs(),
            "seed": self.args.seed,
            "network": self.cluster.network.name(),
            "lease_ms": milliseconds(self.timing.lease),
            "promise_ms": milliseconds(self.timing.promise),
            "drift_ppm": self.args.drift,
            "slow_trips_percent": self.args.slow_trips,
            "slower_ms": milliseconds(self.slower),
            "pieces": moved.pieces,
            "pieces_slow": moved.slow,
            "config_epoch": self.cluster.members.config_epoch,
            "members": self.cluster.members.to_string(),
            "epochs": epochs,
            "commands_beside": seen.beside,
            "writes_accepted": seen.accepted,
            "writes_refused": seen.refused,
            "answers": answers,
            "tightest_ms": [milliseconds(self.tightest.1), milliseconds(self.tightest.2)],
            "kinds": self.costs.iter().map(kind).collect::<Vec<_>>(),
            "violations": violations,
        });
        if !violations.is_empty() {
            note(format_args!("The files of the nodes: {}", self.cluster.keep().display()));
        }
        Ok(report)
    }
}

/// The rates of the clocks, as bad as can be: the nodes that win most elections are slow, and count
/// their leases for too long; the others, a majority at first, are fast, and forget their promises
/// too soon.
fn rate(node: u16, drift: usize) -> f64 {
    let wrong = drift as f64 / 1e6;
    if node > VOTERS / 2 + 1 { 1.0 - wrong } else { 1.0 + wrong }
}

fn print(report: &Value) {
    let heads = [&COSTS[..], &[("bound", "bound_ms")]].concat();
    say_table(&heads, &report["kinds"]);
    if let Some(why) = report["ended_early"].as_str() {
        say(format_args!("\nEnded before {} faults were struck: {why}.", report["asked_for"]));
    }
    say(format_args!(
        "\n{} faults in {} s, {} lists of members, {} epochs, {} writes accepted, {} of old epochs \
         refused; {} answers of nodes. Nearest to its bound: {} of {} ms.",
        report["faults"],
        report["seconds"],
        report["config_epoch"],
        report["epochs"],
        report["writes_accepted"],
        report["writes_refused"],
        report["answers"],
        report["tightest_ms"][0],
        report["tightest_ms"][1],
    ));
    if let Some(pieces) = report["pieces"].as_u64().filter(|&pieces| pieces > 0) {
        say(format_args!(
            "{} of {pieces} pieces of data were {} ms late or more, in one way: for {}% of round \
             trips.",
            report["pieces_slow"], report["slower_ms"], report["slow_trips_percent"],
        ));
    }
    say(format_args!("In the end: {}.", report["members"].as_str().unwrap_or_default()));
    say_violations(report);
}

/// Makes a measured time worse by what the machine adds: each of a few tens of steps may be late by
/// the most that a sleeping thread was, and each of a few saves by the longest that one took here.
struct Lateness {
    steps: Worst,
    saves: Worst,
    over: Arc<AtomicBool>,
}

/// The longest of some times, in microseconds.
#[derive(Clone, Default)]
struct Worst(Arc<AtomicU64>);

impl Worst {
    fn note(&self, time: Duration) {
        let time = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.0.fetch_max(time, Ordering::Relaxed);
    }

    fn take(&self) -> Duration {
        Duration::from_micros(self.0.swap(0, Ordering::Relaxed))
    }
}

impl Lateness {
    const STEPS: u32 = 20;

    /// A candidate saves, then its voters do, and after one failed attempt there is another.
    const SAVES: u32 = 4;

    /// Watches this machine, and the disk on which the folder is.
    fn watch(folder: &Path) -> io::Result<Self> {
        let mut file = File::create(folder.join("lateness"))?;
        let watching =
            Self { steps: Worst::default(), saves: Worst::default(), over: Arc::default() };
        let (worst, over) = (watching.steps.clone(), Arc::clone(&watching.over));
        thread::spawn(move || {
            let nap = Duration::from_millis(5);
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                thread::sleep(nap);
                worst.note(start.elapsed().saturating_sub(nap));
            }
        });
        let (worst, over) = (watching.saves.clone(), Arc::clone(&watching.over));
        thread::spawn(move || {
            let mut save = || {
                file.rewind()?;
                file.write_all(b"as a node would")?;
                file.sync_data()
            };
            while !over.load(Ordering::Relaxed) {
                let start = Instant::now();
                // A disk that is full or gone is for the nodes to tell.
                let _: io::Result<()> = save();
                worst.note(start.elapsed());
                thread::sleep(Duration::from_millis(50));
            }
        });
        Ok(watching)
    }

    /// How much later than without it all may have happened since this was asked last.
    fn take(&self) -> Duration {
        self.steps.take() * Self::STEPS + self.saves.take() * Self::SAVES
    }
}

impl Drop for Lateness {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

//! `recorded`: short runs of real clusters under faults, whose traces the model judges.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether::internal::config;
use bellwether_core::protocol::lease::Lease;
use bellwether_core::protocol::quorum::Quorum;
use bellwether_core::protocol::{Core as _, NAMES};
use bellwether_testbed::process::{Signal, beside};
use bellwether_testbed::relay::Slow;
use bellwether_testbed::wait;
use clap::builder::PossibleValuesParser;
use rand::seq::SliceRandom as _;
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};

use super::cluster::{Cluster, Setup, daemon, section};
use super::network::{Relays, Way};
use super::report::{conclude, note, say};

/// The program that judges.
const JUDGE: &str = "bellwether-conformance";

/// How long a node may take to end.
const END: Duration = Duration::from_secs(10);

/// The clocks of two nodes differ by twice this at most, in the copies of the traces.
const APART: i64 = 10_000_000_000;

/// So much is printed of a rejection.
const SHOWN: usize = 12;

/// Let the model judge the traces of many short runs of real clusters, under faults
///
/// In each run, nodes are killed and started again, stopped and continued, links are cut in one way
/// or in both, and some messages are late. With `lease` the last node is the store, and is not
/// killed: it would forget. Then `bellwether-conformance validate` judges the traces: as they are,
/// and a second time in another order, with clocks that differ by up to 20 seconds and that step
/// back before a start. Both times it must accept what it judges, and have judged the same. Ends
/// with status 1 if not.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How many runs
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    runs: usize,

    /// The protocol
    #[arg(long, value_name = "NAME", default_value = Quorum::NAME)]
    #[arg(value_parser = PossibleValuesParser::new(NAMES.iter().copied()))]
    protocol: String,

    /// The daemon of which the clusters are made; without it, that of today
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// How many nodes each cluster has
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(3..=7))]
    nodes: u16,

    /// How many faults each run has
    #[arg(long, value_name = "COUNT", default_value_t = 6)]
    faults: usize,

    /// The seed of the faults: a run has its own, which is that and its number
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,

    /// The times of the protocol, as a multiple of the usual ones
    #[arg(long, value_name = "FACTOR", default_value_t = 0.25)]
    pace: f64,

    /// How many runs go on at once
    #[arg(long, value_name = "COUNT", default_value_t = 4)]
    at_once: usize,

    /// The program that judges; without it, the one beside this program
    #[arg(long, value_name = "FILE")]
    judge: Option<PathBuf>,

    /// Where the traces of a run that was rejected are kept; without it, nowhere
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,

    /// No run begins after this time
    #[arg(long, value_name = "TIME", default_value = "60m", value_parser = config::duration)]
    time_limit: Duration,

    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// What is known of all runs so far.
#[derive(Debug, Default)]
struct Known {
    accepted: usize,
    rejected: Vec<Value>,
    faults: BTreeMap<&'static str, u64>,
    judged: BTreeMap<String, u64>,
    failed: Option<String>,
}

/// What one run has shown.
struct Shown {
    faults: BTreeMap<&'static str, u64>,
    judged: Value,
    rejection: Option<Value>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    Ok(conclude(args.json, &recorded(args)?, print).into())
}

/// All runs, and their report.
fn recorded(args: &Args) -> anyhow::Result<Value> {
    let judge = args.judge.clone().or_else(|| beside(JUDGE));
    let judge = judge.with_context(|| format!("no {JUDGE}: build it, with -p {JUDGE}"))?;
    anyhow::ensure!(judge.is_file(), "--judge {}: there is no such file", judge.display());
    let program = args.program.clone().map_or_else(daemon, Ok)?;
    let (known, next) = (Mutex::new(Known::default()), AtomicUsize::new(0));
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..args.at_once.clamp(1, args.runs.max(1)) {
            scope.spawn(|| {
                let known = || known.lock().unwrap_or_else(PoisonError::into_inner);
                loop {
                    let number = next.fetch_add(1, Ordering::SeqCst);
                    let over = start.elapsed() > args.time_limit || wait::asked_to_end();
                    if number >= args.runs || over || known().failed.is_some() {
                        return;
                    }
                    let seed = args.seed.wrapping_add(number as u64);
                    match one(args, &program, &judge, seed) {
                        Ok(shown) => known().add(args, seed, shown),
                        Err(error) => known().failed = Some(format!("seed {seed}: {error:#}")),
                    }
                }
            });
        }
    });
    let known = known.into_inner().unwrap_or_else(PoisonError::into_inner);
    let done = known.accepted + known.rejected.len();
    let ended_early = match known.failed {
        _ if wait::asked_to_end() => Some("asked to end".to_owned()),
        Some(error) => Some(error),
        None => (done < args.runs).then(|| "the time was over".to_owned()),
    };
    Ok(json!({
        "runs": done,
        "accepted": known.accepted,
        "rejected": known.rejected,
        "faults": known.faults,
        "judged": known.judged,
        "seconds": start.elapsed().as_secs(),
        "ended_early": ended_early,
    }))
}

impl Known {
    fn add(&mut self, args: &Args, seed: u64, shown: Shown) {
        for (kind, count) in shown.faults {
            *self.faults.entry(kind).or_default() += count;
        }
        sum("", &shown.judged, &mut self.judged);
        match shown.rejection {
            None => self.accepted += 1,
            Some(rejection) => {
                note(format_args!("seed {seed}: rejected"));
                self.rejected.push(json!({ "seed": seed, "report": rejection }));
            }
        }
        let done = self.accepted + self.rejected.len();
        if !args.json && done.is_multiple_of(10) {
            note(format_args!("{done:5}/{}  {} rejected", args.runs, self.rejected.len()));
        }
    }
}

/// Adds each number of an object to what was counted under its name.
fn sum(name: &str, value: &Value, counts: &mut BTreeMap<String, u64>) {
    match value {
        Value::Number(number) => {
            *counts.entry(name.to_owned()).or_default() += number.as_u64().unwrap_or(0);
        }
        Value::Object(fields) => {
            for (field, value) in fields {
                let dot = if name.is_empty() { "" } else { "." };
                sum(&format!("{name}{dot}{field}"), value, counts);
            }
        }
        _ => {}
    }
}

/// One run, from the start of its nodes to what the model says.
fn one(args: &Args, program: &Path, judge: &Path, seed: u64) -> anyhow::Result<Shown> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let (section, lease) = section(&args.protocol, args.pace, args.nodes)?;
    let network_timeout = Duration::from_secs(1).mul_f64(args.pace.max(0.2));
    let (program, protocol) = (program.to_owned(), args.protocol.as_str());
    let setup = Setup::new(program, args.nodes, protocol, move |_| section.clone());
    let setup = Setup { network_timeout, ..setup };
    let mut cluster = Cluster::new(setup, Box::new(Relays::start(args.nodes)?))?;
    cluster.traced = true;
    (1..=args.nodes).try_for_each(|node| cluster.start(node))?;
    let store = (args.protocol == Lease::NAME).then_some(args.nodes);
    let mut struck = Struck { store, lease, ..Struck::default() };
    wait::sleep(lease.mul_f64(random.random_range(0.5..3.0)))?;
    for _ in 0..args.faults {
        struck.strike_or_mend(&mut cluster, args.nodes, &mut random)?;
        wait::sleep(lease.mul_f64(random.random_range(0.0..1.5)))?;
    }
    struck.mend(&mut cluster)?;
    wait::sleep(lease.mul_f64(random.random_range(0.0..2.0)))?;
    for node in cluster.up() {
        if random.random_bool(0.5) {
            cluster.kill(node)?;
        } else {
            cluster.ask_to_end(node)?;
        }
    }
    for node in cluster.up() {
        wait::until(&format!("node {node} ends"), END, || cluster.has_ended(node))?;
    }
    let mut traces: Vec<PathBuf> = (1..=args.nodes).map(|node| cluster.trace_of(node)).collect();
    let first = judged(judge, &traces)?;
    let copies = cluster.folder().join("copies");
    fs::create_dir(&copies)?;
    for (trace, node) in traces.iter_mut().zip(1..) {
        *trace = other_clock(trace, &copies.join(format!("{node}.ndjson")), &mut random)?;
    }
    traces.shuffle(&mut random);
    let second = judged(judge, &traces)?;
    let accepted = |answer: &Value| answer["verdict"] == "accepted";
    let same = first["judged"] == second["judged"];
    let rejection = if !accepted(&first) {
        Some(first["rejection"].clone())
    } else if !accepted(&second) {
        Some(json!({ "with_other_clocks": second["rejection"] }))
    } else {
        let both = || json!({ "judged": first["judged"], "with_other_clocks": second["judged"] });
        (!same).then(both)
    };
    if let (Some(_), Some(keep)) = (&rejection, &args.keep) {
        let keep = keep.join(seed.to_string());
        fs::create_dir_all(&keep).with_context(|| format!("--keep {}", keep.display()))?;
        for node in 1..=args.nodes {
            fs::copy(cluster.trace_of(node), keep.join(format!("{node}.ndjson")))?;
        }
    }
    Ok(Shown { faults: struck.counts, judged: first["judged"].clone(), rejection })
}

/// What the model says of these traces.
fn judged(judge: &Path, traces: &[PathBuf]) -> anyhow::Result<Value> {
    let mut command = Command::new(judge);
    command.args(["validate", "--json", "--allow-unjudged"]).args(traces).stdin(Stdio::null());
    let answer = command.output().with_context(|| format!("cannot start {}", judge.display()))?;
    let said = String::from_utf8_lossy(&answer.stderr);
    let verdict = serde_json::from_slice::<Value>(&answer.stdout);
    let nothing = format!("{} has judged nothing: ", judge.display());
    let verdict = verdict.with_context(|| format!("{nothing}{said}"))?;
    anyhow::ensure!(verdict["error"].is_null(), "{nothing}{}", verdict["error"]);
    Ok(verdict)
}

/// A copy of a trace, by a clock that differs from that of the node, and steps back before one of
/// its starts.
fn other_clock(trace: &Path, copy_to: &Path, random: &mut ChaCha8Rng) -> anyhow::Result<PathBuf> {
    let text = fs::read_to_string(trace)?;
    let lines: Vec<&str> = text.lines().collect();
    let starts = lines.iter().enumerate().filter(|(_, line)| line.contains("\"start\":"));
    let starts: Vec<usize> = starts.map(|(number, _)| number).collect();
    let back = starts.get(random.random_range(0..starts.len().max(1))).copied();
    // No time is below zero, whenever the machine was started.
    let mut by = APART * 2 + random.random_range(-APART..=APART);
    let mut copy = String::with_capacity(text.len() + text.len() / 8);
    for (number, line) in lines.iter().enumerate() {
        if Some(number) == back {
            by -= random.random_range(0..=APART);
        }
        match serde_json::from_str::<Value>(line) {
            Ok(mut line) => {
                shift(&mut line["at"], by);
                if let Some(after) = line.pointer_mut("/step/after") {
                    if let Some(until) = after.pointer_mut("/lease/until") {
                        shift(until, by);
                    }
                    for timer in after["armed"].as_array_mut().into_iter().flatten() {
                        shift(&mut timer[1], by);
                    }
                }
                copy.push_str(&line.to_string());
            }
            // The end of a node that was killed.
            Err(_) => copy.push_str(line),
        }
        copy.push('\n');
    }
    if !text.ends_with('\n') {
        copy.pop();
    }
    fs::write(copy_to, copy)?;
    Ok(copy_to.to_owned())
}

fn shift(time: &mut Value, by: i64) {
    if let Some(nanos) = time.as_u64() {
        *time = json!(nanos.saturating_add_signed(by));
    }
}

/// What is broken at the moment, and what was so far.
#[derive(Default)]
struct Struck {
    /// The node that is the store of the lease, if one is. It is not killed: it would forget what
    /// it has granted, and an epoch would have two leaders although every node is right.
    store: Option<u16>,
    /// How long a lease lasts, or the longest time-out.
    lease: Duration,
    down: BTreeSet<u16>,
    stopped: BTreeSet<u16>,
    cut: BTreeSet<Way>,
    counts: BTreeMap<&'static str, u64>,
}

impl Struck {
    /// Something breaks, or something that is broken is mended. Nothing keeps a majority up.
    fn strike_or_mend(
        &mut self,
        cluster: &mut Cluster,
        nodes: u16,
        random: &mut ChaCha8Rng,
    ) -> anyhow::Result<()> {
        if random.random_bool(0.3) {
            return self.mend(cluster);
        }
        let node = random.random_range(1..=nodes);
        let up = !self.down.contains(&node) && !self.stopped.contains(&node);
        let what = match random.random_range(0..7) {
            0 | 1 if up && self.store != Some(node) => {
                cluster.kill(node)?;
                self.down.insert(node);
                "killed"
            }
            2 | 3 if up => {
                cluster.signal(node, Signal::STOP, false)?;
                self.stopped.insert(node);
                "stopped"
            }
            4 => {
                let others = (1..=nodes).filter(|&other| other != node);
                self.cut.extend(others.flat_map(|other| [(node, other), (other, node)]));
                cluster.network.cut(&self.cut)?;
                "cut from all"
            }
            5 => {
                let least = self.lease.mul_f64(random.random_range(0.1..1.5));
                cluster.network.slow_trips(Slow { part: 0.3, least });
                "messages late"
            }
            _ => {
                let other = (node + random.random_range(1..nodes) - 1) % nodes + 1;
                self.cut.insert((node, other));
                if random.random_bool(0.5) {
                    self.cut.insert((other, node));
                }
                cluster.network.cut(&self.cut)?;
                "links cut"
            }
        };
        *self.counts.entry(what).or_default() += 1;
        Ok(())
    }

    /// Nothing is broken any more.
    fn mend(&mut self, cluster: &mut Cluster) -> anyhow::Result<()> {
        for node in std::mem::take(&mut self.down) {
            cluster.start(node)?;
        }
        for node in std::mem::take(&mut self.stopped) {
            cluster.signal(node, Signal::CONT, false)?;
        }
        self.cut.clear();
        cluster.network.slow_trips(Slow::default());
        cluster.network.cut(&self.cut)
    }
}

fn print(report: &Value) {
    let (runs, accepted) = (&report["runs"], &report["accepted"]);
    say(format_args!("{runs} runs in {} seconds, {accepted} accepted", report["seconds"]));
    for (title, key) in [("Faults", "faults"), ("Judged", "judged")] {
        say(format_args!("{title}:"));
        for (name, count) in report[key].as_object().into_iter().flatten() {
            say(format_args!("  {count:>12}  {name}", count = count.to_string()));
        }
    }
    if let Some(why) = report["ended_early"].as_str() {
        say(format_args!("Ended before all runs were done: {why}."));
    }
    for rejected in report["rejected"].as_array().into_iter().flatten() {
        say(format_args!("\nREJECTED, seed {}:", rejected["seed"]));
        let text = format!("{:#}", rejected["report"]);
        text.lines().take(SHOWN).for_each(|line| say(format_args!("  {line}")));
    }
}

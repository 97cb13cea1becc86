//! `run`: many runs, one seed after the other.

use std::fmt::Write as _;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use bellwether_cli::exit::{Exit, stopped};
use bellwether_cli::json;

use super::{CUT_SHORT, HOLDS, VIOLATED, bar, replay};
use crate::batch::{Limits, Summary, batch};
use crate::code::{self, Code};
use crate::faults::Faults;
use crate::run::shrink;
use crate::wrong::Wrong;

/// Make many runs, one seed after the other, until one breaks an invariant
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Which protocol: quorum, bully, garcia-molina, lease
    #[arg(long, default_value = "quorum", value_parser = code::protocol)]
    protocol: String,
    /// Which store grants the lease, with the protocol lease: sqlite, postgres, redis, etcd or
    /// kubernetes; each in turn unless given
    #[arg(long)]
    store: Option<String>,
    /// How many nodes
    #[arg(long, default_value = "5", value_parser = code::nodes)]
    nodes: usize,
    /// Which faults: none, flap, or kinds joined by +. The kinds are losses, duplicates, delays,
    /// cuts, partitions, pauses, clocks, stalls, crashes, syncs, requests, leaves (all); and with
    /// quorum transfers, members, distances, reloads, wipe (operators); and with lease outages,
    /// mistakes, restores, twins, rewinds, expiries
    #[arg(long, default_value = "all", value_parser = code::faults)]
    faults: Faults,
    /// The first seed, in hexadecimal digits
    #[arg(long, default_value = "1", value_parser = code::seed)]
    seed: u64,
    /// How many runs
    #[arg(long, default_value = "1000", value_parser = runs)]
    runs: u64,
    /// How many threads; as many as there are processors unless given
    #[arg(long)]
    threads: Option<NonZeroUsize>,
    /// Begin no run after so many seconds
    #[arg(long, value_name = "S")]
    max_seconds: Option<u64>,
    /// Make the world or the program wrong, to see an invariant break
    #[arg(long, value_name = "NAME", value_parser = code::wrong)]
    wrong: Option<Wrong>,
    /// Show what happened in the run that breaks an invariant
    #[arg(long)]
    trace: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

/// How many runs may be spent on leaving out faults.
const SHRINKING: usize = 300;

fn runs(text: &str) -> Result<u64, &'static str> {
    let runs = text.parse().ok().filter(|&runs: &u64| runs > 0);
    runs.ok_or("give a whole number of runs, at least 1")
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Args { protocol, nodes, faults, seed, wrong, .. } = args;
    let named = |store: &String| code::protocol(&format!("{protocol}-{store}"));
    let protocol = args.store.as_ref().map_or_else(|| Ok(protocol.clone()), named)?;
    let faults = faults.clone();
    let first = Code { protocol, wrong: *wrong, nodes: *nodes, faults, seed: *seed, kept: None };
    first.suits()?;
    let one = NonZeroUsize::MIN;
    let threads = args.threads.or(std::thread::available_parallelism().ok()).unwrap_or(one);
    let time = args.max_seconds.map(Duration::from_secs);
    let limits = Limits { stop: stopped(), time };
    let (bar, begun) = (bar(args.runs), Instant::now());
    let summary = batch(&first, args.runs, threads, limits, &|| bar.inc(1));
    bar.finish_and_clear();
    let exit = Exit::with(match &summary.failed {
        Some(_) => VIOLATED,
        None if summary.runs < summary.asked => CUT_SHORT,
        None => HOLDS,
    });
    let shrunk = summary.failed.as_ref().map(|(code, _)| shrink(code, SHRINKING));
    if args.json {
        return Ok(exit.tell(&json::line(&object(&first, &summary, shrunk.as_ref()))?));
    }
    let exit = exit.tell(&text(&first, &summary, begun.elapsed()));
    Ok(match (&summary.failed, &shrunk) {
        (Some((code, _)), Some(shrunk)) => exit.tell(&replay::failure(code, shrunk, args.trace)),
        _ => exit,
    })
}

fn text(first: &Code, summary: &Summary, took: Duration) -> String {
    let Summary { runs, asked, counts, slowest, digest, .. } = summary;
    let mut text = String::new();
    // A `String` takes whatever is written.
    let _ = writeln!(text, "{}: {} nodes, faults: {}", first.protocol, first.nodes, first.faults);
    let _ = writeln!(
        text,
        "{runs} of {asked} runs from seed {:08x} on, in {:.1} s; digest {digest:016x}",
        first.seed,
        took.as_secs_f64()
    );
    let _ = writeln!(
        text,
        "{} steps, {} messages sent, {} lost, {} syncs; {} faults, {} starts; {} times a node \
         began to lead",
        counts.steps,
        counts.sent,
        counts.lost,
        counts.syncs,
        counts.faults,
        counts.starts,
        counts.leaders
    );
    if let Some((slowest, seed)) = slowest {
        let code = Code { seed: *seed, ..first.clone() };
        let _ = writeln!(
            text,
            "after the last fault, all agreed on a leader within {:.3} s ({code})",
            slowest.as_secs_f64()
        );
    }
    if summary.failed.is_none() && *runs > 0 {
        let _ = writeln!(text, "no invariant was broken");
    }
    if runs < asked && summary.failed.is_none() {
        let _ = writeln!(text, "stopped early: nothing is claimed of the other runs");
    }
    text
}

fn object(first: &Code, summary: &Summary, shrunk: Option<&Code>) -> serde_json::Value {
    let Summary { runs, asked, counts, slowest, digest, failed } = summary;
    serde_json::json!({
        "protocol": first.protocol,
        "nodes": first.nodes,
        "faults": first.faults.to_string(),
        "seed": format!("{:08x}", first.seed),
        "runs": runs,
        "asked": asked,
        "digest": format!("{digest:016x}"),
        "counts": counts,
        "slowest": slowest.map(|(time, seed)| serde_json::json!({
            "seconds": time.as_secs_f64(),
            "code": Code { seed, ..first.clone() }.to_string(),
        })),
        "failed": failed.as_ref().map(|(code, broken)| serde_json::json!({
            "code": code.to_string(),
            "shrunk": shrunk.map(Code::to_string),
            "invariant": broken.invariant,
            "at": broken.at.0 as f64 / 1e9,
            "what": broken.what,
        })),
    })
}

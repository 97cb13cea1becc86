//! `killed-together`: what a daemon must not let happen, and an older one did.
//! The checks are those of the soak, so such a daemon shows that they find it.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::Context as _;
use bellwether_testbed::probe::Probe;
use bellwether_testbed::process::{Signal, send};
use bellwether_testbed::wait;
use serde_json::{Value, json};

use super::cluster::{Cluster, Security, Setup, daemon, quorum_section};
use super::network::Loopback;
use super::report::{conclude, note, say, say_table};
use super::resource::Resource;
use super::soak::{LIMIT, timing};

/// Of what was violated, so much is printed.
const SHOWN: usize = 10;

// No comment for the help: what the command does stands with it.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How many rounds
    #[arg(long, value_name = "COUNT", default_value_t = 10)]
    rounds: usize,

    /// The daemon, such as one of an older release; without it, the one of today
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,

    /// How the nodes know each other
    #[arg(long, value_name = "MODE", default_value = "tls")]
    security: Security,

    /// The times of the protocol, as a multiple of the usual ones
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pace: f64,

    /// Print the rounds as JSON
    #[arg(long)]
    json: bool,
}

/// A cluster whose leaders write to a resource, and what asks it.
struct Watched {
    cluster: Cluster,
    resource: Resource,
    probe: Probe,
}

impl Watched {
    fn start(args: &Args, nodes: u16) -> anyhow::Result<Self> {
        let program = match &args.program {
            None => daemon()?,
            Some(file) => std::fs::canonicalize(file)
                .with_context(|| format!("--program {}", file.display()))?,
        };
        let (resource, timing) = (Resource::serve()?, timing(args.pace));
        let section = move |_| quorum_section(&timing, 1.0);
        let setup = Setup {
            security: args.security,
            resource: Some(resource.clone()),
            ..Setup::new(program, nodes, "quorum", section)
        };
        let mut cluster = Cluster::new(setup, Box::new(Loopback::new(nodes)))?;
        (1..=nodes).try_for_each(|node| cluster.start(node))?;
        let probe = Probe::start(cluster.http.clone());
        let watched = Self { cluster, resource, probe };
        watched.settle()?;
        Ok(watched)
    }

    /// Waits until a leader writes, and all follow it.
    fn settle(&self) -> anyhow::Result<()> {
        let (nodes, since) = (self.cluster.up(), Instant::now());
        wait::until("a leader writes", LIMIT, || self.resource.epoch() > 0)?;
        wait::until("all nodes follow one", LIMIT, || self.probe.agreed(&nodes, since))?;
        Ok(())
    }

    /// What was violated so far, by the checks of the soak.
    fn violations(&self) -> Vec<String> {
        let (wrote, led) = (self.resource.seen().violations, self.probe.judge().1);
        [wrote, led, self.cluster.judge_logs().1].concat()
    }
}

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    Ok(conclude(args.json, &report(args)?, print).into())
}

/// All rounds, and their report.
fn report(args: &Args) -> anyhow::Result<Value> {
    let (mut rounds, mut violations) = (Vec::new(), Vec::new());
    let mut watched = None;
    for number in 1..=args.rounds {
        let mut round = match killed_together(args, &mut watched) {
            Ok(round) => round,
            // What is known until now is worth printing.
            Err(error) => {
                if !wait::asked_to_end() {
                    violations.push(format!("round {number}: {error:#}"));
                }
                break;
            }
        };
        round["round"] = json!(number);
        if !args.json {
            note(format_args!("{number:4}/{}  {round}", args.rounds));
        }
        rounds.push(round);
    }
    violations.extend(watched.iter().flat_map(Watched::violations));
    let ended_early = rounds.len() < args.rounds;
    Ok(json!({ "rounds": rounds, "violations": violations, "ended_early": ended_early }))
}

/// The leader's node and the keeper of its command are killed at once, again and again.
fn killed_together(args: &Args, watched: &mut Option<Watched>) -> anyhow::Result<Value> {
    if watched.is_none() {
        *watched = Some(Watched::start(args, 3)?);
    }
    let Watched { cluster, resource, .. } = watched.as_mut().context("started above")?;
    let before = resource.seen();
    let latest = before.latest.context("no leader writes")?;
    let commands = cluster.kill_with_keeper(latest.node)?;
    anyhow::ensure!(!commands.is_empty(), "node {} leads without a command", latest.node);
    wait::until("another leader writes", LIMIT, || resource.epoch() > latest.epoch)?;
    let left: Vec<_> = commands.into_iter().filter(|&command| writes(command)).collect();
    for &command in &left {
        // It may have ended by itself just now.
        let _ = send(command, Signal::KILL);
    }
    let after = resource.seen();
    let round = json!({
        "commands_left": left.len(),
        "commands_beside": after.beside - before.beside,
        "refused": after.refused - before.refused,
        "shared": after.shared - before.shared,
    });
    cluster.start(latest.node)?;
    if let Some(watched) = watched {
        watched.settle()?;
    }
    Ok(round)
}

/// Whether a process runs, and writes to the resource. One that has ended has no arguments.
fn writes(process: u32) -> bool {
    let arguments = std::fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    arguments.split(|&byte| byte == 0).any(|argument| argument == b"hammer")
}

fn print(report: &Value) {
    let heads = [
        ("round", "round"),
        ("command left", "commands_left"),
        ("two commands", "commands_beside"),
        ("writes refused", "refused"),
        ("shared epoch", "shared"),
    ];
    say_table(&heads, &report["rounds"]);
    if report["ended_early"] == true {
        say("\nEnded before all rounds were done.");
    }
    match report["violations"].as_array() {
        Some(violations) if !violations.is_empty() => {
            say(format_args!("\nVIOLATED, {} times or more; the first:", violations.len()));
            violations.iter().take(SHOWN).for_each(|violation| say(format_args!("  {violation}")));
        }
        _ => say("\nNothing was violated."),
    }
}

//! `speed`: how long the program takes for logs of several lengths, and how much memory.

use super::Judged;
use super::group::Faults;
use serde_json::Value;
use std::io::{self, Write as _};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Measure the time and the memory that `validate` takes, for logs of several lengths
///
/// The logs are those of nodes of this program on a network that is not real, and need some hundred
/// bytes for each event. A second run has losses of which no log tells.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
    /// How many events, as in 100000,1000000
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_value = "100000,1000000")]
    events: Vec<usize>,

    /// How many nodes
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u16).range(3..=7))]
    nodes: u16,

    /// How many of a hundred messages are lost in the second run
    #[arg(long, value_name = "PERCENT", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=90))]
    losses: u8,
}

pub(crate) fn run(args: &Args) -> ExitCode {
    say!("| events | lost, of 100 | MB of logs | steps judged | seconds | steps / s | MiB |");
    say!("|---:|---:|---:|---:|---:|---:|---:|");
    let mut good = true;
    for losses in [0, usize::from(args.losses)] {
        for &events in &args.events {
            match measure(args.nodes, losses, events) {
                Ok(()) => {}
                Err(error) => {
                    let _ = writeln!(io::stderr(), "error: {error}");
                    good = false;
                }
            }
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(nodes: u16, losses: usize, events: usize) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let faults = Faults { losses, ..Faults::NONE };
    let mut paths = Vec::new();
    let mut length = 0;
    for (log, node) in Judged::Quorum.logs(nodes, 1, faults, events).into_iter().zip(1..) {
        let path = folder.path().join(format!("{node}.ndjson"));
        length += log.len();
        std::fs::write(&path, log).map_err(|error| error.to_string())?;
        paths.push(path);
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
    command.args(["validate", "--json"]).args(&paths).stdout(Stdio::piped());
    let start = Instant::now();
    let child = command.spawn().map_err(|error| error.to_string())?;
    let process = child.id();
    let answer = std::thread::spawn(move || child.wait_with_output());
    let mut peak = 0.0_f64;
    while !answer.is_finished() {
        peak = peak.max(peak_of(process).unwrap_or(0.0));
        std::thread::sleep(Duration::from_millis(2));
    }
    let seconds = start.elapsed().as_secs_f64();
    let answer = answer.join().map_err(|_| "no answer")?.map_err(|error| error.to_string())?;
    let said: Value = serde_json::from_slice(&answer.stdout).map_err(|error| error.to_string())?;
    let steps = said["judged"]["steps"].as_object().into_iter().flatten();
    let steps: u64 = steps.filter_map(|(_, count)| count.as_u64()).sum();
    if said["verdict"] != "accepted" {
        return Err(format!("the logs are not accepted: {}", said["rejection"]));
    }
    say!(
        "| {events} | {losses} | {:.0} | {steps} | {seconds:.1} | {:.0} | {peak:.0} |",
        length as f64 / 1e6,
        steps as f64 / seconds,
    );
    Ok(())
}

/// The most memory that a process has held so far, in MiB.
fn peak_of(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}

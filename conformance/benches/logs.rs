//! What it costs to judge logs, and which wrong ones are found.
//!
//! `cargo bench -p bellwether-conformance --bench logs -- --help` says what it can do.

/// Prints a line. The exit status says it too, also if no process reads this.
macro_rules! say {
    ($($text:tt)*) => {{
        let _ = writeln!(io::stdout(), $($text)*);
    }};
}

#[path = "../tests/validate/edits.rs"]
mod edits;
#[path = "../tests/validate/group.rs"]
mod group;

use bellwether_conformance::mapping;
use bellwether_conformance::validate::{Log, Options, Outcome};
use bellwether_core::protocol::{Members, NodeId, bully, lease, quorum};
use clap::{CommandFactory as _, Parser};
use group::{Faults, Group, Random};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{self, Cursor, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{self, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// What it costs to judge logs, and which wrong ones are found
#[derive(Debug, Parser)]
#[command(name = "logs", bin_name = "cargo bench -p bellwether-conformance --bench logs --")]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    /// What cargo adds
    #[arg(long, global = true, hide = true)]
    bench: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    Speed(SpeedArgs),
    Hostile(HostileArgs),
    Edits(EditsArgs),
}

/// Change one field or line of accepted logs, and count what is refused
///
/// Ends with status 1 if more than two in a hundred are not refused.
#[derive(Clone, Debug, clap::Args)]
struct EditsArgs {
    /// How many runs of each protocol, each changed once in every kind
    #[arg(long, value_name = "COUNT", default_value_t = 1_000)]
    runs: u64,

    /// Print so many lines that were changed and not refused
    #[arg(long, value_name = "COUNT", default_value_t = 0)]
    survivors: usize,
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        None => {
            let _ = Arguments::command().print_help();
            ExitCode::SUCCESS
        }
        Some(Command::Speed(args)) => speed(&args),
        Some(Command::Hostile(args)) => hostile(&args),
        Some(Command::Edits(args)) => edited(&args),
    }
}

/// So that every line counts.
const WHOLE: Options = Options { duplicates: false, reorder: false, whole: true };

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Judged {
    Quorum,
    Bully,
    Lease,
}

impl Judged {
    const ALL: [Self; 3] = [Self::Quorum, Self::Bully, Self::Lease];

    /// What a group of such nodes writes in so many events.
    fn logs(self, nodes: u16, seed: u64, faults: Faults, events: usize) -> Vec<String> {
        let members = Members::new((1..=nodes).filter_map(NodeId::new)).expect("2 to 255 ids");
        let all = members.iter();
        match self {
            Self::Quorum => {
                let config =
                    |id| mapping::quorum::config(&mapping::quorum::RECOMMENDED, id, &members);
                Group::<quorum::Quorum>::new(all.map(config).collect(), None, seed, faults)
                    .logs(events)
            }
            Self::Bully => {
                let config = |id| mapping::bully::config(id, &members);
                Group::<bully::Bully>::new(all.map(config).collect(), None, seed, faults)
                    .logs(events)
            }
            Self::Lease => {
                let config = |id| mapping::lease::config(id, &members);
                let group =
                    Group::<lease::Lease>::new(all.map(config).collect(), None, seed, faults);
                // By these rules the store never fails.
                group.in_which_lives(usize::from(nodes) - 1).logs(events)
            }
        }
    }

    fn validate(self, logs: &[Vec<u8>], options: Options) -> Result<Outcome, String> {
        let log = |(text, at): (&Vec<u8>, usize)| Log {
            name: format!("log {at}"),
            text: Box::new(Cursor::new(text.clone())),
        };
        let logs = logs.iter().zip(1..).map(log).collect();
        let name = match self {
            Self::Quorum => "quorum",
            Self::Bully => "bully",
            Self::Lease => "lease",
        };
        // By the registry: what judges is compiled with it, and not once more.
        let mapping = mapping::mappings().find(Some(name), None);
        let outcome = mapping.and_then(|mapping| mapping.validate(logs, options));
        outcome.map_err(|error| error.to_string())
    }
}

fn bytes(logs: &[String]) -> Vec<Vec<u8>> {
    logs.iter().map(|log| log.clone().into_bytes()).collect()
}

fn edited(args: &EditsArgs) -> ExitCode {
    let mut counts: BTreeMap<(&str, Judged), [u64; 2]> = BTreeMap::new();
    let mut shown = 0;
    for seed in 0..args.runs {
        for judged in Judged::ALL {
            let faults = if seed % 2 == 0 { Faults::NONE } else { Faults::SOME };
            let logs = judged.logs(3, seed, faults, 300);
            let fields = edits::FIELDS.map(|(kind, ..)| kind);
            for kind in edits::KINDS.into_iter().chain(fields) {
                let Some(changed) = edits::change(&logs, kind, &mut Random(seed)) else { continue };
                let outcome = judged.validate(&bytes(&changed), WHOLE);
                let found = outcome
                    .is_ok_and(|found| found.rejection.is_some() || !found.malformed.is_empty());
                counts.entry((kind, judged)).or_default()[usize::from(found)] += 1;
                if !found && shown < args.survivors {
                    shown += 1;
                    survived(judged, kind, &logs, &changed);
                }
            }
        }
    }
    say!("| change | protocol | changed | refused | survived |");
    say!("|---|---|---:|---:|---:|");
    for ((kind, judged), [survived, refused]) in &counts {
        say!("| {kind} | {judged:?} | {} | {refused} | {survived} |", survived + refused);
    }
    let [survived, refused] =
        counts.values().fold([0, 0], |all, count| [all[0] + count[0], all[1] + count[1]]);
    let all = survived + refused;
    say!("\n{refused} of {all} refused: {:.2} %", refused as f64 * 100.0 / all.max(1) as f64);
    if survived * 50 <= all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Prints the first line that differs.
fn survived(judged: Judged, kind: &str, logs: &[String], changed: &[String]) {
    let lines = logs.iter().zip(changed).flat_map(|(was, is)| was.lines().zip(is.lines()));
    let differs = |(was, is): &(&str, &str)| {
        // The order of fields is that of the change.
        let value = |text: &str| serde_json::from_str::<Value>(text).ok();
        value(was) != value(is)
    };
    if let Some((was, is)) = lines.into_iter().find(differs) {
        say!("{judged:?}, {kind}:\n  {was}\n  {is}");
    }
}

/// Measure the time and the memory that `validate` takes, for logs of several lengths
///
/// The logs are those of nodes of this program on a network that is not real, and need some hundred
/// bytes for each event. A second run has losses of which no log tells.
#[derive(Clone, Debug, clap::Args)]
struct SpeedArgs {
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

fn speed(args: &SpeedArgs) -> ExitCode {
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
    let mut command = process::Command::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
    command.args(["validate", "--json"]).args(&paths).stdout(Stdio::piped());
    let start = Instant::now();
    let child = command.spawn().map_err(|error| error.to_string())?;
    let id = child.id();
    let answer = std::thread::spawn(move || child.wait_with_output());
    let mut peak = 0.0_f64;
    while !answer.is_finished() {
        peak = peak.max(peak_of(id).unwrap_or(0.0));
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

/// Change bytes of logs at random, and look that none makes the judge panic
///
/// Of one in a hundred, what was judged is compared with what is judged if that log ends before the
/// line that cannot be read.
#[derive(Clone, Debug, clap::Args)]
struct HostileArgs {
    /// How many changed logs
    #[arg(long, value_name = "COUNT", default_value_t = 100_000)]
    files: u64,

    /// The seed of the changes
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
}

/// How many of each outcome, and what must not be.
#[derive(Default)]
struct Known {
    counts: BTreeMap<&'static str, u64>,
    wrong: Vec<String>,
}

fn hostile(args: &HostileArgs) -> ExitCode {
    let groups: Vec<_> = Judged::ALL
        .into_iter()
        .flat_map(|judged| (0..8).map(move |seed| (judged, seed)))
        .map(|(judged, seed)| (judged, bytes(&judged.logs(3, seed, Faults::SOME, 60))))
        .collect();
    let (known, next) = (Mutex::new(Known::default()), AtomicU64::new(0));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                let mut own = Known::default();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= args.files {
                        break;
                    }
                    let seed = args.seed.wrapping_mul(0x1_0000_0001).wrapping_add(number);
                    change_one(&groups, number, seed, &mut own);
                }
                let mut known = known.lock().expect("no panic");
                for (outcome, count) in own.counts {
                    *known.counts.entry(outcome).or_default() += count;
                }
                known.wrong.extend(own.wrong);
            });
        }
    });
    let known = known.into_inner().expect("no panic");
    for (outcome, count) in &known.counts {
        say!("{count:>10}  {outcome}");
    }
    known.wrong.iter().take(10).for_each(|wrong| say!("WRONG: {wrong}"));
    if known.wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Changes one log, and has it judged.
fn change_one(groups: &[(Judged, Vec<Vec<u8>>)], number: u64, seed: u64, known: &mut Known) {
    let mut random = Random(seed);
    let (judged, logs) = &groups[random.below(groups.len())];
    let mut logs = logs.clone();
    let changed = random.below(logs.len());
    for _ in 0..=random.below(3) {
        change(&mut logs[changed], &mut random);
    }
    let judge = |logs: &[Vec<u8>]| {
        catch_unwind(AssertUnwindSafe(|| judged.validate(logs, Options::default())))
    };
    let outcome = match judge(&logs) {
        Err(_) => {
            known.wrong.push(format!("change {number}, seed {seed}: a panic"));
            "a panic"
        }
        Ok(Err(_)) => "no logs of one run",
        Ok(Ok(found)) if !found.malformed.is_empty() => {
            let places = found.malformed.iter().all(|one| one.line > 0 && !one.why.is_empty());
            if !places {
                known.wrong.push(format!("change {number}: no place: {:?}", found.malformed));
            }
            if number.is_multiple_of(100)
                && let Some(wrong) = other_prefix(&found, &logs, changed, judge)
            {
                known.wrong.push(format!("change {number}, seed {seed}: {wrong}"));
            }
            "malformed"
        }
        Ok(Ok(found)) if found.rejection.is_some() => "rejected",
        Ok(Ok(_)) => "accepted: nothing that is judged has changed",
    };
    *known.counts.entry(outcome).or_default() += 1;
}

/// What is judged of the lines before the first that cannot be read is what is judged of a log that
/// has no more.
fn other_prefix<E>(
    found: &Outcome,
    logs: &[Vec<u8>],
    changed: usize,
    judge: impl Fn(&[Vec<u8>]) -> Result<Result<Outcome, String>, E>,
) -> Option<String> {
    let [malformed] = &found.malformed[..] else { return None };
    let before = usize::try_from(malformed.line - 1).unwrap_or(usize::MAX);
    let mut shorter = logs.to_vec();
    let lines = logs[changed].split_inclusive(|byte| *byte == b'\n').take(before);
    shorter[changed] = lines.flatten().copied().collect();
    let Ok(Ok(other)) = judge(&shorter) else { return None };
    let (one, other) = (found.summary.judged(), other.summary.judged());
    (one != other).then(|| format!("{one} steps judged, {other} of the shorter log: {malformed}"))
}

fn change(text: &mut Vec<u8>, random: &mut Random) {
    if text.is_empty() {
        return;
    }
    let at = random.below(text.len());
    let until = (at + 1 + random.below(40)).min(text.len());
    match random.below(7) {
        0 => text[at] = random.below(256) as u8,
        1 => drop(text.drain(at..until)),
        2 => {
            let again = text[at..until].to_vec();
            text.splice(at..at, again);
        }
        3 => text.truncate(at),
        // Another digit: most of what a line says is numbers.
        4 | 5 => {
            if let Some(digit) = text[at..].iter_mut().find(|byte| byte.is_ascii_digit()) {
                *digit = b'0' + random.below(10) as u8;
            }
        }
        _ => text.insert(at, b"{}[]\",:\n-.eE9"[random.below(13)]),
    }
}

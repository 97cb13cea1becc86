//! What it costs to judge logs, and which wrong ones are found.
//!
//! `cargo bench -p bellwether-conformance --bench logs -- --help` says what it can do.

/// Prints a line. The exit status says it too, also if no process reads this.
macro_rules! say {
    ($($text:tt)*) => {{
        let _ = writeln!(io::stdout(), $($text)*);
    }};
}

#[path = "../../tests/validate/edits.rs"]
mod edits;
#[path = "../../tests/validate/group.rs"]
mod group;
mod hostile;
mod speed;

use bellwether_conformance::mapping::MAPPINGS;
use bellwether_conformance::mapping::bully::BullyMapping;
use bellwether_conformance::mapping::lease::LeaseMapping;
use bellwether_conformance::mapping::quorum::{QuorumMapping, Recommended};
use bellwether_conformance::validate::{Log, Options, Outcome};
use bellwether_core::protocol::{Members, NodeId, bully, lease, quorum};
use clap::{CommandFactory as _, Parser};
use group::{Faults, Group, Random};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Write as _};
use std::process::ExitCode;

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
    Speed(speed::Args),
    Hostile(hostile::Args),
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
        Some(Command::Speed(args)) => speed::run(&args),
        Some(Command::Hostile(args)) => hostile::run(&args),
        Some(Command::Edits(args)) => edited(&args),
    }
}

/// So that every line counts.
const WHOLE: Options = Options { duplicates: false, reorder: false, whole: true };

/// A protocol whose logs are judged.
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
                let config = |id| QuorumMapping::<Recommended>::config(id, &members);
                Group::<quorum::Quorum>::new(all.map(config).collect(), None, seed, faults)
                    .logs(events)
            }
            Self::Bully => {
                let config = |id| BullyMapping::config(id, &members);
                Group::<bully::Bully>::new(all.map(config).collect(), None, seed, faults)
                    .logs(events)
            }
            Self::Lease => {
                let config = |id| LeaseMapping::<false>::config(id, &members);
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
        let mapping = MAPPINGS.find(Some(name), None);
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
            for kind in edits::KINDS {
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
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).ok();
        value(was) != value(is)
    };
    if let Some((was, is)) = lines.into_iter().find(differs) {
        say!("{judged:?}, {kind}:\n  {was}\n  {is}");
    }
}

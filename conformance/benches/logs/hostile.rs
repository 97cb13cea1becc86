//! `hostile`: logs whose bytes are changed at random are refused with their place, or judged.

use super::group::{Faults, Random};
use super::{Judged, bytes};
use bellwether_conformance::validate::{Options, Outcome};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// Change bytes of logs at random, and look that none makes the judge panic
///
/// Of one in a hundred, what was judged is compared with what is judged if that log ends before the
/// line that cannot be read.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Args {
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

pub(crate) fn run(args: &Args) -> ExitCode {
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
                    one(&groups, number, seed, &mut own);
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
fn one(groups: &[(Judged, Vec<Vec<u8>>)], number: u64, seed: u64, known: &mut Known) {
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

/// Changes some bytes.
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

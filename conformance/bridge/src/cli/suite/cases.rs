//! `suite FILE`: of the cases of a file of the checker, those whose rules a program implements,
//! each compared as `lockstep` does it.

use super::SuiteArgs;
use crate::cli::lockstep::LockstepArgs;
use crate::cli::{Known, WRITTEN_FOR};
use crate::comparison::{Comparison, Mappings};
use crate::error::Error;
use crate::lockstep::Outcome;
use bellwether_engine::check::Event;
use bellwether_tool::cli::suite::{Case, Found, Ran, Reports, read};
use bellwether_tool::cli::{Exit, Tool, UsageError, shown};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command};
use std::path::Path;
use std::time::Duration;

/// What is asked of each case, and what is expected.
const ASKED: &str = "lockstep";
const EXPECTED: &str = "conforms";

/// The flags of a case that `lockstep` gets otherwise, or for which it has no use.
const NOT_TAKEN: [&str; 2] = ["variant", "symmetry"];

/// The names of the fields of the flags that say something of a file.
const OF_A_FILE: [&str; 5] = ["protocol", "json", "junit", "markdown", "quiet"];

/// Those that say something only of executions of a protocol, through which a program is driven.
const OF_EXECUTIONS: [&str; 7] =
    ["no_run", "through", "program", "seconds", "out", "limit", "verbose"];

pub(super) fn run(
    known: Known,
    file: &Path,
    args: &SuiteArgs,
    flags: &ArgMatches,
) -> anyhow::Result<Exit> {
    refuse_others(flags)?;
    let mut cases = read(Tool::new(WRITTEN_FOR, known.registry), file)?;
    let lockstep = LockstepArgs::augment_args(Command::new(ASKED));
    let is_taken = |flag: &str| {
        let mut known = lockstep.get_arguments().filter_map(Arg::get_long);
        !NOT_TAKEN.contains(&flag) && known.any(|long| long == flag)
    };
    for case in &mut cases {
        let Some(mapping) = mapping_of(known.mappings, case) else { continue };
        let of = mapping.description();
        let (protocol, variant) = (of.protocol, shown::quoted(&of.variant));
        let words = format!("{ASKED} {protocol} --variant {variant} {}", case.flags(is_taken));
        case.command = format!("{} {}", known.called(), words.trim_end());
    }
    let reports = Reports {
        file,
        json: args.json,
        junit: args.junit.as_deref(),
        markdown: args.markdown.as_deref(),
        progress: args.progress,
    };
    Ok(reports.run(&cases, &|case, on_event| compare(known.mappings, case, on_event)))
}

/// Refuses a flag that says nothing of a file.
fn refuse_others(flags: &ArgMatches) -> Result<(), UsageError> {
    let command = SuiteArgs::augment_args(Command::new("suite"));
    let given = command.get_arguments().find(|arg| {
        let id = arg.get_id().as_str();
        let is_given = flags.value_source(id) == Some(ValueSource::CommandLine);
        is_given && !OF_A_FILE.contains(&id)
    });
    let Some(given) = given else { return Ok(()) };
    let Some(long) = given.get_long() else { return Ok(()) };
    let why = if OF_EXECUTIONS.contains(&given.get_id().as_str()) {
        "each case of a file is compared as 'lockstep' does it, and no executions are found; name \
         a protocol instead of the file, or leave it out"
    } else {
        "each case of a file has its own world; write it there, or leave it out"
    };
    Err(UsageError::no_effect(format!("--{long}"), why))
}

/// The mapping to the rules of a case.
fn mapping_of(mappings: Mappings, case: &Case) -> Option<&'static dyn Comparison> {
    let machine = case.world().machine();
    if !machine.own().is_empty() {
        return None;
    }
    let (protocol, variant) = (machine.protocol().name(), machine.variant_name());
    mappings.find(Some(protocol), Some(&variant)).ok()
}

fn compare(mappings: Mappings, case: &Case, on_event: &mut (dyn FnMut(Event) + Send)) -> Ran {
    let Some(mapping) = mapping_of(mappings, case) else {
        let machine = case.world().machine();
        let (protocol, variant) = (machine.protocol().name(), machine.variant_name());
        return left_out(format!("no program implements '{variant}' of {protocol}"));
    };
    let (scenario, threads, limits) = (case.world().scenario(), case.threads(), case.limits());
    let found = mapping.lockstep(scenario, threads, limits, &mut |_, progress| {
        on_event(Event::Progress(progress));
    });
    match found {
        Ok(outcome) => ran(&outcome),
        Err(error) => match error.downcast_ref::<Error>() {
            Some(Error::Timed | Error::TooLarge { .. } | Error::NothingCompared) => {
                left_out(error.to_string())
            }
            _ => Ran { failed: Some(format!("{error:#}")), ..Ran::default() },
        },
    }
}

fn left_out(why: String) -> Ran {
    Ran { left_out: Some(why), ..Ran::default() }
}

fn ran(outcome: &Outcome) -> Ran {
    let Outcome { summary, divergence, large_group } = outcome;
    let mut ran = Ran {
        states: Some(summary.states),
        transitions: Some(summary.transitions),
        elapsed: Duration::try_from_secs_f64(summary.seconds).unwrap_or_default(),
        ..Ran::default()
    };
    let differs = match (divergence, &large_group.wrong) {
        (Some(divergence), _) => {
            let first = divergence.differences.first().map(ToString::to_string);
            let happened = &divergence.happened;
            Some(format!("diverges: {} ({happened})", first.unwrap_or_default()))
        }
        (None, Some(wrong)) => Some(format!("fails in a group of {}: {wrong}", large_group.size)),
        (None, None) => None,
    };
    let undecided = match summary.cut_short {
        Some(reason) => Some(format!("unknown: {reason}")),
        None if summary.coverage.missing.is_empty() => None,
        None => Some(format!("incomplete: not met: {}", summary.coverage.missing.join(", "))),
    };
    let found = differs.clone().or_else(|| undecided.clone());
    if let Some(differs) = differs {
        ran.differs.push(format!("{ASKED}: expected {EXPECTED}, found {differs}"));
    } else if let Some(undecided) = undecided {
        ran.undecided.push(format!("{ASKED}: {undecided}"));
    }
    ran.properties.push(Found {
        property: ASKED.to_owned(),
        wanted: EXPECTED.to_owned(),
        found: found.unwrap_or_else(|| EXPECTED.to_owned()),
        steps: divergence.as_ref().map(|divergence| divergence.step),
    });
    ran
}

//! `claims`: check the literature, by running the checks of the ledger.

pub(super) mod markdown;
mod overview;
mod print;

use super::{NAME, as_written, check_command, runner, typed};
use crate::case::CHECKER;
use crate::claims::{
    Ask, Assumption, Cause, Check, Claim, Cures, Judged, Ledger, LeftOut, Outcome, Ran, Ruling,
    Runner, Source, Standing,
};
use anyhow::anyhow;
use bellwether_model::check::Limits;
use bellwether_model::check::bounds::Until;
use bellwether_model::cli::{
    Exit, HOLDS, LimitArgs, ProgressArgs, UNKNOWN, WorldArgs, stopped, text,
};
use bellwether_model::world::{Durations, Scenario, Timing};
use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use serde_json::{Value, json};
use std::io::{self, Write};
use std::path::PathBuf;

/// The flags of `claims`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ClaimsArgs {
    /// Run the checks of these claims, and print each in full [default: all, one line for each]
    #[arg(value_name = "NUMBER", value_parser = number)]
    numbers: Vec<u16>,

    /// Only the claims of this text: encyclopedia, clustering, chapter, lesson or lecture
    #[arg(short, long, value_name = "NAME")]
    source: Option<String>,

    /// Only the claims with this verdict
    #[arg(long, value_parser = verdicts())]
    verdict: Option<Ruling>,

    /// Only the claims that hang on this cause
    #[arg(long, value_parser = causes())]
    cause: Option<Cause>,

    /// Only the claims with this text in what they say, their section, their reason or their checks
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,

    /// Search the smallest changes of rules under which these claims hold: every rule, then every
    /// two
    #[arg(long, requires = "numbers", conflicts_with_all = ["verdict", "show", "json", "markdown"])]
    cures: bool,

    /// Print what the texts print as programs: which file holds its translation, and what it does
    /// wrong
    #[arg(long, conflicts_with_all = ["numbers", "source", "verdict", "cause", "search"])]
    #[arg(conflicts_with_all = ["cures", "show", "json", "markdown"])]
    programs: bool,

    /// Read the ledger from this folder (in a clone, model/literature/claims) instead of the one
    /// compiled in
    #[arg(long, value_name = "DIR")]
    ledger: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print each claim in full, and draw the execution behind each finding
    #[arg(long, help_heading = "Output")]
    show: bool,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output", conflicts_with_all = ["show", "markdown"])]
    json: bool,

    /// Print a page of the book: the overview, docs/claims.md; that of a text, such as chapter; or
    /// larger, what comes out with one process more
    #[arg(long, value_name = "PAGE", num_args = 0..=1, default_missing_value = markdown::OVERVIEW)]
    #[arg(help_heading = "Output", conflicts_with = "show")]
    #[arg(hide_short_help = true)]
    markdown: Option<String>,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model claims
  bellwether-model claims --source chapter
  bellwether-model claims --verdict refuted --cause time-out --search lease
  bellwether-model claims 59 --show
  bellwether-model claims 84 --cures
  bellwether-model claims --programs
  bellwether-model claims --markdown > docs/claims.md
  bellwether-model claims --markdown chapter > docs/claims/chapter.md

Exit status: 0 every claim comes out as the ledger says; 1 one does not; 2 wrong usage or an error
in the ledger; 3 a check was cut short, so nothing is claimed.";

pub(super) fn run(args: &ClaimsArgs) -> anyhow::Result<Exit> {
    if args.programs {
        return Ok(Exit::with(HOLDS).note_printed(print::programs(&mut anstream::stdout())));
    }
    let ledger = args.ledger.as_deref().map_or_else(Ledger::load, Ledger::load_from)?;
    let chosen = chosen(&ledger, args)?;
    let runner = runner(&args.limits);
    if args.cures {
        return cures(&runner, &chosen);
    }
    if args.markdown.as_deref() == Some(markdown::LARGER) {
        return markdown::larger(args, &runner, &chosen);
    }
    let bar = args.progress.steps(Runner::checks(&chosen), args.json);
    let streams = !args.json && args.markdown.is_none();
    let mut printed: io::Result<()> = Ok(());
    let mut decided = |one: &Judged<'_>| {
        if streams && printed.is_ok() && is_wanted(args, one) {
            printed = bar.suspend(|| print::one(&mut anstream::stdout(), args, one));
        }
    };
    let step = |number: u16| bar.step(&format!("claim {number}"));
    let judged = runner.judge(&chosen, &step, &mut decided);
    bar.finish();
    let judged = judged.map_err(|wrong| anyhow!("the ledger cannot be run: {wrong}"))?;
    let exit = Exit::with(as_written(judged.iter().map(Judged::agrees)));
    Ok(exit
        .note_printed(printed.map_err(anyhow::Error::from).and_then(|()| print_rest(args, judged))))
}

/// The claims of these flags, as far as that can be said before their checks are run.
fn chosen<'a>(
    ledger: &'a Ledger,
    args: &ClaimsArgs,
) -> anyhow::Result<Vec<(&'a Source, &'a Claim)>> {
    let page = args.markdown.as_deref().filter(|page| !markdown::is_of_all(page));
    if let Some(page) = page.filter(|page| ledger.sources.iter().all(|one| one.name != *page)) {
        let texts: Vec<&str> = ledger.sources.iter().map(|source| source.name.as_str()).collect();
        let texts = texts.join(", ");
        return Err(anyhow!(
            "there is no page '{page}'; there are: {}, {}, {texts}",
            markdown::OVERVIEW,
            markdown::LARGER
        ));
    }
    let mut chosen = ledger.select(&args.numbers, args.source.as_deref())?;
    if chosen.is_empty() {
        let source = args.source.as_deref().unwrap_or_default();
        return Err(anyhow!("none of these claims is from '{source}'; leave --source out"));
    }
    chosen.retain(|(source, claim)| {
        args.cause.is_none_or(|cause| claim.cause == Some(cause))
            && args.search.as_ref().is_none_or(|text| claim.mentions(text))
            && page.is_none_or(|page| source.name == page)
    });
    match chosen.is_empty() {
        true => Err(anyhow!("no claim is left; leave --cause, --search or --source out")),
        false => Ok(chosen),
    }
}

/// Whether the claim has the verdict that is asked for.
fn is_wanted(args: &ClaimsArgs, judged: &Judged<'_>) -> bool {
    args.verdict.is_none_or(|verdict| judged.ruling() == Some(verdict))
}

/// Prints what could not be printed claim by claim.
fn print_rest(args: &ClaimsArgs, mut judged: Vec<Judged<'_>>) -> anyhow::Result<()> {
    if !args.json && args.markdown.is_none() {
        print::ending(&mut anstream::stdout(), args, &judged)?;
        return Ok(());
    }
    judged.retain(|one| is_wanted(args, one));
    let page = match args.markdown.as_deref() {
        None => return text::print_json(&object(&judged)),
        Some(markdown::OVERVIEW) => overview::of(&judged),
        Some(_) => markdown::of(&judged),
    };
    write!(anstream::stdout(), "{page}")?;
    Ok(())
}

fn number(text: &str) -> Result<u16, &'static str> {
    text.parse().map_err(
        |_| "give the number of a claim, as in 59; 'claims --search TEXT' finds it by what it says",
    )
}

fn verdicts() -> impl TypedValueParser<Value = Ruling> {
    let names = PossibleValuesParser::new(Ruling::ALL.map(Ruling::name));
    names.try_map(|name| Ruling::find(&name).ok_or("no verdict"))
}

fn causes() -> impl TypedValueParser<Value = Cause> {
    let names = PossibleValuesParser::new(Cause::ALL.map(|cause| cause.words().0));
    names.try_map(|name| Cause::find(&name).ok_or("no cause"))
}

/// States of a world in which a change is tried: one that needs more helps no reader to see why.
const CHANGED_STATES: u64 = 400_000;

/// Prints the smallest changes of rules under which each claim holds, as they are found. When the
/// search is interrupted, nothing is claimed of what was not tried.
fn cures(runner: &Runner, chosen: &[(&Source, &Claim)]) -> anyhow::Result<Exit> {
    let states = runner.limits.states.map(|states| states.min(CHANGED_STATES));
    let runner = Runner { limits: Limits { states, ..runner.limits }, ..*runner };
    let mut out = std::io::stdout();
    for (source, claim) in chosen {
        let number = claim.number;
        let found = runner.cures(source, claim);
        let found = found.map_err(|wrong| anyhow!("claim {number}: {wrong}"))?;
        if stopped().is_due() {
            let told = writeln!(out, "{number}: unknown: it was interrupted");
            return Ok(Exit::with(UNKNOWN).note_printed(told));
        }
        let told = cures_of(&mut out, number, found);
        if told.is_err() {
            return Ok(Exit::with(HOLDS).note_printed(told));
        }
    }
    Ok(Exit::with(HOLDS))
}

fn cures_of(out: &mut impl Write, number: u16, found: Option<Cures>) -> io::Result<()> {
    match found {
        None => writeln!(out, "{number}: it is not decided by properties of one protocol"),
        Some(Cures { tried, found }) if found.is_empty() => {
            writeln!(out, "{number}: none of {tried} changes of one or two rules")
        }
        Some(Cures { tried, found }) => {
            writeln!(out, "{number}: {} of {tried} changes", found.len())?;
            found.iter().try_for_each(|change| {
                let rules: Vec<String> =
                    change.iter().map(|(rule, value)| format!("{rule}={value}")).collect();
                writeln!(out, "  {}", rules.join(", "))
            })
        }
    }
}

/// The command lines that run a check again: one for each run, or one for all where one does it.
fn commands(number: u16, outcome: &Outcome<'_>) -> Vec<String> {
    let Check { ask, .. } = outcome.check;
    let mut commands: Vec<String> =
        outcome.ran.iter().map(|ran| command(number, ask, ran)).collect();
    commands.dedup();
    commands
}

fn command(number: u16, ask: &Ask, ran: &Ran) -> String {
    let again = || format!("{NAME} claims {number} --show");
    let Some(scenario) = &ran.scenario else { return again() };
    match ask {
        Ask::Property(subject, property) => check_command(subject, scenario, property),
        Ask::Most(subject, metric, until) => {
            let until = if *until == Until::Agreed { " --until agreed" } else { "" };
            let flags = WorldArgs::typed(scenario);
            format!("{CHECKER} bounds {} {flags}{until} --show {metric}", typed(subject))
        }
        Ask::Least { subject, duration, keeping, delays, processing } => {
            let range = |[from, to]: [u8; 2]| match from == to {
                true => from.to_string(),
                false => format!("{from}..{to}"),
            };
            let given = scenario.timing.timed().map(|timed| timed.durations);
            let given = given.iter().flat_map(Durations::words);
            let given: String = given.map(|word| format!(" --{word}")).collect();
            let flags = WorldArgs::typed(&Scenario { timing: Timing::Perfect, ..*scenario });
            format!(
                "{CHECKER} tune {} {flags} --delay {} --processing {} --find {duration} \
                 --property {keeping}{given}",
                typed(subject),
                range(*delays),
                range(*processing)
            )
        }
        Ask::Round { .. } | Ask::Program(_) => again(),
    }
}

/// The object that `--json` prints.
fn object(judged: &[Judged<'_>]) -> Value {
    let count = |ruling: Ruling| judged.iter().filter(|j| j.ruling() == Some(ruling)).count();
    let counts: serde_json::Map<String, Value> = Ruling::ALL
        .iter()
        .map(|&ruling| (ruling.name().to_owned(), json!(count(ruling))))
        .collect();
    let dangerous = judged.iter().filter(|judged| judged.is_dangerous()).count();
    let claims: Vec<Value> = judged.iter().map(claim_view).collect();
    json!({ "counts": counts, "dangerous": dangerous, "claims": claims })
}

fn claim_view(judged: &Judged<'_>) -> Value {
    let claim = judged.claim;
    let all = |outcomes: &[Outcome<'_>]| {
        outcomes.iter().map(|one| outcome_view(claim.number, one)).collect::<Vec<_>>()
    };
    json!({
        "number": claim.number, "source": judged.source.name, "section": claim.section,
        "says": claim.says, "quantifier": claim.quantifier, "ruling": judged.ruling(),
        "cause": claim.cause, "steps": judged.steps(), "dangerous": claim.dangerous,
        "agrees": judged.agrees(), "flaws": judged.flaws(), "why": claim.why,
        "only_if": judged.ruled().map(|(_, left)| words(&left)).filter(|left| !left.is_empty()),
        "waits_for": claim.waits_for, "no_cure": claim.no_cure,
        "leaves_open": claim.leaves_open, "left_out": left_out(judged),
        "checks": all(&judged.checks), "besides": all(&judged.besides),
        "cures": all(&judged.cures),
    })
}

/// What no run has that decides the claim, and why.
fn left_out(judged: &Judged<'_>) -> Vec<Value> {
    let one = |left: &LeftOut| {
        let of: Vec<&str> = left.of.iter().map(|departure| departure.words().0).collect();
        json!({ "of": of, "why": left.why })
    };
    judged.claim.left_out.iter().map(one).collect()
}

fn words(assumptions: &[Assumption]) -> Vec<String> {
    assumptions.iter().map(ToString::to_string).collect()
}

/// Where a run stands, and without which assumptions.
fn standing_view(standing: &Standing) -> Value {
    match standing {
        Standing::Inside => json!({ "where": "inside" }),
        Standing::Silent(left) => json!({ "where": "silent", "without": words(left) }),
        Standing::Outside(left) => json!({ "where": "outside", "without": words(left) }),
    }
}

fn outcome_view(number: u16, outcome: &Outcome<'_>) -> Value {
    let ran: Vec<Value> = outcome
        .ran
        .iter()
        .map(|ran| {
            let point: serde_json::Map<String, Value> =
                ran.point.0.iter().map(|&(name, value)| (name.to_owned(), json!(value))).collect();
            let steps = ran.trace.as_ref().map(|trace| &trace.steps);
            let without = ran.scenario.map(|scenario| scenario.missing.words());
            json!({ "at": point, "without": without, "found": ran.finding, "steps": steps })
        })
        .collect();
    json!({
        "shows": outcome.check.shows, "demands": outcome.check.demands.to_string(),
        "standing": standing_view(&outcome.standing),
        "this_link": outcome.check.this_link, "this_size": outcome.check.this_size,
        "met": outcome.met, "as_expected": outcome.expected, "runs": ran,
        "commands": commands(number, outcome),
    })
}

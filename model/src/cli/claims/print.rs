//! What `claims` prints for people.

use super::{ClaimsArgs, command};
use crate::claims::{
    Ask, Assumption, Expectation, Judged, Outcome, PRINTED, Printed, Ruling, Standing, Word,
};
use crate::cli::table::{Cell, Table};
use crate::cli::{called, shown, text};
use anstyle::{AnsiColor, Style};
use std::io::{self, Write};

const BOLD: Style = Style::new().bold();
const WRONG: Style = AnsiColor::Red.on_default().bold();

/// A table, or with numbers or `--show` each claim in full; then how many there are of each kind,
/// and what does not come out as the ledger says.
pub(super) fn all(
    out: &mut impl Write,
    args: &ClaimsArgs,
    judged: &[Judged<'_>],
) -> io::Result<()> {
    let full = args.show || !args.numbers.is_empty();
    if full {
        for one in judged {
            claim(out, args, one)?;
        }
    } else {
        writeln!(out, "{}\n", table(judged).print(args.ascii))?;
    }
    writeln!(out, "{}", text::wrap(&summary(judged), text::width()))?;
    for one in judged.iter().filter(|one| one.agrees() != Some(true)) {
        writeln!(out, "\n{WRONG}Claim {} does not agree.{WRONG:#}", one.claim.number)?;
        if !full {
            claim(out, args, one)?;
        }
        write!(out, "{}", text::wrap(&difference(one), text::width()))?;
    }
    Ok(())
}

/// How many claims of each kind there are.
pub(super) fn summary(judged: &[Judged<'_>]) -> String {
    let count = |ruling| judged.iter().filter(|one| one.ruling() == Some(ruling)).count();
    let some = Ruling::ALL.into_iter().filter(|&ruling| count(ruling) > 0);
    let some: Vec<String> = some.map(|ruling| format!("{} {ruling}", count(ruling))).collect();
    let s = if judged.len() == 1 { "" } else { "s" };
    format!("{} claim{s}: {}.", judged.len(), some.join(", "))
}

fn table(judged: &[Judged<'_>]) -> Table {
    let mut table = Table::new(["no.", "source", "verdict", "the claim"]);
    for one in judged {
        table.row([
            Cell::new(one.claim.number),
            Cell::new(&one.source.name),
            verdict(one),
            Cell::new(&one.claim.says),
        ]);
    }
    table
}

fn verdict(judged: &Judged<'_>) -> Cell {
    let cell = Cell::new(judged.words());
    match judged.ruling() {
        Some(Ruling::Confirmed) => cell.in_colour(AnsiColor::Green),
        Some(Ruling::Refuted) => cell.in_colour(AnsiColor::Red),
        None | Some(Ruling::OnlyIf) => cell.in_colour(AnsiColor::Yellow),
        Some(Ruling::Pending | Ruling::Elsewhere | Ruling::Undecidable) => cell,
    }
}

/// What the texts print, which file holds it, and what it does wrong.
pub(super) fn programs(out: &mut impl Write) -> io::Result<()> {
    for Printed { source, what, file, claims, .. } in PRINTED {
        writeln!(out, "{BOLD}{what}{BOLD:#} ({source})")?;
        writeln!(out, "    {file}")?;
        if !claims.is_empty() {
            let claims: Vec<String> = claims.iter().map(ToString::to_string).collect();
            writeln!(out, "    claims {}", claims.join(", "))?;
        }
    }
    for printed in PRINTED {
        let Some(program) = printed.shown_by() else { continue };
        writeln!(out, "\n{BOLD}{}{BOLD:#} ({}): {}", printed.what, printed.source, program.name)?;
        for line in (program.run)().story {
            writeln!(out, "{}", text::wrap(&format!("    {line}"), text::width()))?;
        }
    }
    Ok(())
}

/// The claim, its verdict, and what each check found.
fn claim(out: &mut impl Write, args: &ClaimsArgs, judged: &Judged<'_>) -> io::Result<()> {
    let claim = judged.claim;
    let width = text::width();
    let head = format!("{BOLD}{}.{BOLD:#} {}", claim.number, claim.says);
    writeln!(out, "{}", text::wrap(&head, width))?;
    let section = format!("    ({}, {})", judged.source.name, claim.section);
    writeln!(out, "{}", text::wrap(&section, width))?;
    if let Some(quantifier) = quantifier(judged) {
        writeln!(out, "{}", text::wrap(&format!("  {quantifier}"), width))?;
    }
    let why = format!("  {BOLD}{}{BOLD:#}. {}", judged.assuming(), claim.why);
    writeln!(out, "{}", text::wrap(&why, width))?;
    if !claim.waits_for.is_empty() {
        let line = format!("  It waits for: {}.", claim.waits_for.join(", "));
        writeln!(out, "{}", text::wrap(&line, width))?;
    }
    for outcome in &judged.checks {
        check(out, args, claim.number, ("checked", outcome))?;
    }
    for outcome in &judged.besides {
        check(out, args, claim.number, ("beside", outcome))?;
    }
    for outcome in &judged.cures {
        check(out, args, claim.number, ("changed", outcome))?;
    }
    if let Some(no_cure) = &claim.no_cure {
        let line = format!("  no change helps: {no_cure}");
        writeln!(out, "{}", text::wrap(&line, width))?;
    }
    writeln!(out)
}

fn check(
    out: &mut impl Write,
    args: &ClaimsArgs,
    number: u16,
    (what, outcome): (&str, &Outcome<'_>),
) -> io::Result<()> {
    let line = format!("  {what}: {}", outcome.check.shows);
    writeln!(out, "{}", text::wrap(&line, text::width()))?;
    let demands = format!("    demanded: {}; found: {}", outcome.check.demands, outcome.found());
    writeln!(out, "{}", text::wrap(&demands, text::width()))?;
    if let Some(standing) = standing(outcome).filter(|_| what == "checked") {
        writeln!(out, "{}", text::wrap(&format!("    {standing}"), text::width()))?;
    }
    for command in command::of(number, outcome) {
        let command = command.replacen(command::NAME, &called(command::NAME, ""), 1);
        writeln!(out, "    {command}")?;
    }
    if let Ask::Program(program) = outcome.check.ask {
        writeln!(out, "    in {}", program.file)?;
    }
    if !args.show {
        return Ok(());
    }
    if let Some(trace) = outcome.example().and_then(|ran| ran.trace.as_ref()) {
        shown::tell(out, trace, args.ascii)?;
    }
    for line in outcome.ran.iter().flat_map(|ran| &ran.story) {
        writeln!(out, "{}", text::wrap(&format!("      {line}"), text::width()))?;
    }
    Ok(())
}

/// Of how many executions the claim speaks, and what the text assumes there.
pub(super) fn quantifier(judged: &Judged<'_>) -> Option<String> {
    let claim = judged.claim;
    let quantifier = claim.quantifier?;
    let of = judged.source.stance(claim).map(|stance| format!("under [{}]", stance.name));
    let assumes = claim.assumes.iter().map(|assumption| format!("assumes that {assumption}"));
    let admits = claim.admits.iter().map(|departure| format!("admits: {}", departure.words().0));
    let all: Vec<String> = of.into_iter().chain(assumes).chain(admits).collect();
    let all = if all.is_empty() { String::new() } else { format!(" ({})", all.join("; ")) };
    Some(format!("{quantifier}{all}"))
}

/// Why a run does not lie within what the text assumes, if it does not.
pub(super) fn standing(outcome: &Outcome<'_>) -> Option<String> {
    let list =
        |left: &[Assumption]| left.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match &outcome.standing {
        Standing::Inside => None,
        Standing::Silent(left) => Some(format!("The text does not say: {}.", list(left))),
        Standing::Outside(left) => {
            Some(format!("It decides nothing: the text assumes that {}.", list(left)))
        }
    }
}

/// What the ledger says, and what came out instead.
fn difference(judged: &Judged<'_>) -> String {
    let mut lines: String = judged.flaws().iter().map(|flaw| format!("{flaw}\n")).collect();
    for outcome in judged.outcomes().filter(|outcome| outcome.expected != Some(true)) {
        let expected: Vec<String> = outcome.check.finds.iter().map(word).collect();
        let expected = match expected.is_empty() {
            true => outcome.check.demands.to_string(),
            false => expected.join("; "),
        };
        lines += &format!(
            "{}\n  the ledger says: {expected}\n  found: {}\n",
            outcome.check.shows,
            outcome.found()
        );
    }
    lines
}

fn word(expected: &Expectation) -> String {
    match expected {
        Expectation::Count(count) => count.to_string(),
        Expectation::Word(Word::Holds) => "holds".to_owned(),
        Expectation::Word(Word::HoldsWithin) => "holds-within".to_owned(),
        Expectation::Word(Word::Violated) => "violated".to_owned(),
        Expectation::Word(Word::Unbounded) => "unbounded".to_owned(),
    }
}

//! What `claims` prints for people.

use super::{ClaimsArgs, commands, is_wanted};
use crate::claims::{
    Ask, Assumption, Expectation, Judged, Outcome, PRINTED, Printed, Ruling, Standing, Word,
};
use crate::cli::{BOLD, WRONG, again};
use anstyle::{AnsiColor, Style};
use bellwether_model::cli::{shown, text};
use std::io::{self, Write};

/// With numbers or `--show` the claim in full, otherwise its line.
pub(super) fn one(out: &mut impl Write, args: &ClaimsArgs, judged: &Judged<'_>) -> io::Result<()> {
    match is_full(args) {
        true => claim(out, args, judged),
        false => writeln!(out, "{}", text::wrap(&line(judged), text::width())),
    }
}

fn is_full(args: &ClaimsArgs) -> bool {
    args.show || !args.numbers.is_empty()
}

/// How many claims of each kind there are, and what does not come out as the ledger says.
pub(super) fn ending(
    out: &mut impl Write,
    args: &ClaimsArgs,
    judged: &[Judged<'_>],
) -> io::Result<()> {
    let wanted: Vec<&Judged<'_>> = judged.iter().filter(|one| is_wanted(args, one)).collect();
    let space = if is_full(args) { "" } else { "\n" };
    writeln!(out, "{space}{}", text::wrap(&summary(&wanted), text::width()))?;
    for one in judged.iter().filter(|one| one.agrees() != Some(true)) {
        writeln!(out, "\n{WRONG}Claim {} does not agree.{WRONG:#}", one.claim.number)?;
        if !(is_full(args) && is_wanted(args, one)) {
            claim(out, args, one)?;
        }
        write!(out, "{}", text::wrap(&difference(one), text::width()))?;
    }
    Ok(())
}

/// How many claims of each kind there are.
pub(super) fn summary(judged: &[&Judged<'_>]) -> String {
    let count = |ruling| judged.iter().filter(|one| one.ruling() == Some(ruling)).count();
    let some = Ruling::ALL.into_iter().filter(|&ruling| count(ruling) > 0);
    let mut some: Vec<String> = some.map(|ruling| format!("{} {ruling}", count(ruling))).collect();
    let unknown = judged.iter().filter(|one| one.ruling().is_none()).count();
    some.extend((unknown > 0).then(|| format!("{unknown} unknown")));
    let s = if judged.len() == 1 { "" } else { "s" };
    let all = if some.is_empty() { "none".to_owned() } else { some.join(", ") };
    let dangerous = judged.iter().filter(|one| one.is_dangerous()).count();
    match dangerous {
        0 => format!("{} claim{s}: {all}.", judged.len()),
        1 => format!("{} claim{s}: {all}; 1 is true, and dangerous.", judged.len()),
        more => format!("{} claim{s}: {all}; {more} are true, and dangerous.", judged.len()),
    }
}

/// A claim on one line: its verdict, the steps of the execution that decides it, its text and
/// cause, and what it says.
fn line(judged: &Judged<'_>) -> String {
    let claim = judged.claim;
    let style = colour(judged).map_or_else(Style::new, AnsiColor::on_default);
    let cause = claim.cause.map(|cause| format!(", {cause}")).unwrap_or_default();
    format!(
        "{:>3}. {style}{}{style:#} [{}{cause}] {}",
        claim.number,
        verdict(judged),
        judged.source.name,
        claim.says
    )
}

/// The verdict in words, with the steps of the execution that decides it.
pub(super) fn verdict(judged: &Judged<'_>) -> String {
    let steps = match judged.steps() {
        None => String::new(),
        Some(1) => ", 1 step".to_owned(),
        Some(steps) => format!(", {steps} steps"),
    };
    let dangerous = if judged.is_dangerous() { ", and dangerous" } else { "" };
    format!("{}{dangerous}{steps}", judged.words())
}

fn colour(judged: &Judged<'_>) -> Option<AnsiColor> {
    match judged.ruling() {
        Some(Ruling::Confirmed) => Some(AnsiColor::Green),
        Some(Ruling::Refuted) => Some(AnsiColor::Red),
        None | Some(Ruling::OnlyIf) => Some(AnsiColor::Yellow),
        Some(Ruling::Pending | Ruling::Elsewhere | Ruling::Undecidable) => None,
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
    if let (true, Some(dangerous)) = (judged.is_dangerous(), &claim.dangerous) {
        let line = format!("  {BOLD}True, and dangerous{BOLD:#}: {dangerous}");
        writeln!(out, "{}", text::wrap(&line, width))?;
    }
    if let Some(cause) = claim.cause {
        let line = format!("  {cause}: {}", cause.words().1);
        writeln!(out, "{}", text::wrap(&line, width))?;
    }
    if !claim.waits_for.is_empty() {
        let line = format!("  It waits for: {}.", claim.waits_for.join(", "));
        writeln!(out, "{}", text::wrap(&line, width))?;
    }
    for outcome in &judged.checks {
        check(out, args, claim.number, "checked", outcome)?;
    }
    for outcome in &judged.besides {
        check(out, args, claim.number, "beside", outcome)?;
    }
    for outcome in &judged.cures {
        check(out, args, claim.number, "changed", outcome)?;
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
    what: &str,
    outcome: &Outcome<'_>,
) -> io::Result<()> {
    let line = format!("  {what}: {}", outcome.check.shows);
    writeln!(out, "{}", text::wrap(&line, text::width()))?;
    let found = format!("    {}: {}", outcome.check.demands.asks(), outcome.found());
    writeln!(out, "{}", text::wrap(&found, text::width()))?;
    for (what, why) in only(outcome) {
        writeln!(out, "{}", text::wrap(&format!("    only this {what}: {why}"), text::width()))?;
    }
    if let Some(standing) = standing(outcome).filter(|_| what == "checked") {
        writeln!(out, "{}", text::wrap(&format!("    {standing}"), text::width()))?;
    }
    for command in commands(number, outcome) {
        writeln!(out, "    {}", again(&command))?;
    }
    if let Ask::Program(program) = outcome.check.ask {
        writeln!(out, "    in {}", program.file)?;
    }
    if !args.show {
        return Ok(());
    }
    if let Some(trace) = outcome.example().and_then(|ran| ran.trace.as_ref()) {
        shown::tell(out, trace)?;
    }
    for line in outcome.ran.iter().flat_map(|ran| &ran.story) {
        writeln!(out, "{}", text::wrap(&format!("      {line}"), text::width()))?;
    }
    Ok(())
}

/// Why a check is of one link, or of so many processes, if it says that.
pub(super) fn only<'a>(
    outcome: &'a Outcome<'_>,
) -> impl Iterator<Item = (&'static str, &'a String)> {
    let link = outcome.check.this_link.iter().map(|why| ("link", why));
    link.chain(outcome.check.this_size.iter().map(|why| ("size", why)))
}

/// Of how many executions the claim speaks, and what the text assumes there.
pub(super) fn quantifier(judged: &Judged<'_>) -> Option<String> {
    let claim = judged.claim;
    let quantifier = claim.quantifier?;
    let of = claim.of.as_ref().map(|of| format!("under [{of}]"));
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
            "{}\n  the ledger says: {expected}\n  came out: {}\n",
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

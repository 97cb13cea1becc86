//! The pages of `docs/claims`: what one text says, with every run, and what comes out with one
//! process more.

use super::{ClaimsArgs, commands, print};
use crate::claims::{
    Ask, Check, Claim, Judged, Larger, LeftOut, Outcome, PRINTED, Printed, Runner, Source, Stance,
};

use anyhow::anyhow;
use bellwether_model::check::Limits;
use bellwether_model::cli::{Exit, HOLDS, UNKNOWN, VIOLATED, stopped};
use std::fmt::Write as _;
use std::io::Write as _;

/// The width of the page's lines; tables and a single long word may be wider.
const WIDTH: usize = 100;

/// The page of all texts.
pub(super) const OVERVIEW: &str = "overview";

/// The page of what comes out with one process more.
pub(super) const LARGER: &str = "larger";

/// Whether this page is of all texts.
pub(super) fn is_of_all(page: &str) -> bool {
    page == OVERVIEW || page == LARGER
}

pub(super) fn of(judged: &[Judged<'_>]) -> String {
    let Some(source) = judged.first().map(|one| one.source) else { return String::new() };
    let name = &source.name;
    let head = format!(
        "[All texts](../claims.md), with the meaning of the words. \
         `bellwether-literature claims --markdown {name} > docs/claims/{name}.md` prints this page."
    );
    let title = wrapped("", &source.title);
    let counts = wrapped("", &print::summary(&judged.iter().collect::<Vec<_>>()));
    let head = wrapped("", &head);
    let mut page = format!("# The literature, checked: {name}\n\n{title}\n{head}\n{counts}");
    for (name, stance) in &source.stances {
        page.push('\n');
        page.push_str(&wrapped("", &assumptions(name, stance)));
    }
    for one in judged {
        claim(&mut page, one);
    }
    programs(&mut page, name);
    page
}

const PROGRAMS: &str = "\
## Printed programs

Each model or function below is translated from the page's program, pseudocode or numbered steps,
with its mistakes, and runs. The file holds it; below is what it does wrong. A name in brackets is a
variant of a protocol, whose claims show it. `bellwether-literature claims --programs` prints this
of all texts.
";

/// What the text prints, which file holds it, and what it does wrong.
fn programs(page: &mut String, text: &str) {
    let printed: Vec<&Printed> = PRINTED.iter().filter(|one| one.source == text).collect();
    if printed.is_empty() {
        return;
    }
    let _ = write!(page, "\n{PROGRAMS}\n| printed | file | claims |\n|---|---|---|\n");
    for Printed { what, file, claims, .. } in &printed {
        let claims: Vec<String> =
            claims.iter().map(|number| format!("[{number}](#claim-{number})")).collect();
        let _ = writeln!(page, "| {what} | `{file}` | {} |", claims.join(", "));
    }
    for printed in printed {
        let Some(program) = printed.shown_by() else { continue };
        let head = format!("{}, `{}`:", printed.what, program.name);
        let _ = write!(page, "\n{}\n```text\n", wrapped("", &head));
        for line in (program.run)().story {
            let _ = writeln!(page, "{line}");
        }
        page.push_str("```\n");
    }
}

/// What a text, or a part of it, assumes.
fn assumptions(name: &str, stance: &Stance) -> String {
    let assumes: Vec<String> = stance.assumes.iter().map(ToString::to_string).collect();
    let admits: Vec<&str> = stance.admits.iter().map(|departure| departure.words().0).collect();
    let list = |what: &str, all: String| match all.is_empty() {
        true => String::new(),
        false => format!(" {what}: {all}."),
    };
    format!(
        "**[{name}]** {}{}{}",
        stance.says,
        list("Assumed", assumes.join("; ")),
        list("May happen", admits.join(", "))
    )
}

fn claim(page: &mut String, judged: &Judged<'_>) {
    let claim = judged.claim;
    let _ = writeln!(page, "\n## Claim {}\n", claim.number);
    let _ = writeln!(page, "{}", wrapped("> ", &claim.says));
    let ruling = capital(&judged.assuming());
    let quantifier = print::quantifier(judged).map(|q| format!(" *{}.*", capital(&q)));
    let quantifier = quantifier.unwrap_or_default();
    let verdict = format!("*{}.*{quantifier} **{ruling}.** {}", claim.section, claim.why);
    page.push_str(&wrapped("", &verdict));
    if let (true, Some(dangerous)) = (judged.is_dangerous(), &claim.dangerous) {
        page.push_str(&wrapped("", &format!("**True, and dangerous**: {dangerous}")));
    }
    if let Some(cause) = claim.cause {
        let line = format!("It hangs on [{cause}](../claims.md#{cause}).");
        page.push_str(&wrapped("", &line));
    }
    if !claim.waits_for.is_empty() {
        let waits = format!("It waits for: {}.", claim.waits_for.join(", "));
        page.push_str(&wrapped("", &waits));
    }
    if judged.outcomes().next().is_some() || claim.no_cure.is_some() {
        page.push('\n');
    }
    for outcome in &judged.checks {
        check(page, claim.number, "", outcome);
    }
    for outcome in &judged.besides {
        check(page, claim.number, "*Beside*: ", outcome);
    }
    for outcome in &judged.cures {
        check(page, claim.number, "*Changed*: ", outcome);
    }
    if let Some(no_cure) = &claim.no_cure {
        page.push_str(&wrapped("- ", &format!("*No change helps*: {no_cure}.")));
    }
    for (rule, says) in &claim.leaves_open {
        page.push_str(&wrapped("- ", &format!("*The text leaves open* `{rule}`: {says}.")));
    }
    for LeftOut { of, why } in &claim.left_out {
        let of: Vec<&str> = of.iter().map(|departure| departure.words().0).collect();
        let together = if of.len() > 1 { ", two of them together" } else { "" };
        let line = format!("*In no run*: {}{together}: {why}.", of.join(", "));
        page.push_str(&wrapped("- ", &line));
    }
}

fn check(page: &mut String, number: u16, what: &str, outcome: &Outcome<'_>) {
    let shows = &outcome.check.shows;
    let asks = capital(&outcome.check.demands.asks());
    let found = outcome.found();
    let shows = shows.trim_end_matches('.');
    let standing = print::standing(outcome).filter(|_| what.is_empty());
    let standing = standing.map(|words| format!(" {words}")).unwrap_or_default();
    let only = print::only(outcome).map(|(what, why)| format!(" Only this {what}: {why}."));
    let only: String = only.collect();
    let line = format!("{what}{shows}. {asks}: **{found}**.{standing}{only}");
    page.push_str(&wrapped("- ", &line));
    for command in commands(number, outcome) {
        page.push_str(&wrapped("  ", &format!("`{command}`")));
    }
    if let Ask::Program(program) = outcome.check.ask {
        page.push_str(&wrapped("  ", &format!("in `{}`", program.file)));
    }
}

pub(in crate::cli) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// States of a world with one process more, if no other limit is given: one that needs more is not
/// decided here.
const LARGER_STATES: u64 = 150_000;

const LARGER_HEAD: &str = "\
# The literature, checked: one process more

A claim that is confirmed holds for as many processes as its runs have. Here each check that decides
it is run again with one more. *stopped* says that the search was cut short: then nothing is
claimed. A line that is *not met* refutes its claim, and a test fails. So it does where two faults
happen in a check, and the search with one process more ends: then the ledger has to run that.
";

/// Prints the page of all checks that confirm a claim, with one process more, and says in the
/// status whether a claim is false there.
pub(super) fn larger(
    args: &ClaimsArgs,
    runner: &Runner,
    chosen: &[(&Source, &Claim)],
) -> anyhow::Result<Exit> {
    let states = args.limits.limits().states.unwrap_or(LARGER_STATES);
    let runner = Runner { limits: Limits { states: Some(states), ..runner.limits }, ..*runner };
    let mut out = anstream::stdout();
    let command = format!("bellwether-literature claims --markdown larger --max-states {states}");
    let head = format!("`{command} > docs/claims/larger.md` prints this page.");
    let table = "| claim | check | n | found | |\n|---|---|---|---|---|";
    let mut told = writeln!(out, "{LARGER_HEAD}\n{}\n{table}", wrapped("", &head));
    let bar = args.progress.steps(chosen.len(), false);
    let mut status = HOLDS;
    for &(source, claim) in chosen {
        let number = claim.number;
        let wrong = |wrong: String| anyhow!("claim {number}: {wrong}");
        let checks = claim.confirming(source).map_err(wrong)?;
        for (check, larger) in runner.all_larger(&checks).map_err(wrong)? {
            let is = remark(&larger, states);
            status = if is.is_empty() { status } else { VIOLATED };
            let row = larger_row(source, claim, check, &larger, is);
            told = told.and_then(|()| bar.suspend(|| writeln!(out, "{row}")));
        }
        bar.step(&format!("claim {number}"));
    }
    bar.finish();
    // That its own limit stops a search is a line of the page.
    let interrupted = status == HOLDS && stopped().is_due();
    Ok(Exit::with(if interrupted { UNKNOWN } else { status }).note_printed(told))
}

/// What is wrong with it, in a few words; nothing if nothing is. The ledger runs what ends within
/// so many states, and need not run what a higher limit lets end.
fn remark(larger: &Larger, states: u64) -> &'static str {
    match larger.met {
        Some(false) => "**not met**",
        _ if larger.pair_is_feasible && states <= LARGER_STATES => "**two faults: to be run**",
        _ => "",
    }
}

fn larger_row(source: &Source, claim: &Claim, check: &Check, larger: &Larger, is: &str) -> String {
    let (number, name) = (claim.number, &source.name);
    let cell = |text: &str| text.replace('|', "\\|");
    let found = match larger.met {
        None if larger.ran.is_ok() => "stopped".to_owned(),
        _ => cell(&larger.found(&check.demands)),
    };
    format!(
        "| [{number}]({name}.md#claim-{number}) | {} | {} | {found} | {is} |",
        cell(&check.shows),
        larger.nodes
    )
}

/// The text in lines of at most [`WIDTH`] columns. The first begins with `lead`. So do the others
/// if it quotes; if it begins an item of a list, they begin below the text of the item.
pub(in crate::cli) fn wrapped(lead: &str, text: &str) -> String {
    let hang = lead.replace('-', " ");
    let mut page = String::new();
    let mut line = lead.to_owned();
    for chunk in chunks(text) {
        let wide = line.chars().count() + chunk.chars().count();
        if wide > WIDTH && line.len() > lead.len() {
            let _ = writeln!(page, "{}", line.trim_end());
            line.clone_from(&hang);
        }
        line.push_str(&chunk);
        line.push(' ');
    }
    let _ = writeln!(page, "{}", line.trim_end());
    page
}

/// The words, each with those behind it that would mean something else at the start of a line. The
/// value of a flag stays beside it.
fn chunks(text: &str) -> Vec<String> {
    let mut chunks: Vec<String> = Vec::new();
    for word in text.split(' ') {
        match chunks.last_mut() {
            Some(last) if opens_a_block(word) || is_value(last, word) => {
                last.push(' ');
                last.push_str(word);
            }
            _ => chunks.push(word.to_owned()),
        }
    }
    chunks
}

/// Whether the word is the value of the flag before it.
fn is_value(before: &str, word: &str) -> bool {
    before.starts_with("--") && !before.contains(' ') && !word.starts_with("--")
}

/// Whether Markdown takes a line that begins with the word for a list, a heading or a quotation.
fn opens_a_block(word: &str) -> bool {
    let number = word.trim_start_matches(|c: char| c.is_ascii_digit());
    let numbered = number.len() < word.len() && matches!(number, "." | ")");
    numbered || matches!(word, "-" | "+" | "*" | "=") || word.starts_with(['#', '>'])
}

#[cfg(test)]
mod tests {
    use super::wrapped;

    #[test]
    fn lines_are_broken_before_the_width_and_never_begin_a_list() {
        let (x, y) = ("x".repeat(94), "y".repeat(95));
        let page = wrapped("- ", &format!("{x} 2^n - 1 {y}"));
        assert_eq!(page, format!("- {x}\n  2^n - 1\n  {y}\n"));
        let quoted = wrapped("> ", &"word ".repeat(30));
        assert!(quoted.lines().all(|line| line.starts_with("> word") && line.len() <= 100));
    }
}

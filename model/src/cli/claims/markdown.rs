//! The page `docs/claims.md`.

use super::{command, print};
use crate::claims::{Ask, Judged, LeftOut, Outcome, PRINTED, Printed, Ruling, Stance};
use std::fmt::Write;

/// The width of the page's lines; tables and a single long word may be wider.
const WIDTH: usize = 100;

const HEAD: &str = "\
# The literature, checked

This page is for readers of textbooks and papers, and for people who teach from them. It lists what
five texts on leader election say, and what the checker finds. Each claim is a paraphrase, with the
section of the text that it is from, and of how many executions it speaks. Each text, or part of
one, comes with what it assumes. From these and from the runs the verdict is computed; none is
written by hand. [model.md](model.md#the-ledger-of-claims) has the rule.

`bellwether-model claims --markdown > docs/claims.md` prints this page, and a test fails when it is
out of date. In a clone, `cargo run --release --` stands for `bellwether-model`.

- **confirmed**: it holds in every world below that the text's assumptions admit.
- **refuted**: it fails in one of them. *Changed* names a change under which it holds, and runs it.
- **holds only if**: it fails in a world of which the text is silent, and has no word such as
  *always*. The assumption that makes the difference is named.
- **not decided yet**: a protocol or a part of the model is missing.
- **decided elsewhere**: another part of the project decides it.
- **not for a machine**: no run can decide it.

A run without an assumption that the text states decides nothing, and says so. *Beside* marks runs
that show what the reason speaks of, and decide nothing either.

`holds` is proved for the world that the command names, and for no larger one. Where executions
exceed the bounds of the search, it says within which: beyond is not claimed. `violated` is shown by
an execution.
";

/// The whole page.
pub(super) fn of(judged: &[Judged<'_>]) -> String {
    let mut page = format!("{HEAD}\n{}\n", wrapped("", &print::summary(judged)));
    overview(&mut page, judged);
    let mut names: Vec<&str> = Vec::new();
    for one in judged {
        if !names.contains(&one.source.name.as_str()) {
            names.push(&one.source.name);
        }
    }
    for name in names {
        let of_this = || judged.iter().filter(|one| one.source.name == name);
        let title = of_this().next().map_or("", |one| one.source.title.as_str());
        let _ = write!(page, "\n## {name}\n\n{}", wrapped("", title));
        for stance in of_this().next().into_iter().flat_map(|one| &one.source.stances) {
            page.push('\n');
            page.push_str(&wrapped("", &assumptions(stance)));
        }
        for one in of_this() {
            claim(&mut page, one);
        }
    }
    programs(&mut page);
    page
}

const PROGRAMS: &str = "\
## Printed programs

What the texts print as a program, as pseudocode or as numbered steps runs as it is printed, with
its mistakes. The file holds it; below is what it does wrong. A name in brackets is a variant of a
protocol, whose claims show it. `bellwether-model claims --programs` prints this list.
";

/// What the texts print, which file holds it, and what it does wrong.
fn programs(page: &mut String) {
    let _ = write!(page, "\n{PROGRAMS}\n| text | printed | file | claims |\n|---|---|---|---|\n");
    for Printed { source, what, file, claims, .. } in PRINTED {
        let claims: Vec<String> =
            claims.iter().map(|number| format!("[{number}](#claim-{number})")).collect();
        let _ = writeln!(page, "| {source} | {what} | `{file}` | {} |", claims.join(", "));
    }
    for printed in PRINTED {
        let Some(program) = printed.shown_by() else { continue };
        let head = format!("{} ({}), `{}`:", printed.what, printed.source, program.name);
        let _ = write!(page, "\n{}\n```text\n", wrapped("", &head));
        for line in (program.run)().story {
            let _ = writeln!(page, "{line}");
        }
        page.push_str("```\n");
    }
}

/// How many claims of each text have which verdict.
fn overview(page: &mut String, judged: &[Judged<'_>]) {
    let mut rows: Vec<(&str, [usize; Ruling::ALL.len()])> = Vec::new();
    for one in judged {
        let name = one.source.name.as_str();
        let at = rows.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            rows.push((name, [0; Ruling::ALL.len()]));
            rows.len() - 1
        });
        let ruling = Ruling::ALL.iter().position(|&ruling| one.ruling() == Some(ruling));
        if let Some(ruling) = ruling {
            rows[at].1[ruling] += 1;
        }
    }
    let header: Vec<String> = Ruling::ALL.iter().map(ToString::to_string).collect();
    let _ = writeln!(page, "| text | {} |", header.join(" | "));
    let _ = writeln!(page, "|---|{}", "---|".repeat(header.len()));
    for (name, counts) in rows {
        let counts = counts.map(|count| count.to_string());
        let _ = writeln!(page, "| [{name}](#{name}) | {} |", counts.join(" | "));
    }
}

/// What a text, or a part of it, assumes.
fn assumptions(stance: &Stance) -> String {
    let assumes: Vec<String> = stance.assumes.iter().map(ToString::to_string).collect();
    let admits: Vec<&str> = stance.admits.iter().map(|departure| departure.words().0).collect();
    let list = |what: &str, all: String| match all.is_empty() {
        true => String::new(),
        false => format!(" {what}: {all}."),
    };
    format!(
        "**[{}]** {}{}{}",
        stance.name,
        stance.says,
        list("Assumed", assumes.join("; ")),
        list("May happen", admits.join(", "))
    )
}

fn claim(page: &mut String, judged: &Judged<'_>) {
    let claim = judged.claim;
    let _ = writeln!(page, "\n### Claim {}\n", claim.number);
    let _ = writeln!(page, "{}", wrapped("> ", &claim.says));
    let ruling = capital(&judged.assuming());
    let quantifier = print::quantifier(judged).map(|q| format!(" *{}.*", capital(&q)));
    let quantifier = quantifier.unwrap_or_default();
    let verdict = format!("*{}.*{quantifier} **{ruling}.** {}", claim.section, claim.why);
    page.push_str(&wrapped("", &verdict));
    if !claim.waits_for.is_empty() {
        let waits = format!("It waits for: {}.", claim.waits_for.join(", "));
        page.push_str(&wrapped("", &waits));
    }
    if judged.outcomes().next().is_some() || claim.no_cure.is_some() {
        page.push('\n');
    }
    for outcome in &judged.checks {
        check(page, claim.number, ("", outcome));
    }
    for outcome in &judged.besides {
        check(page, claim.number, ("*Beside*: ", outcome));
    }
    for outcome in &judged.cures {
        check(page, claim.number, ("*Changed*: ", outcome));
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

fn check(page: &mut String, number: u16, (what, outcome): (&str, &Outcome<'_>)) {
    let shows = &outcome.check.shows;
    let demands = &outcome.check.demands;
    let found = outcome.found();
    let shows = shows.trim_end_matches('.');
    let standing = print::standing(outcome).filter(|_| what.is_empty());
    let standing = standing.map(|words| format!(" {words}")).unwrap_or_default();
    let line = format!("{what}{shows}. Demanded: {demands}; found: **{found}**.{standing}");
    page.push_str(&wrapped("- ", &line));
    for command in command::of(number, outcome) {
        page.push_str(&wrapped("  ", &format!("`{command}`")));
    }
    if let Ask::Program(program) = outcome.check.ask {
        page.push_str(&wrapped("  ", &format!("in `{}`", program.file)));
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
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

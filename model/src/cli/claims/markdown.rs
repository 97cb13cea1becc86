//! The page `docs/claims.md`.

use super::{command, print};
use crate::claims::{Judged, Outcome, Ruling};
use std::fmt::Write;

const HEAD: &str = "\
# The literature, held to its word

What five texts on leader election say, and what the checker finds. Each claim is told in our own
words, with the section of the text in which it stands. A verdict is what comes out of the runs
below it; nothing is ruled by hand. How the ledger works is told in
[model.md](model.md#the-ledger-of-claims).

This page is made by `bellwether-model claims --markdown > docs/claims.md`, and a test fails when it
is old. From a clone, `cargo run --release --` stands for `bellwether-model`.

- **confirmed**: every run finds what the claim demands.
- **refuted**: no run does. *Changed* names the smallest change of a rule or an assumption under
  which the claim holds, and runs it.
- **holds only if**: some runs do; the assumption that makes the difference is named.
- **not decided yet**: a protocol or a part of the model is missing.
- **decided elsewhere**: another part of the project is in charge.
- **not for a machine**: no run of anything decides it.

`holds` is proved for the world that the command names, and for no larger one; `violated` is shown
by an execution.
";

/// The whole page.
pub(super) fn of(judged: &[Judged<'_>]) -> String {
    let mut page = format!("{HEAD}\n{}\n\n", print::summary(judged));
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
        let _ = writeln!(page, "\n## {name}\n\n{title}");
        for one in of_this() {
            claim(&mut page, one);
        }
    }
    page
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

fn claim(page: &mut String, judged: &Judged<'_>) {
    let claim = judged.claim;
    let _ = writeln!(page, "\n### {}. {}\n", claim.number, claim.says);
    let ruling = match (judged.ruling(), &claim.only_if) {
        (None, _) => "Unknown".to_owned(),
        (Some(Ruling::OnlyIf), Some(only_if)) => format!("Holds only if {only_if}"),
        (Some(ruling), _) => capital(&ruling.to_string()),
    };
    let _ = writeln!(page, "*{}.* **{ruling}.** {}", claim.section, claim.why);
    if !claim.waits_for.is_empty() {
        let _ = writeln!(page, "It waits for: {}.", claim.waits_for.join(", "));
    }
    if !judged.checks.is_empty() || !judged.cures.is_empty() || claim.no_cure.is_some() {
        page.push('\n');
    }
    for outcome in &judged.checks {
        check(page, claim.number, ("", outcome));
    }
    for outcome in &judged.cures {
        check(page, claim.number, ("*Changed*: ", outcome));
    }
    if let Some(no_cure) = &claim.no_cure {
        let _ = writeln!(page, "- *No change helps*: {no_cure}");
    }
}

fn check(page: &mut String, number: u16, (what, outcome): (&str, &Outcome<'_>)) {
    let shows = &outcome.check.shows;
    let demands = &outcome.check.demands;
    let found = outcome.found();
    let shows = shows.trim_end_matches('.');
    let _ = writeln!(page, "- {what}{shows}. Demanded: {demands}; found: **{found}**.");
    for command in command::of(number, outcome) {
        let _ = writeln!(page, "  `{command}`");
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

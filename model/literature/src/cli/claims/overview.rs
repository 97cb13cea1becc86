//! The page `docs/claims.md`: what all texts say, on one page.

use super::markdown::wrapped;
use super::print;
use crate::claims::{Cause, Judged, Quantifier, Ruling};
use std::fmt::Write;

const HEAD: &str = "\
# The literature, checked

This page is for readers of textbooks and papers, and for people who teach from them. Five texts on
leader election are checked, claim by claim. A claim is a paraphrase. It says of how many executions
it speaks, and its text says what it assumes. From these and from the runs the verdict is computed;
none is written by hand. [model.md](model.md#the-ledger-of-claims) has the rule. Each text has a
page of its own, with every run and the command that runs it again.

`bellwether-literature claims --markdown > docs/claims.md` prints this page, and a test fails when
it is out of date. In a clone, `cargo run --release --` stands for `bellwether-model`, and with `-p
bellwether-literature` for that. `bellwether-literature claims --verdict refuted --cause time-out`
lists some of the claims, and `claims 59 --show` draws the execution behind one.

- **confirmed**: it holds in every world that is run and that the text's assumptions admit; of what
  *can happen*, in one.
- **refuted**: it fails in one of them. A change under which it holds is named, and run; or it is
  said why nothing helps.
- **holds only if**: it fails in a world of which the text is silent, and has no word such as
  *always*. The assumption that makes the difference is named.
- **true, and dangerous**: it is confirmed, and who relies on it is worse off.
- **not decided yet**: a protocol or a part of the model is missing.
- **decided elsewhere**: another part of the project decides it.
- **not for a machine**: no run can decide it.

On the page of a text each claim begins with its section, with how many executions it speaks of
(*plain*: it has no word such as *always*), and with what its text assumes and admits. A run without
an assumption that the text states decides nothing, and says so. *Beside* marks runs that show what
the reason speaks of, and decide nothing either; *changed* marks the change that helps. A message is
on its way for at most Tm [ticks](model.md#timed-worlds), and an answer leaves after at most Tp. An
election is *calm* if all that is sent is delivered before anything expires.

`holds` is proved for the world that the command names, and for no larger one; what comes out with
[one process more](claims/larger.md) is on a page of its own. Where executions exceed the bounds of
the search, it says within which: beyond is not claimed. `violated` is shown by an execution.
*Steps* is the length of the shortest that decides.
";

const BEST: &str = "\
## What each text gets right, and wrong

Right: up to three claims that are confirmed, first those on whose cause most claims of other texts
fail. These stand beside it, with the shortest execution that refutes one of them; they need not say
the opposite. Wrong: up to five claims that are refuted, first what is said of all executions, and
first what the shortest execution refutes. In both lists each cause stands once before one stands
twice.
";

const CAUSES: &str = "\
## Root causes

Most verdicts hang on a few causes. Each is followed by the claims that hang on it.
";

const INDEX: &str = "\
## Index

Every claim on one line. Behind a refuted one is the change under which it holds.
";

pub(super) fn of(judged: &[Judged<'_>]) -> String {
    let all: Vec<&Judged<'_>> = judged.iter().collect();
    let mut page = format!("{HEAD}\n{}\n", wrapped("", &print::summary(&all)));
    counts(&mut page, &all);
    let _ = write!(page, "\n{BEST}");
    for name in texts(&all) {
        best_and_worst(&mut page, name, &all);
    }
    let _ = write!(page, "\n{CAUSES}");
    for cause in Cause::ALL {
        claims_of(&mut page, cause, &all);
    }
    let _ = write!(page, "\n{INDEX}\n| claim | it says | verdict | cause | steps |\n");
    page.push_str("|---|---|---|---|---|\n");
    for one in all {
        index(&mut page, one);
    }
    page
}

/// The texts, in their order.
fn texts<'a>(judged: &[&'a Judged<'_>]) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for one in judged {
        if !names.contains(&one.source.name.as_str()) {
            names.push(&one.source.name);
        }
    }
    names
}

/// How many claims of each text have which verdict.
fn counts(page: &mut String, judged: &[&Judged<'_>]) {
    let header: Vec<String> = Ruling::ALL.iter().map(ToString::to_string).collect();
    let _ = writeln!(page, "| text | {} | true, and dangerous |", header.join(" | "));
    let _ = writeln!(page, "|---|---|{}", "---|".repeat(header.len()));
    for name in texts(judged) {
        let ours = || judged.iter().filter(|one| one.source.name == name);
        let count = |ruling| ours().filter(|one| one.ruling() == Some(ruling)).count();
        let counts: Vec<String> = Ruling::ALL.iter().map(|&r| count(r).to_string()).collect();
        let dangerous = ours().filter(|one| one.is_dangerous()).count();
        let counts = counts.join(" | ");
        let _ = writeln!(page, "| [{name}](claims/{name}.md) | {counts} | {dangerous} |");
    }
}

fn link(judged: &Judged<'_>) -> String {
    let (number, name) = (judged.claim.number, &judged.source.name);
    format!("[{number}](claims/{name}.md#claim-{number})")
}

fn links(judged: &[&Judged<'_>]) -> String {
    judged.iter().map(|one| link(one)).collect::<Vec<_>>().join(", ")
}

/// The steps of the execution that decides a claim; nothing if none does.
fn steps(judged: &Judged<'_>) -> String {
    judged.steps().map(|steps| steps.to_string()).unwrap_or_default()
}

/// The first of these that are so many, no two with one cause as long as there are others.
fn spread<'a, 'j>(ranked: &[&'a Judged<'j>], many: usize) -> Vec<&'a Judged<'j>> {
    let mut chosen: Vec<&Judged<'_>> = Vec::new();
    let mut left: Vec<&Judged<'_>> = Vec::new();
    for &one in ranked {
        let known = chosen.iter().any(|other| other.claim.cause == one.claim.cause);
        if known { left.push(one) } else { chosen.push(one) }
    }
    chosen.extend(left);
    chosen.truncate(many);
    chosen
}

/// The claims of other texts that are refuted, and hang on the same cause.
fn others_fail<'a, 'j>(one: &Judged<'_>, all: &[&'a Judged<'j>]) -> Vec<&'a Judged<'j>> {
    let fails = |other: &&&Judged<'_>| {
        other.source.name != one.source.name
            && other.claim.cause == one.claim.cause
            && other.ruling() == Some(Ruling::Refuted)
    };
    all.iter().filter(fails).copied().collect()
}

/// How many claims of others are named beside one.
const FEW: usize = 3;

/// What a text gets right where others fail, and what it gets wrong.
fn best_and_worst(page: &mut String, name: &str, all: &[&Judged<'_>]) {
    let ours = |ruling| {
        let of = move |one: &&&Judged<'_>| {
            one.source.name == name && one.ruling() == Some(ruling) && !one.is_dangerous()
        };
        all.iter().filter(of).copied().collect::<Vec<_>>()
    };
    let mut right = ours(Ruling::Confirmed);
    right.sort_by_key(|one| (usize::MAX - others_fail(one, all).len(), one.claim.number));
    let mut wrong = ours(Ruling::Refuted);
    wrong.sort_by_key(|one| {
        let of_all = [Quantifier::Always, Quantifier::WorstCase].map(Some);
        let steps = one.steps().unwrap_or(usize::MAX);
        (steps == usize::MAX, !of_all.contains(&one.claim.quantifier), steps, one.claim.number)
    });
    let _ = writeln!(page, "\n### {name}\n\n| right | it says | where others fail | their steps |");
    page.push_str("|---|---|---|---|\n");
    for one in spread(&right, 3) {
        let others = others_fail(one, all);
        let steps = others.iter().filter_map(|other| other.steps()).min();
        let steps = steps.map(|steps| steps.to_string()).unwrap_or_default();
        let says = cell(&one.claim.says);
        let more = match others.len().saturating_sub(FEW) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let others = links(&others[..others.len().min(FEW)]) + &more;
        let _ = writeln!(page, "| {} | {says} | {others} | {steps} |", link(one));
    }
    let _ = writeln!(page, "\n| wrong | it says | cause | steps |\n|---|---|---|---|");
    for one in spread(&wrong, 5) {
        let (says, cause, steps) = (cell(&one.claim.says), cause(one), steps(one));
        let _ = writeln!(page, "| {} | {says} | {cause} | {steps} |", link(one));
    }
}

/// Which claims hang on this, by their verdicts.
fn claims_of(page: &mut String, cause: Cause, all: &[&Judged<'_>]) {
    let ours: Vec<&Judged<'_>> =
        all.iter().filter(|one| one.claim.cause == Some(cause)).copied().collect();
    if ours.is_empty() {
        return;
    }
    let (name, words) = cause.words();
    let _ = write!(page, "\n### {name}\n\n{}\n", wrapped("", words));
    for ruling in [Ruling::Refuted, Ruling::OnlyIf, Ruling::Confirmed] {
        let these: Vec<&Judged<'_>> =
            ours.iter().filter(|one| one.ruling() == Some(ruling)).copied().collect();
        if !these.is_empty() {
            let line = format!("{} {ruling}: {}", these.len(), links(&these));
            page.push_str(&wrapped("- ", &line));
        }
    }
}

/// The cause of a claim, linked.
fn cause(judged: &Judged<'_>) -> String {
    judged.claim.cause.map(|cause| format!("[{cause}](#{cause})")).unwrap_or_default()
}

/// The change that a cure makes, without what is asked under it.
fn change(shows: &str) -> &str {
    shows.split([':', ';']).next().unwrap_or(shows)
}

fn index(page: &mut String, judged: &Judged<'_>) {
    let cure = match judged.ruling() {
        Some(Ruling::Refuted) => judged.cures.first(),
        _ => None,
    };
    let cure = cure.map(|cure| format!("; holds with: {}", change(&cure.check.shows)));
    let dangerous = if judged.is_dangerous() { ", and dangerous" } else { "" };
    let verdict = format!("{}{dangerous}{}", judged.assuming(), cure.unwrap_or_default());
    let (link, says, steps) = (link(judged), cell(&judged.claim.says), steps(judged));
    let (verdict, cause) = (cell(&verdict), cause(judged));
    let _ = writeln!(page, "| {link} | {says} | {verdict} | {cause} | {steps} |");
}

/// The text as it stands in a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

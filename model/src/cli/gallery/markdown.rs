//! The page `docs/gallery/README.md`.

use super::Found;
use crate::cli::claims::command::NAME;
use crate::cli::claims::markdown::wrapped;
use crate::trace::Trace;
use std::fmt::Write;

const HEAD: &str = "\
# Executions worth a look

This page is for people who want to see elections go wrong. Each execution is a shortest one that
violates the property: the command finds it, tells it as a story and draws it. Where a property
speaks of the end, the steps are those before a cycle that can go on for ever.

`bellwether-model gallery --out pages` writes a page for each, which needs neither a server nor a
network: every state of it can be looked at, step by step. `pages/index.html` lists them. `gallery
NAME` prints one, and `gallery --markdown > docs/gallery/README.md` prints this page. A test runs
every command and fails when the page is out of date. In a clone, `cargo run --release --` stands
for `bellwether-model`.
";

/// The whole page.
pub(super) fn of(found: &[Found<'_>]) -> String {
    let mut page = format!("{HEAD}\n| execution | protocol | steps |\n|---|---|---|\n");
    for one in found {
        let (title, name) = (&one.execution.title, &one.execution.name);
        let protocol = &one.protocol;
        let steps = one.ran.trace.as_ref().map_or_else(String::new, steps);
        let _ = writeln!(
            page,
            "| [{title}](#{name}) | [`{protocol}`](../protocols/{protocol}.md) | {steps} |"
        );
    }
    for one in found {
        let execution = one.execution;
        let text = format!("**{}.** {}", execution.title, execution.about);
        let _ = write!(page, "\n## {}\n\n{}\n", execution.name, wrapped("", &text));
        let found = format!("`{}`: **{}**.", one.property, one.ran.finding);
        page.push_str(&wrapped("- ", &found));
        page.push_str(&wrapped("  ", &format!("`{NAME} {}`", execution.command)));
    }
    page
}

/// How many steps there are, and how many of them repeat.
fn steps(trace: &Trace) -> String {
    let all = trace.steps.len();
    match trace.header.shows.as_ref().and_then(|shows| shows.cycle_after) {
        Some(after) if after < all => format!("{after}, then {} for ever", all - after),
        _ => all.to_string(),
    }
}

//! The page `docs/history.md`.

use super::commands;
use crate::claims::Finding;
use crate::cli::claims::markdown::wrapped;
use crate::history::{Place, Rerun, Unsaid};
use std::fmt::Write;

const HEAD: &str = "\
# Bugs that happened

This page is for people who build or run elections. It lists bugs that elections of real systems
had, each with where it is told, in our words. Some struck in production, some were found by
reading. The model says each by a rule value, a variant, or a duration. With it, a
[property](model.md#properties) is violated, and a shortest execution has so many steps (of what is
to happen in the end: until a cycle begins that can go on for ever). Without, the property holds. So
each shows what keeps it out.

`bellwether-model history --markdown > docs/history.md` prints this page, `history NAME --show`
draws an execution, and a test runs every bug and fails when the page is out of date. In a clone,
`cargo run --release --` stands for `bellwether-model`.

`holds` is proved for the world that the command names, and for no larger one. Where executions
exceed the bounds of the search, it says within which: beyond is not claimed. That a system is named
here does not say that it has the bug today; its source says what became of it.
";

const UNSAID: &str = "\
## What cannot be said here

These happened too, and no rule has them.
";

/// The whole page.
pub(super) fn of(rerun: &[Rerun<'_>], unsaid: &[Unsaid]) -> String {
    let mut page = format!("{HEAD}\n| bug | systems | property | steps |\n|---|---|---|---|\n");
    for one in rerun {
        let bug = one.bug;
        let _ = writeln!(
            page,
            "| [{}](#{}) | {} | `{}` | {} |",
            bug.title,
            bug.name,
            bug.systems,
            bug.property,
            steps(one)
        );
    }
    for one in rerun {
        bug(&mut page, one);
    }
    let _ = write!(page, "\n{UNSAID}\n");
    for Unsaid { what, why, sources } in unsaid {
        page.push_str(&wrapped("- ", &format!("**{what}** {why} {}", places(sources))));
    }
    page
}

fn steps(one: &Rerun<'_>) -> String {
    match one.broken.finding {
        Finding::Violated { steps: Some(steps) } => steps.to_string(),
        _ => "-".to_owned(),
    }
}

fn bug(page: &mut String, one: &Rerun<'_>) {
    let bug = one.bug;
    let _ = writeln!(page, "\n## {}\n", bug.name);
    page.push_str(&wrapped("", &format!("**{}** ({}). {}", bug.title, bug.systems, bug.story)));
    let _ = write!(page, "\n{}\n", wrapped("", &format!("Told in {}", places(&bug.sources))));
    page.push_str(&wrapped("", &bug.model));
    page.push('\n');
    let [broken, repaired] = commands(one);
    for (what, found, command) in [
        ("With it", one.broken.finding.to_string(), broken),
        ("Without", one.repaired.finding.to_string(), repaired),
    ] {
        page.push_str(&wrapped("- ", &format!("{what}, `{}`: **{found}**.", bug.property)));
        page.push_str(&wrapped("  ", &format!("`{command}`")));
    }
}

fn places(sources: &[Place]) -> String {
    let links: Vec<String> =
        sources.iter().map(|Place { what, url }| format!("[{what}]({url})")).collect();
    format!("{}.", links.join("; "))
}

//! `gallery`: find the executions that are worth a look, and write a page for each.

use super::claims::markdown::wrapped;
use super::{BOLD, again, as_written, disagrees, runner};
use crate::case::Decided;
use crate::gallery::{Execution, Gallery};
use anstyle::AnsiColor;
use bellwether_model::cli::table::{Cell, Table};
use bellwether_model::cli::{Exit, LimitArgs, ProgressArgs, Tool, out, shown, text};
use bellwether_model::explore::About;
use bellwether_model::trace::Trace;
use clap::Args;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The flags of `gallery`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct GalleryArgs {
    /// Find these executions, and print each in full [default: all, as a table]
    #[arg(value_name = "NAME")]
    names: Vec<String>,

    /// Read the executions from this file (in a clone, model/literature/gallery/executions.toml)
    /// instead of those compiled in
    #[arg(long, value_name = "FILE")]
    #[arg(hide_short_help = true)]
    file: Option<PathBuf>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Write into this folder a page for each, which needs no server, and one that lists them
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Print the page docs/gallery/README.md
    #[arg(long, help_heading = "Output", conflicts_with_all = ["names", "out"])]
    #[arg(hide_short_help = true)]
    markdown: bool,

    #[command(flatten)]
    progress: ProgressArgs,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model gallery
  bellwether-model gallery the-zombie-writes
  bellwether-model gallery --out pages
  bellwether-model gallery --markdown > docs/gallery/README.md

Exit status: 0 every command finds what its entry says; 1 one does not; 2 wrong usage or an error in
the entries; 3 a search was cut short, so nothing is claimed.";

const INDEX: &str = "index.html";

/// An execution, and what its case found.
type Found<'a> = (&'a Execution, Decided);

pub(super) fn run(tool: Tool, args: &GalleryArgs) -> anyhow::Result<Exit> {
    let gallery = Gallery::load(args.file.as_deref())?;
    let chosen = gallery.select(&args.names)?;
    out::prepare(args.out.as_deref())?;
    let cases: Vec<_> = chosen.iter().map(|one| (one.name.as_str(), &one.case)).collect();
    let bar = args.progress.steps(cases.len(), false);
    let decided = runner(&args.limits).cases(&cases, &|name| bar.step(name));
    bar.finish();
    let found: Vec<Found<'_>> = chosen.into_iter().zip(decided?).collect();
    let exit = Exit::with(as_written(found.iter().map(agrees)));
    let saved = args.out.as_deref().map_or(Ok(()), |folder| save(tool, &found, folder));
    Ok(exit.note_saved(saved).note_printed(print(args, &found)))
}

fn agrees((execution, decided): &Found<'_>) -> Option<bool> {
    decided.agrees(&execution.case)
}

/// The property of an execution, and what was found of it.
fn verdict((execution, decided): &Found<'_>) -> String {
    format!("{} {}", execution.case.property, decided.ran.finding)
}

/// The page of an execution: every state of it, with what is said of it above.
fn page(tool: Tool, (execution, decided): &Found<'_>, trace: &Trace) -> anyhow::Result<String> {
    let mut walk = shown::walk(tool, trace)?;
    walk.know(&decided.report);
    walk.about = Some(About {
        title: execution.title.clone(),
        text: execution.about.clone(),
        command: execution.case.command(),
        index: INDEX.to_owned(),
    });
    Ok(walk.html())
}

/// Writes a page for each execution, and the one that lists them.
fn save(tool: Tool, found: &[Found<'_>], folder: &Path) -> anyhow::Result<()> {
    for one in found {
        if let Some(trace) = &one.1.ran.trace {
            let file = folder.join(format!("{}.html", one.0.name));
            out::save(&file, page(tool, one, trace)?)?;
        }
    }
    out::save(&folder.join(INDEX), index(found))
}

fn print(args: &GalleryArgs, found: &[Found<'_>]) -> anyhow::Result<()> {
    let mut out = anstream::stdout();
    if args.markdown {
        write!(out, "{}", markdown(found))?;
        return Ok(());
    }
    let width = text::width();
    if args.names.is_empty() {
        writeln!(out, "{}\n", table(found))?;
    } else {
        for one in found {
            let (Execution { name, title, about, case }, decided) = one;
            let head = format!("{BOLD}{name}{BOLD:#}: {title}.");
            writeln!(out, "{}", text::wrap(&head, width))?;
            writeln!(out, "{}", text::wrap(&format!("    {about}"), width))?;
            writeln!(out, "    {}", again(&case.command()))?;
            writeln!(out, "  {}", verdict(one))?;
            if let Some(trace) = &decided.ran.trace {
                shown::tell(&mut out, trace)?;
            }
            writeln!(out)?;
        }
    }
    let (s, each) = if found.len() == 1 { ("", "") } else { ("s", "each ") };
    writeln!(out, "{} execution{s}, {each}found by its command.", found.len())?;
    for one in found.iter().filter(|one| agrees(one) != Some(true)) {
        let (execution, decided) = one;
        let found = decided.ran.finding.to_string();
        disagrees(&mut out, &execution.name, &execution.case.says(), &found)?;
    }
    Ok(())
}

fn table(found: &[Found<'_>]) -> Table {
    let mut table = Table::new(["name", "protocol", "found", "what it shows"]);
    for one in found {
        let agrees = agrees(one) == Some(true);
        let colour = if agrees { AnsiColor::Green } else { AnsiColor::Red };
        table.row([
            Cell::new(&one.0.name),
            Cell::new(one.0.case.protocol()),
            Cell::new(verdict(one)).in_colour(colour),
            Cell::new(&one.0.title),
        ]);
    }
    table
}

const INDEX_HEAD: &str = "\
<!doctype html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<title>Executions worth a look</title>
<link rel=\"icon\" href=\"data:,\">
<style>
:root { --back: #f5f6f8; --ink: #1b1f27; --dim: #586070; --line: #d8dce3; --link: #2457c5; }
@media (prefers-color-scheme: dark) {
  :root { --back: #12151b; --ink: #e8ebf0; --dim: #a2abb9; --line: #343b48; --link: #8fb2ff; }
}
body { margin: 0; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 48rem; margin: 0 auto; padding: 1rem; }
ol { padding-left: 1.6rem; }
li { padding: .6rem 0; border-bottom: 1px solid var(--line); }
li p { margin: .2rem 0; }
a { color: var(--link); font-weight: 600; }
.dim { color: var(--dim); }
code { overflow-wrap: anywhere; }
</style>
</head>
<body>
<main>
<h1>Executions worth a look</h1>
<p>Each is a shortest one that violates its property, and can be walked through, state by state. The
arrow keys take a step, and the space bar plays.</p>
<ol>
";

/// The page that lists the pages of the executions.
fn index(found: &[Found<'_>]) -> String {
    let mut page = INDEX_HEAD.to_owned();
    for one in found.iter().filter(|(_, decided)| decided.ran.trace.is_some()) {
        let Execution { name, title, about, case } = one.0;
        // Writing into a string does not fail.
        let _ = writeln!(
            page,
            "<li><a href=\"{name}.html\">{}</a>\n<p>{}</p>\n\
             <p class=\"dim\"><code>{}</code><br>{}</p></li>",
            escaped(title),
            escaped(about),
            escaped(&case.command()),
            escaped(&verdict(one))
        );
    }
    page + "</ol>\n</main>\n</body>\n</html>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

const HEAD: &str = "\
# Executions worth a look

This page is for people who want to see elections go wrong. Each execution is a shortest one that
violates the property: the command finds it, tells it as a story and draws it. Where a property
speaks of the end, the steps are those before a cycle that can go on for ever.

`bellwether-literature gallery --out pages` writes a page for each, which needs neither a server nor
a network: every state of it can be looked at, step by step. `pages/index.html` lists them. `gallery
NAME` prints one, and `gallery --markdown > docs/gallery/README.md` prints this page. A test runs
every command and fails when the page is out of date. In a clone, `cargo run --release --` stands
for `bellwether-model`, and with `-p bellwether-literature` for that.
";

/// The page `docs/gallery/README.md`.
fn markdown(found: &[Found<'_>]) -> String {
    let mut page = format!("{HEAD}\n| execution | protocol | steps |\n|---|---|---|\n");
    for (execution, decided) in found {
        let (title, name) = (&execution.title, &execution.name);
        let protocol = execution.case.protocol();
        let steps = decided.ran.trace.as_ref().map_or_else(String::new, steps);
        let _ = writeln!(
            page,
            "| [{title}](#{name}) | [`{protocol}`](../protocols/{protocol}.md) | {steps} |"
        );
    }
    for (Execution { name, title, about, case }, decided) in found {
        let text = format!("**{title}.** {about}");
        let _ = write!(page, "\n## {name}\n\n{}\n", wrapped("", &text));
        let found = format!("`{}`: **{}**.", case.property, decided.ran.finding);
        page.push_str(&wrapped("- ", &found));
        page.push_str(&wrapped("  ", &format!("`{}`", case.command())));
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

//! `gallery`: find the executions that are worth a look, and write a page for each.

use super::claims::markdown::wrapped;
use super::{BOLD, CHECKER, again, as_written, disagrees, enough};
use crate::claims::{Finding, Ran};
use crate::gallery::{Execution, Gallery};
use anstyle::AnsiColor;
use anyhow::{Context, anyhow};
use bellwether_model::check::{self, Limits, Options, Report};
use bellwether_model::cli::table::{Cell, Table};
use bellwether_model::cli::{
    Exit, LimitArgs, ProgressArgs, QuestionArgs, Tool, out, shown, text, with_durations,
};
use bellwether_model::explore::About;
use bellwether_model::side_by_side::side_by_side;
use bellwether_model::trace::Trace;
use clap::{Args, Command, FromArgMatches};
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

/// What the command of an execution found.
struct Found<'a> {
    execution: &'a Execution,
    protocol: String,
    property: &'static str,
    ran: Ran,
    /// Its page, if it is to be written.
    page: Option<String>,
}

impl Found<'_> {
    /// Whether it is what the entry says: `None` if a search was cut short.
    fn agrees(&self) -> Option<bool> {
        let steps = Some(self.execution.steps);
        match self.ran.finding {
            Finding::Unknown(_) => None,
            ref found => Some(*found == Finding::Violated { steps }),
        }
    }

    /// The name of the file with its page.
    fn file(&self) -> String {
        format!("{}.html", self.execution.name)
    }
}

pub(super) fn run(tool: Tool, args: &GalleryArgs) -> anyhow::Result<Exit> {
    let gallery = args.file.as_deref().map_or_else(Gallery::load, Gallery::load_from)?;
    let chosen = gallery.select(&args.names)?;
    out::prepare(args.out.as_deref())?;
    let found = find_all(tool, args, &chosen)?;
    let exit = Exit::with(as_written(found.iter().map(Found::agrees)));
    let saved = args.out.as_deref().map_or(Ok(()), |folder| save(&found, folder));
    Ok(exit.saved(saved).told(print(args, &found)))
}

/// Runs the commands of these entries, as many at a time as there are threads.
fn find_all<'a>(
    tool: Tool,
    args: &GalleryArgs,
    chosen: &[&'a Execution],
) -> anyhow::Result<Vec<Found<'a>>> {
    let bar = args.progress.steps(chosen.len(), false);
    let limits = enough(&args.limits);
    let paged = args.out.is_some();
    let one = |&execution: &&'a Execution| {
        let found = find(tool, execution, limits, paged);
        bar.step(&execution.name);
        found.with_context(|| execution.name.clone())
    };
    let threads = args.limits.threads();
    let found = side_by_side(threads, chosen, &one).map_err(|error| {
        anyhow!("cannot search {threads} worlds at a time: {error}; try --threads 1")
    });
    bar.finish();
    found?.into_iter().collect()
}

/// Runs the command of an entry.
fn find<'a>(
    tool: Tool,
    execution: &'a Execution,
    limits: Limits,
    paged: bool,
) -> anyhow::Result<Found<'a>> {
    let check = QuestionArgs::augment_args(Command::new("check"));
    let command = Command::new(tool.name).subcommand_required(true).subcommand(check);
    let words = [tool.name.to_owned()].into_iter().chain(execution.words());
    let matches = with_durations(command, tool.registry).try_get_matches_from(words)?;
    let flags = matches.subcommand_matches("check").context("no command is given")?;
    let question = QuestionArgs::from_arg_matches(flags)?;
    let world = question.world(tool)?;
    let properties = question.properties(&world)?;
    let [property] = &properties[..] else {
        return Err(anyhow!("the command asks {} properties; name one", properties.len()));
    };
    let options = Options { limits, ..Options::default() };
    let report = check::check(&world, &properties, &options, &mut |_| {})?;
    let ran = Ran::of(&world, &report).context("nothing was decided")?;
    let page = match &ran.trace {
        Some(trace) if paged => Some(page(tool, execution, trace, &report)?),
        _ => None,
    };
    let protocol = world.machine().protocol().name().to_owned();
    Ok(Found { execution, protocol, property: property.name, ran, page })
}

/// The page of an execution: every state of it, with what is said of it above.
fn page(
    tool: Tool,
    execution: &Execution,
    trace: &Trace,
    report: &Report,
) -> anyhow::Result<String> {
    let mut walk = shown::walk(tool, trace)?;
    walk.know(report);
    walk.about = Some(About {
        title: execution.title.clone(),
        text: execution.about.clone(),
        command: format!("{CHECKER} {}", execution.command),
        index: INDEX.to_owned(),
    });
    Ok(walk.html())
}

/// Writes a page for each execution, and the one that lists them.
fn save(found: &[Found<'_>], folder: &Path) -> anyhow::Result<()> {
    for one in found {
        if let Some(page) = &one.page {
            out::save(&folder.join(one.file()), page)?;
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
            let Execution { name, title, about, command, .. } = one.execution;
            let head = format!("{BOLD}{name}{BOLD:#}: {title}.");
            writeln!(out, "{}", text::wrap(&head, width))?;
            writeln!(out, "{}", text::wrap(&format!("    {about}"), width))?;
            writeln!(out, "    {}", again(&format!("{CHECKER} {command}")))?;
            writeln!(out, "  {} {}", one.property, one.ran.finding)?;
            if let Some(trace) = &one.ran.trace {
                shown::tell(&mut out, trace)?;
            }
            writeln!(out)?;
        }
    }
    let (s, each) = if found.len() == 1 { ("", "") } else { ("s", "each ") };
    writeln!(out, "{} execution{s}, {each}found by its command.", found.len())?;
    for one in found.iter().filter(|one| one.agrees() != Some(true)) {
        let Execution { name, steps, .. } = one.execution;
        let says = format!("violated ({steps} steps)");
        disagrees(&mut out, name, &says, &one.ran.finding.to_string())?;
    }
    Ok(())
}

fn table(found: &[Found<'_>]) -> Table {
    let mut table = Table::new(["name", "protocol", "found", "what it shows"]);
    for one in found {
        let agrees = one.agrees() == Some(true);
        let colour = if agrees { AnsiColor::Green } else { AnsiColor::Red };
        table.row([
            Cell::new(&one.execution.name),
            Cell::new(&one.protocol),
            Cell::new(format!("{} {}", one.property, one.ran.finding)).in_colour(colour),
            Cell::new(&one.execution.title),
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
    for one in found.iter().filter(|one| one.page.is_some()) {
        let execution = one.execution;
        // Writing into a string does not fail.
        let _ = writeln!(
            page,
            "<li><a href=\"{}\">{}</a>\n<p>{}</p>\n\
             <p class=\"dim\"><code>{CHECKER} {}</code><br>{} {}</p></li>",
            one.file(),
            escaped(&execution.title),
            escaped(&execution.about),
            escaped(&execution.command),
            escaped(one.property),
            escaped(&one.ran.finding.to_string())
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
        page.push_str(&wrapped("  ", &format!("`{CHECKER} {}`", execution.command)));
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

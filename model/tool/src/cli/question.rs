//! What `check` asks, whatever searches for the answer: the flags that every `check` has, and what
//! is done with what was found.

use super::check::{Saved, executions, print};
use super::{
    Exit, LimitArgs, ProgressArgs, ProtocolArgs, Tool, UsageError, WorldArgs, out,
    searchable_world, seconds, shown, status, text, world,
};
use bellwether_engine::check::{CheckError, Disk, Event, Options, Reason, Report};
use bellwether_engine::expression::Expression;
use bellwether_engine::property::{self, Property};
use bellwether_engine::world::World;
use clap::Args;
use std::collections::HashSet;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// What is asked of which world, how far to search for the answer, and how to print it.
#[derive(Debug, Args)]
pub struct QuestionArgs {
    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    world: WorldArgs,

    /// Check only this property; may be given again [default: all]
    #[arg(short, long = "property", value_name = "NAME")]
    properties: Vec<String>,

    /// Check that no state satisfies this expression, such as 'leads(1) && leads(2)'; may be given
    /// again. With it, only what is named is checked
    #[arg(long, value_name = "EXPR")]
    never: Vec<String>,

    /// Check that every state satisfies this expression; may be given again
    #[arg(long, value_name = "EXPR")]
    #[arg(hide_short_help = true)]
    always: Vec<String>,

    /// Stop at the first violation, which is a shortest one; what is not decided by then is unknown
    #[arg(long, help_heading = "Search")]
    first: bool,

    /// Save the search in this folder, now and then and if it ends early
    #[arg(long, value_name = "DIR", help_heading = "Search")]
    #[arg(hide_short_help = true)]
    disk: Option<PathBuf>,

    /// How often the search is saved in the folder of --disk [default: 600]
    #[arg(long, value_name = "SECONDS", requires = "disk", help_heading = "Search",
          value_parser = seconds, allow_negative_numbers = true)]
    #[arg(hide_short_help = true)]
    save_every: Option<Duration>,

    /// Go on with the search that was saved in the folder of --disk
    #[arg(long, requires = "disk", help_heading = "Search")]
    #[arg(hide_short_help = true)]
    resume: bool,

    #[command(flatten)]
    limits: LimitArgs,

    /// Print one JSON object and nothing else
    #[arg(long, help_heading = "Output")]
    json: bool,

    /// Save each counterexample as a trace (NDJSON), a picture (SVG) and a page (HTML) in this
    /// folder
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    out: Option<PathBuf>,

    /// Tell the counterexample to this property in full, or show what this expression is worth
    /// after each step of a counterexample; may be given again
    #[arg(long, value_name = "PROPERTY|EXPR", help_heading = "Output")]
    #[arg(hide_short_help = true)]
    show: Vec<String>,

    #[command(flatten)]
    progress: ProgressArgs,
}

impl QuestionArgs {
    /// Returns the world that is asked about, which can be searched. The folder for counterexamples
    /// is there from then on.
    ///
    /// # Errors
    /// If there is no such world, if it is too large, or if the folder cannot be written.
    pub fn world(&self, tool: Tool) -> anyhow::Result<Arc<World>> {
        out::prepare(self.out.as_deref())?;
        Ok(searchable_world(tool.registry, &self.protocol, &self.world)?)
    }

    /// The same, for random walks.
    pub(super) fn world_of_walks(&self, tool: Tool) -> anyhow::Result<Arc<World>> {
        out::prepare(self.out.as_deref())?;
        Ok(world(tool.registry, &self.protocol, &self.world)?)
    }

    /// Returns the properties that are asked.
    ///
    /// # Errors
    /// If there is no such property, if an expression has no meaning, or if a flag has no effect
    /// because no property depends on it.
    pub fn properties(&self, world: &World) -> Result<Vec<Property>, UsageError> {
        let properties = property::select(world, &self.named()).map_err(UsageError::Property)?;
        self.shown(world, &properties.iter().map(|one| one.name).collect::<Vec<_>>())?;
        let asked: Vec<_> = properties.iter().map(|asked| (asked.name, asked.kind())).collect();
        self.world.are_asked_about(&asked)?;
        Ok(properties)
    }

    /// Returns how to search, as far as these flags say it: with the exact engine, and as many
    /// threads as there are processors if they say no number.
    #[must_use]
    pub fn options(&self) -> Options {
        let saves = |folder: &PathBuf| {
            let usual = Disk::begin(folder);
            Disk { resume: self.resume, every: self.save_every.unwrap_or(usual.every), ..usual }
        };
        Options {
            threads: self.limits.threads(),
            limits: self.limits.limits(),
            first: self.first,
            disk: self.disk.as_ref().map(saves),
            ..Options::default()
        }
    }

    /// The number of threads, if it is said.
    pub(super) fn threads(&self) -> Option<u16> {
        self.limits.threads
    }

    /// The folder in which the search is saved, if it is.
    pub(super) fn disk(&self) -> Option<&PathBuf> {
        self.disk.as_ref()
    }

    /// Shows how far the search of `decide` is, and saves and prints what it has found. What cannot
    /// be saved is printed all the same.
    ///
    /// # Errors
    /// Those of the search.
    pub fn answer(
        &self,
        tool: Tool,
        decide: impl FnOnce(&mut (dyn FnMut(Event) + Send)) -> Result<Report, CheckError>,
    ) -> anyhow::Result<Exit> {
        let bar = self.progress.bar(self.json);
        let found = decide(&mut |event| bar.tell("", event));
        bar.finish();
        let mut report = found?;
        let exit = Exit::with(status(report.verdict()));
        let asked: Vec<_> = report.decisions.iter().map(|one| one.property.name).collect();
        let shown = self.shown(&report.world, &asked).map(|shown| report.shown = shown);
        let (files, saved) = self.save(tool, &report);
        Ok(exit
            .note_printed(shown)
            .note_saved(saved)
            .note_printed(self.print(tool, &report, &files)))
    }

    fn print(&self, tool: Tool, report: &Report, files: &Saved) -> anyhow::Result<()> {
        if self.json {
            return text::print_json(report);
        }
        let wanted: Vec<_> = self.show.iter().map(String::as_str).collect();
        print(tool, report, &wanted, &self.protocol, files)?;
        self.print_how_it_goes_on(report)
    }

    /// The expressions of --show: what is no property that is asked.
    fn shown(&self, world: &World, asked: &[&str]) -> Result<Vec<Expression>, UsageError> {
        let texts = self.show.iter().filter(|text| !asked.contains(&text.as_str()));
        shown::expressions(&texts.cloned().collect::<Vec<_>>(), world)
    }

    /// The properties that were named, each one once.
    fn named(&self) -> Vec<String> {
        let never = self.never.iter().map(|expression| property::never(expression));
        let always = self.always.iter().map(|expression| property::always(expression));
        let mut named = self.properties.clone();
        named.extend(never.chain(always));
        let mut known = HashSet::new();
        named.retain(|name| known.insert(name.clone()));
        named
    }

    /// Says how the search can go on, if it can.
    fn print_how_it_goes_on(&self, report: &Report) -> anyhow::Result<()> {
        let is_early = report.cut_short.is_some_and(|reason| reason != Reason::FirstViolation);
        let Some(folder) = &self.disk else { return Ok(()) };
        if !is_early || report.trouble.is_some() {
            return Ok(());
        }
        let told = format!("It is saved in {}; --resume goes on with it.", folder.display());
        writeln!(anstream::stdout(), "{}", text::wrap(&told, text::width()))?;
        Ok(())
    }

    /// Saves each execution under a name of its own; where one could not be saved, with the error.
    fn save(&self, tool: Tool, report: &Report) -> (Saved, anyhow::Result<()>) {
        let (mut files, mut names) = (Saved::new(), HashSet::new());
        let Some(dir) = &self.out else { return (files, Ok(())) };
        for execution in executions(report) {
            let protocol = report.world.machine().protocol().name();
            let whole = format!("{protocol}-{}", shown::file_name(execution.property().name));
            let name = match execution.number {
                Some(number) => format!("{whole}-{number}"),
                None => whole,
            };
            // Two expressions may differ in nothing but signs.
            let again = |number| match number {
                1 => name.clone(),
                _ => format!("{name}-again-{number}"),
            };
            let free = (1..).map(again).find(|name| names.insert(name.clone()));
            let name = free.unwrap_or_default();
            match shown::save(tool, &execution.trace, Some(report), dir, &name) {
                Ok(file) => files.push(file),
                Err(error) => return (files, Err(error)),
            }
        }
        (files, Ok(()))
    }
}

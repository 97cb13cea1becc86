//! The wrong programs of `conformance/mutants` and `conformance/bugs`, and what catches each.
//!
//! Each is the source with one realistic mistake. A mistake in a core or in a mapping must be
//! caught by `lockstep` in one of the worlds of its protocol, a mistake in the member by that, by
//! the test that is named beside it, or by the simulation alone, one in the driver or the transport
//! by such a test or by a suite through the driver, and one in a model by the check that is named
//! beside it. The program without a mistake must pass in all of them.
//!
//! The bugs of the catalogue happened to real systems. Each must be caught by a command of the
//! bridge that stands beside it, and the report is kept.
//!
//! Everything is built and run in a copy of the workspace, in the target folder. One build has all
//! wrong programs whose mistake is in the body of a function: which of them runs is said when it
//! starts. A run can be stopped at any time: the next one brings the copy up to date.
//!
//! ```console
//! $ cargo run -p bellwether-conformance --example mutants
//! $ cargo run -p bellwether-conformance --example mutants -- lease outbox
//! $ cargo run -p bellwether-conformance --example mutants -- bugs vote --update
//! ```

mod bugs;
mod found;
mod judge;
mod run;
mod scratch;
mod set;
mod weave;

use anyhow::{Result, ensure};
use clap::{Parser, Subcommand};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::process::ExitCode;

use bugs::{Bug, page};
use run::Run;
use set::{Mutant, Set, root};

/// Build the wrong programs, and see which of them are caught
///
/// Exit status: 0 each is caught but those that are listed as survivors, 1 one is not, a listed
/// survivor is caught, or the right program is taken for wrong, 2 one cannot be built or judged.
/// With `bugs --clusters`, none needs to be caught.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    list: Option<List>,

    /// Only those whose list, file or name contains one of these
    only: Vec<String>,

    /// Only what is done with the program without a mistake
    #[arg(long)]
    right: bool,
}

fn main() -> ExitCode {
    run(&Arguments::parse()).unwrap_or_else(|error| {
        let _ = writeln!(io::stderr(), "error: {error:#}");
        ExitCode::from(2)
    })
}

/// Another list of wrong programs.
#[derive(Subcommand)]
enum List {
    /// Bugs that happened: compare the reports by which they are caught with those that are kept
    Bugs {
        /// Only those whose name contains one of these
        only: Vec<String>,

        /// Write the reports, and the page docs/bugs.md; those that are newer than their bug stay
        #[arg(long)]
        update: bool,

        /// Look for each in the traces of clusters that run it
        #[arg(long)]
        clusters: bool,

        /// Write all reports anew; those of clusters always are
        #[arg(long, requires = "update", conflicts_with = "clusters")]
        all: bool,
    },
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    if let Some(List::Bugs { only, update, clusters, all }) = &arguments.list {
        return if *clusters { run_clusters(only, *update) } else { run_bugs(only, *update, *all) };
    }
    let mut set = Set::read()?;
    let named = |mutant: &Mutant| format!("{} {}", mutant.list, mutant.title());
    set.mutants.retain(|mutant| is_wanted(&named(mutant), &arguments.only));
    ensure!(!set.mutants.is_empty(), "no wrong program is called so");
    let mut run = Run::new(set, false)?;
    run.all(arguments.right)?;
    Ok(run.summarize())
}

/// The catalogue of bugs.
fn run_bugs(only: &[String], update: bool, all: bool) -> Result<ExitCode> {
    let bugs = Bug::read_all()?;
    let wanted: Vec<&Bug> = bugs.iter().filter(|bug| is_wanted(&bug.name, only)).collect();
    ensure!(!wanted.is_empty(), "no bug is called so");
    let left = wanted.iter().filter(|bug| !update || all || !bug.is_reported());
    let set =
        Set { mutants: left.map(|bug| bug.mutant.clone()).collect(), worlds: BTreeMap::new() };
    let mut run = Run::new(set, update)?;
    run.all(false)?;
    if update {
        fs::write(root().join("docs/bugs.md"), page(&bugs))?;
    }
    Ok(run.summarize())
}

/// The catalogue of bugs, in clusters. Those that are not met there are no failure.
fn run_clusters(only: &[String], update: bool) -> Result<ExitCode> {
    let bugs = Bug::read_all()?;
    let wanted = bugs.iter().filter(|bug| is_wanted(&bug.name, only));
    let mutants: Vec<_> = wanted.filter_map(Bug::in_a_cluster).collect();
    ensure!(!mutants.is_empty(), "no bug that a daemon can have is called so");
    let mut run = Run::new(Set { mutants, worlds: BTreeMap::new() }, update)?;
    run.all(false)?;
    if update {
        fs::write(root().join("docs/bugs.md"), page(&bugs))?;
    }
    Ok(run.summarize())
}

fn is_wanted(title: &str, only: &[String]) -> bool {
    only.is_empty() || only.iter().any(|part| title.contains(part))
}

#[cfg(test)]
mod tests;

//! The wrong programs of `conformance/mutants`, and what catches each.
//!
//! Each is the source with one realistic mistake. A mistake in a core or in a mapping must be
//! caught by `lockstep` in one of the worlds of its protocol, a mistake in the member by that, by
//! the test that is named beside it, or by the simulation alone, one in the driver or the transport
//! by such a test, and one in a model by the check that is named beside it. The program without a
//! mistake must pass in all of them.
//!
//! Some mistakes are bugs that happened to real systems: their rows say where that is told.
//!
//! Everything is built and run in a copy of the workspace, in the target folder. One build has all
//! wrong programs whose mistake is in the body of a function: which of them runs is said when it
//! starts. A run can be stopped at any time: the next one brings the copy up to date.
//!
//! ```console
//! $ cargo run -p bellwether-conformance --example mutants
//! $ cargo run -p bellwether-conformance --example mutants -- lease outbox
//! $ cargo run -p bellwether-conformance --example mutants -- --bugs quorum
//! ```

mod judge;
mod run;
mod scratch;
mod set;
mod source;
mod weave;

use anyhow::{Result, ensure};
use clap::Parser;
use std::io::{self, Write as _};
use std::process::ExitCode;

use run::Run;
use set::Mutant;

/// Build the wrong programs, and see which of them are caught
///
/// Exit status: 0 each is caught but those that are listed as survivors, 1 one is not, a listed
/// survivor is caught, or the right program is taken for wrong, 2 one cannot be built or judged.
/// With `--clusters`, none needs to be caught.
#[derive(Parser)]
struct Arguments {
    /// Only those whose list, file or name contains one of these
    only: Vec<String>,

    /// Only bugs that happened
    #[arg(long)]
    bugs: bool,

    /// Look for each in the traces of clusters that run it
    #[arg(long)]
    clusters: bool,

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

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let Arguments { only, bugs, clusters, right } = arguments;
    let is_wanted = |mutant: &Mutant| {
        let title = format!("{} {}", mutant.list, mutant.title());
        let named = only.is_empty() || only.iter().any(|part| title.contains(part));
        named && (!bugs || mutant.bug.is_some())
    };
    let mut set = set::read()?;
    set.retain(is_wanted);
    if *clusters {
        set = set.into_iter().filter_map(Mutant::in_clusters).collect();
    }
    ensure!(!set.is_empty(), "no wrong program is called so");
    let mut run = Run::new(set)?;
    run.all(*right)?;
    Ok(run.summarize())
}

#[cfg(test)]
mod tests;

//! The wrong programs of `conformance/mutants`, and what catches each.
//!
//! Each is the production source with one realistic mistake. A mistake in a core must be caught by
//! `lockstep` in one of the worlds of its protocol, a mistake in the member by that, by the test
//! that is named beside it, or by the simulation alone, one in the driver or the transport by such
//! a test, or by a suite through the driver. The program without a mistake must pass in all of them.
//!
//! Everything is built and run in a copy of the workspace, in the target folder. Mistakes in
//! different cores do not meet, so one build has one of each.
//!
//! ```console
//! $ cargo run -p bellwether-conformance --example mutants
//! $ cargo run -p bellwether-conformance --example mutants -- lease outbox
//! ```

mod run;
mod scratch;
mod set;

use anyhow::{Result, ensure};
use clap::Parser;
use std::io::{self, Write as _};
use std::process::ExitCode;

use run::Run;
use set::Set;

/// Build the wrong programs, and see which of them are caught
///
/// Exit status: 0 each is caught but those that are listed as survivors, 1 one is not, a listed
/// survivor is caught, or the right program is taken for wrong, 2 one cannot be built or judged.
#[derive(Parser)]
struct Arguments {
    /// Only those whose file or name contains one of these
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

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let mut set = Set::read()?;
    let wanted = |title: &str| arguments.only.iter().any(|part| title.contains(part));
    set.mutants.retain(|mutant| arguments.only.is_empty() || wanted(&mutant.title()));
    ensure!(!set.mutants.is_empty(), "no wrong program is called so");
    let mut run = Run::new(set)?;
    run.right()?;
    if !arguments.right {
        run.wrong()?;
    }
    Ok(run.summarize())
}

#[cfg(test)]
mod tests;

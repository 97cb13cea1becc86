//! The daemon and its tools: see `bellwether --help`.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}

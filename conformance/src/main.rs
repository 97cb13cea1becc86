//! The command line of the bridge.

use std::process::ExitCode;

fn main() -> ExitCode {
    bellwether_conformance::cli::main()
}

//! The command line of the simulation: see `bellwether-sim --help`.

use std::process::ExitCode;

fn main() -> ExitCode {
    bellwether_sim::cli::main()
}

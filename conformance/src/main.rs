//! The command line of the bridge, for the protocols of this project.

use bellwether_conformance::cli;
use bellwether_conformance::mapping::MAPPINGS;
use bellwether_model::protocol::specifications;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main("bellwether-conformance", MAPPINGS, specifications())
}

//! The command line of the bridge, for the protocols of this project.

use bellwether_conformance::cli;
use bellwether_conformance::mapping::MAPPINGS;
use bellwether_model::protocol::specifications;
use std::process::ExitCode;

const NAME: &str = "bellwether-conformance";

#[cfg(feature = "driver")]
fn main() -> ExitCode {
    use bellwether_conformance::driven::DRIVEN;
    cli::main_with_driver(NAME, MAPPINGS, DRIVEN, specifications())
}

#[cfg(not(feature = "driver"))]
fn main() -> ExitCode {
    cli::main(NAME, MAPPINGS, specifications())
}

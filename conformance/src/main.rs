//! The command line of the bridge, for the protocols of this project.

use bellwether_conformance::cli::{self, Further};
use bellwether_conformance::mapping::MAPPINGS;
use bellwether_conformance::processes;
use bellwether_model::protocol::specifications;
use std::process::ExitCode;

#[cfg(feature = "driver")]
fn main() -> ExitCode {
    use bellwether_conformance::driven::DRIVEN;
    start(Further { driver: Some(DRIVEN), processes: Some(processes::run) })
}

#[cfg(not(feature = "driver"))]
fn main() -> ExitCode {
    start(Further { driver: None, processes: Some(processes::run) })
}

fn start(further: Further) -> ExitCode {
    cli::main_with("bellwether-conformance", MAPPINGS, further, specifications())
}

//! The command line of the bridge, for the protocols of this project.

use bellwether_conformance::mapping::mappings;
use bellwether_conformance::{cli, processes};
use bellwether_model::protocol::specifications;
use std::process::ExitCode;

fn main() -> ExitCode {
    let processes = Some(processes::run as cli::Processes);
    cli::main("bellwether-conformance", mappings(), processes, specifications())
}

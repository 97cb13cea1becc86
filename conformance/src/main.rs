//! The command line of the bridge, for the protocols of this project.

use bellwether_conformance::cli::{self, Further};
use bellwether_conformance::mapping::{mappings, members};
use bellwether_conformance::processes;
use bellwether_model::protocol::specifications;
use std::process::ExitCode;

fn main() -> ExitCode {
    let further = Further { members: Some(members()), processes: Some(processes::run) };
    cli::main("bellwether-conformance", mappings(), further, specifications())
}

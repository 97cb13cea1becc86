//! The checker's command line; see [`bellwether_model::cli`].

use bellwether_model::cli::{self, Tool};
use bellwether_model::protocol::REGISTRY;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(Tool { name: "bellwether-model", registry: REGISTRY })
}

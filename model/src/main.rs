//! The checker's command line; see [`bellwether_model::cli`].

use bellwether_model::cli;
use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main(cli::tool())
}

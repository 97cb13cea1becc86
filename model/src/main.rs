//! The checker's command line; see [`bellwether_model::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    bellwether_model::cli::main()
}

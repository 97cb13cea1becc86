//! The program `bellwether-literature`; see [`bellwether_literature::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    bellwether_literature::cli::main()
}

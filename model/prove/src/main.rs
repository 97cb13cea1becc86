//! The program `bellwether-prove`; see [`bellwether_prove::cli`].

use std::process::ExitCode;

fn main() -> ExitCode {
    bellwether_prove::cli::main()
}

//! A protocol of your own, to start from: `cargo run --release -- check`, then `-- help`.
//!
//! What to change first:
//!
//! 1. In a copy made by hand, put `Cargo.toml.liquid` in the place of `Cargo.toml`, with the name
//!    of the package and the path to the checkout of Bellwether.
//! 2. In `spec.rs`, the names: `OwnProtocol`, `NAME` and `SUMMARY`.
//! 3. What a process knows (`Process`), what it keeps in a crash (`Stable`), and what it says
//!    (`Message`).
//! 4. What it does: `recover`, `receive` and `expire`, each under the sentence of your text that it
//!    implements.
//! 5. `may_time_out`: when a time-out that is long enough would expire.
//! 6. What you promise: `PROPERTIES`. Keep a variant that breaks each of them.

mod spec;

use bellwether_engine::machine::{ProtocolEntry, Registry};
use bellwether_tool::cli::{self, Tool};

static REGISTRY: Registry = Registry(&[&ProtocolEntry::<spec::OwnProtocol>::NEW]);

fn main() -> std::process::ExitCode {
    cli::main(Tool::new(env!("CARGO_PKG_NAME"), REGISTRY))
}

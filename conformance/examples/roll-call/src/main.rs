//! Roll call: a toy election, with its specification, its program and the bridge between them.

mod mapping;
mod program;
mod spec;

use bellwether_bridge::cli::commands;
use bellwether_engine::machine::{Entry, Registry};
use bellwether_tool::cli::{self, More, Tool};

static REGISTRY: Registry = Registry(&[&Entry::<spec::RollCall>::NEW]);

/// From the bridge: `lockstep` and `replay`.
static MORE: [More; 2] = commands::<mapping::RollCallMapping>();

/// From the tool: `check`, `explore`, `bounds`, `tune`, `trace` and `list`.
fn main() -> std::process::ExitCode {
    cli::main(Tool { more: &MORE, ..Tool::new("roll-call", REGISTRY) })
}

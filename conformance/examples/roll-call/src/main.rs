//! Roll call: a toy election, with its specification, its program and the bridge between them.

mod mapping;
mod program;
mod spec;

use bellwether_bridge::cli as bridge;
use bellwether_engine::machine::{ProtocolEntry, Registry};
use bellwether_tool::cli::{self, More, Tool};

static REGISTRY: Registry = Registry(&[&ProtocolEntry::<spec::RollCall>::NEW]);

/// From the bridge: `lockstep` and `replay`.
static MORE: [More; 2] = [
    More {
        command: bridge::lockstep_command,
        run: |_, flags| bridge::lockstep(&mapping::mapping(), flags),
    },
    More {
        command: bridge::replay_command,
        run: |_, flags| bridge::replay(&mapping::mapping(), flags),
    },
];

/// From the tool: `check`, `explore`, `bounds`, `tune`, `trace` and `list`.
fn main() -> std::process::ExitCode {
    cli::main(Tool { more: &MORE, ..Tool::new("roll-call", REGISTRY) })
}

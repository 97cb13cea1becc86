//! The program `bellwether-dataflow`: the checker's command line, whose `check` searches as a
//! dataflow. See [`bellwether_dataflow`].

use bellwether_protocols::REGISTRY;
use bellwether_tool::cli::{self, More, Tool};
use std::process::ExitCode;

const MORE: &[More] = &[bellwether_dataflow::CHECK];

const EXAMPLES: &[&str] =
    &["list bully", "check bully --property agreement", "check bully --recoveries 1 --threads 2"];

fn main() -> ExitCode {
    let tool = Tool::new("bellwether-dataflow", REGISTRY);
    let cargo = "-p bellwether-dataflow";
    cli::main(Tool { examples: EXAMPLES, more: MORE, cargo, ..tool })
}

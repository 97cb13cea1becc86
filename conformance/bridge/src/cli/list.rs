//! `list`: the protocols that have a mapping, and the rules that their programs implement.

use super::CONFORMS;
use crate::registry::Mappings;
use bellwether_tool::cli::{Exit, text};
use clap::Args;
use serde_json::json;
use std::io::Write;

/// The flags of `list`.
#[derive(Debug, Args)]
pub(super) struct ListArgs {
    /// Print one JSON object and nothing else
    #[arg(long)]
    json: bool,
}

pub(super) fn run(mappings: Mappings, args: &ListArgs) -> anyhow::Result<Exit> {
    Ok(Exit::with(CONFORMS).told(print(mappings, args)))
}

fn print(mappings: Mappings, args: &ListArgs) -> anyhow::Result<()> {
    let all: Vec<_> = mappings.0.iter().map(|mapping| mapping.description()).collect();
    if args.json {
        return text::print_json(&json!({ "protocols": all }), false);
    }
    let mut out = std::io::stdout();
    for one in &all {
        writeln!(out, "{}: {}", one.protocol, one.summary)?;
        writeln!(out, "  the program implements the variant '{}':", one.variant)?;
        for (rule, value) in one.rules.as_object().into_iter().flatten() {
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            writeln!(out, "    {rule} = {value}")?;
        }
    }
    Ok(())
}

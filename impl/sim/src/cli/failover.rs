//! `failover`: what it costs that a leader crashes.

use bellwether_cli::exit::Exit;
use bellwether_cli::json;

use super::HOLDS;
use crate::code;
use crate::failover::{ALL, Cost, SIZES, measure, table};

/// Measure what a failover costs, in time and messages, against the number of nodes
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this protocol; bully, garcia-molina and quorum unless given
    #[arg(long, value_parser = code::protocol)]
    protocol: Option<String>,
    /// Only so many nodes; 3 to 255 unless given, and 1000 for quorum
    #[arg(long, value_parser = code::nodes)]
    nodes: Option<usize>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let costs = costs(args);
    let text = match args.json {
        true => json::line(&serde_json::json!({ "costs": costs }))?,
        false => table(&costs),
    };
    Ok(Exit::with(HOLDS).tell(&text))
}

fn costs(args: &Args) -> Vec<Cost> {
    let sizes = args.nodes.map_or_else(|| SIZES.to_vec(), |nodes| vec![(nodes, ALL)]);
    let mut costs = Vec::new();
    for (nodes, protocols) in sizes {
        let named = args.protocol.as_deref().map_or(protocols.to_vec(), |name| vec![name]);
        costs.extend(named.into_iter().filter_map(|name| measure(name, nodes)));
    }
    costs
}

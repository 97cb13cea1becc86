//! `failover`: what it costs that a leader crashes.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use bellwether_cli::json;

use super::HOLDS;
use super::exit::{Exit, Stop};
use crate::code;
use crate::failover::{ALL, Cost, SIZES, draw, measure, table};

/// Measure what a failover costs, in time and messages, against the number of nodes
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Only this protocol; bully, garcia-molina and quorum unless given
    #[arg(long, value_parser = code::protocol)]
    protocol: Option<String>,
    /// Only so many nodes; 3 to 255 unless given, and 1000 for quorum
    #[arg(long, value_parser = code::nodes)]
    nodes: Option<usize>,
    /// Also draw the costs, as an SVG file in this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, stop: &Stop) -> anyhow::Result<Exit> {
    let costs = costs(args);
    let text = match args.json {
        true => json::line(&serde_json::json!({ "costs": costs }))?,
        false => table(&costs),
    };
    let exit = Exit::with(HOLDS, stop).tell(&text);
    let Some(folder) = &args.out else { return Ok(exit) };
    Ok(exit.saved(save(folder, &costs)))
}

/// Draws the costs into a folder.
fn save(folder: &Path, costs: &[Cost]) -> anyhow::Result<()> {
    let cannot = |file: &Path| {
        format!("cannot write {}; give --out another folder, with room", file.display())
    };
    std::fs::create_dir_all(folder).with_context(|| cannot(folder))?;
    let file = folder.join("failover.svg");
    std::fs::write(&file, draw(costs)?).with_context(|| cannot(&file))?;
    let _ = writeln!(io::stderr(), "drew {}", file.display());
    Ok(())
}

fn costs(args: &Args) -> Vec<Cost> {
    let one = args.protocol.as_deref();
    let mut costs = Vec::new();
    let sizes: Vec<_> = match args.nodes {
        Some(nodes) => vec![(nodes, ALL)],
        None => SIZES.to_vec(),
    };
    for (nodes, protocols) in sizes {
        let named: Vec<&str> = match one {
            Some(name) => vec![name],
            None => protocols.to_vec(),
        };
        costs.extend(named.into_iter().filter_map(|name| measure(name, nodes)));
    }
    costs
}

//! `explore`: a world in the browser. Our page stands in front of stateright's Explorer, whose own
//! page and API are served beside it; or the whole world stands in one file.

mod export;
mod inside;
mod server;
mod verdicts;
mod worlds;

use super::shown::{self, ADDRESS};
use super::{Exit, HOLDS, LimitArgs, ProtocolArgs, Tool, WorldArgs, searchable_world};
use crate::report::svg;
use anyhow::{Context, anyhow};
use bellwether_engine::check::model::{Model, named};
use bellwether_engine::check::{Engine, Options};
use bellwether_engine::property;
use clap::Args;
use inside::Inside;
use server::Explorer;
use std::io::Write;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::Arc;
use tiny_http::Server;
use verdicts::Verdicts;
use worlds::{Served, Worlds};

/// The flags of `explore`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExploreArgs {
    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    world: WorldArgs,

    /// Ask this property too, besides those that are asked if nothing is said; may be given again
    #[arg(short, long = "property", value_name = "NAME")]
    properties: Vec<String>,

    #[command(flatten)]
    limits: LimitArgs,

    /// Where to listen; port 0 picks a free one
    #[arg(long, default_value = ADDRESS, value_name = "HOST:PORT")]
    address: String,

    /// Decide the properties only when the page is asked to (for large worlds)
    #[arg(long)]
    on_demand: bool,

    /// Write all states into this HTML file instead, which needs no server: 5000 at most, or as
    /// many as --max-states says
    #[arg(long, value_name = "FILE", conflicts_with_all = ["address", "on_demand"],
          help_heading = "Output")]
    export: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model explore bully --recoveries 1
  bellwether-model explore bully --variant baseline --network set --address 127.0.0.1:0
  bellwether-model explore bully --nodes 5 --crashes 2 --on-demand
  bellwether-model explore bully --recoveries 1 --export bully.html

The page shows every property with its verdict and a shortest counterexample, and every state with
everything in it. Stateright's own page is at /stateright/.";

pub(super) fn run(tool: Tool, args: &ExploreArgs) -> anyhow::Result<Exit> {
    let world = searchable_world(tool.registry, &args.protocol, &args.world)?;
    let properties = shown::asked(&world, &args.properties)?;
    let world = Arc::new(property::world_of(&world, &properties).into_owned());
    if let Some(file) = &args.export {
        return export::run(args, (&world, properties), file);
    }
    let scenario = world.scenario();
    let listener = listen(&args.address)?;
    let address = listener.local_addr()?;
    let model = Model::new(&world, properties.iter().map(named).collect());
    let inside = Inside::start(model.with_pictures(svg::draw))?;
    let server = Server::from_listener(listener, None).map_err(|error| anyhow!("{error}"))?;
    let (threads, limits) = (args.limits.threads(), args.limits.limits());
    let options = Options { engine: Engine::Exact, threads, limits, ..Options::default() };
    let served = Served::new(&args.protocol, (Arc::clone(&world), properties), options.clone());
    let exit = Exit::with(HOLDS);
    let beginning = format!(
        "{}: {scenario}\nExplorer: http://{address}/\nStop it with Ctrl-C.\n",
        args.protocol.typed()
    );
    // A page that has no reader is none.
    if let Err(error) = std::io::stdout().write_all(beginning.as_bytes()) {
        return Ok(exit.told(Err(error)));
    }
    if !args.on_demand {
        served.verdicts.start(move |verdicts| tell(verdicts, address));
    }
    let worlds = Worlds::new(tool, Arc::new(served), options, args.on_demand);
    server::run(&server, &Arc::new(Explorer { worlds, inside }));
    Ok(exit)
}

fn listen(address: &str) -> anyhow::Result<TcpListener> {
    let resolved: Vec<SocketAddr> = address
        .to_socket_addrs()
        .map_err(|e| anyhow!("--address {address}: {e}; give HOST:PORT, such as {ADDRESS}"))?
        .collect();
    TcpListener::bind(resolved.as_slice()).with_context(|| {
        format!(
            "cannot listen on {address}; stop what listens there, or choose another port with \
             --address (port 0 picks a free one)"
        )
    })
}

/// Prints where the page shows the counterexamples that were found.
fn tell(verdicts: &Verdicts, address: SocketAddr) {
    let told = verdicts.links(&address.to_string());
    // The page works even if this cannot be printed.
    let _ = std::io::stdout().write_all(told.as_bytes());
}

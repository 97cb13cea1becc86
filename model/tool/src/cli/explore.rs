//! `explore`: a world in the browser. Our page stands in front of stateright's Explorer, whose own
//! page and API are served beside it; or the whole world stands in one file.

mod server;
mod worlds;

use super::shown::{self, ADDRESS};
use super::{Exit, HOLDS, LimitArgs, ProtocolArgs, Tool, WorldArgs, searchable_world};
use crate::explore::{TooMany, Whole};
use crate::report::svg;
use anyhow::{Context, anyhow};
use bellwether_engine::check::model::{Model, named};
use bellwether_engine::check::{Engine, Limits, Options};
use bellwether_engine::property::{self, Property};
use bellwether_engine::world::World;
use clap::Args;
use indicatif::{HumanBytes, HumanCount};
use server::{Explorer, Inside};
use std::fs;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tiny_http::Server;
use worlds::{Served, Verdicts, Worlds};

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
        return export(args, &world, properties, file);
    }
    let scenario = world.scenario();
    let listener = listen(&args.address)?;
    let address = listener.local_addr()?;
    let model = Model::new(&world, properties.iter().map(named).collect());
    let inside = Inside::start(model.with_pictures(svg::draw))?;
    let server = Server::from_listener(listener, None).map_err(|error| anyhow!("{error}"))?;
    let (threads, limits) = (args.limits.threads(), args.limits.limits());
    let options = Options { engine: Engine::Exact, threads, limits, ..Options::default() };
    let served = Served::new(&args.protocol, Arc::clone(&world), properties, options.clone());
    let exit = Exit::with(HOLDS);
    let beginning = format!(
        "{}: {scenario}\nExplorer: http://{address}/\nStop it with Ctrl-C.\n",
        args.protocol.typed()
    );
    // A page that has no reader is none.
    if let Err(error) = io::stdout().write_all(beginning.as_bytes()) {
        return Ok(exit.note_printed(Err(error)));
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
    let _ = io::stdout().write_all(told.as_bytes());
}

/// The largest number of states in a file if nothing else is said: a browser opens the page of so
/// many in a second or two.
const MOST: u64 = 5_000;

/// Writes the whole world into a file, and says what is in it.
fn export(
    args: &ExploreArgs,
    world: &Arc<World>,
    properties: Vec<Property>,
    file: &Path,
) -> anyhow::Result<Exit> {
    let most = args.limits.max_states.unwrap_or(MOST);
    let whole = Whole::of(world, &properties, usize::try_from(most).unwrap_or(usize::MAX));
    let whole = whole.map_err(too_large)?;
    // So many states are within any limit.
    let limits = Limits { states: None, ..args.limits.limits() };
    let threads = args.limits.threads();
    let options = Options { engine: Engine::Exact, threads, limits, ..Options::default() };
    let verdicts = Verdicts::new(Arc::clone(world), properties, options);
    verdicts.decide();
    let page = whole.html(&verdicts.view());
    let mut told = format!(
        "{}: {}\n{} states, {} steps, {}\n",
        args.protocol.typed(),
        world.scenario(),
        HumanCount(whole.states() as u64),
        HumanCount(whole.steps() as u64),
        HumanBytes(page.len() as u64)
    );
    let saved = fs::write(file, page).with_context(|| {
        format!("cannot write {}; give --export a file that has room", file.display())
    });
    if saved.is_ok() {
        told += &format!("Saved: {}\n", file.display());
    }
    Ok(Exit::with(HOLDS).note_saved(saved).note_printed(io::stdout().write_all(told.as_bytes())))
}

/// What is wrong with a world that has too many states, and what to do.
fn too_large(wrong: TooMany) -> anyhow::Error {
    let more = wrong.most.saturating_mul(4);
    anyhow!(
        "{wrong}, too many for one page; make it smaller, as with fewer --nodes or faults, allow \
         more, as with --max-states {more}, or leave --export out: then a page is served"
    )
}

//! `explore`: stateright's Explorer on a world.
//!
//! The Explorer's own server stops the whole program with a panic when its address is in use or
//! when a browser hangs up in the middle of an answer. It therefore listens on a private port of
//! the loopback interface, and a [relay](relay) in front of it always reads its whole
//! answer.

mod relay;

use super::{HOLDS, ProtocolArgs, Tool, WorldArgs, world};
use crate::check::model::{Model, named};
use crate::check::{self, Limits, Options};
use crate::erased::{AnyAction, AnyProperty, AnyWorld};
use anyhow::{Context, anyhow};
use clap::Args;
use stateright::Model as _;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// Where the Explorer listens if nothing else is said.
pub(super) const ADDRESS: &str = "127.0.0.1:3000";

/// How long the Explorer's own server may take to start.
const START: Duration = Duration::from_secs(10);

/// The flags of `explore`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct ExploreArgs {
    #[command(flatten)]
    protocol: ProtocolArgs,

    #[command(flatten)]
    world: WorldArgs,

    /// Where to listen; port 0 picks a free one
    #[arg(long, default_value = ADDRESS, value_name = "HOST:PORT")]
    address: String,

    /// Search only what is looked at, until "Run to completion" is pressed (for large worlds)
    #[arg(long)]
    on_demand: bool,
}

const EXAMPLES: &str = "\
Examples:
  bellwether-model explore bully --recoveries 1
  bellwether-model explore bully --variant baseline --network set --address 127.0.0.1:0
  bellwether-model explore bully --nodes 5 --crashes 2 --on-demand

The page shows the safety properties and a counterexample to each, not always a shortest one; the
addresses that are printed open shortest ones. Liveness is decided by 'check'.";

/// How much is searched for shortest counterexamples beside the Explorer.
const BESIDE: Limits =
    Limits { states: Some(300_000), time: Some(Duration::from_secs(20)), memory: None };

pub(super) fn run(tool: Tool, args: &ExploreArgs) -> anyhow::Result<u8> {
    let world = world(tool.registry, &args.protocol, &args.world)?;
    let carried = world.select(&[])?;
    let scenario = world.scenario();
    let listener = listen(&args.address)?;
    let address = listener.local_addr()?;
    let inside = serve(Model::new(&*world, carried.iter().map(named).collect()))?;
    if !args.on_demand {
        relay::post(inside, "/.runtocompletion").context("starting the search")?;
    }
    let mut out = std::io::stdout();
    writeln!(out, "{}: {scenario}", args.protocol.typed())?;
    writeln!(out, "Explorer: http://{address}/\nStop it with Ctrl-C.")?;
    out.flush()?;
    if !args.on_demand {
        thread::spawn(move || tell_violations(&*world, &carried, address));
    }
    relay::run(&listener, inside);
    Ok(HOLDS)
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

/// Starts stateright's server on a free port of the loopback interface.
fn serve(model: Model) -> anyhow::Result<SocketAddr> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    let inside = free.context("no free port on the loopback interface")?;
    let server = thread::spawn(move || {
        let _ = model.checker().serve(inside);
    });
    let started = Instant::now();
    while TcpStream::connect(inside).is_err() {
        if server.is_finished() || started.elapsed() > START {
            return Err(anyhow!("the Explorer did not start on {inside}; try again"));
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(inside)
}

/// Prints where the Explorer shows shortest counterexamples: its own search finds longer ones.
fn tell_violations(world: &dyn AnyWorld, properties: &[AnyProperty], address: SocketAddr) {
    let options = Options { limits: BESIDE, ..Options::default() };
    let Ok(report) = check::decide(world, properties, &options, &mut |_| {}) else { return };
    let mut told = String::new();
    for decision in &report.decisions {
        let Some(found) = &decision.counterexample else { continue };
        let link = link(world, &found.actions(), &address.to_string());
        told += &format!("{} is violated: {link}\n", decision.property.name);
    }
    // The Explorer works even if this cannot be printed.
    let _ = std::io::stdout().write_all(told.as_bytes());
}

/// The address at which an Explorer that listens at `address` shows the state after `steps`.
pub(super) fn link(world: &dyn AnyWorld, steps: &[AnyAction], address: &str) -> String {
    let positions = world.positions(steps).into_iter();
    positions.fold(format!("http://{address}/#/steps/0"), |link, at| format!("{link}/{at}"))
}

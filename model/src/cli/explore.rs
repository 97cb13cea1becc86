//! `explore`: stateright's Explorer on a world.
//!
//! The Explorer's own server stops the whole program with a panic when its address is in use or
//! when a browser hangs up in the middle of an answer. It therefore listens on a private port of
//! the loopback interface, and a [relay](relay) stands in front of it that always hears it out.

mod relay;

use super::{HOLDS, ProtocolArgs, WorldArgs, dispatch, world};
use crate::property;
use crate::protocol::{Protocol, Visitor};
use crate::world::{Action, World};
use anyhow::{Context, anyhow};
use clap::Args;
use stateright::Model;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// Where the Explorer listens if nothing else is said.
const ADDRESS: &str = "127.0.0.1:3000";

/// How long the Explorer's own server may take to start.
const START: Duration = Duration::from_secs(10);

/// The flags of `explore`.
#[derive(Debug, Args)]
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

pub(super) fn run(args: &ExploreArgs) -> anyhow::Result<u8> {
    dispatch(&args.protocol.protocol, Explore(args))
}

struct Explore<'a>(&'a ExploreArgs);

impl Visitor for Explore<'_> {
    type Output = anyhow::Result<u8>;

    fn visit<P: Protocol>(self) -> anyhow::Result<u8> {
        let args = self.0;
        let world = world::<P>(&args.protocol, &args.world)?;
        let carried = property::select(&world, &[])?;
        let world = world.with_properties(carried);
        let dials = world.dials();
        let listener = listen(&args.address)?;
        let address = listener.local_addr()?;
        let inside = serve(world)?;
        if !args.on_demand {
            relay::post(inside, "/.runtocompletion").context("starting the search")?;
        }
        let mut out = std::io::stdout();
        writeln!(out, "{}: {dials}", args.protocol.typed())?;
        writeln!(out, "Explorer: http://{address}/\nStop it with Ctrl-C.")?;
        out.flush()?;
        relay::run(&listener, inside);
        Ok(HOLDS)
    }
}

fn listen(address: &str) -> anyhow::Result<TcpListener> {
    let resolved: Vec<SocketAddr> = address
        .to_socket_addrs()
        .with_context(|| format!("--address {address}: give HOST:PORT, such as {ADDRESS}"))?
        .collect();
    TcpListener::bind(resolved.as_slice()).with_context(|| {
        format!(
            "cannot listen on {address}; stop what listens there, or choose another port with \
             --address (port 0 picks a free one)"
        )
    })
}

/// Starts stateright's server on a free port of the loopback interface.
fn serve<P: Protocol>(world: World<P>) -> anyhow::Result<SocketAddr> {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    let inside = free.context("no free port on the loopback interface")?;
    let server = thread::spawn(move || {
        let _ = world.checker().serve(inside);
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

/// The Explorer's address of the state after `steps`, if it listens where it does by default.
pub(super) fn link<'a, P: Protocol>(
    world: &World<P>,
    steps: impl Iterator<Item = &'a Action<P>>,
) -> String {
    let mut state = world.initial();
    let mut link = format!("http://{ADDRESS}/#/steps/0");
    let mut enabled = Vec::new();
    for step in steps {
        enabled.clear();
        world.enabled(&state, &mut enabled);
        let position = enabled.iter().position(|action| action == step);
        link += &format!("/{}", position.unwrap_or_default());
        state = world.apply(&state, step).state;
    }
    link
}

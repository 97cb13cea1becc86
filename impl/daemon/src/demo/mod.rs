//! `bellwether demo`: a cluster on this machine, and a page where a person can break it.

mod nodes;
mod proxy;

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::anyhow;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bellwether::internal::config::Address;
use rand::distr::{Alphanumeric, SampleString as _};
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use self::nodes::Nodes;
use super::{Failure, itself, print, threads};

/// Run a cluster on this machine, with a page where you can break it and watch
///
/// The nodes are processes of their own on the loopback interface; the page lets you kill, start,
/// pause and continue each, and cut and heal each link between two. Everything that they keep is in
/// a temporary directory. Ctrl-C ends all of them, and removes it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether demo
  bellwether demo --nodes 3 --page 127.0.0.1:9000")]
pub(crate) struct Args {
    /// How many nodes
    #[arg(long, value_name = "COUNT", default_value_t = 5)]
    #[arg(value_parser = nodes)]
    nodes: u16,

    /// Where to serve the page: an address of the loopback interface
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:8088")]
    page: Address,
}

/// What the page can use.
#[derive(Clone)]
struct Shared {
    nodes: Arc<Nodes>,
    /// What only the page itself knows: no other page in the browser can break anything.
    secret: Arc<str>,
    /// Where the page is.
    address: Address,
}

fn nodes(text: &str) -> Result<u16, String> {
    let nodes = text.parse().ok().filter(|nodes| (2..=9).contains(nodes));
    nodes.ok_or_else(|| "give a whole number from 2 to 9".to_owned())
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if !args.page.is_loopback() {
        let problem = "the page lets anyone stop processes: use an address of this machine alone";
        return Err(Failure::configuration(anyhow!(problem)));
    }
    let runtime = threads::runtime(threads::workers()).map_err(Failure::runtime)?;
    let result = runtime.block_on(demonstrate(args));
    result.map_err(Failure::runtime)?;
    Ok(ExitCode::SUCCESS)
}

async fn demonstrate(args: &Args) -> anyhow::Result<()> {
    // Asked for first, so that a signal during the start is not lost.
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let listener = TcpListener::bind(args.page.as_str()).await.map_err(|error| {
        anyhow!("cannot listen on {}: {error}; give the page another address (--page)", args.page)
    })?;
    let folder = tempfile::Builder::new().prefix("bellwether-demo-").tempdir()?;
    let nodes = Arc::new(Nodes::start(args.nodes, folder.path()).await?);
    let secret = Alphanumeric.sample_string(&mut rand::rng(), 32).into();
    let shared = Shared { nodes: Arc::clone(&nodes), secret, address: args.page.clone() };
    let router = Router::new()
        .route("/", get(page))
        .route("/state", get(state))
        .route("/act", post(act))
        .with_state(shared.clone())
        .layer(from_fn_with_state(shared, is_meant));
    let (count, address, folder_name) = (args.nodes, &args.page, folder.path().display());
    let text = format!(
        "{count} nodes run. Their page: http://{address}/\nTheir logs: {folder_name}/*/log\n\
         Ctrl-C ends them.\n"
    );
    let _ = print(&text);
    tokio::select! {
        () = bellwether::http::serve(listener, router) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
        _ = hangup.recv() => {}
    }
    nodes.end();
    folder.close()?;
    Ok(())
}

/// Refuses what a browser asks of a host with another name. A foreign page whose name leads to this
/// machine could read the secret otherwise.
async fn is_meant(State(shared): State<Shared>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let address =
        host.and_then(|host| host.parse().ok().or_else(|| format!("{host}:80").parse().ok()));
    if address.is_some_and(|address: Address| address.is_loopback()) {
        return next.run(request).await;
    }
    let text = format!("this page is at http://{}/\n", shared.address);
    (StatusCode::MISDIRECTED_REQUEST, text).into_response()
}

/// The page, with what it shows when it asks for something.
async fn page(State(shared): State<Shared>) -> Html<String> {
    Html(include_str!("page.html").replace("{{secret}}", &shared.secret))
}

async fn state(State(shared): State<Shared>) -> Response {
    ([(header::CACHE_CONTROL, "no-store")], Json(shared.nodes.state())).into_response()
}

/// What a person asks for.
#[derive(Debug, Deserialize)]
struct Act {
    what: String,
    node: u16,
    other: Option<u16>,
}

async fn act(State(shared): State<Shared>, headers: HeaderMap, Query(act): Query<Act>) -> Response {
    let shown = headers.get("x-demo").and_then(|value| value.to_str().ok());
    if shown != Some(&*shared.secret) {
        return StatusCode::FORBIDDEN.into_response();
    }
    match shared.nodes.act(&act.what, act.node, act.other) {
        Ok(()) => Json(json!({ "done": true })).into_response(),
        Err(error) => {
            (StatusCode::CONFLICT, Json(json!({ "error": error.to_string() }))).into_response()
        }
    }
}

/// Take part in elections until the demonstration is over
#[derive(Debug, clap::Args)]
#[group(skip)]
pub(crate) struct NodeArgs {
    /// The process of the demonstration
    #[arg(long, value_name = "PROCESS")]
    of: u32,

    #[command(flatten)]
    node: super::run::Args,
}

pub(crate) fn run_node(args: &NodeArgs) -> Result<ExitCode, Failure> {
    itself::take_name();
    if is_over(args.of).map_err(Failure::runtime)? {
        return Ok(ExitCode::SUCCESS);
    }
    super::run::run(&args.node)
}

/// Whether the demonstration is over. From here on this process is killed when it is, also while
/// it stands still.
#[cfg(target_os = "linux")]
fn is_over(demonstration: u32) -> std::io::Result<bool> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // It may have ended just before.
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().unsigned_abs());
    Ok(parent != Some(demonstration))
}

/// Elsewhere it is killed only if the demonstration ends as it should.
#[cfg(not(target_os = "linux"))]
fn is_over(_: u32) -> std::io::Result<bool> {
    Ok(false)
}

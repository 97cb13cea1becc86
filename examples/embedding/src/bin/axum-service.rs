//! A service on axum in which only the leader takes writes. Three instances run in one process;
//! then the leader steps down, and another takes the writes.
//!
//! `cargo run --release -p embedding --bin axum-service`

use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::post;
use bellwether::storage::Memory;
use bellwether::{Config, Election, Handle, http};
use tokio::net::TcpListener;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Takes an order, if this instance leads.
async fn order(State(election): State<Handle>) -> (StatusCode, String) {
    match election.guard() {
        // The epoch goes along with the write, to a store that refuses older ones.
        Some(guard) => (StatusCode::OK, format!("taken in epoch {}\n", guard.epoch())),
        None => {
            let leader = election.leadership().now().leader;
            let leader = leader.map_or("no leader".to_owned(), |leader| format!("node {leader}"));
            (StatusCode::MISDIRECTED_REQUEST, format!("ask the leader: {leader}\n"))
        }
    }
}

/// One instance: its own endpoints, and those of the election below `/election`.
async fn serve(election: &Election) -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?.to_string();
    let app = axum::Router::new()
        .route("/orders", post(order))
        .with_state(election.handle())
        .nest("/election", http::router(election, http::Options::default()));
    tokio::spawn(http::serve(listener, app));
    let handle = election.handle();
    tokio::spawn(async move {
        // What only the leader does by itself.
        let work = |guard: bellwether::Guard| async move {
            println!("the work of epoch {} begins", guard.epoch());
            std::future::pending::<()>().await;
        };
        handle.run_while_leader(work).await
    });
    Ok(address)
}

/// Sends an order to this instance.
fn send(address: &str) -> Result<(u16, String)> {
    let agent: ureq::Agent =
        ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent.post(format!("http://{address}/orders")).send_empty()?;
    Ok((answer.status().as_u16(), answer.body_mut().read_to_string()?))
}

#[tokio::main]
async fn main() -> Result<()> {
    let mut listeners = Vec::new();
    for node in 1..=3 {
        listeners.push((node, TcpListener::bind("127.0.0.1:0").await?));
    }
    let address =
        |(node, listener): &(u16, TcpListener)| Ok((*node, listener.local_addr()?.to_string()));
    let members = listeners.iter().map(address).collect::<Result<Vec<_>>>()?;
    let mut instances = Vec::new();
    for (node, listener) in listeners {
        // Elsewhere `Election::join`, with what must survive a crash in `Config::with_directory`.
        let config = Config::new("orders", node, members.clone())?;
        let election = Election::join_with(config, listener, Memory::default())?;
        let address = serve(&election).await?;
        instances.push((election, address));
    }
    for _ in 0..2 {
        let leader = async {
            loop {
                let leads = |(election, _): &&(Election, String)| election.guard().is_some();
                if let Some(leader) = instances.iter().find(leads) {
                    return leader;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let (leader, _) = leader.await;
        for (election, address) in &instances {
            let to = address.clone();
            let (status, text) = tokio::task::spawn_blocking(move || send(&to)).await??;
            print!("node {}: {status} {text}", election.leadership().now().node);
        }
        println!("-- the leader steps down --");
        leader.handle().step_down(Duration::from_secs(60)).await?;
    }
    for (election, _) in instances {
        election.leave().await?;
    }
    Ok(())
}

//! Three members in one process: two watch which node leads, then the leader leaves.
//!
//! `cargo run --release -p bellwether --example watch_leadership`

use bellwether::{Config, Election, Leadership, NodeId};
use tokio::net::TcpListener;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What a service does: join, then act on every change of leadership.
async fn serve(config: Config, listener: TcpListener) -> Result<Election> {
    let election = Election::join_on(config, listener)?;
    let mut leadership = election.leadership();
    tokio::spawn(async move {
        while leadership.changed().await.is_ok() {
            let now = *leadership.borrow_and_update();
            let leader =
                now.leader.map_or("no leader".to_owned(), |leader| format!("leader {leader}"));
            println!("node {} is {:<11}: {leader}", now.node, now.role);
        }
    });
    Ok(election)
}

#[tokio::main]
async fn main() -> Result<()> {
    // Ports that the system chooses, so that the example runs anywhere.
    let mut listeners = Vec::new();
    for node in 1..=3 {
        listeners.push((node, TcpListener::bind("127.0.0.1:0").await?));
    }
    let address = |(node, listener): &(u16, TcpListener)| Ok((*node, listener.local_addr()?));
    let members = listeners.iter().map(address).collect::<Result<Vec<_>>>()?;
    let members = members.into_iter().map(|(node, address)| (node, address.to_string()));

    let mut elections = Vec::new();
    for (node, listener) in listeners {
        elections.push(serve(Config::new("example", node, members.clone())?, listener).await?);
    }
    let mut seen_by_one = elections[0].leadership();
    let leads = |number| move |now: &Leadership| now.leader.map(NodeId::get) == Some(number);

    seen_by_one.wait_for(leads(3)).await?;
    println!("-- node 3 leaves --");
    if let Some(highest) = elections.pop() {
        highest.leave().await?;
    }
    seen_by_one.wait_for(leads(2)).await?;
    println!("-- node 2 has taken over --");
    Ok(())
}

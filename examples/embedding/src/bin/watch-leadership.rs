//! Three members in one process: two watch which node leads, then the leader leaves.
//!
//! `cargo run --release -p embedding --bin watch-leadership`

use bellwether::storage::Memory;
use bellwether::{Config, Election};
use tokio::net::TcpListener;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What a service does: join, then act on every change of leadership.
async fn serve(config: Config, listener: TcpListener) -> Result<Election> {
    // Elsewhere `Election::join`, with what must survive a crash in `Config::with_directory`.
    let election = Election::join_with(config, listener, Memory::default())?;
    let mut leadership = election.leadership();
    tokio::spawn(async move {
        while let Some(now) = leadership.changed().await {
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
    let seen = seen_by_one.wait_for(|now| now.leader.is_some()).await;
    let first = seen.ok_or("it takes part")?.leader;
    let position = elections.iter().position(|node| Some(node.leadership().now().node) == first);
    let leader = elections.remove(position.ok_or("the leader is one of them")?);
    let guard = leader.guard().ok_or("it leads with a lease")?;
    println!("-- the leader of epoch {} leaves --", guard.epoch());
    leader.leave().await?;
    let mut seen = elections[0].leadership();
    let other = seen.wait_for(|now| now.leader.is_some() && now.leader != first).await;
    other.ok_or("it takes part")?;
    println!("-- another has taken over --");
    Ok(())
}

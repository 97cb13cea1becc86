//! Every piece of code of `docs/library.md`, in a program: one node of three that does its work
//! while it leads. Start three in three terminals, each with its number:
//! `cargo run -p embedding --bin library -- 1`; with `slow` behind it, for a slow network, and with
//! `lease`, for a database in place of the others.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context as _;
use bellwether::{Config, Election, Epoch, Timing};
use tokio::process::{Child, Command};

/// The work of a leader.
async fn next_job() -> u64 {
    tokio::time::sleep(Duration::from_secs(1)).await;
    rand::random()
}

async fn write(job: u64, epoch: Epoch) {
    println!("job {job:x} in epoch {}", epoch.number());
}

/// A step of work that cannot be dropped.
fn step(epoch: Epoch) {
    println!("a step in epoch {}", epoch.number());
    std::thread::sleep(Duration::from_millis(100));
}

async fn work(election: &Election) -> anyhow::Result<()> {
    election
        .run_while_leader(|guard| async move {
            loop {
                let job = next_job().await;
                write(job, guard.epoch()).await;
            }
        })
        .await?;
    Ok(())
}

async fn watch(election: &Election) {
    let mut leadership = election.leadership();
    while let Some(now) = leadership.changed().await {
        println!("{:?} leads, epoch {:?}: {:?}", now.leader, now.epoch, now.reason);
    }
}

fn one_by_one(election: &Election) {
    if let Some(guard) = election.guard() {
        while guard.is_valid_now() {
            step(guard.epoch());
        }
    }
}

/// A process that works for the leader.
fn start(epoch: Epoch) -> std::io::Result<Child> {
    Command::new("sleep").arg("600").env("EPOCH", epoch.number().to_string()).spawn()
}

async fn in_a_process(election: &Election) -> anyhow::Result<()> {
    if let Some(work) = election.begin_work() {
        let mut child = start(work.guard().epoch())?;
        tokio::select! {
            _ = child.wait() => {}
            () = work.asked_to_end() => child.kill().await?,
        }
        drop(work);
    }
    Ok(())
}

async fn join(node: u16, folder: PathBuf) -> anyhow::Result<Election> {
    let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    let config = Config::new("orders", node, members)?.with_directory(folder);
    let election = Election::join(config).await?;
    Ok(election)
}

/// The same, for a network that is slow at times.
async fn join_slowly(node: u16, folder: PathBuf) -> anyhow::Result<Election> {
    let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    let config = Config::new("orders", node, members)?.with_directory(folder);
    let slow = Timing {
        round: Duration::from_millis(500),
        lease: Duration::from_secs(3),
        promise: Duration::from_secs(4),
        ..Timing::DEFAULT
    };
    let config = config.with_section(slow)?;
    Ok(Election::join(config).await?)
}

/// Without a list of members.
async fn join_lease() -> anyhow::Result<Election> {
    let config = Config::lease("orders", "sqlite:orders.db")?;
    let election = Election::join(config).await?;
    Ok(election)
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let node: u16 = std::env::args().nth(1).context("which node: 1, 2 or 3?")?.parse()?;
    let folder = std::env::temp_dir().join(format!("bellwether-library-{node}"));
    let election = match std::env::args().nth(2).as_deref() {
        Some("slow") => join_slowly(node, folder).await?,
        Some("lease") => join_lease().await?,
        _ => join(node, folder).await?,
    };
    tokio::select! {
        ended = work(&election) => ended?,
        () = watch(&election) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    one_by_one(&election);
    in_a_process(&election).await?;
    Ok(election.leave().await?)
}

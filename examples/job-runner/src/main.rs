//! The classic of leader election: several instances of a program, one table of jobs, and only the
//! leader works. The table has a [fence](bellwether::fence), so that a leader which was paused, and
//! goes on when another leads, cannot do a job that is done already.
//!
//! ```sh
//! cargo build -p job-runner
//! target/debug/job-runner create --database jobs.db --jobs 100
//! for node in 1 2 3; do
//!   target/debug/job-runner run --config examples/job-runner/cluster.toml --node $node \
//!     --database jobs.db &
//! done
//! target/debug/job-runner results --database jobs.db
//! ```

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use bellwether::{Config, Election, Overrides};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use self::runner::Runner;
use self::table::{Failure, Job};

mod runner;
mod table;

/// Several instances, one table of jobs, and only the leader works
#[derive(Debug, Parser)]
enum Args {
    /// Make the tables
    Create {
        /// `postgres://...`, or the path of a file of SQLite
        #[arg(long)]
        database: String,
        /// How many jobs there are
        #[arg(long)]
        jobs: i64,
        /// How long each takes, in milliseconds
        #[arg(long, default_value_t = 50)]
        takes: u64,
        /// How long some of them take instead: NUMBER=MILLISECONDS
        #[arg(long, value_parser = exception)]
        except: Vec<(i64, u64)>,
    },
    /// Take part in the election, and work while this node leads
    Run {
        /// The configuration of the cluster
        #[arg(long)]
        config: PathBuf,
        /// Which of its nodes this is
        #[arg(long)]
        node: u16,
        /// `postgres://...`, or the path of a file of SQLite
        #[arg(long)]
        database: String,
        /// Do not ask the database whether this node may write, to see what goes wrong then
        #[arg(long)]
        unfenced: bool,
    },
    /// Print what was done: job, node and epoch of each result, in their order
    Results {
        /// `postgres://...`, or the path of a file of SQLite
        #[arg(long)]
        database: String,
    },
}

fn exception(text: &str) -> Result<(i64, u64), String> {
    let parts = text
        .split_once('=')
        .and_then(|(job, takes)| Some((job.parse().ok()?, takes.parse().ok()?)));
    parts.ok_or_else(|| "write NUMBER=MILLISECONDS, as in 7=500".to_owned())
}

fn main() -> anyhow::Result<()> {
    match Args::parse() {
        Args::Create { database, jobs, takes, except } => {
            let takes = |id| except.iter().find(|(job, _)| *job == id).map_or(takes, |job| job.1);
            let job = |id| Job { id, takes: Duration::from_millis(takes(id)) };
            let jobs: Vec<Job> = (1..=jobs).map(job).collect();
            table::open(&database)?.create(&jobs).map_err(error)
        }
        Args::Run { config, node, database, unfenced } => run(&config, node, database, !unfenced),
        Args::Results { database } => {
            for (job, node, epoch) in table::open(&database)?.results().map_err(error)? {
                say(&format!("job {job} node {node} epoch {epoch}"));
            }
            Ok(())
        }
    }
}

fn error(failure: Failure) -> anyhow::Error {
    match failure {
        Failure::Stale(stale) => stale.into(),
        Failure::Database(error) => error,
    }
}

#[tokio::main]
async fn run(
    config: &std::path::Path,
    node: u16,
    database: String,
    fenced: bool,
) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let overrides = Overrides { node: bellwether::NodeId::new(node), ..Overrides::default() };
    let (config, _) = <Config>::load(config, overrides)?;
    anyhow::ensure!(
        config.groups().is_empty(),
        "[groups]: this program works for one election; remove the section"
    );
    let election = Arc::new(Election::join(config).await?);
    let stop = Arc::new(AtomicBool::new(false));
    // The databases block: they have a thread of their own, and the election goes on beside it.
    let worker = thread::spawn({
        let (election, stop) = (Arc::clone(&election), Arc::clone(&stop));
        let runner = Runner { node, guard: move || election.guard(), database, fenced };
        move || runner.run(&stop)
    });
    terminate.recv().await;
    stop.store(true, Ordering::Relaxed);
    tokio::task::spawn_blocking(|| worker.join())
        .await?
        .map_err(|_| anyhow!("the worker panicked"))?;
    if let Some(election) = Arc::into_inner(election) {
        election.leave().await?;
    }
    Ok(())
}

/// Prints a line, if there is a reader.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{line}");
}

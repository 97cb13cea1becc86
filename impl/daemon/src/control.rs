//! `bellwether transfer`, `step-down`, `freeze` and `maintenance`: asks something of a running
//! node.

use std::process::ExitCode;
use std::time::Duration;

use bellwether::NodeId;
use bellwether::internal::config;
use serde_json::Value;

use super::client::Asker;
use super::{Failure, found, json};

/// Let another member lead instead of the leader that is asked
///
/// It is done when the other node is heard to lead. If that is frozen, unfit, paused or cannot be
/// reached, the node that is asked leads on. Exit status 1 if the other does not lead in the end,
/// and the message says which node does.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether transfer --config orders.toml --node 3 --to 2
  bellwether transfer --http 10.0.0.3:8080 --token-file token --to 2")]
pub(crate) struct TransferArgs {
    #[command(flatten)]
    asker: Asker,

    /// The member that is to lead
    #[arg(long, value_name = "ID")]
    to: NodeId,
}

/// Let a node lead no longer, and not stand for election for a time
///
/// A leader hands over to the member that follows it best. For the given time the node follows and
/// votes, but does not stand for election, and is no successor. A restart forgets it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether step-down --config orders.toml --node 3 --for 10min
  bellwether step-down --http 10.0.0.3:8080 --token-file token --for 30s --json")]
pub(crate) struct StepDownArgs {
    #[command(flatten)]
    asked: ForATime,
}

/// Keep a node from standing for election for a time, and leave a leader alone
///
/// For the given time a node that does not lead does not stand for election: it follows and votes,
/// and is no successor. A node that leads goes on leading and renews its lease; if it loses the
/// lease within that time, it does not stand for election either until the time is over. Frozen
/// nodes leave the cluster without a leader if no other can lead. A restart forgets it.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether freeze --config orders.toml --node 2 --for 1h
  bellwether freeze --http 10.0.0.2:8080 --token-file token --for 10min")]
pub(crate) struct FreezeArgs {
    #[command(flatten)]
    asked: ForATime,
}

/// Begin or end the maintenance of the whole cluster
///
/// While it lasts, no node stands for election: the leader leads on, and if it is lost, none takes
/// over until the maintenance is ended. Any node can be asked. Each remembers it through restarts,
/// and tells all others, those that are down once they are connected.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether maintenance begin --config orders.toml --node 2
  bellwether maintenance end --http 10.0.0.3:8080 --token-file token")]
pub(crate) struct MaintenanceArgs {
    /// Whether it begins or ends
    #[arg(value_name = "begin|end")]
    what: Moment,

    #[command(flatten)]
    asker: Asker,
}

/// One end of a maintenance.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Moment {
    Begin,
    End,
}

/// Which node is asked not to stand for election, and for how long.
#[derive(Debug, clap::Args)]
struct ForATime {
    #[command(flatten)]
    asker: Asker,

    /// For how long it does not stand for election
    #[arg(long = "for", value_name = "TIME", value_parser = config::duration)]
    time: Duration,
}

pub(crate) fn transfer(args: &TransferArgs) -> Result<ExitCode, Failure> {
    ask(&args.asker, &format!("/transfer?to={}", args.to))
}

pub(crate) fn step_down(args: &StepDownArgs) -> Result<ExitCode, Failure> {
    args.asked.ask("/step-down")
}

pub(crate) fn freeze(args: &FreezeArgs) -> Result<ExitCode, Failure> {
    args.asked.ask("/freeze")
}

pub(crate) fn maintenance(args: &MaintenanceArgs) -> Result<ExitCode, Failure> {
    let MaintenanceArgs { what, asker } = args;
    let answer = asker.post(&format!("/maintenance?on={}", matches!(what, Moment::Begin)))?;
    if asker.target.json {
        return found(0, &json::line(&answer)?);
    }
    let nodes = |key: &str| {
        let ids = answer[key].as_array().into_iter().flatten();
        ids.map(Value::to_string).collect::<Vec<_>>().join(", ")
    };
    let is = match what {
        Moment::Begin => "the cluster is in maintenance",
        Moment::End => "the maintenance of the cluster is ended",
    };
    let (known, missing) = (nodes("known"), nodes("missing"));
    let rest = match missing.as_str() {
        "" => String::new(),
        missing => format!("not yet at {missing}, which learn of it once they are connected\n"),
    };
    found(0, &format!("done: {is} at {known}\n{rest}"))
}

impl ForATime {
    fn ask(&self, path: &str) -> Result<ExitCode, Failure> {
        ask(&self.asker, &format!("{path}?for={}ms", self.time.as_millis()))
    }
}

fn ask(asker: &Asker, path: &str) -> Result<ExitCode, Failure> {
    let answer = asker.post(path)?;
    let text = match (answer["next"].as_u64(), answer["epoch"].as_u64()) {
        _ if asker.target.json => json::line(&answer)?,
        (Some(next), Some(epoch)) => format!("done: node {next} leads, epoch {epoch}\n"),
        (Some(next), None) => format!("done: node {next} leads\n"),
        (None, _) => "done\n".to_owned(),
    };
    found(0, &text)
}

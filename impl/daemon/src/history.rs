//! `bellwether history` and `bellwether events`: what a node has seen, and sees.

use std::process::ExitCode;
use std::time::Duration;

use serde_json::Value;

use super::client::Target;
use super::{Failure, found, json, put};

/// Show the last changes that a running node has seen
///
/// Up to 256 since its start, the oldest first: number, time, role, leader, epoch and reason.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether history --config orders.toml --node 3
  bellwether history --http 10.0.0.3:8080 --json")]
pub(crate) struct HistoryArgs {
    #[command(flatten)]
    target: Target,
}

/// Follow the changes of a running node as they come
///
/// Begins with the latest one. If the connection breaks, it is made again, and what was missed is
/// shown. Ends with Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether events --config orders.toml --node 3
  bellwether events --http 10.0.0.3:8080 --json | jq .leader")]
pub(crate) struct EventsArgs {
    #[command(flatten)]
    target: Target,
}

/// How long to wait before a connection that broke is made again.
const AGAIN: Duration = Duration::from_secs(1);

pub(crate) fn history(args: &HistoryArgs) -> Result<ExitCode, Failure> {
    let changes = args.target.reader()?.get("/history")?;
    let text = if args.target.json {
        json::line(&serde_json::json!({ "changes": changes }))?
    } else {
        changes.as_array().into_iter().flatten().map(line).collect()
    };
    found(0, &text)
}

pub(crate) fn events(args: &EventsArgs) -> Result<ExitCode, Failure> {
    let client = args.target.reader()?;
    let mut last: Option<String> = None;
    let mut connected = false;
    let mut told = Ok(true);
    loop {
        let seen = last.clone();
        let goes_on = client.follow(seen.as_deref(), |id, change| {
            connected = true;
            last = Some(id.to_owned());
            let text = if args.target.json { json::line(change) } else { Ok(line(change)) };
            told = text.and_then(|text| put(&text));
            matches!(told, Ok(true))
        });
        match goes_on {
            Ok(true) => {}
            // The reader of the output has gone, or there is no room for it.
            Ok(false) => return told.map(|_| ExitCode::SUCCESS),
            Err(failure) if !connected => return Err(failure),
            Err(_) => {}
        }
        std::thread::sleep(AGAIN);
    }
}

/// A change as a line, for people.
fn line(change: &Value) -> String {
    let text = |key: &str| match &change[key] {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let [seq, time, role, leader, epoch, reason, rival] =
        ["seq", "time", "role", "leader", "epoch", "reason", "rival"].map(text);
    let rival = if rival == "-" { String::new() } else { format!(" of node {rival}") };
    format!("{seq:>4}  {time}  {role:<11}  leader {leader:<5}  epoch {epoch:<5}  {reason}{rival}\n")
}

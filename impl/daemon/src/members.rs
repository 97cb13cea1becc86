//! `bellwether members`: shows and changes the members of a cluster.

use std::process::ExitCode;
use std::str::FromStr;

use bellwether::NodeId;
use bellwether::internal::config::Address;
use serde_json::Value;

use super::client::{Asker, Target};
use super::{Failure, found, json};

/// Show or change the members of a cluster, one at a time, through its leader
///
/// The new list is decided once a majority of the old list and of the new one has made it durable.
/// The leader leads on, and no node starts anew. A new voter counts in no majority, and does not
/// vote, before the leader has met it and has let it in. The decided list counts, whatever the files
/// of the nodes say; keep the files up to date for a node that loses its directory. A leader that is
/// to leave, or only to observe, stops leading first, and says which node to ask instead.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  bellwether members list --config orders.toml --node 3
  bellwether members add 4=10.0.0.4:7000 --config orders.toml --node 3
  bellwether members remove 2 --http 10.0.0.3:8080 --token-file token

To add a node: add it, and start it with a file that has it and all members, in either order. It
votes once the leader has met it. To replace one that is gone: remove it, then add the next.")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    /// Print the members as a file has them, and the next list if one is not decided yet
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Add a member that votes once the leader has met it
    Add(Added),
    /// Add a member that only observes
    AddObserver(Added),
    /// Remove a member
    Remove(Named),
    /// Let a member that votes only observe
    Observe(Named),
    /// Let a member that only observes vote, once the leader has met it
    Vote(Named),
}

/// A node that is no member yet.
#[derive(Debug, clap::Args)]
struct Added {
    /// The node, and where the others reach it
    #[arg(value_name = "ID=HOST:PORT")]
    place: Place,

    #[command(flatten)]
    asker: Asker,
}

/// A member.
#[derive(Debug, clap::Args)]
struct Named {
    /// The member
    #[arg(value_name = "ID")]
    member: NodeId,

    #[command(flatten)]
    asker: Asker,
}

/// A node and its address.
#[derive(Clone, Debug)]
pub(super) struct Place(pub(super) NodeId, pub(super) Address);

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (node, address) = text.split_once('=').ok_or("write ID=HOST:PORT")?;
        let node = node.parse().map_err(|error| format!("{error}"))?;
        Ok(Self(node, address.parse().map_err(|error| format!("{error}"))?))
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.what {
        What::List { target } => list(target),
        What::Add(added) => add("add", added),
        What::AddObserver(added) => add("add-observer", added),
        What::Remove(named) => name("remove", named),
        What::Observe(named) => name("observe", named),
        What::Vote(named) => name("vote", named),
    }
}

fn add(change: &str, Added { place: Place(node, address), asker }: &Added) -> Answer {
    let path = format!("/members?change={change}&node={node}&address={address}");
    ask(asker, &path, &votes(change, *node))
}

fn name(change: &str, Named { member, asker }: &Named) -> Answer {
    let path = format!("/members?change={change}&node={member}");
    ask(asker, &path, &votes(change, *member))
}

/// When a new voter votes.
fn votes(change: &str, node: NodeId) -> String {
    match change {
        "add" | "vote" => format!("; node {node} votes once the leader has met it"),
        _ => String::new(),
    }
}

type Answer = Result<ExitCode, Failure>;

fn ask(asker: &Asker, path: &str, votes: &str) -> Answer {
    let answer = asker.post(path)?;
    let text = match answer["config_epoch"].as_u64() {
        Some(number) if !asker.target.json => format!("done: list {number} is decided{votes}\n"),
        _ => json::line(&answer)?,
    };
    found(0, &text)
}

fn list(target: &Target) -> Answer {
    let answer = target.reader()?.get("/members")?;
    if target.json {
        return found(0, &json::line(&answer)?);
    }
    let mut text = lines(&answer["list"]);
    let next = &answer["next"];
    if !next.is_null() {
        text += "\n# The next list, which is not decided yet\n";
        lines(next).lines().for_each(|line| text += &format!("# {line}\n"));
    }
    found(0, &text)
}

/// A list as a file has it.
fn lines(list: &Value) -> String {
    let members = list["members"].as_object().into_iter().flatten();
    let mut members: Vec<_> = members.collect();
    members.sort_by_key(|(id, _)| id.parse::<u16>().unwrap_or_default());
    let members: String =
        members.into_iter().map(|(id, address)| format!("{id} = {address}\n")).collect();
    let (observers, witnesses) = (ids(&list["observers"]), ids(&list["witnesses"]));
    let awaited = match ids(&list["awaited"]) {
        none if none.is_empty() => none,
        some => format!("# Not let in by the leader yet: {some}\n"),
    };
    let number = &list["config_epoch"];
    format!(
        "# List {number}\n{awaited}observers = [{observers}]\nwitnesses = [{witnesses}]\n\n\
         [members]\n{members}"
    )
}

fn ids(list: &Value) -> String {
    let ids = list.as_array().into_iter().flatten();
    ids.map(Value::to_string).collect::<Vec<_>>().join(", ")
}

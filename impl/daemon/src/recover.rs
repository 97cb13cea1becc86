//! `bellwether recover`: gives a survivor a list of members after a majority is gone for good.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::anyhow;
use bellwether::internal::config::{
    self, Address, Config, Log, MemberList, Overrides, Runnable, StorageSettings, Visitor,
};
use bellwether::internal::driver::{Recovery, RecoveryError};
use bellwether::{Epoch, NodeId};

use super::members::Place;
use super::{Failure, found, print};

/// The largest epoch that can be named: the elections of ages must have room above it, also in the
/// signed numbers of a database.
const LARGEST_EPOCH: u64 = 1 << 62;

/// Give a survivor new members after a majority of the voters is gone for good
///
/// Works offline, on the directory of one node that has survived and does not run. The node gets
/// the list in force, and an epoch above all that it knows. The node leads alone at once, and lets in the
/// other members as they start, whatever they remember. Then all members of the list vote; a
/// witness stays one, but for the survivor.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Example: of nodes 1, 2 and 3, only 3 is left; 4 and 5 are new.
  bellwether recover --members 3=10.0.0.3:7000,4=10.0.0.4:7000,5=10.0.0.5:7000 \\
    --config orders.toml --node 3

1. Make sure that the lost nodes never start again. A majority of them would elect a leader by the
   old list.
2. Of several survivors, take the one with the highest list, and then the highest epoch. The command
   prints both, and writes nothing before you confirm.
3. Ask the fence for the highest token that it has admitted. If that is above the epoch that the
   command prints, pass it as --epoch-above.
4. Start the survivor, which leads alone, and then the others, each of which votes once the survivor
   has let it in. New nodes need an empty directory and the members that the command prints; the
   other survivors, and nodes that have lost their directories, get the list from the first.")]
pub(crate) struct Args {
    /// The configuration file of the survivor
    #[arg(long, value_name = "FILE", env = "BELLWETHER_CONFIG")]
    config: PathBuf,

    /// Which of the members the survivor is, if the file does not say
    #[arg(long, value_name = "ID", env = "BELLWETHER_NODE")]
    node: Option<NodeId>,

    /// The directory of the survivor, if the file does not name it
    #[arg(long, value_name = "DIR", env = "BELLWETHER_DATA_DIR")]
    data_dir: Option<String>,

    /// All members from now on, the survivor included
    #[arg(long, value_name = "ID=HOST:PORT", value_delimiter = ',', required = true)]
    members: Vec<Place>,

    /// An epoch that was in use, such as the highest token that the fence has admitted; every later
    /// epoch is above it
    #[arg(long, value_name = "EPOCH", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(..=LARGEST_EPOCH))]
    epoch_above: u64,

    /// Write the list without asking
    #[arg(long)]
    yes: bool,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let storage = StorageSettings { directory: args.data_dir.clone() };
    let overrides = Overrides { node: args.node, storage, ..Overrides::default() };
    let members = members(&args.members).map_err(Failure::configuration)?;
    let plan = Plan(members, Epoch::new(args.epoch_above));
    let planned = config::load(&args.config, overrides, plan).map_err(Failure::configuration)?;
    let (node, recovery) = planned.map_err(|error| match error {
        RecoveryError::Storage(_) | RecoveryError::Same { .. } => Failure::runtime(error),
        _ => Failure::configuration(error),
    })?;
    print(&explain(node, &recovery))?;
    if !args.yes {
        confirm()?;
    }
    let (after, by_file) = (recovery.after.clone(), recovery.by_file);
    recovery.write().map_err(Failure::runtime)?;
    found(0, &next(node, &after, by_file))
}

fn members(places: &[Place]) -> anyhow::Result<BTreeMap<NodeId, Address>> {
    let mut members = BTreeMap::new();
    for Place(node, address) in places {
        if let Some((other, _)) = members.iter().find(|(_, known)| *known == address) {
            return Err(anyhow!("--members: nodes {other} and {node} have the address {address}"));
        }
        if members.insert(*node, address.clone()).is_some() {
            return Err(anyhow!("--members: node {node} stands there twice"));
        }
    }
    Ok(members)
}

/// Plans a list with these members, and epochs above that one.
struct Plan(BTreeMap<NodeId, Address>, Epoch);

impl Visitor for Plan {
    type Output = Result<(NodeId, Recovery), RecoveryError>;

    fn visit<C: Runnable>(self, config: Config<C>, _: Log) -> Self::Output {
        let Self(members, above) = self;
        Ok((config.node(), Recovery::plan(&config, members, above)?))
    }
}

fn explain(node: NodeId, recovery: &Recovery) -> String {
    let Recovery { before, after, gone, known, raised, .. } = recovery;
    let gone = if gone.is_empty() { "no node".to_owned() } else { listed(gone) };
    format!(
        "{old}{new}\
         Not a member any more: {gone}. Stop these nodes for good: a majority of the old list \
         would elect a leader.\n\
         Node {node} knows epochs up to {known}, and every later epoch will be above {raised}. The \
         lost nodes may have granted epochs that node {node} has not heard of: if the fence has \
         admitted a token above {raised}, run this with --epoch-above TOKEN.\n",
        old = described("from", before),
        new = described("to  ", after),
    )
}

fn described(word: &str, list: &MemberList) -> String {
    let members: Vec<_> = list.members.iter().map(|(id, at)| format!("{id} = {at}")).collect();
    format!("{word} list {}: {}\n", list.config_epoch, members.join(", "))
}

fn listed(ids: &BTreeSet<NodeId>) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn confirm() -> Result<(), Failure> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        let problem = "nothing was written: confirm with --yes, or run this at a terminal";
        return Err(Failure::configuration(anyhow!(problem)));
    }
    print("Write this list? Type yes: ")?;
    let mut line = String::new();
    let read = input.read_line(&mut line);
    if read.is_ok() && line.trim() == "yes" {
        return Ok(());
    }
    let _ = writeln!(std::io::stderr());
    Err(Failure::runtime(anyhow!("nothing was written")))
}

fn next(node: NodeId, list: &MemberList, by_file: bool) -> String {
    let whose = if by_file { "all nodes" } else { "new nodes" };
    let members: String =
        list.members.iter().map(|(id, address)| format!("{id} = \"{address}\"\n")).collect();
    format!(
        "\nWritten. Start node {node}, which leads alone at once, and then the others: node {node} \
         lets them in as they start. The files of {whose} need:\n\n\
         witnesses = [{}]\n\n[members]\n{members}",
        listed(&list.witnesses),
    )
}

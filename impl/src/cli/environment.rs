//! Variables in the environment that look like this program's, and are not: one that is misspelt
//! has no effect. That is told, and no reason to end: others may set what begins with this name, as
//! Kubernetes does for a service that is called so.

use clap::{Command, CommandFactory as _};

use super::Cli;
use super::complaint::perhaps;

/// How the names of all of them begin.
pub(super) const OURS: &str = "BELLWETHER_";

/// What tests begin with.
const TESTS: &str = "BELLWETHER_TEST_";

/// Those that a hook, or the command of `exec`, finds in its environment: a node below it does so
/// as well.
const GIVEN: [&str; 11] = [
    "BELLWETHER_CLUSTER",
    "BELLWETHER_EPOCH",
    "BELLWETHER_GROUP",
    "BELLWETHER_LEADER",
    "BELLWETHER_LEASE_UNTIL",
    "BELLWETHER_OLD_LEADER",
    "BELLWETHER_OLD_ROLE",
    "BELLWETHER_REASON",
    "BELLWETHER_RIVAL",
    "BELLWETHER_ROLE",
    "BELLWETHER_SEQ",
];

/// What is to be said of the variables of this process.
pub(crate) fn warnings() -> Vec<String> {
    let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    complaints(names)
}

/// What is to be said of variables with these names.
pub(super) fn complaints(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut known: Vec<String> = GIVEN.map(str::to_owned).into();
    collect(&Cli::command(), &mut known);
    let ours = |name: &String| name.starts_with(OURS) && !name.starts_with(TESTS);
    let unknown = names.filter(|name| ours(name) && !known.contains(name));
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let told = |name: String| {
        let meant = perhaps(&name, &known);
        let text = format!("there is no variable {name}, so it has no effect; {meant}");
        text.trim_end_matches([' ', ';']).to_owned()
    };
    unknown.map(told).collect()
}

/// The variables of a command and of all below it.
fn collect(command: &Command, known: &mut Vec<String>) {
    let variables = command.get_arguments().filter_map(clap::Arg::get_env);
    known.extend(variables.map(|name| name.to_string_lossy().into_owned()));
    command.get_subcommands().for_each(|below| collect(below, known));
}

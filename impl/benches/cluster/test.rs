//! The tests, as `cargo test` starts this program: a few faults on each network.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use super::cluster::Security;
use super::controls;
use super::report::say;
use super::soak::{self, Args, Choice};
use super::{
    alone, etcd, groups, members, namespaces, probe, recorded, relay, resource, slow, stand_in,
    stores, wait,
};

/// How many faults on each network.
const FAULTS: usize = 5;

type Test = (&'static str, fn() -> anyhow::Result<()>);

const TESTS: [Test; 17] = [
    ("the_resource_notices_two_leaders", resource::test),
    ("two_leases_at_a_time_are_noticed", probe::test),
    ("two_commands_at_a_time_are_noticed", alone::test),
    ("lists_of_members_change_one_at_a_time", members::test),
    ("relays_make_some_round_trips_slow", relay::test),
    ("the_keys_of_etcd_are_written_in_base_64", etcd::test),
    ("a_soak_of_no_store_is_an_error", stores::test_of_what_is_left_out),
    ("a_stand_in_that_starts_again_has_forgotten_what_came_before", stand_in::test),
    ("nodes_agree_over_links_that_are_slow", slow::test),
    ("a_killed_daemon_is_replaced_in_each_group", groups::test),
    ("the_model_accepts_what_a_few_clusters_did", recorded::test),
    ("a_few_faults_on_relays", on_relays),
    ("a_few_faults_on_relays_with_certificates", on_relays_with_certificates),
    ("a_few_faults_with_a_store_that_is_a_file", stores::test),
    ("a_few_faults_with_a_store_that_only_compares", stores::test_of_kubernetes),
    ("a_command_ends_with_its_node_and_its_keeper", killed_together),
    (IN_NAMESPACES, in_namespaces),
];

/// The last, since it goes on in another process.
const IN_NAMESPACES: &str = "a_few_faults_in_namespaces";

/// The tests that the command line of a test program asks for; nothing if it is another one.
pub(crate) fn asked_for(arguments: &[OsString]) -> Option<Vec<&'static str>> {
    let texts: Vec<_> = arguments.iter().map(|argument| argument.to_string_lossy()).collect();
    let flag = |text: &str| text.starts_with('-');
    let other = [
        "soak",
        "failover",
        "quiescent",
        "groups",
        "recorded",
        "stores",
        "killed-together",
        "hammer",
        "stand-in",
        "help",
    ];
    let first = texts.first();
    if first.is_some_and(|first| other.contains(&&**first) || matches!(&**first, "--help" | "-h"))
        || texts.iter().any(|text| text == "--bench")
    {
        return None;
    }
    let exact = texts.iter().any(|text| text == "--exact");
    let filters: Vec<_> = texts.iter().filter(|text| !flag(text)).collect();
    let fits = |name: &str| {
        let fits = |filter: &str| if exact { name == filter } else { name.contains(filter) };
        filters.is_empty() || filters.iter().any(|filter| fits(filter))
    };
    Some(TESTS.iter().map(|(name, _)| *name).filter(|name| fits(name)).collect())
}

/// Runs them one after another.
pub(crate) fn run(arguments: &[OsString], asked: &[&str]) -> anyhow::Result<ExitCode> {
    if arguments.iter().any(|argument| argument == "--list") {
        asked.iter().for_each(|name| say(format_args!("{name}: test")));
        return Ok(ExitCode::SUCCESS);
    }
    namespaces::settle_in()?;
    wait::heed_signals()?;
    for (name, test) in TESTS.iter().filter(|(name, _)| asked.contains(name)) {
        if *name == IN_NAMESPACES && !namespaces::are_ours() {
            let why = namespaces::enter(&[IN_NAMESPACES.into(), "--exact".into()]);
            say(format_args!("test {name} ... ignored: {why}"));
            continue;
        }
        test().inspect_err(|_| say(format_args!("test {name} ... FAILED")))?;
        say(format_args!("test {name} ... ok"));
    }
    Ok(ExitCode::SUCCESS)
}

fn on_relays() -> anyhow::Result<()> {
    faults(Choice::Relays, Security::Secret, 1, 0.0)
}

/// Where namespaces cannot be made, this is the soak with certificates.
fn on_relays_with_certificates() -> anyhow::Result<()> {
    faults(Choice::Relays, Security::Tls, 3, 3.0)
}

fn in_namespaces() -> anyhow::Result<()> {
    faults(Choice::Namespaces, Security::Tls, 2, 0.0)
}

fn faults(network: Choice, security: Security, seed: u64, slow_trips: f64) -> anyhow::Result<()> {
    let usual = Args {
        faults: FAULTS,
        seed,
        network,
        security,
        pace: 0.5,
        drift: 90_000,
        slow_trips,
        time_limit: Duration::from_secs(20 * 60),
        json: false,
    };
    let report = soak::soak(&usual)?;
    let good = report["violations"].as_array().is_some_and(Vec::is_empty);
    anyhow::ensure!(good, "{report:#}");
    anyhow::ensure!(report["faults"] == FAULTS, "{report:#}");
    anyhow::ensure!(report["writes_accepted"].as_u64() > Some(100), "{report:#}");
    let slow = report["pieces_slow"].as_u64() > Some(0);
    anyhow::ensure!(slow == (slow_trips > 0.0), "{report:#}");
    Ok(())
}

/// The daemon of today makes no mistake.
fn killed_together() -> anyhow::Result<()> {
    let security = Security::Tls;
    let args = controls::Args { rounds: 2, program: None, security, pace: 0.5, json: false };
    let report = controls::report(&args)?;
    anyhow::ensure!(report["violations"] == json!([]), "{report:#}");
    let left = |round: &Value| round["commands_left"].as_u64();
    let rounds = report["rounds"].as_array().into_iter().flatten();
    anyhow::ensure!(rounds.map(left).eq([Some(0), Some(0)]), "{report:#}");
    Ok(())
}

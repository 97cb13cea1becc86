//! The command line is consistent, and `docs/daemon.md` lists what there is, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use clap::{CommandFactory, Parser};

use super::Cli;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

#[test]
fn the_version_names_the_commit() {
    let git = std::process::Command::new("git").args(["log", "-1", "--format=%h"]).output();
    let hash = git.ok().and_then(|git| String::from_utf8(git.stdout).ok()).unwrap_or_default();
    let commit = super::VERSION.split_once(" (").map_or("", |(_, commit)| commit);
    let is_same = commit.is_empty() || commit.starts_with(hash.trim().get(..7).unwrap_or_default());
    assert!(is_same && commit.is_empty() == hash.is_empty(), "{} at {hash}", super::VERSION);
}

const PAGE: &str = include_str!("../../../docs/daemon.md");
const HTTP_PAGE: &str = include_str!("../../../docs/http.md");

/// The rows of all tables under a heading of a page, each as its cells.
fn rows_of(page: &str, heading: &str) -> Vec<Vec<String>> {
    let (_, text) = page.split_once(&format!("\n## {heading}\n")).expect("a heading");
    let text = text.split("\n## ").next().expect("there is a first part");
    let cells = |line: &str| {
        let line = line.trim_matches('|');
        line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    text.lines().filter(|line| line.starts_with("| `")).map(cells).collect()
}

/// The first cells of those rows.
fn first(page: &str, heading: &str) -> Vec<String> {
    rows_of(page, heading).into_iter().map(|mut row| row.swap_remove(0)).collect()
}

/// The variables that a text names.
fn variables(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !(c.is_ascii_uppercase() || c == '_'));
    words.filter(|word| word.starts_with("BELLWETHER_")).map(str::to_owned).collect()
}

#[test]
fn the_page_lists_every_key_and_its_default() {
    let listed: BTreeMap<_, _> =
        rows_of(PAGE, "Keys").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let known: BTreeMap<_, _> = bellwether::internal::config::reference().into_iter().collect();
    assert_eq!(listed, known);
}

/// With `UPDATE=1` it is written.
#[test]
fn the_schema_of_the_configuration_is_printed_and_fits_the_example() {
    let schema = bellwether::internal::config::schema();
    let path = bellwether_docs_runner::root().join("docs/schemas/configuration.json");
    if std::env::var_os("UPDATE").is_some() {
        return std::fs::write(&path, format!("{schema:#}\n")).expect("it can be written");
    }
    let kept = std::fs::read(&path).expect("it can be read");
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&kept).expect("JSON"), schema);
    let example: toml::Table =
        include_str!("../../../impl/examples/cluster.toml").parse().expect("TOML");
    let example = serde_json::to_vec(&example).expect("JSON");
    bellwether_docs_runner::object_of("configuration", example);
}

#[test]
fn the_page_tells_what_each_timing_takes_and_bears() {
    use bellwether_core::protocol::Core as _;
    use bellwether_core::protocol::quorum::{Quorum, Timing};
    let members = || (1..=3).map(|id| (id, format!("127.0.0.1:700{id}")));
    let known = Timing::PRESETS.map(|(name, timing)| {
        let config = bellwether::Config::new("orders", 1, members()).expect("valid");
        let config = config.with_section(timing).expect("it fits together");
        let times = [
            Quorum::typical_election(config.core()),
            timing.longest_round_trip_to_lead(),
            timing.longest_round_trip(),
        ];
        let [takes, leads, keeps] = times.map(|time| humantime::format_duration(time).to_string());
        [name.to_owned(), takes, leads, keeps]
    });
    let listed = rows_of(PAGE, "Durations");
    assert_eq!(listed.iter().map(|row| &row[..4]).collect::<Vec<_>>(), known);
}

#[test]
fn the_page_lists_every_flag_and_variable() {
    let listed: BTreeSet<_> = rows_of(PAGE, "Flags and variables")
        .into_iter()
        .map(|row| (row[0].split(' ').next().unwrap_or_default().to_owned(), row[1].clone()))
        .collect();
    let mut known = BTreeSet::new();
    flags_of(&Cli::command(), &mut known);
    assert_eq!(listed, known);
}

/// The flags of a command and of those below it that help shows, and their variables.
fn flags_of(command: &clap::Command, known: &mut BTreeSet<(String, String)>) {
    for argument in command.get_arguments() {
        let name = argument.get_long().map(|long| format!("--{long}"));
        let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
        known.extend(name.map(|name| (name, variable.unwrap_or_default())));
    }
    for below in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        flags_of(below, known);
    }
}

/// `check-config` says of each value that a flag says that it is the flag's.
#[test]
fn every_flag_that_counts_more_than_the_file_has_its_key() {
    let command = Cli::command();
    let check = command.find_subcommand("check-config").expect("it is there");
    let flags = check.get_arguments().filter(|arg| arg.get_long().is_some());
    let flags: BTreeSet<_> = flags.map(|arg| arg.get_id().as_str()).collect();
    let plain = ["set", "help", "elsewhere", "schema"].into_iter().collect();
    let keys: BTreeSet<_> =
        bellwether::internal::config::reference().into_iter().map(|(key, _)| key).collect();
    assert!(flags.difference(&plain).all(|&id| keys.contains(id)));
}

#[test]
fn the_page_lists_every_exit_status_and_every_protocol() {
    let status = |line: &'static str| line.split_whitespace().next();
    let known: Vec<_> = super::EXIT_STATUS.lines().skip(1).filter_map(status).collect();
    assert_eq!(first(PAGE, "Exit status"), known);
    assert_eq!(first(PAGE, "Protocols"), bellwether_core::protocol::NAMES);
}

/// What starts the daemon elsewhere uses commands and variables that there are.
#[test]
#[cfg(target_os = "linux")]
fn the_units_and_the_containers_start_what_there_is() {
    let run = include_str!("../../../packaging/systemd/bellwether@.service");
    let exec = include_str!("../../../packaging/systemd/bellwether-exec@.service");
    for unit in [run, exec] {
        let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart="));
        Cli::try_parse_from(start.expect("it starts").split(' ')).expect("a command line");
    }
    let container = include_str!("../../../packaging/Containerfile");
    let compose = include_str!("../../../packaging/containers/compose.yaml");
    let kubernetes = include_str!("../../../packaging/containers/nodes.yaml");
    for text in [run, exec, container, compose, kubernetes] {
        let names = variables(text);
        assert!(!names.is_empty());
        for name in names {
            assert!(PAGE.contains(&format!("`{name}`")), "{name} is no variable");
        }
    }
}

/// What the pages call a variable is one: of a flag, of the command that `exec` runs, or of a hook.
#[test]
fn the_pages_name_no_variable_that_there_is_not() {
    let command = Cli::command();
    let flags = command.get_subcommands().flat_map(clap::Command::get_arguments);
    let mut known: BTreeSet<String> = flags
        .filter_map(|flag| flag.get_env().map(|name| name.to_string_lossy().into_owned()))
        .collect();
    known.extend(variables(include_str!("exec/running.rs")));
    known.extend(variables(include_str!("hooks.rs")));
    known.extend(variables(include_str!("script.rs")));
    let library = include_str!("../../../docs/library.md");
    let named = [PAGE, HTTP_PAGE, library].map(variables).into_iter().flatten();
    assert_eq!(named.collect::<BTreeSet<_>>(), known);
}

#[test]
fn a_variable_that_there_is_not_is_told_with_the_one_that_comes_nearest() {
    let given = ["BELLWETHER_TEST_FRAMES", "PATH", "bellwether_node"].map(str::to_owned);
    let right = variables(PAGE).into_iter().chain(given);
    assert!(super::line::complaints(right).is_empty());
    let wrong = ["BELLWETHER_NETWORK_TIMEUOT", "BELLWETHER_PORT_TCP_ADDR"].map(str::to_owned);
    let [near, far] = &super::line::complaints(wrong.into_iter())[..] else {
        panic!("two are wrong")
    };
    assert!(near.ends_with("did you mean 'BELLWETHER_NETWORK_TIMEOUT'?"), "{near}");
    assert!(far.ends_with("BELLWETHER_PORT_TCP_ADDR, so it has no effect"), "{far}");
}

#[test]
fn the_page_lists_every_command() {
    let command = Cli::command();
    let shown = command.get_subcommands().filter(|command| !command.is_hide_set());
    assert_eq!(first(PAGE, "Commands"), shown.map(clap::Command::get_name).collect::<Vec<_>>());
}

#[test]
fn the_page_lists_every_endpoint_and_every_metric() {
    let endpoints = bellwether::http::ENDPOINTS.map(|(method, path)| format!("{method} {path}"));
    assert_eq!(first(HTTP_PAGE, "Endpoints"), endpoints);
    assert_eq!(first(HTTP_PAGE, "Metrics"), bellwether::http::metrics());
}

/// What tells this test, when it runs itself, to panic.
const PANIC: &str = "BELLWETHER_TEST_PANIC";

/// A panic in any task or thread ends the process, and the log says where it was. The process is
/// this test, run once more.
#[test]
fn a_panic_ends_the_process_with_a_reason() {
    use std::time::Duration;
    if std::env::var_os(PANIC).is_some() {
        let log = bellwether::internal::config::Log::default();
        let _lines = super::log::start(&log, bellwether::NodeId::new(1).expect("not zero"))
            .expect("a thread");
        let runtime = tokio::runtime::Builder::new_multi_thread().build().expect("threads");
        runtime.spawn(async { panic!("on purpose") });
        std::thread::sleep(Duration::from_secs(30));
        return;
    }
    let mut again = std::process::Command::new(std::env::current_exe().expect("this program"));
    again.args(["--exact", "tests::a_panic_ends_the_process_with_a_reason", "--nocapture"]);
    let output = again.env(PANIC, "1").output().expect("it runs");
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(101), "{log}");
    for part in ["ERROR", "panicked", "on purpose", "daemon/src/tests.rs:"] {
        assert!(log.contains(part), "`{part}` is missing in: {log}");
    }
}

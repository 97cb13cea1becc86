//! The command line is consistent, and `docs/daemon.md` lists what there is, and nothing else.

use std::collections::{BTreeMap, BTreeSet};

use clap::CommandFactory;

use super::Cli;

#[test]
fn the_command_line_is_consistent() {
    Cli::command().debug_assert();
}

const PAGE: &str = include_str!("../../../docs/daemon.md");

/// The rows of all tables under a heading, each as its cells.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let (_, text) = PAGE.split_once(&format!("\n## {heading}\n")).expect("a heading");
    let text = text.split("\n## ").next().expect("there is a first part");
    let cells = |line: &str| {
        let line = line.trim_matches('|');
        line.split('|').map(|cell| cell.trim().trim_matches('`').to_owned()).collect()
    };
    text.lines().filter(|line| line.starts_with("| `")).map(cells).collect()
}

#[test]
fn the_page_lists_every_key_and_its_default() {
    let listed: BTreeMap<_, _> =
        rows("Keys").into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let known: BTreeMap<_, _> = bellwether::config::reference().into_iter().collect();
    assert_eq!(listed, known);
}

#[test]
fn the_page_lists_every_flag_and_variable() {
    let listed: BTreeSet<_> = rows("Flags and variables")
        .into_iter()
        .map(|row| (row[0].split(' ').next().unwrap_or_default().to_owned(), row[1].clone()))
        .collect();
    let mut known = BTreeSet::new();
    for command in Cli::command().get_subcommands() {
        for argument in command.get_arguments() {
            let name = argument.get_long().map(|long| format!("--{long}"));
            let variable = argument.get_env().map(|name| name.to_string_lossy().into_owned());
            known.extend(name.map(|name| (name, variable.unwrap_or_default())));
        }
    }
    assert_eq!(listed, known);
}

#[test]
fn the_page_lists_every_exit_status_and_every_protocol() {
    let listed: Vec<_> = rows("Exit status").into_iter().map(|row| row[0].clone()).collect();
    let known: Vec<_> =
        super::EXIT_STATUS.lines().skip(1).map(|line| line[2..3].to_owned()).collect();
    assert_eq!(listed, known);
    let listed: Vec<_> = rows("Protocols").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(listed, bellwether::protocol::NAMES);
}

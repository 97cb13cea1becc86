//! The help of a program: `-h` of each command is one screen, and says where the rest is. And its
//! manual, which has a page for each.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// How many lines and columns a screen has.
const LINES: usize = 50;
const WIDTH: usize = 100;

/// Returns what is wrong with `-h` of a program and of every command that it lists, at any depth:
/// what is no screen of 50 lines and 100 columns, and what does not end with a line that names
/// `--help`. Further lines are command lines with `-h` in them.
///
/// # Panics
/// If the program cannot be run, or lists no commands.
pub fn not_one_screen(program: impl Fn() -> Command, further: &[&str]) -> Vec<String> {
    let commands = commands(&program);
    assert!(commands.len() > 2, "no commands: {commands:?}");
    let short = commands.iter().map(|command| format!("{command} -h"));
    let lines = short.chain(further.iter().map(|&line| line.to_owned()));
    let wrong = lines.filter_map(|line| {
        let why = why_no_screen(&printed(&program, &line))?;
        Some(format!("{}: {why}", line.trim()))
    });
    wrong.collect()
}

/// Returns what is missing in the manual that a program writes with `man --out`: the pages of the
/// commands that it lists, and in each what every page of a command has.
///
/// # Panics
/// If the program cannot be run, or writes no manual.
pub fn not_in_the_manual(program: impl Fn() -> Command) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writes = program();
    let name = Path::new(writes.get_program()).file_stem().expect("a name");
    let name = name.to_string_lossy().into_owned();
    let written = writes.args(["man", "--out"]).arg(folder.path()).output().expect("it runs");
    assert!(written.status.success(), "{}", String::from_utf8_lossy(&written.stderr));
    let mut missing = Vec::new();
    for command in commands(&program) {
        let file = format!("{name} {command}").trim().replace(' ', "-") + ".1";
        let page = fs::read_to_string(folder.path().join(&file)).unwrap_or_default();
        let without = ["NAME", "SYNOPSIS", "OPTIONS", "EXIT STATUS"];
        let without = without.iter().filter(|heading| !has_section(&page, heading));
        missing.extend(without.map(|heading| format!("{file} has no {heading}")));
    }
    missing
}

/// Whether a page has a section with this heading, and something in it.
fn has_section(page: &str, heading: &str) -> bool {
    let mut lines = page.lines().skip_while(|line| heading_of(line) != Some(heading)).skip(1);
    lines.next().is_some_and(|line| heading_of(line).is_none())
}

fn heading_of(line: &str) -> Option<&str> {
    line.strip_prefix(".SH ").map(|name| name.trim_matches('"'))
}

/// Returns every command that a program lists, with those that they list: `members list`. The first
/// is empty: it is the program itself.
///
/// # Panics
/// If the program cannot be run.
pub fn commands(program: &impl Fn() -> Command) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut at = 0;
    while let Some(command) = found.get(at).cloned() {
        let help = printed(program, &format!("{command} -h"));
        let below = listed(&help).map(|name| format!("{command} {name}").trim().to_owned());
        found.extend(below.collect::<Vec<_>>());
        at += 1;
    }
    found
}

/// The names of the commands that a help lists.
fn listed(help: &str) -> impl Iterator<Item = &str> {
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let lines = lines.take_while(|line| !line.is_empty());
    let names = lines.filter(|line| !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
}

fn printed(program: &impl Fn() -> Command, line: &str) -> String {
    let mut command = program();
    command.args(line.split_whitespace()).env("COLUMNS", WIDTH.to_string());
    let output = command.stdin(Stdio::null()).output().expect("it runs");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Why this is no help that fits on a screen.
fn why_no_screen(help: &str) -> Option<String> {
    let lines = help.lines().count();
    if lines > LINES {
        return Some(format!("{lines} lines; at most {LINES}"));
    }
    if let Some(wide) = help.lines().find(|line| line.chars().count() > WIDTH) {
        return Some(format!("wider than {WIDTH} columns: {wide}"));
    }
    let last = help.lines().last().unwrap_or_default();
    let more = last.contains("--help tells all");
    (!more).then(|| format!("the last line does not say what --help tells: {last}"))
}

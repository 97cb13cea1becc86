//! Scripts of command lines: each with its exit status, and all that is printed.
//!
//! `model/tests/lines` has examples. A script runs in a fresh folder, with the files that it names by
//! `--- file NAME`, up to the next `---`. Behind `$` stand the arguments of the program, behind `%` a
//! line for a shell that finds it; variables of the environment may come first. The lines below are
//! the exit status, standard output, and behind `!` standard error; an empty line ends them. A line
//! `...` stands for any number of lines, and `...` in a line for anything. `[DIR]`, `[TIME]` and
//! `[SIZE]` differ from run to run. A `\` is before an output that begins like a part of a script.

use crate::console::words;
use crate::object_of;
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, iter};

/// How the parts of a script begin.
const PARTS: [&str; 4] = ["#", "$ ", "% ", "--- file "];

/// Runs the scripts in a folder, as many at a time as there are processors. Writes what is printed
/// into them if the variable `UPDATE` is set.
///
/// # Panics
/// If something else is printed than a script tells; also if a program panics, ends by a signal,
/// prints escape codes, or prints an error in JSON that does not fit the schema.
pub fn run_scripts(folder: &Path, program: impl Fn() -> Command + Sync) {
    let entries = fs::read_dir(folder).expect("a folder of scripts");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "txt"));
    paths.sort();
    assert!(!paths.is_empty(), "{} has no scripts", folder.display());
    let differences: String = paths.par_iter().map(|path| run(path, &program)).collect();
    assert!(differences.is_empty(), "with UPDATE=1 the scripts become these:\n{differences}");
}

/// Runs a script, and returns how it differs, or writes it anew.
fn run(path: &Path, program: &impl Fn() -> Command) -> String {
    let text = fs::read_to_string(path).expect("a script can be read");
    let folder = tempfile::tempdir().expect("a folder");
    let lines: Vec<&str> = text.lines().collect();
    let (mut told, mut different, mut at) = (String::new(), String::new(), 0);
    while let Some(&line) = lines.get(at) {
        let (place, below) = (format!("{}:{}", path.display(), at + 1), &lines[at + 1..]);
        let (mut length, mut now) = (0, Vec::<String>::new());
        if let Some(name) = line.strip_prefix("--- file ") {
            length = below.iter().position(|&line| line == "---").expect("a file has an end") + 1;
            now.extend(below[..length].iter().map(|&line| line.to_owned()));
            let content = now[..length - 1].join("\n") + "\n";
            fs::write(folder.path().join(name), content).expect("it can be written");
        } else if line.starts_with("$ ") || line.starts_with("% ") {
            length = (0..below.len()).find(|&end| is_end(&below[end..])).unwrap_or(below.len());
            now = renewed(&below[..length], &said(line, program(), folder.path()));
            if now != below[..length] {
                different += &format!("{place}: {line}\n{}", difference(&below[..length], &now));
            }
        } else {
            assert!(line.is_empty() || line.starts_with('#'), "{place}: {line} is no command");
        }
        told.extend(iter::once(line).chain(now.iter().map(String::as_str)).flat_map(|l| [l, "\n"]));
        at += 1 + length;
    }
    if env::var_os("UPDATE").is_some() && !different.is_empty() {
        fs::write(path, told).expect("it can be written");
        return String::new();
    }
    different
}

fn begins_a_part(line: &str) -> bool {
    PARTS.iter().any(|part| line.starts_with(part))
}

/// Says if a command ends before these lines.
fn is_end(lines: &[&str]) -> bool {
    lines[0].is_empty() && lines.get(1).is_none_or(|line| begins_a_part(line))
}

/// Runs a command, and returns its exit status and what it prints, line by line.
fn said(line: &str, mut command: Command, folder: &Path) -> Vec<String> {
    let file = PathBuf::from(command.get_program());
    if let Some(line) = line.strip_prefix("% ") {
        let mut shell = Command::new("sh");
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let (own, path) = (file.parent().expect("a folder"), env::var("PATH").expect("a path"));
        shell.args(["-c", line]).env("PATH", format!("{}:{path}", own.display()));
        command = shell;
    } else {
        let words = words(&line[2..]);
        let is_variable = |word: &&String| word.contains('=') && !word.starts_with('-');
        let variables = words.iter().take_while(is_variable).count();
        command.envs(words[..variables].iter().filter_map(|word| word.split_once('=')));
        command.args(&words[variables..]);
    }
    let output = command.current_dir(folder).stdin(Stdio::null()).output().expect("it runs");
    let status = output.status.code().unwrap_or_else(|| panic!("{line}: {}", output.status));
    let [stdout, stderr] = [output.stdout, output.stderr].map(|text| {
        let text = String::from_utf8(text).expect("UTF-8");
        assert!(!text.contains("panicked") && !text.contains('\u{1b}'), "{line}: {text}");
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let text = text.replace(&*file.to_string_lossy(), &name);
        settled(&text.replace(&*folder.to_string_lossy(), "[DIR]"))
    });
    if stdout.starts_with("{\"version\":1,\"error\":") {
        assert_eq!(object_of("error", &stdout)["status"], status, "{line}");
    }
    let lines = stdout.lines().map(|line| match begins_a_part(line) {
        true => format!("\\{}", line.trim_end()),
        false => line.trim_end().to_owned(),
    });
    let errors = stderr.lines().map(|line| format!("! {line}").trim_end().to_owned());
    iter::once(status.to_string()).chain(lines).chain(errors).collect()
}

/// Returns the text without times and sizes.
fn settled(text: &str) -> String {
    let (mut settled, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        settled += &rest[..at];
        rest = &rest[at..];
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let is_in = |unit: &str| {
            let behind = behind.strip_prefix(unit).filter(|_| !number.ends_with('.'));
            behind.is_some_and(|behind| !behind.starts_with(char::is_alphanumeric))
        };
        let shown = if is_in(" s") || settled.ends_with("\"seconds\":") {
            "[TIME]"
        } else if is_in(" MiB") || settled.ends_with("\"peak_rss_bytes\":") {
            "[SIZE]"
        } else {
            number
        };
        settled += shown;
        rest = behind;
    }
    settled + rest
}

/// Returns the lines of now, with `...` where that was told, as far as all before it fits.
fn renewed(told: &[&str], now: &[String]) -> Vec<String> {
    let parts: Vec<&[&str]> = told.split(|&line| line == "...").collect();
    let (mut lines, mut from) = (Vec::new(), 0);
    for (number, part) in parts.iter().enumerate() {
        let end = now.len().saturating_sub(part.len()).max(from);
        let mut places = match number {
            0 => 0..1,
            _ if number + 1 == parts.len() => end..end + 1,
            _ => from..end + 1,
        };
        let fits = |at: &usize| {
            let now = now.get(*at..at + part.len());
            now.is_some_and(|now| now.iter().zip(*part).all(|(now, told)| is_like(now, told)))
        };
        let Some(found) = places.find(fits) else { break };
        lines.extend((number > 0).then(|| "...".to_owned()));
        lines.extend(part.iter().map(|&line| line.to_owned()));
        from = found + part.len();
    }
    lines.extend_from_slice(&now[from..]);
    lines
}

/// Compares a line with the expected one, in which `...` stands for anything.
fn is_like(line: &str, told: &str) -> bool {
    let is_within = |(begin, end): (&str, &str)| {
        line.len() >= begin.len() + end.len() && line.starts_with(begin) && line.ends_with(end)
    };
    line == told || told.split_once("...").is_some_and(is_within)
}

/// Returns the lines behind those that are the same at the beginning.
fn difference(told: &[&str], now: &[String]) -> String {
    let same = told.iter().zip(now).take_while(|(told, now)| told == now).count();
    let told = told[same..].iter().map(|line| format!("-{line}\n"));
    told.chain(now[same..].iter().map(|line| format!("+{line}\n"))).collect()
}

//! Stories as scripts: files of commands, each with the lines that it causes.
//!
//! ```text
//! # A node that nobody answers leads.
//! node 2
//! at 0 boot
//! at 300 wake # the time-out is over
//! ----
//! at 0 to 3: Election
//! at 0 wake at 300
//! at 300 to 1: Coordinator
//! ```
//!
//! A story begins with its title, in lines with `#`. Its paragraphs have commands, `----`, and the
//! lines that these cause; an empty line ends each. A paragraph without `----` only prepares: its
//! lines are not shown. A command may have a remark behind ` # `. Which commands there are the
//! [`Stage`] decides. `UPDATE=1 cargo test -p bellwether-core` writes the lines as they are now: the
//! change is reviewed as a diff.

use std::error::Error;
use std::{env, fs, mem};

use ron::Options;
use ron::extensions::Extensions;
use ron::ser::PrettyConfig;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The lines that a command causes, or what is wrong with the command.
pub(crate) type Told = Result<Vec<String>, Box<dyn Error>>;

/// What carries out the commands of stories.
pub(crate) trait Stage: Default {
    /// Begins another story: forgets all but what was saved for later ones.
    fn begin(&mut self);

    /// Carries out a command.
    fn tell(&mut self, command: &str) -> Told;
}

/// Tells one stage the stories in a folder of this package, file by file in the order of their
/// names. Panics with every paragraph that differs.
pub(crate) fn run<S: Stage>(folder: &str) {
    let (mut stage, updates) = (S::default(), env::var_os("UPDATE").is_some());
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let paths = entries.map(|entry| entry.expect("an entry").path().display().to_string());
    let mut paths: Vec<_> = paths.filter(|path| path.ends_with(".txt")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no stories");
    let mut differences = String::new();
    for path in paths {
        let kept = fs::read_to_string(&path).expect("it can be read");
        let (told, different) = retold(&mut stage, &path, &kept);
        match updates {
            true if told != kept => fs::write(&path, told).expect("it can be written"),
            _ => differences += &different,
        }
    }
    assert!(differences.is_empty(), "with UPDATE=1 the lines become these:\n{differences}");
}

/// Tells a stage some commands, one a line, and returns the lines that they cause.
pub(crate) fn tell(stage: &mut impl Stage, commands: &str) -> Vec<String> {
    let told = commands.lines().map(|command| stage.tell(command.trim()));
    told.flat_map(|lines| lines.unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// Returns the text of a file with the lines that its commands cause now, and how they differ.
fn retold(stage: &mut impl Stage, path: &str, text: &str) -> (String, String) {
    let (mut told, mut different) = (Vec::new(), String::new());
    // Of a paragraph: the lines that its commands cause, and those below `----`.
    let (mut caused, mut kept) = (Vec::<String>::new(), None::<Vec<&str>>);
    for (number, line) in (1_usize..).zip(text.lines().chain([""])) {
        if line.is_empty() {
            let (now, before) = (mem::take(&mut caused), kept.take());
            if let Some(before) = before {
                if before != now {
                    let place = number - before.len();
                    different += &format!("{path}:{place}:\n{}", difference(&before, &now));
                }
                told.extend(now);
            }
        } else if let Some(lines) = &mut kept {
            lines.push(line);
            continue;
        } else if line == "----" {
            kept = Some(Vec::new());
        } else if line.starts_with('#') {
            stage.begin();
        } else {
            let lines = stage.tell(line.split(" # ").next().unwrap_or(line));
            let lines = lines.unwrap_or_else(|error| panic!("{path}:{number}: {line}: {error}"));
            caused.extend(lines);
        }
        told.push(line.to_owned());
    }
    (told.join("\n"), different)
}

/// Returns the lines between those that are the same at the beginning and at the end.
fn difference(before: &[&str], now: &[String]) -> String {
    let first = before.iter().zip(now).take_while(|(a, b)| *a == *b).count();
    let (before, now) = (&before[first..], &now[first..]);
    let last = before.iter().rev().zip(now.iter().rev()).take_while(|(a, b)| *a == *b).count();
    let (before, now) = (&before[..before.len() - last], &now[..now.len() - last]);
    let before = before.iter().map(|line| format!("-{line}\n"));
    before.chain(now.iter().map(|line| format!("+{line}\n"))).collect()
}

/// Returns the fields of a state that are new.
pub(crate) fn news<D: Serialize>(before: Option<&D>, now: &D) -> String {
    let before = before.map(|state| written(state, 1)).unwrap_or_default();
    let now = written(now, 1);
    let is_new = |line: &&str| !"()".contains(*line) && before.lines().all(|old| old != *line);
    list(now.lines().filter(is_new).map(|line| line.trim_end_matches(',')))
}

/// Returns a value as RON, with a line for each field in so many levels.
pub(crate) fn written(value: &impl Serialize, levels: usize) -> String {
    let layout = PrettyConfig::new().depth_limit(levels).indentor("").new_line("\n");
    options().to_string_pretty(value, layout).expect("it can be written")
}

/// Reads a value that is RON.
pub(crate) fn read<T: DeserializeOwned>(text: &str) -> Result<T, Box<dyn Error>> {
    Ok(options().from_str(text)?)
}

fn options() -> Options {
    let newtypes = Extensions::UNWRAP_NEWTYPES | Extensions::UNWRAP_VARIANT_NEWTYPES;
    Options::default().with_default_extension(newtypes | Extensions::IMPLICIT_SOME)
}

/// Returns these, separated by commas.
pub(crate) fn list(items: impl IntoIterator<Item: ToString>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

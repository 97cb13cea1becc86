//! The style of the project's own files, as far as a machine can tell: widths, lengths and words.
//!
//! Code is formatted by rustfmt, and clippy counts the lines of functions (`clippy.toml`). What
//! neither of them looks at is here: comments, documents, the length of files, the vocabulary.

use bellwether_docs_runner::root;
use std::fs;
use std::path::PathBuf;

/// The width of code, comments and prose, in characters.
const WIDTH: usize = 100;

/// The length of a source file, in lines.
const LENGTH: usize = 500;

/// Words that the field does not use, and what it says instead.
const WORDS: &[(&str, &str)] = &[
    ("whoever", "a process that ..."),
    ("somebody", "a process"),
    ("nobody", "no process"),
    ("everybody", "every process"),
    ("anybody", "any process"),
    ("hold an election", "start an election"),
    ("holds an election", "starts an election"),
    ("election is held", "no leader"),
    ("tellings", "variants, or specification and implementation"),
    ("dials", "scenario"),
    ("at rest", "quiescent"),
    ("overdue", "may time out"),
    ("comes back", "recovers"),
    ("came back", "recovered"),
    ("comes home", "completes the ring"),
    ("came home", "completed the ring"),
    ("held against", "checked against"),
    ("held to its word", "checked against"),
    ("inside the boundary", "within the bounds"),
    ("outside the boundary", "beyond the bounds"),
    ("patience", "time-out"),
];

#[test]
fn sources_keep_to_their_width_and_length() {
    let mut wrong = Vec::new();
    for (file, text) in files("rs") {
        let lines = text.lines().count();
        if lines > LENGTH {
            wrong.push(format!("{file}: {lines} lines; at most {LENGTH}"));
        }
        for (at, line) in numbered(&text) {
            if line.chars().count() > WIDTH {
                wrong.push(format!("{file}:{at}: wider than {WIDTH} characters"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Where no example of the documentation is compiled, there is none.
#[test]
fn every_example_of_the_documentation_is_compiled() {
    let without = files("toml").into_iter().filter(|(_, text)| text.contains("doctest = false"));
    let without: Vec<String> =
        without.map(|(file, _)| file.replace("Cargo.toml", "src/")).collect();
    assert!(!without.is_empty(), "no package is without examples");
    for (file, text) in files("rs") {
        let is_in = without.iter().any(|folder| file.starts_with(folder.as_str()));
        let marks = ["// ", "//! "].map(|comment| format!("{comment}{}", "`".repeat(3)));
        let has = marks.iter().any(|mark| text.contains(mark));
        assert!(!is_in || !has, "{file}: doctest = false leaves its example out");
    }
}

#[test]
fn documents_keep_to_their_width() {
    let mut wrong = Vec::new();
    for (file, text) in files("md") {
        for (at, line) in prose(&text) {
            // What cannot be broken may be longer: a link, or a word of code.
            let breaks = line.trim_start().contains(' ') && !line.contains("](");
            if breaks && line.chars().count() > WIDTH {
                wrong.push(format!("{file}:{at}: wider than {WIDTH} characters"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_words_are_those_of_the_field() {
    let mut wrong = Vec::new();
    for ending in ["rs", "md", "toml"] {
        for (file, text) in files(ending) {
            if file.ends_with("style.rs") {
                continue;
            }
            let text = text.to_lowercase();
            for (at, line) in numbered(&text) {
                for (word, instead) in WORDS.iter().filter(|(word, _)| says(line, word)) {
                    wrong.push(format!("{file}:{at}: \"{word}\"; say: {instead}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} places:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_word_is_found_only_as_a_word() {
    assert!(says("if nobody answers", "nobody"));
    assert!(!says("nobody_answers()", "nobody"));
    assert!(!says("that rest", "at rest"));
}

/// The files of the project with this ending: their paths from the root, and what they say.
pub(crate) fn files(ending: &str) -> Vec<(String, String)> {
    const FOLDERS: [&str; 9] = [
        "model",
        "impl",
        "cli",
        "conformance",
        "browser",
        "docs-runner",
        "examples",
        "fuzz",
        "docs",
    ];
    let root = root();
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = FOLDERS.map(|folder| root.join(folder)).to_vec();
    left.extend(["README.md", "CHANGELOG.md"].map(|file| root.join(file)));
    while let Some(path) = left.pop() {
        if path.is_dir() {
            let inner = fs::read_dir(&path).expect("a folder that can be read");
            let inner = inner.map(|entry| entry.expect("an entry that can be read").path());
            left.extend(inner.filter(|path| !path.ends_with("target")));
        } else if path.extension().is_some_and(|found| found == ending) {
            let name = path.strip_prefix(&root).expect("below the root").display().to_string();
            found.push((name, fs::read_to_string(&path).expect("text")));
        }
    }
    assert!(!found.is_empty(), "no file ends with .{ending}: the test looks in the wrong place");
    found.sort();
    found
}

/// The lines of a text, numbered from 1.
fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    (1..).zip(text.lines())
}

/// The lines of a document that are sentences: no tables, headings, code or pictures.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    numbered(text).filter(move |(_, line)| {
        let line = line.trim_start();
        let fence = line.starts_with("```");
        code ^= fence;
        !code && !fence && !line.starts_with(['|', '#', '!', '<'])
    })
}

/// Whether `line` has `word` in it, and not as a part of another.
fn says(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + word.len()..]);
        !before.ends_with(part) && !after.starts_with(part)
    })
}

//! The README and the pages, and the blocks of code in them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The line before a block that takes longer than about two seconds.
const SLOW: &str = "<!-- slow -->";

/// A block of code in a page.
pub struct Block<'p> {
    /// The number of its first line in the page.
    pub line: usize,
    /// Whether it is marked as slow.
    pub slow: bool,
    /// What is between the fences.
    pub text: &'p str,
}

/// Returns the folder of the clone.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Returns the README and the pages, by their paths in the clone.
pub fn pages() -> BTreeMap<String, String> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/protocols"] {
        let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.to_str().expect("plain text").to_owned());
        pages.extend(names.filter(|name| name.ends_with(".md")).map(|n| format!("{folder}/{n}")));
    }
    let read = |page: &String| fs::read_to_string(root().join(page)).expect("it can be read");
    pages.into_iter().map(|page| (page.clone(), read(&page))).collect()
}

/// Returns the blocks of a page in this language.
pub fn blocks<'p>(page: &'p str, language: &str) -> Vec<Block<'p>> {
    let begin = format!("\n```{language}\n");
    let block = |at: usize| {
        let (before, from) = (&page[..at], at + begin.len());
        let end = page[from - 1..].find("\n```").map_or(page.len(), |length| from + length);
        let line = before.matches('\n').count() + 3;
        Block { line, slow: before.lines().next_back() == Some(SLOW), text: &page[from..end] }
    };
    page.match_indices(&begin).map(|(at, _)| block(at)).collect()
}

/// Compares a document, or the part of it between two marks, with what is made of that part. Writes
/// it instead if the variable `UPDATE_DOCS` is set.
pub fn is_shown(path: &str, marks: Option<(&str, &str)>, make: impl FnOnce(&str) -> String) {
    let file = root().join(path);
    let kept = fs::read_to_string(&file).unwrap_or_default();
    let (from, to) = marks.map_or((0, kept.len()), |(begin, end)| {
        let from = kept.find(begin).expect("the first mark") + begin.len();
        (from, from + kept[from..].find(end).expect("the second mark"))
    });
    let (shown, made) = (&kept[from..to], make(&kept[from..to]));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let new = [&kept[..from], made.as_str(), &kept[to..]].concat();
        fs::write(&file, new).expect("it can be written");
    } else {
        assert!(shown == made, "{path} is old: run the tests with UPDATE_DOCS=1");
    }
}

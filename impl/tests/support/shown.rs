//! That a document shows what a program makes. Shared by tests of several packages.

use std::fs;
use std::path::{Path, PathBuf};

/// A path under `docs/`.
fn docs(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .map(|folder| folder.join("docs"))
        .find(|docs| docs.join("architecture.md").exists())
        .expect("the workspace has documents")
        .join(path)
}

/// Compares a document, or a part of it between two marks, with what was made; writes it instead if
/// the variable `UPDATE_DOCS` is set.
pub(crate) fn is_shown(path: &str, made: &str, marks: Option<(&str, &str)>) {
    let kept = fs::read_to_string(docs(path)).unwrap_or_default();
    let (before, shown, after) = match marks {
        None => ("", kept.as_str(), ""),
        Some((begin, end)) => {
            let begin = kept.find(begin).expect("the first mark") + begin.len();
            let end = begin + kept[begin..].find(end).expect("the second mark");
            (&kept[..begin], &kept[begin..end], &kept[end..])
        }
    };
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(docs(path), [before, made, after].concat()).expect("it can be written");
    } else {
        assert!(shown == made, "docs/{path} is old: run the tests with UPDATE_DOCS=1");
    }
}

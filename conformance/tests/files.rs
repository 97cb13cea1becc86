//! The project's own files: examples of the documentation are compiled.

use bellwether_docs_runner::root;
use std::fs;
use std::path::PathBuf;

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

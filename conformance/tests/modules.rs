//! No circle of modules: what a module names is below it, and names nothing above.
//!
//! Read from the sources: a path that begins with `crate::` names a module of the crate, and so
//! does one that begins with as many `super::` as lead to the root. What stands in comments and in
//! tests does not count. The modules of another package that a crate names at its root are below all
//! of its modules.
//!
//! And the core of the program is pure: it names nothing that acts; no program panics when it
//! cannot print; and examples of the documentation are compiled.

use bellwether_docs_runner::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The crates whose modules form no circle.
const CRATES: [&str; 7] = [
    "conformance/bridge/src",
    "impl/core/src",
    "impl/sim/src",
    "impl/src",
    "impl/stores/src",
    "model/search/src",
    "model/tool/src",
];

/// The crate that does no I/O, reads no clock, and starts no thread.
const PURE: &str = "impl/core/src";

/// How the library names the modules of that crate.
const SHOWN: &str = "use bellwether_core::";

/// What of the standard library reads or changes something outside of the program. `features.rs`
/// says on which other packages that crate depends.
const IMPURE: &str = "std::env std::fs std::io std::net std::os std::process std::thread std::{ \
                      Instant SystemTime print! println!";

/// For each module that names others, those.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_modules_form_a_circle() {
    let files = files("rs");
    let mut wrong = Vec::new();
    for folder in CRATES {
        let graph = graph(&inside(folder, &files));
        assert!(!graph.is_empty(), "{folder}: the test looks in the wrong place");
        for (module, names) in circles(graph) {
            let names: Vec<_> = names.into_iter().collect();
            wrong.push(format!("{folder}: {module} names {}", names.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "these form a circle:\n{}", wrong.join("\n"));
}

#[test]
fn the_core_is_pure() {
    let files = files("rs");
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for (path, text) in inside(PURE, &files) {
        if is_tests(path) {
            continue;
        }
        seen += 1;
        wrong.extend(impure(text).into_iter().map(|line| format!("{PURE}/{path}: {line}")));
    }
    assert!(seen > 30, "only {seen} files: the test looks in the wrong place");
    assert!(wrong.is_empty(), "these act:\n{}", wrong.join("\n"));
}

#[test]
fn what_acts_is_found() {
    let text = "//! It reads no std::fs.\nuse std::time::{Duration, Instant};\n    eprintln!();\n\
                use std::{net, fmt};\nuse std::sync::Arc;\nstruct Instantly;\n\
                mod tests {\n    use std::fs;\n}\n";
    let found = ["use std::time::{Duration, Instant};", "eprintln!();", "use std::{net, fmt};"];
    assert_eq!(impure(text), found);
}

#[test]
fn a_circle_is_found() {
    let sources = [
        ("lib.rs", "pub use crate::high::High;\n"),
        (
            "low.rs",
            "//! See [`crate::high`].\n\n#[cfg(test)]\nmod tests {\n    use crate::high;\n}\n",
        ),
        ("middle/mod.rs", "use crate::low::Low;\ncrate::made_here!();\n"),
        (
            "middle/part.rs",
            "pub(in crate::middle) fn rise() {\n    super::super::high::rise();\n}\n",
        ),
        ("middle/tests.rs", "use crate::top;\n"),
        ("high.rs", "use super::middle;\n"),
        ("top.rs", "use crate::high;\nuse crate::low;\n"),
    ];
    let graph = graph(&sources);
    assert_eq!(graph["middle"], names(["high", "low"]));
    assert_eq!(graph["top"], names(["high", "low"]));
    let circle = [("high", names(["middle"])), ("middle", names(["high"]))];
    let circle = circle.map(|(module, names)| (module.to_owned(), names));
    assert_eq!(circles(graph), Graph::from(circle));
    // A module that is in no circle is not told.
    let sources = [
        ("lib.rs", "pub use bellwether_core::{lowest, other};\npub mod low;\n"),
        ("low.rs", "use crate::lowest;\n"),
        ("middle.rs", "use crate::low::Low;\n"),
        ("high.rs", "use crate::low;\nuse crate::middle;\n"),
    ];
    assert_eq!(circles(self::graph(&sources)), Graph::new());
}

#[test]
#[should_panic(expected = "high.rs: `crate::Low` is no module")]
fn what_would_hide_a_module_is_refused() {
    graph(&[("low.rs", ""), ("high.rs", "use crate::Low;\n")]);
}

/// A macro that panics when it cannot print takes the status of a verdict away. Only what finds
/// nothing may use one: examples that a reader copies, what tests print, and what Cargo is told.
#[test]
fn no_program_panics_when_it_cannot_print() {
    const MACROS: [&str; 5] = ["println!(", "eprintln!(", "print!(", "eprint!(", "dbg!("];
    let finds_nothing = |file: &str| {
        file.starts_with("examples/")
            || file == "impl/core/examples/drive.rs"
            || file == "model/examples/liveness_speed.rs"
            || file.contains("/tests/")
            || file.ends_with("/tests.rs")
            || file.ends_with("/build.rs")
    };
    let mut wrong = Vec::new();
    let mut looked = 0;
    for (file, text) in files("rs").into_iter().filter(|(file, _)| !finds_nothing(file)) {
        looked += 1;
        for (at, line) in (1..).zip(text.lines()) {
            let code = line.trim_start();
            let is_remark = code.starts_with("//");
            if !is_remark && MACROS.iter().any(|name| code.contains(name)) {
                wrong.push(format!("{file}:{at}: {code}"));
            }
        }
    }
    assert!(looked > 300, "only {looked} files");
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

/// The files of the project with this ending: their paths from the root, and what they say.
fn files(ending: &str) -> Vec<(String, String)> {
    const PARTS: &str = "model impl cli conformance browser docs-runner examples fuzz docs \
                         README.md CHANGELOG.md";
    let root = root();
    let mut found = Vec::new();
    let mut left: Vec<PathBuf> = PARTS.split(' ').map(|part| root.join(part)).collect();
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

/// Returns the files below a folder: their paths from there, and their texts.
fn inside<'a>(folder: &str, files: &'a [(String, String)]) -> Vec<(&'a str, &'a str)> {
    let inside = files.iter().filter_map(|(path, text)| {
        let path = path.strip_prefix(folder)?.strip_prefix('/')?;
        Some((path, text.as_str()))
    });
    inside.collect()
}

/// Returns the lines of a file that name something that acts.
fn impure(text: &str) -> Vec<&str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let acts = |line: &&str| {
        IMPURE.split(' ').any(|name| {
            line.match_indices(name).any(|(at, _)| {
                // A longer word is another one.
                !name.ends_with(part) || !line[at + name.len()..].starts_with(part)
            })
        })
    };
    code(text).map(str::trim).filter(acts).collect()
}

fn is_tests(path: &str) -> bool {
    path.ends_with("tests.rs") || path.contains("/tests/") || path.ends_with("stories.rs")
}

/// Returns the modules of another package that a crate names at its root.
fn shown<'a>(files: &[(&str, &'a str)]) -> BTreeSet<&'a str> {
    let libraries = files.iter().filter(|(path, _)| *path == "lib.rs");
    let lines = libraries.flat_map(|(_, text)| text.lines());
    let lists = lines.filter_map(|line| line.trim_start_matches("pub ").strip_prefix(SHOWN));
    lists.flat_map(|list| list.trim_matches(['{', '}', ';']).split(", ")).collect()
}

fn names<const N: usize>(of: [&str; N]) -> BTreeSet<String> {
    BTreeSet::from(of.map(str::to_owned))
}

/// Returns what the modules of a crate name, by the paths and the texts of its files.
fn graph(files: &[(&str, &str)]) -> Graph {
    let counts = |path: &str| !matches!(path, "lib.rs" | "main.rs") && !is_tests(path);
    let mut modules = shown(files);
    let files = files.iter().filter(|(path, _)| counts(path));
    modules.extend(files.clone().map(|(path, _)| module(path)));
    let mut graph = Graph::new();
    for (path, text) in files {
        let own = module(path);
        for name in named(text, depth(path)) {
            let known = modules.contains(name);
            assert!(known, "{path}: `crate::{name}` is no module; name one in each `use`");
            if name != own {
                graph.entry(own.to_owned()).or_default().insert(name.to_owned());
            }
        }
    }
    graph
}

/// Returns what is left of a graph without the modules that are in no circle: those that name none
/// that is left, and those that none names.
fn circles(mut graph: Graph) -> Graph {
    loop {
        let left: BTreeSet<String> = graph.keys().cloned().collect();
        let named: BTreeSet<String> = graph.values().flatten().cloned().collect();
        graph.retain(|module, names| {
            names.retain(|name| left.contains(name));
            !names.is_empty() && named.contains(module)
        });
        if graph.len() == left.len() {
            return graph;
        }
    }
}

/// Returns the module of the crate that a file belongs to.
fn module(path: &str) -> &str {
    let first = path.split('/').next().unwrap_or(path);
    first.strip_suffix(".rs").unwrap_or(first)
}

/// Returns how many modules a file is in, its own among them.
fn depth(path: &str) -> usize {
    path.split('/').filter(|part| *part != "mod.rs").count()
}

/// Returns what a file names of the root of its crate, but for macros, which are there.
fn named(text: &str, depth: usize) -> BTreeSet<&str> {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    let roots = ["crate::".to_owned(), "super::".repeat(depth)];
    let mut names = BTreeSet::new();
    for line in code(text) {
        for root in &roots {
            for (at, _) in line.match_indices(root.as_str()) {
                let path = &line[at + root.len()..];
                let (name, after) =
                    path.split_at(path.find(|c: char| !part(c)).unwrap_or(path.len()));
                if !line[..at].ends_with(part) && !after.starts_with('!') {
                    names.insert(name);
                }
            }
        }
    }
    names
}

/// Returns the lines of a file but for comments and for its tests, with which it ends.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().take_while(|line| !line.ends_with("mod tests {"));
    lines.filter(|line| !line.trim_start().starts_with("//"))
}

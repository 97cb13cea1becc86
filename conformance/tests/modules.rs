//! No circle of modules: what a module names is below it, and names nothing above.
//!
//! Read from the sources: a path that begins with `crate::` names a module of the crate, and so
//! does one that begins with as many `super::` as lead to the root. What stands in comments and in
//! tests does not count.

use super::style::files;
use std::collections::{BTreeMap, BTreeSet};

/// The crates whose modules form no circle.
const CRATES: [&str; 5] =
    ["conformance/bridge/src", "impl/sim/src", "impl/src", "model/search/src", "model/tool/src"];

/// For each module that names others, those.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_modules_form_a_circle() {
    let files = files("rs");
    let mut wrong = Vec::new();
    for folder in CRATES {
        let inside = files.iter().filter_map(|(path, text)| {
            let path = path.strip_prefix(folder)?.strip_prefix('/')?;
            Some((path, text.as_str()))
        });
        let graph = graph(&inside.collect::<Vec<_>>());
        assert!(!graph.is_empty(), "{folder}: the test looks in the wrong place");
        for (module, names) in circles(graph) {
            let names: Vec<_> = names.into_iter().collect();
            wrong.push(format!("{folder}: {module} names {}", names.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "these form a circle:\n{}", wrong.join("\n"));
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
}

#[test]
fn what_is_in_no_circle_is_not_told() {
    let sources = [
        ("low.rs", ""),
        ("middle.rs", "use crate::low::Low;\n"),
        ("high.rs", "use crate::low;\nuse crate::middle;\n"),
    ];
    assert_eq!(circles(graph(&sources)), Graph::new());
}

#[test]
#[should_panic(expected = "high.rs: `crate::Low` is no module")]
fn what_would_hide_a_module_is_refused() {
    graph(&[("low.rs", ""), ("high.rs", "use crate::Low;\n")]);
}

fn names<const N: usize>(of: [&str; N]) -> BTreeSet<String> {
    BTreeSet::from(of.map(str::to_owned))
}

/// Returns what the modules of a crate name, by the paths and the texts of its files.
fn graph(files: &[(&str, &str)]) -> Graph {
    let is_tests = |path: &str| path.ends_with("tests.rs") || path.contains("/tests/");
    let counts = |path: &str| !matches!(path, "lib.rs" | "main.rs") && !is_tests(path);
    let files = files.iter().filter(|(path, _)| counts(path));
    let modules: BTreeSet<&str> = files.clone().map(|(path, _)| module(path)).collect();
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

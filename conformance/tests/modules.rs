//! No circle of files: what a file names is below it, and names nothing above.
//!
//! Read from the sources: a path that begins with `crate`, `self`, `super` or a module below names
//! the file in which its item stands. A re-export names nothing, and an item that is named through
//! one stands where it is defined. A file may therefore show the items of the files below it, and
//! these may name its own; but it names none of theirs. What stands in comments and in tests does
//! not count, and neither do the modules of other packages.
//!
//! And the core of the program is pure: it names nothing that acts; no program panics when it
//! cannot print; and examples of the documentation are compiled.

use bellwether_docs_runner::root;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// The crates whose files form no circle.
const FILES: [&str; 3] = ["model/dataflow/src", "model/engine/src", "model/search/src"];

/// The crates of which only the modules at the root form no circle, because the files below one of
/// these are parts of one concept that still name each other. The files of `model/protocols` are
/// not looked at: a specification names its parts, and these name its messages.
const MODULES: [&str; 8] = [
    "conformance/bridge/src",
    "conformance/src",
    "impl/core/src",
    "impl/sim/src",
    "impl/src",
    "impl/stores/src",
    "model/src",
    "model/tool/src",
];

/// The crate that does no I/O, reads no clock, and starts no thread.
const PURE: &str = "impl/core/src";

/// What of the standard library reads or changes something outside of the program. `features.rs`
/// says on which other packages that crate depends.
const IMPURE: &str = "std::env std::fs std::io std::net std::os std::process std::thread std::{ \
                      Instant SystemTime print! println!";

/// For each module that names others, those.
type Graph = BTreeMap<String, BTreeSet<String>>;

#[test]
fn no_files_form_a_circle() {
    let files = files("rs");
    let of = |folder: &str| {
        let graph = graph(&inside(folder, &files));
        assert!(!graph.is_empty(), "{folder}: the test looks in the wrong place");
        graph
    };
    let mut wrong = Vec::new();
    let seen = FILES.map(|folder| (folder, of(folder)));
    for (folder, graph) in seen.into_iter().chain(MODULES.map(|folder| (folder, roots(of(folder)))))
    {
        for (module, names) in circles(graph) {
            let names: Vec<_> = names.into_iter().collect();
            wrong.push(format!("{folder}: {module} names {}", names.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "these form a circle:\n{}", wrong.join("\n"));
    for folder in MODULES {
        assert!(
            !circles(of(folder)).is_empty(),
            "{folder} has no circle of files: name it in FILES"
        );
    }
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
        ("lib.rs", "pub use crate::high::High;\npub use other::space;\n"),
        (
            "low.rs",
            "//! See [`crate::high`].\n\n#[cfg(test)]\nmod tests {\n    use crate::high;\n}\n",
        ),
        (
            "middle/mod.rs",
            "mod part;\npub use part::Part;\n\nuse crate::low::Low;\ncrate::made!();\n",
        ),
        (
            "middle/part.rs",
            "pub(in crate::middle) fn rise(_: super::M) {\n    super::super::high::rise();\n}\n",
        ),
        ("middle/tests.rs", "use crate::top;\n"),
        ("high.rs", "use super::{\n    middle::{Part, self},\n    space::Space,\n};\n"),
        ("top.rs", "use crate::High;\nuse crate::low;\n"),
    ];
    let graph = graph(&sources);
    assert_eq!(graph["middle"], names(["low"]));
    assert_eq!(graph["middle::part"], names(["high", "middle"]));
    assert_eq!(graph["top"], names(["high", "low"]));
    let circle = [("high", names(["middle::part"])), ("middle::part", names(["high"]))];
    let circle = circle.map(|(module, names)| (module.to_owned(), names));
    assert_eq!(circles(graph.clone()), Graph::from(circle));
    let circle = [("high", names(["middle"])), ("middle", names(["high"]))];
    let circle = circle.map(|(module, names)| (module.to_owned(), names));
    assert_eq!(circles(roots(graph)), Graph::from(circle));
    // A file that names the item of one below it, which names its own, is in a circle with it.
    let sources = [
        ("lib.rs", "pub mod low;\n"),
        ("low/mod.rs", "mod deep;\n\npub fn begin() {\n    deep::dig();\n}\n"),
        ("low/deep.rs", "use super::Low;\n"),
        ("high.rs", "use crate::low::Low;\n"),
    ];
    let circle = [("low", names(["low::deep"])), ("low::deep", names(["low"]))];
    let circle = circle.map(|(module, names)| (module.to_owned(), names));
    assert_eq!(circles(self::graph(&sources)), Graph::from(circle));
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

fn names<const N: usize>(of: [&str; N]) -> BTreeSet<String> {
    BTreeSet::from(of.map(str::to_owned))
}

/// The names of modules, and of an item in the last, from the root of the crate.
type Path = Vec<String>;

/// What a file names: the paths, and those that it shows under a name of its own.
#[derive(Default)]
struct Source {
    names: Vec<Path>,
    shows: Vec<(String, Path)>,
}

/// Returns which files of a crate name which, by the paths and the texts of its files.
fn graph(files: &[(&str, &str)]) -> Graph {
    let counts = |path: &str| path != "main.rs" && !is_tests(path);
    let files = files.iter().filter(|(path, _)| counts(path));
    let sources: BTreeMap<Path, Source> =
        files.map(|(path, text)| (module(path), source(text))).collect();
    let mut graph = Graph::new();
    // What stands at the root is no file's.
    for (own, source) in sources.iter().filter(|(own, _)| !own.is_empty()) {
        for path in &source.names {
            let absolute = absolute(&sources, own, path);
            let named = absolute.and_then(|path| defined_in(&sources, path));
            if let Some(named) = named.filter(|named| !named.is_empty() && named != own) {
                graph.entry(own.join("::")).or_default().insert(named.join("::"));
            }
        }
    }
    graph
}

/// Returns the path from the root for a path in the file `own`; nothing if it leads out of the
/// crate.
fn absolute(sources: &BTreeMap<Path, Source>, own: &[String], path: &[String]) -> Option<Path> {
    let up = path.iter().take_while(|part| *part == "super").count();
    let is_below = |name: &str| sources.contains_key(&[own, &[name.to_owned()][..]].concat());
    match path.first()?.as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([own, &path[1..]].concat()),
        "super" => Some([&own[..own.len().checked_sub(up)?], &path[up..]].concat()),
        name => is_below(name).then(|| [own, path].concat()),
    }
}

/// Returns the module in which the item at a path from the root is defined.
fn defined_in(sources: &BTreeMap<Path, Source>, mut path: Path) -> Option<Path> {
    // A re-export of a re-export, and so on, comes to an end.
    for _ in 0..8 {
        let long = (0..=path.len()).rev().find(|&long| sources.contains_key(&path[..long]))?;
        let (module, item) = (path[..long].to_vec(), path[long..].to_vec());
        let shown = item.first().and_then(|first| {
            let (_, shown) = sources[&module].shows.iter().find(|(name, _)| name == first)?;
            absolute(sources, &module, shown)
        });
        match shown {
            Some(shown) => path = [&shown[..], &item[1..]].concat(),
            None => return Some(module),
        }
    }
    None
}

/// Returns the same of the modules at the root, each with all that is below it.
fn roots(graph: Graph) -> Graph {
    let root = |module: &str| module.split("::").next().unwrap_or_default().to_owned();
    let mut roots = Graph::new();
    for (module, names) in graph {
        let own = root(&module);
        let names = names.iter().map(|name| root(name)).filter(|name| *name != own);
        roots.entry(own.clone()).or_default().extend(names);
    }
    roots
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

/// Returns the module that a file is.
fn module(path: &str) -> Path {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let path = path.strip_suffix("/mod").unwrap_or(path);
    path.split('/').filter(|part| *part != "lib").map(str::to_owned).collect()
}

/// Returns what a file names.
fn source(text: &str) -> Source {
    let mut source = Source::default();
    let mut lines = code(text);
    while let Some(line) = lines.next() {
        let line = line.trim();
        let Some((before, used)) = line.split_once("use ").filter(|(before, _)| {
            before.is_empty() || (before.starts_with("pub") && before.ends_with([' ', ')']))
        }) else {
            source.names.extend(paths(line));
            continue;
        };
        let mut used = used.to_owned();
        while !used.ends_with(';') {
            let Some(line) = lines.next() else { break };
            used += line.trim();
        }
        for tree in trees(used.trim_end_matches(';')) {
            let (path, name) = tree.split_once(" as ").unwrap_or((tree.as_str(), ""));
            let mut path: Path = path.split("::").map(|part| part.trim().to_owned()).collect();
            path.retain(|part| part != "self" || tree.starts_with("self"));
            let last = path.last().cloned().unwrap_or_default();
            let name = if name.is_empty() { last } else { name.trim().to_owned() };
            if before.is_empty() {
                source.names.push(path);
            } else {
                source.shows.push((name, path));
            }
        }
    }
    source
}

/// Returns the paths of what is used: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn trees(used: &str) -> Vec<String> {
    let Some((before, rest)) = used.split_once('{') else { return vec![used.trim().to_owned()] };
    let (mut deep, mut begin, mut parts) = (0, 0, Vec::new());
    let inner = rest.rsplit_once('}').map_or(rest, |(inner, _)| inner);
    for (at, sign) in inner.char_indices() {
        match sign {
            '{' => deep += 1,
            '}' => deep -= 1,
            ',' if deep == 0 => {
                parts.push(&inner[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[begin..]);
    let parts = parts.into_iter().filter(|part| !part.trim().is_empty());
    parts.flat_map(|part| trees(&format!("{}{}", before.trim(), part.trim()))).collect()
}

/// Returns the paths in a line of code, but for those of macros and those that say where something
/// is visible.
fn paths(line: &str) -> Vec<Path> {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let mut found = Vec::new();
    for word in line.split(|c: char| !part(c)).filter(|word| word.contains("::")) {
        let at = word.as_ptr().addr() - line.as_ptr().addr();
        let is_macro = line[at + word.len()..].starts_with('!');
        if !is_macro && !line[..at].ends_with("(in ") {
            let parts = word.split("::").filter(|part| !part.is_empty());
            found.push(parts.map(|part| part.trim_matches(':').to_owned()).collect());
        }
    }
    found
}

/// Returns the lines of a file but for comments and for its tests, with which it ends.
fn code(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().take_while(|line| !line.ends_with("mod tests {"));
    lines.filter(|line| !line.trim_start().starts_with("//"))
}

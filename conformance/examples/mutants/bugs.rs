//! The catalogue of `conformance/bugs`: bugs that elections of real systems had, each as a mistake
//! in our program, with the report by which it is caught.
//!
//! Each has a folder with two files. `bug.toml` says what happened, where that is told, and how the
//! program is changed; `report.txt` is what the bridge prints, and is written by the runner.

use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

use crate::set::{By, Mutant, root};

/// What writes the reports and the page anew.
pub(crate) const UPDATE: &str =
    "cargo run -p bellwether-conformance --example mutants -- bugs --update";

/// What keeps the first difference that the traces of a cluster show.
const CLUSTER: &str = "cluster.txt";

/// One bug that happened.
pub(crate) struct Bug {
    /// Its name, which is that of its folder.
    pub(crate) name: String,
    /// What it is called.
    pub(crate) title: String,
    /// What happened, in some sentences.
    pub(crate) happened: String,
    /// Where that is told: what it is called, and its address.
    pub(crate) sources: Vec<[String; 2]>,
    /// The wrong program.
    pub(crate) mutant: Mutant,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    title: String,
    happened: String,
    sources: Vec<[String; 2]>,
    commands: Vec<String>,
    file: String,
    wrong: String,
    find: String,
    replace: String,
    #[serde(default)]
    more: Vec<[String; 2]>,
}

impl Bug {
    /// The whole catalogue, in the order of the names.
    pub(crate) fn read_all() -> Result<Vec<Self>> {
        let folder = root().join("conformance/bugs");
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).context("conformance/bugs")? {
            names.push(entry?.file_name().to_string_lossy().into_owned());
        }
        names.sort();
        names.into_iter().map(|name| Self::read(&folder, name)).collect()
    }

    fn read(folder: &Path, name: String) -> Result<Self> {
        let folder = folder.join(&name);
        let path = folder.join("bug.toml");
        let shown = || path.display().to_string();
        let text = fs::read_to_string(&path).with_context(shown)?;
        let file: File = toml::from_str(&text).with_context(shown)?;
        let mut edits = vec![[file.find, file.replace]];
        edits.extend(file.more);
        let mutant = Mutant {
            list: "bugs".to_owned(),
            file: file.file,
            name: name.clone(),
            wrong: file.wrong,
            edits,
            by: By::Bridge(file.commands),
            survives: None,
            report: Some(folder.join("report.txt")),
        };
        let (title, happened, sources) = (file.title, file.happened, file.sources);
        Ok(Self { name, title, happened, sources, mutant })
    }

    /// The same in a cluster that runs; `None` if no daemon runs its protocol. It may survive:
    /// three nodes meet by chance what it needs.
    pub(crate) fn in_a_cluster(&self) -> Option<Mutant> {
        let protocol = self.mutant.by.commands().first()?.split_whitespace().nth(1)?;
        // What is around every core is tried around this one.
        let protocol = if protocol == "member" { "quorum" } else { protocol };
        let by = By::Clusters(vec![protocol.to_owned()]);
        let report = self.mutant.report.as_ref().map(|path| path.with_file_name(CLUSTER));
        let runs = !protocol.ends_with("-commit");
        let survives = Some("Three nodes meet by chance what it needs.".to_owned());
        runs.then(|| Mutant { by, survives, report, ..self.mutant.clone() })
    }

    /// How the traces of a cluster that runs it are rejected; `None` if none was.
    fn told_of_a_cluster(&self) -> Option<String> {
        fs::read_to_string(self.mutant.report.as_ref()?.with_file_name(CLUSTER)).ok()
    }

    /// The report by which it is caught; `None` if it has not been run yet.
    pub(crate) fn report(&self) -> Option<String> {
        fs::read_to_string(self.mutant.report.as_ref()?).ok()
    }

    /// Whether the report is newer than what says how the program is changed.
    pub(crate) fn is_reported(&self) -> bool {
        let written = |path: PathBuf| fs::metadata(path).and_then(|file| file.modified()).ok();
        let Some(report) = &self.mutant.report else { return false };
        match (written(report.clone()), written(report.with_file_name("bug.toml"))) {
            (Some(report), Some(patch)) => report > patch,
            _ => false,
        }
    }
}

/// What a report is: the command, and what the bridge says of the difference, without figures that
/// are others each time. `None` if it says nothing of a difference.
pub(crate) fn report(command: &str, output: &str) -> Option<String> {
    const DIVERGES: &str = "The program diverges";
    const FAILS: &str = "The program fails in a group";
    let mut lines =
        output.lines().skip_while(|line| !line.starts_with(DIVERGES) && !line.starts_with(FAILS));
    let first = lines.next()?;
    let mut told: Vec<&str> = Vec::new();
    if first.starts_with(FAILS) {
        told.push(first);
    }
    told.extend(lines.map(str::trim_end).skip_while(|line| line.is_empty()));
    let told = told.join("\n");
    let told = told.trim_end();
    (!told.is_empty()).then(|| format!("$ bellwether-conformance {command}\n\n{told}\n"))
}

/// The first line of a report that says what differs.
pub(crate) fn first_line(report: &str) -> &str {
    report.lines().nth(2).unwrap_or_default()
}

/// The page `docs/bugs.md`.
pub(crate) fn page(bugs: &[Bug]) -> String {
    let mut page = format!(
        "{INTRODUCTION}\n| bug | what happened | source | the report begins | in a cluster |\n"
    );
    page += "|---|---|---|---|---|\n";
    let are_run = bugs.iter().any(|bug| bug.told_of_a_cluster().is_some());
    let none = if are_run { "-" } else { "not run yet" };
    for bug in bugs {
        let sources: Vec<String> =
            bug.sources.iter().map(|[name, address]| format!("[{name}]({address})")).collect();
        let report = bug.report();
        let begins = report
            .as_deref()
            .map_or("not run yet".to_owned(), |report| format!("`{}`", cell(first_line(report))));
        let cluster = bug.told_of_a_cluster();
        let cluster = cluster
            .as_deref()
            .map_or(none.to_owned(), |told| format!("`{}`", cell(first_line(told))));
        let Bug { name, title, happened, .. } = bug;
        let link = format!("[{name}](../conformance/bugs/{name}/bug.toml)");
        let (title, happened, sources) = (cell(title), cell(happened), sources.join("; "));
        page +=
            &format!("| {link} | **{title}.** {happened} | {sources} | {begins} | {cluster} |\n");
    }
    page
}

const INTRODUCTION: &str = "\
# Bugs that happened, made again

Each row is a bug that an election of a real system had, made again in our program by a small change
of one file. The link of its name leads to the change and to the commands that must find it, and
`report.txt` beside that is what they print. `cargo run -p bellwether-conformance --example mutants
-- bugs --update` builds the wrong programs in a copy, and writes the reports and this page anew.

The last column is of clusters that run: `-- bugs --clusters --update` starts each wrong daemon six
times as three nodes, and if that shows nothing, twelve times as four. Nodes are killed, stopped and
cut from each other, messages are late, and [`validate`](conformance.md) judges the traces. The
column has the step at which a trace was rejected first, and what differs first there. A dash says
that no trace was rejected so far, or that no daemon runs the protocol: nodes meet by chance what a
bug needs, and some need more.
";

/// A text as it stands in a cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}

//! The set as it stands in `conformance/mutants`: one file of data for each file of source, of the
//! program, of a model or of a mapping, and the worlds in which the bridge looks for each protocol.

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::scratch::Program;

/// The wrong programs, and where they are looked for.
pub(crate) struct Set {
    /// In the order of the files' names, and of each file.
    pub(crate) mutants: Vec<Mutant>,
    /// The flags of each world, for each list.
    pub(crate) worlds: BTreeMap<String, Vec<String>>,
}

/// One wrong program.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// The list in which it stands: the name of a file of data without its end.
    pub(crate) list: String,
    /// The file of source, from the root of the workspace.
    pub(crate) file: String,
    /// Its name, which no other has in this file.
    pub(crate) name: String,
    /// What is wrong, in one sentence.
    pub(crate) wrong: String,
    /// What is replaced by what.
    pub(crate) edits: Vec<[String; 2]>,
    /// What must catch it.
    pub(crate) by: By,
    /// Why nothing does.
    pub(crate) survives: Option<String>,
    /// The file that keeps the report by which it is caught, for one of the catalogue of bugs.
    pub(crate) report: Option<PathBuf>,
}

/// What must catch a wrong program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum By {
    /// The walk of one of these lists of worlds.
    Lockstep(Vec<String>),
    /// The tests of the production source whose names contain this.
    Tests(String),
    /// The simulation of one of these: protocol, number of nodes and faults, as in a code of it.
    Simulation(Vec<String>),
    /// One of these checks of a model: it finds a violation that the right model does not have, or
    /// another number of states.
    Check(Vec<String>),
    /// One of these commands of the bridge, whose report is kept.
    Bridge(Vec<String>),
    /// The suite of one of these protocols, through the driver.
    Suite(Vec<String>),
    /// The traces of clusters that run one of these protocols under faults.
    Clusters(Vec<String>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct File {
    file: String,
    #[serde(default)]
    lockstep: Vec<String>,
    #[serde(default)]
    check: Vec<String>,
    mutant: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Entry {
    name: String,
    wrong: String,
    find: String,
    replace: String,
    #[serde(default)]
    more: Vec<[String; 2]>,
    /// The walks that see it, if not all of the file.
    #[serde(default)]
    lockstep: Vec<String>,
    /// The checks that see it, if not all of the file.
    #[serde(default)]
    check: Vec<String>,
    caught_by: Option<String>,
    #[serde(default)]
    simulation: Vec<String>,
    #[serde(default)]
    suite: Vec<String>,
    survives: Option<String>,
}

/// What has the tests of production source, each with the folder in which these are.
pub(crate) const TESTS: [(Program, &str); 3] = [
    (Program::Tests("bellwether-core"), "impl/core/src"),
    (Program::Tests("bellwether"), "impl/src"),
    (Program::Servers, "impl/tests"),
];

/// The protocol of a list of worlds: the first word of its name.
pub(crate) fn protocol(list: &str) -> &str {
    list.split(' ').next().unwrap_or(list)
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

impl Set {
    /// Reads the set of this workspace.
    pub(crate) fn read() -> Result<Self> {
        let folder = root().join("conformance/mutants");
        let mut paths = Vec::new();
        for entry in fs::read_dir(&folder).context("conformance/mutants")? {
            paths.push(entry?.path());
        }
        paths.sort();
        let (mut mutants, mut worlds) = (Vec::new(), BTreeMap::new());
        for path in paths {
            let text = fs::read_to_string(&path)?;
            let name = path.display();
            if path.ends_with("worlds.toml") {
                worlds = toml::from_str(&text).with_context(|| name.to_string())?;
            } else {
                let file: File = toml::from_str(&text).with_context(|| name.to_string())?;
                let list = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                mutants.extend(file.mutants(&list).with_context(|| name.to_string())?);
            }
        }
        Ok(Self { mutants, worlds })
    }
}

impl By {
    /// The checks of a model of which one must find something else.
    pub(crate) fn checks(&self) -> &[String] {
        match self {
            Self::Check(commands) => commands,
            _ => &[],
        }
    }

    /// The tests of which one must fail.
    pub(crate) fn tests(&self) -> Option<&str> {
        match self {
            Self::Tests(filter) => Some(filter),
            _ => None,
        }
    }

    /// The program that has these tests, and their folder: that of the first of their modules.
    pub(crate) fn tested(&self) -> Option<(Program, &'static str)> {
        let module = self.tests()?.split("::").next()?;
        let of = |folder: &str| {
            let folder = root().join(folder);
            folder.join(module).is_dir() || folder.join(format!("{module}.rs")).is_file()
        };
        TESTS.into_iter().find(|(_, folder)| of(folder))
    }

    /// The commands of the bridge of which one must find a difference.
    pub(crate) fn commands(&self) -> &[String] {
        match self {
            Self::Bridge(commands) => commands,
            _ => &[],
        }
    }

    /// Each thing that catches it, by itself.
    pub(crate) fn each(&self) -> Vec<Self> {
        let one = |make: fn(Vec<String>) -> Self, all: &[String]| {
            all.iter().map(|one| make(vec![one.clone()])).collect()
        };
        match self {
            Self::Tests(filter) => vec![Self::Tests(filter.clone())],
            Self::Lockstep(all) => one(Self::Lockstep, all),
            Self::Simulation(all) => one(Self::Simulation, all),
            Self::Check(all) => one(Self::Check, all),
            Self::Bridge(all) => one(Self::Bridge, all),
            Self::Suite(all) => one(Self::Suite, all),
            Self::Clusters(all) => one(Self::Clusters, all),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tests(filter) => write!(f, "the tests {filter}"),
            Self::Lockstep(all) => write!(f, "lockstep {}", all.join(", ")),
            Self::Simulation(all) => write!(f, "the simulation {}", all.join(", ")),
            Self::Check(all) | Self::Bridge(all) => f.write_str(&all.join(", ")),
            Self::Suite(all) => write!(f, "the suite of {} through the driver", all.join(", ")),
            Self::Clusters(all) => write!(f, "clusters of {}", all.join(", ")),
        }
    }
}

impl File {
    fn mutants(self, list: &str) -> Result<Vec<Mutant>> {
        let mut mutants = Vec::new();
        for entry in self.mutant {
            let mut by = Vec::new();
            by.extend(entry.caught_by.map(By::Tests));
            let own = Some(entry.lockstep).filter(|own| !own.is_empty());
            let lockstep = own.unwrap_or_else(|| self.lockstep.clone());
            if !lockstep.is_empty() {
                by.push(By::Lockstep(lockstep));
            }
            let own = Some(entry.check).filter(|own| !own.is_empty());
            let check = own.unwrap_or_else(|| self.check.clone());
            if !check.is_empty() {
                by.push(By::Check(check));
            }
            if !entry.simulation.is_empty() {
                by.push(By::Simulation(entry.simulation));
            }
            if !entry.suite.is_empty() {
                by.push(By::Suite(entry.suite));
            }
            ensure!(!by.is_empty(), "{}: it does not say what catches it", entry.name);
            let mut edits = vec![[entry.find, entry.replace]];
            edits.extend(entry.more);
            // Each of them must catch it alone.
            mutants.extend(by.into_iter().map(|by| Mutant {
                list: list.to_owned(),
                file: self.file.clone(),
                name: entry.name.clone(),
                wrong: entry.wrong.clone(),
                edits: edits.clone(),
                by,
                survives: entry.survives.clone(),
                report: None,
            }));
        }
        Ok(mutants)
    }
}

impl Mutant {
    /// The program that judges it.
    pub(crate) fn program(&self) -> Program {
        match &self.by {
            By::Lockstep(_) | By::Bridge(_) | By::Suite(_) => Program::Bridge,
            By::Check(_) => Program::Model,
            By::Simulation(_) => Program::Simulation,
            By::Clusters(_) => Program::Daemon,
            // A test of the set finds each of them.
            By::Tests(_) => self.by.tested().map_or(Program::Servers, |(program, _)| program),
        }
    }

    /// Whether this is the report that is kept of it. What a cluster meets is another each time.
    pub(crate) fn keeps(&self, report: &str) -> bool {
        if matches!(self.by, By::Clusters(_)) {
            return true;
        }
        let kept = self.report.as_ref().and_then(|path| fs::read_to_string(path).ok());
        kept.as_deref() == Some(report)
    }

    /// What it is called in all of the set.
    pub(crate) fn title(&self) -> String {
        if self.report.is_some() {
            return format!("bugs: {}", self.name);
        }
        let of = |&(_, source): &(Program, &str)| self.file.strip_prefix(source)?.strip_prefix('/');
        let file = TESTS.iter().find_map(of).unwrap_or(&self.file).trim_end_matches(".rs");
        let by = match &self.by {
            By::Simulation(_) => " (simulated)",
            By::Suite(_) => " (through the driver)",
            By::Tests(_) if self.program() == Program::Servers => " (at a server)",
            // Most of these are caught by tests as well.
            By::Lockstep(_) if file.starts_with("member/") => " (in lockstep)",
            _ => "",
        };
        format!("{file}: {}{by}", self.name)
    }

    /// The source with the mistake in it.
    ///
    /// # Errors
    /// If what is to be replaced does not stand in the source exactly once.
    pub(crate) fn apply(&self, source: &str) -> Result<String> {
        let mut text = source.to_owned();
        for [find, replace] in &self.edits {
            let found = source.matches(find.as_str()).count();
            ensure!(found == 1, "{}: found {found} times in {}: {find}", self.name, self.file);
            ensure!(text.contains(find.as_str()), "{}: its edits overlap", self.name);
            text = text.replacen(find.as_str(), replace, 1);
        }
        ensure!(text != source, "{}: changes nothing", self.name);
        Ok(text)
    }
}

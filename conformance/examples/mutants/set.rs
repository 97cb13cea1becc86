//! The set as it stands in `conformance/mutants`: a list of rows for each part of the sources, and
//! the worlds in which a row's mistake is looked for.

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::iter;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use toml::Spanned;

use crate::scratch::Program;
use crate::source::{Edit, Source, find, line};

/// One wrong program, and one way in which it must be caught.
#[derive(Clone, Debug)]
pub(crate) struct Mutant {
    /// The list in which it stands: the name of a file of data without its end.
    pub(crate) list: String,
    /// The file of source, from the root of the workspace.
    pub(crate) file: String,
    /// What stands in the file.
    pub(crate) source: Arc<str>,
    /// Its name, which no other has in this list.
    pub(crate) name: String,
    /// What is wrong, in one sentence.
    pub(crate) wrong: String,
    /// What is replaced, in the order of the source.
    pub(crate) edits: Vec<Edit>,
    /// What must catch it.
    pub(crate) by: By,
    /// Why nothing does.
    pub(crate) survives: Option<String>,
    /// The bug of another system that this mistake makes again.
    pub(crate) bug: Option<Bug>,
}

/// A bug that an election of a real system had.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bug {
    /// What it is called.
    pub(crate) title: String,
    /// What happened, in some sentences.
    pub(crate) happened: String,
    /// Where that is told: what it is called, and its address.
    pub(crate) sources: Vec<[String; 2]>,
}

/// What must catch a wrong program: one of these.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct By {
    pub(crate) way: Way,
    pub(crate) what: Vec<String>,
}

/// How a wrong program is caught.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// The walk of a world: the protocol, and flags.
    Lockstep,
    /// The tests of the production source whose names contain this.
    Tests,
    /// The simulation of a protocol, a number of nodes and faults, as in a code of it.
    Simulation,
    /// A check of a model, which finds a violation that the right model does not have, or another
    /// number of states: the protocol, and flags.
    Check,
    /// The traces of clusters that run a protocol under faults.
    Clusters,
}

/// A file of data.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    /// Modules, each with all modules below it: the paths of their files without the end.
    source: Vec<String>,
    /// The walks that see a mistake of which the row does not say what catches it.
    #[serde(default)]
    lockstep: Vec<String>,
    mutant: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: Spanned<String>,
    wrong: String,
    #[serde(rename = "in")]
    item: String,
    find: String,
    replace: String,
    #[serde(default)]
    more: Vec<More>,
    test: Option<String>,
    #[serde(default)]
    lockstep: Vec<String>,
    #[serde(default)]
    check: Vec<String>,
    #[serde(default)]
    simulation: Vec<String>,
    survives: Option<String>,
    bug: Option<Bug>,
}

/// Another part that a row replaces, in the same item if it names none.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct More {
    #[serde(rename = "in")]
    item: Option<String>,
    find: String,
    replace: String,
}

/// The flags of each walk and of each check, for the lists that rows name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Worlds {
    lockstep: BTreeMap<String, Vec<String>>,
    check: BTreeMap<String, Vec<String>>,
}

/// What has the tests of production source, each with the folder in which these are.
pub(crate) const TESTS: [(Program, &str); 4] = [
    (Program::Tests("bellwether-core"), "impl/core/src"),
    (Program::Tests("bellwether"), "impl/src"),
    (Program::Tests("bellwether-stores"), "impl/stores/src"),
    (Program::Servers, "impl/tests"),
];

const FOLDER: &str = "conformance/mutants";
const WORLDS: &str = "worlds.toml";

/// The protocol of a walk, of a check or of a list of them: the first word.
pub(crate) fn protocol(what: &str) -> &str {
    what.split(' ').next().unwrap_or(what)
}

/// The root of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All that must be caught, in the order of the lists' names, and of each list.
///
/// # Errors
/// If a list cannot be read, or a row of it does not say what is replaced, or what catches that.
pub(crate) fn read() -> Result<Vec<Mutant>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(root().join(FOLDER)).context(FOLDER)? {
        names.insert(entry?.file_name().to_string_lossy().into_owned());
    }
    ensure!(names.remove(WORLDS), "{FOLDER} has no {WORLDS}");
    let worlds: Worlds = toml::from_str(&text_of(WORLDS)?).context(WORLDS)?;
    let (mut mutants, mut wrong) = (Vec::new(), Vec::new());
    for name in names {
        let text = text_of(&name)?;
        let list: List = toml::from_str(&text).with_context(|| name.clone())?;
        let sources = Source::read_all(&list.source).with_context(|| name.clone())?;
        let mut known = BTreeSet::new();
        for row in list.mutant {
            let at = format!("{FOLDER}/{name}:{}", line(&text, row.name.span().start));
            if !known.insert(row.name.get_ref().clone()) {
                wrong.push(format!("{at}: another row has this name"));
            }
            match row.mutants(name.trim_end_matches(".toml"), &list.lockstep, &sources, &worlds) {
                Ok(some) => mutants.extend(some),
                Err(error) => wrong.push(format!("{at}: {error:#}")),
            }
        }
    }
    ensure!(wrong.is_empty(), "{}", wrong.join("\n"));
    Ok(mutants)
}

fn text_of(name: &str) -> Result<String> {
    fs::read_to_string(root().join(FOLDER).join(name)).with_context(|| name.to_owned())
}

/// What these lists have: each walk or check with its protocol.
fn each_of(all: &BTreeMap<String, Vec<String>>, lists: &[String]) -> Result<Vec<String>> {
    let mut each = Vec::new();
    for list in lists {
        let flags = all.get(list).with_context(|| format!("{WORLDS} has no list {list}"))?;
        let one = |flags: &String| format!("{} {flags}", protocol(list)).trim_end().to_owned();
        each.extend(flags.iter().map(one));
    }
    Ok(each)
}

impl Row {
    /// The wrong program, once for each way that must catch it alone.
    fn mutants(
        self,
        list: &str,
        otherwise: &[String],
        sources: &[Source],
        worlds: &Worlds,
    ) -> Result<Vec<Mutant>> {
        ensure!(
            self.bug.as_ref().is_none_or(Bug::is_whole),
            "its bug does not say what happened, or where that is told"
        );
        let first = More { item: None, find: self.find, replace: self.replace };
        let place = |More { item, find: pattern, replace }| {
            find(sources, item.as_ref().unwrap_or(&self.item), &pattern, replace)
        };
        let found = iter::once(first).chain(self.more).map(place).collect::<Result<Vec<_>>>()?;
        let source = found[0].0;
        let one = found.iter().all(|(of, _)| of.file == source.file);
        ensure!(one, "its edits are in several files");
        let mut edits: Vec<Edit> = found.into_iter().map(|(_, edit)| edit).collect();
        edits.sort_by_key(|edit| edit.place.start);
        let apart = |two: &[Edit]| two[0].place.end <= two[1].place.start;
        ensure!(edits.windows(2).all(apart), "its edits overlap");
        let changes = |edit: &Edit| source.text[edit.place.clone()] != edit.replace;
        ensure!(edits.iter().all(changes), "an edit of it changes nothing");
        let mut ways = vec![
            (Way::Tests, Vec::from_iter(self.test)),
            (Way::Lockstep, each_of(&worlds.lockstep, &self.lockstep)?),
            (Way::Check, each_of(&worlds.check, &self.check)?),
            (Way::Simulation, self.simulation),
        ];
        ways.retain(|(_, what)| !what.is_empty());
        if ways.is_empty() {
            ensure!(!otherwise.is_empty(), "it does not say what catches it");
            ways.push((Way::Lockstep, each_of(&worlds.lockstep, otherwise)?));
        }
        let mutant = |(way, what)| Mutant {
            list: list.to_owned(),
            file: source.file.clone(),
            source: Arc::clone(&source.text),
            name: self.name.get_ref().clone(),
            wrong: self.wrong.clone(),
            edits: edits.clone(),
            by: By { way, what },
            survives: self.survives.clone(),
            bug: self.bug.clone(),
        };
        Ok(ways.into_iter().map(mutant).collect())
    }
}

impl Bug {
    /// Whether it says what happened, in sentences without code, and where that is told.
    fn is_whole(&self) -> bool {
        let Self { title, happened, sources } = self;
        let is_told = |[named, address]: &[String; 2]| {
            !named.is_empty() && address.starts_with("https://") && !address.contains([' ', ')'])
        };
        !title.ends_with('.')
            && happened.trim_end().ends_with('.')
            && ![title, happened].iter().any(|text| text.contains('`'))
            && !sources.is_empty()
            && sources.iter().all(is_told)
    }
}

impl By {
    /// The program that has these tests, and their folder: that of the first of their modules.
    pub(crate) fn tested(&self) -> Option<(Program, &'static str)> {
        let module = self.what.first()?.split("::").next()?;
        let of = |folder: &str| {
            let folder = root().join(folder);
            folder.join(module).is_dir() || folder.join(format!("{module}.rs")).is_file()
        };
        TESTS.into_iter().find(|(_, folder)| of(folder))
    }

    /// Each thing that catches it, by itself.
    pub(crate) fn each(&self) -> impl Iterator<Item = Self> {
        self.what.iter().map(move |one| Self { way: self.way, what: vec![one.clone()] })
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.what.join(", ");
        match self.way {
            Way::Lockstep => write!(f, "lockstep {what}"),
            Way::Tests => write!(f, "the tests {what}"),
            Way::Simulation => write!(f, "the simulation {what}"),
            Way::Check => write!(f, "check {what}"),
            Way::Clusters => write!(f, "clusters of {what}"),
        }
    }
}

impl Mutant {
    /// The program that judges it.
    pub(crate) fn program(&self) -> Program {
        match self.by.way {
            Way::Lockstep => Program::Bridge,
            Way::Check => Program::Model,
            Way::Simulation => Program::Simulation,
            Way::Clusters => Program::Daemon,
            // A test of the set finds each of them.
            Way::Tests => self.by.tested().map_or(Program::Servers, |(program, _)| program),
        }
    }

    /// The same in clusters that run; `None` if no walk sees it, or no daemon runs its protocol.
    pub(crate) fn in_clusters(self) -> Option<Self> {
        let walk = self.by.what.first().filter(|_| self.by.way == Way::Lockstep)?;
        let protocol = match protocol(walk) {
            // The protocol around which this repository tries what is around every core.
            "member" => "quorum",
            protocol => protocol,
        };
        let runs = self.file.starts_with("impl/") && !protocol.ends_with("-commit");
        let by = By { way: Way::Clusters, what: vec![protocol.to_owned()] };
        runs.then_some(Self { by, ..self })
    }

    /// What it is called in all of the set.
    pub(crate) fn title(&self) -> String {
        let of = |&(_, source): &(Program, &str)| self.file.strip_prefix(source)?.strip_prefix('/');
        let file = TESTS.iter().find_map(of).unwrap_or(&self.file).trim_end_matches(".rs");
        let by = match self.by.way {
            Way::Simulation => " (simulated)",
            Way::Clusters => " (in clusters)",
            Way::Tests if self.program() == Program::Servers => " (at a server)",
            // Most of these are caught by tests as well.
            Way::Lockstep if file.starts_with("member/") => " (in lockstep)",
            _ => "",
        };
        format!("{file}: {}{by}", self.name)
    }

    /// A part of the source with the mistake in it.
    pub(crate) fn part(&self, part: &Range<usize>) -> String {
        let (mut text, mut copied) = (String::new(), part.start);
        for Edit { place, replace, .. } in &self.edits {
            if part.start <= place.start && place.end <= part.end {
                text += &self.source[copied..place.start];
                text += replace;
                copied = place.end;
            }
        }
        text + &self.source[copied..part.end]
    }
}

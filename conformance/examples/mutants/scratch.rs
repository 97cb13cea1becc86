//! A copy of the workspace in the target folder, in which wrong programs are built and run.

use anyhow::{Context as _, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

use crate::set::{Mutant, root};
use crate::weave::{ROOT, WHICH, Woven, weave};

/// No wrong program is given longer.
const LIMIT: Duration = Duration::from_secs(300);

/// The tests of one module take a few seconds.
const LIMIT_OF_TESTS: Duration = Duration::from_secs(60);

/// How many runs a simulation makes.
const RUNS: &str = "4000";

/// No right model has so many states in its checks, and a wrong one may have no end.
const STATES: &str = "1000000";

/// The packages of the program that starts clusters, and of the one that judges their traces.
const SOAK: &str = "bellwether-testbed";
const JUDGE: &str = "bellwether-conformance";

/// The clusters in which a wrong daemon is looked for, until it is found: with three nodes, and
/// then with four, which can be cut in halves. They end before what starts them is killed, which
/// would leave its daemons behind.
pub(crate) const CLUSTERS: [&[&str]; 2] = [
    &["--runs", "6", "--nodes", "3", "--faults", "8", "--at-once", "3", "--time-limit", "4m"],
    &["--runs", "12", "--nodes", "4", "--faults", "12", "--at-once", "4", "--time-limit", "4m"],
];

/// The copy.
pub(crate) struct Scratch {
    folder: PathBuf,
    /// The files that are changed at the moment.
    changed: BTreeSet<String>,
    /// Those of them that have several wrong programs each.
    woven: BTreeMap<String, Woven>,
}

/// What is built to judge wrong programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Program {
    /// The bridge.
    Bridge,
    /// The checker of the models.
    Model,
    /// The simulation.
    Simulation,
    /// The daemon.
    Daemon,
    /// The tests of this package of production source.
    Tests(&'static str),
    /// The tests that start servers, and speak to these.
    Servers,
}

/// What starts clusters, and what judges their traces.
pub(crate) struct Tools {
    cluster: PathBuf,
    judge: PathBuf,
}

/// A program that cannot be built.
pub(crate) struct Failure {
    /// Where the errors are: the file, and the byte in it.
    places: Vec<(String, usize)>,
    /// What the compiler says.
    pub(crate) text: String,
}

/// A program to run, as one of the wrong ones.
#[derive(Clone, Copy)]
pub(crate) struct Which<'a> {
    pub(crate) program: &'a Path,
    /// Its number; 0 is the right one.
    pub(crate) number: u32,
}

/// What came of a command.
pub(crate) struct Ended {
    /// `None` if it had to be killed.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) output: String,
}

impl Scratch {
    /// Brings the copy beside this program up to date. What has not changed is not built anew.
    pub(crate) fn new() -> Result<Self> {
        let program = std::env::current_exe()?;
        let target = program.ancestors().nth(3).context("not in a target folder")?;
        let folder = target.join("mutants");
        fs::create_dir_all(&folder)?;
        // What the last run has woven is as a later one would weave it, mostly.
        Ok(Self { folder, changed: BTreeSet::new(), woven: BTreeMap::new() })
    }

    /// Puts these mistakes into the copy, one beside the other, each with its number, and takes out
    /// all others. Returns the numbers of those that cannot stand beside others.
    pub(crate) fn weave(&mut self, wrong: &[(u32, &Mutant)]) -> Result<BTreeSet<u32>> {
        let mut of_files: BTreeMap<&str, Vec<(u32, &Mutant)>> = BTreeMap::new();
        for &(number, mutant) in wrong {
            of_files.entry(&mutant.file).or_default().push((number, mutant));
        }
        let (mut left, mut texts) = (BTreeSet::new(), BTreeMap::new());
        self.woven.clear();
        for (file, wrong) in of_files {
            let (woven, left_here) = weave(&wrong[0].1.source, &wrong);
            left.extend(left_here);
            if !woven.bodies.is_empty() {
                texts.insert(file.to_owned(), woven.text.clone());
                self.woven.insert(file.to_owned(), woven);
            }
        }
        let packages: BTreeSet<String> = texts.keys().map(|file| package_root(file)).collect();
        for package in packages {
            let source = || fs::read_to_string(root().join(&package));
            let text = texts.get(&package).cloned().map_or_else(source, Ok)?;
            texts.insert(package, text + ROOT);
        }
        self.write(&texts)?;
        Ok(left)
    }

    /// Puts one mistake into the copy, and takes out all others.
    pub(crate) fn put(&mut self, mutant: &Mutant) -> Result<()> {
        self.woven.clear();
        let text = mutant.part(&(0..mutant.source.len()));
        self.write(&BTreeMap::from([(mutant.file.clone(), text)]))
    }

    /// Makes the copy one of the workspace, but for these files.
    fn write(&mut self, texts: &BTreeMap<String, String>) -> Result<()> {
        if self.changed.is_empty() {
            let but: BTreeSet<PathBuf> = texts.keys().map(|file| root().join(file)).collect();
            for part in parts()? {
                copy(&root().join(&part), &self.folder.join(&part), &but)?;
            }
        }
        for file in self.changed.iter().filter(|file| !texts.contains_key(*file)) {
            copy(&root().join(file), &self.folder.join(file), &BTreeSet::new())?;
        }
        for (file, text) in texts {
            write_if_new(&self.folder.join(file), text.as_bytes())?;
        }
        self.changed = texts.keys().cloned().collect();
        Ok(())
    }

    /// The numbers of the mistakes for which the program cannot be built.
    pub(crate) fn blamed(&self, failure: &Failure) -> BTreeSet<u32> {
        let whose = |(file, at): &(String, usize)| self.woven.get(file)?.whose(*at);
        failure.places.iter().filter_map(whose).collect()
    }

    /// Builds a program; where it is, or what `cargo` says if that fails.
    pub(crate) fn build(&self, program: Program) -> Result<Result<PathBuf, Failure>> {
        let what: &[&str] = match program {
            Program::Bridge => &["build", "-p", "bellwether-conformance", "--bins"],
            Program::Model => &["build", "-p", "bellwether-model", "--bins"],
            Program::Simulation => &["build", "-p", "bellwether-sim", "--bins"],
            Program::Daemon => &["build", "-p", "bellwether", "--bins"],
            Program::Tests(package) => &["test", "-p", package, "--lib", "--no-run"],
            Program::Servers => &["test", "-p", "bellwether", "--test", "main", "--no-run"],
        };
        let mut cargo = cargo(what);
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", self.folder.join("target"));
        self.made(cargo)
    }

    /// Builds what starts clusters and what judges them, of the workspace itself: both are right.
    pub(crate) fn tools(&self) -> Result<Tools> {
        let build = |package| {
            let mut cargo = cargo(&["build", "-p", package, "--bins"]);
            cargo.current_dir(root());
            match self.made(cargo)? {
                Ok(path) => Ok(path),
                Err(failure) => bail!("{package}:\n{}", failure.text),
            }
        };
        Ok(Tools { cluster: build(SOAK)?, judge: build(JUDGE)? })
    }

    fn made(&self, cargo: Command) -> Result<Result<PathBuf, Failure>> {
        let Ended { status, output } = self.run(cargo, 0, Duration::MAX)?;
        let told: Vec<Value> =
            output.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let mut made = told.iter().filter_map(|told| told["executable"].as_str());
        match made.next_back().filter(|_| status.is_some_and(|status| status.success())) {
            Some(program) => Ok(Ok(program.into())),
            None => Ok(Err(Failure::read(&told, &output))),
        }
    }

    /// Runs clusters of the daemon, under faults, and has their traces judged.
    pub(crate) fn clusters(
        &self,
        which: Which<'_>,
        tools: &Tools,
        protocol: &str,
        clusters: &[&str],
    ) -> Result<Ended> {
        let mut cluster = Command::new(&tools.cluster);
        cluster.args(["recorded", "--json", "--protocol", protocol]).args(clusters);
        cluster.arg("--program").arg(which.program).arg("--judge").arg(&tools.judge);
        self.run(cluster, which.number, LIMIT)
    }

    /// Runs a command of the bridge. What it finds is printed as JSON.
    pub(crate) fn bridge(&self, which: Which<'_>, command: &str) -> Result<Ended> {
        let mut bridge = Command::new(which.program);
        bridge.args(command.split_whitespace()).arg("--json");
        self.run(bridge, which.number, LIMIT)
    }

    /// Runs a check of a model. What it finds is printed as JSON.
    pub(crate) fn check(&self, which: Which<'_>, what: &str) -> Result<Ended> {
        let mut check = Command::new(which.program);
        check.arg("check").args(what.split_whitespace()).args(["--json", "--max-states", STATES]);
        self.run(check, which.number, LIMIT)
    }

    /// Runs the simulation: with these nodes and faults, until an invariant breaks.
    pub(crate) fn simulation(&self, which: Which<'_>, code: &str) -> Result<Ended> {
        let parts: Vec<_> = code.split(':').collect();
        let [protocol, nodes, faults] = parts[..] else { bail!("{code} is no simulation") };
        let mut simulation = Command::new(which.program);
        simulation.args(["run", "--runs", RUNS, "--json", "--protocol", protocol]);
        simulation.args(["--nodes", nodes, "--faults", faults]);
        self.run(simulation, which.number, LIMIT)
    }

    /// Runs those tests of the program whose names contain `filter`.
    pub(crate) fn tests(&self, which: Which<'_>, filter: &str) -> Result<Ended> {
        let mut tests = Command::new(which.program);
        tests.args(["--quiet", filter]);
        self.run(tests, which.number, LIMIT_OF_TESTS)
    }

    fn run(&self, mut command: Command, number: u32, limit: Duration) -> Result<Ended> {
        let printed = NamedTempFile::new()?;
        command
            .env(WHICH, number.to_string())
            .stdin(Stdio::null())
            .stdout(printed.as_file().try_clone()?)
            .stderr(printed.as_file().try_clone()?);
        let status = wait(command.spawn().with_context(|| format!("{command:?}"))?, limit)?;
        let output = String::from_utf8_lossy(&fs::read(printed.path())?).into_owned();
        Ok(Ended { status, output })
    }
}

impl Failure {
    /// What the compiler says, as `cargo` prints it; or all that was printed, if that is nothing.
    fn read(told: &[Value], output: &str) -> Self {
        let errors = told.iter().map(|told| &told["message"]);
        let errors: Vec<&Value> =
            errors.filter(|message| message["level"].as_str() == Some("error")).collect();
        let place = |span: &Value| {
            let file = span["file_name"].as_str()?.to_owned();
            Some((file, usize::try_from(span["byte_start"].as_u64()?).ok()?))
        };
        let spans = errors.iter().filter_map(|error| error["spans"].as_array()).flatten();
        let places = spans.filter_map(place).collect();
        let texts: Vec<&str> =
            errors.iter().filter_map(|error| error["rendered"].as_str()).collect();
        let text = if texts.is_empty() { output.to_owned() } else { texts.join("") };
        Self { places, text }
    }
}

/// The root of the package that has this file of source.
fn package_root(file: &str) -> String {
    let package = file.split_once("/src/").map_or(file, |(package, _)| package);
    format!("{package}/src/lib.rs")
}

/// What is in the workspace and in no package: some of it is read by tests.
const BESIDES: [&str; 5] = ["Cargo.toml", "Cargo.lock", "docs", "monitoring", "packaging"];

/// What the workspace consists of.
fn parts() -> Result<BTreeSet<String>> {
    let manifest: toml::Table = fs::read_to_string(root().join("Cargo.toml"))?.parse()?;
    let members = manifest["workspace"]["members"].as_array().context("no list of members")?;
    let folder = |member: &toml::Value| Some(member.as_str()?.split('/').next()?.to_owned());
    let folders = members.iter().filter_map(folder);
    Ok(folders.chain(BESIDES.map(str::to_owned)).collect())
}

fn cargo(arguments: &[&str]) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(arguments).args(["--quiet", "--message-format=json"]);
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0");
    cargo
}

fn wait(mut child: Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        sleep(Duration::from_millis(20));
    }
}

/// Makes `to` a copy of `from`, but for these files.
fn copy(from: &Path, to: &Path, but: &BTreeSet<PathBuf>) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            if name != "target" {
                copy(&from.join(&name), &to.join(&name), but)?;
                names.insert(name);
            }
        }
        for entry in fs::read_dir(to)? {
            let entry = entry?;
            if names.contains(&entry.file_name()) || entry.file_name() == "target" {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    } else if but.contains(from) {
        Ok(())
    } else {
        write_if_new(to, &fs::read(from).with_context(|| from.display().to_string())?)
    }
}

/// A file that is the same already is left alone, so that nothing that depends on it is built anew.
fn write_if_new(path: &Path, text: &[u8]) -> Result<()> {
    if fs::read(path).ok().as_deref() != Some(text) {
        fs::write(path, text)?;
    }
    Ok(())
}

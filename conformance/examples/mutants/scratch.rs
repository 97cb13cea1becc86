//! A copy of the workspace in the target folder, in which wrong programs are built and run.

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::set::{Mutant, root};

/// No wrong program is given longer.
const LIMIT: Duration = Duration::from_secs(600);

/// How many runs a simulation makes.
const RUNS: &str = "4000";

/// No right model has so many states in its checks, and a wrong one may have no end.
const STATES: &str = "1000000";

/// The copy.
pub(crate) struct Scratch {
    folder: PathBuf,
    /// The files that are changed at the moment.
    changed: BTreeSet<String>,
}

/// What came of a command.
pub(crate) struct Ended {
    /// `None` if it had to be killed.
    pub(crate) status: Option<ExitStatus>,
    /// What it printed.
    pub(crate) output: String,
}

impl Scratch {
    /// Brings the copy beside this program up to date. What has not changed is not built anew.
    pub(crate) fn new() -> Result<Self> {
        let program = std::env::current_exe()?;
        let target = program.ancestors().nth(3).context("not in a target folder")?;
        let scratch = Self { folder: target.join("mutants"), changed: BTreeSet::new() };
        fs::create_dir_all(&scratch.folder)?;
        for part in parts()? {
            copy(&root().join(&part), &scratch.folder.join(&part))?;
        }
        Ok(scratch)
    }

    /// Puts these mistakes into the copy, and takes out those that were in it.
    pub(crate) fn put(&mut self, mutants: &[&Mutant]) -> Result<()> {
        let files: BTreeSet<String> = mutants.iter().map(|mutant| mutant.file.clone()).collect();
        ensure!(files.len() == mutants.len(), "two mistakes in one file");
        for file in self.changed.difference(&files) {
            copy(&root().join(file), &self.folder.join(file))?;
        }
        for mutant in mutants {
            let source = fs::read_to_string(root().join(&mutant.file))?;
            fs::write(self.folder.join(&mutant.file), mutant.apply(&source)?)?;
        }
        self.changed = files;
        Ok(())
    }

    /// Builds the bridge; what `cargo` says if that fails.
    pub(crate) fn build_bridge(&self) -> Result<Result<(), String>> {
        self.build("bellwether-conformance", "")
    }

    /// Builds the bridge with the driver.
    pub(crate) fn build_driver(&self) -> Result<Result<(), String>> {
        self.build("bellwether-conformance", "driver")
    }

    /// Builds the simulation; what `cargo` says if that fails.
    pub(crate) fn build_simulation(&self) -> Result<Result<(), String>> {
        self.build("bellwether-sim", "")
    }

    /// Builds the checker of the models; what `cargo` says if that fails.
    pub(crate) fn build_model(&self) -> Result<Result<(), String>> {
        self.build("bellwether-model", "")
    }

    fn build(&self, package: &str, features: &str) -> Result<Result<(), String>> {
        let what = ["build", "--quiet", "--package", package, "--bins"];
        let arguments = [&what[..], &["--features", features]].concat();
        let Ended { status, output } = self.run(cargo(&arguments), Duration::MAX)?;
        Ok(if status.is_some_and(|status| status.success()) { Ok(()) } else { Err(output) })
    }

    /// Runs the bridge of the copy.
    pub(crate) fn bridge(&self, arguments: &[&str]) -> Result<Ended> {
        let mut bridge = Command::new(self.target().join("debug/bellwether-conformance"));
        bridge.args(arguments);
        self.run(bridge, LIMIT)
    }

    /// Runs a check of the models of the copy. What it finds is printed as JSON.
    pub(crate) fn model(&self, command: &str) -> Result<Ended> {
        let mut model = Command::new(self.target().join("debug/bellwether-model"));
        model.args(command.split_whitespace()).args(["--json", "--max-states", STATES]);
        self.run(model, LIMIT)
    }

    /// Runs the simulation of the copy: with these nodes and faults, until an invariant breaks.
    pub(crate) fn simulation(&self, code: &str) -> Result<Ended> {
        let parts: Vec<_> = code.split(':').collect();
        let [protocol, nodes, faults] = parts[..] else { bail!("{code} is no simulation") };
        let mut simulation = Command::new(self.target().join("debug/bellwether-sim"));
        simulation.args(["run", "--runs", RUNS, "--json", "--protocol", protocol]);
        simulation.args(["--nodes", nodes, "--faults", faults]);
        self.run(simulation, LIMIT)
    }

    /// Builds the tests of a package of production source; the program, or what `cargo` says.
    pub(crate) fn build_tests(&self, package: &str) -> Result<Result<PathBuf, String>> {
        let tests = ["test", "--quiet", "--package", package, "--lib", "--no-run"];
        let mut command = cargo(&tests);
        command.arg("--message-format=json-render-diagnostics");
        let Ended { status, output } = self.run(command, Duration::MAX)?;
        let made = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let program =
            made.filter_map(|made| made["executable"].as_str().map(PathBuf::from)).next_back();
        let succeeds = status.is_some_and(|status| status.success());
        Ok(program.filter(|_| succeeds).ok_or(output))
    }

    /// Runs those tests of the program whose names contain `filter`.
    pub(crate) fn tests(&self, program: &Path, filter: &str) -> Result<Ended> {
        let mut tests = Command::new(program);
        tests.args(["--quiet", filter]);
        self.run(tests, LIMIT)
    }

    fn target(&self) -> PathBuf {
        self.folder.join("target")
    }

    fn run(&self, mut command: Command, limit: Duration) -> Result<Ended> {
        let path = self.folder.join("output");
        let file = File::create(&path)?;
        command
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", self.target())
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "1")
            .stdin(Stdio::null())
            .stdout(file.try_clone()?)
            .stderr(file);
        let status = wait(command.spawn().with_context(|| format!("{command:?}"))?, limit)?;
        let output = String::from_utf8_lossy(&fs::read(&path)?).into_owned();
        Ok(Ended { status, output })
    }
}

/// What is in the workspace and in no package: some of it is read by tests.
const BESIDES: [&str; 4] = ["Cargo.toml", "Cargo.lock", "docs", "packaging"];

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
    cargo.args(arguments);
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

/// Makes `to` a copy of `from`. A file that is one already is left alone, so that nothing that
/// depends on it is built anew.
fn copy(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        let mut names = BTreeSet::new();
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            if name != "target" {
                copy(&from.join(&name), &to.join(&name))?;
                names.insert(name);
            }
        }
        for entry in fs::read_dir(to)? {
            let entry = entry?;
            if !names.contains(&entry.file_name()) && entry.file_type()?.is_file() {
                fs::remove_file(entry.path())?;
            }
        }
    } else {
        let text = fs::read(from).with_context(|| from.display().to_string())?;
        if fs::read(to).ok().as_ref() != Some(&text) {
            fs::write(to, text)?;
        }
    }
    Ok(())
}

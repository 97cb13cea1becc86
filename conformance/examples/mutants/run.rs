//! Builds the wrong programs, a batch at a time, and judges each.

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Write as _, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use crate::bugs::{self, UPDATE};
use crate::found::Found;
use crate::scratch::{Ended, Scratch};
use crate::set::{By, Mutant, PACKAGES, Set};

/// The exit statuses of the bridge that say something about the program.
const CONFORMS: i32 = 0;
const DIVERGES: i32 = 1;
/// That of a walk that has met no difference, and not all that it should have.
const NO_CLAIM: i32 = 3;

/// A run over the set, and what has come of it so far.
pub(crate) struct Run {
    set: Set,
    scratch: Scratch,
    /// Whether reports are written, and not compared.
    update: bool,
    /// What each check finds of the right models.
    found: BTreeMap<String, Found>,
    judged: usize,
    caught: usize,
    survived: usize,
    /// What is not as it should be.
    wrong: Vec<String>,
    /// What could not be judged.
    broken: Vec<String>,
}

/// What came of one wrong program.
enum Verdict {
    /// It was caught, by this.
    Caught(String),
    /// It was caught, and this is the report.
    Reported(String),
    Survived,
    Broken(String),
}

impl Run {
    pub(crate) fn new(set: Set, update: bool) -> Result<Self> {
        let (scratch, found) = (Scratch::new()?, BTreeMap::new());
        let (judged, caught, survived) = (0, 0, 0);
        let (wrong, broken) = (Vec::new(), Vec::new());
        Ok(Self { set, scratch, update, found, judged, caught, survived, wrong, broken })
    }

    /// The program without a mistake conforms everywhere, and passes the tests.
    pub(crate) fn right(&mut self) -> Result<()> {
        self.scratch.put(&[])?;
        let of_all = self.set.mutants.iter().flat_map(|mutant| mutant.by.protocols());
        let protocols: BTreeSet<String> = of_all.cloned().collect();
        if !protocols.is_empty()
            && let Err(output) = self.scratch.build_bridge()?
        {
            bail!("the program cannot be built:\n{output}");
        }
        for protocol in protocols {
            for world in &self.set.worlds[&protocol] {
                let started = Instant::now();
                let ended = lockstep(&self.scratch, &protocol, world)?;
                let code = ended.status.and_then(|status| status.code());
                let seconds = started.elapsed().as_secs_f64();
                say(&format!("right     {protocol} {world} ({seconds:.1} s): {code:?}"));
                if code != Some(CONFORMS) {
                    let what = told(&ended.output);
                    self.wrong.push(format!("the right {protocol} with {world}: {what}"));
                }
            }
        }
        self.right_commands()?;
        self.right_checks()?;
        self.right_simulations()?;
        self.right_suites()?;
        PACKAGES.iter().try_for_each(|(package, _)| self.right_tests(package))
    }

    /// The program without a mistake conforms by every command of the catalogue.
    fn right_commands(&mut self) -> Result<()> {
        let of_all = self.set.mutants.iter().flat_map(|mutant| mutant.by.commands());
        let commands: BTreeSet<String> = of_all.cloned().collect();
        if !commands.is_empty()
            && let Err(output) = self.scratch.build_bridge()?
        {
            bail!("the program cannot be built:\n{output}");
        }
        for command in commands {
            let Ended { status, output } = bridge(&self.scratch, &command)?;
            let code = status.and_then(|status| status.code());
            say(&format!("right     {command}: {code:?}"));
            if code != Some(CONFORMS) {
                let what = output.lines().next_back().unwrap_or_default();
                self.wrong.push(format!("the right program by {command}: {code:?}, {what}"));
            }
        }
        Ok(())
    }

    /// What the checks find of the models without a mistake.
    fn right_checks(&mut self) -> Result<()> {
        let of_all = self.set.mutants.iter().flat_map(|mutant| mutant.by.checks());
        let commands: BTreeSet<String> = of_all.cloned().collect();
        if !commands.is_empty()
            && let Err(output) = self.scratch.build_model()?
        {
            bail!("the model cannot be built:\n{output}");
        }
        for command in commands {
            let Ended { output, .. } = self.scratch.model(&command)?;
            let found = Found::read(&output).with_context(|| format!("{command}: {output}"))?;
            say(&format!("right     {command}"));
            self.found.insert(command, found);
        }
        Ok(())
    }

    /// The program without a mistake passes those tests of a package that are named.
    fn right_tests(&self, package: &str) -> Result<()> {
        let of_package = self.set.mutants.iter().filter(|one| one.by.package() == Some(package));
        let filters: BTreeSet<&str> = of_package.filter_map(|mutant| mutant.by.tests()).collect();
        if filters.is_empty() {
            return Ok(());
        }
        let program = match self.scratch.build_tests(package)? {
            Ok(program) => program,
            Err(output) => bail!("the tests of {package} cannot be built:\n{output}"),
        };
        for filter in filters {
            let Ended { status, output } = self.scratch.tests(&program, filter)?;
            let passes = status.is_some_and(|status| status.success());
            ensure!(passes, "the right program fails in {filter}:\n{output}");
            ensure!(!output.contains("running 0 tests"), "no test is called {filter}");
            say(&format!("right     passes {filter}"));
        }
        Ok(())
    }

    /// The program without a mistake breaks no invariant in any simulation.
    fn right_simulations(&mut self) -> Result<()> {
        let of_all = self.set.mutants.iter().flat_map(|mutant| mutant.by.simulations());
        let codes: BTreeSet<&String> = of_all.collect();
        if codes.is_empty() {
            return Ok(());
        }
        if let Err(output) = self.scratch.build_simulation()? {
            bail!("the simulation cannot be built:\n{output}");
        }
        for code in codes {
            let Ended { status, output } = self.scratch.simulation(code)?;
            let passes = status.is_some_and(|status| status.success());
            ensure!(passes, "the right program breaks an invariant in {code}:\n{output}");
            say(&format!("right     simulated as {code}"));
        }
        Ok(())
    }

    /// The program without a mistake conforms to each suite, through the driver.
    fn right_suites(&self) -> Result<()> {
        let of_all = self.set.mutants.iter().flat_map(|mutant| mutant.by.suites());
        let protocols: BTreeSet<&String> = of_all.collect();
        if protocols.is_empty() {
            return Ok(());
        }
        if let Err(output) = self.scratch.build_driver()? {
            bail!("the program with its driver cannot be built:\n{output}");
        }
        for protocol in protocols {
            let Ended { status, output } = suite(&self.scratch, protocol)?;
            let conforms = status.and_then(|status| status.code()) == Some(CONFORMS);
            ensure!(conforms, "the right driver differs in {protocol}: {}", told(&output));
            say(&format!("right     {protocol} through the driver"));
        }
        Ok(())
    }

    /// Every wrong program, a batch at a time.
    pub(crate) fn wrong(&mut self) -> Result<()> {
        for batch in batches(&self.set.mutants) {
            let batch: Vec<Mutant> =
                batch.into_iter().map(|at| self.set.mutants[at].clone()).collect();
            self.scratch.put(&batch.iter().collect::<Vec<_>>())?;
            // All of a batch are caught in the same way.
            let built = match &batch[0].by {
                By::Tests(filter) => {
                    let package = batch[0].by.package();
                    let package = package.with_context(|| format!("no package has {filter}"))?;
                    self.scratch.build_tests(package)?
                }
                By::Lockstep(_) | By::Bridge(_) => {
                    self.scratch.build_bridge()?.map(|()| PathBuf::new())
                }
                By::Check(_) => self.scratch.build_model()?.map(|()| PathBuf::new()),
                By::Simulation(_) => self.scratch.build_simulation()?.map(|()| PathBuf::new()),
                By::Suite(_) => self.scratch.build_driver()?.map(|()| PathBuf::new()),
            };
            for mutant in &batch {
                let verdict = match &built {
                    Ok(program) => self.judge(mutant, program)?,
                    Err(output) => Verdict::Broken(format!("cannot be built:\n{output}")),
                };
                self.note(mutant, verdict)?;
            }
        }
        self.scratch.put(&[])
    }

    fn judge(&self, mutant: &Mutant, tests: &Path) -> Result<Verdict> {
        match &mutant.by {
            By::Tests(filter) => self.judge_by_tests(tests, filter),
            By::Simulation(codes) => self.judge_by_simulations(codes),
            By::Lockstep(protocols) => self.judge_by_walks(protocols),
            By::Check(commands) => self.judge_by_checks(commands),
            By::Bridge(commands) => self.judge_by_commands(commands),
            By::Suite(protocols) => self.judge_by_suites(protocols),
        }
    }

    fn judge_by_tests(&self, tests: &Path, filter: &str) -> Result<Verdict> {
        let Ended { status, output } = self.scratch.tests(tests, filter)?;
        Ok(match status {
            None => Verdict::Broken(format!("{filter} does not end")),
            Some(status) if status.success() => Verdict::Survived,
            Some(_) => Verdict::Caught(failed(&output)),
        })
    }

    fn judge_by_simulations(&self, codes: &[String]) -> Result<Verdict> {
        for code in codes {
            let Ended { status, output } = self.scratch.simulation(code)?;
            match status.and_then(|status| status.code()) {
                Some(0) => {}
                Some(1) => return Ok(Verdict::Caught(format!("{code}: {}", broken(&output)))),
                // An assertion of the program itself.
                Some(101) => return Ok(Verdict::Caught(format!("{code}: it panics"))),
                code => return Ok(Verdict::Broken(format!("{code:?}: {output}"))),
            }
        }
        Ok(Verdict::Survived)
    }

    fn judge_by_walks(&self, protocols: &[String]) -> Result<Verdict> {
        for protocol in protocols {
            for world in &self.set.worlds[protocol] {
                let ended = lockstep(&self.scratch, protocol, world)?;
                match ended.status.and_then(|status| status.code()) {
                    Some(CONFORMS) => {}
                    Some(DIVERGES) => {
                        let found = told(&ended.output);
                        return Ok(Verdict::Caught(format!("{protocol} {world}: {found}")));
                    }
                    code => {
                        let output = ended.output;
                        return Ok(Verdict::Broken(format!("{world}: {code:?}: {output}")));
                    }
                }
            }
        }
        Ok(Verdict::Survived)
    }

    fn judge_by_suites(&self, protocols: &[String]) -> Result<Verdict> {
        for protocol in protocols {
            let Ended { status, output } = suite(&self.scratch, protocol)?;
            match status.and_then(|status| status.code()) {
                Some(CONFORMS) => {}
                Some(DIVERGES) => {
                    return Ok(Verdict::Caught(format!("{protocol}: {}", told(&output))));
                }
                code => return Ok(Verdict::Broken(format!("{protocol}: {code:?}: {output}"))),
            }
        }
        Ok(Verdict::Survived)
    }

    fn judge_by_checks(&self, commands: &[String]) -> Result<Verdict> {
        for command in commands {
            let Ended { output, .. } = self.scratch.model(command)?;
            let (Some(found), Some(right)) = (Found::read(&output), self.found.get(command)) else {
                return Ok(Verdict::Broken(format!("{command}: {output}")));
            };
            if let Some(what) = found.differs(right) {
                return Ok(Verdict::Caught(format!("{command}: {what}")));
            }
        }
        Ok(Verdict::Survived)
    }

    fn judge_by_commands(&self, commands: &[String]) -> Result<Verdict> {
        for command in commands {
            let Ended { status, output } = bridge(&self.scratch, command)?;
            let broken = || Verdict::Broken(format!("{command}: {status:?}: {output}"));
            match status.and_then(|status| status.code()) {
                Some(CONFORMS | NO_CLAIM) => {}
                Some(DIVERGES) => {
                    let report = bugs::report(command, &output);
                    return Ok(report.map_or_else(broken, Verdict::Reported));
                }
                _ => return Ok(broken()),
            }
        }
        Ok(Verdict::Survived)
    }

    fn note(&mut self, mutant: &Mutant, verdict: Verdict) -> Result<()> {
        self.judged += 1;
        let place = format!("{} of {}", self.judged, self.set.mutants.len());
        let title = mutant.title();
        match verdict {
            Verdict::Caught(by) => {
                self.caught += 1;
                say(&format!("caught    {title} ({place})\n          {by}"));
                if mutant.survives.is_some() {
                    self.wrong.push(format!("{title} is listed as a survivor, and is caught"));
                }
            }
            Verdict::Reported(report) => {
                self.caught += 1;
                let by = bugs::first_line(&report);
                say(&format!("caught    {title} ({place})\n          {by}"));
                self.keep(mutant, &report)?;
            }
            Verdict::Survived => {
                self.survived += 1;
                say(&format!("SURVIVED  {title} ({place})\n          {}", mutant.wrong));
                if mutant.survives.is_none() {
                    self.wrong.push(format!("{title} is not caught: {}", mutant.wrong));
                }
            }
            Verdict::Broken(why) => {
                say(&format!("BROKEN    {title} ({place})\n{why}"));
                self.broken.push(title);
            }
        }
        Ok(())
    }

    /// Writes the report by which it is caught, or compares it with the one that is kept. A run
    /// that is stopped leaves no part of a report.
    fn keep(&mut self, mutant: &Mutant, report: &str) -> Result<()> {
        let Some(path) = &mutant.report else { return Ok(()) };
        if self.update {
            let part = path.with_extension("part");
            fs::write(&part, report)?;
            fs::rename(&part, path)?;
        } else if fs::read_to_string(path).ok().as_deref() != Some(report) {
            let title = mutant.title();
            self.wrong.push(format!("the report of {title} is another, or is missing: {UPDATE}"));
        }
        Ok(())
    }

    /// Says what came of it all.
    pub(crate) fn summarize(&self) -> ExitCode {
        let all = self.caught + self.survived;
        let rate = 100.0 * self.caught as f64 / all.max(1) as f64;
        say(&format!("\n{} of {all} wrong programs caught ({rate:.1} %)", self.caught));
        for line in &self.wrong {
            say(&format!("wrong: {line}"));
        }
        for title in &self.broken {
            say(&format!("cannot be judged: {title}"));
        }
        match (self.broken.is_empty(), self.wrong.is_empty()) {
            (false, _) => ExitCode::from(2),
            (true, false) => ExitCode::from(1),
            (true, true) => ExitCode::SUCCESS,
        }
    }
}

fn lockstep(scratch: &Scratch, protocol: &str, world: &str) -> Result<Ended> {
    let mut arguments = vec!["lockstep", protocol, "--json"];
    arguments.extend(world.split_whitespace());
    scratch.bridge(&arguments)
}

/// Runs a command of the bridge, as it stands in the catalogue.
fn bridge(scratch: &Scratch, command: &str) -> Result<Ended> {
    let arguments: Vec<&str> = command.split_whitespace().chain(["--quiet"]).collect();
    scratch.bridge(&arguments)
}

/// Three nodes with a crash and a recovery: each transition, through the driver.
fn suite(scratch: &Scratch, protocol: &str) -> Result<Ended> {
    let through = ["--through", "driver", "--json"];
    scratch.bridge(&[&["suite", protocol, "--recoveries", "1"][..], &through].concat())
}

/// What a divergence is about, in one line.
fn told(output: &str) -> String {
    let object = output.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let object = object.filter(|object| object["error"].is_null());
    let Some(object) = object else { return output.trim().to_owned() };
    let divergence = &object["divergence"];
    if divergence.is_null() {
        let large_group = &object["large_group"];
        return format!("in a group of {}: {}", large_group["size"], large_group["wrong"]);
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let first = &divergence["differences"][0];
    let probe = if divergence["probe"] == true { "probe: " } else { "" };
    let [kind, what] = [&first["kind"], &first["what"]].map(text);
    format!("{probe}{}: {kind} {what}", text(&divergence["happened"]))
}

/// The invariant that is broken, in one line.
fn broken(output: &str) -> String {
    let object = output.lines().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let failed = object.map(|object| object["failed"].clone()).unwrap_or_default();
    format!("{} ({})", failed["invariant"], failed["what"])
}

/// The tests that failed.
fn failed(output: &str) -> String {
    let failed = output.lines().filter_map(|line| line.strip_prefix("---- "));
    let names = failed.filter_map(|line| line.strip_suffix(" stdout ----")).collect::<Vec<_>>();
    names.join(", ")
}

/// The mutants by their places, in few batches: no two in one can be caught by the same thing.
fn batches(mutants: &[Mutant]) -> Vec<Vec<usize>> {
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for (at, mutant) in mutants.iter().enumerate() {
        let fits = |batch: &&mut Vec<usize>| {
            batch
                .iter()
                .map(|&other| &mutants[other])
                .all(|other| mutant.file != other.file && mutant.by.is_apart_from(&other.by))
        };
        match batches.iter_mut().find(fits) {
            Some(batch) => batch.push(at),
            None => batches.push(vec![at]),
        }
    }
    batches
}

/// Prints a line. What is found does not depend on who reads it.
fn say(line: &str) {
    let _ = writeln!(stdout(), "{line}");
}

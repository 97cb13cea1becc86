//! What says of a program whether it is wrong: each way in which one of the set must be caught.

use anyhow::{Context as _, Result};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::bugs;
use crate::found::Found;
use crate::scratch::{CLUSTERS, Ended, Scratch, Tools, Which};
use crate::set::{By, protocol};

/// The exit statuses of the bridge that say something about the program.
const CONFORMS: i32 = 0;
const DIVERGES: i32 = 1;
/// That of a walk that has met no difference, and not all that it should have.
const NO_CLAIM: i32 = 3;

/// What came of one wrong program.
pub(crate) enum Verdict {
    /// It was caught, by this.
    Caught(String),
    /// It was caught, and this is the report.
    Reported(String),
    Survived,
    Broken(String),
}

/// What judges one program.
pub(crate) struct Judge<'a> {
    pub(crate) scratch: &'a Scratch,
    /// The flags of each world, for each list.
    pub(crate) worlds: &'a BTreeMap<String, Vec<String>>,
    /// What each check finds of the right models.
    pub(crate) found: &'a BTreeMap<String, Found>,
    pub(crate) which: Which<'a>,
    /// What starts clusters, if some are judged so.
    pub(crate) tools: Option<&'a Tools>,
}

impl Judge<'_> {
    /// Whether it is caught as it must be.
    pub(crate) fn judge(&self, by: &By) -> Result<Verdict> {
        match by {
            By::Tests(filter) => self.judge_by_tests(filter),
            By::Simulation(codes) => self.judge_by_simulations(codes),
            By::Lockstep(lists) => self.judge_by_walks(lists),
            By::Check(commands) => self.judge_by_checks(commands),
            By::Bridge(commands) => self.judge_by_commands(commands),
            By::Suite(protocols) => self.judge_by_suites(protocols),
            By::Clusters(protocols) => self.judge_by_clusters(protocols),
        }
    }

    fn judge_by_tests(&self, filter: &str) -> Result<Verdict> {
        let Ended { status, output } = self.scratch.tests(self.which, filter)?;
        Ok(match status {
            // What it waits for never comes.
            None => Verdict::Caught(format!("{filter} does not end")),
            Some(status) if status.success() => Verdict::Survived,
            Some(_) => Verdict::Caught(failed(&output)),
        })
    }

    fn judge_by_simulations(&self, codes: &[String]) -> Result<Verdict> {
        for code in codes {
            let Ended { status, output } = self.scratch.simulation(self.which, code)?;
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

    fn judge_by_walks(&self, lists: &[String]) -> Result<Verdict> {
        for list in lists {
            for world in &self.worlds[list] {
                let protocol = protocol(list);
                let ended = self.lockstep(protocol, world)?;
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
            let Ended { status, output } = self.suite(protocol)?;
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

    /// The first of the runs whose traces are rejected. A wrong daemon may keep runs from their
    /// end; the right one may not.
    fn judge_by_clusters(&self, protocols: &[String]) -> Result<Verdict> {
        let tools = self.tools.context("nothing starts clusters")?;
        let each = |set: &'static [&str]| protocols.iter().map(move |protocol| (protocol, set));
        for (protocol, clusters) in CLUSTERS.into_iter().flat_map(each) {
            let Ended { output, .. } =
                self.scratch.clusters(self.which, tools, (protocol, clusters))?;
            let found: Option<Value> = output.find('{').and_then(|start| {
                serde_json::Deserializer::from_str(&output[start..]).into_iter().next()?.ok()
            });
            let found = found.filter(|found| found["runs"].as_u64() > Some(0));
            let Some(found) = found else { return Ok(Verdict::Broken(output)) };
            if let Some(rejected) = found["rejected"].as_array().and_then(|all| all.first()) {
                let told = of_difference(&rejected["report"]);
                return Ok(Verdict::Reported(format!("$ clusters of {protocol}\n\n{told}\n")));
            }
            let ended_early = &found["ended_early"];
            if self.which.number == 0 && !ended_early.is_null() {
                return Ok(Verdict::Broken(format!("clusters of {protocol}: {ended_early}")));
            }
        }
        Ok(Verdict::Survived)
    }

    fn judge_by_checks(&self, commands: &[String]) -> Result<Verdict> {
        for command in commands {
            let Ended { output, .. } = self.scratch.model(self.which, command)?;
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
            let Ended { status, output } = self.bridge(command)?;
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

    /// What a check finds of this model.
    pub(crate) fn find(&self, command: &str) -> Result<Found> {
        let Ended { output, .. } = self.scratch.model(self.which, command)?;
        Found::read(&output).with_context(|| format!("{command}: {output}"))
    }

    fn lockstep(&self, protocol: &str, world: &str) -> Result<Ended> {
        let mut arguments = vec!["lockstep", protocol, "--json"];
        arguments.extend(world.split_whitespace());
        self.scratch.bridge(self.which, &arguments)
    }

    /// Runs a command of the bridge, as it stands in the catalogue.
    fn bridge(&self, command: &str) -> Result<Ended> {
        let arguments: Vec<&str> = command.split_whitespace().chain(["--quiet"]).collect();
        self.scratch.bridge(self.which, &arguments)
    }

    /// Three nodes with a crash and a recovery: each transition, through the driver.
    fn suite(&self, protocol: &str) -> Result<Ended> {
        let through = ["--through", "driver", "--json"];
        let arguments = [&["suite", protocol, "--recoveries", "1"][..], &through].concat();
        self.scratch.bridge(self.which, &arguments)
    }
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
    of_difference(divergence)
}

/// What a difference is about, in one line.
fn of_difference(divergence: &Value) -> String {
    // By other clocks, which must change nothing.
    if let Some(rejected) = divergence.get("with_other_clocks") {
        return format!("with other clocks: {}", of_difference(rejected));
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

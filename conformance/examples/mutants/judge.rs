//! What says of a program whether it is wrong: each way in which one of the set must be caught.

use anyhow::{Context as _, Result};
use serde_json::Value;
use std::collections::BTreeMap;

use crate::scratch::{CLUSTERS, Ended, Scratch, Tools, Which};
use crate::set::{By, Way};

/// The exit statuses of the bridge that say something about the program.
const CONFORMS: i32 = 0;
const DIVERGES: i32 = 1;
/// That of a walk that has met no difference, and not all that it should have.
const NO_CLAIM: i32 = 3;

/// The verdict that is no surprise only if the right model has it too.
const VIOLATED: &str = "violated";

/// What came of one wrong program.
pub(crate) enum Verdict {
    /// It was caught, by this.
    Caught(String),
    Survived,
    Broken(String),
}

/// What judges one program.
pub(crate) struct Judge<'a> {
    pub(crate) scratch: &'a Scratch,
    /// What each check finds of the right models.
    pub(crate) found: &'a BTreeMap<String, Found>,
    pub(crate) which: Which<'a>,
    /// What starts clusters, if some are judged so.
    pub(crate) tools: Option<&'a Tools>,
}

impl Judge<'_> {
    /// Whether it is caught as it must be: by the first that says anything of it.
    pub(crate) fn judge(&self, by: &By) -> Result<Verdict> {
        for what in &by.what {
            let verdict = match by.way {
                Way::Tests => self.judge_by_tests(what),
                Way::Simulation => self.judge_by_simulation(what),
                // As many are judged at once as there are processors.
                Way::Lockstep => self.judge_by_bridge(&format!("lockstep {what} --threads 1")),
                Way::Check => self.judge_by_check(what),
                Way::Clusters => self.judge_by_clusters(what),
            };
            match verdict? {
                Verdict::Caught(told) => return Ok(Verdict::Caught(format!("{what}: {told}"))),
                Verdict::Survived => {}
                Verdict::Broken(why) => return Ok(Verdict::Broken(format!("{what}: {why}"))),
            }
        }
        Ok(Verdict::Survived)
    }

    fn judge_by_tests(&self, filter: &str) -> Result<Verdict> {
        let Ended { status, output } = self.scratch.tests(self.which, filter)?;
        Ok(match status {
            // What it waits for never comes.
            None => Verdict::Caught("it does not end".to_owned()),
            Some(status) if status.success() => Verdict::Survived,
            Some(_) => Verdict::Caught(failed(&output)),
        })
    }

    fn judge_by_simulation(&self, code: &str) -> Result<Verdict> {
        let Ended { status, output } = self.scratch.simulation(self.which, code)?;
        Ok(match status.and_then(|status| status.code()) {
            Some(0) => Verdict::Survived,
            Some(1) => Verdict::Caught(broken(&output)),
            // An assertion of the program itself.
            Some(101) => Verdict::Caught("it panics".to_owned()),
            code => Verdict::Broken(format!("{code:?}: {output}")),
        })
    }

    fn judge_by_bridge(&self, command: &str) -> Result<Verdict> {
        let Ended { status, output } = self.scratch.bridge(self.which, command)?;
        Ok(match status.and_then(|status| status.code()) {
            Some(CONFORMS) => Verdict::Survived,
            // What a wrong program does not do, a walk cannot meet.
            Some(NO_CLAIM) if self.which.number > 0 => Verdict::Survived,
            Some(DIVERGES) => Verdict::Caught(told(&output)),
            code => Verdict::Broken(format!("{code:?}: {output}")),
        })
    }

    /// The first of the runs whose traces are rejected. A wrong daemon may keep runs from their
    /// end; the right one may not.
    fn judge_by_clusters(&self, protocol: &str) -> Result<Verdict> {
        let tools = self.tools.context("nothing starts clusters")?;
        for clusters in CLUSTERS {
            let Ended { output, .. } =
                self.scratch.clusters(self.which, tools, protocol, clusters)?;
            let found: Option<Value> = output.find('{').and_then(|start| {
                serde_json::Deserializer::from_str(&output[start..]).into_iter().next()?.ok()
            });
            let found = found.filter(|found| found["runs"].as_u64() > Some(0));
            let Some(found) = found else { return Ok(Verdict::Broken(output)) };
            if let Some(rejected) = found["rejected"].as_array().and_then(|all| all.first()) {
                return Ok(Verdict::Caught(of_difference(&rejected["report"])));
            }
            let ended_early = &found["ended_early"];
            if self.which.number == 0 && !ended_early.is_null() {
                return Ok(Verdict::Broken(ended_early.to_string()));
            }
        }
        Ok(Verdict::Survived)
    }

    fn judge_by_check(&self, what: &str) -> Result<Verdict> {
        let Ended { output, .. } = self.scratch.check(self.which, what)?;
        Ok(match (Found::read(&output), self.found.get(what)) {
            (Some(found), Some(right)) => {
                found.differs(right).map_or(Verdict::Survived, Verdict::Caught)
            }
            _ => Verdict::Broken(output),
        })
    }

    /// What a check finds of this model.
    pub(crate) fn find(&self, what: &str) -> Result<Found> {
        let Ended { output, .. } = self.scratch.check(self.which, what)?;
        Found::read(&output).with_context(|| format!("check {what}: {output}"))
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

fn failed(output: &str) -> String {
    let failed = output.lines().filter_map(|line| line.strip_prefix("---- "));
    let names = failed.filter_map(|line| line.strip_suffix(" stdout ----")).collect::<Vec<_>>();
    names.join(", ")
}

/// What a check has found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The verdict on each property.
    verdicts: BTreeMap<String, String>,
    /// The number of distinct states.
    states: u64,
}

impl Found {
    /// What a check has printed as JSON; `None` if that is something else.
    pub(crate) fn read(output: &str) -> Option<Self> {
        let object = output.lines().find_map(|line| serde_json::from_str::<Value>(line).ok())?;
        let verdict = |property: &Value| {
            let text = |key: &str| property[key].as_str().map(str::to_owned);
            Some((text("name")?, text("verdict")?))
        };
        let verdicts = object["properties"]
            .as_array()?
            .iter()
            .map(verdict)
            .collect::<Option<BTreeMap<_, _>>>()?;
        let states = object["states"]["distinct"].as_u64()?;
        Some(Self { verdicts, states })
    }

    /// In what it differs from what the right model has, in a few words: a violation first of all.
    pub(crate) fn differs(&self, right: &Self) -> Option<String> {
        let others: Vec<(&String, &String)> = self
            .verdicts
            .iter()
            .filter(|&(name, found)| right.verdicts.get(name) != Some(found))
            .collect();
        let violation = others.iter().find(|(_, found)| *found == VIOLATED);
        if let Some((name, found)) = violation.or(others.first()) {
            return Some(format!("{name} is {found}"));
        }
        let (mine, states) = (self.states, right.states);
        (mine != states).then(|| format!("{mine} states in place of {states}"))
    }
}

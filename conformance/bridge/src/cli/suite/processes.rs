//! `suite --through processes`: real processes, and what their logs show of a suite.

use super::{SuiteArgs, Through, table};
use crate::cli::lockstep::scenario;
use crate::cli::{BOLD, CONFORMS, CUT_SHORT, DIVERGES, ERROR, GOOD, USAGE, describe_divergence};
use crate::comparison::Comparison;
use crate::processes::{Done, Processes, Request};
use crate::suite::Met;
use crate::validate::{Log, Options, Outcome};
use anyhow::{Context, bail, ensure};
use bellwether_engine::check::Cancel;
use bellwether_engine::trace::DOWN;
use bellwether_engine::world::Scenario;
use bellwether_tool::cli::{Exit, text};
use indicatif::HumanCount;
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// For how long processes run if nothing else is said, in seconds.
const SECONDS: u32 = 60;

/// The folder in which processes keep all that they have. It is removed if no folder was named.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn new(out: Option<&Path>) -> anyhow::Result<Self> {
        let own = || std::env::temp_dir().join(format!("bellwether-suite-{}", std::process::id()));
        let (path, is_kept) = (out.map_or_else(own, Path::to_path_buf), out.is_some());
        let cannot = || format!("cannot write {}; give --out another folder", path.display());
        fs::create_dir_all(&path).with_context(cannot)?;
        let mut entries = fs::read_dir(&path).with_context(cannot)?;
        ensure!(
            entries.next().is_none(),
            "{} has something in it; give --out a folder that is empty, or not there",
            path.display()
        );
        Ok(Self { path, is_kept })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // What cannot be removed is in the folder for such things.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// A kind of transition that the logs do not show, and why.
#[derive(Serialize)]
struct Missing {
    #[serde(flatten)]
    kind: Met,
    reason: &'static str,
}

impl Missing {
    fn new(kind: Met) -> Self {
        let reason = match kind.action {
            "deliver" if is_down(&kind) => "no log has what comes to a process that is down",
            "deliver" | "expire" => {
                "it did not come about: timers run on a real clock; give more --seconds"
            }
            "crash" | "recover" => "no process was killed in this role; give more --seconds",
            _ => "no log of a node says whether this has happened",
        };
        Self { kind, reason }
    }

    /// Whether a log could show it.
    fn can_be_shown(&self) -> bool {
        match self.kind.action {
            "deliver" => !is_down(&self.kind),
            "expire" | "crash" | "recover" => true,
            _ => false,
        }
    }
}

fn is_down(kind: &Met) -> bool {
    kind.role == Some(DOWN)
}

/// What came of it.
struct Shown {
    scenario: Scenario,
    done: Done,
    judged: Outcome,
    kinds: usize,
    missing: Vec<Missing>,
}

pub(super) fn run(
    mapping: &dyn Comparison,
    runs: Processes,
    args: &SuiteArgs,
) -> anyhow::Result<Exit> {
    if let Some(why) = mapping.without_services() {
        let variant = mapping.description().variant;
        bail!("by '{variant}' no process is a service: {why}; leave out --through, or --variant");
    }
    let scenario = scenario(&args.world)?;
    let folder = Folder::new(args.out.as_deref())?;
    let suite = args.find(mapping, scenario)?;
    let wanted = &suite.summary().met;
    let done = processes(runs, mapping, scenario, &folder.path, args)?;
    let open = |log: &PathBuf| Log::open(log).with_context(|| log.display().to_string());
    let logs = done.logs.iter().map(open).collect::<anyhow::Result<Vec<_>>>()?;
    let judged = mapping.validate(logs, Options::default())?;
    let kind = |met: &Met| (met.action, met.of.clone(), met.role, met.acts);
    let shown: BTreeSet<_> = judged.summary.met.iter().map(kind).collect();
    let missing = wanted.iter().filter(|met| !shown.contains(&kind(met)));
    let missing = missing.cloned().map(Missing::new).collect();
    let kinds = wanted.len();
    let shown = Shown { scenario, done, judged, kinds, missing };
    let (verdict, status) = shown.verdict(suite.summary().cut_short.is_some());
    let printed = match args.json {
        true => text::print_json(&shown.json(mapping, verdict)),
        false => shown.print(mapping, args),
    };
    Ok(Exit::with(status).note_printed(printed))
}

fn processes(
    runs: Processes,
    mapping: &dyn Comparison,
    scenario: Scenario,
    folder: &Path,
    args: &SuiteArgs,
) -> anyhow::Result<Done> {
    let started = Instant::now();
    let limits = args.limits.limits();
    let goes_on = || {
        let is_late = limits.time.is_some_and(|limit| started.elapsed() >= limit);
        !is_late && !limits.cancel.is_some_and(Cancel::is_due)
    };
    let request = Request {
        protocol: mapping.description().protocol,
        nodes: scenario.nodes,
        program: args.program.as_deref(),
        folder,
        time: Duration::from_secs(u64::from(args.seconds.unwrap_or(SECONDS))),
        goes_on: &goes_on,
    };
    Ok(runs(&request)?)
}

impl Shown {
    /// The verdict, and the status that goes with it. What a log could show must be shown, if all
    /// of it is known.
    fn verdict(&self, cut_short: bool) -> (&'static str, u8) {
        let Outcome { rejection, malformed, .. } = &self.judged;
        if rejection.is_some() {
            ("diverges", DIVERGES)
        } else if !malformed.is_empty() {
            ("malformed", USAGE)
        } else if cut_short || self.missing.iter().any(Missing::can_be_shown) {
            ("unknown", CUT_SHORT)
        } else {
            ("conforms", CONFORMS)
        }
    }

    fn json(&self, mapping: &dyn Comparison, verdict: &str) -> serde_json::Value {
        let of = mapping.description();
        json!({
            "protocol": of.protocol,
            "variant": of.variant,
            "world": self.scenario,
            "through": Through::Processes,
            "verdict": verdict,
            "processes": self.done,
            "kinds": self.kinds,
            "missing": self.missing,
            "judged": self.judged.summary,
            "malformed": self.judged.malformed,
            "rejection": self.judged.rejection,
        })
    }

    fn print(&self, mapping: &dyn Comparison, args: &SuiteArgs) -> anyhow::Result<()> {
        let Self { scenario, done, judged, kinds, missing } = self;
        let of = mapping.description();
        let mut out = anstream::stdout();
        writeln!(out, "{}, {}: a suite for model and processes", of.protocol, of.variant)?;
        writeln!(out, "{scenario}\n")?;
        let [starts, kills, delivered, lost, steps] =
            [done.starts, done.kills, done.delivered, done.lost, judged.summary.judged()]
                .map(HumanCount);
        writeln!(out, "processes:    started {starts} times, killed {kills} times")?;
        writeln!(out, "messages:     {delivered} let through, {lost} taken away")?;
        writeln!(out, "steps judged: {steps}")?;
        writeln!(out, "kinds shown:  {} of {kinds}", kinds - missing.len())?;
        if !judged.summary.met.is_empty() {
            writeln!(out, "\n{}", table(&judged.summary.met))?;
        }
        for Missing { kind: Met { action, of, role, acts, .. }, reason } in missing {
            let of = of.as_ref().map_or_else(String::new, |of| format!(" {of}"));
            let role = role.map_or_else(String::new, |role| format!(", {role}"));
            let nothing = if *acts { "" } else { ", from which nothing follows" };
            writeln!(out, "not shown: {action}{of}{role}{nothing}: {reason}")?;
        }
        for malformed in &judged.malformed {
            writeln!(out, "\n{BOLD}Cannot be read from here:{BOLD:#} {malformed}.")?;
        }
        if let Some(rejection) = &judged.rejection {
            writeln!(out, "\n{ERROR}The logs are rejected.{ERROR:#}\n")?;
            write!(out, "{}", describe_divergence(rejection, args.verbose))?;
        } else if missing.iter().any(Missing::can_be_shown) {
            writeln!(out, "\n{BOLD}No difference, and not each kind was shown:{BOLD:#} no claim.")?;
        } else if judged.malformed.is_empty() {
            writeln!(out, "\n{GOOD}The logs are accepted.{GOOD:#} They show each kind.")?;
        }
        Ok(())
    }
}

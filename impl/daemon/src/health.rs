//! The check of `[health]`: a program that says again and again whether the node is fit to lead.
//!
//! Before the first result the node is not fit. That result decides at once; after that, as many
//! results in a row as `fall` and `rise` say change it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;

use bellwether::internal::config::{Health, Runnable};
use bellwether::{Config, Handle, Leadership, NodeId, RequestError, Role};
use humantime::format_duration;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use super::script::{self, About, REST, Scripts};

/// How much of the end of what a check says on standard error is kept, in bytes.
const TAIL: usize = 1024;

/// Why a node is not fit before the first result.
const UNKNOWN: &str = "its check has not succeeded yet";

/// Returns the warning that the program of the check cannot be run on this machine; `None` if it
/// can, if there is no check, and if the program is one of those in `PATH`.
pub(crate) fn warning(health: &Health) -> Option<String> {
    let program = health.check.first().filter(|program| program.contains('/'))?;
    let problem = match Path::new(program).metadata() {
        Ok(found) if found.is_file() && found.permissions().mode() & 0o111 != 0 => return None,
        Ok(_) => "is no program".to_owned(),
        Err(error) => format!("cannot be used: {error}"),
    };
    Some(format!(
        "health.check: {program} {problem}; a node on this machine would never be fit to lead"
    ))
}

/// What checks a node that does not take part yet.
pub(crate) struct Checker {
    cluster: String,
    node: NodeId,
    health: Health,
}

/// The checks of a node. They end when this is dropped; one that runs is killed.
pub(crate) struct Checks(JoinHandle<()>);

impl Drop for Checks {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Checker {
    /// Returns what checks the node of this configuration.
    pub(crate) fn new<C: Runnable>(config: &Config<C>) -> Self {
        let (cluster, node) = (config.cluster().to_string(), config.node());
        Self { cluster, node, health: config.health().clone() }
    }

    /// Checks from here on, if there is a check. Returns once the node knows that it is not fit
    /// before the first success.
    pub(crate) async fn start(self, elections: Vec<Handle>, scripts: Scripts) -> Option<Checks> {
        if self.health.check.is_empty() {
            return None;
        }
        // A node that takes part no longer needs no check: its end is told elsewhere.
        set_unfit(&elections, UNKNOWN).await.ok()?;
        Some(Checks(tokio::spawn(self.run(elections, scripts))))
    }

    /// Checks until the node takes part no longer.
    async fn run(self, elections: Vec<Handle>, scripts: Scripts) {
        let mut fitness = Fitness::new(&self.health);
        let mut due = interval(self.health.interval);
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            due.tick().await;
            let result = self.check(&elections, &scripts).await;
            let change = fitness.note(result.is_ok());
            if self.tell(&elections, change, result).await.is_err() {
                return;
            }
        }
    }

    /// Tells the node what follows from a result, and logs a change.
    async fn tell(
        &self,
        elections: &[Handle],
        change: Option<bool>,
        result: Result<(), String>,
    ) -> Result<(), RequestError> {
        let node = self.node.get();
        match (change, result) {
            (Some(true), _) => {
                tracing::info!(node, "fit to lead: the check succeeds");
                for election in elections {
                    election.set_healthy(true).await?;
                }
                Ok(())
            }
            (Some(false), Err(problem)) => {
                tracing::warn!(node, "not fit to lead: {problem}");
                set_unfit(elections, &problem).await
            }
            // The status says what is wrong now.
            (None, Err(problem)) if elections.iter().any(|one| !one.is_healthy()) => {
                set_unfit(elections, &problem).await
            }
            _ => Ok(()),
        }
    }

    /// Runs the program once. Returns what is wrong if it does not succeed.
    async fn check(&self, elections: &[Handle], scripts: &Scripts) -> Result<(), String> {
        let (cluster, node, group) = (self.cluster.as_str(), self.node, None);
        let about = match elections {
            [election] => {
                let Leadership { role, leader, epoch, .. } = election.leadership().now();
                About { cluster, node, group, role, leader, epoch }
            }
            // It is about the machine, which is the same in each group.
            groups => {
                let leads = groups.iter().any(|group| group.leadership().now().is_self());
                let role = if leads { Role::Leader } else { Role::Follower };
                About { cluster, node, group, role, leader: None, epoch: None }
            }
        };
        let mut command = script::command(&self.health.check, &about);
        command.stdout(Stdio::null());
        let started = scripts.start(&mut command);
        let mut script = started.map_err(|error| format!("the check cannot run: {error:#}"))?;
        let (mut errors, mut tail) = (script.stderr(), Vec::new());
        let reads = async {
            read_tail(&mut errors, &mut tail).await;
            std::future::pending::<()>().await;
        };
        let limit = self.health.timeout;
        let ended = tokio::select! {
            // First: one that has ended while this process stood still is not late.
            biased;
            status = script.wait() => Some(status),
            () = sleep(limit) => None,
            () = reads => unreachable!("it goes on"),
        };
        let problem = match ended {
            Some(Ok(status)) if status.success() => return Ok(()),
            Some(Ok(status)) => format!("the check failed: {status}"),
            Some(Err(error)) => format!("the check failed: its end is not known: {error}"),
            None => {
                script.kill().await;
                let limit = format_duration(limit);
                format!("the check did not end within {limit}, and was killed")
            }
        };
        drop(script);
        let _ = timeout(REST, read_tail(&mut errors, &mut tail)).await;
        Err(match last_line(&tail) {
            Some(line) => format!("{problem}: {line}"),
            None => problem,
        })
    }
}

/// Tells the node in each election that it is not fit to lead, and why.
async fn set_unfit(elections: &[Handle], problem: &str) -> Result<(), RequestError> {
    for election in elections {
        election.set_unfit(problem).await?;
    }
    Ok(())
}

/// Whether a node is fit, by the results of its checks.
struct Fitness {
    rise: u32,
    fall: u32,
    /// `None` before the first result.
    fit: Option<bool>,
    /// The number of results in a row that say otherwise.
    others: u32,
}

impl Fitness {
    fn new(health: &Health) -> Self {
        Self { rise: health.rise, fall: health.fall, fit: None, others: 0 }
    }

    /// Notes a result. Returns whether the node is fit from here on, if that changes or is known
    /// for the first time.
    fn note(&mut self, success: bool) -> Option<bool> {
        if self.fit == Some(success) {
            self.others = 0;
            return None;
        }
        self.others += 1;
        let needed = match self.fit {
            None => 1,
            Some(true) => self.fall,
            Some(false) => self.rise,
        };
        if self.others < needed {
            return None;
        }
        (self.fit, self.others) = (Some(success), 0);
        self.fit
    }
}

/// Reads an output to its end, and keeps the last part of it.
async fn read_tail(output: &mut Option<impl AsyncRead + Unpin>, tail: &mut Vec<u8>) {
    let Some(output) = output else { return };
    let mut part = [0; 512];
    while let Ok(count @ 1..) = output.read(&mut part).await {
        tail.extend_from_slice(&part[..count]);
        let surplus = tail.len().saturating_sub(TAIL);
        tail.drain(..surplus);
    }
}

/// Returns the last line that says something; `None` if there is none.
fn last_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What follows from these results: `+` is a success, `-` a failure.
    fn changes(rise: u32, fall: u32, results: &str) -> Vec<(usize, bool)> {
        let mut fitness = Fitness { rise, fall, fit: None, others: 0 };
        let noted = results.chars().map(|result| fitness.note(result == '+'));
        noted.enumerate().filter_map(|(at, change)| Some((at, change?))).collect()
    }

    #[test]
    fn the_first_result_decides_and_then_as_many_in_a_row_as_are_configured() {
        assert_eq!(changes(2, 3, "+"), [(0, true)]);
        assert_eq!(changes(2, 3, "-"), [(0, false)]);
        assert_eq!(changes(2, 3, "+--+--+"), [(0, true)], "not in a row");
        assert_eq!(changes(2, 3, "+---"), [(0, true), (3, false)]);
        assert_eq!(changes(2, 3, "+-----+-+-"), [(0, true), (3, false)], "told once");
        assert_eq!(changes(2, 3, "-+-++"), [(0, false), (4, true)]);
        assert_eq!(changes(2, 3, "-++--+---"), [(0, false), (2, true), (8, false)]);
        assert_eq!(changes(1, 1, "+-+-"), [(0, true), (1, false), (2, true), (3, false)]);
    }

    #[tokio::test]
    async fn the_end_of_what_a_check_says_is_kept() {
        let mut tail = Vec::new();
        let long = "a line of many\n".repeat(1_000) + "the last one \n\n";
        read_tail(&mut Some(long.as_bytes()), &mut tail).await;
        assert_eq!(tail.len(), TAIL);
        assert_eq!(last_line(&tail).as_deref(), Some("the last one"));
        assert_eq!(last_line(b" \n"), None);
        assert_eq!(last_line(b"\xff"), Some("\u{fffd}".to_owned()));
    }

    #[test]
    fn a_program_that_is_not_there_or_is_none_is_told() {
        let check = |program: &str| {
            let mut health = Health::default();
            health.check = vec![program.to_owned()];
            warning(&health)
        };
        assert_eq!(check("/bin/sh"), None);
        assert_eq!(check("sh"), None);
        assert_eq!(warning(&Health::default()), None);
        assert!(check("/").is_some_and(|told| told.contains("/ is no program")));
        assert!(check("/no/such").is_some_and(|told| told.contains("/no/such cannot be used")));
    }
}

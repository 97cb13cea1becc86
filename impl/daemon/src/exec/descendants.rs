//! The processes below this one, and how to be rid of all of them.
//!
//! A process that outlives its parent becomes a child of the nearest process above that has
//! [adopted](adopt) orphans. So whatever a command has left behind is in the end a child, whose
//! number no other process gets until it has been reaped: nothing else is ever killed.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait, waitpid};

use super::group;

/// How long to wait at most before what was killed, and is there still, is killed again.
const SLOWEST: Duration = Duration::from_secs(1);

/// Orphans below this process become its children.
pub(super) fn adopt() -> rustix::io::Result<()> {
    rustix::process::set_child_subreaper(Some(getpid()))
}

/// Sends a signal to each child.
pub(super) fn signal_children(signal: Signal) {
    for child in children() {
        // One that has ended meanwhile needs none.
        let _ = kill_process(child, signal);
    }
}

/// Kills children again and again until none is left: ever more rarely while the same ones stay, as
/// those of another user may. A look at all processes is not cheap.
pub(super) struct Killing {
    /// The cgroup of the command, of which nothing is to be left either.
    group: Option<PathBuf>,
    /// How long before the first look at what is left.
    first: Duration,
    pause: Duration,
    /// The children that were killed the last time.
    killed: Vec<Pid>,
    told: bool,
}

impl Killing {
    pub(super) fn new(first: Duration, group: Option<PathBuf>) -> Self {
        Self { group, first, pause: first, killed: Vec::new(), told: false }
    }

    /// How long to wait before it is done again.
    pub(super) fn pause(&self) -> Duration {
        self.pause
    }

    /// Kills each child, but reaps none. Returns what is to be told of those that do not end.
    pub(super) fn kill_all(&mut self) -> Option<String> {
        self.kill(children())
    }

    /// Kills each child but these, and reaps those that have ended. Whether no other is left, and
    /// what is to be told of those that are. One that has been reaped just now may have left
    /// orphans, which are children from then on: so that there is none says only a look that finds
    /// none, ended or not.
    pub(super) fn kill_all_but(&mut self, spared: &BTreeSet<u32>) -> (bool, Option<String>) {
        let number = |child: &Pid| u32::try_from(child.as_raw_pid()).unwrap_or(0);
        let mut others = children();
        others.retain(|child| !spared.contains(&number(child)));
        let complaint = self.kill(others);
        for &child in &self.killed {
            // One that has not ended yet is reaped the next time.
            let _ = waitpid(Some(child), WaitOptions::NOHANG);
        }
        (self.killed.is_empty(), complaint)
    }

    fn kill(&mut self, children: Vec<Pid>) -> Option<String> {
        // It also ends what the kernel does not let this user kill one by one.
        let ended = self.group.as_deref().map_or(Ok(()), group::kill);
        let mut refused = ended.err().map(|error| error.to_string());
        for &child in &children {
            if let Err(error) = kill_process(child, Signal::KILL) {
                refused = Some(error.to_string());
            }
        }
        self.note(children, refused)
    }

    /// Notes which children were killed, and why one cannot be. Returns what is to be told: once,
    /// when the same ones have stayed for long.
    fn note(&mut self, children: Vec<Pid>, refused: Option<String>) -> Option<String> {
        let stay = !children.is_empty() && children == self.killed;
        if stay {
            self.pause = SLOWEST.min(self.pause * 2);
        } else if !self.told {
            self.pause = self.first;
        }
        self.killed = children;
        if !stay || self.told || self.pause < SLOWEST {
            return None;
        }
        self.told = true;
        let numbers: Vec<_> = self.killed.iter().map(Pid::to_string).collect();
        let why = refused.map(|why| format!(" ({why})")).unwrap_or_default();
        let numbers = numbers.join(", ");
        Some(format!("killed, and still there: process {numbers}{why}; waiting until it has ended"))
    }
}

/// Tells of each child that has ended, and of its exit status, or 128 and the signal that ended it.
/// Whether no child is left.
pub(super) fn reap(mut ended: impl FnMut(Pid, u8)) -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((child, status))) => ended(child, code(status)),
            Ok(None) => return false,
            Err(Errno::CHILD) => return true,
            Err(_) => {}
        }
    }
}

fn code(status: WaitStatus) -> u8 {
    let signal = || status.terminating_signal().map(|signal| 128 + signal);
    let code = status.exit_status().or_else(signal).unwrap_or(i32::from(u8::MAX));
    u8::try_from(code).unwrap_or(u8::MAX)
}

fn children() -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let me = getpid().as_raw_pid();
    let mine = numbers.filter(|&process: &i32| parent(process) == Some(me));
    mine.filter_map(Pid::from_raw).collect()
}

/// The parent of a process; none if there is no such process.
fn parent(process: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name stands in parentheses, and may have parentheses and spaces in it.
    let (_, state) = stat.rsplit_once(") ")?;
    state.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn what_does_not_end_is_killed_ever_more_rarely_and_told_once() {
        let first = Duration::from_millis(2);
        let mut killing = Killing::new(first, None);
        let processes = [17, 18].map(|number| Pid::from_raw(number).expect("positive"));
        let mut note = |children: &[Pid]| {
            let told = killing.note(children.to_vec(), Some("not permitted".to_owned()));
            (killing.pause(), told)
        };
        // While they change, others come to light.
        for children in [&processes[..], &processes[..1], &processes[..], &[], &[]] {
            assert_eq!(note(children), (first, None));
        }
        assert_eq!(note(&processes), (first, None));
        let mut expected = first;
        while expected * 2 < SLOWEST {
            expected *= 2;
            assert_eq!(note(&processes), (expected, None));
        }
        let (pause, told) = note(&processes);
        let told = told.expect("it has lasted long enough");
        assert_eq!(pause, SLOWEST);
        assert!(told.contains("process 17, 18 (not permitted)"), "{told}");
        for children in [&processes[..], &processes[..1], &processes[..]] {
            assert_eq!(note(children), (SLOWEST, None));
        }
    }

    #[test]
    fn children_are_found_by_their_parent() {
        let mut child = Command::new("sleep").arg("600").spawn().expect("sleep");
        let number = i32::try_from(child.id()).expect("small");
        assert_eq!(parent(number), Some(getpid().as_raw_pid()));
        assert!(children().contains(&Pid::from_raw(number).expect("positive")));
        child.kill().expect("ours");
        child.wait().expect("ours");
        assert_eq!(parent(number), None);
    }
}

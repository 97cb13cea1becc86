//! The processes below this one, and how to be rid of all of them.
//!
//! A process that outlives its parent becomes a child of the nearest process above that has
//! [adopted](adopt) orphans. So whatever a command has left behind is in the end a child, whose
//! number no other process gets until it has been reaped: nothing else is ever killed.

use std::collections::BTreeSet;
use std::fs;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, wait, waitpid};

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

/// Kills each child but these, and reaps those that have ended. Whether no other is left. One that
/// has been reaped just now may have left orphans, which are children from then on: so that there
/// is none says only a look that finds none, ended or not.
pub(super) fn kill_all_but(spared: &BTreeSet<u32>) -> bool {
    let number = |child: &Pid| u32::try_from(child.as_raw_pid()).unwrap_or(0);
    let mut others = children();
    others.retain(|child| !spared.contains(&number(child)));
    for &child in &others {
        let _ = kill_process(child, Signal::KILL);
        // One that has not ended yet is reaped the next time.
        let _ = waitpid(Some(child), WaitOptions::NOHANG);
    }
    others.is_empty()
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

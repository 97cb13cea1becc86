//! Processes of the system: signals to them, and those below them.

use std::fs;
use std::process::Child;

use anyhow::bail;
use rustix::process::{Pid, Signal, kill_process};

pub(crate) fn send(process: u32, signal: Signal) -> anyhow::Result<()> {
    let id = i32::try_from(process).ok().and_then(Pid::from_raw);
    let Some(id) = id else { bail!("{process} is no process") };
    Ok(kill_process(id, signal)?)
}

/// SIGKILL to a process and all below it.
pub(crate) fn end(child: &mut Child) {
    let all = below(child.id());
    let _ = child.kill();
    for process in all {
        // One that has ended meanwhile needs no end.
        let _ = send(process, Signal::KILL);
    }
    let _ = child.wait();
}

/// Every process, and the one above it.
fn parents() -> Vec<(u32, u32)> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            Some((id, parent))
        })
        .collect()
}

/// The processes that one has started itself.
pub(crate) fn children(process: u32) -> Vec<u32> {
    parents().into_iter().filter(|(_, above)| *above == process).map(|(id, _)| id).collect()
}

/// The processes below one.
pub(crate) fn below(process: u32) -> Vec<u32> {
    let parents = parents();
    let mut found = vec![process];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        found.extend(parents.iter().filter(|(_, above)| *above == parent).map(|(id, _)| id));
        next += 1;
    }
    found.split_off(1)
}

/// Whether a process runs, and writes to the resource. One that has ended has no arguments.
pub(crate) fn writes(process: u32) -> bool {
    let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    arguments.split(|&byte| byte == 0).any(|argument| argument == b"hammer")
}

//! A lock that the command of a leader takes, and keeps until its process is gone. So a command
//! that starts finds out whether another runs still, by the kernel, and not by any clock.

use std::fs::{File, TryLockError};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::thread;

use anyhow::Context as _;

/// The lock, taken or waited for. It is given back when this is dropped, or the process ends.
pub(crate) struct Alone {
    _lock: File,
    /// The node whose command had the lock when this one came; 0 if it had not said so yet.
    pub(crate) beside: Option<u16>,
}

impl Alone {
    /// Takes the lock for the command of a node. If another command has it, the lock is waited for
    /// meanwhile, so that the next command that comes finds this one.
    pub(crate) fn enter(path: &Path, node: u16) -> anyhow::Result<Self> {
        let lock = File::options().read(true).write(true).create(true).truncate(false).open(path);
        let lock = lock.with_context(|| format!("cannot open {}", path.display()))?;
        let beside = match lock.try_lock() {
            Ok(()) => {
                sign(&lock, node)?;
                None
            }
            Err(TryLockError::WouldBlock) => {
                let mut name = String::new();
                (&lock).read_to_string(&mut name)?;
                let waiting = lock.try_clone()?;
                thread::spawn(move || waiting.lock().and_then(|()| sign(&waiting, node)));
                Some(name.trim().parse().unwrap_or(0))
            }
            Err(TryLockError::Error(error)) => return Err(error.into()),
        };
        Ok(Self { _lock: lock, beside })
    }
}

/// Writes down which node has the lock.
fn sign(lock: &File, node: u16) -> std::io::Result<()> {
    lock.set_len(0)?;
    lock.write_all_at(node.to_string().as_bytes(), 0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use bellwether_testbed::wait;

    use super::*;

    /// A second command at a time is noticed, and a third that comes after the first has ended.
    #[test]
    fn two_commands_at_a_time_are_noticed() -> anyhow::Result<()> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("alone");
        let first = Alone::enter(&path, 1)?;
        anyhow::ensure!(first.beside.is_none(), "the first is alone");
        let second = Alone::enter(&path, 2)?;
        anyhow::ensure!(second.beside == Some(1), "{:?}", second.beside);
        drop(first);
        let signed = || std::fs::read_to_string(&path).is_ok_and(|name| name == "2");
        wait::until("the second has the lock", Duration::from_secs(10), signed)?;
        let third = Alone::enter(&path, 3)?;
        anyhow::ensure!(third.beside == Some(2), "{:?}", third.beside);
        drop((second, third));
        // The third has waited for the lock until now.
        let free = || Alone::enter(&path, 4).is_ok_and(|fourth| fourth.beside.is_none());
        wait::until("no command has the lock", Duration::from_secs(10), free)?;
        Ok(())
    }
}

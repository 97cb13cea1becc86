//! States that wait in files.

use super::{Checked, DiskError, Folder, Stored};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufWriter, Read, Write};

/// States that are written down one after the other.
#[derive(Debug, Default)]
pub(in crate::exact) struct Spill {
    open: Option<(String, Checked<BufWriter<File>>)>,
    done: Spilled,
}

/// States in files.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(in crate::exact) struct Spilled {
    /// How many, repeats included.
    states: u64,
    pub(in crate::exact) files: Vec<Stored>,
}

impl From<Spilled> for Spill {
    fn from(done: Spilled) -> Self {
        Spill { open: None, done }
    }
}

impl Spill {
    /// How many there are, repeats included.
    pub(in crate::exact) fn states(&self) -> u64 {
        self.done.states
    }

    /// Adds so many states, of which these are the words.
    pub(in crate::exact) fn write<'a>(
        &mut self,
        folder: &Folder,
        states: usize,
        words: impl Iterator<Item = &'a u64>,
    ) -> Result<(), DiskError> {
        if self.open.is_none() {
            self.open = Some(folder.create("found")?);
        }
        if let Some((name, file)) = &mut self.open {
            for word in words {
                file.write_all(&word.to_le_bytes()).map_err(folder.wrong("write", name))?;
            }
        }
        self.done.states += states as u64;
        Ok(())
    }

    /// Writes everything to its end.
    pub(in crate::exact) fn finish(&mut self, folder: &Folder) -> Result<Spilled, DiskError> {
        if let Some((name, file)) = self.open.take() {
            self.done.files.push(folder.finish(&name, file)?);
        }
        Ok(self.done.clone())
    }

    /// Reads everything, some states of so many words at a time.
    pub(in crate::exact) fn read<const W: usize>(
        mut self,
        folder: &Folder,
        mut each: impl FnMut(&[[u64; W]]),
    ) -> Result<(), DiskError> {
        self.finish(folder)?;
        for stored in &self.done.files {
            let states = stored.bytes as usize / (W * size_of::<u64>());
            folder.load(stored, |file| {
                let mut some = Vec::with_capacity(AT_ONCE);
                for state in 0..states {
                    some.push(read_words::<W>(file)?);
                    if some.len() == AT_ONCE || state + 1 == states {
                        each(&some);
                        some.clear();
                    }
                }
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// How many states are read at once.
const AT_ONCE: usize = 1 << 12;

pub(super) fn read_words<const W: usize>(file: &mut dyn Read) -> io::Result<[u64; W]> {
    let mut words = [0; W];
    for word in &mut words {
        let mut bytes = [0; size_of::<u64>()];
        file.read_exact(&mut bytes)?;
        *word = u64::from_le_bytes(bytes);
    }
    Ok(words)
}

//! The saves of a search in several processes: each process keeps the last two.
//!
//! All processes save at the same moments of the search, and none saves once more before all have
//! done so. So when they are interrupted, whenever that is, one of the last two saves of each is
//! there in all.

use super::{Disk, Folder, Logged, Names};
use crate::exact::error::DiskError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashSet;
use std::fs;
use std::io;
use std::sync::{Mutex, PoisonError};

/// The folder of a process, and what is saved in it.
#[derive(Debug)]
pub struct Saves {
    pub(in crate::exact) folder: Folder,
    /// Of what the search is.
    of: Value,
    /// The files of the last save.
    last: Mutex<HashSet<String>>,
}

impl Saves {
    /// Returns the saves of the process with this number, which has a folder of its own in that of
    /// the disk. If a search is not to go on, none may be there.
    ///
    /// # Errors
    /// If the folder cannot be had, or a search is there that was not asked for.
    pub fn open(disk: &Disk, process: usize, of: Value) -> Result<Self, DiskError> {
        let path = disk.folder.join(format!("process-{process}"));
        let folder = if disk.resume { Folder::of(path) } else { Folder::open(&path)? };
        let saves = Saves { folder, of, last: Mutex::default() };
        if !disk.resume && !saves.all()?.is_empty() {
            return Err(DiskError::Waiting(saves.folder.path));
        }
        Ok(saves)
    }

    /// Returns the error that says that there is nothing.
    pub fn nothing(&self) -> DiskError {
        DiskError::Nothing(self.folder.path.clone())
    }

    /// Returns the numbers of all saves, which must be of this search.
    ///
    /// # Errors
    /// If a file cannot be read, is not as it was written, or is of another search.
    pub fn numbers(&self) -> Result<Vec<u64>, DiskError> {
        let numbers = self.all()?;
        for &number in &numbers {
            self.folder.read_manifest(&name_of(number), &self.of)?;
        }
        Ok(numbers)
    }

    /// The numbers of all saves, of whatever search.
    fn all(&self) -> Result<Vec<u64>, DiskError> {
        let wrong = |why| DiskError::Io { doing: "read", path: self.folder.path.clone(), why };
        let entries = match fs::read_dir(&self.folder.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(wrong)?,
        };
        let mut numbers = Vec::new();
        for entry in entries {
            let name = entry.map_err(wrong)?.file_name();
            let number =
                name.to_str().and_then(|name| name.strip_prefix(BEFORE)?.strip_suffix(AFTER));
            numbers.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        numbers.sort_unstable();
        Ok(numbers)
    }

    /// The save with this number, from which all processes go on; later ones are removed, so that
    /// they are not taken for those that follow now.
    pub(in crate::exact) fn resume<P: DeserializeOwned + Names>(
        &self,
        number: u64,
        space: &mut Logged<'_>,
    ) -> Result<P, DiskError> {
        let name = name_of(number);
        let manifest = self.folder.read_manifest(&name, &self.of)?;
        let (mut names, progress) = self.folder.repeat(&name, manifest, space)?;
        for later in self.all()?.into_iter().filter(|&later| later > number) {
            let later = name_of(later);
            let removed = fs::remove_file(self.folder.at(&later));
            removed
                .and_then(|()| self.folder.sync_names())
                .map_err(self.folder.wrong("remove", &later))?;
        }
        names.insert(name);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = names;
        Ok(progress)
    }

    /// Saves the search; the save before it stays, and those before that do not.
    pub(in crate::exact) fn save(
        &self,
        number: u64,
        space: &Logged<'_>,
        progress: impl Serialize + Names,
    ) -> Result<(), DiskError> {
        let name = name_of(number);
        let mut names = self.folder.write_manifest(&name, &self.of, space, progress)?;
        names.insert(name);
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let both = last.union(&names).cloned().collect();
        *last = names;
        self.folder.keep(&both);
        Ok(())
    }

    /// Removes everything that the search has written, because it is over.
    pub fn clear(&self) {
        for number in self.all().unwrap_or_default() {
            // Without it, the others are of no search.
            let _ = fs::remove_file(self.folder.at(&name_of(number)));
        }
        self.folder.keep(&HashSet::new());
        // Others may have theirs beside it.
        let _ = fs::remove_dir(&self.folder.path);
    }
}

const BEFORE: &str = "save-";
const AFTER: &str = ".json";

/// The file that says how far the search was.
fn name_of(number: u64) -> String {
    format!("{BEFORE}{number}{AFTER}")
}

//! What says how far a search is.

use super::lessons::{Lesson, Logged};
use super::{DiskError, Folder, Stored};
use crate::exact::difference::difference;
use crate::space::Space;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};

/// What another version cannot read has another number.
const FORMAT: u32 = 5;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the file has the checksum of everything else in it.
const CHECKSUM: &str = "crc";

/// How far a search is, as far as files say it.
pub(in crate::exact) trait Names {
    /// The names of the files.
    fn names(&self) -> Vec<&str>;
}

/// A search that was saved.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest<P> {
    format: u32,
    version: String,
    /// Of which world and which properties the search is.
    of: Value,
    words: usize,
    bits: Vec<u32>,
    left_bounds: u32,
    lessons: usize,
    learned: Stored,
    progress: P,
}

impl Folder {
    /// What the file says, which must be of this search.
    pub(super) fn read_manifest(&self, name: &str, of: &Value) -> Result<Value, DiskError> {
        let torn = |what| DiskError::Torn { path: self.at(name), what };
        let text = fs::read(self.at(name)).map_err(self.wrong("read", name))?;
        let mut manifest: Value =
            serde_json::from_slice(&text).map_err(|_| torn("it is no JSON"))?;
        let written = manifest.as_object_mut().and_then(|all| all.remove(CHECKSUM));
        if written != Some(checksum(&manifest)) {
            return Err(torn("its checksum is another"));
        }
        let theirs = identity(&manifest["format"], &manifest["version"], &manifest["of"]);
        let ours = identity(&json!(FORMAT), &json!(VERSION), of);
        if let Some(what) = difference(&ours, &theirs) {
            return Err(DiskError::Other { path: self.path.clone(), what });
        }
        Ok(manifest)
    }

    /// How far the search is of which this is said, the space having been told what it had been
    /// told then; and the names of all its files.
    pub(super) fn repeat<P: DeserializeOwned + Names>(
        &self,
        name: &str,
        manifest: Value,
        space: &mut Logged<'_>,
    ) -> Result<(HashSet<String>, P), DiskError> {
        let torn = |what| DiskError::Torn { path: self.at(name), what };
        let manifest: Manifest<P> =
            serde_json::from_value(manifest).map_err(|_| torn("something is missing"))?;
        let read =
            |file: &mut dyn Read| (0..manifest.lessons).map(|_| Lesson::read(file)).collect();
        space.repeat(self.load(&manifest.learned, read)?);
        if (space.words(), space.bits()) != (manifest.words, manifest.bits) {
            return Err(torn("states look different"));
        }
        space.leave_bounds(manifest.left_bounds);
        Ok((names(&manifest.learned, &manifest.progress), manifest.progress))
    }

    /// Writes a file that says how far the search is; the names of all files that it needs.
    pub(super) fn write_manifest<P: Serialize + Names>(
        &self,
        name: &str,
        of: &Value,
        space: &Logged<'_>,
        progress: P,
    ) -> Result<HashSet<String>, DiskError> {
        let learned = self.store("learned", |out| space.write(out))?;
        let names = names(&learned, &progress);
        self.sync(&names)?;
        let manifest = Manifest {
            format: FORMAT,
            version: VERSION.to_owned(),
            of: of.clone(),
            words: space.words(),
            bits: space.bits(),
            left_bounds: space.left_bounds(),
            lessons: space.lessons.as_ref().map_or(0, Vec::len),
            learned,
            progress,
        };
        let written =
            serde_json::to_value(&manifest).map_err(io::Error::other).and_then(|mut all| {
                all[CHECKSUM] = checksum(&all);
                let new = self.at(&format!("{name}.new"));
                let mut file = File::create(&new)?;
                file.write_all(all.to_string().as_bytes())?;
                file.sync_all()?;
                fs::rename(new, self.at(name))?;
                self.sync_names()
            });
        written.map_err(self.wrong("write", name))?;
        Ok(names)
    }

    /// Waits until the disk has the names that files have now.
    pub(super) fn sync_names(&self) -> io::Result<()> {
        File::open(&self.path)?.sync_all()
    }
}

fn names(learned: &Stored, progress: &impl Names) -> HashSet<String> {
    let names = progress.names().into_iter().chain([learned.name.as_str()]);
    names.map(str::to_owned).collect()
}

fn checksum(of: &Value) -> Value {
    Value::from(crc32fast::hash(of.to_string().as_bytes()))
}

/// Everything that must be the same for a search to go on.
fn identity(format: &Value, version: &Value, of: &Value) -> Value {
    let mut all = of.clone();
    if let Value::Object(all) = &mut all {
        all.insert("format".to_owned(), format.clone());
        all.insert("version".to_owned(), version.clone());
    }
    all
}

//! The folder of a search: where it is saved, and from where one that was interrupted goes on.
//!
//! What says how far the search is, `search.json`, is written last, under another name, and then
//! takes its place at once. It names every other file, with its length and checksum, and no such
//! file is ever changed. So however a program ends, the folder holds a whole search, that of the
//! last time it was saved, or none.

mod lessons;
mod saves;

pub use saves::Saves;

pub(super) use lessons::{Lessons, Logged};

use super::error::DiskError;
use super::level::Reached;
use lessons::Lesson;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The file that says how far a search is.
const SEARCH: &str = "search.json";

/// The time after which a search is saved once more, unless another is said.
const USUAL: Duration = Duration::from_secs(600);

/// The place where a search is saved, and from where it goes on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The folder, which is made if there is none.
    pub folder: PathBuf,
    /// Whether the search that was saved there goes on.
    pub resume: bool,
    /// The time after which a search is saved once more.
    pub every: Duration,
}

impl Disk {
    /// Returns the place of a new search, which is saved every ten minutes.
    #[must_use]
    pub fn begin(folder: impl Into<PathBuf>) -> Self {
        Disk { folder: folder.into(), resume: false, every: USUAL }
    }

    /// Returns the place of the search that was saved in the folder.
    #[must_use]
    pub fn resume(folder: impl Into<PathBuf>) -> Self {
        Disk { resume: true, ..Disk::begin(folder) }
    }
}

/// A file that was written to its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stored {
    pub(super) name: String,
    bytes: u64,
    /// CRC-32 (IEEE 802.3).
    crc: u32,
}

/// The folder of a search.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    /// The number of the next file.
    next: AtomicUsize,
}

/// What is written, and the checksum of it.
struct Checked<T> {
    to: T,
    bytes: u64,
    crc: crc32fast::Hasher,
}

impl<T> Checked<T> {
    fn new(to: T) -> Self {
        Checked { to, bytes: 0, crc: crc32fast::Hasher::new() }
    }
}

impl<T: Write> Write for Checked<T> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.bytes += written as u64;
        self.crc.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl Folder {
    /// The folder, which is made if there is none.
    pub(super) fn open(path: &Path) -> Result<Self, DiskError> {
        let io = |why| DiskError::Io { doing: "make", path: path.to_owned(), why };
        fs::create_dir_all(path).map_err(io)?;
        Ok(Folder::of(path.to_owned()))
    }

    /// The folder, if there is one.
    fn of(path: PathBuf) -> Self {
        Folder { path, next: AtomicUsize::new(0) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    fn wrong(&self, doing: &'static str, name: &str) -> impl Fn(io::Error) -> DiskError {
        let path = self.at(name);
        move |why| DiskError::Io { doing, path: path.clone(), why }
    }

    fn create(&self, kind: &str) -> Result<(String, File), DiskError> {
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let name = format!("{kind}-{number}");
            match File::create_new(self.at(&name)) {
                Ok(file) => return Ok((name, file)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(self.wrong("write", &name)(error)),
            }
        }
    }

    /// Writes a file, and waits until it is on the disk, whatever becomes of the machine.
    pub(super) fn store(
        &self,
        kind: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Stored, DiskError> {
        let (name, file) = self.create(kind)?;
        let mut out = BufWriter::new(Checked::new(file));
        let written = write(&mut out).and_then(|()| {
            let checked = out.into_inner().map_err(io::IntoInnerError::into_error)?;
            checked.to.sync_data()?;
            Ok(checked)
        });
        let Checked { bytes, crc, .. } = written.map_err(self.wrong("write", &name))?;
        Ok(Stored { name, bytes, crc: crc.finalize() })
    }

    /// Reads a file, which must be as it was written.
    pub(super) fn load<T>(
        &self,
        stored: &Stored,
        read: impl FnOnce(&mut dyn Read) -> io::Result<T>,
    ) -> Result<T, DiskError> {
        let torn = |what| DiskError::Torn { path: self.at(&stored.name), what };
        let wrong = self.wrong("read", &stored.name);
        let mut file = File::open(self.at(&stored.name)).map_err(&wrong)?;
        let mut there = Checked::new(io::sink());
        io::copy(&mut file, &mut there).and_then(|_| file.rewind()).map_err(&wrong)?;
        if there.bytes != stored.bytes {
            return Err(torn("it has another length"));
        }
        if there.crc.finalize() != stored.crc {
            return Err(torn("its checksum is another"));
        }
        read(&mut BufReader::new(file)).map_err(wrong)
    }
}

/// How far a search is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Progress {
    #[serde(flatten)]
    pub(super) reached: Reached,
    /// The states, with their transitions if those are kept.
    pub(super) states: Vec<Stored>,
}

impl Names for Progress {
    fn names(&self) -> Vec<&str> {
        self.states.iter().map(|stored| stored.name.as_str()).collect()
    }
}

impl Folder {
    /// A new folder, or one in which no search is.
    pub(super) fn begin(disk: &Disk) -> Result<Self, DiskError> {
        let folder = Folder::open(&disk.folder)?;
        if folder.at(SEARCH).exists() {
            return Err(DiskError::Waiting(disk.folder.clone()));
        }
        Ok(folder)
    }

    /// The search in it, the space having been told what it had been told then.
    pub(super) fn resume(
        disk: &Disk,
        of: &Value,
        space: &mut Logged<'_>,
    ) -> Result<(Self, Progress), DiskError> {
        let folder = Folder::open(&disk.folder)?;
        if !folder.at(SEARCH).exists() {
            return Err(DiskError::Nothing(disk.folder.clone()));
        }
        let manifest = folder.read_manifest(SEARCH, of)?;
        let (_, progress) = folder.repeat(SEARCH, manifest, space)?;
        Ok((folder, progress))
    }

    /// Saves the search: from now on, this is what the folder holds.
    pub(super) fn save(
        &self,
        of: &Value,
        space: &Logged<'_>,
        progress: Progress,
    ) -> Result<(), DiskError> {
        let names = self.write_manifest(SEARCH, of, space, progress)?;
        self.keep(&names);
        Ok(())
    }

    /// Removes everything that a search has written, because it is over.
    pub(super) fn clear(&self) {
        // Without it, the others are of no search.
        let _ = fs::remove_file(self.at(SEARCH));
        self.keep(&HashSet::new());
    }

    /// Removes what a search has written but for these files. What cannot be removed takes room,
    /// and does nothing else.
    fn keep(&self, names: &HashSet<String>) {
        let Ok(entries) = fs::read_dir(&self.path) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            let kind = name.split_once('-').map_or(name, |(kind, _)| kind);
            if KINDS.contains(&kind) && !names.contains(name) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// What the names of the files begin with that a search writes besides the one that says how far it
/// is.
const KINDS: [&str; 4] = ["states", "learned", "save", "search.json.new"];

/// What another version cannot read has another number.
const FORMAT: u32 = 6;
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Where the file has the checksum of everything else in it.
const CHECKSUM: &str = "crc";

/// How far a search is, as far as files say it.
pub(super) trait Names {
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
    fn read_manifest(&self, name: &str, of: &Value) -> Result<Value, DiskError> {
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
    fn repeat<P: DeserializeOwned + Names>(
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
    fn write_manifest<P: Serialize + Names>(
        &self,
        name: &str,
        of: &Value,
        space: &Logged<'_>,
        progress: P,
    ) -> Result<HashSet<String>, DiskError> {
        let learned = self.store("learned", |out| space.write(out))?;
        let names = names(&learned, &progress);
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
    fn sync_names(&self) -> io::Result<()> {
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

/// Returns what another search has that this one has not, in words, if anything: the first thing
/// that is not the same in both.
pub fn difference(ours: &Value, theirs: &Value) -> Option<String> {
    let (name, [here, there]) = first(ours, theirs)?;
    Some(format!("its {name} is {there}, here it is {here}"))
}

/// The names that lead to it, and the two values.
fn first(ours: &Value, theirs: &Value) -> Option<(String, [String; 2])> {
    let (Value::Object(ours), Value::Object(theirs)) = (ours, theirs) else { return None };
    let names = ours.keys().chain(theirs.keys());
    let name = names.into_iter().find(|name| ours.get(*name) != theirs.get(*name))?;
    let both = [ours.get(name), theirs.get(name)];
    if let [Some(ours), Some(theirs)] = both
        && let Some((within, both)) = first(ours, theirs)
    {
        return Some((format!("{name} {within}"), both));
    }
    let told = |value: Option<&Value>| value.map_or("not there".to_owned(), Value::to_string);
    Some((name.clone(), both.map(told)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named() {
        let search = |cuts: u32, of_two: Value| {
            let mut search = json!({"scenario": {"nodes": 3, "faults": {"cuts": cuts}}});
            if !of_two.is_null() {
                search["of two"] = of_two;
            }
            search
        };
        let here = search(1, json!(true));
        let cases = [
            (here.clone(), None),
            (search(2, json!(true)), Some("its scenario faults cuts is 2, here it is 1")),
            (search(1, Value::Null), Some("its of two is not there, here it is true")),
            (search(1, json!(false)), Some("its of two is false, here it is true")),
        ];
        for (there, what) in cases {
            assert_eq!(difference(&here, &there).as_deref(), what);
        }
    }
}

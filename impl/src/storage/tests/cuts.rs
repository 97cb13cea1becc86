//! A real directory on a disk that fails at each call of a start and a save: what is read afterwards
//! is what was durable before or what was saved, and what was read once is not lost. Once the save
//! was acknowledged, each copy alone has it.
//!
//! Files are written as ever. What the disk would have of each is kept beside; nothing waits for
//! the real disk meanwhile.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;

use super::cores::{Crashes, persists};
use super::crashes::Group;
use super::{SLOTS, owner};
use crate::protocol::commit::{ThreePhaseCommit, TwoPhaseCommit};
use crate::storage::{Directory, Storage, StorageError};

/// No start and save have so many steps.
const MOST: usize = 20;

/// The file that says that a save was acknowledged.
const MARK: &str = "used";

/// Where a crash comes while a node saves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// Nothing of it is written.
    Before,
    /// A part of the first copy is written.
    Torn,
    /// The first copy is written and not synced, and lost.
    Lost,
    /// The first copy is written and not synced, and there.
    Kept,
    /// The first copy is synced, and the second is not begun.
    OneCopy,
    /// All is synced, and nothing was sent that waited for it.
    Synced,
}

impl Point {
    pub(super) const ALL: [Self; 6] =
        [Self::Before, Self::Torn, Self::Lost, Self::Kept, Self::OneCopy, Self::Synced];

    /// Whether what was being saved is there afterwards.
    fn keeps(self) -> bool {
        matches!(self, Self::Kept | Self::OneCopy | Self::Synced)
    }
}

/// What a state needs to be tried.
pub(super) trait State: Debug + PartialEq + Serialize + DeserializeOwned + 'static {}

impl<D: Debug + PartialEq + Serialize + DeserializeOwned + 'static> State for D {}

fn open<D: State>(folder: &Path) -> Directory<D> {
    Directory::open(folder, owner(3)).expect("usable")
}

/// Returns the state that a process reads that starts here.
fn load<D: State>(folder: &Path) -> Result<Option<D>, StorageError> {
    cut_after(MOST, || open::<D>(folder).load()).0
}

/// A directory in which this was saved, if anything.
fn holding<D: State>(state: Option<&D>) -> TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    if let Some(state) = state {
        let mut storage = open::<D>(folder.path());
        let (saved, loose) = cut_after(MOST, || storage.save(state));
        saved.expect("writable");
        assert!(loose.is_empty(), "not synced: {loose:?}");
    }
    folder
}

/// Gives a file this content, or none at all.
fn put(path: &Path, content: Option<&[u8]>) {
    match content {
        Some(bytes) => fs::write(path, bytes).expect("ours"),
        None if path.exists() => fs::remove_file(path).expect("ours"),
        None => {}
    }
}

/// What is read after a crash at this place of a save.
///
/// # Panics
///
/// If it is not what it must be.
pub(super) fn left_by<D: State>(old: Option<&D>, new: &D, point: Point) -> Option<D> {
    let folder = holding(old);
    let steps = match point {
        Point::Before => 0,
        Point::Torn | Point::Lost | Point::Kept => 1,
        // The entry of a new file is synced as well.
        Point::OneCopy => 2 + usize::from(old.is_none()),
        Point::Synced => MOST,
    };
    let mut storage = open::<D>(folder.path());
    let (saved, loose) = cut_after(steps, || storage.save(new));
    assert_eq!(saved.is_ok(), point == Point::Synced, "{point:?}: {saved:?}");
    drop(storage);
    for (path, before) in loose {
        let written = fs::read(&path).expect("it was written");
        match point {
            Point::Torn => put(&path, Some(&written[..written.len() / 2])),
            Point::Lost => put(&path, before.as_deref()),
            Point::Before | Point::Kept | Point::OneCopy | Point::Synced => {}
        }
    }
    let found = load::<D>(folder.path()).expect("one copy is whole");
    let expected = if point.keeps() { Some(new) } else { old };
    assert_eq!(found.as_ref(), expected, "after a crash: {point:?}");
    found
}

/// Files, each with what is in it, if it is there.
type Files = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// All that may be in a file, if it is there.
type Contents = Vec<Option<Vec<u8>>>;

/// Returns the files of a storage in this folder.
fn files_in(folder: &Path) -> Files {
    let paths = [SLOTS[0], SLOTS[1], MARK].map(|name| folder.join(name));
    paths.into_iter().map(|path| (path.clone(), fs::read(path).ok())).collect()
}

fn put_all(files: &Files) {
    files.iter().for_each(|(path, content)| put(path, content.as_deref()));
}

/// Returns all that may be, after a power cut, in each file that was written and not synced: the
/// bytes of before, nothing but zeros, or a part of the bytes that were written, with those of before
/// in the place of the other part. The parts end at each byte, or in the middle.
fn contents(loose: Files, parts: Parts) -> Vec<(PathBuf, Contents)> {
    let of_file = |(path, before): (PathBuf, Option<Vec<u8>>)| {
        let written = fs::read(&path).expect("it was written");
        let old = before.as_deref().unwrap_or_default();
        let mut contents = vec![before.clone(), Some(vec![0; written.len()])];
        let every = match parts {
            Parts::Bytes if !path.ends_with(MARK) => 1,
            Parts::Bytes | Parts::Halves => (written.len() / 2).max(1),
        };
        for length in (0..=written.len()).step_by(every) {
            let (first, last) = written.split_at(length);
            let rest = old.get(length..).unwrap_or_default();
            let mut begun = old[..length.min(old.len())].to_vec();
            begun.resize(length, 0);
            contents.extend([
                Some(first.to_vec()),
                Some([first, rest].concat()),
                Some([&begun[..], last].concat()),
            ]);
        }
        (path, contents)
    };
    loose.into_iter().map(of_file).collect()
}

/// The places in a file at which a part of it ends that is written without the other.
#[derive(Clone, Copy)]
enum Parts {
    Bytes,
    Halves,
}

/// Checks these files with whatever may be in some of them. Returns how many states that are.
fn with_each(files: &Files, loose: &[(PathBuf, Contents)], check: &dyn Fn()) -> usize {
    let Some(((path, contents), rest)) = loose.split_first() else {
        put_all(files);
        check();
        return 1;
    };
    let tried = contents.iter().map(|content| {
        let mut files = files.clone();
        files.insert(path.clone(), content.clone());
        with_each(&files, rest, check)
    });
    tried.sum()
}

/// Lets the disk fail at each call of a start and one save, with both copies whole before and with
/// each of them damaged. Then the power is cut, or another process starts and the power is cut
/// later. Returns how many states of the files were read.
fn fail_everywhere<D: State>(old: Option<&D>, new: &D) -> usize {
    let mut tried = 0;
    let damaged = [None, Some(SLOTS[0]), Some(SLOTS[1])];
    for damaged in damaged.into_iter().filter(|slot| slot.is_none() || old.is_some()) {
        let holds = holding(old);
        let folder = holds.path();
        if let Some(slot) = damaged {
            let path = folder.join(slot);
            let whole = fs::read(&path).expect("it was saved");
            put(&path, Some(&whole[..whole.len() / 2]));
        }
        let before = files_in(folder);
        for fault in [Fault::Cut, Fault::Error] {
            let parts = match (fault, damaged) {
                (Fault::Cut, None) => Parts::Bytes,
                _ => Parts::Halves,
            };
            for steps in 0..MOST {
                put_all(&before);
                let (saved, power) = on_disk(Power::new(fault, steps), || {
                    let mut storage = open::<D>(folder);
                    assert_eq!(storage.load()?.as_ref(), old);
                    storage.save(new)
                });
                let saved = saved.is_ok();
                let at = format!("{fault:?} {steps} in a save of {new:?}, {old:?}, {damaged:?}");
                let read = |found: Result<Option<D>, StorageError>| {
                    let found = found.unwrap_or_else(|error| panic!("{at}: {error}"));
                    let right = found.as_ref() == Some(new) || (!saved && found.as_ref() == old);
                    assert!(right, "{at}: {found:?}");
                    found
                };
                let after = files_in(folder);
                let loose = contents(power.clone().loose(), parts);
                tried += with_each(&after, &loose, &|| {
                    read(load(folder));
                    if saved {
                        each_copy_alone_will_do(folder, new);
                    }
                });
                put_all(&after);
                let starts = || open::<D>(folder).load();
                let (found, power) = on_disk(Power { left: MOST, ..power }, starts);
                let found = read(found);
                let loose = contents(power.loose(), Parts::Halves);
                tried += with_each(&files_in(folder), &loose, &|| {
                    assert_eq!(read(load(folder)), found, "{at}: it was read, and is lost");
                });
                if saved {
                    break;
                }
                assert!(steps + 1 < MOST, "a save never ends");
            }
        }
    }
    tried
}

/// Without one copy, the other has the state; without both, nothing is taken for a first start.
fn each_copy_alone_will_do<D: State>(folder: &Path, state: &D) {
    let saved = files_in(folder);
    let without = |slots: &[&str]| {
        put_all(&saved);
        slots.iter().for_each(|slot| put(&folder.join(slot), Some("".as_bytes())));
        load::<D>(folder)
    };
    for slot in SLOTS {
        let found = without(&[slot]).unwrap_or_else(|error| panic!("without {slot}: {error}"));
        assert_eq!(found.as_ref(), Some(state), "without {slot}");
    }
    assert!(without(&SLOTS).is_err(), "{state:?} was saved");
}

/// Each byte of either copy, and then of both, is another one: that is noticed, and what is read is
/// the state, or an error says where. Returns how often.
fn garble_everywhere<D: State>(state: &D) -> usize {
    let holds = holding(Some(state));
    let folder = holds.path();
    let paths = SLOTS.map(|slot| folder.join(slot));
    let (saved, whole) = (files_in(folder), fs::read(&paths[0]).expect("it was saved"));
    let load_with = |garbled: &[&PathBuf], bytes: &[u8]| {
        put_all(&saved);
        garbled.iter().for_each(|path| put(path, Some(bytes)));
        load::<D>(folder)
    };
    let place = |error: StorageError| match error {
        StorageError::NotASlot { path }
        | StorageError::Newer { path, .. }
        | StorageError::Damaged { path, .. } => path,
        other => panic!("{other}"),
    };
    for (at, byte) in whole.iter().enumerate() {
        for changed in [!byte, byte ^ 1] {
            let mut garbled = whole.clone();
            garbled[at] = changed;
            for path in &paths {
                match load_with(&[path], &garbled) {
                    Ok(found) => assert_eq!(found.as_ref(), Some(state), "byte {at}"),
                    Err(error) => {
                        assert!(at < 10, "byte {at}: {error}");
                        assert_eq!(place(error), *path);
                    }
                }
            }
            let error = load_with(&[&paths[0], &paths[1]], &garbled).expect_err("none is whole");
            assert!(place(error).starts_with(folder));
        }
    }
    6 * whole.len()
}

/// Every save of a group of this core.
fn try_all<C: Crashes>() {
    let group = Group::<C>::run(None, Duration::ZERO);
    assert_eq!(group.broken, None, "{}", C::NAME);
    let saves: HashSet<_> = group.saves.into_iter().collect();
    let cuts: usize = saves.iter().map(|(old, new)| fail_everywhere(old.as_ref(), new)).sum();
    let states: HashSet<_> = saves.iter().map(|(_, new)| new).collect();
    let garbled: usize = states.iter().map(|&state| garble_everywhere(state)).sum();
    let count = saves.len();
    println!("{:<20} {count:>3} saves {cuts:>6} cuts {garbled:>5} bytes", C::NAME);
    assert_eq!(cuts > count && garbled > count, persists::<C>(), "{}", C::NAME);
}

macro_rules! tests {
    ($($core:ty),+ $(,)?) => {
        #[test]
        fn a_power_cut_leaves_the_state_before_or_after() {
            $(try_all::<$core>();)+
            try_all::<TwoPhaseCommit>();
            try_all::<ThreePhaseCommit>();
        }
    };
}

crate::for_each_core!(tests);

/// A program that reads a slot as the documentation says finds that it is whole.
#[test]
fn the_checksum_is_that_of_all_other_bytes() {
    let folder = holding(Some(&70_000_u64));
    let bytes = fs::read(folder.path().join(SLOTS[0])).expect("it was saved");
    let (header, rest) = bytes.split_at(14);
    let (sum, body) = rest.split_at(4);
    assert_eq!(crc32fast::hash(&[header, body].concat()).to_be_bytes().as_slice(), sum);
}

/// The entries of the folders that a storage makes are durable before what is saved in them.
#[test]
fn a_directory_that_is_made_is_on_disk_with_what_was_saved_in_it() {
    let folder = tempfile::tempdir().expect("a directory");
    let made = folder.path().join("made/on/demand");
    let (saved, loose) = cut_after(MOST, || open::<u64>(&made).save(&7));
    saved.expect("writable");
    assert!(loose.is_empty(), "not synced: {loose:?}");
}

thread_local! {
    static POWER: RefCell<Option<Power>> = const { RefCell::new(None) };
}

/// How a disk fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The power is cut: nothing is done from then on.
    Cut,
    /// One call fails, a write in its middle, and those after it do not.
    Error,
}

/// A disk, and what was done to it.
#[derive(Clone)]
struct Power {
    fault: Fault,
    /// How many steps are left until it fails.
    left: usize,
    /// The files that are not synced, each with what was in it before.
    unsynced: Files,
    /// The files and folders whose entries in their folder are not.
    unlisted: BTreeSet<PathBuf>,
    /// The files whose sync has failed: as on Linux, another sync does not bring to the disk what
    /// that one should have.
    dropped: BTreeSet<PathBuf>,
}

impl Power {
    fn new(fault: Fault, left: usize) -> Self {
        let (unsynced, unlisted, dropped) = (Files::new(), BTreeSet::new(), BTreeSet::new());
        Self { fault, left, unsynced, unlisted, dropped }
    }

    /// Returns the files that may be lost, each with what was in it before.
    fn loose(self) -> Files {
        let mut loose = self.unsynced;
        for path in self.unlisted {
            loose.entry(path).or_insert(None);
        }
        loose
    }

    fn take(&mut self) -> io::Result<()> {
        let Some(left) = self.left.checked_sub(1) else {
            if self.fault == Fault::Error {
                self.left = usize::MAX;
            }
            return Err(io::Error::other("the disk fails"));
        };
        self.left = left;
        Ok(())
    }
}

/// Does something on a disk. Returns what comes of it, and the disk.
fn on_disk<T>(power: Power, act: impl FnOnce() -> T) -> (T, Power) {
    POWER.set(Some(power));
    let done = act();
    (done, POWER.take().expect("it was set"))
}

/// Does something, and cuts the power after so many steps of it. Returns what comes of it, and
/// which files may not be on disk.
fn cut_after<T>(steps: usize, act: impl FnOnce() -> T) -> (T, Files) {
    let (done, power) = on_disk(Power::new(Fault::Cut, steps), act);
    (done, power.loose())
}

/// Notes that a folder was made.
pub(in crate::storage) fn on_make(path: &Path) {
    with_power(|power| power.unlisted.insert(path.to_owned()));
}

/// A file is about to be written.
pub(in crate::storage) fn on_write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let write = |power: &mut Power| {
        let (before, taken) = (fs::read(path).ok(), power.take());
        if taken.is_err() && power.fault == Fault::Cut {
            return taken;
        }
        if before.is_none() {
            power.unlisted.insert(path.to_owned());
        }
        power.dropped.remove(path);
        if taken.is_err() {
            let (written, old) = (&bytes[..bytes.len() / 2], before.as_deref().unwrap_or_default());
            put(path, Some(&[written, old.get(written.len()..).unwrap_or_default()].concat()));
        }
        power.unsynced.entry(path.to_owned()).or_insert(before);
        taken
    };
    with_power(write).unwrap_or(Ok(()))
}

/// A file is synced; `None` if that is left to the system.
pub(in crate::storage) fn on_sync(path: &Path) -> Option<io::Result<()>> {
    with_power(|power| {
        let taken = power.take();
        if taken.is_err() {
            power.dropped.insert(path.to_owned());
        } else if !power.dropped.contains(path) {
            power.unsynced.remove(path);
        }
        taken
    })
}

/// The entries of a directory are synced; `None` if that is left to the system.
pub(in crate::storage) fn on_sync_directory(path: &Path) -> Option<io::Result<()>> {
    with_power(|power| {
        power.take()?;
        power.unlisted.retain(|file| file.parent() != Some(path));
        Ok(())
    })
}

/// Does something to the disk of this thread, if it has one.
fn with_power<T>(act: impl FnOnce(&mut Power) -> T) -> Option<T> {
    POWER.with_borrow_mut(|power| power.as_mut().map(act))
}

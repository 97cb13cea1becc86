//! A real directory, and the power cut at every step of a save: what is read afterwards is what was
//! durable before or what was saved, and once the save was acknowledged, each copy alone has that.
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

/// No save has so many steps.
const MOST: usize = 20;

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
trait State: Debug + PartialEq + Serialize + DeserializeOwned + 'static {}

impl<D: Debug + PartialEq + Serialize + DeserializeOwned + 'static> State for D {}

fn open<D: State>(folder: &Path) -> Directory<D> {
    Directory::open(folder, owner(3)).expect("usable")
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
pub(super) fn left_by<D: Debug + PartialEq + Serialize + DeserializeOwned + 'static>(
    old: Option<&D>,
    new: &D,
    point: Point,
) -> Option<D> {
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
    let found = open::<D>(folder.path()).load().expect("one copy is whole");
    let expected = if point.keeps() { Some(new) } else { old };
    assert_eq!(found.as_ref(), expected, "after a crash: {point:?}");
    found
}

/// What may be in a file, if it is there.
type Contents = Vec<Option<Vec<u8>>>;

/// What may be in a file that was written and not synced: what was in it before, a part of what was
/// written, with or without what was behind it before, or nothing but zeros.
fn contents(path: &Path, before: Option<&[u8]>) -> Contents {
    let written = fs::read(path).expect("it was written");
    let mut contents = vec![before.map(<[u8]>::to_vec)];
    for length in 0..=written.len() {
        let (part, rest) = (&written[..length], before.and_then(|before| before.get(length..)));
        contents.push(Some(part.to_vec()));
        contents.push(Some([part, rest.unwrap_or_default()].concat()));
        contents.push(Some(vec![0; length]));
    }
    contents
}

/// Whatever may be in these files, one after the other. Returns how many states that are.
fn with_each(loose: &[(PathBuf, Contents)], check: &dyn Fn()) -> usize {
    let Some(((path, contents), rest)) = loose.split_first() else {
        check();
        return 1;
    };
    let tried = contents.iter().map(|content| {
        put(path, content.as_deref());
        with_each(rest, check)
    });
    tried.sum()
}

/// Cuts the power at each step of one save, with both copies whole before and with each of them
/// damaged. Returns how many states of the files were read.
fn cut_everywhere<D: State>(old: Option<&D>, new: &D) -> usize {
    let mut tried = 0;
    let damaged = [None, Some(SLOTS[0]), Some(SLOTS[1])];
    for damaged in damaged.into_iter().filter(|slot| slot.is_none() || old.is_some()) {
        for steps in 0..MOST {
            let folder = holding(old);
            if let Some(slot) = damaged {
                let path = folder.path().join(slot);
                let whole = fs::read(&path).expect("it was saved");
                put(&path, Some(&whole[..whole.len() / 2]));
            }
            let mut storage = open::<D>(folder.path());
            assert_eq!(storage.load().expect("one copy is whole").as_ref(), old);
            let (saved, loose) = cut_after(steps, || storage.save(new));
            drop(storage);
            let saved = saved.is_ok();
            let may_be = |(path, before): (PathBuf, Option<Vec<u8>>)| {
                let contents = contents(&path, before.as_deref());
                (path, contents)
            };
            let loose: Vec<_> = loose.into_iter().map(may_be).collect();
            let second = folder.path().join(SLOTS[1]);
            let had_second = second.exists();
            let at = format!("step {steps} of the save of {new:?} after {old:?}, {damaged:?}");
            tried += with_each(&loose, &|| {
                let found = open::<D>(folder.path()).load();
                let found = found.unwrap_or_else(|error| panic!("{at}: {error}"));
                let right = found.as_ref() == Some(new) || (!saved && found.as_ref() == old);
                assert!(right, "{at}: {found:?}");
                if old.is_none() && !saved {
                    // The load has finished the first save, and this one is read with other bytes.
                    put(&folder.path().join("used"), None);
                    if !had_second {
                        put(&second, None);
                    }
                }
            });
            if saved {
                each_copy_alone_will_do(folder.path(), new);
                break;
            }
            assert!(steps + 1 < MOST, "a save never ends");
        }
    }
    tried
}

fn each_copy_alone_will_do<D: State>(folder: &Path, state: &D) {
    for slot in SLOTS {
        let path = folder.join(slot);
        let whole = fs::read(&path).expect("it was saved");
        put(&path, Some(&whole[..whole.len() / 2]));
        let found = open::<D>(folder).load().expect("one copy is whole");
        assert_eq!(found.as_ref(), Some(state), "without {slot}");
        put(&path, Some(&whole));
    }
}

/// Each byte of either copy, and then of both, is another one: that is noticed, and what is read is
/// the state, or an error says where. Returns how often.
fn garble_everywhere<D: State>(state: &D) -> usize {
    let folder = holding(Some(state));
    let paths = SLOTS.map(|slot| folder.path().join(slot));
    let whole = fs::read(&paths[0]).expect("it was saved");
    let load = || open::<D>(folder.path()).load();
    let place = |error: StorageError| match error {
        StorageError::NotASlot { path }
        | StorageError::Newer { path, .. }
        | StorageError::Damaged { path, .. } => path,
        other => panic!("{other}"),
    };
    for at in 0..whole.len() {
        let mut garbled = whole.clone();
        garbled[at] = !garbled[at];
        for path in &paths {
            put(path, Some(&garbled));
            match load() {
                Ok(found) => assert_eq!(found.as_ref(), Some(state), "byte {at}"),
                Err(error) => {
                    assert!(at < 10, "byte {at}: {error}");
                    assert_eq!(place(error), *path);
                }
            }
            put(path, Some(&whole));
        }
        paths.iter().for_each(|path| put(path, Some(&garbled)));
        let error = load().expect_err("no copy is whole");
        assert!(place(error).starts_with(folder.path()));
        paths.iter().for_each(|path| put(path, Some(&whole)));
    }
    3 * whole.len()
}

/// Every save of a group of this core.
fn try_all<C: Crashes>() {
    let group = Group::<C>::run(None, Duration::ZERO);
    assert_eq!(group.broken, None, "{}", C::NAME);
    let saves: HashSet<_> = group.saves.into_iter().collect();
    let cuts: usize = saves.iter().map(|(old, new)| cut_everywhere(old.as_ref(), new)).sum();
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

thread_local! {
    static POWER: RefCell<Option<Power>> = const { RefCell::new(None) };
}

/// What was in each file that may be lost, before it was written; `None` if the file was not there.
type Loose = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// What was done while the power was on.
struct Power {
    /// How many steps are left.
    left: usize,
    /// The files that are not synced.
    unsynced: Loose,
    /// The files whose entries in their directory are not.
    unlisted: BTreeSet<PathBuf>,
}

/// Does something, and cuts the power after so many steps of it. What comes of it, and which files
/// may not be on disk.
fn cut_after<T>(steps: usize, act: impl FnOnce() -> T) -> (T, Loose) {
    let (unsynced, unlisted) = (Loose::new(), BTreeSet::new());
    POWER.set(Some(Power { left: steps, unsynced, unlisted }));
    let done = act();
    let Some(Power { unsynced: mut loose, unlisted, .. }) = POWER.take() else {
        unreachable!("it was set")
    };
    for path in unlisted {
        loose.entry(path).or_insert(None);
    }
    (done, loose)
}

/// A file is about to be written.
pub(in crate::storage) fn on_write(path: &Path) -> io::Result<()> {
    let step = |power: &mut Power| {
        let before = fs::read(path).ok();
        if before.is_none() {
            power.unlisted.insert(path.to_owned());
        }
        power.unsynced.entry(path.to_owned()).or_insert(before);
    };
    take(step).unwrap_or(Ok(()))
}

/// A file is synced; `None` if that is left to the system.
pub(in crate::storage) fn on_sync(path: &Path) -> Option<io::Result<()>> {
    take(|power| drop(power.unsynced.remove(path)))
}

/// The entries of a directory are synced; `None` if that is left to the system.
pub(in crate::storage) fn on_sync_directory(path: &Path) -> Option<io::Result<()>> {
    take(|power| power.unlisted.retain(|file| file.parent() != Some(path)))
}

/// Takes one step, if the power is still on.
fn take(step: impl FnOnce(&mut Power)) -> Option<io::Result<()>> {
    POWER.with_borrow_mut(|power| {
        let power = power.as_mut()?;
        let Some(left) = power.left.checked_sub(1) else {
            return Some(Err(io::Error::other("the power is cut")));
        };
        power.left = left;
        step(power);
        Some(Ok(()))
    })
}

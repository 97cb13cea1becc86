//! A storage through whatever happens to its files: what it keeps, and its error when it cannot
//! keep that. Processes test the words of the errors, and what else they refuse.

mod cores;
mod crashes;
pub(super) mod cuts;

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::*;

const SLOTS: [&str; 2] = ["state.0", "state.1"];

fn owner(node: u16) -> Owner {
    Owner {
        cluster: "orders".parse().expect("a name"),
        protocol: "stoller".to_owned(),
        node: crate::driver::tests::id(node),
    }
}

fn open(path: &Path) -> Directory<u64> {
    Directory::open(path, owner(3)).expect("usable")
}

fn load(path: &Path) -> Result<Option<u64>, StorageError> {
    open(path).load()
}

fn save(path: &Path, state: u64) {
    let mut storage = open(path);
    storage.load().expect("readable");
    storage.save(&state).expect("writable");
}

/// A directory in which these were saved, one after the other.
fn saved(states: impl IntoIterator<Item = u64>) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    states.into_iter().for_each(|state| save(directory.path(), state));
    directory
}

#[test]
fn what_was_saved_last_is_loaded() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("made/on/demand");
    assert_eq!(load(&path).expect("readable"), None);
    for state in [7, 300, 2] {
        save(&path, state);
        assert_eq!(load(&path).expect("readable"), Some(state));
    }
    let mut storage = open(&path);
    storage.load().expect("readable");
    (10..20).for_each(|state| storage.save(&state).expect("writable"));
    assert_eq!(storage.load().expect("readable"), Some(19));
}

/// An operator may move files away while a node runs.
#[test]
#[cfg(target_os = "linux")]
fn slots_stay_open_and_those_that_were_moved_away_are_made_anew() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().canonicalize().expect("it is there");
    save(&path, 1);
    let mut storage = open(&path);
    storage.load().expect("readable");
    let links = || fs::read_dir("/proc/self/fd").expect("Linux").flatten();
    let is_open = |slot: &str| {
        links().any(|link| fs::read_link(link.path()).is_ok_and(|file| file == path.join(slot)))
    };
    assert!(SLOTS.iter().all(|slot| is_open(slot)), "before a save needs them");
    storage.save(&2).expect("writable");
    assert!(SLOTS.iter().all(|slot| is_open(slot)));
    for slot in SLOTS {
        fs::rename(path.join(slot), path.join("moved")).expect("ours");
    }
    storage.save(&3).expect("writable");
    drop(storage);
    assert_eq!(load(&path).expect("readable"), Some(3));
}

#[test]
#[cfg(unix)]
fn a_pipe_in_the_place_of_a_file_is_told_and_not_opened() {
    for name in [SLOTS[0], SLOTS[1], "lock", "probe", "used"] {
        let directory = tempfile::tempdir().expect("a directory");
        let pipe = directory.path().join(name);
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        match Directory::<u64>::open(directory.path(), owner(3)) {
            Err(StorageError::Read { path, .. }) => assert_eq!(path, pipe),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_storage_without_a_whole_slot_is_refused() {
    use Damage::{Checksum, Missing, Truncated};
    // As long as it was, with another last byte.
    const CHANGED: Option<usize> = Some(usize::MAX);
    for (lengths, damage) in [
        ([Some(20), Some(20)], [Truncated, Truncated]),
        ([None, Some(20)], [Missing, Truncated]),
        ([Some(0), Some(5)], [Truncated, Truncated]),
        ([Some(20), None], [Truncated, Missing]),
        ([None, None], [Missing, Missing]),
        ([CHANGED, CHANGED], [Checksum, Checksum]),
    ] {
        let directory = saved([1, 2]);
        for (slot, length) in SLOTS.into_iter().zip(lengths) {
            let path = directory.path().join(slot);
            let mut bytes = fs::read(&path).expect("it was saved");
            match length {
                CHANGED => *bytes.last_mut().expect("not empty") ^= 1,
                Some(length) => bytes.truncate(length),
                None => {
                    fs::remove_file(&path).expect("ours");
                    continue;
                }
            }
            fs::write(&path, bytes).expect("ours");
        }
        let error = load(directory.path()).expect_err("nothing is whole");
        let StorageError::Damaged { path, first, second } = &error else { panic!("{error}") };
        assert_eq!((path.as_path(), [*first, *second]), (directory.path(), damage));
    }
}

#[test]
fn a_save_is_newer_than_what_was_there_although_that_was_not_loaded() {
    let directory = saved([1, 2, 3]);
    open(directory.path()).save(&4).expect("writable");
    // As if the crash had come between the two writes.
    let older = saved([1, 2, 3]);
    fs::copy(older.path().join(SLOTS[0]), directory.path().join(SLOTS[0])).expect("ours");
    assert_eq!(load(directory.path()).expect("readable"), Some(4));
}

#[test]
fn the_storage_of_another_node_is_refused() {
    let directory = saved([1]);
    let mut others = [owner(4), owner(3), owner(3)];
    others[1].cluster = "bills".parse().expect("a name");
    others[2].protocol = "lease".to_owned();
    let said =
        [("node", "3", "4"), ("cluster", "orders", "bills"), ("protocol", "stoller", "lease")];
    for (other, said) in others.into_iter().zip(said) {
        let mut storage = Directory::<u64>::open(directory.path(), other).expect("usable");
        let error = storage.load().expect_err("not this node's");
        let StorageError::Foreign { path, what, theirs, ours } = &error else { panic!("{error}") };
        assert_eq!(*path, directory.path().join(SLOTS[0]));
        assert_eq!((*what, theirs.as_str(), ours.as_str()), said);
    }
}

#[test]
fn a_state_of_another_type_is_not_guessed_at() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut storage = Directory::open(directory.path(), owner(3)).expect("usable");
    Storage::<String>::save(&mut storage, &"no number".to_owned()).expect("writable");
    drop(storage);
    let error = load(directory.path()).expect_err("no number");
    assert!(matches!(error, StorageError::Unintelligible { .. }), "{error}");
}

/// Linux keeps the second place for itself, from every user.
#[test]
fn a_place_where_no_directory_can_be_is_told() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    for place in [file.path().join("below"), "/sys/bellwether".into()] {
        match Directory::<u64>::open(&place, owner(3)) {
            Err(StorageError::Directory { path, .. }) => assert_eq!(path, place),
            other => panic!("{other:?}"),
        }
    }
}

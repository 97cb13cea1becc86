//! What a storage keeps through whatever happens to its files, and what it says when it cannot.

mod cores;
mod crashes;
mod cuts;
mod group;
pub(super) mod power;

use std::fs;
use std::path::Path;

use super::*;
use tempfile::TempDir;

fn owner(node: u16) -> Owner {
    Owner {
        cluster: "orders".parse().expect("a name"),
        protocol: "stoller".to_owned(),
        node: NodeId::new(node).expect("not zero"),
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

/// The message of an error, which must name the place and all of `parts`.
fn tells(error: &StorageError, place: &Path, parts: &[&str]) {
    let text = error.to_string();
    for part in parts.iter().chain([&place.to_str().expect("plain text")]) {
        assert!(text.contains(part), "`{part}` is missing in: {text}");
    }
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

/// A write that stops at any byte, in either slot: the state before it or the one after it counts,
/// and the next save makes everything whole.
#[test]
fn a_write_that_does_not_finish_loses_nothing_that_was_acknowledged() {
    let (old, new) = (saved([1]), saved([1, 70_000]));
    let bytes = |directory: &TempDir, slot: &str| {
        fs::read(directory.path().join(slot)).expect("it was saved")
    };
    for (slot, expected) in [("state.0", 1), ("state.1", 70_000)] {
        let (before, after) = (bytes(&old, slot), bytes(&new, slot));
        for written in 0..after.len() {
            let directory = saved([1]);
            if slot == "state.1" {
                fs::write(directory.path().join("state.0"), bytes(&new, "state.0")).expect("ours");
            }
            let torn = [&after[..written], before.get(written..).unwrap_or_default()].concat();
            for torn in [torn, after[..written].to_vec()] {
                fs::write(directory.path().join(slot), torn).expect("ours");
                let found = load(directory.path()).expect("one slot is whole");
                let either = found == Some(expected) || found == Some(70_000) && written > 0;
                assert!(either, "{slot} after {written} bytes: {found:?}");
            }
            save(directory.path(), 5);
            for slot in ["state.0", "state.1"] {
                let lost = directory.path().join(slot);
                let content = fs::read(&lost).expect("it was saved");
                fs::remove_file(&lost).expect("ours");
                if slot == "state.1" {
                    assert_eq!(load(directory.path()).expect("readable"), Some(5));
                }
                fs::write(&lost, content).expect("ours");
            }
        }
    }
}

#[test]
fn the_first_save_of_all_may_stop_anywhere() {
    let whole = saved([9]);
    let bytes = fs::read(whole.path().join("state.0")).expect("it was saved");
    for written in 0..=bytes.len() {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("state.0"), &bytes[..written]).expect("ours");
        let expected = (written == bytes.len()).then_some(9);
        assert_eq!(load(directory.path()).expect("nothing was lost"), expected, "{written}");
        let zeros = vec![0; written];
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("state.0"), zeros).expect("ours");
        assert_eq!(load(directory.path()).expect("nothing was lost"), None, "{written} zeros");
    }
}

#[test]
fn no_changed_bit_goes_unnoticed() {
    let whole = saved([70_000]);
    let bytes = fs::read(whole.path().join("state.0")).expect("it was saved");
    for bit in 0..8 * bytes.len() {
        let directory = saved([70_000]);
        let mut changed = bytes.clone();
        changed[bit / 8] ^= 1 << (bit % 8);
        fs::write(directory.path().join("state.0"), changed).expect("ours");
        match load(directory.path()) {
            Ok(found) => assert_eq!(found, Some(70_000), "bit {bit}"),
            Err(StorageError::NotASlot { .. }) => assert!(bit < 64, "bit {bit}"),
            Err(StorageError::Newer { .. }) => assert!((64..80).contains(&bit), "bit {bit}"),
            Err(error) => panic!("bit {bit}: {error}"),
        }
    }
}

#[test]
fn a_storage_without_a_whole_slot_is_refused() {
    for (first, second, said) in [
        (Some(20), Some(20), ["slot 0: truncated", "slot 1: truncated"]),
        (None, Some(20), ["slot 0: missing", "slot 1: truncated"]),
        (Some(0), Some(5), ["slot 0: truncated", "slot 1: truncated"]),
        (Some(20), None, ["slot 0: truncated", "slot 1: missing"]),
        (None, None, ["slot 0: missing", "slot 1: missing"]),
    ] {
        let directory = saved([1, 2]);
        for (slot, length) in [("state.0", first), ("state.1", second)] {
            let path = directory.path().join(slot);
            let bytes = fs::read(&path).expect("it was saved");
            match length {
                Some(length) => fs::write(&path, &bytes[..length]).expect("ours"),
                None => fs::remove_file(&path).expect("ours"),
            }
        }
        let error = load(directory.path()).expect_err("nothing is whole");
        tells(&error, directory.path(), &[said[0], said[1], "restore", "another id"]);
    }
    let directory = saved([1, 2]);
    for slot in ["state.0", "state.1"] {
        let path = directory.path().join(slot);
        let mut bytes = fs::read(&path).expect("it was saved");
        *bytes.last_mut().expect("not empty") ^= 1;
        fs::write(&path, bytes).expect("ours");
    }
    let error = load(directory.path()).expect_err("nothing is whole");
    tells(&error, directory.path(), &["slot 0: wrong checksum", "slot 1: wrong checksum"]);
}

#[test]
fn a_save_is_newer_than_what_was_there_although_that_was_not_loaded() {
    let directory = saved([1, 2, 3]);
    open(directory.path()).save(&4).expect("writable");
    // As if the crash had come between the two writes.
    let older = saved([1, 2, 3]);
    fs::copy(older.path().join("state.0"), directory.path().join("state.0")).expect("ours");
    assert_eq!(load(directory.path()).expect("readable"), Some(4));
}

#[test]
fn the_storage_of_another_node_is_refused() {
    let directory = saved([1]);
    let mut others = [owner(4), owner(3), owner(3)];
    others[1].cluster = "bills".parse().expect("a name");
    others[2].protocol = "lease".to_owned();
    let said = [["node `3`", "node `4`"], ["`orders`", "`bills`"], ["`stoller`", "`lease`"]];
    for (other, parts) in others.into_iter().zip(said) {
        let mut storage = Directory::<u64>::open(directory.path(), other).expect("usable");
        let error = storage.load().expect_err("not this node's");
        tells(&error, &directory.path().join("state.0"), &[parts[0], parts[1], "of its own"]);
    }
}

#[test]
fn what_is_no_slot_and_what_is_too_new_is_left_alone() {
    let directory = saved([1]);
    let path = directory.path().join("state.1");
    let mut bytes = fs::read(&path).expect("it was saved");
    bytes[9] = 2;
    fs::write(&path, &bytes).expect("ours");
    let error = load(directory.path()).expect_err("too new");
    tells(&error, &path, &["version 2", "reads version 1", "run the newer release"]);
    fs::write(&path, "a shopping list").expect("ours");
    let error = load(directory.path()).expect_err("no slot");
    tells(&error, &path, &["not a file of a bellwether storage", "another directory"]);
    assert_eq!(fs::read(&path).expect("still there"), b"a shopping list");
}

#[test]
fn a_state_of_another_type_is_not_guessed_at() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut storage = Directory::open(directory.path(), owner(3)).expect("usable");
    Storage::<String>::save(&mut storage, &"no number".to_owned()).expect("writable");
    drop(storage);
    let error = load(directory.path()).expect_err("no number");
    tells(&error, &directory.path().join("state.0"), &["run the release that wrote it"]);
}

#[test]
fn two_at_a_time_are_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let first = open(directory.path());
    let error = Directory::<u64>::open(directory.path(), owner(3)).expect_err("in use");
    tells(&error, directory.path(), &["in use by another process", "stop that", "of its own"]);
    drop(first);
    open(directory.path());
}

#[test]
fn a_place_where_no_directory_can_be_is_told() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("file");
    fs::write(&file, "").expect("ours");
    for place in [file.clone(), file.join("below")] {
        let error = Directory::<u64>::open(&place, owner(3)).expect_err("no directory");
        tells(&error, &place, &["cannot use the storage directory", "name a directory"]);
    }
}

/// Places that the kernel of Linux keeps for itself, from every user.
#[cfg(target_os = "linux")]
mod linux {
    use super::*;

    #[test]
    fn a_full_disk_is_told() {
        let directory = tempfile::tempdir().expect("a directory");
        let slot = directory.path().join("state.0");
        std::os::unix::fs::symlink("/dev/full", &slot).expect("ours");
        let mut storage = open(directory.path());
        assert_eq!(storage.load().expect("nothing was saved"), None);
        let error = storage.save(&1).expect_err("full");
        tells(&error, &slot, &["No space left", "make room there"]);
    }

    #[test]
    fn a_place_that_cannot_be_written_is_told() {
        let place = Path::new("/sys/bellwether");
        let error = Directory::<u64>::open(place, owner(3)).expect_err("the kernel's");
        tells(&error, place, &["cannot use the storage directory"]);
        let text = error.to_string();
        assert!(text.contains("read-only") || text.contains("readable and writable"), "{text}");
    }
}

//! No write of an older epoch comes after one of a newer, and no two nodes write in one, whatever
//! fails in between.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;

use super::*;
use crate::protocol::NodeId;
use crate::storage::{Directory, Memory, Owner};

/// The value is the list of all writes that were admitted: each with its epoch, its node and its
/// number.
type Writes = Vec<(u64, u16, usize)>;

fn token(epoch: u64, node: u16) -> Token {
    Token { epoch: Epoch::new(epoch), node: NodeId::new(node).expect("not zero") }
}

/// How a save comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Save {
    Succeeds,
    /// It fails before it has written anything.
    FailsBefore,
    /// It fails, and what it wrote is in the memory of the system only.
    FailsUnsynced,
    /// It fails after everything was on disk.
    FailsAfter,
}

/// A disk that fails, and a machine that crashes.
#[derive(Clone, Debug)]
struct Disk(Arc<Mutex<Content>>);

#[derive(Debug)]
struct Content {
    durable: Option<Resources<Writes>>,
    /// What a program reads.
    cached: Option<Resources<Writes>>,
    next: Save,
}

impl Disk {
    fn new() -> Self {
        let content = Content { durable: None, cached: None, next: Save::Succeeds };
        Self(Arc::new(Mutex::new(content)))
    }

    fn with<T>(&self, act: impl FnOnce(&mut Content) -> T) -> T {
        act(&mut self.0.lock().expect("no test panics with it"))
    }
}

impl Storage<Resources<Writes>> for Disk {
    fn load(&mut self) -> Result<Option<Resources<Writes>>, StorageError> {
        Ok(self.with(|content| content.cached.clone()))
    }

    fn save(&mut self, state: &Resources<Writes>) -> Result<(), StorageError> {
        self.with(|content| {
            let how = std::mem::replace(&mut content.next, Save::Succeeds);
            if how != Save::FailsBefore {
                content.cached = Some(state.clone());
            }
            if matches!(how, Save::Succeeds | Save::FailsAfter) {
                content.durable = Some(state.clone());
            }
            if how == Save::Succeeds { Ok(()) } else { Err(StorageError::Panicked) }
        })
    }
}

/// One step of a story. Writers are leaders of any epoch, in any order: each may have been paused
/// for as long as it takes.
#[derive(Clone, Debug)]
enum Step {
    Write {
        resource: &'static str,
        token: (u64, u16),
        save: Save,
    },
    Raise {
        resource: &'static str,
        token: (u64, u16),
    },
    /// The program of the fence ends and starts again, after a save at the start that fails so.
    Restart(Save),
    /// The machine crashes: what was not on disk is gone.
    Crash,
}

fn step() -> impl Strategy<Value = Step> {
    let resource = || prop_oneof![Just("one"), Just("two")];
    let fails =
        prop_oneof![Just(Save::FailsBefore), Just(Save::FailsUnsynced), Just(Save::FailsAfter)];
    let save = prop_oneof![4 => Just(Save::Succeeds), 2 => fails];
    prop_oneof![
        6 => (resource(), (0..6_u64, 1..4_u16), save.clone())
            .prop_map(|(resource, token, save)| Step::Write { resource, token, save }),
        2 => (resource(), (0..6_u64, 1..4_u16))
            .prop_map(|(resource, token)| Step::Raise { resource, token }),
        2 => save.prop_map(Step::Restart),
        1 => Just(Step::Crash),
    ]
}

/// What is known from outside: what was acknowledged, or read, must never be taken back.
#[derive(Default)]
struct Known(Resources<Writes>);

impl Known {
    /// A reader sees `kept`: it has everything that was known, and epochs only grow.
    fn see(&mut self, resource: &str, kept: &Kept<Writes>) {
        let known = self.0.entry(resource.to_owned()).or_default();
        assert!(kept.epoch >= known.epoch, "{resource}: {} after {}", kept.epoch, known.epoch);
        assert!(kept.value.starts_with(&known.value), "{resource}: {kept:?} after {known:?}");
        assert!(kept.value.is_sorted_by_key(|&(epoch, ..)| epoch), "{resource}: {kept:?}");
        let alone = |one: &[(u64, u16, usize)]| one[0].0 != one[1].0 || one[0].1 == one[1].1;
        assert!(kept.value.windows(2).all(alone), "{resource}: {kept:?}");
        *known = kept.clone();
    }

    fn see_all(&mut self, fence: &Fence<Writes>) {
        for resource in self.0.keys() {
            assert!(fence.get(resource).is_some(), "{resource} is gone");
        }
        fence.resources().for_each(|(resource, kept)| self.see(resource, kept));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn an_older_epoch_never_writes_after_a_newer(
        story in proptest::collection::vec(step(), 1..40)
    ) {
        let disk = Disk::new();
        let mut fence = Fence::open(disk.clone()).ok();
        let mut known = Known::default();
        for (number, step) in story.into_iter().enumerate() {
            match step {
                Step::Crash => disk.with(|content| content.cached = content.durable.clone()),
                Step::Restart(save) => {
                    disk.with(|content| content.next = save);
                    fence = Fence::open(disk.clone()).ok();
                    disk.with(|content| content.next = Save::Succeeds);
                }
                Step::Raise { resource, token: (epoch, node) } => if let Some(fence) = &mut fence {
                    let done = fence.raise(resource, token(epoch, node));
                    expect(&known, resource, (epoch, node), fence.broken, &done)?;
                },
                Step::Write { resource, token: of, save } => if let Some(fence) = &mut fence {
                    disk.with(|content| content.next = save);
                    let write = |writes: &mut Writes| writes.push((of.0, of.1, number));
                    let done = fence.write(resource, token(of.0, of.1), write);
                    disk.with(|content| content.next = Save::Succeeds);
                    expect(&known, resource, of, fence.broken, &done)?;
                },
            }
            if matches!(step, Step::Crash) {
                // The program that had the fence is gone with its machine.
                fence = Fence::open(disk.clone()).ok();
            }
            if let Some(fence) = &fence {
                known.see_all(fence);
            }
        }
    }
}

/// A write is refused as stale if and only if the resource has admitted a later epoch, or the same
/// of another node.
fn expect(
    known: &Known,
    resource: &str,
    (epoch, node): (u64, u16),
    broken: bool,
    done: &Result<(), FenceError>,
) -> Result<(), TestCaseError> {
    let kept = known.0.get(resource);
    let highest = kept.map_or(0, |kept| kept.epoch.number());
    let leads = kept.and_then(|kept| kept.node).map(NodeId::get);
    let another = epoch == highest && leads.is_some_and(|leads| leads != node);
    let stale = epoch < highest.max(1) || another;
    match done {
        Ok(()) => prop_assert!(!stale && !broken, "{epoch} of {node} after {kept:?}"),
        Err(FenceError::Stale(_)) => {
            prop_assert!(stale && !broken, "{epoch} of {node} after {kept:?}");
        }
        Err(FenceError::Storage(_) | FenceError::Broken) => prop_assert!(broken),
    }
    Ok(())
}

fn open(path: &std::path::Path) -> Result<Fence<Writes>, StorageError> {
    let owner = Owner {
        cluster: "orders".parse().expect("a name"),
        protocol: "fence".to_owned(),
        node: NodeId::new(1).expect("not zero"),
    };
    Fence::open(Directory::open(path, owner)?)
}

/// The files of a directory after a write that stopped at any byte of either file.
#[test]
fn a_crash_in_the_middle_of_a_write_leaves_value_and_epoch_together() {
    let files = |path: &std::path::Path| {
        ["state.0", "state.1"].map(|slot| std::fs::read(path.join(slot)).expect("it was saved"))
    };
    let write = |fence: &mut Fence<Writes>, epoch: u64| {
        fence.write("one", token(epoch, 1), |writes| writes.push((epoch, 1, 0)))
    };
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path();
    let mut fence = open(path).expect("usable");
    write(&mut fence, 3).expect("the first");
    let before = files(path);
    write(&mut fence, 4).expect("a later epoch");
    drop(fence);
    let after = files(path);

    // The slot that is written first is the one that the save before did.
    for first in [0, 1] {
        let second = 1 - first;
        let moments = (0..=after[first].len()).map(|length| (length, 0));
        let moments = moments.chain((1..=after[second].len()).map(|length| (usize::MAX, length)));
        for (one, other) in moments {
            for (slot, written) in [(first, one), (second, other)] {
                let written = written.min(after[slot].len());
                let rest = before[slot].get(written..).unwrap_or_default();
                let torn = [&after[slot][..written], rest].concat();
                std::fs::write(path.join(["state.0", "state.1"][slot]), torn).expect("ours");
            }
            let mut fence = open(path).expect("one slot is whole");
            let kept = fence.get("one").expect("it was written").clone();
            let of = |epoch, value| Kept { epoch, node: NodeId::new(1), value };
            let whole = of(Epoch::new(3), vec![(3, 1, 0)]);
            let next = of(Epoch::new(4), vec![(3, 1, 0), (4, 1, 0)]);
            assert!(kept == whole || kept == next, "{one} and {other} bytes: {kept:?}");
            let late = write(&mut fence, 3);
            assert_eq!(late.is_ok(), kept == whole, "{one} and {other} bytes: {late:?}");
        }
    }
}

#[test]
fn what_is_too_large_is_refused_and_the_fence_goes_on() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut fence = open(directory.path()).expect("usable");
    let huge = fence.write("one", token(5, 1), |writes| *writes = vec![(7, 1, 7); 1_000_000]);
    assert!(matches!(huge, Err(FenceError::Storage(StorageError::TooLarge { .. }))), "{huge:?}");
    assert_eq!(fence.get("one"), None);
    fence.write("one", token(4, 2), |writes| writes.push((4, 2, 1))).expect("nothing was admitted");
}

#[test]
fn the_epoch_before_the_first_is_refused() {
    let mut fence = Fence::<u8>::open(Memory::default()).expect("empty");
    let late = fence.raise("one", token(0, 3)).expect_err("no node leads it");
    let refused = "epoch 0 of node 3 is refused: a later epoch was admitted before, or this one of \
                   another node";
    assert_eq!(late.to_string(), refused);
    fence.raise("one", token(1, 3)).expect("the first epoch");
}

//! Searches that go on in files: they find what a search in memory finds, and one that was
//! interrupted goes on where it was.

use bellwether_model::check::{
    Cancel, CheckError, Disk, DiskError, Event, Limits, Options, Phase, Reason, Report, Verdict,
    check as search,
};
use bellwether_model::property::{self, Property};
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::bully::Bully;
use bellwether_model::protocol::raft_election::RaftElection;
use bellwether_model::world::{Budget, Faults, Network, Scenario, Start, World};
use proptest::prelude::*;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

fn check(world: &World, disk: Option<Disk>, limits: Limits) -> Result<Report, CheckError> {
    let properties = property::select(world, &[]).expect("the usual ones");
    ask(world, &properties, disk, limits)
}

fn ask(
    world: &World,
    properties: &[Property],
    disk: Option<Disk>,
    limits: Limits,
) -> Result<Report, CheckError> {
    let options = Options { threads: 2, limits, disk, ..Options::default() };
    search(world, properties, &options, &mut |_| {})
}

/// What must be the same, however it was searched.
pub(crate) fn found(report: &Report) -> Value {
    let mut json = serde_json::to_value(report).expect("JSON");
    let object = json.as_object_mut().expect("an object");
    object.remove("seconds");
    object.remove("peak_rss_bytes");
    object.remove("resumed_after");
    json
}

/// Searches in files, interrupted at every so many states, in at least so many groups.
pub(crate) fn in_pieces(world: &World, groups: usize, piece: u64) -> (Report, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut states, mut pieces) = (piece, 0);
    loop {
        let disk = Disk { groups, resume: pieces > 0, ..Disk::begin(folder.path()) };
        let limits = Limits { states: Some(states), ..Limits::NONE };
        let report = check(world, Some(disk), limits).expect("it goes on");
        assert_eq!(report.trouble, None);
        pieces += 1;
        match report.cut_short {
            Some(reason) => assert_eq!(reason, Reason::States),
            None => {
                let left = fs::read_dir(folder.path()).expect("the folder").count();
                assert_eq!(left, 0, "what is over leaves no files");
                return (report, pieces);
            }
        }
        states += piece;
    }
}

fn faults() -> impl Strategy<Value = Faults> {
    (0..2u8, 0..2u8, 0..2u8, 0..2u8, 0..2u8).prop_map(
        |(crashes, recoveries, losses, duplicates, suspicions)| Faults {
            crashes,
            recoveries,
            losses: losses.into(),
            duplicates,
            suspicions,
            ..Faults::NONE
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn files_and_interruptions_change_nothing(
        variant in 0..Bully::VARIANTS.len(),
        faults in faults(),
        fifo in any::<bool>(),
        cold in any::<bool>(),
        groups in 0..8u32,
        piece in 100..2_000u64,
    ) {
        let network = if fifo { Network::Fifo } else { Network::Unordered };
        let start = if cold { Start::Cold } else { Start::Converged };
        let scenario = Scenario { faults, network, start, capacity: Some(2), ..Scenario::calm(2) };
        let Ok(world) = World::new(Bully::VARIANTS[variant].rules, scenario) else {
            return Ok(());
        };
        let usual = check(&world, None, Limits::NONE).expect("it ends");
        let (pieces, _) = in_pieces(&world, 1 << groups, piece);
        prop_assert_eq!(found(&usual), found(&pieces));
    }
}

/// A state of a level may lead to another one of it, which waits in a file for its table.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn a_state_that_waits_in_a_file_is_of_its_level() {
    let faults = Faults { crashes: 1, losses: Budget::AtMost(1), ..Faults::NONE };
    let scenario = Scenario { faults, start: Start::Cold, ..Scenario::calm(2) };
    for variant in RaftElection::VARIANTS {
        let world = World::new(variant.rules, scenario).expect("a world");
        let usual = check(&world, None, Limits::NONE).expect("it ends");
        for groups in [2, 4, 8] {
            let (report, _) = in_pieces(&world, groups, 1_000);
            assert_eq!(found(&report), found(&usual), "{}, {groups} groups", variant.name);
        }
    }
}

/// Its states outgrow their words while most of them lie in files, and its names are canonicalized.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn states_that_come_to_look_different_are_moved_from_file_to_file() {
    let faults = Faults { crashes: 1, suspicions: 2, ..Faults::NONE };
    let suspicious = Scenario { faults, ..Scenario::calm(3) };
    let worlds: [Box<World>; 2] = [
        Box::new(
            World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(2, 1)).expect("a world"),
        ),
        Box::new(World::new(RaftElection::VARIANTS[0].rules, suspicious).expect("a world")),
    ];
    for world in worlds {
        let usual = check(&world, None, Limits::NONE).expect("it ends");
        assert!(usual.counts.distinct > 3_000, "{:?}", usual.counts);
        for (groups, pieces) in [(1, 10), (32, 4)] {
            let piece = usual.counts.distinct.div_ceil(pieces);
            let (report, pieces) = in_pieces(&world, groups, piece);
            assert_eq!(found(&report), found(&usual), "{groups} groups");
            assert!(pieces > 1, "it is not interrupted");
        }
    }
}

/// What is asked of all states goes on where it was too: they need not be searched once more.
#[test]
fn liveness_that_is_interrupted_goes_on_without_a_search() {
    static CANCELLED: AtomicBool = AtomicBool::new(false);
    let folder = tempfile::tempdir().expect("a folder");
    let (world, disk) = (world(), Disk { groups: 8, ..Disk::begin(folder.path()) });
    let properties = property::select(&world, &[]).expect("the usual ones");
    let limits = Limits { cancel: Some(Cancel::when(&CANCELLED)), ..Limits::NONE };
    let options = Options { limits, disk: Some(disk), ..Options::default() };
    let mut cancel = |event: Event| {
        let is_liveness = |event| match event {
            Event::Progress(progress) => matches!(progress.phase, Phase::Liveness(_)),
            Event::Violated { .. } | Event::Grows { .. } => false,
        };
        CANCELLED.fetch_or(is_liveness(event), Ordering::Relaxed);
    };
    let report = search(&world, &properties, &options, &mut cancel).expect("it begins");
    assert_eq!((report.cut_short, report.unfinished), (Some(Reason::Interrupted), None));
    let usual = check(&world, None, Limits::NONE).expect("it ends");
    let decided = |report: &Report| {
        report.decisions.iter().filter(|decision| decision.verdict != Verdict::Unknown).count()
    };
    assert!(decided(&report) < decided(&usual));
    let resumed = Some(Disk::resume(folder.path()));
    let report = check(&world, resumed, Limits::NONE).expect("it goes on");
    assert_eq!(report.resumed_after, Some(usual.counts.depth - 1));
    assert_eq!(found(&report), found(&usual));
    assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
}

fn world() -> World {
    World::new(Bully::RECOMMENDED, Scenario::calm(3).with_crashes(1, 1)).expect("a world")
}

/// A search that was interrupted, in this folder.
fn interrupted(folder: &Path, groups: usize) {
    let disk = Disk { groups, ..Disk::begin(folder) };
    let limits = Limits { states: Some(300), ..Limits::NONE };
    let report = check(&world(), Some(disk), limits).expect("it begins");
    assert_eq!(report.cut_short, Some(Reason::States));
}

fn refused(folder: &Path, world: &World, resume: bool) -> DiskError {
    let disk = Disk { resume, ..Disk::begin(folder) };
    match check(world, Some(disk), Limits::NONE) {
        Err(CheckError::Disk(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn a_file_that_is_not_as_it_was_written_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    interrupted(folder.path(), 4);
    let entries = fs::read_dir(folder.path()).expect("the folder");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let files: Vec<_> = paths
        .map(|path| {
            let name = path.file_name().and_then(|name| name.to_str()).expect("UTF-8").to_owned();
            (name, fs::read(path).expect("it can be read"))
        })
        .collect();
    let kind = |name: &str| name.split('-').next().unwrap_or_default().to_owned();
    let mut of_each_kind = files.clone();
    of_each_kind.sort();
    of_each_kind.dedup_by_key(|(name, _)| kind(name));
    let kinds: Vec<_> = of_each_kind.iter().map(|(name, _)| kind(name)).collect();
    assert_eq!(kinds, ["found", "learned", "search.json", "table"]);
    for (name, whole) in &of_each_kind {
        let cut = whole[..whole.len() - 1].to_vec();
        let mut other = whole.clone();
        other[whole.len() / 2] ^= 1;
        for torn in [cut, other] {
            let folder = tempfile::tempdir().expect("a folder");
            for (file, content) in &files {
                let content = if file == name { &torn } else { content };
                fs::write(folder.path().join(file), content).expect("it can be written");
            }
            match check(&world(), Some(Disk::resume(folder.path())), Limits::NONE) {
                Err(CheckError::Disk(DiskError::Torn { .. })) => {}
                // What is read later ends the search then.
                Ok(report) => {
                    assert_eq!(report.cut_short, Some(Reason::Disk), "{name}");
                    let trouble = report.trouble.expect("it says what");
                    assert!(trouble.contains(&format!("{name} is not as it was written")));
                }
                Err(error) => panic!("{name}: {error}"),
            }
        }
    }
    let report = check(&world(), Some(Disk::resume(folder.path())), Limits::NONE).expect("whole");
    assert_eq!(found(&report), found(&check(&world(), None, Limits::NONE).expect("it ends")));
}

/// A change of what a search was asked.
type Change = fn(&mut [Property]);

#[test]
fn only_the_same_search_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(refused(folder.path(), &world(), true), DiskError::Nothing(_)));
    interrupted(folder.path(), 1);
    assert!(matches!(refused(folder.path(), &world(), false), DiskError::Waiting(_)));
    let other = World::new(Bully::RECOMMENDED, Scenario::calm(3)).expect("a world");
    let told = refused(folder.path(), &other, true).to_string();
    assert!(told.contains(" is another one: its properties is "), "{told}");
    // Another version may mean something else by the same names.
    let changes: [(Change, &str); 3] = [
        (|asked| asked[0].formula = "□ true", "its questions formulas is "),
        (
            |asked| asked.iter_mut().for_each(|property| property.premise = None),
            "its questions number is ",
        ),
        (
            |asked| {
                let premises = asked.iter_mut().filter_map(|property| property.premise.as_mut());
                premises.for_each(|(name, _)| *name = "calm");
            },
            "its questions premises is ",
        ),
    ];
    for (change, what) in changes {
        let mut asked = property::select(&world(), &[]).expect("the usual ones");
        change(&mut asked);
        let told = ask(&world(), &asked, Some(Disk::resume(folder.path())), Limits::NONE);
        let told = told.err().expect("it is another search").to_string();
        assert!(told.contains(what), "{told}");
    }
    let file = folder.path().join("file");
    fs::write(&file, "").expect("it can be written");
    assert!(matches!(refused(&file, &world(), false), DiskError::Io { .. }));
    let disk = Some(Disk::resume(folder.path()));
    assert_eq!(check(&world(), disk, Limits::NONE).expect("it goes on").cut_short, None);
}

/// The baseline of four nodes: large enough that it takes a while, and more than so little memory.
const LARGE: &str = "check bully --variant baseline --nodes 4 --crashes 1 --recoveries 1 \
    --network set --json --property at-most-one-leader --property succession --property agreement";

fn program(line: &str, folder: Option<&Path>) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("bellwether-model"));
    command.args(line.split_whitespace());
    command.args(folder.iter().flat_map(|folder| [Path::new("--disk"), folder]));
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn report(output: &std::process::Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("a report")
}

/// Where files may have no more than so many blocks, as on a full disk.
#[test]
fn a_full_disk_ends_the_search_and_it_says_what_it_knows() {
    let folder = tempfile::tempdir().expect("a folder");
    let line = format!("{LARGE} --max-states 50000 --disk {}", folder.path().display());
    let binary = assert_cmd::cargo::cargo_bin("bellwether-model");
    let script = format!("trap '' XFSZ; ulimit -f 1; exec {} {line}", binary.display());
    let output = Command::new("sh").args(["-c", &script]).output().expect("there is a shell");
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    let report = report(&output);
    let trouble = report["trouble"].as_str().expect("it says what");
    assert!(trouble.starts_with("cannot write ") && trouble.contains("too large"), "{trouble}");
    assert!(report["states"]["distinct"].as_u64() >= Some(50_000), "{report}");
}

/// Killed at any time, it goes on from where it was saved last, and finds the same.
#[test]
fn a_search_that_is_killed_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let usual = program(LARGE, None).output().expect("it runs");
    let saved = program(&format!("{LARGE} --max-states 50000"), Some(folder.path()));
    assert_eq!({ saved }.output().expect("it runs").status.code(), Some(1));
    let resume = || program(&format!("{LARGE} --resume"), Some(folder.path()));
    let mut running = resume().spawn().expect("it runs");
    sleep(Duration::from_millis(200));
    running.kill().expect("it is a child");
    running.wait().expect("it has ended");
    let rest = resume().output().expect("it runs");
    let (usual, rest) = (report(&usual), report(&rest));
    assert!(rest["resumed_after"].as_u64() > Some(0), "{rest}");
    assert!(usual["states"]["distinct"].as_u64() > Some(100_000), "{usual}");
    for part in ["states", "properties", "cut_short", "bounds_met"] {
        assert_eq!(rest[part], usual[part], "{part}");
    }
}

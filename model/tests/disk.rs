//! Searches that are saved: one that was interrupted goes on where it was, and a file that is not as
//! it was written is refused. That a search in pieces finds what one without a break finds is also
//! compared over random worlds, in `differential/searches.rs`.

use crate::asked::{report, world};
use bellwether_model::check::{
    Cancel, CheckError, Disk, DiskError, Event, Limits, Options, Phase, Reason, Report, Verdict,
    check,
};
use bellwether_model::property::{self, Property};
use bellwether_model::protocol::Protocol;
use bellwether_model::protocol::raft_election::RaftElection;
use bellwether_model::world::World;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

fn usual(world: &World) -> Vec<Property> {
    property::select(world, &[]).expect("the usual ones")
}

fn ask(
    world: &World,
    properties: &[Property],
    disk: Disk,
    limits: Limits,
) -> Result<Report, CheckError> {
    let options = Options { threads: 2, limits, disk: Some(disk), ..Options::default() };
    check(world, properties, &options, &mut |_| {})
}

/// The same search, as it goes on to its end.
fn resumed(world: &World, folder: &Path) -> Result<Report, CheckError> {
    ask(world, &usual(world), Disk::resume(folder), Limits::NONE)
}

/// What must be the same, however it was searched.
pub(crate) fn found(report: &Report) -> Value {
    let mut json = serde_json::to_value(report).expect("JSON");
    let object = json.as_object_mut().expect("an object");
    for key in ["threads", "seconds", "peak_rss_bytes", "resumed_after"] {
        object.remove(key);
    }
    json
}

fn files(folder: &Path) -> usize {
    fs::read_dir(folder).expect("the folder").count()
}

/// Searches with interruptions at every so many states.
pub(crate) fn in_pieces(world: &World, piece: u64) -> (Report, usize) {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut states, mut pieces) = (piece, 0);
    loop {
        let disk = Disk { resume: pieces > 0, ..Disk::begin(folder.path()) };
        let limits = Limits { states: Some(states), ..Limits::NONE };
        let report = ask(world, &usual(world), disk, limits).expect("it goes on");
        assert_eq!(report.trouble, None);
        pieces += 1;
        match report.cut_short {
            Some(reason) => assert_eq!(reason, Reason::States),
            None => {
                assert_eq!(files(folder.path()), 0, "what is over leaves no files");
                return (report, pieces);
            }
        }
        states += piece;
    }
}

/// States outgrow their words in one piece and have been saved in another, with the transitions
/// between them where liveness is asked, and alone where it is not.
#[test]
#[cfg_attr(
    not(feature = "slow"),
    ignore = "slow: a minute; cargo test --workspace --features slow"
)]
fn states_that_outgrow_their_words_go_on_in_pieces() {
    let variant = RaftElection::VARIANTS[0].name;
    let raft = format!("raft-election --variant {variant} --suspicions 2");
    for line in ["bully --crashes 2 --recoveries 1", &raft] {
        let usual = report(line);
        let states = usual.counts.distinct;
        assert!(states > 3_000, "{line}: {states}");
        let (whole, pieces) = in_pieces(&world(line), states.div_ceil(10));
        assert_eq!(found(&whole), found(&usual), "{line}");
        assert!(pieces > 1, "it is not interrupted");
    }
}

/// What is asked of all states goes on where it was too: they need not be searched once more.
#[test]
fn liveness_that_is_interrupted_goes_on_without_a_search() {
    static CANCELLED: AtomicBool = AtomicBool::new(false);
    let folder = tempfile::tempdir().expect("a folder");
    let (world, disk) = (world(BULLY), Disk::begin(folder.path()));
    let limits = Limits { cancel: Some(Cancel::when(&CANCELLED)), ..Limits::NONE };
    let options = Options { limits, disk: Some(disk), ..Options::default() };
    let mut cancel = |event: Event| {
        let is_liveness = |event| match event {
            Event::Progress(progress) => matches!(progress.phase, Phase::Liveness(_)),
            Event::Violated { .. } | Event::Grows { .. } => false,
        };
        CANCELLED.fetch_or(is_liveness(event), Ordering::Relaxed);
    };
    let cut = check(&world, &usual(&world), &options, &mut cancel).expect("it begins");
    assert_eq!((cut.cut_short, cut.unfinished), (Some(Reason::Interrupted), None));
    let whole = report(BULLY);
    let decided = |report: &Report| {
        report.decisions.iter().filter(|decision| decision.verdict != Verdict::Unknown).count()
    };
    assert!(decided(&cut) < decided(&whole));
    let rest = resumed(&world, folder.path()).expect("it goes on");
    assert_eq!(rest.resumed_after, Some(whole.counts.depth - 1));
    assert_eq!(found(&rest), found(&whole));
    assert_eq!(files(folder.path()), 0);
}

const BULLY: &str = "bully --recoveries 1";

/// A search that was interrupted, in this folder.
fn interrupted(folder: &Path) {
    let disk = Disk::begin(folder);
    let limits = Limits { states: Some(300), ..Limits::NONE };
    let world = world(BULLY);
    let report = ask(&world, &usual(&world), disk, limits).expect("it begins");
    assert_eq!(report.cut_short, Some(Reason::States));
}

fn refused(folder: &Path, line: &str, resume: bool) -> DiskError {
    let (world, disk) = (world(line), Disk { resume, ..Disk::begin(folder) });
    match ask(&world, &usual(&world), disk, Limits::NONE) {
        Err(CheckError::Disk(error)) => error,
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it was accepted"),
    }
}

#[test]
fn a_file_that_is_not_as_it_was_written_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    interrupted(folder.path());
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
    assert_eq!(kinds, ["learned", "search.json", "states"]);
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
            match resumed(&world(BULLY), folder.path()) {
                Err(CheckError::Disk(DiskError::Torn { .. })) => {}
                Err(error) => panic!("{name}: {error}"),
                Ok(_) => panic!("{name}: it was accepted"),
            }
        }
    }
    let rest = resumed(&world(BULLY), folder.path()).expect("whole");
    assert_eq!(found(&rest), found(&report(BULLY)));
}

/// A change of what a search was asked.
type Change = fn(&mut [Property]);

#[test]
fn only_the_same_search_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(matches!(refused(folder.path(), BULLY, true), DiskError::Nothing(_)));
    interrupted(folder.path());
    assert!(matches!(refused(folder.path(), BULLY, false), DiskError::Waiting(_)));
    let told = refused(folder.path(), "bully --crashes 0", true).to_string();
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
    let world = world(BULLY);
    for (change, what) in changes {
        let mut asked = usual(&world);
        change(&mut asked);
        let told = ask(&world, &asked, Disk::resume(folder.path()), Limits::NONE);
        let told = told.err().expect("it is another search").to_string();
        assert!(told.contains(what), "{told}");
    }
    let file = folder.path().join("file");
    fs::write(&file, "").expect("it can be written");
    assert!(matches!(refused(&file, BULLY, false), DiskError::Io { .. }));
    assert_eq!(resumed(&world, folder.path()).expect("it goes on").cut_short, None);
}

/// The baseline of four nodes: large enough that it takes a while, and more than so little memory.
const LARGE: &str = "check bully --variant baseline --nodes 4 --crashes 1 --recoveries 1 \
    --network set --json --property at-most-one-leader --property succession --property agreement";

fn program(more: &str, folder: Option<&Path>) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("bellwether-model"));
    command.args(LARGE.split_whitespace()).args(more.split_whitespace());
    command.args(folder.iter().flat_map(|folder| [Path::new("--disk"), folder]));
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn told(output: &Output) -> Value {
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
    let told = told(&output);
    let trouble = told["trouble"].as_str().expect("it says what");
    assert!(trouble.starts_with("cannot write ") && trouble.contains("too large"), "{trouble}");
    assert!(told["states"]["distinct"].as_u64() >= Some(50_000), "{told}");
}

/// Killed at any time, it goes on from where it was saved last, and finds the same.
#[test]
fn a_search_that_is_killed_goes_on() {
    let folder = tempfile::tempdir().expect("a folder");
    let usual = program("", None).output().expect("it runs");
    let saved = program("--max-states 50000", Some(folder.path())).output().expect("it runs");
    assert_eq!(saved.status.code(), Some(1));
    let resume = || program("--resume", Some(folder.path()));
    let mut running = resume().spawn().expect("it runs");
    sleep(Duration::from_millis(200));
    running.kill().expect("it is a child");
    running.wait().expect("it has ended");
    let (usual, rest) = (told(&usual), told(&resume().output().expect("it runs")));
    assert!(rest["resumed_after"].as_u64() > Some(0), "{rest}");
    assert!(usual["states"]["distinct"].as_u64() > Some(100_000), "{usual}");
    for part in ["states", "properties", "cut_short", "bounds_met"] {
        assert_eq!(rest[part], usual[part], "{part}");
    }
}

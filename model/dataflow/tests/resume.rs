//! Searches as a dataflow that were interrupted go on from the last save that all processes have.

use crate::processes::{Cluster, ENDLESS, ended, error, exact, report};
use bellwether_dataflow::decide;
use bellwether_engine::check::{self, Disk, Event, Limits, Options};
use bellwether_engine::property::{self, Kind};
use bellwether_engine::world::{Scenario, World};
use bellwether_protocols::bully::Bully;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::TempDir;

/// The baseline of four nodes: it has violations, and takes a while if it is saved all the time.
const LARGE: &str = "check bully --variant baseline --nodes 4 --crashes 1 --recoveries 1 \
    --network set --json --property at-most-one-leader --property succession --property agreement";

const SMALL: &str = "check bully --recoveries 1 --property agreement --json";

fn folder() -> TempDir {
    tempfile::tempdir().expect("a folder")
}

/// The command, with a folder.
fn with(line: &str, folder: &Path) -> String {
    format!("{line} --threads 1 --disk {}", folder.display())
}

/// One process without hosts.
fn alone(line: &str) -> Output {
    let binary = assert_cmd::cargo::cargo_bin("bellwether-dataflow");
    Command::new(binary).args(line.split_whitespace()).output().expect("it runs")
}

/// The files that say how far a process was, oldest first.
pub(crate) fn saves(folder: &Path, process: usize) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join(format!("process-{process}"))) else {
        return Vec::new();
    };
    let number = |path: &PathBuf| {
        let name = path.file_name()?.to_str()?.strip_prefix("save-")?.strip_suffix(".json")?;
        name.parse::<u64>().ok()
    };
    let mut saves: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    saves.retain(|path| number(path).is_some());
    saves.sort_by_key(number);
    saves
}

/// All of these are refused, and say why.
#[track_caller]
fn all_say(outputs: &[Output], parts: &[&str]) {
    for output in outputs {
        let told = error(output);
        assert!(parts.iter().all(|part| told.contains(*part)), "{told}");
    }
}

/// Waits until this process has saved the search so often.
fn saves_so_often(child: &mut Child, folder: &Path, process: usize, often: u64) {
    let name = |path: &PathBuf| path.to_string_lossy().into_owned();
    let wanted = |path: &PathBuf| {
        let number = name(path).rsplit('-').next().and_then(|n| n.split('.').next()?.parse().ok());
        number >= Some(often)
    };
    while !saves(folder, process).iter().any(wanted) {
        assert!(child.try_wait().expect("it is a child").is_none(), "it ended too early");
        sleep(Duration::from_millis(2));
    }
}

/// What was found; after how many levels it had gone on.
fn resumed(output: &Output) -> (Value, Option<u64>) {
    let mut report = report(output);
    let levels = report.as_object_mut().expect("an object").remove("resumed_after");
    (report, levels.and_then(|levels| levels.as_u64()))
}

#[test]
fn processes_of_which_one_was_killed_go_on() {
    let (exact, _) = exact(LARGE);
    assert!(exact["states"]["distinct"].as_u64() > Some(100_000), "{exact}");
    // Each has a folder of its own, or all have the same.
    for (processes, killed, apart) in [(2, 1, true), (2, 0, false), (3, 1, true)] {
        let folders: Vec<_> = (0..processes).map(|_| folder()).collect();
        let of = |process: usize| folders[if apart { process } else { 0 }].path();
        let cluster = Cluster::of(processes);
        let start = |flags: &str| -> Vec<_> {
            let line = |process| format!("{} {flags}", with(LARGE, of(process)));
            (0..processes).map(|process| cluster.start(process, &line(process))).collect()
        };
        let mut all: Vec<Child> = start("--save-every 0");
        saves_so_often(&mut all[killed], of(killed), killed, 12);
        all[killed].kill().expect("it is a child");
        let lost = format!("the connection to process {killed} (");
        for (process, output) in ended(all).into_iter().enumerate() {
            if process != killed {
                all_say(&[output], &[&lost, "--resume"]);
            }
            assert!(saves(of(process), process).len() >= 2);
        }
        for (process, output) in ended(start("--resume")).iter().enumerate() {
            let (found, levels) = resumed(output);
            assert_eq!(found, exact, "{processes} processes");
            assert!(levels > Some(0), "{levels:?}");
            let left = of(process).join(format!("process-{process}"));
            assert!(!left.exists(), "what is over leaves no files");
        }
    }
}

/// Saved by two processes, which then were interrupted.
fn interrupted(cluster: &Cluster, folder: &Path) {
    let line = format!("{} --save-every 0 --max-states 300", with(SMALL, folder));
    for (process, output) in cluster.run(&line).into_iter().enumerate() {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        assert_eq!(report(&output)["cut_short"], "states");
        assert_eq!(saves(folder, process).len(), 2);
    }
}

#[test]
fn they_go_on_from_the_last_save_that_all_have() {
    let (cluster, folder) = (Cluster::of(2), folder());
    interrupted(&cluster, folder.path());
    // As if one had been killed while the other had saved the search once more.
    fs::remove_file(&saves(folder.path(), 1)[1]).expect("it is there");
    let (exact, _) = exact(SMALL);
    let line = with(SMALL, folder.path());
    let before = cluster.run(&format!("{line} --resume --max-states 1"));
    let before: Vec<_> = before.iter().map(resumed).collect();
    assert_eq!(before[0], before[1]);
    let (report, levels) = &before[0];
    assert_eq!(report["unfinished"]["levels"].as_u64(), *levels);
    assert!(report["states"]["distinct"].as_u64() > Some(1), "{report}");
    for output in cluster.run(&format!("{line} --resume")) {
        let (found, after) = resumed(&output);
        assert_eq!((found, after), (exact.clone(), *levels));
        assert!(after > Some(0));
    }
}

#[test]
fn they_say_what_each_has_if_no_save_is_there_in_all() {
    let (cluster, folder) = (Cluster::of(2), folder());
    interrupted(&cluster, folder.path());
    let number = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()).expect("a name").to_owned();
        name.replace('-', " ")
    };
    let [first, second] = [0, 1].map(|process| saves(folder.path(), process));
    fs::remove_file(&first[0]).expect("it is there");
    fs::remove_file(&second[1]).expect("it is there");
    let line = format!("{} --resume", with(SMALL, folder.path()));
    let (one, other) = (number(&first[1]), number(&second[0]));
    let what = format!("process 0 has {one}, process 1 has {other}; bring the folders back");
    all_say(&cluster.run(&line), &[&what]);
    fs::remove_dir_all(folder.path().join("process-1")).expect("it is there");
    all_say(&cluster.run(&line), &[&format!("process 0 has {one}, process 1 has none")]);
    fs::remove_dir_all(folder.path().join("process-0")).expect("it is there");
    all_say(&cluster.run(&line), &["no search was saved in "]);
}

#[test]
fn only_the_same_search_goes_on() {
    let (cluster, folder) = (Cluster::of(2), folder());
    interrupted(&cluster, folder.path());
    let cases = [
        (SMALL.replace("recoveries 1", "recoveries 0"), "its search scenario faults recoveries is"),
        (format!("{SMALL} --property decided"), "its search properties is"),
        (format!("{SMALL} --first"), "its --first is false, here it is true"),
    ];
    for (line, what) in cases {
        let line = format!("{} --resume", with(&line, folder.path()));
        all_say(&cluster.run(&line), &[" is another one: ", what]);
    }
    let other = with(SMALL, folder.path()).replace("--threads 1", "--threads 2 --resume");
    all_say(&cluster.run(&other), &["its --threads is 1, here it is 2"]);
    let one = alone(&format!("{} --resume", with(SMALL, folder.path())));
    all_say(&[one], &["its number of hosts is 2, here it is 1"]);
    // A new search does not overwrite it.
    let anew = cluster.run(&with(SMALL, folder.path()));
    all_say(&anew, &["was interrupted; --resume goes on with it"]);
    // All must save it, and all must go on.
    let other = self::folder();
    let (saves, resumes) = (with(SMALL, other.path()), with(SMALL, folder.path()) + " --resume");
    let cases = [
        (resumes, saves.clone(), "its --resume is"),
        (saves, format!("{SMALL} --threads 1"), "its --disk is"),
    ];
    for (first, second, what) in cases {
        all_say(&ended([cluster.start(0, &first), cluster.start(1, &second)]), &[what]);
    }
}

#[test]
fn a_file_that_is_not_as_it_was_written_is_refused() {
    let (first, line) = (folder(), format!("{SMALL} --max-states 300"));
    assert_eq!(alone(&with(&line, first.path())).status.code(), Some(3));
    let entries = fs::read_dir(first.path().join("process-0")).expect("the folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    let kind = |path: &PathBuf| {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        name.split('-').next().unwrap_or_default().to_owned()
    };
    files.dedup_by_key(|path| kind(path));
    let kinds: Vec<_> = files.iter().map(kind).collect();
    assert_eq!(kinds, ["learned", "save", "states"]);
    for torn in &files {
        let whole = fs::read(torn).expect("it can be read");
        let cut = whole[..whole.len() - 1].to_vec();
        let mut other = whole.clone();
        // Another number of states, so that the JSON is as good as before.
        let count = b"\"generated\":";
        let digit = whole.windows(count.len()).position(|some| some == count);
        let digit = digit.map_or(whole.len() / 2, |at| at + count.len());
        other[digit] ^= 1;
        for content in [cut, other] {
            fs::write(torn, content).expect("it can be written");
            let refused = alone(&format!("{} --resume", with(SMALL, first.path())));
            all_say(&[refused], &[&format!("{} is not as it was written: ", torn.display())]);
        }
        fs::write(torn, whole).expect("it can be written");
    }
    let output = alone(&format!("{} --resume", with(SMALL, first.path())));
    let (found, levels) = resumed(&output);
    assert_eq!((found, levels > Some(0)), (exact(SMALL).0, true));
}

/// Also what was found before the interruption is told, with as many steps as it takes.
#[test]
fn a_search_that_goes_on_tells_what_was_violated_before() {
    let scenario = Scenario::calm(3).with_crashes(1, 1);
    let world = World::new(Bully::RECOMMENDED, scenario).expect("a world");
    let told = |options: &Options, exact: bool| {
        let mut properties = property::select(&world, &[]).expect("the usual ones");
        properties.retain(|property| property.kind() != Kind::Liveness);
        let mut told = Vec::new();
        let mut on_event = |event| {
            if let Event::Violated { property, steps } = event {
                told.push((property, steps));
            }
        };
        let report = match exact {
            true => check::check(&world, &properties, options, &mut on_event),
            false => decide(&world, &properties, options, None, &mut on_event),
        };
        report.expect("it ends");
        told
    };
    let usual = told(&Options::default(), true);
    assert!(usual.len() > 1, "{usual:?}");
    let folder = folder();
    let options = |disk, states| Options {
        disk: Some(disk),
        limits: Limits { states, ..Limits::NONE },
        ..Options::default()
    };
    let before = told(&options(Disk::begin(folder.path()), Some(200)), false);
    assert_eq!(before, usual[..before.len()]);
    assert!(!before.is_empty());
    assert_eq!(told(&options(Disk::resume(folder.path()), None), false), usual);
}

/// Where files of one of them may have no more than so many blocks, as on a full disk.
#[test]
fn a_full_disk_ends_the_search_of_all_and_they_say_what_they_know() {
    let (cluster, folder) = (Cluster::of(2), folder());
    let line = format!("{} --save-every 0", with(SMALL, folder.path()));
    let binary = assert_cmd::cargo::cargo_bin("bellwether-dataflow");
    let script = format!(
        "trap '' XFSZ; ulimit -f 1; exec {} {line} --hosts {} --process 1",
        binary.display(),
        cluster.hosts.path().display()
    );
    let mut full = Command::new("sh");
    let full = full.args(["-c", &script]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let all = [cluster.start(0, &line), full.spawn().expect("there is a shell")];
    let trouble = |output: &Output| {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let report = report(output);
        assert_eq!(report["cut_short"], "disk");
        assert!(report["states"]["distinct"].as_u64() > Some(0), "{report}");
        report["trouble"].as_str().expect("it says what").to_owned()
    };
    let troubles: Vec<String> = ended(all).iter().map(trouble).collect();
    assert!(troubles[0].starts_with("another process could not save"), "{troubles:?}");
    assert!(troubles[1].starts_with("cannot write ") && troubles[1].contains("too large"));
}

#[test]
fn what_an_interruption_ends_is_saved() {
    let (cluster, folder) = (Cluster::of(2), folder());
    let line = with(ENDLESS, folder.path());
    for output in cluster.signalled(&line, Signal::TERM) {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(told.contains("It is saved in ") && told.contains("--resume"), "{told}");
    }
    for output in cluster.run(&format!("{line} --resume --max-states 1 --json")) {
        let (report, levels) = resumed(&output);
        assert!(levels > Some(0), "{report}");
        assert_eq!(report["unfinished"]["levels"].as_u64(), levels);
        assert!(report["states"]["distinct"].as_u64() > Some(100), "{report}");
    }
}

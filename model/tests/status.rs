//! What was found is the exit status, whatever becomes of what is printed and saved: a reader that
//! has gone, a disk that is full, a second Ctrl-C. A search that ends before it is done, on Ctrl-C,
//! on SIGTERM or at the memory limit, says what it knows, and exits with 3, or 1 if it has found a
//! violation.

use crate::cli::{Ran, run_in};
use bellwether_docs_runner::{other_statuses, without_verdict};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{Read, Seek, Write, pipe};
use std::os::unix::fs::{FileExt, symlink};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The exit status when a success cannot be printed or saved.
const LOST: i32 = 2;

/// Each command with each exit status that it has.
const LINES: &[(&str, i32)] = &[
    ("check bully -p agreement", 0),
    ("check bully -p agreement --json", 0),
    ("check bully --recoveries 1", 1),
    ("check bully --recoveries 1 --json", 1),
    ("check bully --recoveries 1 --first", 1),
    ("check bully --recoveries 1 --out saved", 1),
    ("check bully --recoveries 1 --engine bfs", 1),
    ("check buly", 2),
    ("check bully --nodes many", 2),
    ("check bully --max-states 10", 3),
    ("check bully --max-states 10 --json", 3),
    ("check bully --engine simulation --max-states 1000", 3),
    (WITHIN, 4),
    ("tune bully --variant baseline --delay 1", 0),
    ("tune bully --variant baseline --delay 1 --find t-coord --t-elec 9 --up-to 1", 1),
    ("tune bully --variant baseline --delay 1 --find t-coord --t-elec 9 --up-to 1 --json", 1),
    ("tune bully --delay 1", 0),
    ("tune queue --variant pings", 2),
    ("tune bully --variant baseline --delay 1 --max-states 10", 3),
    (TUNED_WITHIN, 4),
    ("bounds bully", 0),
    ("bounds bully --show nothing", 2),
    ("bounds bully --max-states 10", 3),
    ("bounds bully --max-states 10 --json", 3),
    ("suite right.toml", 0),
    ("suite right.toml --json", 0),
    ("suite differs.toml", 1),
    ("suite differs.toml --json", 1),
    ("suite nothing.toml", 2),
    ("suite cut-short.toml", 3),
    ("explore bully --nodes 2 --export world.html", 0),
    ("explore buly", 2),
    ("survey bully --max-states 300", 0),
    ("survey buly", 2),
    ("survey --show bully crash-recovery", 1),
    ("survey --show bully crash-recovery --max-states 10", 3),
    ("list", 0),
    ("list bully --json", 0),
    ("list buly", 2),
    ("trace kept/bully-at-most-one-leader.ndjson", 0),
    ("trace nothing", 2),
    ("completions bash", 0),
    ("completions abacus", 2),
    ("man", 0),
    ("man --out /proc/nothing", 2),
    ("help", 0),
    ("help check bully", 0),
    ("help chek", 2),
    ("--version", 0),
];

const WITHIN: &str = "check raft-election --variant paper --nodes 4 --without 1-4 --without 2-4 \
                      --property election-safety";
const TUNED_WITHIN: &str = "tune bully --variant baseline --capacity 1 --delay 1 --t-detect 2 \
                            --property at-most-one-leader";

/// Commands that find nothing: they show something, or serve a page until they are ended.
const NO_VERDICT: &[&str] = &["explore", "list", "trace", "completions", "man", "help"];

/// Flags that name a file or a folder, and what happens to it.
const FILES: &[(&str, &str, &str)] = &[
    ("check", "--out", SAVED),
    ("tune", "--out", SAVED),
    ("bounds", "--out", SAVED),
    ("suite", "--junit", SAVED),
    ("suite", "--markdown", SAVED),
    ("survey", "--svg", SAVED),
    ("explore", "--export", SAVED),
    ("trace", "--output", SAVED),
    ("man", "--out", SAVED),
    ("check", "--disk", "a search that cannot be saved is cut short, which is in disk.rs"),
];

/// What could not be saved is told, and the status is as it should be: it stands in [`LOST_FILES`].
const SAVED: &str = "";

/// A line with a file that is on a full disk, the status, and the flag and file that are named.
const LOST_FILES: &[(&str, i32, &str)] = &[
    ("check bully --recoveries 1 --out full", 1, "full/bully-at-most-one-leader.ndjson"),
    ("check bully --recoveries 1 --out full --json", 1, "full/bully-at-most-one-leader.ndjson"),
    ("tune bully --variant baseline --delay 1 --out full", LOST, "full/bully-t-elec-2-tm-1-tp-0"),
    ("bounds bully --out full", LOST, "full/bully-messages.svg"),
    ("suite differs.toml --junit /dev/full", 1, "/dev/full"),
    ("suite right.toml --markdown /dev/full", LOST, "/dev/full"),
    ("survey bully --max-states 300 --svg /dev/full", LOST, "/dev/full"),
    ("explore bully --nodes 2 --export /dev/full", LOST, "/dev/full"),
    ("trace kept/bully-at-most-one-leader.ndjson --output /dev/full", LOST, "/dev/full"),
    ("man --out full", LOST, "full/bellwether-model.1"),
];

/// The program, as if it were installed.
fn program(dir: &Path) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("bellwether-model"));
    command.env_remove("CARGO").env("NO_COLOR", "1").current_dir(dir);
    command
}

/// The files that the lines name.
fn folder() -> TempDir {
    let dir = TempDir::new().expect("a folder");
    let at = |name: &str| dir.path().join(name);
    let kept = run_in(dir.path(), "check bully --recoveries 1 --out kept");
    assert_eq!(kept.status, 1, "{}", kept.stderr);
    for (name, steps, more) in
        [("right", 5, ""), ("differs", 4, ""), ("cut-short", 5, "max-states = 1\n")]
    {
        let case = format!(
            "[[case]]\nprotocol = \"bully\"\nrecoveries = 1\n{more}\
             expect = {{ at-most-one-leader = \"violated in {steps} steps\" }}\n"
        );
        fs::write(at(&format!("{name}.toml")), case).expect("writable");
    }
    fs::create_dir(at("full")).expect("a folder");
    let on_a_full_disk = [
        "bully-at-most-one-leader.ndjson",
        "bully-t-elec-2-tm-1-tp-0.ndjson",
        "bully-messages.svg",
        "bellwether-model.1",
    ];
    for name in on_a_full_disk {
        symlink("/dev/full", at("full").join(name)).expect("a link");
    }
    dir
}

#[test]
fn no_reader_and_no_room_makes_another_status() {
    let dir = folder();
    let run = || program(dir.path());
    let wrong = LINES.iter().flat_map(|&line| other_statuses(run, line, LOST));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_command_has_a_line_with_its_verdict() {
    let without = without_verdict(&mut program(Path::new(".")), LINES);
    assert_eq!(without, NO_VERDICT);
    let verdicts: BTreeSet<i32> = LINES.iter().map(|&(_, status)| status).collect();
    assert_eq!(verdicts, (0..=4).collect(), "every status that there is");
}

#[test]
fn a_file_that_cannot_be_written_is_told_and_hides_nothing() {
    let dir = folder();
    for (line, status, file) in LOST_FILES {
        let Ran { status: ended, stdout, stderr } = run_in(dir.path(), line);
        assert_eq!(ended, *status, "{line}: {stderr}");
        for says in [*file, "; give --", "No space left on device"] {
            assert!(stderr.contains(says), "{line}: '{says}' in: {stderr}");
        }
        assert_eq!(stderr.matches("error: ").count(), 1, "{line}: {stderr}");
        // What was found is printed all the same, and nothing is said to be where it is not.
        let finds_nothing = line.contains("--output") || line.starts_with("man ");
        assert_eq!(stdout.is_empty(), finds_nothing, "{line}: {stdout}");
        assert!(!stdout.contains("Saved: "), "{line}: {stdout}");
    }
    let (line, ..) = LOST_FILES[0];
    let found = run_in(dir.path(), line).stdout;
    assert!(found.contains("at-most-one-leader is violated"), "{found}");
}

#[test]
fn every_flag_that_writes_a_file_is_tried_with_a_full_disk() {
    let help = run_in(Path::new("."), "--help").stdout;
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    let mut known = BTreeSet::new();
    for command in commands.filter_map(|line| line.split_whitespace().next()) {
        let help = run_in(Path::new("."), &format!("help {command}")).stdout;
        for line in help.lines().filter(|line| line.trim_start().starts_with('-')) {
            let mut words = line.split_whitespace().skip_while(|word| !word.starts_with("--"));
            if let (Some(flag), Some("<DIR>" | "<FILE>")) = (words.next(), words.next()) {
                known.insert((command.to_owned(), flag.to_owned()));
            }
        }
    }
    let listed = FILES.iter().map(|&(command, flag, _)| (command.to_owned(), flag.to_owned()));
    assert_eq!(known, listed.collect());
    for (command, flag, _) in FILES.iter().filter(|(.., what)| *what == SAVED) {
        let of_it = |line: &str| line.starts_with(command) && line.contains(&format!(" {flag} "));
        assert!(LOST_FILES.iter().any(|(line, ..)| of_it(line)), "{command} {flag}");
    }
}

/// While nothing reads what it prints, the first Ctrl-C changes nothing, and the second ends it
/// with what it has found.
#[test]
fn a_second_signal_while_it_prints_keeps_the_status() {
    for signal in [Signal::INT, Signal::TERM] {
        let dir = TempDir::new().expect("a folder");
        let (reader, writer) = pipe().expect("a pipe");
        let mut filler = writer.try_clone().expect("a handle");
        let (fill, filled) = mpsc::channel();
        // It ends when the reader is gone.
        let fills = thread::spawn(move || {
            while filler.write_all(&[b'.'; 4096]).is_ok() {
                let _ = fill.send(());
            }
        });
        while filled.recv_timeout(Duration::from_secs(1)).is_ok() {}
        let mut child = program(dir.path())
            .args("check bully --recoveries 1 --out out".split(' '))
            .stdin(Stdio::null())
            .stdout(writer)
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        // The trace is saved once the status is decided, and before anything is printed.
        let began = Instant::now();
        while !dir.path().join("out/bully-at-most-one-leader.html").exists() {
            assert!(began.elapsed() < Duration::from_secs(60), "it saves nothing");
            sleep(Duration::from_millis(10));
        }
        let mut signals = 0;
        let status = loop {
            sleep(Duration::from_millis(300));
            if let Some(status) = child.try_wait().expect("a child") {
                break status;
            }
            // Two that come before it has seen the first are one.
            kill_process(Pid::from_child(&child), signal).expect("it is there");
            signals += 1;
        };
        assert!(signals >= 2, "it waits for a reader");
        assert_eq!(status.code(), Some(1), "{signal:?}");
        drop(reader);
        fills.join().expect("no panic");
    }
}

/// Far more states than a test can wait for.
const ENDLESS: &str = "check bully --nodes 6 --crashes 2 --property at-most-one-leader";

/// A process, and the files that it prints to: it may print more than a pipe holds.
struct Running {
    child: Child,
    printed: [File; 2],
}

fn start(line: &str) -> Running {
    let binary = assert_cmd::cargo::cargo_bin("bellwether-model");
    let printed = [(); 2].map(|()| tempfile::tempfile().expect("a file"));
    let [stdout, stderr] = printed.each_ref().map(|file| file.try_clone().expect("a handle"));
    let mut command = Command::new(binary);
    let command = command.args(line.split_whitespace()).stdout(stdout).stderr(stderr);
    Running { child: command.spawn().expect("the binary starts"), printed }
}

impl Running {
    fn is_over(&mut self) -> bool {
        self.child.try_wait().expect("it is a child").is_some()
    }

    /// Waits until it has worked for half a second, so it has begun what it is there for.
    #[track_caller]
    fn works(&mut self) {
        let path = format!("/proc/{}/stat", self.child.id());
        // The processor time in user mode, in hundredths of a second: the twelfth after the name.
        let ticks = |stat: &str| stat.rsplit(')').next()?.split_whitespace().nth(11)?.parse().ok();
        while ticks(&fs::read_to_string(&path).unwrap_or_default()).unwrap_or(0_u64) < 50 {
            assert!(!self.is_over(), "it ended too early");
            sleep(Duration::from_millis(5));
        }
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the process is there");
    }

    /// Waits until it has ended, and looks at it all the while.
    #[track_caller]
    fn ends(&mut self, mut look: impl FnMut(&Child)) {
        let began = Instant::now();
        while !self.is_over() {
            if began.elapsed() > Duration::from_secs(300) {
                self.child.kill().expect("it is a child");
                panic!("it goes on after five minutes");
            }
            look(&self.child);
            sleep(Duration::from_millis(5));
        }
    }

    /// The exit status, and what was printed on standard output and standard error.
    fn said(mut self) -> (Option<i32>, [String; 2]) {
        let status = self.child.wait().expect("it has ended").code();
        let read = |mut file: File| {
            let mut text = String::new();
            file.rewind().and_then(|()| file.read_to_string(&mut text)).expect("UTF-8");
            text
        };
        (status, self.printed.map(read))
    }
}

/// The most memory that a process has used, as the system counts it, in bytes.
fn peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.split_whitespace().next().and_then(|kib| kib.parse().ok()).map_or(0, |kib: u64| kib << 10)
}

#[test]
fn a_signal_ends_a_search_and_it_says_what_it_knows() {
    for stop in [Signal::INT, Signal::TERM] {
        let mut search = start(&format!("{ENDLESS} --json"));
        search.works();
        search.signal(stop);
        search.ends(|_| ());
        let (status, [report, _]) = search.said();
        assert_eq!(status, Some(3), "{report}");
        let report: Value = serde_json::from_str(&report).expect("a whole report");
        assert_eq!(report["cut_short"], "interrupted", "{report}");
        assert!(report["states"]["distinct"].as_u64().is_some_and(|states| states > 0), "{report}");
    }
}

#[test]
fn a_second_signal_ends_the_program_at_once() {
    let mut search = start(ENDLESS);
    search.works();
    // It sees both at the same time.
    for signal in [Signal::STOP, Signal::INT, Signal::TERM, Signal::CONT] {
        search.signal(signal);
    }
    search.ends(|_| ());
    let (status, [report, _]) = search.said();
    // Which of two signals that wait is handled first is the system's choice.
    assert!(matches!(status, Some(130 | 143)), "{status:?}");
    assert_eq!(report, "");
}

#[test]
fn what_was_found_is_told_at_once_and_reported_in_the_end() {
    let mut search = start("check bully --nodes 6 --crashes 2 --recoveries 1");
    let began = Instant::now();
    // The place in the file belongs to the process that writes.
    let tells = |search: &Running| search.printed[1].read_at(&mut [0], 0).expect("a file") > 0;
    while !tells(&search) {
        assert!(!search.is_over(), "it ended too early");
        assert!(began.elapsed() < Duration::from_secs(60), "it tells nothing");
        sleep(Duration::from_millis(50));
    }
    search.signal(Signal::TERM);
    search.ends(|_| ());
    let (status, [report, told]) = search.said();
    assert_eq!(status, Some(1), "{told}");
    let lines: Vec<&str> = told.lines().collect();
    let progress = lines.iter().position(|line| line.contains(" states, "));
    let progress = progress.unwrap_or_else(|| panic!("no progress: {told}"));
    assert_eq!(lines[0], "violated: at-most-one-leader, 5 steps");
    assert!(lines[..progress].iter().all(|line| line.starts_with("violated: ")), "{told}");
    for says in ["violated (5 steps)", "1. P6, the leader, crashes.", "unknown: it was "] {
        assert!(report.contains(says), "'{says}' in: {report}");
    }
    assert!(report.contains("The search was cut short after "), "{report}");
}

#[test]
fn a_suite_that_is_stopped_says_what_was_decided_until_then() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("suite.toml");
    let case = |flags: &str| {
        let expect = "expect = { at-most-one-leader = \"holds\" }";
        format!("[[case]]\nprotocol = \"bully\"\n{flags}\n{expect}\n")
    };
    let cases = [case(""), case("nodes = 6\ncrashes = 2"), case("nodes = 2")];
    fs::write(&file, cases.concat()).expect("writable");
    let mut suite = start(&format!("suite {}", file.display()));
    suite.works();
    suite.signal(Signal::INT);
    suite.ends(|_| ());
    let (status, [told, _]) = suite.said();
    assert_eq!(status, Some(3), "{told}");
    let lines: Vec<&str> = told.lines().collect();
    let begins = [
        "as expected: bully (1 property, 96 states, ",
        "unknown: bully --nodes 6 --crashes 2: at-most-one-leader: unknown: it was interrupted",
        "not run: bully --nodes 2",
        "3 cases: 1 as expected, 1 unknown, 1 not run",
    ];
    assert_eq!(lines.len(), begins.len(), "{told}");
    for (line, begins) in lines.iter().zip(begins) {
        assert!(line.starts_with(begins), "{begins} in: {told}");
    }
}

#[test]
fn every_long_command_ends_on_a_signal() {
    let lines = [
        "bounds bully --nodes 6 --crashes 2",
        "tune bully --nodes 5 --crashes 2 --delay 1..12 --t-heartbeat 5",
        "survey",
    ];
    for line in lines {
        let mut command = start(line);
        command.works();
        command.signal(Signal::INT);
        command.ends(|_| ());
        let (status, said) = command.said();
        let said = said.concat();
        assert_eq!(status, Some(3), "{line}: {said}");
        assert!(said.contains("interrupted"), "{line}: {said}");
    }
}

#[test]
fn the_memory_limit_is_kept_as_the_system_counts() {
    const LIMIT: u64 = 128 << 20;
    let mut search = start(&format!("{ENDLESS} --memory 128M"));
    let mut most = 0;
    // At first, the system shows the memory of this program as that of its child.
    search.works();
    search.ends(|child| most = most.max(peak(child)));
    let (status, [said, _]) = search.said();
    assert_eq!(status, Some(3), "{said}");
    assert!(said.contains("the limit on memory was reached"), "{said}");
    assert!(most >= LIMIT / 2, "it was never close: {most} bytes");
    assert!(most <= LIMIT + LIMIT / 4, "{most} bytes");
}

/// Where a person looks on, one line changes while it searches, and is gone in the end; what is
/// printed elsewhere has nothing of it.
#[test]
fn a_terminal_shows_a_line_that_changes_and_clears_it() {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("it is ours");
    let name = ptsname(&master, Vec::new()).expect("it has a name").into_string().expect("UTF-8");
    let slave = File::options().read(true).write(true).open(name).expect("the other end");
    let mut printed = tempfile::tempfile().expect("a file");
    let mut search = Command::new(assert_cmd::cargo::cargo_bin("bellwether-model"))
        .args(ENDLESS.split(' '))
        .args(["--max-seconds", "5"])
        .env("TERM", "xterm")
        .stdout(printed.try_clone().expect("a handle"))
        .stderr(slave)
        .spawn()
        .expect("the binary starts");
    // Reading fails when no process has the other end open any more.
    let mut told = Vec::new();
    drop(File::from(master).read_to_end(&mut told));
    assert_eq!(search.wait().expect("it has ended").code(), Some(3));
    let told = String::from_utf8(told).expect("UTF-8");
    let lines = told.matches(" states, ").count();
    assert!(lines > 3 && told.contains(" levels"), "{lines} times in {told:?}");
    let cleared = told.trim_end_matches(['\r', '\n']).ends_with("\u{1b}[2K");
    assert!(cleared && !told.contains("\nstates"), "{told:?}");
    let mut report = String::new();
    printed.rewind().and_then(|()| printed.read_to_string(&mut report)).expect("UTF-8");
    assert!(report.contains("the limit on time was reached"), "{report}");
    assert!(!report.contains('\u{1b}') && !report.contains("/s, "), "{report}");
}

//! Searches that end before they are done: on Ctrl-C, on SIGTERM, and at the memory limit. Each
//! says what it knows, and exits with 3, or 1 if it has found a violation.

use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::Value;
use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::unix::fs::FileExt;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

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
            if began.elapsed() > Duration::from_secs(60) {
                self.child.kill().expect("it is a child");
                panic!("it goes on after a minute");
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
    for says in ["violated (5 steps)", "1. 6, the leader, crashes.", "unknown: it was interrupted"]
    {
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
        "claims",
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

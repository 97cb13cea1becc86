//! Several processes on the loopback: they find what the engine exact finds, and a process that is
//! lost, or that searches something else, is named.

use bellwether_engine::check as checks;
use bellwether_protocols::REGISTRY;
use bellwether_testbed::ports::free_port;
use bellwether_tool::cli::{QuestionArgs, Tool, status, with_durations};
use clap::{Args, FromArgMatches};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::Duration;
use tempfile::NamedTempFile;

/// Far more states than a test can wait for.
pub(crate) const ENDLESS: &str = "check bully --nodes 6 --crashes 2 --property at-most-one-leader";

/// Processes that are to search together, and where they listen.
pub(crate) struct Cluster {
    pub(crate) hosts: NamedTempFile,
    ports: Vec<u16>,
}

impl Cluster {
    pub(crate) fn of(processes: usize) -> Self {
        let ports: Vec<_> = (0..processes).map(|_| free_port()).collect();
        let mut hosts = NamedTempFile::new().expect("a file");
        for port in &ports {
            writeln!(hosts, "127.0.0.1:{port} # a process").expect("it can be written");
        }
        Cluster { hosts, ports }
    }

    pub(crate) fn start(&self, process: usize, line: &str) -> Child {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("bellwether-dataflow"));
        command.args(line.split_whitespace()).arg("--hosts").arg(self.hosts.path());
        command.args(["--process", &process.to_string()]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts")
    }

    /// All of them with the same command; what each said.
    pub(crate) fn run(&self, line: &str) -> Vec<Output> {
        let all: Vec<_> = (0..self.ports.len()).map(|process| self.start(process, line)).collect();
        ended(all)
    }

    /// Two that search without end, of which the second gets this signal; what each said.
    pub(crate) fn signalled(&self, line: &str, signal: Signal) -> Vec<Output> {
        let mut all = [0, 1].map(|process| self.start(process, line));
        all.iter_mut().for_each(works);
        kill_process(Pid::from_child(&all[1]), signal).expect("it is there");
        ended(all)
    }
}

pub(crate) fn ended(all: impl IntoIterator<Item = Child>) -> Vec<Output> {
    all.into_iter().map(|child| child.wait_with_output().expect("it ends")).collect()
}

pub(crate) fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!text.contains("panic"), "{text}");
    let Ok(told) = serde_json::from_slice::<Value>(&output.stdout) else {
        return text.lines().filter(|line| line.starts_with("error:")).collect();
    };
    let causes = told["error"]["causes"].as_array().into_iter().flatten();
    let wrong = std::iter::once(&told["error"]["message"]).chain(causes);
    let wrong: Vec<&str> = wrong.filter_map(Value::as_str).collect();
    [&wrong.join(": "), told["error"]["help"].as_str().unwrap_or_default()].join("; ")
}

/// Waits until it has worked for a fifth of a second.
fn works(child: &mut Child) {
    let path = format!("/proc/{}/stat", child.id());
    let ticks = |stat: &str| stat.rsplit(')').next()?.split_whitespace().nth(11)?.parse().ok();
    while ticks(&std::fs::read_to_string(&path).unwrap_or_default()).unwrap_or(0_u64) < 20 {
        assert!(child.try_wait().expect("it is a child").is_none(), "it ended too early");
        sleep(Duration::from_millis(5));
    }
}

/// What the engine exact finds, to compare with: what `check` would print with these flags and
/// `--json`, and its exit status.
pub(crate) fn exact(line: &str) -> (Value, i32) {
    let command = clap::Command::new("exact").no_binary_name(true);
    let command = command.subcommand(QuestionArgs::augment_args(clap::Command::new("check")));
    let command = with_durations(command, REGISTRY);
    let matches = command.try_get_matches_from(line.split_whitespace()).expect("flags");
    let (_, flags) = matches.subcommand().expect("a command");
    let question = QuestionArgs::from_arg_matches(flags).expect("its flags");
    let world = question.world(Tool::new("exact", REGISTRY)).expect("a world");
    let properties = question.properties(&world).expect("the properties");
    let report =
        checks::check(&world, &properties, &question.options(), &mut |_| {}).expect("a report");
    let json = serde_json::to_string(&report).expect("JSON");
    (without_how(json.as_bytes()), i32::from(status(report.verdict())))
}

/// A report without what says how it was searched.
fn without_how(json: &[u8]) -> Value {
    let mut json: Value = serde_json::from_slice(json).expect("a report");
    let object = json.as_object_mut().expect("an object");
    for key in ["version", "engine", "threads", "processes", "seconds", "peak_rss_bytes"] {
        object.remove(key);
    }
    json
}

pub(crate) fn report(output: &Output) -> Value {
    without_how(&output.stdout)
}

#[test]
fn processes_find_what_the_engine_exact_finds() {
    let safety = "--property at-most-one-leader --property agreement --property decided";
    let lines = [
        "check bully --variant baseline --network set --crashes 2 --recoveries 1",
        "check bully --crashes 2 --recoveries 1 --first",
        "check raft-election --crashes 1 --recoveries 1 --suspicions 1",
        "check bully --variant baseline --timing timed --delay 2 --t-elec 4 --t-coord 6 \
         --t-detect 4",
    ];
    for line in lines {
        let line = match line.contains("bully") {
            true => format!("{line} --json --threads 1 {safety}"),
            false => format!("{line} --json --threads 1 --property at-most-one-leader"),
        };
        let (exact, status) = exact(&line);
        for processes in [2, 3] {
            for output in Cluster::of(processes).run(&line) {
                assert_eq!(output.status.code(), Some(status), "{line}: {output:?}");
                assert_eq!(report(&output), exact, "{line}");
            }
        }
    }
}

#[test]
fn a_process_that_is_killed_is_named_by_all_others() {
    for (processes, killed) in [(2, 0), (2, 1), (3, 1)] {
        let cluster = Cluster::of(processes);
        let mut all: Vec<_> =
            (0..processes).map(|process| cluster.start(process, ENDLESS)).collect();
        all.iter_mut().for_each(works);
        all[killed].kill().expect("it is a child");
        let place = format!("process {killed} (127.0.0.1:{})", cluster.ports[killed]);
        for (process, output) in ended(all).iter().enumerate() {
            if process != killed {
                let told = error(output);
                assert!(told.contains(&format!("the connection to {place} is lost")), "{told}");
            }
        }
    }
}

/// An interruption of one ends the search of all, and all tell what is known.
#[test]
fn an_interruption_of_one_ends_all() {
    let all = Cluster::of(2).signalled(&format!("{ENDLESS} --json"), Signal::INT);
    assert!(all.iter().all(|output| output.status.code() == Some(3)), "{all:?}");
    let (a, b) = (report(&all[0]), report(&all[1]));
    assert_eq!(a, b);
    assert_eq!(a["cut_short"], "interrupted");
    let (waiting, states) = (a["unfinished"]["waiting"].as_u64(), a["states"]["distinct"].as_u64());
    assert!(waiting > Some(0) && waiting < states, "{a}");
}

#[test]
fn processes_that_search_something_else_are_told_what_differs() {
    let cases = [
        ("check bully --nodes 3", "check bully --nodes 4", "its search scenario nodes is"),
        ("check bully --property agreement", "check bully", "its search properties is"),
        ("check bully --threads 1", "check bully --threads 2", "its --threads is"),
        ("check bully", "check bully --first", "its --first is"),
    ];
    for (one, other, what) in cases {
        let cluster = Cluster::of(2);
        let threads = |line: &str| match line.contains("--threads") {
            true => line.to_owned(),
            false => format!("{line} --threads 1"),
        };
        let all = [cluster.start(0, &threads(one)), cluster.start(1, &threads(other))];
        for (process, output) in ended(all).iter().enumerate() {
            let told = error(output);
            assert!(told.contains(&format!("process {} (", 1 - process)), "{told}");
            assert!(told.contains(what), "{told}");
        }
    }
}

#[test]
fn a_process_that_is_not_there_is_named() {
    let cluster = Cluster::of(2);
    let second = cluster.start(1, "check bully --max-seconds 1").wait_with_output();
    let told = error(&second.expect("it ends"));
    let place = format!("process 0 (127.0.0.1:{})", cluster.ports[0]);
    assert!(
        told.contains(&format!("{place} is not there after 1 s: Connection refused")),
        "{told}"
    );
    assert!(told.contains("start it with --process 0"), "{told}");
    let taken = TcpListener::bind(("127.0.0.1", cluster.ports[0])).expect("it is free");
    let told = error(&cluster.start(0, "check bully").wait_with_output().expect("it ends"));
    assert!(told.contains(&format!("cannot listen on 127.0.0.1:{}", cluster.ports[0])), "{told}");
    drop(taken);
}

/// Whatever else connects to a process that waits.
#[test]
fn strangers_do_no_harm() {
    let cluster = Cluster::of(2);
    let line = "check bully --json --threads 1 --property agreement";
    let first = cluster.start(0, line);
    let stranger = || loop {
        match TcpStream::connect(("127.0.0.1", cluster.ports[0])) {
            Ok(stream) => return stream,
            Err(_) => sleep(Duration::from_millis(20)),
        }
    };
    stranger().write_all(b"GET / HTTP/1.1\r\nHost: bellwether\r\n\r\n").expect("it listens");
    drop(stranger());
    let second = cluster.start(1, line);
    let all = ended([first, second]);
    assert_eq!(report(&all[0])["states"]["distinct"], report(&all[1])["states"]["distinct"]);
    assert_eq!(all[0].status.code(), Some(0), "{all:?}");
}

//! The newcomer's path: every block of commands that the README and the pages show for a shell is
//! run as it stands, or stands here with the reason why it is not. One that does neither fails.
//!
//! The blocks are run by bash, in a folder that looks like the clone: what cargo would build is
//! what the tests have built, and the nodes have ports of their own.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What is done with a block.
enum How {
    /// It is run to its end, and each of its commands must succeed.
    Runs,
    /// It is run until it has printed this, and then stopped: it serves until it is.
    Prints(&'static str),
    /// What it starts in the background is stopped as the README says, once this command succeeds.
    Until(&'static str),
    /// It takes many minutes: it is run whole if [`ALL`] is set, and its last command ends with
    /// this. Otherwise it is run with these flags besides, which end it early; without any it is
    /// not run.
    RunsLong(i32, &'static str),
    /// It is not run, because of this.
    Not(&'static str),
}

use How::{Not, Prints, Runs, RunsLong, Until};

/// The variable that asks for the long blocks too.
const ALL: &str = "BELLWETHER_LONG";

/// What ends a search early.
const FEW: &str = "--max-states 500";

const LONG: &str = "it takes many minutes";
const ROOT: &str = "it needs root, and takes many minutes";
const TEST: &str = "it is a test, which runs beside this one";

/// Each block: its page, how its first line begins, and what is done with it.
const BLOCKS: &[(&str, &str, How)] = &[
    (
        "README.md",
        "cargo build --release --workspace",
        Until("target/release/bellwether status --config impl/examples/cluster.toml --node 1"),
    ),
    ("docs/adding-a-protocol.md", "cd conformance", Not("tests/roll_call.rs runs what it builds")),
    ("docs/architecture.md", "BELLWETHER_CASES=2000", Not(LONG)),
    ("docs/ci.md", "#!/usr/bin/env bash", Runs),
    ("docs/ci.md", "cargo run -p bellwether-conformance --example mutants", Not(LONG)),
    ("docs/ci.md", "target/release/bellwether-conformance lockstep", Runs),
    ("docs/daemon.md", "cargo build --release -p bellwether", Prints("taking part in elections")),
    ("docs/daemon.md", "target/release/bellwether exec", Prints("taking part in elections")),
    ("docs/daemon.md", "bellwether keys secret /etc", Not("it writes into /etc")),
    ("docs/daemon.md", "bellwether keys init keys", Runs),
    ("docs/dataflow.md", "cargo build --release -p bellwether-dataflow", Runs),
    (
        "docs/fencing.md",
        "cargo build -p job-runner",
        Until("target/debug/job-runner results --database jobs.db | grep -q '[1-9]'"),
    ),
    (
        "docs/http.md",
        "curl -X POST",
        Not("it asks a node that serves HTTP; tests/processes/http.rs"),
    ),
    ("docs/http.md", "bellwether keys init keys", Not("it asks another machine")),
    ("docs/model.md", "target/release/bellwether-model check bully --recoveries 1 --json", Runs),
    ("docs/performance.md", "cargo run --release -p bellwether-model --example", Not(LONG)),
    ("docs/performance.md", "target/release/bellwether-model check bully --variant", Not(LONG)),
    ("docs/performance.md", "world='bully --variant baseline", Runs),
    ("docs/performance.md", "mkdir -p out", Not("it needs TLC and SPIN, and takes many minutes")),
    (
        "docs/performance.md",
        "target/release/bellwether-model check bully --nodes 5",
        RunsLong(1, FEW),
    ),
    ("docs/performance.md", "for protocol in bully", Not(LONG)),
    ("docs/performance.md", "cargo run --release -p bellwether-sim -- failover", RunsLong(0, "")),
    ("docs/performance.md", "cargo bench -p bellwether --bench cluster -- failover", Not(ROOT)),
    ("docs/performance.md", "cargo bench -p bellwether --bench cluster -- quiescent", Not(LONG)),
    ("docs/protocols/garcia-molina.md", "cargo test -p bellwether-conformance", Not(TEST)),
    (
        "docs/protocols/quorum.md",
        "cargo run --release -- check quorum --variant bare",
        RunsLong(4, FEW),
    ),
    ("docs/protocols/quorum.md", "cargo run --release -- check quorum --engine", RunsLong(3, FEW)),
    ("docs/protocols/quorum.md", "BELLWETHER_CASES=1500", Not(LONG)),
    (
        "docs/protocols/quorum.md",
        "cargo run --release -p bellwether-conformance -- lockstep",
        RunsLong(0, FEW),
    ),
    ("docs/prove.md", "apt install z3", Not("it installs a package, as root")),
    (
        "docs/questions.md",
        "cargo run --release -p bellwether-conformance -- lockstep quorum",
        RunsLong(0, FEW),
    ),
    ("docs/reductions.md", "BELLWETHER_CASES=2000", Not(LONG)),
    ("docs/simulation.md", "cargo run --release -p bellwether-sim -- replay", Runs),
    ("docs/simulation.md", "cargo run --release -p bellwether-sim -- run --json", RunsLong(0, "")),
    ("docs/simulation.md", "cargo run --release -p bellwether-sim -- run --nodes", RunsLong(0, "")),
    ("docs/soak.md", "cargo bench -p bellwether --bench cluster -- soak --faults", Not(ROOT)),
    ("docs/soak.md", "cargo bench -p bellwether --bench cluster -- soak --drift", Not(ROOT)),
    ("docs/soak.md", "BELLWETHER_ROUNDS=50", Not(LONG)),
    ("docs/survey.md", "cargo run --release -- survey", RunsLong(0, "--max-states 100")),
    ("docs/tutorial.md", "cargo run --release -- explore", Prints("Explorer: http://")),
    (
        "docs/tutorial.md",
        "cargo build --release --workspace",
        Until(
            "target/release/bellwether status --config examples/job-runner/cluster.toml --node 1",
        ),
    ),
    ("docs/tutorial.md", "kill -9 %3", Not("it kills a node of the block above; tests/processes")),
    ("docs/tutorial.md", "cargo run --release -p bellwether-conformance -- lockstep", Runs),
];

/// In blocks that show what is printed, the commands that a test of the checker does not run.
const SHOWN: &[(&str, &str, &str)] = &[
    ("docs/dataflow.md", "cargo run --release -p bellwether-dataflow", "a test of that package"),
    ("docs/detectors.md", "cargo run --release -p bellwether --example", "a test of that example"),
    ("docs/simulation.md", "cargo run --release -p bellwether-sim -- run", LONG),
];

/// No block may take longer, and no long one longer than that.
const LIMIT: Duration = Duration::from_secs(120);
const LONGEST: Duration = Duration::from_secs(3_600);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The README and the pages, by their paths in the clone.
fn pages() -> BTreeMap<String, String> {
    let mut pages = vec!["README.md".to_owned()];
    for folder in ["docs", "docs/protocols"] {
        let entries = fs::read_dir(root().join(folder)).expect("the folder can be read");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let names = names.map(|name| name.to_str().expect("plain text").to_owned());
        pages.extend(names.filter(|name| name.ends_with(".md")).map(|n| format!("{folder}/{n}")));
    }
    let read = |page: &String| fs::read_to_string(root().join(page)).expect("it can be read");
    pages.into_iter().map(|page| (page.clone(), read(&page))).collect()
}

/// The blocks of a page in this language.
fn blocks<'p>(page: &'p str, language: &str) -> Vec<&'p str> {
    let begin = format!("\n```{language}\n");
    let rest = page.split(begin.as_str()).skip(1);
    rest.map(|rest| rest.split("```").next().unwrap_or_default()).collect()
}

#[test]
fn every_block_for_a_shell_is_run_or_has_a_reason() {
    let mut known = vec![0; BLOCKS.len()];
    for (page, text) in pages() {
        for block in blocks(&text, "sh") {
            let is = |(of, begins, _): &(&str, &str, How)| *of == page && block.starts_with(begins);
            let at = BLOCKS.iter().position(is);
            known
                [at.unwrap_or_else(|| panic!("{page}: say in BLOCKS what to do with\n{block}"))] +=
                1;
        }
        for line in blocks(&text, "console").into_iter().flat_map(str::lines) {
            let Some(command) = line.strip_prefix("$ ") else { continue };
            let is =
                |(of, begins, _): &&(&str, &str, _)| *of == page && command.starts_with(begins);
            let run = command.starts_with("cargo run --release -- ");
            assert!(run || SHOWN.iter().any(|shown| is(&shown)), "{page}: not run: {command}");
        }
    }
    for ((page, begins, how), times) in BLOCKS.iter().zip(known) {
        assert_eq!(times, 1, "{page}: blocks that begin with {begins}");
        if let Not(why) = how {
            assert!(!why.is_empty());
        }
    }
}

#[test]
fn what_the_pages_show_works_as_it_stands() {
    let Some(clone) = Clone::new() else { return };
    let (pages, all) = (pages(), std::env::var_os(ALL).is_some());
    for (page, begins, how) in BLOCKS {
        let shown = blocks(&pages[*page], "sh");
        let block = shown.into_iter().find(|block| block.starts_with(begins)).expect("it is there");
        if !matches!(how, Not(_)) && block.contains("jq ") && is_missing("jq") {
            continue;
        }
        match how {
            Runs => clone.run(&format!("set -eu\n{block}"), block),
            Prints(what) => clone.run_until(what, block),
            Until(command) => {
                let look = format!("if {command}; then found=yes; break; fi; sleep 0.1");
                let wait = format!("for look in $(seq 300); do {look}; done");
                let end = "kill $(jobs -p)\nwait\ntest \"${found:-no}\" = yes";
                let stop = format!("{block}\n{wait}\n{end}");
                clone.run(&stop, block);
            }
            RunsLong(status, _) if all => {
                let begins = "mkdir -p docs/images";
                clone.run_for(LONGEST, &format!("{begins}\n{block}"), block, &[*status]);
            }
            RunsLong(_, "") | Not(_) => {}
            RunsLong(status, limit) => {
                let script = format!("set -eu\nexport {LIMITED}='{limit}'\n{block}");
                clone.run_for(LIMIT, &script, block, &[0, *status]);
            }
        }
    }
}

/// What stands in for cargo: it has built everything.
const CARGO: &str = r#"#!/usr/bin/env bash
set -eu
case "$1" in
  build) exit 0 ;;
  run) shift ;;
  *) echo "cargo $1 is not known here" >&2; exit 64 ;;
esac
program=bellwether-model
while [ "$1" != -- ]; do
  case "$1" in
    --release) shift ;;
    -p) program=$2; shift 2 ;;
    *) echo "cargo run $1 is not known here" >&2; exit 64 ;;
  esac
done
shift
if [ "$1" = explore ]; then set -- "$@" --address 127.0.0.1:0; fi
exec "target/release/$program" "$@"
"#;

/// The variable with the flags that end a search early.
const LIMITED: &str = "BELLWETHER_LIMITED";

/// What stands in for a program that searches: it does what that does, and claims nothing of a
/// search that was to end early.
const SEARCHES: &str = r#"#!/usr/bin/env bash
limit=${BELLWETHER_LIMITED:-}
if [ -z "$limit" ]; then exec PROGRAM "$@"; fi
PROGRAM "$@" $limit && exit 0
status=$?
if [ "$status" = 3 ]; then exit 0; fi
exit "$status"
"#;

/// Whether a tool is not there; then it is said so.
fn is_missing(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").stdout(Stdio::null()).status();
    let missing = found.is_err();
    if missing {
        // Other than what `eprintln` writes, this is seen although the test passes.
        let _ = writeln!(std::io::stderr(), "skipped: some commands of the pages need {tool}");
    }
    missing
}

fn write_program(at: &Path, script: &str) {
    fs::write(at, script).expect("it can be written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(at, executable).expect("it can be made executable");
}

/// A folder in which the blocks find what they expect in the root of the clone.
struct Clone {
    folder: TempDir,
}

impl Clone {
    /// Nothing where there is no bash.
    fn new() -> Option<Clone> {
        if is_missing("bash") {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        let built = Path::new(env!("CARGO_BIN_EXE_bellwether-conformance"));
        let built = built.parent().expect("a folder");
        for made in ["target/release", "bin", "impl/examples", "examples/job-runner"] {
            fs::create_dir_all(at(made)).expect("it can be made");
        }
        symlink(at("target/release"), at("target/debug")).expect("a link");
        let searching = ["bellwether-model", "bellwether-conformance"];
        let others = ["bellwether", "bellwether-dataflow", "bellwether-sim", "job-runner"];
        for name in others.iter().chain(&searching) {
            let program = built.join(name);
            assert!(program.exists(), "run `cargo build --workspace` first: there is no {name}");
            let place = at("target/release").join(name);
            if searching.contains(name) {
                let quoted = format!("'{}'", program.display());
                write_program(&place, &SEARCHES.replace("PROGRAM", &quoted));
            } else {
                symlink(program, &place).expect("a link");
            }
            symlink(place, at("bin").join(name)).expect("a link");
        }
        write_program(&at("bin/cargo"), CARGO);
        for config in ["impl/examples/cluster.toml", "examples/job-runner/cluster.toml"] {
            let text = fs::read_to_string(root().join(config)).expect("it can be read");
            fs::write(at(config), with_free_ports(&text)).expect("it can be written");
        }
        Some(Clone { folder })
    }

    /// Starts bash with this script, in a process group of its own.
    fn start(&self, script: &str) -> Group {
        let folder = self.folder.path();
        let output = fs::File::create(self.output()).expect("it can be written");
        let errors = output.try_clone().expect("a second handle");
        let path = std::env::var("PATH").expect("there is a path");
        let mut bash = Command::new("bash");
        bash.args(["-c", script]).current_dir(folder).process_group(0);
        bash.env("PATH", format!("{}:{path}", folder.join("bin").display())).env_remove("CARGO");
        bash.stdin(Stdio::null()).stdout(output).stderr(errors);
        Group(bash.spawn().expect("it starts"))
    }

    fn output(&self) -> PathBuf {
        self.folder.path().join("output")
    }

    fn said(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.output()).expect("it can be read")).into_owned()
    }

    fn run(&self, script: &str, block: &str) {
        self.run_for(LIMIT, script, block, &[0]);
    }

    fn run_for(&self, limit: Duration, script: &str, block: &str, expected: &[i32]) {
        let started = Instant::now();
        let mut group = self.start(script);
        let status = loop {
            if let Some(status) = group.0.try_wait().expect("it is our child") {
                break status;
            }
            assert!(started.elapsed() < limit, "{limit:?} are over:\n{block}\n{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        };
        let is_right = status.code().is_some_and(|code| expected.contains(&code));
        assert!(is_right, "{status}:\n{block}\n{}", self.said());
    }

    fn run_until(&self, what: &str, block: &str) {
        let started = Instant::now();
        let mut group = self.start(block);
        while !self.said().contains(what) {
            let over = group.0.try_wait().expect("it is our child").is_some();
            let late = started.elapsed() > LIMIT;
            assert!(!over && !late, "no '{what}':\n{block}\n{}", self.said());
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// All that a block has started; it ends with the test.
struct Group(Child);

impl Drop for Group {
    fn drop(&mut self) {
        let group = format!("-{}", self.0.id());
        let _ = Command::new("kill").args(["-TERM", "--", &group]).stderr(Stdio::null()).status();
        let asked = Instant::now();
        while asked.elapsed() < Duration::from_secs(5) && matches!(self.0.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.0.wait();
    }
}

/// The same configuration, with ports on which no process listens.
fn with_free_ports(text: &str) -> String {
    const BEFORE: &str = "127.0.0.1:";
    let mut parts = text.split(BEFORE);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        out += &format!("{BEFORE}{}{rest}", free_port());
    }
    out
}

/// A port below those that the system hands out by itself, so that no connection takes it before
/// the node does.
fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let start = u16::try_from(std::process::id() % 4_000).expect("small");
    loop {
        let port = 10_000 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 8_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

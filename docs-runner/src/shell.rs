//! Blocks for a shell. They are run by bash, in a folder that looks like the clone: what cargo
//! would build is what the tests have built, and the nodes have ports of their own.

use crate::pages::root;
use crate::{notice, timed};
use std::env;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// What is done with a block.
pub enum How {
    /// It is run to its end, and each of its commands must succeed.
    Runs,
    /// It is run until it has printed this, and then stopped: it serves until it is.
    Prints(&'static str),
    /// What it starts in the background is stopped as the README says, once this command succeeds.
    Until(&'static str),
    /// It takes many minutes: it is run whole if `BELLWETHER_LONG` is set, and its last command
    /// ends with this. Otherwise it is run with these flags besides, which end it early; without
    /// any it is not run.
    RunsLong(i32, &'static str),
    /// It is not run, because of this.
    Not(&'static str),
}

/// The variable that asks for the long blocks too.
const ALL: &str = "BELLWETHER_LONG";

/// No block may take longer, and no long one longer than that.
const LIMIT: Duration = Duration::from_secs(120);
const LONGEST: Duration = Duration::from_secs(3_600);

/// How long between two looks at a block that is run.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

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

/// What stands in for the daemon: its demonstration serves the page on a free port.
const DAEMON: &str = r#"#!/usr/bin/env bash
if [ "${1:-}" = demo ]; then set -- "$@" --page 127.0.0.1:PORT; fi
exec PROGRAM "$@"
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
    if found.is_err() {
        notice(&format!("skipped: some commands of the pages need {tool}"));
    }
    found.is_err()
}

fn write_program(at: &Path, script: &str) {
    fs::write(at, script).expect("it can be written");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(at, executable).expect("it can be made executable");
}

/// A folder in which the blocks find what they expect in the root of the clone.
pub struct Checkout {
    folder: TempDir,
}

impl Checkout {
    /// Makes the folder, with the programs that have been built into another one. Returns nothing
    /// where there is no bash.
    pub fn new(built: &Path) -> Option<Self> {
        if is_missing("bash") {
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let at = |path: &str| folder.path().join(path);
        for made in ["target/release", "bin", "impl/examples", "examples/job-runner"] {
            fs::create_dir_all(at(made)).expect("it can be made");
        }
        symlink(at("target/release"), at("target/debug")).expect("a link");
        let daemon = DAEMON.replace("PORT", &free_port().to_string());
        let stand_ins = [
            ("bellwether", Some(daemon.as_str())),
            ("bellwether-model", Some(SEARCHES)),
            ("bellwether-conformance", Some(SEARCHES)),
            ("bellwether-dataflow", None),
            ("bellwether-sim", None),
            ("job-runner", None),
        ];
        for (name, stand_in) in stand_ins {
            let program = built.join(name);
            assert!(program.exists(), "run `cargo build --workspace` first: there is no {name}");
            let place = at("target/release").join(name);
            if let Some(stand_in) = stand_in {
                let quoted = format!("'{}'", program.display());
                write_program(&place, &stand_in.replace("PROGRAM", &quoted));
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
        Some(Self { folder })
    }

    /// Does with the block at this place what is said of it.
    pub fn run(&self, place: &str, block: &str, how: &How) {
        if matches!(how, How::Not(_)) || (block.contains("jq ") && is_missing("jq")) {
            return;
        }
        timed(place, || match how {
            How::Runs => self.succeeds(&format!("set -eu\n{block}"), LIMIT, &[0]),
            How::Prints(what) => self.wait(block, LIMIT, |_, said| said.contains(what)),
            How::Until(command) => {
                let look = format!("if {command}; then found=yes; break; fi; sleep 0.1");
                let wait = format!("for look in $(seq 300); do {look}; done");
                let end = "kill $(jobs -p)\nwait\ntest \"${found:-no}\" = yes";
                self.succeeds(&format!("{block}\n{wait}\n{end}"), LIMIT, &[0]);
            }
            How::RunsLong(status, _) if env::var_os(ALL).is_some() => {
                self.succeeds(&format!("mkdir -p docs/images\n{block}"), LONGEST, &[*status]);
            }
            How::RunsLong(_, "") | How::Not(_) => {}
            How::RunsLong(status, flags) => {
                let script = format!("set -eu\nexport {LIMITED}='{flags}'\n{block}");
                self.succeeds(&script, LIMIT, &[0, *status]);
            }
        });
    }

    /// Runs a script to its end, with one of these exit statuses.
    fn succeeds(&self, script: &str, limit: Duration, statuses: &[i32]) {
        self.wait(script, limit, |code, _| code.is_some_and(|code| statuses.contains(&code)));
    }

    /// Runs a script until its exit status, or what it has printed, is as it should be. Fails if it
    /// ends otherwise or takes too long.
    fn wait(&self, script: &str, limit: Duration, done: impl Fn(Option<i32>, &str) -> bool) {
        let started = Instant::now();
        let output = self.folder.path().join("output");
        let mut group = self.start(script, &output);
        loop {
            let status = group.0.try_wait().expect("it is our child");
            let said = fs::read(&output).expect("it can be read");
            let said = String::from_utf8_lossy(&said);
            if done(status.and_then(|status| status.code()), &said) {
                return;
            }
            let took = started.elapsed();
            let goes_on = status.is_none() && took < limit;
            assert!(goes_on, "{status:?} after {took:?}:\n{script}\n{said}");
            thread::sleep(LOOK_AGAIN);
        }
    }

    /// Starts bash with this script, in a process group of its own, which prints into a file.
    fn start(&self, script: &str, output: &Path) -> Group {
        let folder = self.folder.path();
        let output = fs::File::create(output).expect("it can be written");
        let errors = output.try_clone().expect("a second handle");
        let path = env::var("PATH").expect("there is a path");
        let mut bash = Command::new("bash");
        bash.args(["-c", script]).current_dir(folder).process_group(0);
        bash.env("PATH", format!("{}:{path}", folder.join("bin").display())).env_remove("CARGO");
        bash.stdin(Stdio::null()).stdout(output).stderr(errors);
        Group(bash.spawn().expect("it starts"))
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
            thread::sleep(LOOK_AGAIN);
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
    // Processes that are started one after the other begin far apart.
    let start = u16::try_from(std::process::id().wrapping_mul(601) % 8_000).expect("small");
    loop {
        let port = 10_000 + (start + NEXT.fetch_add(1, Ordering::Relaxed)) % 8_000;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

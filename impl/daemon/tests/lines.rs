//! What the program says, in scripts, and by its help; and its exit status, which is what was
//! found, whatever becomes of what is printed: a reader that has gone, a disk that is full.

use std::fs::{self, File};
use std::io::pipe;
use std::path::Path;
use std::process::{Command, Stdio};

use bellwether_docs_runner::script::run_scripts;
use bellwether_docs_runner::{not_in_the_manual, not_one_screen, other_statuses, without_verdict};

use super::common::{Cluster, Served, bellwether, free_port, keys};

/// `UPDATE=1 cargo test -p bellwether-daemon scripts` writes anew what is printed.
#[test]
fn the_scripts_tell_what_is_printed() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lines");
    run_scripts(&folder, || {
        let mut program = bellwether();
        program.env("PORT", free_port().to_string());
        program
    });
}

#[test]
fn the_short_help_of_every_command_is_one_screen_and_the_manual_has_a_page_for_it() {
    let wrong = not_one_screen(bellwether, &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing = not_in_the_manual(bellwether);
    assert!(missing.is_empty(), "{}", missing.join("\n"));
}

/// The exit status when a success cannot be printed.
const LOST: i32 = 1;

/// Each command with the statuses that it has without a cluster.
const LINES: &[(&str, i32)] = &[
    ("run --config nothing.toml --node 1", 2),
    ("run --config orders.toml --node 1 --data-dir /proc/nothing", 1),
    #[cfg(target_os = "linux")]
    ("exec --config orders.toml --node 1 --data-dir /proc/nothing -- true", 125),
    ("status --address 127.0.0.1:1", 3),
    ("status --address 127.0.0.1:1 --json", 3),
    ("history --http 127.0.0.1:1", 3),
    ("events --http 127.0.0.1:1", 3),
    ("transfer --http 127.0.0.1:1 --to 2 --token-file token", 3),
    ("step-down --http 127.0.0.1:1 --for 1s --token-file token", 3),
    ("freeze --http 127.0.0.1:1 --for 1s --token-file token", 3),
    ("maintenance begin --http 127.0.0.1:1 --token-file token", 3),
    ("members list --http 127.0.0.1:1", 3),
    ("recover --config nothing.toml --members 3=127.0.0.1:3", 2),
    ("recover --config orders.toml --node 3 --members 3=127.0.0.1:3 --data-dir /proc", 1),
    ("demo --nodes 1", 2),
    ("demo --page 10.0.0.1:80", 2),
    // With a warning, which no process need read.
    ("check-config orders.toml --node 1 --protocol bully", 0),
    ("check-config nothing.toml", 2),
    ("store show --config nothing.toml --node 1", 2),
    // Its protocol has no store.
    ("store show --config orders.toml --node 1", 2),
    ("store init --config orders.toml --node 1 --print", 2),
    ("keys secret /proc/nothing", 1),
    ("keys frobnicate", 2),
    ("completions bash", 0),
    ("completions abacus", 2),
    ("man", 0),
    ("man --out /proc/nothing", 1),
    ("help run", 0),
    ("help rum", 2),
    ("--version", 0),
];

/// Commands that find nothing, and cannot fail but for how they are called.
const NO_VERDICT: [&str; 5] = ["store", "demo", "check-config", "completions", "help"];

const ORDERS: &str = "cluster = \"orders\"\n[members]\n1 = \"127.0.0.1:1\"\n2 = \"127.0.0.1:2\"\n\
                      3 = \"127.0.0.1:3\"\n[storage]\ndirectory = \"data\"\n";

fn program(folder: &Path) -> Command {
    let mut command = bellwether();
    command.current_dir(folder);
    command
}

#[track_caller]
fn keep_their_status(folder: &Path, lines: &[(&str, i32)]) {
    let run = || program(folder);
    let wrong = lines.iter().flat_map(|&line| other_statuses(run, line, LOST));
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn no_reader_and_no_room_makes_another_status() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    fs::write(at("orders.toml"), ORDERS).expect("writable");
    keys(&["secret", &at("token").display().to_string()]);
    keep_their_status(folder.path(), LINES);
    assert_eq!(without_verdict(&mut bellwether(), LINES), NO_VERDICT);
}

#[test]
fn a_node_without_a_leader_is_told_by_the_status_whoever_reads_it() {
    // One of three is no majority.
    let mut cluster = Cluster::running(3, "quorum", "");
    cluster.start(1);
    cluster.wait_for(1, "it is up, and has no leader", |status| status["leader"].is_null());
    let lines = [
        ("status --config bellwether.toml --node 1", 1),
        ("status --config bellwether.toml --node 1 --json", 1),
        ("status --config bellwether.toml --node 1 --leading", 1),
        ("status --config bellwether.toml --node 1 --wait 300ms", 1),
    ];
    keep_their_status(cluster.folder(), &lines);
}

#[test]
fn what_follows_a_node_ends_when_it_is_not_read_and_fails_when_there_is_no_room() {
    let served = Served::led(3);
    let (folder, http) = (served.cluster.folder(), &served.http[&served.leader().0]);
    let events = format!("events --http {http}");
    for line in ["status --watch --config bellwether.toml --node 1", events.as_str()] {
        let run = |stdout: Stdio| {
            let mut command = program(folder);
            command.args(line.split(' ')).stdout(stdout).stderr(Stdio::null());
            command.status().expect("the program starts").code()
        };
        let closed = pipe().expect("a pipe").1;
        assert_eq!(run(closed.into()), Some(0), "{line}");
        let full = File::options().write(true).open("/dev/full").expect("a disk that is full");
        assert_eq!(run(full.into()), Some(LOST), "{line}");
    }
    let history = format!("history --http {http}");
    // Refused for want of the right token.
    keys(&["secret", &served.cluster.path("wrong")]);
    let wrong = format!("step-down --http {http} --for 1s --token-file wrong");
    let status = "status --config bellwether.toml --node 1";
    keep_their_status(folder, &[(status, 0), (&*history, 0), (&*wrong, 1)]);
}

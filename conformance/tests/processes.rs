//! Real processes, which show what they can of a suite, and are judged while they run. They are not
//! there if only this package was built.

use bellwether_docs_runner::{object_of, root};
use bellwether_testbed::ports::free_port;
use bellwether_testbed::process::{Process, daemon};
use bellwether_testbed::wait::wait_until;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Output};
use std::thread;

const OWN: &str = env!("CARGO_BIN_EXE_bellwether-conformance");

fn ran(protocol: &str, folder: &Path) -> Option<Output> {
    daemon()?;
    let mut command = Command::new(OWN);
    command.args(["suite", protocol, "--recoveries", "1", "--through", "processes"]);
    command.args(["--seconds", "30", "--json", "--out"]).arg(folder);
    Some(command.output().expect("it runs"))
}

/// The processes whose arguments name this folder.
fn left(folder: &Path) -> Vec<String> {
    let folder = folder.display().to_string();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    let arguments = processes.flatten().filter_map(|process| {
        let arguments = fs::read(process.path().join("cmdline")).ok()?;
        Some(String::from_utf8_lossy(&arguments).into_owned())
    });
    arguments.filter(|arguments| arguments.contains(&folder)).collect()
}

fn shows_what_it_can(protocol: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let Some(Output { status, stdout, stderr }) = ran(protocol, folder.path()) else { return };
    let said = String::from_utf8_lossy(&stderr);
    // Not each kind need come about in so little time.
    assert!(matches!(status.code(), Some(0 | 3)), "{protocol}: {status}: {said}");
    assert_eq!(left(folder.path()), Vec::<String>::new());
    let object = object_of("bellwether-conformance-suite-processes", &stdout);
    assert!(object["rejection"].is_null(), "{object:#}");
    let kinds = object["kinds"].as_u64().expect("a number");
    let missing = object["missing"].as_array().expect("a list");
    // With so little time, on a machine that does much else.
    assert!(missing.len() as u64 * 4 <= kinds * 3, "{protocol}: {missing:#?}");
    let done = &object["processes"];
    let count = |what: &str| done[what].as_u64().expect("a number");
    assert!(count("starts") > 3 && count("kills") > 0 && count("delivered") > 0, "{done}");
}

#[test]
fn real_processes_show_what_they_can_of_a_suite() {
    thread::scope(|scope| {
        for protocol in ["bully", "quorum"] {
            scope.spawn(move || shows_what_it_can(protocol));
        }
    });
}

/// Starts a process with this file as its output.
fn started(command: &mut Command, log: &str) -> Process {
    let file = File::create(log).expect("ours");
    Process::start(command.stdout(file.try_clone().expect("ours")).stderr(file))
}

/// Starts the judge of a trace as the unit beside that of the node does.
fn judge(trace: &str, log: &str) -> Process {
    let unit = fs::read_to_string(root().join("packaging/systemd/bellwether-validate@.service"));
    let unit = unit.expect("text");
    let words =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=bellwether-conformance "));
    let words = words.expect("a command").replace("${BELLWETHER_TRACE}", trace);
    started(Command::new(OWN).args(words.split(' ')), log)
}

/// Two nodes whose lease is in a file, each beside its judge. The first leader is killed, and the
/// other leads. Afterwards the judge reads what both have written.
#[test]
fn nodes_whose_store_is_outside_of_the_cluster_conform() {
    let Some(program) = daemon() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let of = |name: &str| folder.path().join(name).display().to_string();
    let ports = [free_port(), free_port()];
    let configs = [1, 2].map(|node| {
        let config = of(&format!("{node}.toml"));
        let text = format!(
            "cluster = 'judged'\nprotocol = 'lease'\nnode = {node}\n[members]\n\
             1 = '127.0.0.1:{}'\n2 = '127.0.0.1:{}'\n[storage]\ndirectory = '{}'\n[lease]\n\
             store = 'sqlite:{}'\nhold = '1s'\nkeep = '1500ms'\nrenew = '200ms'\n\
             retry = '200ms'\n[log]\ntrace = '{}'\n",
            ports[0],
            ports[1],
            of(&format!("data-{node}")),
            of("lease.db"),
            of(&format!("{node}.ndjson")),
        );
        fs::write(&config, text).expect("ours");
        config
    });
    let made = Command::new(&program).args(["store", "init", "--config", &configs[0]]).output();
    let made = made.expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut nodes = configs.each_ref().map(|config| {
        started(Command::new(&program).args(["run", "--config", config]), &format!("{config}.log"))
    });
    let text = |name: &str| fs::read_to_string(of(name)).unwrap_or_default();
    let logs = || ["1.toml.log", "2.toml.log", "1.judged", "2.judged"].map(text).concat();
    let traces = ["1.ndjson", "2.ndjson"];
    let begun = || traces.iter().all(|trace| !text(trace).is_empty());
    wait_until("both write", begun, logs);
    let mut judges =
        [1, 2].map(|node| judge(&of(&format!("{node}.ndjson")), &of(&format!("{node}.judged"))));
    let judged = ["1.judged", "2.judged"];
    let begun = || judged.iter().all(|log| text(log).contains("while the logs grow"));
    wait_until("both are judged", begun, logs);
    let leads = |at: usize| text(traces[at]).contains("\"leads\":true");
    wait_until("a node leads", || leads(0) || leads(1), logs);
    let first = usize::from(!leads(0));
    nodes[first].kill();
    wait_until("the other leads", || leads(1 - first), logs);
    for judge in &mut judges {
        judge.ask_to_end();
        assert!(judge.ended().success(), "{}", logs());
    }
    drop(nodes);
    let output = Command::new(OWN).arg("validate").args(traces.map(of)).output();
    let output = output.expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("messages of a service without a log"), "{said}");
}

//! Real processes, which show what they can of a suite, and are judged while they run. They are not
//! there if only this package was built.

use bellwether_docs_runner::object_of;
use bellwether_testbed::ports::free_port;
use bellwether_testbed::process::{Process, daemon};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread;
use std::time::{Duration, Instant};

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

/// What a monitor is given, to the judge; once a file is there, with another role.
const FALSIFIES: &str = r#"
while read -r line; do
  if [ -e "$2" ]; then
    printf '%s\n' "$line" | sed 's/"role":"follower"/"role":"leader"/'
  else
    printf '%s\n' "$line"
  fi
done | "$1" validate --follow --json -
"#;

/// A node with a monitor. It is killed when this is dropped, and the monitor ends with its input.
struct Judged {
    _process: Process,
    log: PathBuf,
    http: SocketAddr,
}

impl Judged {
    fn start(program: &Path, config: &Path, http: SocketAddr) -> Self {
        let log = config.with_extension("log");
        let file = File::create(&log).expect("ours");
        let mut command = Command::new(program);
        command.arg("run").arg("--config").arg(config).args(["--http", &http.to_string()]);
        command.stdout(file.try_clone().expect("ours")).stderr(file);
        Judged { _process: Process::start(&mut command), log, http }
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).expect("ours")
    }

    /// What is measured of its monitor; 0 before the node serves it.
    fn measured(&self, what: &str) -> u64 {
        let asked = || {
            let mut stream = TcpStream::connect(self.http)?;
            stream
                .write_all(b"GET /metrics HTTP/1.1\r\nHost: node\r\nConnection: close\r\n\r\n")?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).map(|_| answer)
        };
        let answer = asked().unwrap_or_default();
        let name = format!("bellwether_monitor_{what}_total ");
        let value = answer.lines().find_map(|line| line.strip_prefix(&name));
        value.map_or(0, |value| value.parse().expect("a number"))
    }

    fn is_rejected(&self) -> bool {
        self.measured("differences") > 0 && self.log().contains("has found a difference")
    }
}

/// Whether this is so within the time.
fn within(time: Duration, is_so: impl Fn() -> bool) -> bool {
    let until = Instant::now() + time;
    while !is_so() {
        if Instant::now() > until {
            return false;
        }
        thread::sleep(Duration::from_millis(10));
    }
    true
}

/// Four addresses that nothing listens on.
fn free_ports() -> [SocketAddr; 4] {
    [(); 4].map(|()| SocketAddr::from((Ipv4Addr::LOCALHOST, free_port())))
}

/// Two nodes, each with the judge as its monitor. What the judge of the first is given is false
/// from some moment on; whether that is told within a second.
fn is_told_within_a_second(program: &Path) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let of = |name: &str| folder.path().join(name).display().to_string();
    let ports = free_ports();
    let (script, wrong) = (of("falsifies"), of("wrong"));
    fs::write(&script, FALSIFIES).expect("ours");
    let monitors = [
        format!("['sh', '{script}', '{OWN}', '{wrong}']"),
        format!("['{OWN}', 'validate', '--follow', '--json', '-']"),
    ];
    let nodes = [1, 2].map(|node: usize| {
        let config = folder.path().join(format!("{node}.toml"));
        let text = format!(
            "cluster = 'judged'\nprotocol = 'bully'\nnode = {node}\n[members]\n1 = '{}'\n\
             2 = '{}'\n[bully]\nelection = '100ms'\ncoordinator = '300ms'\nwatch = '400ms'\n\
             heartbeat = '50ms'\n[log]\nmonitor = {}\n",
            ports[0],
            ports[1],
            monitors[node - 1]
        );
        fs::write(&config, text).expect("ours");
        Judged::start(program, &config, ports[node + 1])
    });
    let [first, second] = &nodes;
    let judged = || nodes.iter().all(|node| node.measured("judged") > 5);
    let logs = || nodes.each_ref().map(Judged::log).concat();
    assert!(within(Duration::from_secs(30), judged), "nothing is judged\n{}", logs());
    let none = nodes.iter().all(|node| node.measured("differences") == 0);
    assert!(none && !logs().contains("has found a difference"), "{}", logs());
    fs::write(wrong, "").expect("ours");
    let told = within(Duration::from_secs(1), || first.is_rejected());
    assert_eq!(second.measured("differences"), 0, "{}", second.log());
    assert!(!logs().contains("the monitor has ended"), "{}", logs());
    told
}

#[test]
fn a_node_that_conforms_is_not_told_of_and_one_that_differs_is_within_a_second() {
    let Some(program) = daemon() else { return };
    // On a machine that does much else at the time, it is tried again.
    assert!((0..30).any(|_| is_told_within_a_second(&program)), "no difference is told in time");
}

/// Two nodes whose lease is in a file, each with the judge as its monitor. The first leader is
/// killed, and the other leads. Afterwards the judge reads what both have written.
#[test]
fn nodes_whose_store_is_outside_of_the_cluster_conform() {
    let Some(program) = daemon() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let of = |name: &str| folder.path().join(name).display().to_string();
    let ports = free_ports();
    let configs = [1, 2].map(|node: usize| {
        let config = folder.path().join(format!("{node}.toml"));
        let text = format!(
            "cluster = 'judged'\nprotocol = 'lease'\nnode = {node}\n[members]\n1 = '{}'\n\
             2 = '{}'\n[storage]\ndirectory = '{}'\n[lease]\nstore = 'sqlite:{}'\nhold = '1s'\n\
             keep = '1500ms'\nrenew = '200ms'\nretry = '200ms'\n[log]\ntrace = '{}'\n\
             monitor = ['{OWN}', 'validate', '--follow', '--json', '-']\n",
            ports[0],
            ports[1],
            of(&format!("data-{node}")),
            of("lease.db"),
            of(&format!("{node}.ndjson")),
        );
        fs::write(&config, text).expect("ours");
        config
    });
    let made = Command::new(&program).args(["store", "init", "--config"]).arg(&configs[0]).output();
    let made = made.expect("it runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let mut nodes = [0, 1].map(|at| Some(Judged::start(&program, &configs[at], ports[at + 2])));
    let trace = |at: usize| of(&format!("{}.ndjson", at + 1));
    let leads =
        |at: usize| fs::read_to_string(trace(at)).is_ok_and(|text| text.contains("\"leads\":true"));
    let logs = |nodes: &[Option<Judged>; 2]| {
        nodes.iter().flatten().map(Judged::log).collect::<Vec<_>>().concat()
    };
    let long = Duration::from_secs(30);
    assert!(within(long, || leads(0) || leads(1)), "no node leads\n{}", logs(&nodes));
    let first = usize::from(!leads(0));
    nodes[first] = None;
    let next = 1 - first;
    assert!(within(long, || leads(next)), "no node leads again\n{}", logs(&nodes));
    let other = nodes[next].as_ref().expect("it runs");
    assert!(within(long, || other.measured("judged") > 5), "nothing is judged\n{}", other.log());
    assert_eq!(other.measured("differences"), 0, "{}", other.log());
    assert!(!other.log().contains("the monitor has ended"), "{}", other.log());
    drop(nodes);
    let judged = Command::new(OWN).arg("validate").args([trace(0), trace(1)]).output();
    let judged = judged.expect("it runs");
    let said = String::from_utf8_lossy(&judged.stdout);
    assert!(judged.status.success(), "{said}{}", String::from_utf8_lossy(&judged.stderr));
    assert!(said.contains("messages of a service without a log"), "{said}");
}

//! The units for systemd: systemd knows every key, and what they start elects a leader; and the
//! command that takes an address on the leader.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use tempfile::TempDir;

use super::{has, notice, read, shipped};
use crate::common::{
    Cluster, PROGRAM, Process, bellwether, daemon, free_address, get, keys, told, wait_until,
};

const UNITS: [&str; 2] = ["bellwether@.service", "bellwether-exec@.service"];

/// A job of the leader, and its times.
const JOB: [&str; 2] = ["bellwether-job@.service", "bellwether-job@.timer"];

/// The judge of a node.
const JUDGE: &str = "bellwether-validate@.service";

/// What is added to the unit with a command.
const ADDED: &str = "floating-address.conf";

/// The keys of each section that systemd 250 knows, as far as they are used.
const KNOWN: [(&str, &str); 4] = [
    (
        "Unit",
        "After Conflicts Description Documentation StartLimitBurst StartLimitIntervalSec Wants",
    ),
    (
        "Service",
        "AmbientCapabilities CPUWeight CapabilityBoundingSet ConfigurationDirectory \
         ConfigurationDirectoryMode Delegate Environment EnvironmentFile ExecCondition ExecReload \
         ExecStart Group KillMode LoadCredential LockPersonality MemoryDenyWriteExecute \
         NoNewPrivileges OOMPolicy OOMScoreAdjust PrivateDevices PrivateTmp ProtectClock \
         ProtectControlGroups \
         ProtectHome ProtectHostname ProtectKernelLogs ProtectKernelModules \
         ProtectKernelTunables ProtectProc ProtectSystem Restart RestartPreventExitStatus \
         RestartSec RestrictAddressFamilies RestrictNamespaces RestrictRealtime \
         RestrictSUIDSGID StateDirectory StateDirectoryMode SystemCallArchitectures \
         SystemCallFilter TimeoutStopSec Type UMask User WatchdogSec",
    ),
    ("Timer", "AccuracySec OnCalendar"),
    ("Install", "WantedBy"),
];

/// A user that owns nothing.
const OTHER: u32 = 65_534;

/// The names of all units.
fn units() -> impl Iterator<Item = &'static str> {
    UNITS.into_iter().chain(JOB).chain([JUDGE])
}

fn unit(file: &str) -> String {
    read(&format!("packaging/systemd/{file}"))
}

/// The lines of a unit: the section, the key and the value of each.
fn lines(text: &str) -> Vec<(&str, &str, &str)> {
    let mut section = "";
    let mut found = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            section = name;
        } else {
            let (key, value) = line.split_once('=').expect("a key and a value");
            found.push((section, key, value));
        }
    }
    found
}

#[test]
fn every_key_of_a_unit_is_one_of_its_section() {
    for file in units().chain([ADDED]) {
        let text = unit(file);
        for (section, key, _) in lines(&text) {
            let known = KNOWN.iter().find(|(name, _)| *name == section);
            let known = known.is_some_and(|(_, keys)| keys.split(' ').any(|known| known == key));
            assert!(known, "{file}: {key} in [{section}]");
        }
    }
}

/// The keys of a service and their values.
fn service(file: &str) -> BTreeSet<(String, String)> {
    let text = unit(file);
    let lines = lines(&text).into_iter().filter(|(section, ..)| *section == "Service");
    lines.map(|(_, key, value)| (key.to_owned(), value.to_owned())).collect()
}

/// What is not listed here, the two units have in common.
#[test]
fn a_command_is_restricted_as_a_node_is_but_for_what_it_may_need() {
    let [run, exec] = UNITS.map(service);
    let keys = |difference: Vec<&(String, String)>| -> Vec<String> {
        difference.into_iter().map(|(key, _)| key.clone()).collect()
    };
    let only_run = [
        "ExecStart",
        "MemoryDenyWriteExecute",
        "OOMScoreAdjust",
        "ProtectControlGroups",
        "TimeoutStopSec",
    ];
    assert_eq!(keys(run.difference(&exec).collect()), only_run);
    let only_exec = ["Delegate", "ExecStart", "OOMPolicy", "TimeoutStopSec"];
    assert_eq!(keys(exec.difference(&run).collect()), only_exec);
}

#[test]
fn systemd_reads_the_units_without_a_complaint() {
    if !has("systemd-analyze") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let names: Vec<String> = units().map(|file| file.replace('@', "@orders")).collect();
    for (file, name) in units().zip(&names) {
        // Neither the daemon nor the judge is installed here.
        let text = unit(file).replace("=bellwether-conformance ", "=bellwether ");
        let text = text.replace("ExecStart=bellwether", &format!("ExecStart={PROGRAM}"));
        let text = text.replace("=+bellwether ", &format!("=+{PROGRAM} "));
        fs::write(folder.path().join(name), text).expect("writable");
    }
    let beside = folder.path().join(format!("{}.d", names[1]));
    fs::create_dir(&beside).expect("ours");
    fs::write(beside.join(ADDED), unit(ADDED)).expect("writable");
    let mut command = Command::new("systemd-analyze");
    command.args(["verify", "--man=no"]).args(names.iter().map(|name| folder.path().join(name)));
    let output = command.output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stderr);
    let ours: Vec<_> = said.lines().filter(|line| line.contains("@orders")).collect();
    assert!(ours.is_empty(), "{said}");
}

/// What a unit starts as this node, with the files of a folder: the keys are below `credentials`.
fn started(folder: &TempDir, unit: &str, node: u16, http: &str) -> Process {
    let at = |path: &str| folder.path().join(path).display().to_string();
    let state = at(&format!("state-{node}"));
    fs::create_dir_all(format!("{state}/bellwether/orders")).expect("ours");
    let fill = |text: &str| {
        let text = text.replace("%S", &state).replace("%d", &at("credentials"));
        let text = text.replace("%i", "orders").replace("/etc/bellwether", &at(""));
        text.replace("$COMMAND", &format!("touch {}", at("led")))
    };
    let lines = lines(unit);
    let values = |wanted: &str| -> Vec<String> {
        let wanted = lines.iter().filter(|(_, key, _)| *key == wanted);
        wanted.map(|(.., value)| fill(value)).collect()
    };
    let mut command = bellwether();
    let start = values("ExecStart").concat();
    command.args(start.strip_prefix("bellwether ").expect("the program").split(' '));
    for variable in values("Environment") {
        let (name, value) = variable.split_once('=').expect("a variable");
        command.env(name, value);
    }
    command.env("BELLWETHER_NODE", node.to_string()).env("BELLWETHER_HTTP", http);
    let log = File::create(at(&format!("{node}.log"))).expect("writable");
    Process::start(command.stderr(log))
}

/// Three nodes run on this machine as the unit says, with the example as their configuration.
/// Returns once one of them leads, and the command has run if there is one.
fn elects(file: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    fs::create_dir(at("credentials")).expect("ours");
    keys(&["secret", at("credentials/keys_secret").to_str().expect("plain text")]);
    let mut text = read("packaging/example.toml");
    for node in 1..=3 {
        let address = format!("\"10.0.0.{node}:7400\"");
        assert!(text.contains(&address), "no {address} in {text}");
        text = text.replace(&address, &format!("\"{}\"", free_address()));
    }
    fs::write(at("orders.toml"), text).expect("writable");
    let unit = unit(file);
    let http: Vec<String> = (1..=3).map(|_| free_address()).collect();
    let nodes = (1..=3).zip(&http);
    let _running: Vec<_> = nodes.map(|(node, http)| started(&folder, &unit, node, http)).collect();
    let leads = |http: &String| get(&format!("http://{http}/leader")).map(|(code, _)| code);
    let done = || {
        let worked = !unit.contains("$COMMAND") || at("led").exists();
        worked && http.iter().any(|http| leads(http) == Some(200))
    };
    let log = |node| fs::read_to_string(at(&format!("{node}.log"))).unwrap_or_default();
    wait_until("one leads", done, || (1..=3).map(log).collect());
}

#[test]
fn what_the_unit_of_a_node_starts_elects_a_leader() {
    elects(UNITS[0]);
}

#[test]
#[cfg(target_os = "linux")]
fn what_the_unit_with_a_command_starts_runs_it_on_the_leader() {
    elects(UNITS[1]);
}

/// The condition of the job holds on the machine of the leader, and on no other one.
#[test]
fn a_job_of_the_leader_is_skipped_by_the_other_nodes() {
    let text = unit(JOB[0]);
    let condition = lines(&text).into_iter().find(|(_, key, _)| *key == "ExecCondition");
    let (.., condition) = condition.expect("there is one");
    let words = condition.strip_prefix("+bellwether ").expect("asked by root");
    let mut cluster = Cluster::running(3, "quorum", "");
    cluster.start_all(1..=3);
    let config = cluster.config().display().to_string();
    let words = words.replace("/etc/bellwether/%i.toml", &config);
    let leads = |node: u16| {
        told(bellwether().args(words.split(' ')).env("BELLWETHER_NODE", node.to_string())).0
    };
    let mut told = [None; 3];
    let one_leads = || {
        told = [1, 2, 3].map(leads);
        told.iter().filter(|&&code| code == Some(0)).count() == 1
    };
    wait_until("the job runs on one machine", one_leads, String::new);
    assert_eq!(told.iter().filter(|&&code| code == Some(1)).count(), 2, "{told:?}");
    // A node that is not there is no failure of the job either, and leads no more.
    let gone = told.iter().zip(1..).find(|(code, _)| **code == Some(0));
    let (_, gone) = gone.expect("one leads");
    cluster.take(gone).kill();
    assert_eq!(leads(gone), Some(3));
}

/// So systemd gives credentials to a service, and Kubernetes a secret to a pod.
#[test]
fn a_node_reads_a_secret_of_root_that_its_group_may_read() {
    if !rustix::process::geteuid().is_root() {
        return notice("skipped: only root can give a file to another user");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    let permit = |path: &str, mode| {
        fs::set_permissions(at(path), Permissions::from_mode(mode)).expect("ours");
    };
    permit("", 0o755);
    // The other user may not reach the folder in which it was built.
    fs::copy(PROGRAM, at("bellwether")).expect("room");
    fs::create_dir(at("state")).expect("ours");
    chown(at("state"), Some(OTHER), Some(OTHER)).expect("this is root");
    keys(&["secret", at("secret").to_str().expect("plain text")]);
    chown(at("secret"), Some(0), Some(OTHER)).expect("this is root");
    let members: String =
        (1..=2).map(|node| format!("{node} = \"{}\"\n", free_address())).collect();
    let text = format!("cluster = \"test\"\nnode = 1\n[members]\n{members}");
    fs::write(at("orders.toml"), text).expect("writable");
    permit("orders.toml", 0o644);

    let run = || {
        let mut command = daemon(at("bellwether"));
        command.args(["run", "--security", "secret", "--secret-file"]).arg(at("secret"));
        command.arg("--config").arg(at("orders.toml")).arg("--data-dir").arg(at("state"));
        command.current_dir("/").uid(OTHER).gid(OTHER);
        command
    };
    permit("secret", 0o444);
    let (status, said) = told(&mut run());
    assert!(status == Some(2) && said.contains("can be read by others (mode 0444)"), "{said}");

    permit("secret", 0o440);
    let log = File::create(at("log")).expect("writable");
    let _node = Process::start(run().stderr(log));
    let said = || fs::read_to_string(at("log")).unwrap_or_default();
    wait_until("it takes part", || said().contains("taking part in elections"), said);
}

#[test]
fn the_user_of_the_units_is_the_one_that_is_made() {
    let made = unit("bellwether.sysusers");
    let made = made.lines().find_map(|line| line.strip_prefix("u ")).expect("a user");
    for file in UNITS.into_iter().chain([JUDGE]) {
        for key in ["User", "Group"] {
            let text = unit(file);
            let user = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
            assert_eq!(user, made.split(' ').next(), "{file}");
        }
    }
}

/// Takes the address three times: it is asked to end, is killed, and is given what is no address.
/// The interface is one end of a pair, in a network that ends with the shell.
const STEPS: &str = r#"
set -eu
ip link add name v0 type veth peer name v1
ip link set dev v0 up
ip link set dev v1 up
has() { ip -4 -o address show dev v0 | grep -q 'inet 10\.9\.9\.9/24 '; }
soon() {
  for look in $(seq 50); do
    if "$@"; then return 0; fi
    sleep 0.1
  done
  echo "not $*"
  exit 1
}
gone() { ! has; }

"$1" 10.9.9.9/24 v0 & taker=$!
soon has
sleep 3
has || { echo 'not renewed'; exit 1; }
kill -TERM $taker
wait $taker
gone || { echo 'not given back'; exit 1; }

"$1" 10.9.9.9/24 v0 & taker=$!
soon has
kill -KILL $taker
soon gone
echo 'all is well'
"#;

#[test]
fn an_address_is_taken_renewed_and_given_back_and_ends_by_itself_after_a_kill() {
    if !["unshare", "ip"].into_iter().all(has) {
        return;
    }
    let command = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", script, "sh"]);
        told(command.arg(shipped("packaging/floating-address")))
    };
    let (status, said) = command("ip link add name v0 type veth peer name v1");
    if status != Some(0) {
        return notice(&format!("skipped: there is no network to try it in: {said}"));
    }
    let (_, said) = command(STEPS);
    assert!(said.contains("all is well"), "{said}");
}

#[test]
fn what_is_no_address_is_refused_with_an_example() {
    for words in [vec!["fe80::1/64", "lo"], vec!["10.0.0.100", "lo"], vec!["10.0.0.100/24"]] {
        let mut command = Command::new(shipped("packaging/floating-address"));
        let (status, said) = told(command.args(&words));
        assert_eq!(status, Some(2), "{words:?}");
        assert!(said.contains("10.0.0.100/24") || said.contains("usage: "), "{said}");
    }
}

//! Nodes whose lease is in a file of SQLite, or in a database; and `bellwether store`, which shows
//! it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use bellwether_docs_runner::object_of;
use serde_json::Value;

use super::common::{Cluster, Served, bellwether, get, told, wait_for, wait_until};
use super::hooks::{FILE, OFTEN};

const DURATIONS: &str = "hold = \"1s\"\nkeep = \"1500ms\"\nrenew = \"200ms\"\nretry = \"200ms\"\n";

/// Waits until node 1 says that this is wrong.
#[track_caller]
fn says(cluster: &Cluster, part: &str) {
    cluster.wait_for(1, part, |status| {
        status["problem"].as_str().is_some_and(|problem| problem.contains(part))
    });
}

#[test]
fn a_lease_in_a_file_is_made_and_shown_and_goes_to_another_node() {
    let place = tempfile::tempdir().expect("a directory");
    let at = |name: &str| place.path().join(name).display().to_string();
    let (file, traces) = (at("orders.db"), at("{node}.ndjson"));
    let section = format!("[lease]\nstore = \"sqlite:{file}\"\n{DURATIONS}");
    let section = format!("{section}[log]\ntrace = \"{traces}\"\n");
    let mut cluster = Cluster::running(3, "lease", &section);
    let store = |cluster: &Cluster, what: &str, more: &[&str]| {
        let mut command = bellwether();
        command.args(["store", what, "--config"]).arg(cluster.config()).args(more);
        let output = command.output().expect("the program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    // A node that was started too early says what is missing, and goes on when it is there.
    cluster.start(1);
    says(&cluster, "store init");
    store(&cluster, "init", &[]);
    cluster.wait_for_leader(1);
    cluster.start_all(2..=3);
    cluster.wait_for_leader(1);
    cluster.logs_of("1", &["cannot be asked: ", "can be asked again"]);

    let shown = |cluster: &Cluster| -> Value {
        let mut shown = object_of("bellwether-store", store(cluster, "show", &["--json"]));
        shown["leases"][0].take()
    };
    let before = shown(&cluster);
    assert_eq!((&before["name"], &before["holder"]), (&"test".into(), &"1".into()), "{before}");
    assert!(before["token"].as_u64() >= Some(1) && before["left_ms"].is_u64(), "{before}");

    cluster.take(1).kill();
    let second = cluster.wait_for_any_leader();
    let after = shown(&cluster);
    assert_eq!(after["holder"], second.to_string(), "{after}");
    assert!(after["token"].as_u64() > before["token"].as_u64(), "{after}");
    assert_eq!(cluster.status(second).expect("it runs")["epoch"], after["token"], "{after}");
    let trace = fs::read_to_string(at("1.ndjson")).expect("text");
    let start = trace.lines().next().expect("a start");
    assert!(start.contains("\"members\":[1,2,3],\"services\":[65535]"), "{start}");
}

/// Later, when a file is replaced, a node says so and goes on.
#[test]
fn a_file_for_the_store_that_is_gone_is_told_by_a_node_that_runs() {
    let place = tempfile::tempdir().expect("a directory");
    let section = format!(
        "[lease]\nstore = \"postgres://bellwether@127.0.0.1:1/orders\"\n\
         store_password_file = \"{}/password-{{node}}\"\n",
        place.path().display()
    );
    let file = place.path().join("password-1");
    fs::write(&file, "hush\n").expect("ours");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).expect("ours");
    let mut cluster = Cluster::running(3, "lease", &section);
    cluster.start(1);
    says(&cluster, "PostgreSQL: ");
    fs::remove_file(&file).expect("it is there");
    says(&cluster, "/password-1: ");
}

#[test]
fn a_holder_whose_check_fails_gives_the_lease_back_and_another_leads() {
    let times = "hold = \"4s\"\nkeep = \"5s\"\nrenew = \"500ms\"\nretry = \"500ms\"\n";
    let section = format!("[lease]\nstore = \"sqlite:orders.db\"\n{times}");
    let cluster = Cluster::running(2, "lease", &section);
    cluster.check(FILE, OFTEN);
    (1..=2).for_each(|node| cluster.set_fit(node, true));
    let mut init = bellwether();
    let (status, said) = told(init.args(["store", "init", "--config"]).arg(cluster.config()));
    assert_eq!(status, Some(0), "{said}");
    let mut served = Served::of(cluster);
    served.start_all(1..=2);
    let leader = || (1..=2).find(|&node| served.leads(node));
    let first = wait_for("a node leads", leader, || served.cluster.logs());
    served.cluster.set_fit(first, false);
    let second = 3 - first;
    wait_until("the other leads", || served.leads(second), || served.cluster.logs());
    served.says(first, "not fit to lead: the check failed");
    let log = served.cluster.log_of(&first.to_string());
    assert!(log.contains("reason=\"unfit\"") && !log.contains("the lease has expired"), "{log}");

    let metrics = || get(&served.url(first, "/metrics")).unwrap_or_default().1;
    let line = format!("bellwether_store_holder{{name=\"{second}\"}} 1");
    wait_until(&line, || metrics().contains(&line), metrics);
}

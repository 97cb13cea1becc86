//! `bellwether store`, and nodes whose lease is in a file of SQLite.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

use bellwether_docs_runner::object_of;

use super::bad_input::refuses;
use super::common::{Cluster, bellwether};

const DURATIONS: &str = "hold = \"1s\"\nkeep = \"1500ms\"\nrenew = \"200ms\"\nretry = \"200ms\"\n";

fn store(cluster: &Cluster, what: &str, more: &[&str]) -> Output {
    let mut command = bellwether();
    command.args(["store", what, "--config"]).arg(cluster.config()).args(more);
    command.output().expect("the program starts")
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text)).concat()
}

#[test]
fn a_lease_in_a_file_is_made_and_shown_and_goes_to_another_node() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("orders.db");
    let traces = place.path().join("{node}.ndjson");
    let section = format!(
        "[lease]\nstore = \"sqlite:{}\"\n{DURATIONS}[log]\ntrace = \"{}\"\n",
        file.display(),
        traces.display()
    );
    let mut cluster = Cluster::running(3, "lease", &section);
    let none = store(&cluster, "show", &[]);
    assert_eq!(none.status.code(), Some(1), "{}", said(&none));
    assert!(said(&none).contains("bellwether store init"), "{}", said(&none));

    // A node that was started too early says what is missing, and goes on when it is there.
    cluster.start(1);
    cluster.wait_for(1, "says what helps", |status| {
        status["problem"].as_str().is_some_and(|problem| problem.contains("store init"))
    });
    let printed = store(&cluster, "init", &["--print"]);
    assert!(printed.status.success() && said(&printed).contains("CREATE"), "{}", said(&printed));
    assert!(!file.exists(), "it was only printed");
    for _ in 0..2 {
        let made = store(&cluster, "init", &[]);
        assert!(made.status.success(), "{}", said(&made));
        assert!(said(&made).ends_with(" is ready for the lease test\n"), "{}", said(&made));
    }
    cluster.wait_for_leader(1);
    (2..=3).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(1);
    let log = cluster.log_of("1");
    assert!(log.contains("cannot be asked: ") && log.contains("can be asked again"), "{log}");

    let shown = || object_of("bellwether-store", store(&cluster, "show", &["--json"]).stdout);
    let before = shown();
    let lease = &before["leases"][0];
    assert_eq!((&lease["name"], &lease["holder"]), (&"test".into(), &1.into()), "{before}");
    assert!(lease["token"].as_u64() >= Some(1) && lease["left_ms"].is_u64(), "{before}");
    let text = said(&store(&cluster, "show", &[]));
    assert!(text.starts_with("lease test: node 1, token "), "{text}");

    cluster.take(1).kill();
    let second = cluster.wait_for_any_leader();
    let after = object_of("bellwether-store", store(&cluster, "show", &["--json"]).stdout);
    let lease = &after["leases"][0];
    assert_eq!(lease["holder"], second, "{after}");
    assert!(lease["token"].as_u64() > before["leases"][0]["token"].as_u64(), "{after}");
    assert_eq!(cluster.status(second).expect("it runs")["epoch"], lease["token"], "{after}");
    let trace = std::fs::read_to_string(place.path().join("1.ndjson")).expect("text");
    let start = trace.lines().next().expect("a start");
    assert!(start.contains("\"members\":[1,2,3],\"services\":[65535]"), "{start}");
}

#[test]
fn the_configuration_says_which_store_it_is_and_asks_nothing() {
    let section = "[lease]\nstore = \"sqlite:/nowhere/orders.db\"\n";
    let cluster = Cluster::running(3, "lease", section);
    let mut command = bellwether();
    command.arg("check-config").arg(cluster.config()).args(["--node", "1"]);
    let checked = command.output().expect("the program starts");
    assert!(checked.status.success(), "{}", said(&checked));
    let text = said(&checked);
    for part in [
        "store = \"sqlite:/nowhere/orders.db\"",
        "# the store sqlite:/nowhere/orders.db of the lease test",
        "whose clock is slower than `hold` and `keep` allow for",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("forgets its grants"), "{text}");
}

/// Later, when a file is replaced, a node says so and goes on.
#[test]
fn a_file_for_the_store_that_cannot_be_used_keeps_a_node_from_starting() {
    let place = tempfile::tempdir().expect("a directory");
    let section = format!(
        "[lease]\nstore = \"postgres://bellwether@127.0.0.1:1/orders\"\n\
         store_password_file = \"{}/password-{{node}}\"\n",
        place.path().display()
    );
    let mut cluster = Cluster::running(3, "lease", &section);
    let path = cluster.config();
    let path = path.to_str().expect("plain text");
    let refused = |parts: &[&str]| {
        for line in [
            &["run", "--config", path, "--node", "1"][..],
            &["exec", "--config", path, "--node", "1", "--", "true"],
            &["check-config", path, "--node", "1"],
        ] {
            refuses(line, 2, &[&["lease.store_password_file: "][..], parts].concat());
        }
    };
    refused(&["cannot read ", "/password-1: ", "name a file that this process can read"]);
    let mut elsewhere = bellwether();
    elsewhere.args(["check-config", path, "--node", "1", "--elsewhere"]);
    let elsewhere = elsewhere.output().expect("the program starts");
    assert!(elsewhere.status.success(), "{}", said(&elsewhere));
    assert!(said(&elsewhere).contains("warning: lease.store_password_file: cannot read "));

    let file = place.path().join("password-1");
    std::fs::write(&file, "hush\n").expect("ours");
    let allow = |mode| std::fs::set_permissions(&file, Permissions::from_mode(mode)).expect("ours");
    allow(0o644);
    refused(&["can be read by others (mode 0644)", "chmod 600 "]);

    allow(0o600);
    cluster.start(1);
    let told = |what: &str, part: &str| {
        cluster.wait_for(1, what, |status| {
            status["problem"].as_str().is_some_and(|problem| problem.contains(part))
        });
    };
    told("cannot reach the store", "PostgreSQL: ");
    std::fs::remove_file(&file).expect("it is there");
    told("cannot read the file", "/password-1: ");
}

#[test]
fn what_has_no_such_store_is_told_so() {
    let member = Cluster::running(3, "lease", "[lease]\nstore = 3\n");
    let told = store(&member, "show", &[]);
    assert_eq!(told.status.code(), Some(2), "{}", said(&told));
    assert!(said(&told).contains("it is node 3: this is for a store that is no node"));
    let other = Cluster::running(3, "quorum", "");
    let told = store(&other, "init", &["--json"]);
    assert_eq!(told.status.code(), Some(2), "{}", said(&told));
    let error = object_of("error", &told.stdout);
    let message = error["error"]["message"].as_str().expect("text");
    assert!(message.contains("the protocol is quorum, which has no store"), "{message}");
}

//! Command lines and variables that cannot be: each message names what is wrong, where, and what to
//! do. Those of configuration files are in [`bad_input`](super::bad_input).

use std::fmt::Write as _;

use bellwether_docs_runner::refused;

use super::common::bellwether;

/// The files that the lines name.
const FILES: &[(&str, &str)] = &[
    (
        "orders.toml",
        "cluster = \"orders\"\n[members]\n1 = \"127.0.0.1:1\"\n2 = \"127.0.0.1:2\"\n\
         3 = \"127.0.0.1:3\"\n[storage]\ndirectory = \"data\"\n",
    ),
    (
        "elsewhere.toml",
        "cluster = \"orders\"\n[members]\n1 = \"nowhere.invalid:7000\"\n2 = \"192.0.2.1:7000\"\n\
         3 = \"10.0.0.3:7000\"\n[storage]\ndirectory = \"data\"\n[security]\nallow_plain = true\n",
    ),
    ("broken.toml", "cluster = \"orders\nmembers = 3\n"),
    ("empty.toml", ""),
    ("alone.toml", "cluster = \"orders\"\n"),
    ("three.toml", "cluster = \"orders\"\nmembers = 3\n"),
    ("garbage.toml", "cluster = \"orders\"\n[members]\n1: 127.0.0.1:1\n"),
    ("number.toml", "cluster = \"orders\"\n[members]\n1 = 7001\n2 = \"127.0.0.1:2\"\n"),
];

/// A line each; words with `=` before the first other one are variables.
const LINES: &[&str] = &[
    "frobnicate",
    "stats",
    "run",
    "run --config orders.toml",
    "run --config nothing.toml --node 1",
    "run --config . --node 1",
    "run --config empty.toml --node 1",
    "run --config broken.toml --node 1",
    "run --config alone.toml --node 1",
    "run --config three.toml --node 1",
    "run --config garbage.toml --node 1",
    "run --config number.toml --node 1",
    "run --config orders.toml --node -1",
    "run --config orders.toml --node 0",
    "run --config orders.toml --node 9",
    "run --config orders.toml --node one",
    "run --config orders.toml --node 70000",
    "run --config orders.toml --node",
    "run --config orders.toml --nod 2",
    "run --config orders.toml --node 1 extra",
    "run --config orders.toml --node 1 --protocol buly",
    "run --config orders.toml --node 1 --protocol raft-election",
    "run --config orders.toml --node 1 --protocol lease",
    "run --config orders.toml --node 1 --store",
    "run --config orders.toml --node 1 --protocol bully --new-cluster",
    "run --config orders.toml --node 1 --set lease",
    "run --config orders.toml --node 1 --set lese=2s",
    "run --config orders.toml --node 1 --set lease=2",
    "run --config orders.toml --node 1 --set lease=-2s",
    "run --config orders.toml --node 1 --set lease=10s",
    "run --config orders.toml --node 1 --set preemption=often",
    "run --config orders.toml --node 1 --listen 7001",
    "run --config orders.toml --node 1 --listen 127.0.0.1:99999",
    "run --config orders.toml --node 1 --listen 0.0.0.0:7001",
    "run --config elsewhere.toml --node 1",
    "run --config elsewhere.toml --node 2",
    "run --config orders.toml --node 1 --data-dir /proc/nothing",
    "run --config orders.toml --node 1 --security none",
    "run --config orders.toml --node 1 --security secret",
    "run --config orders.toml --node 1 --security secret --secret-file nothing",
    "run --config orders.toml --node 1 --security tls",
    "run --config orders.toml --node 1 --http nonsense",
    "run --config elsewhere.toml --node 3 --http 192.0.2.1:8080",
    "run --config orders.toml --node 1 --http 127.0.0.1:1 --token-file nothing",
    "run --config orders.toml --node 1 --network-timeout 0s",
    "run --config orders.toml --node 1 --network-timeout soon",
    "run --config orders.toml --node 1 --suspect-refused maybe",
    "run --config orders.toml --node 1 --log-level loud",
    "run --config orders.toml --node 1 --log-format xml",
    "BELLWETHER_NODE=x run --config orders.toml",
    "BELLWETHER_NODE=-1 run --config orders.toml",
    "BELLWETHER_NODE=9 run --config orders.toml",
    "BELLWETHER_NODE=x run --config orders.toml --node y",
    "BELLWETHER_CONFIG= run --node 1",
    "BELLWETHER_DATA_DIR= run --config orders.toml --node 1",
    "BELLWETHER_SECRET_FILE= check-config orders.toml --node 1",
    "BELLWETHER_SET= run --config orders.toml --node 1",
    "BELLWETHER_STORE= run --config orders.toml --node 1",
    "BELLWETHER_CONFIG=nothing.toml run --node 1",
    "BELLWETHER_PROTOCOL=buly run --config orders.toml --node 1",
    "BELLWETHER_SET=lease run --config orders.toml --node 1",
    "BELLWETHER_SET=lese=3s run --config orders.toml --node 1",
    "BELLWETHER_LISTEN=x run --config orders.toml --node 1",
    "BELLWETHER_STORE=maybe run --config orders.toml --node 1",
    "BELLWETHER_ALLOW_PLAIN=x run --config orders.toml --node 1",
    "BELLWETHER_SECURITY=no run --config orders.toml --node 1",
    "BELLWETHER_HTTP=x run --config orders.toml --node 1",
    "BELLWETHER_NETWORK_TIMEOUT=x run --config orders.toml --node 1",
    "BELLWETHER_SUSPECT_REFUSED=x run --config orders.toml --node 1",
    "BELLWETHER_LOG_LEVEL=loud run --config orders.toml --node 1",
    "BELLWETHER_LOG_FORMAT=xml check-config orders.toml --node 1",
    "status",
    "status --config orders.toml",
    "status --config orders.toml --node -1",
    "status --config orders.toml --node 1 --timeout now",
    "status --address nonsense",
    "status --address 127.0.0.1:1",
    "status --address 127.0.0.1:1 --wait 300ms",
    "status --address 127.0.0.1:1 --wait 0s",
    "status --address 127.0.0.1:1 --wait long",
    "status --address 127.0.0.1:1 --wait 1s --watch",
    "BELLWETHER_NODE=x status --config orders.toml",
    "history",
    "exec --config orders.toml --node 1",
    "keys frobnicate",
    "history --http 127.0.0.1:1",
    "BELLWETHER_HTTP=x history",
    "transfer --config orders.toml --node 1 --to 2",
    "transfer --http 127.0.0.1:1 --to -2",
    "transfer --http 127.0.0.1:1 --to 2 --token-file nothing",
    "step-down --http 127.0.0.1:1 --for never",
    "freeze --http 127.0.0.1:1",
    "check-config",
    "check-config nothing.toml",
    "check-config orders.toml --node 9",
    "demo --nodes 1",
    "demo --nodes -1",
    "demo --page nonsense",
    "demo --page 10.0.0.1:80",
    "keys secret /proc/nothing",
    "keys init keys --cluster orders",
    "keys init keys --cluster orders --nodes 0",
    "keys init keys --cluster orders! --nodes 1",
    "keys init keys --cluster orders --nodes 1 --days -1",
    "keys init keys --cluster orders --nodes 1 --days 0",
    "keys init keys --cluster orders --nodes 1 --days 99999999",
    "keys init keys --cluster Orders --nodes 1",
    "keys init keys --cluster orders --nodes 1,1",
    "keys init keys --cluster orders --nodes 1 --host db:80",
    "completions abacus",
    "completions tcsh",
    "man --out /proc/nothing",
];

#[test]
fn every_bad_line_is_told_what_is_wrong_and_what_to_do() {
    assert!(LINES.len() >= 40, "only {}", LINES.len());
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in FILES {
        std::fs::write(folder.path().join(name), text).expect("writable");
    }
    let mut told = String::new();
    for line in LINES {
        let (status, message) = refused(bellwether().current_dir(folder.path()), line);
        let message = message.replace(&format!("{}/", folder.path().display()), "");
        assert!((1..=3).contains(&status), "{line}: {status}: {message}");
        let _ = writeln!(told, "$ {line}\n{message}\n[exit status {status}]\n");
    }
    insta::assert_snapshot!(without_luck(&told));
}

/// The text without what a resolver says, which is another text on another machine.
fn without_luck(text: &str) -> String {
    const LOOKUP: &str = "failed to lookup address information: ";
    let mut parts = text.split(LOOKUP);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.split_once(';').map_or(part, |(_, rest)| rest);
        out += &format!("{LOOKUP}...;{rest}");
    }
    out
}

//! The proxy that sends connections to the leader.

use std::fs::{self, File};
use std::process::Command;

use serde_json::Value;

use super::containers::Configured;
use super::{after, has, read};
use crate::processes::common::{Process, free_port, wait_until};
use crate::processes::http::{Served, get};

pub(super) const FILE: &str = "packaging/containers/haproxy.cfg";

/// The lines that name a server, without the keyword.
fn servers(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.trim().strip_prefix("server ")).collect()
}

#[test]
fn it_asks_each_node_where_the_configuration_says_that_it_serves_http() {
    let (text, configured) = (read(FILE), Configured::read());
    let http = configured.http;
    let hosts = (1..).zip(&configured.hosts);
    let wanted: Vec<String> =
        hosts.map(|(node, host)| format!("node-{node} \"{host}${{DOMAIN}}:{http}\"")).collect();
    assert_eq!(servers(&text), wanted);
    assert_eq!(after(&text, "check port "), http.to_string());
    assert!(bellwether::http::ENDPOINTS.contains(&("GET", after(&text, " uri "))), "{text}");
}

#[test]
fn what_it_asks_is_answered_with_its_status_by_the_leader_alone() {
    let text = read(FILE);
    let path = after(&text, " uri ");
    let wanted: u16 = after(&text, "expect status ").parse().expect("a status");
    let mut served = Served::new();
    let leader = served.leader();
    for node in 1..=3 {
        let (code, said) = get(&format!("{}{path}", served.url(node))).expect("it answers");
        assert_eq!(code == wanted, node == leader, "node {node}: {code}: {said}");
    }
    if has("haproxy") {
        follows_the_leader(&text, &mut served, leader);
    }
}

/// The proxy itself, whose servers are the nodes that are served here.
fn follows_the_leader(text: &str, served: &mut Served, leader: u16) {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |path: &str| folder.path().join(path);
    let address = format!("127.0.0.1:{}", free_port());
    let mut text = text.replace("bind :5000", &format!("bind {address}"));
    // Each node has a port of its own here, and no name.
    text = text.replace(" port 8080", "").replace(" resolvers system init-addr none", "");
    text = text.replace("    parse-resolv-conf\n", "    nameserver none 127.0.0.1:9\n");
    let before = text.clone();
    for (line, url) in servers(&before).into_iter().zip(&served.urls) {
        let (name, _) = line.split_once(' ').expect("a name");
        let host = url.strip_prefix("http://").expect("a URL");
        text = text.replace(line, &format!("{name} {host}"));
    }
    fs::write(at("haproxy.cfg"), &text).expect("writable");
    let log = File::create(at("log")).expect("writable");
    let other = log.try_clone().expect("a second handle");
    let mut command = Command::new("haproxy");
    command.arg("-f").arg(at("haproxy.cfg")).stdout(log).stderr(other);
    let _proxy = Process::start(&mut command);

    let said = || fs::read_to_string(at("log")).unwrap_or_default();
    let reaches = |leader: u16| {
        let (code, text) = get(&format!("http://{address}/leader"))?;
        let answer: Value = serde_json::from_str(&text).ok()?;
        Some(code == 200 && answer["node"] == leader)
    };
    wait_until("it reaches the leader", || reaches(leader) == Some(true), said);
    served.kill(leader);
    let next = served.leader();
    wait_until("it reaches the next", || reaches(next) == Some(true), said);
}

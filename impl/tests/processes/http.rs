//! Real nodes, asked by HTTP; and their page, in a browser.

use std::time::Duration;

use bellwether_browser::Page;
use bellwether_testbed::probe;
use serde_json::Value;

use super::common::{Cluster, Process, Signal, bellwether, free_port, wait_until};

/// What stands at this URL: the status and the body; nothing if no process answers.
pub(crate) fn get(url: &str) -> Option<(u16, String)> {
    probe::get(url, Duration::from_secs(15))
}

/// Three nodes that serve HTTP, with a token, and the URL of each.
pub(crate) struct Served {
    pub(crate) cluster: Cluster,
    pub(crate) urls: Vec<String>,
    processes: Vec<Option<Process>>,
}

impl Served {
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    /// The same, with further arguments.
    pub(crate) fn with(more: &[&str]) -> Self {
        let cluster = Cluster::running(3, "quorum", "");
        let token = cluster.folder().join("token").display().to_string();
        let made = bellwether().args(["keys", "secret", &token]).output().expect("it runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let mut urls = Vec::new();
        let mut processes = Vec::new();
        for node in 1..=3 {
            let address = format!("127.0.0.1:{}", free_port());
            let flags = [&["--http", &address, "--token-file", &token][..], more].concat();
            processes.push(Some(cluster.run(&node.to_string(), node, &flags)));
            urls.push(format!("http://{address}"));
        }
        Self { cluster, urls, processes }
    }

    pub(crate) fn url(&self, node: u16) -> &str {
        &self.urls[usize::from(node) - 1]
    }

    fn code(&self, node: u16, path: &str) -> u16 {
        get(&format!("{}{path}", self.url(node))).map_or(0, |(code, _)| code)
    }

    /// Whether the node says itself that it leads.
    pub(crate) fn leads(&self, node: u16) -> bool {
        self.code(node, "/leader") == 200
    }

    pub(crate) fn send(&self, node: u16, signal: Signal) {
        self.processes[usize::from(node) - 1].as_ref().expect("it runs").send(signal);
    }

    /// Waits until one node says that it leads, and all others say so.
    pub(crate) fn leader(&self) -> u16 {
        let mut leader = 0;
        let one = || {
            let running = (1..=3).filter(|&node| self.processes[usize::from(node) - 1].is_some());
            let running: Vec<u16> = running.collect();
            leader = *running.iter().find(|&&node| self.code(node, "/leader") == 200).unwrap_or(&0);
            running.iter().all(|&node| {
                let answer = get(&format!("{}/leader", self.url(node)));
                let said = answer.and_then(|(_, text)| serde_json::from_str::<Value>(&text).ok());
                said.is_some_and(|said| said["leader"] == leader)
            })
        };
        let log = || self.cluster.log_of("1");
        wait_until("one leads", one, log);
        leader
    }

    pub(crate) fn kill(&mut self, node: u16) {
        self.processes[usize::from(node) - 1].take().expect("it runs").kill();
    }
}

#[test]
fn only_the_leader_answers_that_it_leads_and_a_stopped_one_does_not_when_it_goes_on() {
    let mut served = Served::new();
    let first = served.leader();
    let codes: Vec<u16> = (1..=3).map(|node| served.code(node, "/leader")).collect();
    let wanted = (1..=3).map(|node| if node == first { 200 } else { 503 });
    assert_eq!(codes, wanted.collect::<Vec<u16>>());
    assert!((1..=3).all(|node| served.code(node, "/readyz") == 200));
    // Asked while it stands still, it answers when it goes on.
    let process = served.processes[usize::from(first) - 1].as_ref().expect("it runs");
    let said = || {
        let (code, text) = get(&format!("{}/leader", served.url(first))).expect("it answers");
        let said: Value = serde_json::from_str(&text).expect("JSON");
        (code, said["epoch"].as_u64())
    };
    let (code, before) = said();
    assert!(code == 200 && before.is_some(), "it leads: {before:?}");
    process.send(Signal::STOP);
    let (code, epoch) = std::thread::scope(|scope| {
        let asked = scope.spawn(said);
        // Longer than its lease, and shorter than the promises: no node leads anew by then.
        std::thread::sleep(Duration::from_millis(1_100));
        process.send(Signal::CONT);
        asked.join().expect("no panic")
    });
    assert!(code == 503 || epoch > before, "its lease of epoch {before:?} is over: {epoch:?}");
    let second = served.leader();
    served.kill(second);
    assert_ne!(served.leader(), second);
}

#[test]
fn the_page_shows_the_cluster_and_follows_a_change_without_being_loaded_again() {
    let mut served = Served::new();
    let first = served.leader();
    let watched = (1..=3).find(|&node| node != first).expect("three nodes");
    let Some(mut page) = Page::open(served.url(watched)) else { return };
    let state = |text: String| format!("document.getElementById('state').textContent == '{text}'");
    page.wait_for(&state(format!("Node {first} leads")));
    let name = page.value("document.getElementById('name').textContent");
    assert_eq!(name, format!("node {watched} of cluster test, protocol quorum"));
    let members = "[...document.querySelectorAll('#members .tag')].map(e => e.textContent).join()";
    page.wait_for(&format!("{members} == 'connected,connected'"));

    served.kill(first);
    page.wait_for(&format!(
        "{members} == 'connected,connecting' || {members} == 'connecting,connected'"
    ));
    let second = served.leader();
    let said = if second == watched { ", this one," } else { "" };
    page.wait_for(&state(format!("Node {second}{said} leads")));
    let latest = "document.querySelector('#changes td:nth-child(4)').textContent";
    page.wait_for(&format!("{latest} == '{second}'"));
    if second == watched {
        page.wait_for("document.getElementById('lease').textContent.endsWith(' s left')");
    }

    // Nothing is wider than a small window, both schemes differ, and a key moves through the page.
    assert_eq!(page.value("document.documentElement.scrollWidth <= innerWidth"), true);
    let back = "getComputedStyle(document.body).backgroundColor";
    page.prefer("light");
    let light = page.value(back);
    page.prefer("dark");
    assert_ne!(page.value(back), light);
    page.press("Tab", 9);
    assert_eq!(
        page.value("document.activeElement.getAttribute('aria-labelledby')"),
        "members-title"
    );

    served.kill(watched);
    page.wait_for("!document.getElementById('offline').hidden");
}

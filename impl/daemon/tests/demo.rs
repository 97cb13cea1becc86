//! The cluster that a person can break: nodes are killed, paused, cut and healed through its page,
//! and nothing is left of it when it ends.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use bellwether_browser::Page;
use bellwether_testbed::probe;
use serde_json::Value;

use super::common::{bellwether, free_address, wait_for, wait_until};

/// As many as there are without `--nodes`.
const NODES: u16 = 5;

/// All nodes but this one.
fn but(node: u16) -> Vec<u16> {
    (1..=NODES).filter(|&other| other != node).collect()
}

/// Asks the page, which answers at once or never.
fn agent() -> ureq::Agent {
    probe::agent(Duration::from_secs(30))
}

struct Demo {
    program: Child,
    url: String,
    folder: String,
}

impl Demo {
    fn start() -> Self {
        let page = free_address();
        let mut program = bellwether()
            .args(["demo", "--page", &page])
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(program.stdout.take().expect("piped")).lines();
        let mut next = || lines.next().expect("a line").expect("text");
        let first = next();
        assert!(first.contains(&page), "{first}");
        let second = next();
        let folder = second.strip_prefix("Their logs: ").expect("where they are");
        let folder = folder.strip_suffix("/*/log").expect("one each").to_owned();
        Self { program, url: format!("http://{page}"), folder }
    }

    /// What the page proves itself with.
    fn secret(&self) -> String {
        let page = self.get("/");
        let (_, rest) = page.split_once("const SECRET = \"").expect("it is in the page");
        rest.split('"').next().expect("it ends").to_owned()
    }

    fn get(&self, path: &str) -> String {
        let mut answer = agent().get(format!("{}{path}", self.url)).call().expect("an answer");
        assert_eq!(answer.status(), 200, "{path}");
        answer.body_mut().read_to_string().expect("text")
    }

    fn act(&self, secret: &str, what: &str) -> u16 {
        let agent = agent();
        let request = agent.post(format!("{}/act?{what}", self.url)).header("x-demo", secret);
        request.send_empty().expect("an answer").status().as_u16()
    }

    /// Waits until these nodes take one of them for the leader.
    fn leader(&self, of: &[u16]) -> u16 {
        let look = || {
            let state: Value = serde_json::from_str(&self.get("/state")).expect("JSON");
            let nodes = state["nodes"].as_array().expect("a list");
            let asked = nodes.iter().filter(|node| of.iter().any(|id| node["node"] == *id));
            let leaders: Vec<_> = asked.map(|node| node["status"]["leader"].as_u64()).collect();
            let same = leaders.windows(2).all(|pair| pair[0] == pair[1]);
            let leader = leaders[0].filter(|_| same).and_then(|leader| u16::try_from(leader).ok());
            leader.filter(|leader| of.contains(leader))
        };
        wait_for("one leads", look, || self.get("/state"))
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// What a person does in a browser: kills and starts the leader, cuts it off and heals the links,
/// and stops it.
struct Person<'a> {
    page: &'a mut Page,
}

impl Person<'_> {
    fn leader(&mut self) -> u16 {
        let says = "/^Node \\d+ leads\\.$/.test(document.getElementById('summary').textContent)";
        self.page.wait_for(says);
        let text = "document.getElementById('summary').textContent.match(/\\d+/)[0]";
        let text = self.page.value(text);
        text.as_str().and_then(|text| text.parse().ok()).expect("a number")
    }

    /// Presses a button of a node, which must say this.
    fn press(&mut self, node: u16, button: usize, says: &str) {
        let button = format!(
            "document.querySelectorAll('#nodes tr')[{node} - 1]\
             .querySelectorAll('button')[{button}]"
        );
        self.page.wait_for(&format!("{button}.textContent == '{says}' && !{button}.disabled"));
        self.page.value(&format!("{button}.click()"));
    }

    fn sees(&mut self, node: u16, role: &str) {
        let row = format!("document.querySelectorAll('#nodes tr')[{node} - 1]");
        self.page.wait_for(&format!("{row}.querySelectorAll('td')[0].textContent == '{role}'"));
    }

    /// Presses the button of each link of a node, and waits until the page shows what that did.
    fn links(&mut self, node: u16, cut: bool) {
        for other in but(node) {
            let (low, high) = (node.min(other), node.max(other));
            let link = format!(
                "[...document.querySelectorAll('#links button')]\
                 .find(button => button.textContent.startsWith('{low} ↔ {high}'))"
            );
            self.page.wait_for(&format!("{link}.getAttribute('aria-pressed') == '{}'", !cut));
            self.page.value(&format!("{link}.click()"));
            self.page.wait_for(&format!("{link}.getAttribute('aria-pressed') == '{cut}'"));
        }
        let lines = if cut { usize::from(NODES) - 1 } else { 0 };
        let drawn = "document.querySelectorAll('#map line.cut').length";
        self.page.wait_for(&format!("{drawn} == {lines}"));
    }

    /// Until the whole group follows one.
    fn all_follow(&mut self) {
        let said = "[...document.querySelectorAll('#nodes tr')]\
                    .map(row => row.querySelectorAll('td')[1].textContent)";
        self.page.wait_for(&format!("new Set({said}).size == 1 && !{said}.includes('–')"));
    }

    /// Makes the picture of the README, if pictures are to be made.
    fn picture(&mut self) {
        if std::env::var_os("UPDATE_PICTURES").is_some() {
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images/demo.png");
            self.page.resize(1000, 760);
            std::fs::write(file, self.page.picture()).expect("it can be written");
        }
    }

    fn breaks_everything(&mut self) {
        let buttons = "document.querySelectorAll('#links button').length";
        self.page.wait_for(&format!("{buttons} == {}", NODES * (NODES - 1) / 2));
        let first = self.leader();
        self.press(first, 0, "Kill");
        self.sees(first, "gone");
        let second = self.leader();
        assert_ne!(second, first, "another one leads");
        self.picture();
        self.press(first, 0, "Start");
        self.sees(first, "follower");

        self.links(second, true);
        // It has lost its majority, and the others have one.
        self.sees(second, "candidate");
        let third = self.leader();
        assert_ne!(third, second);
        self.links(second, false);
        self.all_follow();

        let last = self.leader();
        self.press(last, 1, "Pause");
        self.sees(last, "paused");
        assert_ne!(self.leader(), last);
        self.page.wait_for("document.querySelectorAll('#map circle.leader').length == 1");
        assert_eq!(self.page.value("document.documentElement.scrollWidth <= innerWidth"), true);
    }
}

#[test]
fn a_person_breaks_the_cluster_and_nothing_is_left_of_it() {
    let mut demo = Demo::start();
    let secret = demo.secret();
    let of_a_foreign_page = |host: &str| {
        let agent = agent();
        let asked = agent.get(format!("{}/", demo.url)).header("host", host).call();
        asked.expect("an answer").status().as_u16()
    };
    assert_eq!(of_a_foreign_page("rebound.example"), 421);
    assert_eq!(of_a_foreign_page("rebound.example:8088"), 421);
    assert_eq!(of_a_foreign_page("localhost"), 200);
    let all: Vec<u16> = (1..=NODES).collect();
    let first = demo.leader(&all);
    assert_eq!(demo.act("wrong", &format!("what=kill&node={first}")), 403);
    assert_eq!(demo.act(&secret, "what=kill&node=9"), 409);
    assert_eq!(demo.act(&secret, "what=tickle&node=1"), 409);
    assert_eq!(demo.leader(&all), first, "nothing has happened");

    assert_eq!(demo.act(&secret, &format!("what=kill&node={first}")), 200);
    let second = demo.leader(&but(first));
    assert_eq!(demo.act(&secret, &format!("what=start&node={first}")), 200);
    demo.leader(&all);

    // The leader is alone: the others find another, and it follows when it is let back.
    for other in but(second) {
        assert_eq!(demo.act(&secret, &format!("what=cut&node={second}&other={other}")), 200);
    }
    demo.leader(&but(second));
    for other in but(second) {
        assert_eq!(demo.act(&secret, &format!("what=heal&node={second}&other={other}")), 200);
    }
    demo.leader(&all);

    if let Some(mut page) = Page::open(&demo.url) {
        Person { page: &mut page }.breaks_everything();
    }

    // One of its nodes may stand still.
    let id = demo.program.id().to_string();
    let asked = std::process::Command::new("kill").args(["-INT", &id]).status();
    assert!(asked.is_ok_and(|status| status.success()));
    let mut status = None;
    let ended = || {
        status = demo.program.try_wait().expect("it is our child");
        status.is_some()
    };
    wait_until("it ends", ended, String::new);
    assert_eq!(status.and_then(|status| status.code()), Some(0));
    assert!(!Path::new(&demo.folder).exists(), "{} is left", demo.folder);
    let left = || {
        let left = std::process::Command::new("pgrep").args(["-f", &demo.folder]).output();
        left.map_or_else(|_| String::new(), |left| String::from_utf8(left.stdout).expect("numbers"))
    };
    wait_until("no process is left", || left().is_empty(), left);
}

/// It is killed, so it can end nothing itself. One of its nodes stands still.
#[cfg(target_os = "linux")]
#[test]
fn no_node_outlives_a_cluster_that_is_killed() {
    let mut demo = Demo::start();
    let secret = demo.secret();
    demo.leader(&(1..=NODES).collect::<Vec<_>>());
    assert_eq!(demo.act(&secret, "what=pause&node=1"), 200);
    assert_eq!(demo.act(&secret, "what=kill&node=2"), 200);
    assert_eq!(demo.act(&secret, "what=start&node=2"), 200);
    let nodes = || {
        let mut nodes = std::process::Command::new("pgrep");
        let found = nodes.args(["-f", &format!("demo-node.*{}", demo.folder)]).output();
        String::from_utf8(found.expect("pgrep runs").stdout).expect("numbers")
    };
    assert_eq!(nodes().lines().count(), usize::from(NODES));
    demo.program.kill().expect("it runs");
    demo.program.wait().expect("it is our child");
    wait_until("no node is left", || nodes().is_empty(), nodes);
    std::fs::remove_dir_all(&demo.folder).expect("nothing writes there");
}

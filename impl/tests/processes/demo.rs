//! The cluster that a person can break: nodes are killed, paused, cut and healed through its page,
//! and nothing is left of it when it ends.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use serde_json::Value;

use super::common::{bellwether, free_port, wait_until};
use bellwether_browser::Page;

struct Demo {
    program: Child,
    url: String,
    folder: String,
}

impl Demo {
    fn start() -> Self {
        let page = format!("127.0.0.1:{}", free_port());
        let mut program = bellwether()
            .args(["demo", "--nodes", "3", "--page", &page])
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

    fn get(&self, path: &str) -> String {
        let mut answer = ureq::get(format!("{}{path}", self.url)).call().expect("an answer");
        answer.body_mut().read_to_string().expect("text")
    }

    fn act(&self, secret: &str, what: &str) -> u16 {
        let agent: ureq::Agent =
            ureq::Agent::config_builder().http_status_as_error(false).build().into();
        let request = agent.post(format!("{}/act?{what}", self.url)).header("x-demo", secret);
        request.send_empty().expect("an answer").status().as_u16()
    }

    /// Waits until these nodes take one of them for the leader.
    fn leader(&self, of: &[u16]) -> u16 {
        let mut found = None;
        let look = || {
            let state: Value = serde_json::from_str(&self.get("/state")).expect("JSON");
            let nodes = state["nodes"].as_array().expect("a list");
            let asked = nodes.iter().filter(|node| of.iter().any(|id| node["node"] == *id));
            let leaders: Vec<_> = asked.map(|node| node["status"]["leader"].as_u64()).collect();
            let same = leaders.windows(2).all(|pair| pair[0] == pair[1]);
            found = leaders[0].filter(|_| same).and_then(|leader| u16::try_from(leader).ok());
            found.is_some_and(|leader| of.contains(&leader))
        };
        wait_until("one leads", look, || self.get("/state"));
        found.expect("seen above")
    }
}

impl Drop for Demo {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// A person stops the leader in a browser.
fn pause_in_a_browser(page: &mut Page, leader: u16) {
    let summary = "document.getElementById('summary').textContent";
    page.wait_for(&format!("{summary} == 'Node {leader} leads.'"));
    let row = format!("document.querySelectorAll('#nodes tr')[{leader} - 1]");
    page.value(&format!("{row}.querySelectorAll('button')[1].click()"));
    page.wait_for(&format!("{row}.textContent.includes('paused')"));
    page.wait_for("document.querySelectorAll('#map circle.leader').length == 1");
    assert_eq!(page.value("document.documentElement.scrollWidth <= innerWidth"), true);
}

#[test]
fn a_person_breaks_the_cluster_and_nothing_is_left_of_it() {
    let mut demo = Demo::start();
    let page = demo.get("/");
    let (_, rest) = page.split_once("const SECRET = \"").expect("it is in the page");
    let secret = rest.split('"').next().expect("it ends").to_owned();
    let first = demo.leader(&[1, 2, 3]);
    assert_eq!(demo.act("wrong", &format!("what=kill&node={first}")), 403);
    assert_eq!(demo.act(&secret, "what=kill&node=9"), 409);
    assert_eq!(demo.act(&secret, "what=tickle&node=1"), 409);
    assert_eq!(demo.leader(&[1, 2, 3]), first, "nothing has happened");

    assert_eq!(demo.act(&secret, &format!("what=kill&node={first}")), 200);
    let rest: Vec<u16> = (1..=3).filter(|&node| node != first).collect();
    let second = demo.leader(&rest);
    assert_eq!(demo.act(&secret, &format!("what=start&node={first}")), 200);
    demo.leader(&[1, 2, 3]);

    // The leader is alone: the others find another, and it follows when it is let back.
    for &other in [1, 2, 3].iter().filter(|&&node| node != second) {
        assert_eq!(demo.act(&secret, &format!("what=cut&node={second}&other={other}")), 200);
    }
    let others: Vec<u16> = (1..=3).filter(|&node| node != second).collect();
    demo.leader(&others);
    for other in others {
        assert_eq!(demo.act(&secret, &format!("what=heal&node={second}&other={other}")), 200);
    }
    let third = demo.leader(&[1, 2, 3]);

    if let Some(mut page) = Page::open(&demo.url) {
        pause_in_a_browser(&mut page, third);
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
    std::thread::sleep(Duration::from_millis(100));
    let left = std::process::Command::new("pgrep").args(["-f", &demo.folder]).output();
    if let Ok(left) = left {
        assert!(left.stdout.is_empty(), "processes are left: {left:?}");
    }
}

//! HTTP with certificates, and what SIGHUP replaces while nodes run.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::{Cluster, Process, Signal, bellwether, free_address, keys, told, wait_until};
use super::security::certified;

/// A new authority, with certificates of nodes 1 to 3 that serve at 127.0.0.1, and of a client.
fn authority(directory: &Path) {
    let path = directory.to_str().expect("plain text");
    keys(&["init", path, "--cluster", "test", "--nodes", "1,2,3", "--host", "127.0.0.1"]);
    keys(&["client", path, "--cluster", "test", "--name", "admin"]);
}

/// Puts the content of one file into another, as it is when a file is moved there.
fn put(from: &Path, to: &Path) {
    let beside = to.with_extension("new");
    fs::copy(from, &beside).expect("writable");
    fs::rename(&beside, to).expect("writable");
}

/// Node 1 of three, which serves encrypted HTTP.
struct Encrypted {
    cluster: Cluster,
    process: Process,
    keys: PathBuf,
    url: String,
}

impl Encrypted {
    fn new() -> Self {
        let cluster = Cluster::running(3, "quorum", "");
        let keys = cluster.folder().join("keys");
        authority(&keys);
        self::keys(&["secret", keys.join("token").to_str().expect("plain text")]);
        let address = free_address();
        let file = |name: &str| keys.join(name).display().to_string();
        let flags = [
            ["--http", &address],
            ["--token-file", &file("token")],
            ["--http-certificate-file", &file("node-1.pem")],
            ["--http-key-file", &file("node-1.key")],
            ["--http-client-ca-file", &file("ca.pem")],
        ];
        let process = cluster.run("1", 1, &flags.concat());
        let it = Self { cluster, process, keys, url: format!("https://{address}") };
        let ca = it.file("ca.pem");
        let answers = || it.ask(&["history", "--ca", &ca]).0 == Some(0);
        wait_until("it answers", answers, || it.cluster.log_of("1"));
        it
    }

    fn file(&self, name: &str) -> String {
        self.keys.join(name).display().to_string()
    }

    fn ask(&self, arguments: &[&str]) -> (Option<i32>, String) {
        told(bellwether().args(arguments).args(["--http", &self.url]))
    }

    /// The exit status of `freeze`, and what it says.
    fn freeze(&self, more: &[&str]) -> (Option<i32>, String) {
        self.ask(&[&["freeze", "--for", "1s"][..], more].concat())
    }

    fn reload(&self, times: usize) {
        self.process.send(Signal::HUP);
        let read = || self.cluster.log_of("1").matches("was read again").count() == times;
        wait_until("it is read again", read, || self.cluster.log_of("1"));
    }
}

#[test]
fn a_client_shows_a_certificate_or_a_token_and_checks_that_of_the_node() {
    let node = Encrypted::new();
    let [ca, cert, key] = ["ca.pem", "client-admin.pem", "client-admin.key"].map(|f| node.file(f));
    let token = node.file("token");
    let certified = ["--ca", &ca, "--cert", &cert, "--key", &key];
    assert_eq!(node.freeze(&certified), (Some(0), "done\n".to_owned()));
    assert_eq!(node.freeze(&["--ca", &ca, "--token-file", &token]), (Some(0), "done\n".to_owned()));
    let order = "asked not to stand for election for 1s";
    node.cluster.logs_of("1", &[order, "remote=127.0.0.1:", "admin of test"]);
    let wrong = node.cluster.path("wrong");
    self::keys(&["secret", &wrong]);
    assert_eq!(node.freeze(&["--ca", &ca, "--token-file", &wrong]).0, Some(1));
    node.cluster.logs_of("1", &["has shown a wrong token", "wrong_tokens=1"]);
    let other = node.cluster.folder().join("other");
    authority(&other);
    let [other_ca, other_cert, other_key] = ["ca.pem", "client-admin.pem", "client-admin.key"]
        .map(|file| other.join(file).display().to_string());
    for (arguments, code, part) in [
        (&["--ca", &ca][..], 2, "--cert"),
        (&["--token-file", &token], 2, "--ca"),
        (&["--ca", &ca, "--cert", &cert], 2, "--key"),
        (&["--ca", &key, "--token-file", &token], 2, "no certificate"),
        (&["--ca", &ca, "--cert", &cert, "--key", &ca], 2, "no private key"),
        (&["--ca", &other_ca, "--token-file", &token], 3, "certificate"),
        (&["--ca", &ca, "--cert", &other_cert, "--key", &other_key], 3, "no node answers"),
    ] {
        let (status, said) = node.freeze(arguments);
        assert!(status == Some(code) && said.contains(part), "{arguments:?}: {status:?} {said}");
    }
    // Without encryption there is no answer.
    let plain = node.url.replace("https", "http");
    let (status, said) = told(bellwether().args(["history", "--http", &plain]));
    assert_eq!(status, Some(3), "{said}");
}

#[test]
fn sighup_replaces_the_certificate_and_the_token_and_nothing_if_one_is_wrong() {
    let node = Encrypted::new();
    let other = node.cluster.folder().join("other");
    authority(&other);
    keys(&["secret", other.join("token").to_str().expect("plain text")]);
    let [old, new] = [&node.keys, &other].map(|keys| {
        let copy = node.cluster.folder().join(if *keys == other { "new" } else { "old" });
        fs::create_dir(&copy).expect("writable");
        for name in ["ca.pem", "token", "node-1.key"] {
            fs::copy(keys.join(name), copy.join(name)).expect("writable");
        }
        ["ca.pem", "token"].map(|name| copy.join(name).display().to_string())
    });
    let try_both =
        || [&old, &new].map(|[ca, token]| node.freeze(&["--ca", ca, "--token-file", token]).0);
    assert_eq!(try_both(), [Some(0), Some(3)]);

    // Half of it: the certificate is not that of the key.
    for name in ["token", "ca.pem", "node-1.pem"] {
        put(&other.join(name), &node.keys.join(name));
    }
    node.reload(1);
    assert!(node.cluster.log_of("1").contains("nothing of it is used"));
    assert_eq!(try_both(), [Some(0), Some(3)]);
    put(&other.join("node-1.key"), &node.keys.join("node-1.key"));
    node.reload(2);
    assert_eq!(try_both(), [Some(3), Some(0)]);
}

/// Three nodes, whose keys are in files that are changed while they run.
struct Rotated {
    cluster: Cluster,
    nodes: Vec<Process>,
    reloads: usize,
}

impl Rotated {
    fn start(section: &str) -> Self {
        let cluster = Cluster::secured(3, section);
        let nodes = [3, 2, 1].map(|node| cluster.run(&node.to_string(), node, &[]));
        let it = Self { cluster, nodes: nodes.into(), reloads: 0 };
        it.all_follow();
        it
    }

    fn all_follow(&self) {
        for node in 1..=3 {
            let connected = |status: &Value| {
                let members = status["members"].as_array().expect("a list");
                status["leader"] == 3 && members.iter().all(|to| to["link"] == "connected")
            };
            self.cluster.wait_for(node, "follows, and reaches all", connected);
        }
    }

    /// Has one node after another read its files anew.
    fn reload(&mut self) {
        self.reloads += 1;
        for (process, node) in self.nodes.iter().zip(["3", "2", "1"]) {
            process.send(Signal::HUP);
            let read = || {
                let log = self.cluster.log_of(node);
                log.matches("was read again node").count() == self.reloads
            };
            wait_until("it is read again", read, || self.cluster.log_of(node));
        }
    }

    /// The last node starts anew: its connections are new, and so are those to it.
    fn restarts_the_last(&mut self) {
        self.nodes[2].kill();
        self.nodes[2] = self.cluster.run("1", 1, &[]);
        self.all_follow();
    }
}

#[test]
fn a_secret_is_changed_in_a_running_cluster() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = |name: &str| folder.path().join(name);
    for name in ["one", "two"] {
        keys(&["secret", file(name).to_str().expect("plain text")]);
    }
    let set = |secret, second| {
        put(&file(secret), &file("secret"));
        put(&file(second), &file("second"));
    };
    set("one", "one");
    let section = format!(
        "[security]\nmode = \"secret\"\nsecret_file = \"{0}/secret\"\n\
         second_secret_file = \"{0}/second\"\n",
        folder.path().display()
    );
    let mut rotated = Rotated::start(&section);
    for (secret, second) in [("one", "two"), ("two", "one"), ("two", "two")] {
        set(secret, second);
        rotated.reload();
    }
    // The old secret is worth nothing any more, and the new one is what a restarted node has.
    rotated.restarts_the_last();
    set("one", "one");
    assert_ne!(rotated.cluster.ask(2, &[]).status.code(), Some(0));
}

#[test]
fn an_authority_is_changed_in_a_running_cluster() {
    let folder = tempfile::tempdir().expect("a directory");
    let keys = folder.path();
    let [one, two] = ["one", "two"].map(|name| keys.join(name));
    authority(&one);
    authority(&two);
    let put_all = |from: &Path| {
        for node in 1..=3 {
            for name in [format!("node-{node}.pem"), format!("node-{node}.key")] {
                put(&from.join(&name), &keys.join(&name));
            }
        }
    };
    let authorities = |from: &[&Path]| {
        let text = from.iter().map(|from| fs::read_to_string(from.join("ca.pem")));
        let text: String = text.map(|text| text.expect("readable")).collect();
        fs::write(keys.join("ca.pem"), text).expect("writable");
    };
    authorities(&[&one]);
    put_all(&one);
    let mut rotated = Rotated::start(&certified(keys));
    authorities(&[&one, &two]);
    rotated.reload();
    put_all(&two);
    rotated.reload();
    authorities(&[&two]);
    rotated.reload();
    rotated.restarts_the_last();
}

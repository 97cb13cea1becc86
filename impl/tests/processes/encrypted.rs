//! HTTP with certificates, and what SIGHUP replaces while nodes run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use super::bad_input::refuses;
use super::common::{Cluster, Process, Signal, bellwether, free_port, wait_until};

/// Runs `bellwether keys`, and fails if that does.
fn keys(arguments: &[&str]) {
    let output = bellwether().arg("keys").args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

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
        let address = format!("127.0.0.1:{}", free_port());
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
        let answers = || it.ask(&["history", "--ca", &ca]).status.success();
        wait_until("it answers", answers, || it.cluster.log_of("1"));
        it
    }

    fn file(&self, name: &str) -> String {
        self.keys.join(name).display().to_string()
    }

    fn ask(&self, arguments: &[&str]) -> Output {
        let mut command = bellwether();
        command.arg(arguments[0]).args(["--http", &self.url]).args(&arguments[1..]);
        command.output().expect("it runs")
    }

    /// The exit status of `freeze`, and what it says.
    fn freeze(&self, more: &[&str]) -> (Option<i32>, String) {
        let output = self.ask(&[&["freeze", "--for", "1s"][..], more].concat());
        let said = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
        (output.status.code(), said.concat())
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
    let other = node.cluster.folder().join("other");
    authority(&other);
    let [other_ca, other_cert, other_key] =
        ["ca.pem", "client-admin.pem", "client-admin.key"].map(|f| other.join(f));
    let text = |path: &Path| path.display().to_string();
    let [other_ca, other_cert, other_key] = [&other_ca, &other_cert, &other_key].map(|p| text(p));
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
    let output = bellwether().args(["history", "--http", &plain]).output().expect("it runs");
    assert_eq!(output.status.code(), Some(3), "{output:?}");
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

#[test]
fn a_token_does_not_go_over_a_network_without_encryption() {
    let cluster = Cluster::running(3, "quorum", "");
    let token = cluster.folder().join("token").display().to_string();
    keys(&["secret", &token]);
    let config = cluster.config().display().to_string();
    let check = |more: &[&'static str]| {
        [&["check-config", &config, "--node", "1"][..], &["--token-file", &token], more].concat()
    };
    let open = ["--http", "0.0.0.0:1"];
    refuses(&check(&open), 2, &["0.0.0.0:1", "certificate_file", "allow_plain"]);
    let allowed = check(&["--http", "0.0.0.0:1", "--http-allow-plain"]);
    let asked = bellwether().args(allowed).output().expect("it runs");
    let said = String::from_utf8_lossy(&asked.stderr);
    assert!(asked.status.success() && said.contains("HTTP IS NOT ENCRYPTED"), "{said}");
    let certificate = ["--http", "127.0.0.1:1", "--http-certificate-file", "x"];
    refuses(&check(&certificate), 2, &["certificate_file", "key_file"]);
    let clients = ["--http", "127.0.0.1:1", "--http-client-ca-file", "x"];
    refuses(&check(&clients), 2, &["client_ca_file", "certificate_file"]);
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
            let connected = |status: &serde_json::Value| {
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

    /// Starts a node anew: its connections are new, and so are those to it.
    fn restart(&mut self, node: u16) {
        let process = self.cluster.run(&node.to_string(), node, &[]);
        drop(std::mem::replace(&mut self.nodes[usize::from(3 - node)], process));
    }
}

#[test]
fn a_secret_is_changed_in_a_running_cluster() {
    let directory = tempfile::tempdir().expect("a directory");
    let keys = directory.path().to_owned();
    let file = |name: &str| keys.join(name);
    for name in ["one", "two"] {
        self::keys(&["secret", file(name).to_str().expect("plain text")]);
    }
    put(&file("one"), &file("secret"));
    put(&file("one"), &file("second"));
    let section = format!(
        "[security]\nmode = \"secret\"\nsecret_file = \"{0}/secret\"\n\
         second_secret_file = \"{0}/second\"\n",
        keys.display()
    );
    let mut rotated = Rotated::start(&section);
    put(&file("two"), &file("second"));
    rotated.reload();
    put(&file("two"), &file("secret"));
    put(&file("one"), &file("second"));
    rotated.reload();
    put(&file("two"), &file("second"));
    rotated.reload();
    // The old secret is worth nothing any more, and the new one is what a restarted node has.
    rotated.nodes[2].kill();
    rotated.restart(1);
    rotated.all_follow();
    put(&file("one"), &file("secret"));
    put(&file("one"), &file("second"));
    assert_ne!(rotated.cluster.ask(2, &[]).status.code(), Some(0));
}

#[test]
fn an_authority_is_changed_in_a_running_cluster() {
    let directory = tempfile::tempdir().expect("a directory");
    let keys = directory.path().to_owned();
    let [one, two] = ["one", "two"].map(|name| keys.join(name));
    authority(&one);
    authority(&two);
    let names = ["node-1.pem", "node-2.pem", "node-3.pem"];
    let files = [names, ["node-1.key", "node-2.key", "node-3.key"]].concat();
    let put_all =
        |from: &Path| files.iter().for_each(|name| put(&from.join(name), &keys.join(name)));
    let authorities = |from: &[&Path]| {
        let text: String = from
            .iter()
            .map(|from| fs::read_to_string(from.join("ca.pem")).expect("readable"))
            .collect();
        fs::write(keys.join("ca.pem"), text).expect("writable");
    };
    authorities(&[&one]);
    put_all(&one);
    let path = keys.display();
    let section = format!(
        "[security]\nmode = \"tls\"\nca_file = \"{path}/ca.pem\"\n\
         certificate_file = \"{path}/node-{{node}}.pem\"\nkey_file = \"{path}/node-{{node}}.key\"\n"
    );
    let mut rotated = Rotated::start(&section);
    authorities(&[&one, &two]);
    rotated.reload();
    put_all(&two);
    rotated.reload();
    authorities(&[&two]);
    rotated.reload();
    rotated.nodes[2].kill();
    rotated.restart(1);
    rotated.all_follow();
}

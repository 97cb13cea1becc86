//! Processes that do not belong to the cluster, or that were started to do harm to it.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::bad_input::{logs, refuses};
use super::common::{Cluster, LIMIT, bellwether, free_port};
use super::expiry::certify_shortly;

/// A cluster whose nodes share a secret.
pub(crate) fn secret_cluster(size: u16) -> Cluster {
    let secrets = tempfile::tempdir().expect("a directory").keep();
    let file = secrets.join("secret");
    keys(&["secret", file.to_str().expect("plain text")]);
    let section = format!("[security]\nmode = \"secret\"\nsecret_file = \"{}\"\n", file.display());
    Cluster::secured(size, &section)
}

/// Runs `bellwether keys` in the directory of the keys.
pub(crate) fn keys(arguments: &[&str]) {
    let output = bellwether().arg("keys").args(arguments).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A cluster whose nodes have certificates, and where these are.
pub(crate) fn certified_cluster(size: u16) -> (Cluster, PathBuf) {
    let directory = tempfile::tempdir().expect("a directory").keep();
    let path = directory.to_str().expect("plain text");
    let ids: Vec<_> = (1..=size).map(|id| id.to_string()).collect();
    keys(&["init", path, "--cluster", "test", "--nodes", &ids.join(",")]);
    let section = format!(
        "[security]\nmode = \"tls\"\nca_file = \"{path}/ca.pem\"\n\
         certificate_file = \"{path}/node-{{node}}.pem\"\nkey_file = \"{path}/node-{{node}}.key\"\n"
    );
    (Cluster::secured(size, &section), directory)
}

/// A process that speaks the wire format, and knows nothing but the configuration.
struct Forger(TcpStream);

impl Forger {
    /// The greeting of a node, and what it answers.
    fn greet(port: u16, mode: u8) -> std::io::Result<(Self, Vec<u8>)> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut forger = Self(stream);
        let mut greeting = b"BLWR\0\x01".to_vec();
        greeting.push(mode);
        greeting.extend([7; 32]);
        forger.send(&greeting)?;
        let answer = forger.read()?;
        Ok((forger, answer))
    }

    fn send(&mut self, frame: &[u8]) -> std::io::Result<()> {
        let length = u32::try_from(frame.len()).expect("short").to_be_bytes();
        self.0.write_all(&[&length, frame].concat())
    }

    fn read(&mut self) -> std::io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.0.read_exact(&mut length)?;
        let mut frame = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut frame)?;
        Ok(frame)
    }

    /// "I am node `node`, which started just now", and ten claims to lead a second.
    fn lead(port: u16, node: u8, mode: u8, until: Instant) {
        while Instant::now() < until {
            let claims = || {
                let (mut forger, _) = Self::greet(port, mode)?;
                // Incarnation 99. It knows no settings and members, and has no leases and groups.
                let name = [&[0, 4][..], b"test", &[5], b"bully", &[node, 99]].concat();
                let hello = [&name[..], &[0; 32], &[0, 0, 0]].concat();
                forger.send(&hello)?;
                while Instant::now() < until {
                    forger.send(&[0, 2])?;
                    thread::sleep(Duration::from_millis(100));
                }
                Ok::<_, std::io::Error>(())
            };
            let _ = claims();
            thread::sleep(Duration::from_millis(100));
        }
    }
}

/// The changes of role that were logged.
fn changes(cluster: &Cluster, node: u16) -> usize {
    cluster.log_of(&node.to_string()).matches("role changed").count()
}

/// Lets a forger claim for two seconds, on the port of each of the other nodes, that it is node 3,
/// which is down. Returns whether one of them ever followed it.
fn forge(cluster: &Cluster, mode: u8) -> bool {
    let until = Instant::now() + Duration::from_secs(2);
    let forgers: Vec<_> = [1, 2]
        .map(|node| {
            let port = cluster.ports[&node];
            thread::spawn(move || Forger::lead(port, 3, mode, until))
        })
        .into();
    let mut followed = false;
    while Instant::now() < until {
        for node in [1, 2] {
            let status = cluster.status(node).expect("it answers");
            followed |= status["leader"] == 3;
        }
    }
    forgers.into_iter().for_each(|forger| forger.join().expect("no panic"));
    followed
}

#[test]
fn a_forger_has_no_effect_on_nodes_with_a_secret() {
    let mut cluster = secret_cluster(3);
    (1..=2).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(2);
    let before = [1, 2].map(|node| changes(&cluster, node));
    // As a node that has the secret, and as one that has not heard of any.
    for mode in [1, 0] {
        assert!(!forge(&cluster, mode));
    }
    assert_eq!([1, 2].map(|node| changes(&cluster, node)), before, "not one change of role");
    logs(&cluster, "1", &["does not know the secret", "its security is `plain`"]);
    // The node whose place it wanted is let in.
    cluster.start(3);
    cluster.wait_for_leader(3);
}

/// That the forger is a good one.
#[test]
fn a_forger_leads_nodes_that_nothing_protects() {
    let mut cluster = Cluster::new(3);
    (1..=2).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(2);
    let status = cluster.status(2).expect("it answers any process");
    assert!(status["incarnation"].is_null(), "a forger could be the same run of node 2: {status}");
    assert!((0..15).any(|_| forge(&cluster, 0)));
}

#[test]
fn nodes_with_another_secret_or_none_are_refused_on_both_sides() {
    let mut cluster = secret_cluster(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    let other = cluster.folder().join("other");
    keys(&["secret", other.to_str().expect("plain text")]);
    let _other = cluster.run("other", 1, &["--secret-file", other.to_str().expect("plain text")]);
    let remedy = ["WARN", "does not know the secret", "give every node the same secret"];
    logs(&cluster, "other", &remedy);
    logs(&cluster, "2", &remedy);
    let remedy = ["give every node the same [security]"];
    let listen = format!("127.0.0.1:{}", free_port());
    let _plain = cluster.run("plain", 1, &["--security", "plain", "--listen", &listen]);
    logs(&cluster, "plain", &remedy);
    logs(&cluster, "2", &remedy);
    cluster.wait_for_leader(2);
}

#[test]
fn a_stranger_learns_nothing_of_nodes_with_a_secret() {
    let mut cluster = secret_cluster(2);
    (1..=2).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(2);
    let status = cluster.status(2).expect("it answers its own kind");
    assert!(status["incarnation"].is_u64(), "{status}");
    let address = format!("127.0.0.1:{}", cluster.ports[&2]);
    refuses(&["status", "--address", &address], 3, &["its security is `secret`", "`plain`"]);
    // The greeting says what every node of this release says, a number, and nothing else.
    let (mut forger, greeting) = Forger::greet(cluster.ports[&2], 1).expect("it answers");
    assert_eq!(greeting[..7], *b"BLWR\0\x01\x01");
    assert_eq!(greeting.len(), 7 + 32);
    assert_eq!(forger.read().expect("a proof").len(), 32 + 16, "a key of this connection alone");
    forger.send(&[0; 32 + 16]).expect("sent");
    assert!(forger.read().is_err(), "it hangs up");
}

#[test]
fn nodes_with_certificates_elect_and_answer_each_other_alone() {
    let (mut cluster, _) = certified_cluster(3);
    (1..=3).for_each(|node| cluster.start(node));
    cluster.wait_for_leader(3);
    cluster.take(3).kill();
    cluster.wait_for_leader(2);
    let before = [1, 2].map(|node| changes(&cluster, node));
    for mode in [2, 0] {
        assert!(!forge(&cluster, mode));
    }
    assert_eq!([1, 2].map(|node| changes(&cluster, node)), before, "not one change of role");
    logs(&cluster, "1", &["it does not speak TLS, and this node does"]);
    let address = format!("127.0.0.1:{}", cluster.ports[&2]);
    refuses(&["status", "--address", &address], 3, &["its security is `tls`", "[security]"]);
    let alone = ["status", "--address", &address, "--security", "tls"];
    refuses(&alone, 2, &["mode tls needs a configuration"]);
    cluster.start(3);
    cluster.wait_for_leader(3);
}

/// Node 1 with something wrong, for each thing: a line in both logs, and in the status.
#[test]
fn certificates_that_cannot_be_used_are_told_with_the_remedy() {
    let (mut cluster, keys_at) = certified_cluster(2);
    cluster.start(2);
    cluster.wait_for_leader(2);
    let other = keys_at.join("other");
    let other = other.to_str().expect("plain text");
    keys(&["init", other, "--cluster", "test", "--nodes", "1"]);
    let [certificate, key] = ["pem", "key"].map(|end| format!("{other}/node-1.{end}"));
    let foreign = ["--certificate-file", &certificate, "--key-file", &key];
    let listen = format!("127.0.0.1:{}", free_port());
    let _foreign = cluster.run("foreign", 1, &[&foreign[..], &["--listen", &listen]].concat());
    logs(&cluster, "foreign", &["certificate of this node is from another authority", "`ca_file`"]);
    logs(&cluster, "2", &["its certificate is from another authority", "`ca_file`"]);

    // Valid until now.
    certify_shortly(&keys_at, Duration::ZERO);
    thread::sleep(Duration::from_secs(2));
    let _expired = cluster.run("1", 1, &[]);
    logs(&cluster, "1", &["the certificate of this node has expired", "replace it"]);
    logs(&cluster, "2", &["its certificate has expired", "replace it"]);
    cluster.wait_for(2, "shows the problem", |status| {
        let member = &status["members"][0];
        let problem = member["problem"].as_str().unwrap_or_default();
        member["link"] == "refused" && problem.contains("its certificate has expired")
    });
    cluster.wait_for_leader(2);
}

#[test]
fn a_node_with_the_files_of_another_does_not_start() {
    let (cluster, keys_at) = certified_cluster(2);
    let path = cluster.config();
    let run = |more: &[&str], parts: &[&str]| {
        let file = path.to_str().expect("plain text");
        refuses(&[&["run", "--config", file, "--node", "1"][..], more].concat(), 2, parts);
    };
    let [own, certificate, key] =
        ["node-1.key", "node-2.pem", "node-2.key"].map(|name| keys_at.join(name));
    let [own, certificate, key] = [&own, &certificate, &key].map(|p| p.to_str().expect("plain"));
    let other = ["--certificate-file", certificate, "--key-file", key];
    run(&other, &["is not that of node 1", "node-1.test.bellwether", "keys node"]);
    run(&["--key-file", key], &["node-1.pem: does not fit to", "node-2.key"]);
    run(&["--certificate-file", own], &["has no certificate in PEM format"]);
    run(&["--ca-file", "/no/ca.pem"], &["cannot read /no/ca.pem"]);
    std::fs::set_permissions(own, std::fs::Permissions::from_mode(0o644)).expect("ours");
    run(&[], &["node-1.key can be read by others", "chmod 600"]);
    let directory = keys_at.to_str().expect("plain text");
    let again = ["keys", "init", directory, "--cluster", "test", "--nodes", "1"];
    refuses(&again, 1, &["cannot write", "ca.key", "exists"]);
    refuses(&["keys", "node", "/no", "--cluster", "test", "--node", "1"], 1, &["/no/ca.key"]);
}

#[test]
fn a_secret_is_made_once_and_readable_by_its_owner_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let (file, again) = (directory.path().join("secret"), directory.path().join("again"));
    keys(&["secret", file.to_str().expect("plain text")]);
    keys(&["secret", again.to_str().expect("plain text")]);
    let read = |file: &Path| std::fs::read_to_string(file).expect("readable");
    assert!(read(&file).len() > 64 && read(&file) != read(&again));
    let mode = std::fs::metadata(&file).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let path = file.to_str().expect("plain text");
    refuses(&["keys", "secret", path], 1, &["cannot write", path, "exists"]);
}

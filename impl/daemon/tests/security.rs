//! Nodes with a secret or with certificates: what a stranger can do and learn, and certificates
//! that expire, and are renewed while the nodes run.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rcgen::{CertificateParams, DistinguishedName, DnType, Issuer, KeyPair};
use serde_json::Value;

use super::common::{Cluster, LIMIT, Signal, bellwether, free_address, keys, refuses, told};

/// A cluster whose nodes share a secret.
pub(crate) fn secret_cluster(size: u16) -> Cluster {
    let secrets = tempfile::tempdir().expect("a directory").keep();
    let file = secrets.join("secret").display().to_string();
    keys(&["secret", &file]);
    Cluster::secured(size, &format!("[security]\nmode = \"secret\"\nsecret_file = \"{file}\"\n"))
}

/// The section of nodes whose certificates are in this folder.
pub(super) fn certified(folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "[security]\nmode = \"tls\"\nca_file = \"{folder}/ca.pem\"\n\
         certificate_file = \"{folder}/node-{{node}}.pem\"\n\
         key_file = \"{folder}/node-{{node}}.key\"\n"
    )
}

/// A cluster whose nodes have certificates, and where these are.
pub(crate) fn certified_cluster(size: u16) -> (Cluster, PathBuf) {
    let folder = tempfile::tempdir().expect("a directory").keep();
    let ids: Vec<_> = (1..=size).map(|id| id.to_string()).collect();
    let path = folder.to_str().expect("plain text");
    keys(&["init", path, "--cluster", "test", "--nodes", &ids.join(",")]);
    (Cluster::secured(size, &certified(&folder)), folder)
}

/// A process that speaks the wire format, and knows nothing but the configuration.
struct Forger(TcpStream);

impl Forger {
    /// The greeting of a node, and what it answers.
    fn greet(port: u16, mode: u8) -> std::io::Result<(Self, Vec<u8>)> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(LIMIT))?;
        let mut forger = Self(stream);
        let mut greeting = b"BLWR\0\x02".to_vec();
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

/// Lets a forger claim for two seconds, on the port of each of the other nodes, that it is node 3,
/// which is down. Returns whether one of them ever followed it.
fn forge(cluster: &Cluster, mode: u8) -> bool {
    let until = Instant::now() + Duration::from_secs(2);
    let forgers = [1, 2].map(|node| {
        let port = cluster.ports[&node];
        thread::spawn(move || Forger::lead(port, 3, mode, until))
    });
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

/// Forgers in each of these modes change nothing at nodes 1 and 2.
#[track_caller]
fn no_forger_has_an_effect(cluster: &Cluster, modes: [u8; 2]) {
    let before = cluster.changes([1, 2]);
    for mode in modes {
        assert!(!forge(cluster, mode));
    }
    assert_eq!(cluster.changes([1, 2]), before, "not one change of role");
}

/// `status` without what the nodes know each other by says this.
#[track_caller]
fn tells_no_stranger(cluster: &Cluster, more: &[&str], status: i32, parts: &[&str]) {
    let address = format!("127.0.0.1:{}", cluster.ports[&2]);
    refuses(&[&["status", "--address", &address][..], more].concat(), status, parts);
}

#[test]
fn a_forger_has_no_effect_on_nodes_with_a_secret() {
    let mut cluster = secret_cluster(3).led(1..=2);
    // As a node that has the secret, and as one that has not heard of any.
    no_forger_has_an_effect(&cluster, [1, 0]);
    cluster.logs_of("1", &["does not know the secret", "its security is `plain`"]);
    // The node whose place it wanted is let in.
    cluster.start(3);
    cluster.wait_for_leader(3);
}

/// That the forger is a good one.
#[test]
fn a_forger_leads_nodes_that_nothing_protects() {
    let cluster = Cluster::new(3).led(1..=2);
    let status = cluster.status(2).expect("it answers any process");
    assert!(status["incarnation"].is_null(), "a forger could be the same run of node 2: {status}");
    assert!((0..15).any(|_| forge(&cluster, 0)));
}

#[test]
fn nodes_with_another_secret_or_none_are_refused_on_both_sides() {
    let cluster = secret_cluster(2).led(2..=2);
    let other = cluster.path("other");
    keys(&["secret", &other]);
    let _other = cluster.run("other", 1, &["--secret-file", &other]);
    let remedy = ["WARN", "does not know the secret", "give every node the same secret"];
    cluster.logs_of("other", &remedy);
    cluster.logs_of("2", &remedy);
    let remedy = ["give every node the same [security]"];
    let _plain = cluster.run("plain", 1, &["--security", "plain", "--listen", &free_address()]);
    cluster.logs_of("plain", &remedy);
    cluster.logs_of("2", &remedy);
    cluster.wait_for_leader(2);
}

#[test]
fn a_stranger_learns_nothing_of_nodes_with_a_secret() {
    let cluster = secret_cluster(2).led(1..=2);
    let status = cluster.status(2).expect("it answers its own kind");
    assert!(status["incarnation"].is_u64(), "{status}");
    tells_no_stranger(&cluster, &[], 3, &["its security is `secret`", "`plain`"]);
    // The greeting says what every node of this release says, a number, and nothing else.
    let (mut forger, greeting) = Forger::greet(cluster.ports[&2], 1).expect("it answers");
    assert_eq!(greeting[..7], *b"BLWR\0\x02\x01");
    assert_eq!(greeting.len(), 7 + 32);
    assert_eq!(forger.read().expect("a proof").len(), 32 + 16, "a key of this connection alone");
    forger.send(&[0; 32 + 16]).expect("sent");
    assert!(forger.read().is_err(), "it hangs up");
}

#[test]
fn nodes_with_certificates_elect_and_answer_each_other_alone() {
    let mut cluster = certified_cluster(3).0.led(1..=3);
    cluster.take(3).kill();
    cluster.wait_for_leader(2);
    no_forger_has_an_effect(&cluster, [2, 0]);
    cluster.logs_of("1", &["it does not speak TLS, and this node does"]);
    tells_no_stranger(&cluster, &[], 3, &["its security is `tls`", "[security]"]);
    let tls = ["--security", "tls"];
    tells_no_stranger(&cluster, &tls, 2, &["mode tls needs a configuration"]);
    cluster.start(3);
    cluster.wait_for_leader(3);
}

/// Gives node 1 a certificate of the authority in this directory that expires so soon.
fn certify_shortly(directory: &Path, valid: Duration) {
    let key = fs::read_to_string(directory.join("ca.key")).expect("readable");
    let mut authority = CertificateParams::default();
    authority.distinguished_name = DistinguishedName::new();
    authority.distinguished_name.push(DnType::CommonName, "bellwether authority of test");
    let issuer = Issuer::new(authority, KeyPair::from_pem(&key).expect("a key"));
    let mut about = CertificateParams::new(["node-1.test.bellwether".to_owned()]).expect("a name");
    about.not_after = (SystemTime::now() + valid).into();
    let key = KeyPair::generate().expect("a key");
    let certificate = about.signed_by(&key, &issuer).expect("a certificate");
    // The file of the key stays one that no other user can read.
    fs::write(directory.join("node-1.key"), key.serialize_pem()).expect("writable");
    fs::write(directory.join("node-1.pem"), certificate.pem()).expect("writable");
}

/// Waits until node 2 shows that it refuses node 1, whose certificate has expired.
fn refuses_the_expired(cluster: &Cluster) {
    cluster.wait_for(2, "refuses node 1", |status| {
        let member = &status["members"][0];
        let problem = member["problem"].as_str().unwrap_or_default();
        member["link"] == "refused" && problem.contains("its certificate has expired")
    });
}

/// Node 1 with something wrong, for each thing: a line in both logs, and in the status.
#[test]
fn certificates_that_cannot_be_used_are_told_with_the_remedy() {
    let (cluster, keys_at) = certified_cluster(2);
    let cluster = cluster.led(2..=2);
    let other = keys_at.join("other").display().to_string();
    keys(&["init", &other, "--cluster", "test", "--nodes", "1"]);
    let [certificate, key] = ["pem", "key"].map(|end| format!("{other}/node-1.{end}"));
    let listen = free_address();
    let files = ["--certificate-file", &certificate, "--key-file", &key, "--listen", &listen];
    let _foreign = cluster.run("foreign", 1, &files);
    let own = "certificate of this node is from another authority";
    cluster.logs_of("foreign", &[own, "`ca_file`"]);
    cluster.logs_of("2", &["its certificate is from another authority", "`ca_file`"]);

    // Valid until now.
    certify_shortly(&keys_at, Duration::ZERO);
    thread::sleep(Duration::from_secs(2));
    let _expired = cluster.run("1", 1, &[]);
    cluster.logs_of("1", &["the certificate of this node has expired", "replace it"]);
    cluster.logs_of("2", &["its certificate has expired", "replace it"]);
    refuses_the_expired(&cluster);
    cluster.wait_for_leader(2);
}

/// How long a certificate is valid that a test waits for: nodes start and connect in the meantime.
const SHORT: Duration = Duration::from_secs(20);

#[test]
fn a_certificate_that_expires_is_told_of_and_renewed_without_a_restart() {
    let (mut cluster, keys_at) = certified_cluster(2);
    certify_shortly(&keys_at, SHORT);
    // The certificate of the node itself, in its status.
    let days_left = |status: &Value| {
        let all = status["certificates"].as_array().expect("a list").iter();
        let mut own = all.filter(|certificate| certificate["which"] == "node");
        own.next().expect("it has one")["days_left"].as_i64()
    };
    let is_reached = |status: &Value| status["members"][0]["link"] == "connected";
    let one = cluster.run("1", 1, &[]);
    cluster.start(2);
    cluster.logs_of("1", &["WARN", "the certificate of this node", "expires within a day"]);
    cluster.wait_for(2, "reaches node 1", is_reached);
    cluster.wait_for(1, "tells it", |status| days_left(status) == Some(0));
    let config = cluster.config().display().to_string();
    let check = |node: &'static str| ["check-config", &config, "--node", node];
    let (status, said) = told(bellwether().args(check("1")));
    assert!(status == Some(0) && said.contains("expires within a day"), "{said}");

    // From here on no new connection to it comes about, and none from it.
    let expired = ["ERROR", "the certificate of this node", "has expired", "node-1.pem"];
    cluster.logs_of("1", &expired);
    refuses(&check("1"), 2, &["the certificate of this node", "has expired", "renew it"]);
    let (status, said) = told(bellwether().args(check("2")));
    assert_eq!(status, Some(0), "its own has not expired: {said}");
    // A certificate is valid to the end of its last second.
    thread::sleep(Duration::from_secs(1));
    cluster.take(2).kill();
    cluster.start(2);
    refuses_the_expired(&cluster);

    for end in ["pem", "key"] {
        fs::remove_file(keys_at.join(format!("node-1.{end}"))).expect("it is there");
    }
    let directory = keys_at.to_str().expect("plain text");
    keys(&["node", directory, "--cluster", "test", "--node", "1"]);
    one.send(Signal::HUP);
    cluster.logs_of("1", &["was read again"]);
    cluster.wait_for(2, "reaches node 1", is_reached);
    cluster.wait_for(1, "has the new one, and follows", |status| {
        days_left(status) == Some(364) && status["leader"] == 2
    });
    let (status, said) = told(bellwether().args(check("1")));
    assert!(status == Some(0) && said.contains("# When certificates expire:"), "{said}");
    assert!(said.contains("364 days left"), "{said}");
}

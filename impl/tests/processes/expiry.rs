//! Certificates that expire: how that is told, and how they are renewed while the nodes run.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, DistinguishedName, DnType, Issuer, KeyPair};
use serde_json::Value;

use super::bad_input::{logs, refuses};
use super::common::{Cluster, Signal, bellwether};
use super::security::{certified_cluster, keys};

/// How long a certificate is valid that a test waits for: nodes start and connect in the meantime.
const SHORT: Duration = Duration::from_secs(20);

/// Gives node 1 a certificate of the authority in this directory that expires so soon.
pub(crate) fn certify_shortly(directory: &Path, valid: Duration) {
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

fn check_config(cluster: &Cluster, node: &str) -> Output {
    let mut command = bellwether();
    command.arg("check-config").arg(cluster.config()).args(["--node", node]);
    command.output().expect("it runs")
}

/// The certificate of the node itself, in its status.
fn own(status: &Value) -> &Value {
    let all = status["certificates"].as_array().expect("a list");
    all.iter().find(|certificate| certificate["which"] == "node").expect("it has one")
}

#[test]
fn a_certificate_that_expires_is_told_of_and_renewed_without_a_restart() {
    let (mut cluster, keys_at) = certified_cluster(2);
    certify_shortly(&keys_at, SHORT);
    let one = cluster.run("1", 1, &[]);
    cluster.start(2);
    logs(&cluster, "1", &["WARN", "the certificate of this node", "expires within a day"]);
    cluster.wait_for(2, "reaches node 1", |status| status["members"][0]["link"] == "connected");
    cluster.wait_for(1, "tells it", |status| own(status)["days_left"] == 0);
    let checked = check_config(&cluster, "1");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && said.contains("expires within a day"), "{said}");

    // From here on no new connection to it comes about, and none from it.
    logs(&cluster, "1", &["ERROR", "the certificate of this node", "has expired", "node-1.pem"]);
    let config = cluster.config().display().to_string();
    let check = ["check-config", &config, "--node", "1"];
    refuses(&check, 2, &["the certificate of this node", "has expired", "renew it"]);
    assert!(check_config(&cluster, "2").status.success(), "its own has not expired");
    // A certificate is valid to the end of its last second.
    std::thread::sleep(Duration::from_secs(1));
    cluster.take(2).kill();
    cluster.start(2);
    cluster.wait_for(2, "refuses node 1", |status| {
        let member = &status["members"][0];
        let problem = member["problem"].as_str().unwrap_or_default();
        member["link"] == "refused" && problem.contains("its certificate has expired")
    });

    for end in ["pem", "key"] {
        fs::remove_file(keys_at.join(format!("node-1.{end}"))).expect("it is there");
    }
    let directory = keys_at.to_str().expect("plain text");
    keys(&["node", directory, "--cluster", "test", "--node", "1"]);
    one.send(Signal::HUP);
    logs(&cluster, "1", &["was read again"]);
    cluster.wait_for(2, "reaches node 1", |status| status["members"][0]["link"] == "connected");
    cluster.wait_for(1, "has the new one, and follows", |status| {
        own(status)["days_left"] == 364 && status["leader"] == 2
    });
    let checked = check_config(&cluster, "1");
    let said = String::from_utf8_lossy(&checked.stdout);
    assert!(checked.status.success() && said.contains("# When certificates expire:"), "{said}");
    assert!(said.contains("364 days left"), "{said}");
}

#[test]
fn the_nodes_of_a_cluster_expire_on_different_days_and_their_authority_after_them() {
    let (cluster, _) = certified_cluster(3);
    for (node, days) in [("1", 364), ("2", 363), ("3", 362)] {
        let checked = check_config(&cluster, node);
        let said = String::from_utf8_lossy(&checked.stdout);
        let line = |of: &str| said.lines().find(|line| line.starts_with(of)).unwrap_or_default();
        let own = line("# the certificate of this node");
        assert!(own.ends_with(&format!(", {days} days left")), "{said}");
        let authority = line("# the certificate of an authority of the nodes");
        assert!(authority.ends_with(", 3649 days left"), "{said}");
    }
}

/// `check-config` says what `run` says, word for word, unless the configuration is for another
/// machine.
#[test]
fn keys_that_cannot_be_used_are_told_as_run_tells_them() {
    let (cluster, keys_at) = certified_cluster(2);
    let config = cluster.config().display().to_string();
    let path = |name: &str| keys_at.join(name).display().to_string();
    let short = path("short");
    fs::write(&short, "too short").expect("writable");
    fs::set_permissions(&short, fs::Permissions::from_mode(0o600)).expect("ours");
    let [other, key] = [path("node-2.pem"), path("node-2.key")];
    let asks: [(&[&str], &[&str]); 5] = [
        (&["--key-file", "/no/key"], &["cannot read /no/key", "bellwether keys"]),
        (&["--certificate-file", "/no/pem"], &["cannot read /no/pem"]),
        (&["--certificate-file", &other, "--key-file", &key], &["is not that of node 1"]),
        (&["--token-file", "/no/token", "--http", "127.0.0.1:1"], &["cannot read /no/token"]),
        (&["--security", "secret", "--secret-file", &short], &["has 9 bytes"]),
    ];
    for (more, parts) in asks {
        let told = |words: &[&str]| {
            let words = [words, &["--node", "1"], more].concat();
            refuses(&words, 2, parts);
            let output = bellwether().args(&words).output().expect("it runs");
            let said = String::from_utf8(output.stderr).expect("text");
            said.lines().filter(|line| line.starts_with("error: ")).collect::<String>()
        };
        let checked = told(&["check-config", &config]);
        assert_eq!(checked, told(&["run", "--config", &config]));
        let mut command = bellwether();
        command.args(["check-config", &config, "--node", "1", "--elsewhere"]).args(more);
        let output = command.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{more:?}: {said}");
        let warning = checked.replace("error: ", "warning: ");
        assert_eq!(said.matches(&warning).count(), 1, "{more:?}: {said}");
    }
}

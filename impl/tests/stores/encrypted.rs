//! Redis by TLS: a server that has no other port, and asks each client for a certificate and for
//! the password.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bellwether::store::{LeaseStore, StoreError, StoreResult};
use bellwether_stores::address::Files;
use bellwether_stores::connect::connector;
use bellwether_testbed::ports::free_port;
use bellwether_testbed::process::Process;
use bellwether_testbed::servers::Store;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::{LIMIT, ends, hands_over, here, say, settings};

/// How long between two looks.
const LOOK_AGAIN: Duration = Duration::from_millis(30);

/// The password that the server asks for.
const PASSWORD: &str = "Tr0ub4dor";

/// An authority, and a folder with what it has signed.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut about = CertificateParams::default();
        about.distinguished_name.push(DnType::CommonName, name);
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = about.self_signed(&key).expect("a certificate").pem();
        fs::write(folder.path().join("ca.pem"), certificate).expect("writable");
        Self { folder, issuer: Issuer::new(about, key) }
    }

    fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Writes the certificate and the key of a host or a client into two files.
    fn certify(&self, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let about = CertificateParams::new([name.to_owned()]).expect("a good name");
        let certificate = about.signed_by(&key, &self.issuer).expect("a certificate").pem();
        let own = self.folder.path().join(format!("{name}.pem"));
        fs::write(&own, certificate).expect("writable");
        (own, self.private(&format!("{name}.key"), &key.serialize_pem()))
    }

    /// Writes a file that no other user can read.
    fn private(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).expect("writable");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
        path
    }
}

/// A server with a certificate for `localhost`.
struct Server {
    folder: TempDir,
    port: u16,
    process: Process,
}

impl Server {
    /// A server that accepts connections.
    fn start(authority: &Authority) -> Self {
        let folder = tempfile::Builder::new().prefix("bellwether-store-").tempdir();
        let (folder, port) = (folder.expect("a folder"), free_port());
        let (certificate, key) = authority.certify("localhost");
        let log = File::create(folder.path().join("log")).expect("writable");
        let mut command = Command::new("redis-server");
        command.args(["--port", "0", "--tls-port", &port.to_string(), "--bind", "127.0.0.1"]);
        command.arg("--tls-cert-file").arg(certificate).arg("--tls-key-file").arg(key);
        command.arg("--tls-ca-cert-file").arg(authority.ca()).args(["--tls-auth-clients", "yes"]);
        command.arg("--dir").arg(folder.path()).args(["--save", "", "--requirepass", PASSWORD]);
        command.stdin(Stdio::null()).stdout(log.try_clone().expect("a file")).stderr(log);
        let process = Process::start(&mut command);
        let mut server = Self { folder, port, process };
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let deadline = Instant::now() + LIMIT;
        while TcpStream::connect_timeout(&address, LIMIT).is_err() {
            let runs = !server.process.has_ended() && Instant::now() < deadline;
            assert!(runs, "it does not start: {}", server.log());
            thread::sleep(LOOK_AGAIN);
        }
        server
    }

    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// A connection to it, under this name of its host.
    async fn connected(&self, host: &str, files: &Files) -> StoreResult<Box<dyn LeaseStore>> {
        let address = format!("rediss://{host}:{}/1", self.port);
        let connect = connector(&address, files).expect("a good address");
        timeout(LIMIT, connect.connect(&settings("encrypted"))).await.expect("in time")
    }
}

/// Whether a server of Redis that was built with TLS is installed. If it is not, that is said. The
/// server reads its options in order, and ends at the first that it refuses: no port has this
/// number.
fn speaks_tls() -> bool {
    if !here(Store::Redis) {
        return false;
    }
    let mut command = Command::new("redis-server");
    command.args(["--tls-port", "0", "--port", "70000"]).stdin(Stdio::null());
    let ended = command.output().expect("it is installed");
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    let speaks = !said.contains("tls-port");
    if !speaks {
        say("skipped: the server of redis was built without TLS");
    }
    speaks
}

/// What a client needs that the server lets in.
fn files(authority: &Authority) -> Files {
    let (certificate, key) = authority.certify("client");
    Files {
        password: Some(authority.private("password", PASSWORD)),
        ca: Some(authority.ca()),
        certificate: Some(certificate),
        key: Some(key),
        token: None,
    }
}

#[test]
fn redis_grants_a_lease_by_tls() {
    if !speaks_tls() {
        return;
    }
    let authority = Authority::new("authority");
    let (server, files) = (Server::start(&authority), files(&authority));
    let runtime = Runtime::new().expect("a runtime");
    let waits = runtime.block_on(async {
        let asks = server.connected("localhost", &files).await.expect("it lets one in");
        let waits = server.connected("localhost", &files).await.expect("it lets one in");
        hands_over(asks, waits).await
    });
    drop(server);
    runtime.block_on(ends(waits));
}

#[test]
fn redis_by_tls_is_refused_with_the_cause() {
    if !speaks_tls() {
        return;
    }
    let (authority, other) = (Authority::new("authority"), Authority::new("another"));
    let (server, good) = (Server::start(&authority), files(&authority));
    let runtime = Runtime::new().expect("a runtime");
    let refused = |host: &str, files: &Files| {
        let connected = runtime.block_on(server.connected(host, files));
        let error = connected.err().expect("it is refused");
        assert!(!error.to_string().contains(PASSWORD), "{error}");
        error
    };
    assert!(runtime.block_on(server.connected("localhost", &good)).is_ok(), "{}", server.log());

    let strange = Files { ca: Some(other.ca()), ..good.clone() };
    let anonymous = Files { certificate: None, key: None, ..good.clone() };
    for (host, files, part) in [
        ("localhost", &strange, "TLS: invalid peer certificate: UnknownIssuer"),
        ("127.0.0.1", &good, "TLS: invalid peer certificate: certificate not valid for name"),
        ("localhost", &anonymous, "; if the server asks for a certificate, name"),
    ] {
        let error = refused(host, files);
        assert!(
            matches!(&error, StoreError::Unreachable(why) if why.contains(part)),
            "{part}: {error}"
        );
    }

    let wrong = Files { password: Some(other.private("password", "wrong")), ..good.clone() };
    for files in [wrong, Files { password: None, ..good }] {
        let error = refused("localhost", &files);
        let remedy = "correct the user, or the file with the password";
        assert!(
            matches!(&error, StoreError::Misconfigured { remedy: it, .. } if it == remedy),
            "{error}"
        );
    }
}

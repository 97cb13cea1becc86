//! Nodes with certificates: each is the one that its certificate names, and no other.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};

use super::*;
use crate::config::{ClusterId, Security, certified_name};

/// An authority, and where it keeps what it makes.
pub(super) struct Authority {
    directory: tempfile::TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(super) fn new(name: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        let mut about = CertificateParams::default();
        about.distinguished_name.push(DnType::CommonName, name);
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = about.self_signed(&key).expect("a certificate");
        std::fs::write(directory.path().join("ca.pem"), certificate.pem()).expect("writable");
        Self { directory, issuer: Issuer::new(about, key) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// What node `node` of this cluster has. It trusts the authority of the file `ca`, and takes
    /// every cluster for its own.
    fn node(&self, cluster: &str, node: u16, ca: &Path) -> Credentials {
        let cluster: ClusterId = cluster.parse().expect("a name");
        let name = certified_name(&cluster, id(node)).expect("a good name");
        let about = CertificateParams::new([name]).expect("a good name");
        let key = KeyPair::generate().expect("a key");
        let certificate = about.signed_by(&key, &self.issuer).expect("a certificate").pem();
        let (at, key_at) = (self.path("certificate"), self.path("key"));
        std::fs::write(&at, certificate).expect("writable");
        std::fs::write(&key_at, key.serialize_pem()).expect("writable");
        std::fs::set_permissions(&key_at, Permissions::from_mode(0o600)).expect("ours");
        let security = Security::Tls { ca: ca.to_owned(), certificate: at, key: key_at };
        security.load(&hello(node).cluster).expect("good")
    }

    pub(super) fn credentials(&self, cluster: &str, node: u16) -> Credentials {
        self.node(cluster, node, &self.path("ca.pem"))
    }
}

/// Node 1 listens; what it hears, and where it does.
async fn listening(
    credentials: Credentials,
) -> (SocketAddr, Arc<Context<Message>>, mpsc::Receiver<Arrival<Message>>, JoinSet<()>) {
    let (listener, address) = bind().await;
    let context = with_credentials(address, credentials);
    let (inbox, arrivals) = mpsc::channel(16);
    let mut tasks = JoinSet::new();
    tasks.spawn(incoming::listen(Arc::clone(&context), listener, inbox));
    (address, context, arrivals, tasks)
}

/// Calls node 1 with these credentials, and says this.
async fn say(
    address: SocketAddr,
    credentials: &Credentials,
    opening: Opening,
) -> Result<(Channel, Reply), handshake::Failure> {
    let stream = TcpStream::connect(address).await.expect("it listens");
    let said = async {
        let mut channel = handshake::call(credentials, Some(id(1)), stream).await?;
        let reply = handshake::ask(&mut channel, &opening).await?;
        Ok((channel, reply))
    };
    timeout(LIMIT, said).await.expect("in time")
}

#[tokio::test]
async fn a_node_is_the_one_that_its_certificate_names() {
    let authority = Authority::new("ours");
    let one = authority.credentials("orders", 1);
    let (address, context, mut arrivals, _tasks) = listening(one).await;
    let two = authority.credentials("orders", 2);
    let (mut channel, reply) =
        say(address, &two, Opening::Hello(hello(2))).await.expect("it is known");
    assert_eq!(reply, Reply::Hello(hello(1)), "all of it: who asks is known");
    let frame = frame::encode_frame(&Frame::Message(Message::Ok)).expect("fits");
    channel.send(frame).await.expect("sent");
    let arrival = timeout(LIMIT, arrivals.recv()).await.expect("in time").expect("one");
    assert_eq!((arrival.from, arrival.frame), (id(2), Frame::Message(Message::Ok)));
    drop(channel);

    // Node 3 has a good certificate, and says it is node 2; and so does one of another cluster.
    for (cluster, node) in [("orders", 3), ("other", 2)] {
        let other = authority.credentials(cluster, node);
        let (_, reply) = say(address, &other, Opening::Hello(hello(2))).await.expect("a refusal");
        assert_eq!(reply, Reply::Refused(Refusal::Certificate(id(2))), "{node} of {cluster}");
    }
    assert_eq!(context.refused.load(Ordering::Relaxed), 2);
    // One of another cluster is not told anything, either.
    let other = authority.credentials("other", 2);
    let question = Opening::AreYou { node: id(1), incarnation: 1 };
    assert!(say(address, &other, question.clone()).await.is_err());
    let (_, reply) = say(address, &two, question).await.expect("it is known");
    assert_eq!(reply, Reply::Is(true));
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_worth_nothing() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let (address, context, _arrivals, _tasks) = listening(ours.credentials("orders", 1)).await;
    // It does not trust node 1; and, if it trusts everything, node 1 does not trust it.
    let told = |result: Result<(Channel, Reply), handshake::Failure>| {
        result.err().expect("refused").to_string()
    };
    let two = theirs.credentials("orders", 2);
    let problem = told(say(address, &two, Opening::Hello(hello(2))).await);
    assert!(problem.contains("its certificate is from another authority"), "{problem}");
    let two = theirs.node("orders", 2, &ours.path("ca.pem"));
    let problem = told(say(address, &two, Opening::Hello(hello(2))).await);
    assert!(problem.contains("the certificate of this node is from another"), "{problem}");
    // Without any, and without encryption, whatever it says that it has.
    for mode in [Mode::Plain, Mode::Tls] {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        let greeting = frame::Greeting::new(mode).encode();
        stream.write_all(&[&[0, 0, 0, 39], &greeting[..]].concat()).await.expect("sent");
        let hello = Opening::Hello(hello(2)).encode().expect("fits");
        let length = u8::try_from(hello.len()).expect("short");
        let _ = stream.write_all(&[&[0, 0, 0, length], &hello[..]].concat()).await;
        let mut answer = Vec::new();
        let _ = timeout(LIMIT, stream.read_to_end(&mut answer)).await.expect("it hangs up");
        assert!(answer.len() <= 4 + greeting.len(), "only a greeting: {answer:?}");
    }
    let counted = || context.refused.load(Ordering::Relaxed) == 4;
    timeout(LIMIT, async {
        while !counted() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await
    .expect("all four are counted");
}

#[tokio::test]
async fn another_node_at_the_address_of_a_peer_is_not_spoken_to() {
    let authority = Authority::new("ours");
    // At the address of node 1 is node 3.
    let (address, _, _arrivals, _tasks) = listening(authority.credentials("orders", 3)).await;
    let two = authority.credentials("orders", 2);
    let problem = say(address, &two, Opening::Hello(hello(2))).await.err().expect("refused");
    assert!(problem.to_string().contains("that of another node or cluster"), "{problem}");
}

/// It ends TLS without a word, as the process of a node does that is killed.
#[tokio::test]
async fn a_node_that_ends_the_connection_after_the_handshake_of_tls_has_hung_up() {
    let authority = Authority::new("ours");
    let (one, two) = (authority.credentials("orders", 1), authority.credentials("orders", 2));
    let (listener, address) = bind().await;
    let ends = async {
        let (stream, _) = listener.accept().await.expect("a call");
        let Kind::Tls(tls) = &one.kind else { panic!("it has certificates") };
        drop(tls.accept(stream).await.expect("a certificate of ours"));
    };
    let (said, ()) = tokio::join!(say(address, &two, Opening::Hello(hello(2))), ends);
    let failure = said.err().expect("no answer");
    assert!(matches!(failure, handshake::Failure::HungUp), "{failure}");
}

#[test]
fn the_name_of_a_cluster_must_fit_into_a_certificate() {
    for (cluster, good) in [
        ("orders", true),
        ("orders-1.eu", true),
        ("a_b", true),
        ("Orders", false),
        ("a..b", false),
        (".", false),
    ] {
        let name = certified_name(&cluster.parse().expect("a name"), id(3));
        assert_eq!(name.is_ok(), good, "{cluster}: {name:?}");
    }
    let name = certified_name(&"orders".parse().expect("a name"), id(3));
    assert_eq!(name.expect("good"), "node-3.orders.bellwether");
}

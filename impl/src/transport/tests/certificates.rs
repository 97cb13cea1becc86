//! Nodes with certificates: each is the one that its certificate names, and no other.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
};
use tempfile::TempDir;

use super::super::frame::Greeting;
use super::*;
use crate::config::{Security, certified_name};

/// An authority, and a folder with what it has signed.
pub(crate) struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut about = CertificateParams::default();
        about.distinguished_name.push(DnType::CommonName, name);
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = about.self_signed(&key).expect("a certificate").pem();
        fs::write(folder.path().join("ca.pem"), certificate).expect("writable");
        Self { folder, issuer: Issuer::new(about, key) }
    }

    /// The file with its own certificate.
    pub(crate) fn ca(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// Writes the certificate and the key of a host into two files, which no other user can read:
    /// some test gives the wrong one of them for the key. The certificate has these extended key
    /// usages; without any, it is for all.
    fn certify_for(&self, host: &str, uses: &[ExtendedKeyUsagePurpose]) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let mut about = CertificateParams::new([host.to_owned()]).expect("a good name");
        about.extended_key_usages = uses.to_vec();
        let certificate = about.signed_by(&key, &self.issuer).expect("a certificate").pem();
        let path = |end| self.folder.path().join(format!("{host}.{end}"));
        let (own, secret) = (path("pem"), path("key"));
        for (path, text) in [(&own, certificate), (&secret, key.serialize_pem())] {
            fs::write(path, text).expect("writable");
            fs::set_permissions(path, Permissions::from_mode(0o600)).expect("ours");
        }
        (own, secret)
    }

    /// What node `node` of this cluster has. It trusts the authority of the file `ca`, and takes
    /// every cluster for its own.
    fn node(&self, cluster: &str, node: u16, ca: &Path) -> Credentials {
        self.node_for(cluster, node, ca, &[])
    }

    /// The same, with a certificate that has these extended key usages.
    fn node_for(
        &self,
        cluster: &str,
        node: u16,
        ca: &Path,
        uses: &[ExtendedKeyUsagePurpose],
    ) -> Credentials {
        let name = certified_name(&cluster.parse().expect("a name"), id(node));
        let (certificate, key) = self.certify_for(&name.expect("a good name"), uses);
        let security = Security::Tls { ca: ca.to_owned(), certificate, key };
        security.load(&hello(node).cluster).expect("good")
    }

    pub(super) fn credentials(&self, cluster: &str, node: u16) -> Credentials {
        self.node(cluster, node, &self.ca())
    }
}

/// Calls node 1 with these credentials as node 2.
async fn says_hello(node: &Node, credentials: &Credentials) -> Result<(Channel, Reply), Failure> {
    say(node.address, credentials, Opening::Hello(hello(2))).await
}

#[tokio::test]
async fn a_node_is_the_one_that_its_certificate_names() {
    let authority = Authority::new("ours");
    let one = authority.credentials("orders", 1);
    let mut node = Node::listening(with_credentials(one)).await;
    let two = authority.credentials("orders", 2);
    let (mut channel, reply) = says_hello(&node, &two).await.expect("it is known");
    assert_eq!(reply, Reply::Hello(hello(1)), "all of it: who asks is known");
    send(&mut channel, Frame::Message(Message::Ok)).await;
    assert_eq!(node.hears().await, (id(2), Frame::Message(Message::Ok)));
    drop(channel);

    // Node 3 has a good certificate, and says it is node 2; and so does one of another cluster.
    for (cluster, number) in [("orders", 3), ("other", 2)] {
        let other = authority.credentials(cluster, number);
        let (_, reply) = says_hello(&node, &other).await.expect("a refusal");
        assert_eq!(reply, Reply::Refused(Refusal::Certificate(id(2))), "{number} of {cluster}");
    }
    assert_eq!(node.refused(), 2);
    // One of another cluster is not told anything, either.
    let other = authority.credentials("other", 2);
    let question = Opening::AreYou { node: id(1), incarnation: 1 };
    assert!(say(node.address, &other, question.clone()).await.is_err());
    let (_, reply) = say(node.address, &two, question).await.expect("it is known");
    assert_eq!(reply, Reply::Is(true));
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_worth_nothing() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    let node = Node::listening(with_credentials(ours.credentials("orders", 1))).await;
    // It does not trust node 1; and, if it trusts everything, node 1 does not trust it.
    for (ca, told) in [
        (theirs.ca(), "its certificate is from another authority"),
        (ours.ca(), "the certificate of this node is from another"),
    ] {
        let problem = says_hello(&node, &theirs.node("orders", 2, &ca)).await.err();
        let Some(Failure::Certificate(problem)) = &problem else { panic!("{problem:?}") };
        assert!(problem.contains(told), "{problem}");
    }
    // Without any, and without encryption, whatever it says that it has.
    for mode in [Mode::Plain, Mode::Tls] {
        let mut stream = TcpStream::connect(node.address).await.expect("it listens");
        let greeting = Greeting::new(mode).encode();
        stream.write_all(&[&[0, 0, 0, 39], &greeting[..]].concat()).await.expect("sent");
        let hello = encode(&Opening::Hello(hello(2))).expect("fits");
        let length = u8::try_from(hello.len()).expect("short");
        let _ = stream.write_all(&[&[0, 0, 0, length], &hello[..]].concat()).await;
        let mut answer = Vec::new();
        let _ = timeout(LIMIT, stream.read_to_end(&mut answer)).await.expect("it hangs up");
        assert!(answer.len() <= 4 + greeting.len(), "only a greeting: {answer:?}");
    }
    let all = async {
        while node.refused() < 4 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, all).await.expect("all four are counted");
}

/// A node shows its certificate when it calls and when it is called.
#[tokio::test]
async fn a_certificate_for_one_use_only_is_refused_at_the_start_and_by_both_sides() {
    let authority = Authority::new("ours");
    let (server, client) =
        (ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth);
    let of = |node, uses: &[_]| authority.node_for("orders", node, &authority.ca(), uses);
    let check = |credentials: &Credentials| {
        let Kind::Tls(tls) = &credentials.kind else { panic!("it has certificates") };
        tls.check(id(2)).map_err(|error| error.to_string())
    };
    assert_eq!(check(&of(2, &[client.clone(), server.clone()])), Ok(()));
    for (has, lacks) in [(&server, "clientAuth"), (&client, "serverAuth")] {
        let error = check(&of(2, std::slice::from_ref(has))).expect_err("one use");
        for part in ["node-2.orders", "usage", lacks, "serverAuth and clientAuth", "keys node"] {
            assert!(error.contains(part), "{error}");
        }
    }

    // Node 2 has one for servers, and calls. It is told, and so is the log of node 1.
    let (context, told) = (with_credentials(of(1, &[])), "not for both uses: use one with both");
    let node = Node::listening(context).await;
    let problem = says_hello(&node, &of(2, &[server])).await.err();
    let Some(Failure::Certificate(problem)) = &problem else { panic!("{problem:?}") };
    assert!(problem.contains("of this node") && problem.contains(told), "{problem}");
    assert!(problem.len() <= peer::LONGEST_PROBLEM, "it fits into a status: {problem}");
    let counted = async {
        while node.refused() < 1 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LIMIT, counted).await.expect("it is refused");
    // Node 1 has one for clients, and is called.
    let node = Node::listening(with_credentials(of(1, &[client]))).await;
    let problem = says_hello(&node, &of(2, &[])).await.err();
    let Some(Failure::Certificate(problem)) = &problem else { panic!("{problem:?}") };
    assert!(problem.contains("its certificate is") && problem.contains(told), "{problem}");
    assert!(problem.len() <= peer::LONGEST_PROBLEM, "it fits into a status: {problem}");
}

#[tokio::test]
async fn another_node_at_the_address_of_a_peer_is_not_spoken_to() {
    let authority = Authority::new("ours");
    // At the address of node 1 is node 3.
    let node = Node::listening(with_credentials(authority.credentials("orders", 3))).await;
    let problem = says_hello(&node, &authority.credentials("orders", 2)).await.err();
    let Some(Failure::Certificate(problem)) = &problem else { panic!("{problem:?}") };
    assert!(problem.contains("that of another node or cluster"), "{problem}");
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
    assert!(matches!(failure, Failure::HungUp), "{failure}");
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

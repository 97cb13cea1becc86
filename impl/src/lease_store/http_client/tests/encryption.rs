//! That a server is believed only with a certificate from the authority that was named, and sees
//! the certificate that goes with it.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, crypto, version};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::lease_store::SPEAKS_TLS;
use crate::lease_store::address::Files;
use crate::lease_store::certificates::Certificates;

/// An authority, and a folder with what it has signed.
struct Authority {
    folder: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let mut about = CertificateParams::default();
        about.distinguished_name.push(DnType::CommonName, "authority");
        about.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = about.self_signed(&key).expect("a certificate").pem();
        std::fs::write(folder.path().join("ca.pem"), certificate).expect("writable");
        Self { folder, issuer: Issuer::new(about, key) }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the certificate and the key of a host into two files.
    fn certify(&self, host: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().expect("a key");
        let about = CertificateParams::new([host.to_owned()]).expect("a good name");
        let certificate = about.signed_by(&key, &self.issuer).expect("a certificate").pem();
        let (own, secret) = (self.file(&format!("{host}.pem")), self.file(&format!("{host}.key")));
        for (path, text) in [(&own, certificate), (&secret, key.serialize_pem())] {
            std::fs::write(path, text).expect("writable");
            // Each of the two is given for the key in some test.
            let private = std::fs::Permissions::from_mode(0o600);
            std::fs::set_permissions(path, private).expect("ours");
        }
        (own, secret)
    }

    /// A server that asks for a certificate, and answers each question with `{}`.
    async fn serve(&self, host: &str) -> String {
        let mut roots = RootCertStore::empty();
        let ca = CertificateDer::from_pem_file(self.file("ca.pem")).expect("a certificate");
        roots.add(ca).expect("an authority");
        let provider = Arc::new(crypto::ring::default_provider());
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
        let (own, key) = self.certify(host);
        let own = CertificateDer::from_pem_file(own).expect("a certificate");
        let key = PrivateKeyDer::from_pem_file(key).expect("a key");
        let config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&version::TLS13])
            .expect("TLS 1.3")
            .with_client_cert_verifier(verifier.build().expect("a verifier"))
            .with_single_cert(vec![own], key)
            .expect("a pair");
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it listens").to_string();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let mut question = [0; 1024];
                if stream.read(&mut question).await.is_ok_and(|length| length > 0) {
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
                    let _ = stream.write_all(answer).await;
                    let _ = stream.shutdown().await;
                }
            }
        });
        address
    }
}

async fn ask(address: &str, files: &Files) -> StoreResult<Value> {
    let certificates = Certificates::of(files, None).expect("authorities");
    let server = Server::parse(address, Some(certificates)).expect("an address");
    let mut client = Client::connect(&server, LIMIT).await?;
    Ok(client.ask(Method::GET, "/", None).await?.body)
}

#[tokio::test]
async fn a_server_is_believed_by_its_certificate() {
    let (one, other) = (Authority::new(), Authority::new());
    let address = one.serve("127.0.0.1").await;
    let (certificate, key) = one.certify("client");
    let good = Files {
        ca: Some(one.file("ca.pem")),
        certificate: Some(certificate),
        key: Some(key),
        ..Files::default()
    };
    assert_eq!(ask(&address, &good).await, Ok(json!({})));

    let strange = Files { ca: Some(other.file("ca.pem")), ..good.clone() };
    let anonymous = Files { certificate: None, key: None, ..good.clone() };
    let elsewhere = one.serve("db-1.example.org").await;
    for (address, files) in [(&address, &strange), (&address, &anonymous), (&elsewhere, &good)] {
        let error = ask(address, files).await.expect_err("not believed");
        assert!(matches!(&error, StoreError::Away(said) if said.contains("https://")), "{error}");
    }
}

/// What one side says makes no sense to the other.
#[tokio::test]
async fn a_port_with_tls_and_one_without_are_told_apart() {
    let authority = Authority::new();
    let encrypted = authority.serve("127.0.0.1").await;
    let server = Server::parse(&encrypted, None).expect("an address");
    let mut client = Client::connect(&server, LIMIT).await.expect("it listens");
    let in_clear = client.ask(Method::GET, "/", None).await.expect_err("it speaks TLS");
    assert!(in_clear.to_string().ends_with(SPEAKS_TLS), "{in_clear}");

    let plain = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = plain.local_addr().expect("it listens").to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            // What is left unread would end the connection before the answer is read.
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let files = Files { ca: Some(authority.file("ca.pem")), ..Files::default() };
    let by_tls = ask(&address, &files).await.expect_err("it speaks in clear");
    assert!(by_tls.to_string().ends_with(SPEAKS_TLS), "{by_tls}");
    assert!(by_tls.to_string().contains(": TLS: "), "{by_tls}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let authority = Authority::new();
    let address = authority.serve("127.0.0.1").await;
    let (certificate, key) = authority.certify("client");
    let (_, another) = authority.certify("other");
    let good = Files {
        ca: Some(authority.file("ca.pem")),
        certificate: Some(certificate.clone()),
        key: Some(key.clone()),
        ..Files::default()
    };
    for (files, part) in [
        (Files { ca: Some("/no/such/file".into()), ..good.clone() }, "cannot read /no/such/file"),
        (Files { ca: Some(key.clone()), ..good.clone() }, "no certificate in PEM"),
        (Files { key: Some(certificate), ..good.clone() }, "no private key in PEM"),
        (Files { key: Some(another), ..good }, "does not fit to"),
    ] {
        match ask(&address, &files).await {
            Err(StoreError::Unfit { problem, remedy }) => {
                assert!(problem.contains(part), "{problem}");
                assert!(remedy.contains("correct the files"), "{remedy}");
            }
            other => panic!("{part}: {other:?}"),
        }
    }
}

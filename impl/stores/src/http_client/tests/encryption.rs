//! A server is believed only with a certificate from the authority that was named, and sees the
//! certificate of the client.

use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, crypto, version};
use tempfile::NamedTempFile;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::address::Files;
use crate::testing::file;
use crate::tls::SPEAKS_TLS;

/// Returns a certificate for this host, which is its own authority.
fn certified(host: &str) -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed([host.to_owned()]).expect("a certificate")
}

/// A server with this certificate that asks for that of the client, and answers each question with
/// `{}`.
async fn serve(own: &CertifiedKey<KeyPair>, client: &CertifiedKey<KeyPair>) -> String {
    let mut roots = RootCertStore::empty();
    roots.add(client.cert.der().clone()).expect("an authority");
    let provider = Arc::new(crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let key = PrivateKeyDer::from_pem_slice(own.signing_key.serialize_pem().as_bytes());
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .expect("TLS 1.3")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(vec![own.cert.der().clone()], key.expect("a key"))
        .expect("a pair");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it listens").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(mut stream) = acceptor.accept(stream).await else { continue };
            if stream.read(&mut [0; 1024]).await.is_ok_and(|length| length > 0) {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await;
                let _ = stream.shutdown().await;
            }
        }
    });
    address
}

/// The files of a client: the authority, the certificate that is shown, and its key.
struct Known {
    files: Files,
    _kept: [NamedTempFile; 3],
}

impl Known {
    fn new(authority: &CertifiedKey<KeyPair>, own: &CertifiedKey<KeyPair>) -> Self {
        let texts = [authority.cert.pem(), own.cert.pem(), own.signing_key.serialize_pem()];
        let kept = texts.map(|text| file(&text));
        let [ca, certificate, key] = kept.each_ref().map(|file| Some(file.path().to_owned()));
        Self { files: Files { ca, certificate, key, ..Files::default() }, _kept: kept }
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
    let (server, own) = (certified("127.0.0.1"), certified("client"));
    let (address, good) = (serve(&server, &own).await, Known::new(&server, &own));
    assert_eq!(ask(&address, &good.files).await, Ok(json!({})));

    let other = certified("db-1.example.org");
    let (elsewhere, there) = (serve(&other, &own).await, Known::new(&other, &own));
    let anonymous = Files { certificate: None, key: None, ..good.files.clone() };
    for (address, files) in
        [(&address, &there.files), (&address, &anonymous), (&elsewhere, &there.files)]
    {
        let said = away(ask(address, files).await);
        assert!(said.contains("https://"), "{said}");
    }
}

/// The words of one side make no sense to the other.
#[tokio::test]
async fn a_port_with_tls_and_one_without_are_told_apart() {
    let (server, own) = (certified("127.0.0.1"), certified("client"));
    let mut in_clear = client(&serve(&server, &own).await).await;
    let said = away(in_clear.ask(Method::GET, "/", None).await);
    assert!(said.ends_with(SPEAKS_TLS), "{said}");

    let plain = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = plain.local_addr().expect("it listens").to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            // Bytes that are left unread would end the connection before the answer is read.
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let said = away(ask(&address, &Known::new(&server, &own).files).await);
    assert!(said.contains(": TLS: ") && said.ends_with(SPEAKS_TLS), "{said}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let (server, own) = (certified("127.0.0.1"), certified("client"));
    let address = serve(&server, &own).await;
    let (known, other) = (Known::new(&server, &own), Known::new(&server, &certified("other")));
    let good = || known.files.clone();
    let (certificate, key) = (good().certificate, good().key);
    for (files, part) in [
        (Files { ca: Some("/no/such/file".into()), ..good() }, "cannot read /no/such/file"),
        (Files { ca: key, ..good() }, "no certificate in PEM"),
        (Files { key: certificate, ..good() }, "no private key in PEM"),
        (Files { key: other.files.key.clone(), ..good() }, "does not fit to"),
    ] {
        let said = unfit(ask(&address, &files).await);
        assert!(said.contains(part) && said.contains("correct the files"), "{said}");
    }
}

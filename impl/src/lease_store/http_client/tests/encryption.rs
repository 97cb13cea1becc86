//! That a server is believed only with a certificate from the authority that was named, and sees
//! the certificate that goes with it.

use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, crypto, version};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::lease_store::SPEAKS_TLS;
use crate::lease_store::address::Files;
use crate::transport::tests::certificates::Authority;

/// A server at this host that asks for a certificate, and answers each question with `{}`.
async fn serve(authority: &Authority, host: &str) -> String {
    let mut roots = RootCertStore::empty();
    let ca = CertificateDer::from_pem_file(authority.ca()).expect("a certificate");
    roots.add(ca).expect("an authority");
    let provider = Arc::new(crypto::ring::default_provider());
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider));
    let (own, key) = authority.certify(host);
    let own = CertificateDer::from_pem_file(own).expect("a certificate");
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])
        .expect("TLS 1.3")
        .with_client_cert_verifier(verifier.build().expect("a verifier"))
        .with_single_cert(vec![own], PrivateKeyDer::from_pem_file(key).expect("a key"))
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

/// The files of a client that this authority knows.
fn files(authority: &Authority) -> Files {
    let (certificate, key) = authority.certify("client");
    Files {
        ca: Some(authority.ca()),
        certificate: Some(certificate),
        key: Some(key),
        ..Files::default()
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
    let (one, other) = (Authority::new("one"), Authority::new("other"));
    let (address, good) = (serve(&one, "127.0.0.1").await, files(&one));
    assert_eq!(ask(&address, &good).await, Ok(json!({})));

    let strange = Files { ca: Some(other.ca()), ..good.clone() };
    let anonymous = Files { certificate: None, key: None, ..good.clone() };
    let elsewhere = serve(&one, "db-1.example.org").await;
    for (address, files) in [(&address, &strange), (&address, &anonymous), (&elsewhere, &good)] {
        let said = away(ask(address, files).await);
        assert!(said.contains("https://"), "{said}");
    }
}

/// What one side says makes no sense to the other.
#[tokio::test]
async fn a_port_with_tls_and_one_without_are_told_apart() {
    let authority = Authority::new("one");
    let mut in_clear = client(&serve(&authority, "127.0.0.1").await).await;
    let said = away(in_clear.ask(Method::GET, "/", None).await);
    assert!(said.ends_with(SPEAKS_TLS), "{said}");

    let plain = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = plain.local_addr().expect("it listens").to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = plain.accept().await {
            // What is left unread would end the connection before the answer is read.
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let said = away(ask(&address, &files(&authority)).await);
    assert!(said.contains(": TLS: ") && said.ends_with(SPEAKS_TLS), "{said}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let authority = Authority::new("one");
    let address = serve(&authority, "127.0.0.1").await;
    let (good, (_, another)) = (files(&authority), authority.certify("other"));
    let (certificate, key) = (good.certificate.clone(), good.key.clone());
    for (files, part) in [
        (Files { ca: Some("/no/such/file".into()), ..good.clone() }, "cannot read /no/such/file"),
        (Files { ca: key, ..good.clone() }, "no certificate in PEM"),
        (Files { key: certificate, ..good.clone() }, "no private key in PEM"),
        (Files { key: Some(another), ..good }, "does not fit to"),
    ] {
        let said = unfit(ask(&address, &files).await);
        assert!(said.contains(part) && said.contains("correct the files"), "{said}");
    }
}

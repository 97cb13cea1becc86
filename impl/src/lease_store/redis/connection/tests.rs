//! That a connection with TLS is as good as one in clear, and that a server without it is given up.

use std::path::Path;

use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ServerConfig, crypto, version};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::lease_store::address::Files;
use crate::lease_store::redis::Redis;
use crate::lease_store::redis::tests::talk;
use crate::lease_store::secret::tests::file;
use crate::lease_store::{Connect as _, SPEAKS_TLS, Settings};

/// No test takes longer.
const LONG: Duration = Duration::from_secs(20);

fn settings(limit: Duration) -> Settings {
    Settings { name: "orders/a".to_owned(), keep: Duration::from_secs(10), limit }
}

/// The certificate of a server, which is its own authority.
fn certified() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate")
}

/// Accepts clients of a server that has this certificate.
fn acceptor(own: &CertifiedKey<KeyPair>) -> TlsAcceptor {
    let key = PrivateKeyDer::from_pem_slice(own.signing_key.serialize_pem().as_bytes());
    let config = ServerConfig::builder_with_provider(Arc::new(crypto::ring::default_provider()))
        .with_protocol_versions(&[&version::TLS13])
        .expect("TLS 1.3")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key.expect("a key"))
        .expect("a pair");
    TlsAcceptor::from(Arc::new(config))
}

fn way(port: u16, ca: &Path) -> Redis {
    let files = Files { ca: Some(ca.to_owned()), ..Files::default() };
    Redis::parse(&format!("rediss://127.0.0.1:{port}"), &files).expect("an address")
}

async fn listener() -> (TcpListener, u16) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    (listener, port)
}

#[cfg(target_os = "linux")]
#[test]
fn what_was_given_up_is_sent_no_longer() {
    let (short, long) = (Duration::from_micros(1), Duration::from_secs(2));
    assert_eq!(tcp(long).user_timeout(), Some(long));
    assert_eq!(tcp(short).user_timeout(), Some(Duration::from_millis(1)), "0 is no limit");
}

#[tokio::test]
async fn a_stream_with_tls_has_the_same_settings() {
    let (_listener, port) = listener().await;
    let files = Files { ca: Some("ca.pem".into()), ..Files::default() };
    let certificates = Certificates::of(&files, None).expect("authorities");
    let tls = Tls::new("127.0.0.1", port, certificates).expect("a name");
    let limit = Duration::from_secs(2);
    let stream = tls.reach(&tcp(limit)).await.expect("it listens");
    assert!(stream.nodelay().expect("an option"));
    #[cfg(target_os = "linux")]
    {
        let socket = redis::io::tcp::socket2::SockRef::from(&stream);
        assert_eq!(socket.tcp_user_timeout().expect("an option"), Some(limit));
    }
}

/// The crate has no task for a stream that it has not opened. The socket is closed when the session
/// is gone, be it because its task is ended or because that has nothing more to do.
#[tokio::test]
async fn a_connection_with_tls_tells_of_changes_and_leaves_no_socket() {
    let ((listener, port), own) = (listener().await, certified());
    let (acceptor, ca) = (acceptor(&own), file(&own.cert.pem()));
    let server = tokio::spawn(async move {
        let (stream, _) = listener.accept().await?;
        talk(acceptor.accept(stream).await?).await
    });
    let mut store = way(port, ca.path()).connect(&settings(LONG)).await.expect("it lets one in");
    let told = timeout(LONG, store.changed()).await;
    assert_eq!(told.expect("in time"), Ok(()));
    drop(store);
    assert!(timeout(LONG, server).await.is_ok(), "the socket is open without its session");
}

#[tokio::test]
async fn a_server_with_a_certificate_of_another_authority_is_away() {
    let ((listener, port), own) = (listener().await, certified());
    let (acceptor, ca) = (acceptor(&own), file(&certified().cert.pem()));
    let (way, settings) = (way(port, ca.path()), settings(LONG));
    let server = async {
        let (stream, _) = listener.accept().await.expect("a client");
        acceptor.accept(stream).await.is_ok()
    };
    let (connected, believed) = tokio::join!(way.connect(&settings), server);
    let Some(StoreError::Away(why)) = connected.err() else { panic!("it is not believed") };
    assert!(why.starts_with("Redis: TLS: invalid peer certificate") && !believed, "{why}");
}

/// It accepts, and says nothing: the handshake has the limit as well.
#[tokio::test]
async fn a_handshake_that_does_not_end_is_given_up() {
    let ((_listener, port), ca) = (listener().await, file(&certified().cert.pem()));
    let (way, settings) = (way(port, ca.path()), settings(Duration::from_millis(200)));
    let error = timeout(LONG, way.connect(&settings)).await.expect("in time").err();
    let Some(StoreError::Away(why)) = &error else { panic!("{error:?}") };
    assert!(why.starts_with("Redis: ") && why.contains("timed out"), "{why}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_away() {
    let ((listener, port), ca) = (listener().await, file(&certified().cert.pem()));
    let (way, settings) = (way(port, ca.path()), settings(LONG));
    let server = async {
        let (mut stream, _) = listener.accept().await.expect("a client");
        // The end would be read sooner than what was said, were the stream dropped.
        stream.write_all(b"-ERR what is that?\r\n").await.expect("it reads");
        stream
    };
    let (connected, _stream) = tokio::join!(way.connect(&settings), server);
    let Some(StoreError::Away(why)) = connected.err() else { panic!("it speaks no TLS") };
    assert!(why.starts_with("Redis: TLS: ") && why.ends_with(SPEAKS_TLS), "{why}");
}

#[tokio::test]
async fn a_server_that_speaks_tls_alone_is_away() {
    let ((listener, port), acceptor) = (listener().await, acceptor(&certified()));
    let address = format!("redis://127.0.0.1:{port}");
    let way = Redis::parse(&address, &Files::default()).expect("an address");
    let settings = settings(LONG);
    let server = async {
        let (stream, _) = listener.accept().await.expect("a client");
        acceptor.accept(stream).await.is_ok()
    };
    let (connected, believed) = tokio::join!(way.connect(&settings), server);
    let Some(StoreError::Away(why)) = connected.err() else { panic!("it speaks TLS") };
    assert!(why.ends_with(SPEAKS_TLS) && !believed, "{why}");
}

#[test]
fn only_a_server_that_hangs_up_may_ask_for_a_certificate() {
    let alert = rustls::Error::AlertReceived(rustls::AlertDescription::CertificateRequired);
    for (error, may_ask) in [
        (io::Error::new(io::ErrorKind::InvalidData, alert), true),
        (io::ErrorKind::UnexpectedEof.into(), true),
        (io::ErrorKind::ConnectionReset.into(), true),
        (io::Error::new(io::ErrorKind::InvalidData, rustls::Error::DecryptError), false),
        (io::ErrorKind::TimedOut.into(), false),
    ] {
        let text = error.to_string();
        assert_eq!(is_turned_away(&RedisError::from(error)), may_ask, "{text}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named() {
    let (_listener, port) = listener().await;
    let error = way(port, Path::new("/no/such/file")).connect(&settings(LONG)).await.err();
    let Some(StoreError::Unfit { problem, .. }) = &error else { panic!("{error:?}") };
    assert!(problem.contains("/no/such/file"), "{problem}");
}

//! That a stream with TLS is prepared as one in clear, and that a server without TLS is given up.

use std::path::Path;

use tempfile::NamedTempFile;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;

use super::*;
use crate::lease_store::address::Files;
use crate::lease_store::redis::Redis;
use crate::lease_store::secret::tests::file;
use crate::lease_store::{Connect as _, Settings};

/// No test takes longer.
const LONG: Duration = Duration::from_secs(20);

fn settings(limit: Duration) -> Settings {
    Settings { name: "orders".to_owned(), keep: Duration::from_secs(10), limit }
}

/// The certificate of an authority that has signed nothing.
fn authority() -> NamedTempFile {
    let own = rcgen::generate_simple_self_signed(["authority".to_owned()]).expect("a certificate");
    file(&own.cert.pem())
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

/// It accepts, and says nothing: the handshake has the limit as well.
#[tokio::test]
async fn a_handshake_that_does_not_end_is_given_up() {
    let ((_listener, port), authority) = (listener().await, authority());
    let (way, settings) = (way(port, authority.path()), settings(Duration::from_millis(200)));
    let error = timeout(LONG, way.connect(&settings)).await.expect("in time").err();
    let Some(StoreError::Away(why)) = &error else { panic!("{error:?}") };
    assert!(why.starts_with("Redis: ") && why.contains("timed out"), "{why}");
}

#[tokio::test]
async fn a_server_that_speaks_no_tls_is_away() {
    let ((listener, port), authority) = (listener().await, authority());
    let (way, settings) = (way(port, authority.path()), settings(LONG));
    let server = async {
        let (mut stream, _) = listener.accept().await.expect("a client");
        // The end would be read sooner than what was said, were the stream dropped.
        stream.write_all(b"-ERR what is that?\r\n").await.expect("it reads");
        stream
    };
    let (connected, _stream) = tokio::join!(way.connect(&settings), server);
    let Some(StoreError::Away(why)) = connected.err() else { panic!("it speaks no TLS") };
    assert!(why.starts_with("Redis: TLS: "), "{why}");
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_named() {
    let (_listener, port) = listener().await;
    let error = way(port, Path::new("/no/such/file")).connect(&settings(LONG)).await.err();
    let Some(StoreError::Unfit { problem, .. }) = &error else { panic!("{error:?}") };
    assert!(problem.contains("/no/such/file"), "{problem}");
}

use std::path::Path;
use std::sync::Arc;

use rcgen::{CertifiedKey, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ServerConfig, crypto, version};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::testing::{away, file, hushes, listener, told, unfit};
use crate::tls::SPEAKS_TLS;

/// No test takes longer.
const LONG: Duration = Duration::from_secs(20);

fn settings() -> LeaseSettings {
    LeaseSettings { name: "orders/a".to_owned(), ttl: Duration::from_secs(10), limit: LONG }
}

fn parse(address: &str) -> Result<Redis, String> {
    Redis::parse(address, &Files::default())
}

/// Before an address gets here, it is looked at as that of any store.
#[test]
fn an_address_is_a_url_without_a_password() {
    for wrong in
        ["redis://", "rediss://", "rediss+unix:///redis.sock", "valkey://db", "db:6379", ""]
    {
        assert_eq!(parse(wrong).map(|_| ()), Err(FORM.to_owned()), "{wrong}");
    }
    for refused in [
        "redis://:Tr0ub4dor@db",
        "redis://bellwether:Tr0ub4dor@db/0",
        "redis+unix:///run/redis.sock?pass=Tr0ub4dor",
        "redis://bellwether:Tr0ub4dor@db/orders",
        "rediss://bellwether:Tr0ub4dor@db",
    ] {
        let problem = parse(refused).expect_err(refused);
        assert!(!problem.contains("Tr0ub4"), "{problem}");
    }
}

#[test]
fn the_files_are_those_that_the_address_has_use_for() {
    let file = |name: &str| Some(PathBuf::from(name));
    let none = Files::default();
    let password = Files { password: file("p"), ..none.clone() };
    let both = Files { ca: file("ca.pem"), ..password.clone() };
    let own = Files { certificate: file("a.pem"), key: file("a.key"), ..both.clone() };
    for (address, files, encrypted) in [
        ("redis://db", &none, false),
        ("redis://127.0.0.1:6379", &password, false),
        ("redis://bellwether@[::1]", &password, false),
        ("redis://localhost", &password, false),
        ("redis+unix:///run/redis.sock", &password, false),
        ("rediss://bellwether@[fd00::1]:6380/2", &both, true),
        ("rediss://10.0.0.1", &own, true),
    ] {
        let store = Redis::parse(address, files).expect(address);
        let is_encrypted = matches!(store.way, Way::Network { tls: Some(_), .. });
        assert_eq!(is_encrypted, encrypted, "{address}");
        assert_eq!(store.password, files.password, "{address}");
    }
}

#[test]
fn both_keys_are_of_one_slot_and_the_document_shows_what_the_program_does() {
    let keys = keys("orders/a");
    assert_eq!(keys, ["bellwether:{orders/a}:lease", "bellwether:{orders/a}:token"]);
    let setup = parse("redis://db").expect("an address").setup(&settings());
    assert!(keys.iter().all(|key| setup.contains(key)), "{setup}");
    let page = include_str!("../../../../docs/stores.md");
    assert!(page.contains(&format!("{ACQUIRE}\n{RETURN}")) && page.contains(COMMANDS));
}

#[test]
fn a_reply_is_a_record() {
    let free = |token| Ok(LeaseRecord { token: Token::new(token), ..LeaseRecord::default() });
    assert_eq!(record(None, -2, None), free(0));
    assert_eq!(record(None, -2, Some("17")), free(17));
    let value = "3#00000000000000ab 17 10000";
    let holder = Some(Holder::new("3", 0xab).expect("a name"));
    for (left, doubted) in [(0, false), (250, false), (10_000, false), (10_001, true), (-1, true)] {
        let held = record(Some(value), left, Some("18")).expect("a record");
        assert_eq!((&held.holder, held.token), (&holder, Token::new(17)));
        assert_eq!(held.left, u64::try_from(left).ok().map(Duration::from_millis));
        assert_eq!(held.doubt, doubted.then(|| value.to_owned()), "{left}");
    }
    for (lease, token) in [("3 17", "17"), ("", "17"), (value, "x")] {
        unfit(record(Some(lease), 250, Some(token)));
    }
}

#[test]
fn what_a_new_connection_does_not_help_has_a_remedy() {
    for (kind, helps) in [
        (ErrorKind::AuthenticationFailed, true),
        (ErrorKind::RESP3NotSupported, true),
        (ErrorKind::Server(ServerErrorKind::NoPerm), true),
        (ErrorKind::Server(ServerErrorKind::Moved), true),
        (ErrorKind::Io, false),
        (ErrorKind::Server(ServerErrorKind::ReadOnly), false),
        (ErrorKind::Server(ServerErrorKind::BusyLoading), false),
    ] {
        assert_eq!(remedy(&RedisError::from((kind, "refused"))).is_some(), helps, "{kind:?}");
    }
    for said in [
        "The user executing the script can't run this command or subcommand",
        "ACL failure in script: User bellwether has no permissions to run the 'get' command",
        "this user has no permissions to run the 'select' command",
        "value is not an integer or out of range",
        "DB index is out of range",
    ] {
        let kind = ErrorKind::Server(ServerErrorKind::ResponseError);
        let error = RedisError::from((kind, "refused", said.to_owned()));
        assert!(matches!(explain(&error), StoreError::Misconfigured { .. }), "{said}");
    }
    // Only a server that hangs up may ask for a certificate.
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
async fn what_the_server_tells_is_heard() {
    let (sender, mut receiver) = change_channel();
    tell(&sender, &PushKind::Subscribe);
    let short = Duration::from_millis(20);
    assert!(timeout(short, receiver.changed()).await.is_err(), "it is its own doing");
    tell(&sender, &PushKind::Message);
    assert_eq!(receiver.changed().await, Ok(()));
    tell(&sender, &PushKind::Disconnection);
    away(receiver.changed().await);
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_away_and_no_password_is_told() {
    hushes(|port| format!("redis://127.0.0.1:{port}")).await;
}

/// A server that lets a client in, tells of a change as soon as a client subscribes, and answers a
/// script without an end.
async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
    let [channel, _] = keys("orders/a");
    let channel = format!("${}\r\n{channel}\r\n", channel.len());
    let subscribed = format!(">3\r\n$9\r\nsubscribe\r\n{channel}:1\r\n");
    let told = format!(">3\r\n$7\r\nmessage\r\n{channel}$8\r\nreleased\r\n");
    let mut buffer = [0; 1024];
    loop {
        let length = stream.read(&mut buffer).await?;
        let asked = String::from_utf8_lossy(&buffer[..length]);
        if asked.contains("HELLO") {
            stream.write_all(b"%1\r\n$5\r\nproto\r\n:3\r\n").await?;
        } else if asked.contains("SUBSCRIBE") {
            stream.write_all(format!("{subscribed}{told}").as_bytes()).await?;
        } else if asked.contains("EVAL") {
            stream.write_all(b"$1000000000\r\n").await?;
            loop {
                stream.write_all(&[b'0'; 1024]).await?;
            }
        } else {
            return Ok(());
        }
        stream.flush().await?;
    }
}

/// A client hears of a change from such a server, and its socket is closed when its session is
/// gone: the crate has no task for a stream that it has not opened.
async fn tells(way: Redis, server: impl Future<Output = io::Result<()>> + Send + 'static) {
    let server = tokio::spawn(server);
    let mut store = way.connect(&settings()).await.expect("it lets one in");
    assert!(store.watches(), "nodes that wait need not ask");
    assert_eq!(told(&mut store).await, Ok(()));
    drop(store);
    assert!(timeout(LONG, server).await.is_ok(), "the connection ends with the store");
}

#[tokio::test]
async fn clients_are_told_of_changes() {
    let (listener, port) = listener().await;
    let way = parse(&format!("redis://127.0.0.1:{port}")).expect("an address");
    tells(way, async move { talk(listener.accept().await?.0).await }).await;
}

#[tokio::test]
async fn an_answer_without_an_end_is_given_up() {
    let (listener, port) = listener().await;
    let way = parse(&format!("redis://127.0.0.1:{port}")).expect("an address");
    let settings = settings();
    let server = async { talk(listener.accept().await?.0).await };
    let asks = async { way.connect(&settings).await.expect("it lets one in").read().await };
    let (served, answer) = tokio::join!(server, asks);
    let why = away(answer);
    assert!(why.contains("more than 65536 bytes") && served.is_err(), "{why}");
}

/// Returns a certificate of a server, which is its own authority.
fn certified() -> CertifiedKey<KeyPair> {
    rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate")
}

/// Returns the server's side of TLS with this certificate.
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

#[tokio::test]
async fn clients_with_tls_are_told_of_changes() {
    let ((listener, port), own) = (listener().await, certified());
    let (acceptor, ca) = (acceptor(&own), file(&own.cert.pem()));
    let server = async move {
        let (stream, _) = listener.accept().await?;
        talk(acceptor.accept(stream).await?).await
    };
    tells(way(port, ca.path()), server).await;
}

#[tokio::test]
async fn a_server_that_is_not_the_one_that_is_meant_is_away() {
    // The certificate of the server is of another authority.
    let ((listener, port), settings) = (listener().await, settings());
    let (one, ca) = (acceptor(&certified()), file(&certified().cert.pem()));
    let encrypted = way(port, ca.path());
    let believed = async {
        let (stream, _) = listener.accept().await.expect("a client");
        one.accept(stream).await.is_ok()
    };
    let (connected, believed) = tokio::join!(encrypted.connect(&settings), believed);
    let why = away(connected);
    assert!(why.starts_with("Redis: TLS: invalid peer certificate") && !believed, "{why}");

    // The server speaks no TLS. The end would be read sooner than what was said, were the stream
    // dropped.
    let says = async {
        let (mut stream, _) = listener.accept().await.expect("a client");
        stream.write_all(b"-ERR what is that?\r\n").await.expect("it reads");
        stream
    };
    let (connected, _stream) = tokio::join!(encrypted.connect(&settings), says);
    let why = away(connected);
    assert!(why.starts_with("Redis: TLS: ") && why.ends_with(SPEAKS_TLS), "{why}");

    // The server speaks nothing but TLS.
    let plain = parse(&format!("redis://127.0.0.1:{port}")).expect("an address");
    let believed = async {
        let (stream, _) = listener.accept().await.expect("a client");
        one.accept(stream).await.is_ok()
    };
    let (connected, believed) = tokio::join!(plain.connect(&settings), believed);
    let why = away(connected);
    assert!(why.ends_with(SPEAKS_TLS) && !believed, "{why}");

    let said = unfit(way(port, Path::new("/no/such/file")).connect(&settings).await);
    assert!(said.contains("/no/such/file"), "{said}");
}

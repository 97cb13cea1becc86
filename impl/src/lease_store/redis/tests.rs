use std::io;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::secret::tests::file;
use super::*;

fn settings() -> Settings {
    let (keep, limit) = (Duration::from_secs(10), Duration::from_millis(500));
    Settings { name: "orders/a".to_owned(), keep, limit }
}

fn parse(address: &str) -> Result<Redis, String> {
    Redis::parse(address, &Files::default())
}

#[test]
fn an_address_is_a_url_without_a_password() {
    for right in [
        "redis://db.example.org",
        "redis://127.0.0.1:6380/2",
        "redis://[::1]:6379",
        "redis+unix:///run/redis/redis.sock?db=1",
    ] {
        assert_eq!(parse(right).map(|_| ()), Ok(()), "{right}");
    }
    for wrong in [
        "redis://",
        "redis://db/orders",
        "redis://db#insecure",
        "rediss://",
        "rediss:db",
        "rediss://db/orders",
        "rediss://db#insecure",
        "rediss+unix:///run/redis.sock",
        "valkey://db",
        "db:6379",
        "unix:///redis",
        "",
    ] {
        assert_eq!(parse(wrong).map(|_| ()), Err(FORM.to_owned()), "{wrong}");
    }
    for refused in [
        "redis://bellwether@db",
        "redis+unix:///run/redis.sock?user=bellwether",
        "redis://:Tr0ub4dor@db",
        "redis://bellwether:Tr0ub4dor@db/0",
        "redis+unix:///run/redis.sock?pass=Tr0ub4dor",
        "redis://bellwether:Tr0ub4dor@db/orders",
        "rediss://bellwether:Tr0ub4dor@db",
    ] {
        let Err(problem) = parse(refused) else { panic!("{refused}") };
        assert!(!problem.contains("Tr0ub4"), "{problem}");
    }
}

#[test]
fn the_files_are_those_that_the_address_has_use_for() {
    let file = |name: &str| Some(PathBuf::from(name));
    let none = Files::default();
    let password = Files { password: file("p"), ..none.clone() };
    let ca = Files { ca: file("ca.pem"), ..none.clone() };
    let both = Files { ca: file("ca.pem"), ..password.clone() };
    let own = Files { certificate: file("a.pem"), key: file("a.key"), ..both.clone() };
    for (address, files, encrypted) in [
        ("redis://db", &none, false),
        ("redis://127.0.0.1:6379", &password, false),
        ("redis://bellwether@[::1]", &password, false),
        ("redis://localhost", &password, false),
        ("redis+unix:///run/redis.sock", &password, false),
        ("rediss://db.example.org", &ca, true),
        ("rediss://bellwether@[fd00::1]:6380/2", &both, true),
        ("rediss://10.0.0.1", &own, true),
    ] {
        let store = Redis::parse(address, files).expect(address);
        assert_eq!(store.tls.is_some(), encrypted, "{address}");
        assert_eq!(store.password, files.password, "{address}");
    }
    let pair = "name `store_certificate_file` and `store_key_file`";
    let token = Files { token: file("t"), ..ca.clone() };
    let certificate = Files { certificate: file("a.pem"), ..none.clone() };
    let key = Files { key: file("a.key"), ..none.clone() };
    for (address, files, part) in [
        ("rediss://db", &none, "name the file with the authorities"),
        ("rediss://db", &password, "name the file with the authorities"),
        ("rediss://db", &Files { key: None, ..own.clone() }, pair),
        ("rediss://db", &Files { certificate: None, ..own.clone() }, pair),
        ("rediss://db", &token, "leave out `store_token_file`"),
        ("redis://localhost", &ca, "write `rediss://`"),
        ("redis://localhost", &certificate, "write `rediss://`"),
        ("redis+unix:///run/redis.sock", &key, "write `rediss://`"),
        ("redis://bellwether@db", &none, "by `store_password_file`"),
        ("redis://db", &password, "and name `store_ca_file`, or go through a tunnel"),
        ("redis://bellwether@10.0.0.1:6379/1", &password, "for all to read"),
    ] {
        let Err(problem) = Redis::parse(address, files) else { panic!("{address}, {files:?}") };
        assert!(problem.contains(part), "{address}: {problem}");
    }
}

#[test]
fn both_keys_are_of_one_slot() {
    let keys = keys("orders/a");
    assert_eq!(keys, ["bellwether:{orders/a}:lease", "bellwether:{orders/a}:token"]);
    let setup = parse("redis://db").expect("an address").setup(&settings());
    assert!(keys.iter().all(|key| setup.contains(key)), "{setup}");
}

#[test]
fn a_reply_is_a_record() {
    let read = |lease: &str, left, token: &str| record(&(1, lease.into(), left, token.into()));
    let free = |token| Record { holder: None, token: Token::new(token), left: None };
    assert_eq!(read("", -2, "0"), Ok(free(0)));
    assert_eq!(read("", -2, "17"), Ok(free(17)));
    // More digits than a number of Lua has.
    let (holder, token) = (NodeId::new(3), Token::new(9_007_199_254_740_993));
    let held = Record { holder, token, left: Some(Duration::from_millis(250)) };
    assert_eq!(read("3 9007199254740993", 250, "9007199254740993"), Ok(held));
    assert_eq!(value(holder.expect("an id"), token), "3 9007199254740993");
    for (lease, left, token) in [
        ("3", 250, "17"),
        ("3 x", 250, "17"),
        ("0 17", 250, "17"),
        ("70000 17", 250, "17"),
        ("3 17", -1, "17"),
        ("", -2, "x"),
    ] {
        let read = read(lease, left, token);
        assert!(matches!(read, Err(StoreError::Unfit { .. })), "{lease:?}, {left}: {read:?}");
    }
}

#[test]
fn what_a_new_connection_does_not_help_has_a_remedy() {
    let told = |kind| explain(&RedisError::from((kind, "refused")));
    for kind in [
        ErrorKind::AuthenticationFailed,
        ErrorKind::RESP3NotSupported,
        ErrorKind::Server(ServerErrorKind::NoPerm),
        ErrorKind::Server(ServerErrorKind::Moved),
    ] {
        assert!(matches!(told(kind), StoreError::Unfit { .. }), "{kind:?}");
    }
    let refused = (ErrorKind::Server(ServerErrorKind::ResponseError), "refused");
    for said in [
        "The user executing the script can't run this command or subcommand",
        "ACL failure in script: User bellwether has no permissions to run the 'get' command",
        "this user has no permissions to run the 'select' command",
        "DB index is out of range",
    ] {
        let error = RedisError::from((refused.0, refused.1, said.to_owned()));
        assert!(matches!(explain(&error), StoreError::Unfit { .. }), "{said}");
    }
    for kind in [
        ErrorKind::Io,
        ErrorKind::Server(ServerErrorKind::ReadOnly),
        ErrorKind::Server(ServerErrorKind::BusyLoading),
    ] {
        assert!(matches!(told(kind), StoreError::Away(_)), "{kind:?}");
    }
}

#[tokio::test]
async fn what_the_server_tells_is_heard() {
    let (teller, mut hearer) = server::news();
    tell(&teller, &PushKind::Subscribe);
    let short = Duration::from_millis(20);
    assert!(tokio::time::timeout(short, hearer.changed()).await.is_err(), "it is its own doing");
    tell(&teller, &PushKind::Message);
    assert_eq!(hearer.changed().await, Ok(()));
    tell(&teller, &PushKind::Disconnection);
    assert!(matches!(hearer.changed().await, Err(StoreError::Away(_))));
}

/// A server that is not there, and one that hangs up.
#[tokio::test]
async fn a_server_that_does_not_answer_is_away_and_no_password_is_told() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let password = file("Tr0ub4dor\n");
    let files = Files { password: Some(password.path().into()), ..Files::default() };
    let store = Redis::parse(&format!("redis://127.0.0.1:{port}"), &files).expect("an address");
    assert!(!format!("{store:?}").contains("Tr0ub4dor"));

    let hangs_up = async { drop(listener.accept().await) };
    let settings = settings();
    let (connected, ()) = tokio::join!(store.connect(&settings), hangs_up);
    let hung_up = connected.err().expect("no server");
    drop(listener);
    let gone = store.connect(&settings).await.err().expect("no server");
    for error in [hung_up, gone] {
        assert!(matches!(&error, StoreError::Away(why) if !why.contains("Tr0ub4dor")), "{error}");
    }
}

/// A server that lets one in, and tells of a change as soon as it is subscribed to.
pub(super) async fn talk(mut stream: impl AsyncRead + AsyncWrite + Unpin) -> io::Result<()> {
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
        } else {
            return Ok(());
        }
        stream.flush().await?;
    }
}

#[tokio::test]
async fn clients_are_told_of_changes() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let server = tokio::spawn(async move { talk(listener.accept().await?.0).await });
    let way = parse(&format!("redis://127.0.0.1:{port}")).expect("an address");
    let long = Duration::from_secs(20);
    let patient = Settings { limit: long, ..settings() };
    let mut store = way.connect(&patient).await.expect("it lets one in");
    assert!(store.watches(), "nodes that wait need not ask");
    let told = timeout(long, store.changed()).await;
    assert_eq!(told.expect("in time"), Ok(()));
    drop(store);
    assert!(timeout(long, server).await.is_ok(), "the connection ends with the store");
}

#[test]
fn the_document_shows_the_script_and_what_a_user_must_be_allowed() {
    let page = include_str!("../../../../docs/stores.md");
    assert!(page.contains(&format!("{ACQUIRE}\n{RETURN}")));
    assert!(page.contains(COMMANDS));
}

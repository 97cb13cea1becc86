use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::secret::tests::file;
use super::*;

const LIMIT: Duration = Duration::from_secs(30);

fn settings() -> Settings {
    Settings { name: "orders/a".to_owned(), keep: Duration::from_secs(10), limit: LIMIT }
}

fn parse(address: &str) -> Result<Postgres, String> {
    Postgres::parse(address, &Files::default())
}

#[test]
fn an_address_is_a_url_with_a_host() {
    for right in [
        "postgres://bellwether@db.example.org:5433/orders",
        "postgresql://bellwether@one,two:5433/orders?application_name=orders",
        "postgres://bellwether@db/orders?sslmode=disable",
        "postgres://bellwether@%2Fvar%2Frun%2Fpostgresql/orders",
    ] {
        assert_eq!(parse(right).map(|_| ()), Ok(()), "{right}");
    }
    for wrong in [
        "postgres://",
        "postgres:///orders",
        "postgres://db:port/orders",
        "postgres://db/orders?no_such_parameter=1",
        "host=db user=bellwether",
        "mysql://db/orders",
        "",
    ] {
        assert_eq!(parse(wrong), Err(FORM.to_owned()), "{wrong}");
    }
}

#[test]
fn a_password_in_the_address_is_refused_and_not_repeated() {
    for address in [
        "postgres://bellwether:Tr0ub4dor@db/orders",
        "postgres://bellwether@db/orders?password=Tr0ub4dor",
        "postgres://bellwether:Tr0ub4?dor@db/orders",
        "postgres://bellwether@db/orders?passwort=Tr0ub4dor",
    ] {
        let Err(problem) = parse(address) else { panic!("{address}") };
        assert!(!problem.contains("Tr0ub4"), "{problem}");
    }
}

#[test]
fn tls_is_asked_for_with_all_files_or_not_at_all() {
    let path = |name: &str| Some(name.into());
    let (address, off) = ("postgres://db/orders", "postgres://db/orders?sslmode=disable");
    let on = "postgres://db/orders?sslmode=require";
    let with = |address, files: Files| Postgres::parse(address, &files);
    let mode = |store: Result<Postgres, String>| store.map(|store| store.config.get_ssl_mode());
    let (none, ca) = (Files::default(), Files { ca: path("ca.pem"), ..Files::default() });
    let own = Files { certificate: path("a.pem"), key: path("a.key"), ..ca.clone() };

    assert_eq!(mode(with(address, none.clone())), Ok(SslMode::Disable));
    assert_eq!(mode(with(address, ca.clone())), Ok(SslMode::Require));
    assert_eq!(mode(with(on, own.clone())), Ok(SslMode::Require));
    for (address, files) in [
        (on, none),
        (off, ca.clone()),
        (address, Files { ca: None, ..own.clone() }),
        (address, Files { key: None, ..own.clone() }),
        (address, Files { certificate: None, ..own }),
        (address, Files { token: path("token"), ..ca }),
    ] {
        assert!(with(address, files.clone()).is_err(), "{address}, {files:?}");
    }
}

#[test]
fn a_password_goes_over_no_network_in_clear() {
    let path = |name: &str| Some(name.into());
    let plain = Files { password: path("password"), ..Files::default() };
    let encrypted = Files { ca: path("ca.pem"), ..plain.clone() };
    for (address, exposed) in [
        ("postgres://a@db/orders", true),
        ("postgres://a@10.0.0.7:5433/orders", true),
        ("postgres://a@localhost,db/orders", true),
        ("postgres://a@localhost/orders?hostaddr=10.0.0.7", true),
        ("postgres://a@db/orders?hostaddr=127.0.0.1", false),
        ("postgres://a@localhost,[::1]:5433,127.0.0.2/orders", false),
        ("postgres://a@%2Frun%2Fpostgresql/orders", false),
    ] {
        let problem = Postgres::parse(address, &plain).err().unwrap_or_default();
        assert_eq!(problem.contains("for all to read"), exposed, "{address}: {problem}");
        assert!(Postgres::parse(address, &encrypted).is_ok(), "{address}");
        assert!(parse(address).is_ok(), "{address}");
    }
}

#[test]
fn a_channel_is_an_identifier_for_every_name() {
    let longest = "n".repeat(64);
    let channels = ["orders/a", "orders/b", "x", longest.as_str()].map(channel);
    for (at, channel) in channels.iter().enumerate() {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(channel.len() < 64 && channel.chars().all(plain), "{channel}");
        assert!(!channels[..at].contains(channel), "{channel} is told for two leases");
    }
    assert_eq!(channel("orders/a"), channels[0]);
}

#[test]
fn a_session_has_a_limit_of_a_millisecond_at_least() {
    assert!(prepare("c", LIMIT).contains("statement_timeout = 30000;"));
    assert!(prepare("c", Duration::ZERO).contains("statement_timeout = 1;"), "0 is no limit");
    assert!(prepare("c", Duration::MAX).contains("statement_timeout = 2147483647;"));
}

#[test]
fn what_a_new_connection_does_not_help_has_a_remedy() {
    assert_eq!(remedy(&SqlState::UNDEFINED_TABLE), Some(INIT));
    assert_eq!(remedy(&SqlState::from_code("42P01")), Some(INIT));
    assert!(remedy(&SqlState::from_code("42501")).is_some_and(|text| text.contains("DBA")));
    for wrong_table in ["42703", "42P10", "42804"] {
        assert_eq!(remedy(&SqlState::from_code(wrong_table)), Some(COMPARE), "{wrong_table}");
    }
    assert_eq!(remedy(&SqlState::from_code("42883")), Some(OTHER), "a function that is not there");
    assert_eq!(remedy(&SqlState::from_code("3F000")), Some(GRANT), "no schema may be used");
    for passes in ["57P01", "57014", "53300", "25006", "40001"] {
        assert_eq!(remedy(&SqlState::from_code(passes)), None, "{passes}");
    }
}

#[test]
fn the_setup_grants_what_is_needed_to_the_user() {
    let store = parse("postgres://the%22user@db/orders").expect("an address");
    let setup = store.setup(&settings());
    assert!(setup.starts_with(TABLE), "{setup}");
    let grant = "GRANT SELECT, INSERT, UPDATE ON bellwether_lease TO \"the\"\"user\";";
    assert!(setup.ends_with(grant), "{setup}");
}

/// A server that is not there, and one that hangs up.
#[tokio::test]
async fn a_server_that_does_not_answer_is_away_and_no_password_is_told() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let password = file("Tr0ub4dor\n");
    let files = Files { password: Some(password.path().into()), ..Files::default() };
    let address = format!("postgres://bellwether@127.0.0.1:{port}/orders");
    let store = Postgres::parse(&address, &files).expect("an address");
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

    std::fs::write(&password, "").expect("writable");
    let unfit = store.connect(&settings).await.err().expect("no password");
    assert!(matches!(unfit, StoreError::Unfit { .. }), "it is read at each connection: {unfit}");
}

/// What a server says of its one column of text.
const COLUMN: &[u8] = b"\0\x01it\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";

/// A server that lets all in, does what it is told, and may answer no question. It tells of a
/// change as soon as a client listens. It ends with the set.
async fn pretended(tasks: &mut JoinSet<()>) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let port = listener.local_addr().expect("an address").port();
    tasks.spawn(async move {
        let mut talks = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            talks.spawn(talk(stream));
        }
    });
    port
}

async fn talk(mut stream: TcpStream) -> io::Result<()> {
    said(&mut stream).await?;
    let ready = message(b'Z', b"I");
    stream.write_all(&[message(b'R', &[0; 4]), ready.clone()].concat()).await?;
    loop {
        let tag = stream.read_u8().await?;
        let said = said(&mut stream).await?;
        let mut answer = match tag {
            b'Q' if said.starts_with("SHOW") => {
                let row = message(b'D', b"\0\x01\0\0\0\x03off");
                [message(b'T', COLUMN), row, message(b'C', b"SHOW\0")].concat()
            }
            b'Q' => message(b'C', b"SET\0"),
            b'S' => message(b'E', b"SERROR\0C42501\0Mpermission denied\0\0"),
            _ => continue,
        };
        answer.extend_from_slice(&ready);
        if said.contains("LISTEN") {
            answer.extend(message(b'A', b"\0\0\0\x01bellwether\0\0"));
        }
        stream.write_all(&answer).await?;
    }
}

async fn said(stream: &mut TcpStream) -> io::Result<String> {
    let length = stream.read_u32().await?;
    let mut body = vec![0; usize::try_from(length).expect("it fits") - 4];
    stream.read_exact(&mut body).await?;
    Ok(String::from_utf8_lossy(&body).into_owned())
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("it is short").to_be_bytes();
    [&[tag][..], &length, body].concat()
}

#[tokio::test]
async fn clients_are_told_of_changes() {
    let mut tasks = JoinSet::new();
    let port = pretended(&mut tasks).await;
    let way = parse(&format!("postgres://bellwether@127.0.0.1:{port}/orders"));
    let way = way.expect("an address");
    let mut store = way.connect(&settings()).await.expect("it lets all in");
    assert!(store.watches(), "nodes that wait need not ask");
    let told = timeout(LIMIT, store.changed()).await;
    assert_eq!(told.expect("in time"), Ok(()));
}

/// The table is there, so it is not made; but it is of no use to this user.
#[tokio::test]
async fn a_table_that_this_user_may_not_read_is_not_ready() {
    let mut tasks = JoinSet::new();
    let port = pretended(&mut tasks).await;
    let way = parse(&format!("postgres://bellwether@127.0.0.1:{port}/orders"));
    let way = way.expect("an address");
    let mut store = way.connect(&settings()).await.expect("it lets all in");
    let Err(StoreError::Unfit { problem, remedy }) = store.init().await else {
        panic!("it may not read")
    };
    assert!(problem.contains("permission denied") && remedy.contains("DBA"), "{problem}; {remedy}");
}

/// One of them is stopped: it accepts, and says nothing.
#[tokio::test]
async fn of_several_hosts_each_gets_its_turn() {
    let mut tasks = JoinSet::new();
    let there = pretended(&mut tasks).await;
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let stopped = listener.local_addr().expect("an address").port();
    let hosts = format!("127.0.0.1:{stopped},127.0.0.1:{there}");
    let way = parse(&format!("postgres://bellwether@{hosts}/orders")).expect("an address");
    // Each has an equal chance.
    let short = Duration::from_millis(250);
    for _ in 0..40 {
        if let Ok(connected) = timeout(short, way.connect(&settings())).await {
            assert!(connected.is_ok(), "{:?}", connected.err());
            return;
        }
    }
    panic!("the other host is never asked");
}

#[test]
fn the_document_shows_the_statements() {
    let page = include_str!("../../../../docs/stores.md");
    let store = parse("postgres://bellwether@db/orders").expect("an address");
    assert!(page.contains(&store.setup(&settings())));
    assert!(page.contains(ACQUIRE));
}

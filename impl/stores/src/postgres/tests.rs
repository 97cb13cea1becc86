use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::*;
use crate::testing::{acquire, away, holder, hushes, listener, told, unfit};

const LIMIT: Duration = Duration::from_secs(30);

fn settings() -> LeaseSettings {
    LeaseSettings { name: "orders/a".to_owned(), ttl: Duration::from_secs(10), limit: LIMIT }
}

fn parse(address: &str) -> Result<Postgres, String> {
    Postgres::parse(address, &Files::default())
}

/// Before an address gets here, it is looked at as that of any store.
#[test]
fn an_address_is_a_url_without_a_password() {
    for wrong in ["postgres://", "host=db user=bellwether", "mysql://db/orders", ""] {
        assert_eq!(parse(wrong), Err(FORM.to_owned()), "{wrong}");
    }
    for password in [
        "postgres://bellwether:Tr0ub4dor@db/orders",
        "postgres://bellwether@db/orders?password=Tr0ub4dor",
        "postgres://bellwether:Tr0ub4?dor@db/orders",
        "postgres://bellwether@db/orders?passwort=Tr0ub4dor",
    ] {
        let problem = parse(password).expect_err(password);
        assert!(!problem.contains("Tr0ub4"), "{problem}");
    }
}

#[test]
fn tls_is_asked_for_with_authorities_and_never_without() {
    let ca = Files { ca: Some("ca.pem".into()), ..Files::default() };
    for (files, mode) in [(Files::default(), SslMode::Disable), (ca, SslMode::Require)] {
        let store = Postgres::parse("postgres://db/orders", &files).expect("an address");
        assert_eq!(store.config.get_ssl_mode(), mode, "{files:?}");
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
    for (limit, milliseconds) in
        [(LIMIT, 30_000), (Duration::ZERO, 1), (Duration::MAX, i64::from(i32::MAX))]
    {
        let options = options(Some("-c search_path=shop"), limit);
        let own = format!("-c statement_timeout={milliseconds}");
        assert!(options.starts_with("-c search_path=shop ") && options.ends_with(&own));
    }
}

#[test]
fn what_a_new_connection_does_not_help_has_a_remedy() {
    for (code, helps) in [
        ("42P01", Some(INIT)),
        ("42501", Some(GRANT)),
        ("42703", Some(COMPARE)),
        ("42P10", Some(COMPARE)),
        ("42804", Some(COMPARE)),
        ("22003", Some("correct the token: there is no higher one")),
        // A function that is not there, and no schema may be used.
        ("42883", Some(OTHER)),
        ("3F000", Some(GRANT)),
        ("57P01", None),
        ("57014", None),
        ("53300", None),
        ("25006", None),
        ("40001", None),
    ] {
        assert_eq!(remedy(&SqlState::from_code(code)), helps, "{code}");
    }
}

#[test]
fn the_setup_and_the_document_are_what_the_program_does() {
    let setup = |user: &str| {
        let store = parse(&format!("postgres://{user}@db/orders")).expect("an address");
        store.setup(&settings())
    };
    let grant = "GRANT SELECT, INSERT, UPDATE ON bellwether_lease TO \"the\"\"user\";";
    assert_eq!(setup("the%22user"), format!("{TABLE};\n{grant}"));
    let page = include_str!("../../../../docs/stores.md");
    assert!(page.contains(&setup("bellwether")) && page.contains(ACQUIRE));
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_away_and_no_password_is_told() {
    hushes(|port| format!("postgres://bellwether@127.0.0.1:{port}/orders")).await;
}

/// The description of the one column of text in an answer.
const COLUMN: &[u8] = b"\0\x01it\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0";

/// The difference between a server and PostgreSQL.
#[derive(Clone, Copy)]
enum Other {
    Nothing,
    /// The server refuses the options of the session, as a pool does.
    Refuses,
    /// The server drops the options without a word.
    Drops,
    /// The answers of the server have no end.
    Talks,
}

/// A server that lets all in, does what it is told, and may answer no question. It tells of a
/// change as soon as a client listens. It ends with the set.
async fn pretended(tasks: &mut JoinSet<()>, other: Other) -> u16 {
    let (listener, port) = listener().await;
    tasks.spawn(async move {
        let mut talks = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            talks.spawn(talk(stream, other));
        }
    });
    port
}

async fn talk(mut stream: TcpStream, other: Other) -> io::Result<()> {
    let started = said(&mut stream).await?;
    let limit = started.split_once("statement_timeout=").map(|(_, limit)| limit);
    let limit = limit.and_then(|limit| limit.split('\0').next()).unwrap_or("0").to_owned();
    if matches!(other, Other::Refuses) {
        let refusal = b"SFATAL\0C08P01\0Munsupported startup parameter: options\0\0";
        return stream.write_all(&message(b'E', refusal)).await;
    }
    let ready = message(b'Z', b"I");
    stream.write_all(&[message(b'R', &[0; 4]), ready.clone()].concat()).await?;
    loop {
        let tag = stream.read_u8().await?;
        let said = said(&mut stream).await?;
        let mut answer = match tag {
            b'Q' if said.starts_with("SHOW") => row("off"),
            b'Q' if said.starts_with("SELECT") && matches!(other, Other::Drops) => row("0"),
            b'Q' if said.starts_with("SELECT") => row(&limit),
            b'Q' => message(b'C', b"LISTEN\0"),
            b'S' if matches!(other, Other::Talks) => loop {
                // A parameter of the server, which may tell of them at any moment.
                let value = [&b"bellwether\0"[..], &[b'b'; 1_000], b"\0"].concat();
                stream.write_all(&message(b'S', &value)).await?;
            },
            b'S' => {
                let refusal = b"SERROR\0C42501\0Mpermission denied";
                message(b'E', &[&refusal[..], &[b'!'; 5_000], b"\0\0"].concat())
            }
            _ => continue,
        };
        answer.extend_from_slice(&ready);
        if said.contains("LISTEN") {
            answer.extend(message(b'A', b"\0\0\0\x01bellwether\0\0"));
        }
        stream.write_all(&answer).await?;
    }
}

/// An answer with one text.
fn row(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("it is short").to_be_bytes();
    let row = [&b"\0\x01"[..], &length, text.as_bytes()].concat();
    [message(b'T', COLUMN), message(b'D', &row), message(b'C', b"SELECT 1\0")].concat()
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

/// Connects to such a server.
async fn connected(tasks: &mut JoinSet<()>, other: Other) -> StoreResult<Box<dyn LeaseStore>> {
    let port = pretended(tasks, other).await;
    let way = parse(&format!("postgres://bellwether@127.0.0.1:{port}/orders"));
    way.expect("an address").connect(&settings()).await
}

#[tokio::test]
async fn clients_are_told_of_changes() {
    let mut tasks = JoinSet::new();
    let mut store = connected(&mut tasks, Other::Nothing).await.expect("it lets all in");
    assert!(store.watches(), "nodes that wait need not ask");
    assert_eq!(told(&mut store).await, Ok(()));
}

/// The table is there, so it is not made; but it is of no use to this user.
#[tokio::test]
async fn a_table_that_this_user_may_not_read_is_not_ready() {
    let mut tasks = JoinSet::new();
    let mut store = connected(&mut tasks, Other::Nothing).await.expect("it lets all in");
    let said = unfit(store.init().await);
    assert!(said.contains("permission denied") && said.contains("DBA"), "{said}");
    assert!(said.len() < 1_000, "the text of a server is cut: {said}");
}

#[tokio::test]
async fn a_pool_that_shares_sessions_is_refused() {
    for other in [Other::Refuses, Other::Drops] {
        let mut tasks = JoinSet::new();
        let said = unfit(connected(&mut tasks, other).await);
        assert!(said.ends_with(POOL), "{said}");
    }
}

#[tokio::test]
async fn an_answer_without_an_end_ends_the_connection() {
    let mut tasks = JoinSet::new();
    let mut store = connected(&mut tasks, Other::Talks).await.expect("it lets all in");
    away(timeout(LIMIT, acquire(&mut store, &holder(1))).await.expect("soon"));
    let ended = loop {
        if let Err(error) = told(&mut store).await {
            break error.to_string();
        }
    };
    assert!(ended.contains("an answer of more than"), "{ended}");
}

/// One of them is stopped: it accepts, and says nothing.
#[tokio::test]
async fn of_several_hosts_each_gets_its_turn() {
    let mut tasks = JoinSet::new();
    let there = pretended(&mut tasks, Other::Nothing).await;
    let (_listener, stopped) = listener().await;
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

use tokio::net::TcpListener;

use super::secret::tests::file;
use super::*;

const LIMIT: Duration = Duration::from_millis(500);

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
    assert!(prepare("c", LIMIT).contains("statement_timeout = 500;"));
    assert!(prepare("c", Duration::ZERO).contains("statement_timeout = 1;"), "0 is no limit");
    assert!(prepare("c", Duration::MAX).contains("statement_timeout = 2147483647;"));
}

#[test]
fn what_a_new_connection_does_not_help_has_a_remedy() {
    assert_eq!(remedy(&SqlState::UNDEFINED_TABLE), Some(INIT));
    assert_eq!(remedy(&SqlState::from_code("42P01")), Some(INIT));
    assert!(remedy(&SqlState::from_code("42501")).is_some_and(|text| text.contains("DBA")));
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

#[test]
fn the_document_shows_the_statements() {
    let page = include_str!("../../../../docs/stores.md");
    let store = parse("postgres://bellwether@db/orders").expect("an address");
    assert!(page.contains(&store.setup(&settings())));
    assert!(page.contains(ACQUIRE));
}

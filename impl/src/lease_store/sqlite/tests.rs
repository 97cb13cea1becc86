use std::path::Path;

use futures::FutureExt as _;
use tempfile::TempDir;

use super::*;

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

fn settings(keep: Duration) -> Settings {
    Settings { name: "orders/a".to_owned(), keep, limit: Duration::from_secs(30) }
}

fn client(id: u16) -> NodeId {
    NodeId::new(id).expect("an id")
}

fn at(file: &Path) -> Sqlite {
    let address = format!("sqlite:{}", file.display());
    Sqlite::parse(&address, &Files::default()).expect("an address")
}

/// A folder, and the path of a file in it that is not there yet.
fn folder() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lease.db");
    (folder, file)
}

async fn connected(file: &Path, keep: Duration) -> Box<dyn LeaseStore> {
    at(file).connect(&settings(keep)).await.expect("a connection")
}

/// Two connections to a new file.
async fn two(file: &Path, keep: Duration) -> [Box<dyn LeaseStore>; 2] {
    let mut one = connected(file, keep).await;
    assert_eq!(one.init().await, Ok(()));
    [one, connected(file, keep).await]
}

/// What no client does to the table.
fn change(file: &Path, statement: &str) {
    let rows = Connection::open(file).expect("a database").execute(statement, ());
    assert_eq!(rows, Ok(1), "{statement}");
}

fn deadline(file: &Path) -> (String, i64) {
    let connection = Connection::open(file).expect("a database");
    let read = "SELECT boot, until_ms FROM bellwether_lease";
    connection.query_row(read, (), |row| Ok((row.get(0)?, row.get(1)?))).expect("a row")
}

#[tokio::test]
async fn one_client_has_the_lease_until_it_gives_it_back() {
    let (_folder, file) = folder();
    let [mut one, mut two] = two(&file, LONG).await;
    let granted = |token| Ok(Answer::Granted(Token::new(token)));
    let by_one = Ok(Answer::Refused(Some(client(1))));

    assert_eq!(one.read().await, Ok(Record::default()));
    assert_eq!(one.acquire(client(1)).await, granted(1));
    assert_eq!(two.acquire(client(2)).await, by_one);
    assert_eq!(two.renew(client(2), Token::new(1)).await, by_one);
    // A client that starts again gets a new token, and the one before is worth nothing.
    assert_eq!(one.acquire(client(1)).await, granted(2));
    assert_eq!(one.renew(client(1), Token::new(1)).await, Ok(Answer::Refused(None)));
    assert_eq!(one.renew(client(1), Token::new(2)).await, granted(2));
    let record = two.read().await.expect("a record");
    assert_eq!((record.holder, record.token), (Some(client(1)), Token::new(2)));
    assert!(record.left.is_some_and(|left| left > LONG / 2), "{record:?}");

    // Neither an older token nor another client gives it back.
    assert_eq!(one.release(client(1), Token::new(1)).await, Ok(()));
    assert_eq!(two.release(client(2), Token::new(2)).await, Ok(()));
    assert_eq!(two.acquire(client(2)).await, by_one);
    assert_eq!(one.release(client(1), Token::new(2)).await, Ok(()));
    let free = Record { holder: None, token: Token::new(2), left: None };
    assert_eq!(two.read().await, Ok(free));
    assert_eq!(one.renew(client(1), Token::new(2)).await, Ok(Answer::Refused(None)));
    assert_eq!(two.acquire(client(2)).await, granted(3));
    assert_eq!(one.acquire(client(1)).await, Ok(Answer::Refused(Some(client(2)))));
}

#[tokio::test]
async fn leases_of_other_names_are_other_leases() {
    let (_folder, file) = folder();
    let [mut one, _] = two(&file, LONG).await;
    let other = Settings { name: "orders/b".to_owned(), ..settings(LONG) };
    let mut two = at(&file).connect(&other).await.expect("a connection");
    assert_eq!(one.acquire(client(1)).await, Ok(Answer::Granted(Token::new(1))));
    assert_eq!(two.acquire(client(2)).await, Ok(Answer::Granted(Token::new(1))));
}

#[tokio::test]
async fn a_lease_that_is_not_renewed_expires() {
    let (_folder, file) = folder();
    let [mut one, mut two] = two(&file, SHORT).await;
    assert_eq!(one.acquire(client(1)).await, Ok(Answer::Granted(Token::new(1))));
    tokio::time::sleep(SHORT * 2).await;
    let free = Record { holder: None, token: Token::new(1), left: None };
    assert_eq!(two.read().await, Ok(free));
    assert_eq!(one.renew(client(1), Token::new(1)).await, Ok(Answer::Refused(None)));
    assert_eq!(two.acquire(client(2)).await, Ok(Answer::Granted(Token::new(2))));
}

#[tokio::test]
async fn a_renewal_counts_from_its_own_moment() {
    let (_folder, file) = folder();
    let [mut one, mut two] = two(&file, LONG).await;
    assert_eq!(one.acquire(client(1)).await, Ok(Answer::Granted(Token::new(1))));
    change(&file, "UPDATE bellwether_lease SET until_ms = until_ms - 31000");
    let left = |record: StoreResult<Record>| record.expect("a record").left.expect("some is left");
    assert!(left(two.read().await) <= LONG / 2);
    assert_eq!(one.renew(client(1), Token::new(1)).await, Ok(Answer::Granted(Token::new(1))));
    let renewed = left(two.read().await);
    assert!(renewed > LONG / 2 && renewed <= LONG + Duration::from_millis(1), "{renewed:?}");
}

/// The deadline of another start of the system says nothing, however early it is.
#[tokio::test]
async fn a_lease_from_before_a_restart_is_kept_once_more() {
    let (_folder, file) = folder();
    let [mut one, mut two] = two(&file, LONG).await;
    assert_eq!(one.acquire(client(1)).await, Ok(Answer::Granted(Token::new(1))));
    change(&file, "UPDATE bellwether_lease SET boot = 'another', until_ms = 1");
    let record = Record { holder: Some(client(1)), token: Token::new(1), left: None };
    assert_eq!(two.read().await, Ok(record));
    assert_eq!(deadline(&file), ("another".to_owned(), 1), "who reads changes nothing");

    let by_one = Ok(Answer::Refused(Some(client(1))));
    assert_eq!(two.acquire(client(2)).await, by_one);
    let seen = deadline(&file);
    assert_eq!(seen.0, boot().expect("Linux"));
    assert!(two.read().await.expect("a record").left.is_some_and(|left| left > LONG / 2));
    // It is kept once more, and not once more by each client that asks.
    assert_eq!(two.acquire(client(2)).await, by_one);
    assert_eq!(deadline(&file), seen);
    change(&file, "UPDATE bellwether_lease SET until_ms = 1");
    assert_eq!(two.acquire(client(2)).await, Ok(Answer::Granted(Token::new(2))));

    change(&file, "UPDATE bellwether_lease SET boot = 'another', until_ms = 1");
    let own = two.renew(client(2), Token::new(2)).await;
    assert_eq!(own, Ok(Answer::Granted(Token::new(2))), "the client is still there");
    change(&file, "UPDATE bellwether_lease SET boot = 'another', until_ms = 1");
    assert_eq!(two.acquire(client(2)).await, Ok(Answer::Granted(Token::new(3))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_clients_that_ask_at_once_one_gets_it() {
    let (_folder, file) = folder();
    let [_, _] = two(&file, LONG).await;
    let mut asked = Vec::new();
    for id in 1..=8 {
        let mut store = connected(&file, LONG).await;
        asked.push(tokio::spawn(async move { (id, store.acquire(client(id)).await) }));
    }
    let mut answers = Vec::new();
    for task in asked {
        let (id, answer) = task.await.expect("no panic");
        answers.push((id, answer.expect("an answer")));
    }
    let granted: Vec<u16> = answers
        .iter()
        .filter(|(_, answer)| *answer == Answer::Granted(Token::new(1)))
        .map(|(id, _)| *id)
        .collect();
    let [winner] = granted[..] else { panic!("{answers:?}") };
    let refused = Answer::Refused(Some(client(winner)));
    assert!(answers.iter().all(|(id, answer)| *id == winner || *answer == refused), "{answers:?}");
}

/// The work goes on in its thread, and what was asked for may be granted.
#[tokio::test]
async fn a_question_that_is_dropped_is_asked_again() {
    let (_folder, file) = folder();
    let [mut one, _] = two(&file, LONG).await;
    for _ in 0..20 {
        let _ = one.acquire(client(1)).now_or_never();
        let before = one.read().await.expect("a record").token;
        let Ok(Answer::Granted(token)) = one.acquire(client(1)).await else {
            panic!("it is free, or its own")
        };
        assert!(token > before, "{token} after {before}");
    }
}

#[tokio::test]
async fn questions_that_were_given_up_take_few_threads() {
    let (_folder, file) = folder();
    let [_, _] = two(&file, LONG).await;
    let (way, mut stores) = (at(&file), Vec::new());
    for _ in 0..2 * THREADS {
        stores.push(way.connect(&settings(LONG)).await.expect("a connection"));
    }
    let locking = Connection::open(&file).expect("a database");
    locking.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    for store in &mut stores {
        let asked = tokio::time::timeout(SHORT, store.acquire(client(1))).await;
        assert!(asked.is_err(), "it is locked: {asked:?}");
    }
    locking.execute_batch("ROLLBACK").expect("no lock");
    let most = u32::try_from(THREADS).expect("few");
    drop(way.threads.acquire_many(most).await.expect("all end"));
    let record = stores[0].read().await.expect("a record");
    assert_eq!(record.token, Token::new(u64::from(most)), "the others were never asked");
}

/// Which problem a store has that is asked for the lease, and what helps.
async fn unfit(file: &Path) -> (String, String) {
    let asked = match at(file).connect(&settings(LONG)).await {
        Ok(mut store) => store.acquire(client(1)).await.map(|_| ()),
        Err(error) => Err(error),
    };
    match asked {
        Err(StoreError::Unfit { problem, remedy }) => {
            assert!(problem.contains(&*file.to_string_lossy()), "{problem}");
            (problem, remedy)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_cannot_be_a_store_is_told_with_a_remedy() {
    let (folder, file) = folder();
    assert_eq!(unfit(&file).await.1, INIT);
    assert!(!file.exists(), "a wrong path is no empty store");
    let other = Connection::open(&file).expect("a database");
    other.execute_batch("CREATE TABLE other (a)").expect("a table");
    let (problem, remedy) = unfit(&file).await;
    assert!(problem.contains("no table") && remedy == INIT, "{problem}; {remedy}");

    let (problem, remedy) = unfit(folder.path()).await;
    assert!(problem.contains("cannot open") && remedy.contains("folder"), "{problem}; {remedy}");

    let text = folder.path().join("text");
    std::fs::write(&text, "no database ".repeat(100)).expect("a file");
    assert!(unfit(&text).await.1.contains("another file"));
}

/// A file of a later version of the format can be read only: SQLite says the same of a file that
/// this user may not write, which root always may.
#[tokio::test]
async fn a_file_that_cannot_be_written_is_told_with_a_remedy() {
    let (_folder, file) = folder();
    let [one, two] = two(&file, LONG).await;
    drop((one, two));
    let mut bytes = std::fs::read(&file).expect("a file");
    bytes[18] = 3;
    std::fs::write(&file, bytes).expect("a file");
    let (problem, remedy) = unfit(&file).await;
    assert!(problem.contains("cannot open") && remedy.contains("user"), "{problem}; {remedy}");
}

#[tokio::test]
async fn a_file_that_is_locked_for_too_long_is_away() {
    let (_folder, file) = folder();
    let [_, _] = two(&file, LONG).await;
    let short = Settings { limit: SHORT, ..settings(LONG) };
    let mut one = at(&file).connect(&short).await.expect("a connection");
    let locking = Connection::open(&file).expect("a database");
    locking.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    let away = one.acquire(client(1)).await;
    assert!(matches!(&away, Err(StoreError::Away(why)) if why.contains("locked")), "{away:?}");
    locking.execute_batch("ROLLBACK").expect("no lock");
    assert_eq!(one.acquire(client(1)).await, Ok(Answer::Granted(Token::new(1))));
}

#[tokio::test]
async fn a_record_that_no_client_has_written_is_told() {
    let (_folder, file) = folder();
    let [mut one, _] = two(&file, LONG).await;
    assert_eq!(one.acquire(client(1)).await, Ok(Answer::Granted(Token::new(1))));
    for damage in ["holder = 0", "holder = 70000", "until_ms = NULL", "token = -1"] {
        change(&file, &format!("UPDATE bellwether_lease SET {damage}"));
        let read = one.read().await;
        assert!(matches!(read, Err(StoreError::Unfit { .. })), "{damage}: {read:?}");
        change(&file, "DELETE FROM bellwether_lease");
        assert_eq!(one.acquire(client(1)).await, Ok(Answer::Granted(Token::new(1))));
    }
}

#[test]
fn an_address_is_a_file() {
    let parse = |address| Sqlite::parse(address, &Files::default());
    assert_eq!(parse("sqlite:a.db").map(|store| store.file), Ok("a.db".into()));
    assert_eq!(parse("sqlite:/var/lib/a.db").map(|store| store.file), Ok("/var/lib/a.db".into()));
    for wrong in ["sqlite:", "/var/lib/a.db", "sqlite::memory:", ""] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
    let files = Files { password: Some("password".into()), ..Files::default() };
    assert!(Sqlite::parse("sqlite:a.db", &files).is_err());
}

#[test]
fn the_setup_is_what_init_does() {
    let setup = at(Path::new("a.db")).setup(&settings(LONG));
    let connection = Connection::open_in_memory().expect("a database");
    connection.execute_batch(&setup).expect("statements");
    let lease = connection.query_row(READ, ["orders"], |_| Ok(()));
    assert_eq!(lease, Err(rusqlite::Error::QueryReturnedNoRows));
}

#[test]
fn the_document_shows_the_table() {
    let page = include_str!("../../../../docs/stores.md");
    assert!(page.contains(&at(Path::new("a.db")).setup(&settings(LONG))));
}

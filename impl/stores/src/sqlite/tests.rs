use std::path::Path;

use futures::FutureExt as _;
use tempfile::TempDir;

use super::*;
use crate::testing::{
    acquire, away, ends_what_is_doubted, granted, holder, refused, serves, unfit,
};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(50);

fn settings(keep: Duration) -> LeaseSettings {
    LeaseSettings { name: "orders/a".to_owned(), ttl: keep, limit: Duration::from_secs(30) }
}

fn at(file: &Path) -> Sqlite {
    let address = format!("sqlite:{}", file.display());
    Sqlite::parse(&address, &Files::default()).expect("an address")
}

async fn connected(file: &Path, keep: Duration) -> Box<dyn LeaseStore> {
    at(file).connect(&settings(keep)).await.expect("a connection")
}

/// Returns the number of the node that a refusal names.
fn number_of(record: &LeaseRecord) -> &str {
    record.holder.as_ref().map_or("", Holder::name)
}

/// A file in a folder of its own, and two connections to it.
async fn two(keep: Duration) -> (TempDir, PathBuf, [Box<dyn LeaseStore>; 2]) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("lease.db");
    let mut one = connected(&file, keep).await;
    assert_eq!(one.init().await, Ok(()));
    let two = connected(&file, keep).await;
    (folder, file, [one, two])
}

/// Changes the table as no client does.
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
    let (_folder, _, [mut one, mut two]) = two(LONG).await;
    serves(&mut one, &mut two, [1, 2, 3], 2).await;
}

#[tokio::test]
async fn leases_of_other_names_are_other_leases() {
    let (_folder, file, [mut one, _]) = two(LONG).await;
    let other = LeaseSettings { name: "orders/b".to_owned(), ..settings(LONG) };
    let mut two = at(&file).connect(&other).await.expect("a connection");
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    assert_eq!(acquire(&mut two, &holder(2)).await, granted(1));
}

#[tokio::test]
async fn a_lease_that_is_not_renewed_expires() {
    let (_folder, _, [mut one, mut two]) = two(SHORT).await;
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    tokio::time::sleep(SHORT * 2).await;
    let free = LeaseRecord { token: Token::new(1), ..LeaseRecord::default() };
    assert_eq!(two.read().await, Ok(free.clone()));
    assert_eq!(refused(one.renew(&holder(1), Token::new(1)).await), free);
    assert_eq!(acquire(&mut two, &holder(2)).await, granted(2));
}

#[tokio::test]
async fn a_renewal_counts_from_its_own_moment() {
    let (_folder, file, [mut one, mut two]) = two(LONG).await;
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    change(&file, "UPDATE bellwether_lease SET until_ms = until_ms - 31000");
    let left =
        |record: StoreResult<LeaseRecord>| record.expect("a record").left.expect("some is left");
    assert!(left(two.read().await) <= LONG / 2);
    assert_eq!(one.renew(&holder(1), Token::new(1)).await, granted(1));
    let renewed = left(two.read().await);
    assert!(renewed > LONG / 2 && renewed <= LONG + Duration::from_millis(1), "{renewed:?}");
}

/// The deadline of another start of the system says nothing, however early it is.
#[tokio::test]
async fn a_lease_from_before_a_restart_is_kept_once_more() {
    let (_folder, file, [mut one, mut two]) = two(LONG).await;
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    change(&file, "UPDATE bellwether_lease SET boot = 'another', until_ms = 1");
    let (token, left) = (Token::new(1), None);
    let record = LeaseRecord { holder: Some(holder(1)), token, left, doubt: None };
    assert_eq!(two.read().await, Ok(record.clone()));
    assert_eq!(deadline(&file), ("another".to_owned(), 1), "who reads changes nothing");

    let left = Some(LONG);
    assert_eq!(refused(acquire(&mut two, &holder(2)).await), LeaseRecord { left, ..record });
    let seen = deadline(&file);
    assert_eq!(seen.0, boot().expect("Linux"));
    let kept = two.read().await.expect("a record");
    assert!(kept.left.is_some_and(|left| left > LONG / 2) && kept.doubt.is_none(), "{kept:?}");
    // The lease is kept once more, and not once more by each client that asks.
    assert_eq!(number_of(&refused(acquire(&mut two, &holder(2)).await)), "1");
    assert_eq!(deadline(&file), seen);
    change(&file, "UPDATE bellwether_lease SET until_ms = 1");
    assert_eq!(acquire(&mut two, &holder(2)).await, granted(2));

    change(&file, "UPDATE bellwether_lease SET boot = 'another', until_ms = 1");
    let own = two.renew(&holder(2), Token::new(2)).await;
    assert_eq!(own, granted(2), "the client is still there");
    change(&file, "UPDATE bellwether_lease SET boot = 'another', until_ms = 1");
    assert_eq!(acquire(&mut two, &holder(2)).await, granted(3));
}

/// A deadline that is further away than the lease lasts, and none at all.
#[tokio::test]
async fn a_record_that_never_ends_is_doubted_until_it_is_renewed() {
    for wrong in ["until_ms = until_ms + 60000", "until_ms = NULL", "lasts_ms = NULL"] {
        let (_folder, file, [mut one, mut two]) = two(LONG).await;
        assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
        let mut versions = Vec::new();
        for _ in 0..2 {
            change(&file, &format!("UPDATE bellwether_lease SET {wrong}"));
            let doubt = two.read().await.expect("a record").doubt;
            versions.push(doubt.expect(wrong));
            // The next renewal is in another millisecond.
            tokio::time::sleep(Duration::from_millis(2)).await;
            assert_eq!(one.renew(&holder(1), Token::new(1)).await, granted(1));
            assert_eq!(two.read().await.expect("a record").doubt, None, "{wrong}");
        }
        assert!(wrong.ends_with("NULL") || versions[0] != versions[1], "{versions:?}");
        change(&file, &format!("UPDATE bellwether_lease SET {wrong}"));
        ends_what_is_doubted(&mut two).await;
    }
}

/// The connection would go on in the file that nobody else finds.
#[tokio::test]
async fn a_file_that_was_moved_away_is_asked_no_more() {
    for mode in ["DELETE", "WAL"] {
        let (folder, file, [mut one, mut two]) = two(LONG).await;
        let connection = Connection::open(&file).expect("a database");
        connection.pragma_update(None, "journal_mode", mode).expect("a mode");
        drop(connection);
        assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
        std::fs::rename(&file, folder.path().join("old.db")).expect("moved");
        let problem = away(one.renew(&holder(1), Token::new(1)).await);
        assert!(problem.contains("was moved away"), "{problem}");

        let mut third = connected(&file, LONG).await;
        assert_eq!(third.init().await, Ok(()));
        let problem = away(acquire(&mut two, &holder(2)).await);
        assert!(problem.contains("replaced"), "{problem}");
        assert_eq!(acquire(&mut third, &holder(3)).await, granted(1), "{mode}");
        // The next question opens the new file.
        assert_eq!(number_of(&refused(acquire(&mut two, &holder(2)).await)), "3");
        assert_eq!(number_of(&refused(one.renew(&holder(1), Token::new(1)).await)), "3");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_clients_that_ask_at_once_one_gets_it() {
    let (_folder, file, [_, _]) = two(LONG).await;
    let mut asked = Vec::new();
    for id in 1..=8 {
        let mut store = connected(&file, LONG).await;
        asked.push(tokio::spawn(async move {
            let own = holder(id);
            let answer = acquire(&mut store, &own).await;
            (own, answer.expect("an answer"))
        }));
    }
    let (mut winners, mut named) = (Vec::new(), Vec::new());
    for task in asked {
        match task.await.expect("no panic") {
            (own, Answer::Granted(token)) => winners.push((own, token)),
            (_, Answer::Refused(record)) => named.push(record.holder),
        }
    }
    let [(winner, token)] = &winners[..] else { panic!("{winners:?}") };
    assert_eq!(*token, Token::new(1));
    assert!(named.iter().all(|named| named.as_ref() == Some(winner)), "{named:?}");
}

/// The work goes on in its thread, and what was asked for may be granted.
#[tokio::test]
async fn a_question_that_is_dropped_is_asked_again() {
    let (_folder, _, [mut one, _]) = two(LONG).await;
    for _ in 0..20 {
        let _ = acquire(&mut one, &holder(1)).now_or_never();
        let before = one.read().await.expect("a record").token;
        let Ok(Answer::Granted(token)) = acquire(&mut one, &holder(1)).await else {
            panic!("it is free, or its own")
        };
        assert!(token > before, "{token} after {before}");
    }
}

#[tokio::test]
async fn questions_that_were_given_up_take_few_threads() {
    let (_folder, file, [_, _]) = two(LONG).await;
    let (way, mut stores) = (at(&file), Vec::new());
    for _ in 0..2 * THREADS {
        stores.push(way.connect(&settings(LONG)).await.expect("a connection"));
    }
    let locking = Connection::open(&file).expect("a database");
    locking.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    for store in &mut stores {
        let asked = tokio::time::timeout(SHORT, acquire(store, &holder(1))).await;
        assert!(asked.is_err(), "it is locked: {asked:?}");
    }
    locking.execute_batch("ROLLBACK").expect("no lock");
    let most = u32::try_from(THREADS).expect("few");
    drop(way.threads.acquire_many(most).await.expect("all end"));
    let record = stores[0].read().await.expect("a record");
    assert_eq!(record.token, Token::new(u64::from(most)), "the others were never asked");
}

/// The problem with a file that is asked for the lease, and the remedy.
async fn problem(file: &Path) -> String {
    let problem = match at(file).connect(&settings(LONG)).await {
        Ok(mut store) => unfit(acquire(&mut store, &holder(1)).await),
        Err(error) => unfit::<()>(Err(error)),
    };
    assert!(problem.contains(&*file.to_string_lossy()), "{problem}");
    problem
}

#[tokio::test]
async fn what_cannot_be_a_store_is_told_with_a_remedy() {
    let (folder, used, _) = two(LONG).await;
    let [file, text] = ["other", "text"].map(|name| folder.path().join(name));
    assert!(problem(&file).await.ends_with(INIT));
    assert!(!file.exists(), "a wrong path is no empty store");
    let other = Connection::open(&file).expect("a database");
    other.execute_batch("CREATE TABLE other (a)").expect("a table");
    let older = folder.path().join("older");
    let without = TABLE.replace("lasts_ms INTEGER,", "");
    Connection::open(&older).expect("a database").execute_batch(&without).expect("a table");
    std::fs::write(&text, "no database ".repeat(100)).expect("a file");
    // A file of a later version of the format can be read only: SQLite says the same of a file that
    // this user may not write, which root always may.
    let mut bytes = std::fs::read(&used).expect("a file");
    bytes[18] = 3;
    std::fs::write(&used, bytes).expect("a file");
    for (path, wrong, helps) in [
        (file.as_path(), "no table", INIT),
        (older.as_path(), "lasts_ms", COMPARE),
        (folder.path(), "cannot open", "folder"),
        (text.as_path(), "", "another file"),
        (used.as_path(), "cannot open", "user"),
    ] {
        let problem = problem(path).await;
        assert!(problem.contains(wrong) && problem.contains(helps), "{problem}");
    }
}

#[tokio::test]
async fn a_file_that_is_locked_for_too_long_is_away() {
    let (_folder, file, [_, _]) = two(LONG).await;
    let short = LeaseSettings { limit: SHORT, ..settings(LONG) };
    let mut one = at(&file).connect(&short).await.expect("a connection");
    let locking = Connection::open(&file).expect("a database");
    locking.execute_batch("BEGIN IMMEDIATE").expect("a lock");
    assert!(away(acquire(&mut one, &holder(1)).await).contains("locked"));
    locking.execute_batch("ROLLBACK").expect("no lock");
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
}

#[tokio::test]
async fn a_record_that_no_client_has_written_is_told() {
    let (_folder, file, [mut one, _]) = two(LONG).await;
    assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    for damage in ["holder = 3", "holder = x'33'", "token = -1", "token = 'x'"] {
        change(&file, &format!("UPDATE bellwether_lease SET {damage}"));
        let problem = unfit(one.read().await);
        assert!(problem.contains("damaged"), "{problem}");
        change(&file, "DELETE FROM bellwether_lease");
        assert_eq!(acquire(&mut one, &holder(1)).await, granted(1));
    }
}

#[test]
fn an_address_is_a_file() {
    let parse = |address| Sqlite::parse(address, &Files::default());
    assert_eq!(parse("sqlite:a.db").map(|store| store.file), Ok("a.db".into()));
    assert_eq!(parse("sqlite:/var/lib/a.db").map(|store| store.file), Ok("/var/lib/a.db".into()));
    for wrong in ["sqlite:", "/var/lib/a.db", ""] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_setup_is_what_init_does_and_what_the_document_shows() {
    let setup = at(Path::new("a.db")).setup(&settings(LONG));
    let connection = Connection::open_in_memory().expect("a database");
    connection.execute_batch(&setup).expect("statements");
    let lease = connection.query_row(READ, ["orders"], |_| Ok(()));
    assert_eq!(lease, Err(rusqlite::Error::QueryReturnedNoRows));
    assert!(include_str!("../../../../docs/stores.md").contains(&setup));
}

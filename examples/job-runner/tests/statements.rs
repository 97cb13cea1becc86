//! The statements of [`bellwether::fence::sql`] in both databases: writers of any epoch, in any
//! order and at the same time, some of which are rolled back or vanish in the middle.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bellwether::fence::Token;
use bellwether::fence::sql::{self, ADMIT, HIGHEST, TABLE};
use bellwether::{Epoch, NodeId};
use postgres::{Client, NoTls};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use rusqlite::{Connection, OptionalExtension as _};

use crate::server::Server;

/// What an admitted transaction writes: its epoch.
const LOG: &str = "INSERT INTO log (epoch) VALUES ($1)";
const LOGGED: &str = "SELECT epoch FROM log ORDER BY number";

fn token((epoch, node): (u64, u16)) -> Token {
    Token { epoch: Epoch::new(epoch), node: NodeId::new(node).expect("not zero") }
}

/// How a transaction ends once it has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Commit,
    Rollback,
    /// Its connection is gone.
    Vanish,
}

/// One connection to a database with a fence and a log.
trait Writer: Send {
    fn run(&mut self, statements: &str);
    fn begin(&mut self);
    /// How many rows [`ADMIT`] changes.
    fn admit(&mut self, resource: &str, token: Token) -> u64;
    fn log(&mut self, epoch: u64);
    fn reconnect(&mut self);
    fn highest(&mut self, resource: &str) -> Option<i64>;
    fn logged(&mut self) -> Vec<i64>;

    /// One transaction of a leader with this epoch and node; whether it was admitted.
    fn write(&mut self, resource: &str, leader: (u64, u16), end: End) -> bool {
        self.begin();
        let rows = self.admit(resource, token(leader));
        let admitted = sql::admitted(token(leader), rows).is_ok();
        if admitted {
            self.log(leader.0);
        }
        match end {
            End::Commit if admitted => self.run("COMMIT"),
            End::Commit | End::Rollback => self.run("ROLLBACK"),
            End::Vanish => self.reconnect(),
        }
        admitted
    }
}

struct Sqlite(String, Connection);

impl Sqlite {
    fn connect(path: &str) -> Self {
        let connection = Connection::open(path).expect("writable");
        connection.busy_timeout(Duration::from_secs(60)).expect("a time");
        // The machine does not crash here.
        connection.pragma_update(None, "synchronous", "OFF").expect("a setting");
        Self(path.to_owned(), connection)
    }
}

impl Writer for Sqlite {
    fn run(&mut self, statements: &str) {
        self.1.execute_batch(statements).expect("SQL");
    }

    fn begin(&mut self) {
        self.run("BEGIN IMMEDIATE");
    }

    fn admit(&mut self, resource: &str, token: Token) -> u64 {
        let leader = (resource, sql::number(token.epoch), token.node.get());
        self.1.execute(ADMIT, leader).expect("SQL") as u64
    }

    fn log(&mut self, epoch: u64) {
        self.1.execute(LOG, (sql::number(Epoch::new(epoch)),)).expect("SQL");
    }

    fn reconnect(&mut self) {
        *self = Self::connect(&self.0.clone());
    }

    fn highest(&mut self, resource: &str) -> Option<i64> {
        self.1.query_row(HIGHEST, (resource,), |row| row.get(0)).optional().expect("SQL")
    }

    fn logged(&mut self) -> Vec<i64> {
        let mut statement = self.1.prepare(LOGGED).expect("SQL");
        let rows = statement.query_map((), |row| row.get(0)).expect("SQL");
        rows.collect::<Result<_, _>>().expect("numbers")
    }
}

struct Postgres(String, Client);

impl Postgres {
    fn connect(url: &str) -> Self {
        Self(url.to_owned(), Client::connect(url, NoTls).expect("it runs"))
    }
}

impl Writer for Postgres {
    fn run(&mut self, statements: &str) {
        self.1.batch_execute(statements).expect("SQL");
    }

    fn begin(&mut self) {
        self.run("BEGIN");
    }

    fn admit(&mut self, resource: &str, token: Token) -> u64 {
        let (epoch, node) = (sql::number(token.epoch), i64::from(token.node.get()));
        self.1.execute(ADMIT, &[&resource, &epoch, &node]).expect("SQL")
    }

    fn log(&mut self, epoch: u64) {
        self.1.execute(LOG, &[&sql::number(Epoch::new(epoch))]).expect("SQL");
    }

    fn reconnect(&mut self) {
        *self = Self::connect(&self.0.clone());
    }

    fn highest(&mut self, resource: &str) -> Option<i64> {
        let row = self.1.query_opt(HIGHEST, &[&resource]).expect("SQL");
        row.map(|row| row.get(0))
    }

    fn logged(&mut self) -> Vec<i64> {
        let rows = self.1.query(LOGGED, &[]).expect("SQL");
        rows.iter().map(|row| row.get(0)).collect()
    }
}

fn sqlite(folder: &tempfile::TempDir) -> Sqlite {
    let path = folder.path().join("fence.db");
    let mut writer = Sqlite::connect(path.to_str().expect("plain text"));
    let log = "CREATE TABLE log (number INTEGER PRIMARY KEY AUTOINCREMENT, epoch BIGINT)";
    writer.run(&format!("{TABLE}; {log}"));
    writer
}

fn postgresql(server: &Server) -> Postgres {
    let mut writer = Postgres::connect(&server.database());
    writer.run(&format!("{TABLE}; CREATE TABLE log (number BIGSERIAL PRIMARY KEY, epoch BIGINT)"));
    writer
}

/// Transactions one after the other: each is admitted if and only if no higher epoch was committed
/// at its resource, nor the same of another node, and leaves nothing unless it is committed itself.
fn in_any_order(writer: &mut dyn Writer, cases: u32) {
    let writer = RefCell::new(writer);
    let end = prop_oneof![3 => Just(End::Commit), 1 => Just(End::Rollback), 1 => Just(End::Vanish)];
    let resource = prop_oneof![Just("one"), Just("two")];
    let transaction = (resource, (1..6_u64, 1..4_u16), end);
    let stories = proptest::collection::vec(transaction, 1..20);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let ran = TestRunner::new(config).run(&stories, |story| {
        let mut writer = writer.borrow_mut();
        writer.run("DELETE FROM bellwether_fence; DELETE FROM log");
        let (mut highest, mut logged) = (BTreeMap::new(), Vec::new());
        for (resource, leader @ (epoch, node), end) in story {
            let (known, leads) = highest.get(resource).copied().unwrap_or((0, node));
            let admitted = epoch > known || (epoch == known && node == leads);
            prop_assert_eq!(writer.write(resource, leader, end), admitted);
            if end == End::Commit && admitted {
                highest.insert(resource, leader);
                logged.push(i64::try_from(epoch).expect("small"));
            }
            for resource in ["one", "two"] {
                let known = highest.get(resource).map(|leader| sql::number(token(*leader).epoch));
                prop_assert_eq!(writer.highest(resource), known);
            }
        }
        prop_assert_eq!(writer.logged(), logged);
        Ok(())
    });
    ran.expect("the fence holds");
}

/// Transactions at the same time. Each writer takes the newest epoch, is late, and writes.
fn at_the_same_time(writer: &mut dyn Writer, connect: impl Fn() -> Box<dyn Writer> + Sync) {
    let newest = AtomicU64::new(1);
    let admitted = AtomicU64::new(0);
    thread::scope(|scope| {
        for late in [0, 1, 2, 5] {
            let (newest, admitted, connect) = (&newest, &admitted, &connect);
            scope.spawn(move || {
                let mut writer = connect();
                for turn in 0..40 {
                    let epoch = match turn % 5 {
                        4 => newest.fetch_add(1, Ordering::Relaxed) + 1,
                        _ => newest.load(Ordering::Relaxed),
                    };
                    thread::sleep(Duration::from_millis(late));
                    let done = writer.write("one", (epoch, 1), End::Commit);
                    admitted.fetch_add(u64::from(done), Ordering::Relaxed);
                }
            });
        }
    });
    let logged = writer.logged();
    assert!(logged.is_sorted(), "{logged:?}");
    assert_eq!(logged.len() as u64, admitted.into_inner());
    assert!(!writer.write("one", (1, 1), End::Commit), "{logged:?}");
}

#[test]
fn the_document_shows_the_statements() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/fencing.md");
    let text = std::fs::read_to_string(document).expect("it is there");
    for statement in [TABLE, ADMIT] {
        assert!(text.contains(&format!("```sql\n{statement}\n```")), "{statement}");
    }
}

#[test]
fn sqlite_refuses_old_epochs_in_any_order() {
    let folder = tempfile::tempdir().expect("a folder");
    in_any_order(&mut sqlite(&folder), 100);
}

#[test]
fn sqlite_refuses_old_epochs_at_the_same_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut writer = sqlite(&folder);
    let path = writer.0.clone();
    at_the_same_time(&mut writer, || Box::new(Sqlite::connect(&path)));
}

#[test]
fn postgresql_refuses_old_epochs_in_any_order() {
    let Some(server) = Server::running() else { return };
    in_any_order(&mut postgresql(&server), 30);
}

#[test]
fn postgresql_refuses_old_epochs_at_the_same_time() {
    let Some(server) = Server::running() else { return };
    let mut writer = postgresql(&server);
    let url = writer.0.clone();
    at_the_same_time(&mut writer, || Box::new(Postgres::connect(&url)));
}

/// A leader that is paused in the middle of a transaction has the row locked. The server ends that
/// transaction, the next leader goes on, and the old one cannot commit.
#[test]
fn postgresql_ends_the_transaction_of_a_paused_leader() {
    let Some(server) = Server::running() else { return };
    let mut old = postgresql(&server);
    let mut new = Postgres::connect(&old.0);
    old.run("SET idle_in_transaction_session_timeout = '500ms'");
    old.begin();
    assert_eq!(old.admit("one", token((3, 1))), 1);
    old.log(3);
    let before = Instant::now();
    assert!(new.write("one", (4, 2), End::Commit));
    let waited = before.elapsed();
    assert!(waited < Duration::from_secs(30), "{waited:?}");
    assert!(old.1.batch_execute("COMMIT").is_err());
    assert_eq!(new.logged(), [4]);
}

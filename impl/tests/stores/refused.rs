//! What PostgreSQL refuses is told with what helps.

use std::fmt::Debug;
use std::fs;
use std::io::Write as _;

use bellwether::store::{Answer, LeaseRecord, LeaseStore, StoreError, StoreResult};
use bellwether_core::protocol::lease::Token;
use bellwether_stores::address::Files;
use bellwether_stores::connect::connector;
use bellwether_stores::postgres::TABLE;
use bellwether_testbed::servers::{Server, Store};
use tempfile::NamedTempFile;
use tokio_postgres::{Client, NoTls};

use super::{acquire, granted, holder, served, settings};

/// The password of a user.
const PASSWORD: &str = "Tr0ub4dor";

/// A connection of a user who may do everything.
async fn dba(server: &Server) -> Client {
    let connected = tokio_postgres::connect(&server.address(), NoTls).await;
    let (client, connection) = connected.expect("it lets one in");
    // It ends with the client.
    tokio::spawn(connection);
    client
}

async fn run(server: &Server, statements: &str) {
    dba(server).await.batch_execute(statements).await.expect("good statements");
}

/// Lets a user in with a password only, from the next start on.
async fn ask_for_password(server: &Server, user: &str) {
    let row = dba(server).await.query_one("SHOW hba_file", &[]).await.expect("an answer");
    let path: String = row.get(0);
    let others = fs::read_to_string(&path).expect("it is there");
    // The first line that fits counts.
    let lines = format!("host all {user} 127.0.0.1/32 scram-sha-256\n{others}");
    fs::write(&path, lines).expect("writable");
}

/// A connection of this user, about the lease `refused`.
async fn connected(
    server: &Server,
    user: &str,
    password: Option<&NamedTempFile>,
) -> StoreResult<Box<dyn LeaseStore>> {
    let password = password.map(|file| file.path().to_owned());
    let address = format!("postgres://{user}@127.0.0.1:{}/postgres", server.port());
    let connect = connector(&address, &Files { password, ..Files::default() });
    connect.expect("a good address").connect(&settings("refused")).await
}

/// Checks that it is refused, and what is said then: what is wrong, and what helps.
fn refused<T: Debug>(answer: &StoreResult<T>, wrong: &str, helps: &str) {
    let Err(StoreError::Misconfigured { problem, remedy }) = answer else {
        panic!("{wrong}: {answer:?}")
    };
    assert!(problem.contains(wrong) && remedy.contains(helps), "{problem}; {remedy}");
    assert!(!problem.contains(PASSWORD), "{problem}");
}

#[test]
fn what_a_user_may_not_do_is_for_a_dba() {
    let Some((server, runtime)) = served(Store::Postgres) else { return };
    runtime.block_on(async {
        run(&server, "REVOKE CREATE ON SCHEMA public FROM PUBLIC; CREATE ROLE reader LOGIN").await;
        let mut store = connected(&server, "reader", None).await.expect("it lets one in");
        let (first, none) = (holder(1), Token::default());
        let claimed = acquire(&mut *store, &first, none).await;
        refused(&claimed, "does not exist", "bellwether store init");
        refused(&store.init().await, "permission denied for schema", "DBA");

        run(&server, &format!("{TABLE}; GRANT SELECT ON bellwether_lease TO reader")).await;
        assert_eq!(store.read().await, Ok(LeaseRecord::default()));
        refused(&store.init().await, "may not insert and update", "DBA");
        refused(&acquire(&mut *store, &first, none).await, "permission denied", "DBA");

        // Not on the table: on those of its columns that a node writes.
        let grant = "GRANT INSERT (name, holder, token, lasts_ms, until), \
                     UPDATE (holder, token, lasts_ms, until) ON bellwether_lease TO reader";
        run(&server, grant).await;
        assert_eq!(store.init().await, Ok(()));
        let token = granted(&mut *store, &first, none).await;
        assert_eq!(store.renew(&first, token).await, Ok(Answer::Granted(token)));
        assert_eq!(store.release(&first, token).await, Ok(()));
    });
}

#[test]
fn a_user_who_is_not_let_in_is_told_why() {
    let Some((mut server, runtime)) = served(Store::Postgres) else { return };
    let file = |text: &str| {
        let mut file = NamedTempFile::new().expect("a file");
        file.write_all(text.as_bytes()).expect("writable");
        file
    };
    let create = format!(
        "SET password_encryption = 'scram-sha-256'; CREATE ROLE asked LOGIN PASSWORD '{PASSWORD}'"
    );
    runtime.block_on(async {
        run(&server, &create).await;
        ask_for_password(&server, "asked").await;
    });
    server.restart().expect("it starts again");

    let (right, wrong) = (file(PASSWORD), file("wrong"));
    runtime.block_on(async {
        let without = connected(&server, "asked", None).await.map(drop);
        refused(&without, "password missing", "`store_password_file`");
        let wrong = connected(&server, "asked", Some(&wrong)).await.map(drop);
        refused(&wrong, "password authentication failed", "the file with the password");
        let unknown = connected(&server, "stranger", None).await.map(drop);
        refused(&unknown, "\"stranger\" does not exist", "pg_hba.conf");
        let right = connected(&server, "asked", Some(&right)).await.map(drop);
        assert_eq!(right, Ok(()));
    });
}

#[test]
fn a_table_that_is_another_is_to_be_compared() {
    let Some((server, runtime)) = served(Store::Postgres) else { return };
    for (columns, wrong) in [
        (
            "name text PRIMARY KEY, holder text, token integer, lasts_ms bigint, until timestamptz",
            "column 2 of the answer has another type",
        ),
        (
            "name text PRIMARY KEY, holder text, token bigint, lasts_ms bigint",
            "\"until\" does not exist",
        ),
        ("name text, holder text, token bigint, lasts_ms bigint, until timestamptz", "ON CONFLICT"),
    ] {
        let create = format!(
            "DROP TABLE IF EXISTS bellwether_lease; CREATE TABLE bellwether_lease ({columns}); \
             INSERT INTO bellwether_lease (name, token) VALUES ('refused', 1)"
        );
        runtime.block_on(async {
            run(&server, &create).await;
            let mut store = connected(&server, "postgres", None).await.expect("it lets one in");
            // A table that can be read may be of no use all the same.
            let used = match store.init().await {
                Ok(()) => acquire(&mut *store, &holder(1), Token::default()).await.map(drop),
                error => error,
            };
            refused(&used, wrong, "compare the table with the one that");
        });
    }
}

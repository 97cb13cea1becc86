//! The server of PostgreSQL that the tests share, where it is installed.

use std::io::Write as _;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bellwether_testbed::servers::{self, Store};
use postgres::{Client, NoTls};

/// A server of its own, which ends when this is dropped.
pub(crate) struct Server {
    /// In a lock, so that tests can share it.
    _server: Mutex<servers::Server>,
    port: u16,
    databases: AtomicU32,
}

/// The server that tests share while one of them runs.
static RUNNING: Mutex<Weak<Server>> = Mutex::new(Weak::new());

impl Server {
    /// The server; none, with a notice, where PostgreSQL is not installed.
    pub(crate) fn running() -> Option<Arc<Self>> {
        let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = running.upgrade() {
            return Some(server);
        }
        if Store::Postgres.missing().is_some() {
            // Not by a macro: what those print is shown of failed tests only.
            let notice = "SKIPPED: PostgreSQL is not installed, so nothing is tested with it \
                          (Debian: apt-get install postgresql)\n";
            let _ = std::io::stderr().write_all(notice.as_bytes());
            return None;
        }
        let server = servers::Server::start(Store::Postgres).expect("it starts");
        let (port, databases) = (server.port(), AtomicU32::new(0));
        let server = Arc::new(Self { _server: Mutex::new(server), port, databases });
        *running = Arc::downgrade(&server);
        Some(server)
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// Where a new database is.
    pub(crate) fn database(&self) -> String {
        let name = format!("test{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let mut client = Client::connect(&self.url("postgres"), NoTls).expect("it runs");
        client.batch_execute(&format!("CREATE DATABASE {name}")).expect("a new name");
        self.url(&name)
    }
}

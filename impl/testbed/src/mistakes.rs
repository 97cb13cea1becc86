//! Mistakes of the people who look after a store, in the words of each store.

use rusqlite::Connection;

use crate::process::{command, said};
use crate::servers::{Server, Store, ask, postgres, tell};
use crate::wait::LIMIT;

/// A holder that is no member.
pub(crate) const STRANGER: &str = "9#0123456789abcdef";

/// A mistake with the record of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mistake {
    /// The record is deleted, with its token.
    Deleted,
    /// All that is in the store is deleted.
    Flushed,
    /// The copy of the record from before the newest grant is restored.
    Older,
    /// The deadline is set far ahead.
    Far,
    /// The lease is given to somebody who is no member.
    Stranger,
}

impl Mistake {
    /// Each mistake.
    pub const ALL: [Self; 5] =
        [Self::Deleted, Self::Flushed, Self::Older, Self::Far, Self::Stranger];

    /// Makes the mistake in a server whose only lease has this name.
    pub fn make(self, server: &Server, lease: &str) -> anyhow::Result<()> {
        let (store, port, address) = (server.store(), server.port(), server.address());
        match store {
            Store::Sqlite => {
                let file = Connection::open(address.trim_start_matches("sqlite:"))?;
                file.busy_timeout(LIMIT)?;
                file.execute_batch(&self.sql(store, lease))?;
            }
            Store::Postgres => {
                let mut psql = command(postgres("psql")?);
                said(psql.args(["-X", "-c", &self.sql(store, lease), &address]))?;
            }
            Store::Redis => {
                let said = ask(port, &format!("{}QUIT\r\n", self.redis(lease)))?;
                anyhow::ensure!(!said.lines().any(|line| line.starts_with('-')), "{said}");
            }
            Store::Etcd => self.etcd(port, lease)?,
            Store::Kubernetes => tell(port, self)?,
        }
        Ok(())
    }

    /// Returns the statement for SQLite or PostgreSQL.
    fn sql(self, store: Store, lease: &str) -> String {
        let is_file = store == Store::Sqlite;
        let stranger = format!("holder = '{STRANGER}'");
        let set: &str = match self {
            Self::Flushed if !is_file => return "TRUNCATE bellwether_lease".to_owned(),
            Self::Flushed => return "DELETE FROM bellwether_lease".to_owned(),
            Self::Deleted => return format!("DELETE FROM bellwether_lease WHERE name = '{lease}'"),
            Self::Older if is_file => "holder = NULL, token = token - 1, until_ms = NULL",
            Self::Older => "holder = NULL, token = token - 1, until = NULL",
            Self::Far if is_file => "until_ms = until_ms + 3600000",
            Self::Far => "until = until + interval '1 hour'",
            Self::Stranger => &stranger,
        };
        format!("UPDATE bellwether_lease SET {set} WHERE name = '{lease}'")
    }

    /// Returns the commands for Redis, a line for each.
    fn redis(self, lease: &str) -> String {
        let [key, token] = ["lease", "token"].map(|part| format!("bellwether:{{{lease}}}:{part}"));
        match self {
            Self::Deleted => format!("DEL {key} {token}\r\n"),
            Self::Flushed => "FLUSHALL\r\n".to_owned(),
            Self::Older => format!("MULTI\r\nDEL {key}\r\nDECR {token}\r\nEXEC\r\n"),
            Self::Far => format!("PEXPIRE {key} 3600000\r\n"),
            Self::Stranger => format!(
                "EVAL \"local rest = string.match(redis.call('GET', KEYS[1]), ' .*') \
                 return redis.call('SET', KEYS[1], '{STRANGER}' .. rest, 'KEEPTTL')\" 1 {key}\r\n"
            ),
        }
    }

    /// Makes the mistake with the keys of etcd. A key that is put so has no deadline.
    fn etcd(self, port: u16, lease: &str) -> anyhow::Result<()> {
        let (key, newest) = (format!("bellwether/{lease}"), format!("bellwether-token/{lease}"));
        let value = |key: &str| etcdctl(port, &["get", "--print-value-only", key]);
        match self {
            Self::Deleted => etcdctl(port, &["del", "--prefix", "bellwether"])?,
            Self::Flushed => etcdctl(port, &["del", "--prefix", ""])?,
            // A node that is told that the lease is free must find the older token.
            Self::Older => {
                let before = value(&newest)?.parse::<u64>()?.saturating_sub(1);
                etcdctl(port, &["put", &newest, &before.to_string()])?;
                etcdctl(port, &["del", &key])?
            }
            Self::Far => etcdctl(port, &["put", &key, &value(&key)?])?,
            Self::Stranger => {
                let held = value(&key)?;
                let rest = held.split_once(' ').map_or("", |(_, rest)| rest);
                etcdctl(port, &["put", &key, &format!("{STRANGER} {rest}")])?
            }
        };
        Ok(())
    }
}

fn etcdctl(port: u16, words: &[&str]) -> anyhow::Result<String> {
    let mut etcdctl = command("etcdctl");
    etcdctl.env("ETCDCTL_API", "3").arg(format!("--endpoints=127.0.0.1:{port}"));
    said(etcdctl.args(words))
}

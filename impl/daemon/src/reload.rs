//! What SIGHUP does: the configuration is read again, with the files of secrets, keys and
//! certificates that it names, and what may change while a node runs is replaced, all of it or
//! nothing.
//!
//! A file may not answer, such as one on a server that is gone. So a thread reads them that nothing
//! waits for, neither the node nor the end of the program.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::thread;
use std::time::Duration;

use anyhow::anyhow;
use bellwether::Config;
use bellwether::http::Options;
use bellwether::internal::config::{
    self, Credentials, Hooks, Log, Origin, Overrides, Runnable, Visitor,
};
use humantime::format_duration;
use signal_hook::flag;
use tokio::signal::unix::SignalKind;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

use super::check_config::places;
use super::node::Keys as HttpKeys;
use super::{Failure, hooks, log, service};

/// How long the files may take before the log says that they do not answer.
const SLOW: Duration = Duration::from_secs(5);

/// The keys that may change while a node runs. Its protocol, its timing and its members are what
/// the others count on. What is in the files may always change.
const RELOADABLE: [&str; 11] = [
    "priority",
    "log.level",
    "hooks.on_change",
    "hooks.timeout",
    "hooks.retry",
    "security.secret_file",
    "security.second_secret_file",
    "security.ca_file",
    "security.certificate_file",
    "security.key_file",
    "http.token_file",
];

/// True once SIGHUP came, from [`listen`] on.
static CAME: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Takes note of SIGHUP from now on, so that none ends a node before it listens for signals; and
/// keeps these other signals from ending it.
pub(crate) fn listen(others: &[SignalKind]) -> Result<(), Failure> {
    let noted = |kind: &SignalKind, heard| flag::register(kind.as_raw_value(), heard).map(drop);
    noted(&SignalKind::hangup(), Arc::clone(&CAME))
        .and_then(|()| others.iter().try_for_each(|kind| noted(kind, Arc::default())))
        .map_err(|error| Failure::runtime(anyhow!("cannot listen for signals: {error}")))
}

/// Returns whether SIGHUP came while the node started.
pub(crate) fn came() -> bool {
    CAME.load(Ordering::Relaxed)
}

/// Where a running node has its configuration from, and what it is.
pub(crate) struct Reload {
    node: u16,
    origin: Origin,
    overrides: Overrides,
    current: Keys,
    under_way: Option<UnderWay>,
    /// Whether it was asked for again meanwhile.
    again: bool,
}

/// A reading that has begun.
struct UnderWay {
    answer: oneshot::Receiver<Result<Read, String>>,
    slow_at: Instant,
    told: bool,
}

/// Keys and values of a configuration, every default included.
type Keys = BTreeMap<String, String>;

impl Reload {
    /// What the node runs with now.
    pub(crate) fn new<C: Runnable>(
        origin: Origin,
        overrides: Overrides,
        config: &Config<C>,
        log: &Log,
    ) -> Self {
        let (node, current) = (config.node().get(), keys(&config.to_toml(log)));
        Self { node, origin, overrides, current, under_way: None, again: false }
    }

    /// Begins to read the configuration again; if it is being read, once more after that.
    pub(crate) fn ask(&mut self) {
        self.again = self.under_way.is_some();
        if self.again {
            return;
        }
        service::reloading();
        let (to, answer) = oneshot::channel();
        let (origin, overrides) = (self.origin.clone(), self.overrides.clone());
        let reads = move || {
            let read = origin.load(overrides, Reading).flatten();
            // The program may be about to end.
            let _ = to.send(read.map_err(|error| error.to_string()));
        };
        // If there is no thread, there is no answer either.
        let _ = thread::Builder::new().name("reload".to_owned()).spawn(reads);
        self.under_way = Some(UnderWay { answer, slow_at: Instant::now() + SLOW, told: false });
    }

    /// Waits until what was asked for is read, for ever if that is nothing. Dropped and called
    /// again, it goes on waiting. Says in the log if that takes long.
    pub(crate) async fn read(&mut self) -> Result<Read, String> {
        let Some(UnderWay { answer, slow_at, told }) = &mut self.under_way else {
            return std::future::pending().await;
        };
        let in_time = if *told { None } else { timeout_at(*slow_at, &mut *answer).await.ok() };
        let read = match in_time {
            Some(read) => read,
            None => {
                if !*told {
                    let (node, origin, time) = (self.node, &self.origin, format_duration(SLOW));
                    tracing::warn!(
                        node,
                        "the configuration in {origin}, or a file that it names, cannot be read: \
                         no answer within {time}; the node goes on with what it has"
                    );
                    *told = true;
                }
                answer.await
            }
        };
        self.under_way = None;
        read.unwrap_or_else(|_| Err("no thread could be started to read it".to_owned()))
    }

    /// Replaces what has changed by what was read. Says so in the log, or why nothing is replaced.
    pub(crate) fn finish(
        &mut self,
        read: Result<Read, String>,
        running: &Running<'_>,
        http: &Options,
    ) {
        let node = self.node;
        match read.and_then(|read| self.check(read)) {
            Ok(read) => {
                running.log.set(&read.log.levels);
                running.hooks.set(read.hooks);
                (running.replace_credentials)(read.credentials);
                read.http.replace(http);
                (running.set_priority)(read.priority);
                let changed = difference(&self.current, &read.keys).join(", ");
                let changed = if changed.is_empty() { "nothing" } else { &changed };
                tracing::info!(node, changed, "the configuration was read again");
                self.current = read.keys;
            }
            Err(error) => tracing::error!(
                node,
                error,
                "the configuration was read again, and nothing of it is used"
            ),
        }
        service::ready();
        if self.again {
            self.ask();
        }
    }

    /// Whether the node can go on with this.
    fn check(&self, read: Read) -> Result<Read, String> {
        let changed = difference(&self.current, &read.keys);
        let fixed = changed.into_iter().filter(|key| !RELOADABLE.contains(&key.as_str()));
        let fixed: Vec<_> = fixed.map(|key| format!("`{key}`")).collect();
        if fixed.is_empty() {
            return Ok(read);
        }
        let (keys, cannot) =
            (fixed.join(", "), RELOADABLE.map(|key| format!("`{key}`")).join(", "));
        Err(format!(
            "{keys} cannot change while the node runs: restart it, or change that back; what can \
             change is {cannot}"
        ))
    }
}

/// The parts of a running program that a configuration can change.
pub(crate) struct Running<'a> {
    pub(crate) log: &'a log::Started,
    pub(crate) hooks: &'a hooks::Running,
    pub(crate) replace_credentials: &'a dyn Fn(Credentials),
    pub(crate) set_priority: &'a dyn Fn(u8),
}

/// A configuration that was read, and the files that it names.
pub(crate) struct Read {
    keys: Keys,
    log: Log,
    hooks: Hooks,
    credentials: Credentials,
    http: HttpKeys,
    priority: u8,
}

struct Reading;

impl Visitor for Reading {
    type Output = Result<Read, config::Error>;

    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output {
        Ok(Read {
            keys: keys(&config.to_toml(&log)),
            credentials: config.credentials()?,
            http: HttpKeys::read(&config)?,
            hooks: config.hooks().clone(),
            priority: config.priority(),
            log,
        })
    }
}

/// The keys whose values differ.
fn difference(before: &Keys, after: &Keys) -> Vec<String> {
    let all = before.iter().chain(after);
    let differ = all.filter(|&(key, _)| before.get(key) != after.get(key));
    let mut names: Vec<String> = differ.map(|(key, _)| key.clone()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A file that says everything, as keys with their sections.
fn keys(file: &str) -> Keys {
    places(file).into_iter().map(|(key, _, value)| (key, file[value].to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_is_named_with_its_section() {
        let before = keys("node = 1\n[log]\nlevel = \"info\"\n[members]\n1 = \"a:1\"\n");
        let after =
            keys("node = 1\n[log]\nlevel = \"warn\"\n[members]\n1 = \"a:1\"\n2 = \"b:1\"\n");
        assert_eq!(before.len(), 3);
        assert_eq!(difference(&before, &after), ["log.level", "members.2"]);
        assert_eq!(difference(&after, &before), ["log.level", "members.2"]);
        assert!(difference(&after, &after).is_empty());
    }
}

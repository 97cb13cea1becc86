//! A configuration as a file that says everything; and every key of a file, with the value that it
//! has if nothing is said.

use std::path::{Path, PathBuf};
use std::time::Duration;

use humantime::format_duration;

use super::protocol_keys;
use super::settings::{Levels, Log, LogFormat};
use super::values::detector_keys;
use crate::config::fields::{self, Field, Fields};
use crate::config::sections::Preference;
use crate::config::{Config, Health, Hooks, Http, Mode, Runnable, Security};
use crate::protocol::{Core, NodeId, Recommended};

/// The keys that may stand at the top, besides the sections of the protocols.
pub(super) const TOP: [&str; 18] = [
    "cluster",
    "protocol",
    "node",
    "listen",
    "observers",
    "witnesses",
    "priority",
    "preempt_delay",
    "members",
    "storage",
    "security",
    "http",
    "network",
    "detector",
    "hooks",
    "health",
    "groups",
    "log",
];

/// The keys of `[storage]`.
const STORAGE: [&str; 1] = ["directory"];

/// The keys of `[security]`.
const SECURITY: [&str; 7] = [
    "mode",
    "allow_plain",
    "secret_file",
    "second_secret_file",
    "ca_file",
    "certificate_file",
    "key_file",
];

/// The keys of `[http]`, in the order in which they are written.
const HTTP: [&str; 6] =
    ["listen", "token_file", "certificate_file", "key_file", "client_ca_file", "allow_plain"];

/// The keys of `[network]`.
const NETWORK: [&str; 2] = ["timeout", "suspect_refused"];

/// The keys of `[hooks]`, in the order in which they are written.
const HOOKS: [&str; 4] = ["before_leading", "on_change", "timeout", "retry"];

/// The keys of `[health]`, in the order in which they are written.
const HEALTH: [&str; 5] = ["check", "interval", "timeout", "rise", "fall"];

/// The keys of `[groups]`.
const GROUPS: [&str; 2] = ["names", "count"];

/// The keys of `[log]`.
const LOG: [&str; 3] = ["level", "format", "trace"];

/// The sections whose keys are always the same, each with these.
pub(super) const SECTIONS: [(&str, &[&str]); 8] = [
    ("storage", &STORAGE),
    ("security", &SECURITY),
    ("http", &HTTP),
    ("network", &NETWORK),
    ("hooks", &HOOKS),
    ("health", &HEALTH),
    ("groups", &GROUPS),
    ("log", &LOG),
];

/// A key, and its value as a file has it.
type Entry = (&'static str, String);

impl<C: Runnable> Config<C> {
    /// Returns the configuration as a file that says everything, defaults included. It needs the
    /// feature `config-file`.
    #[must_use]
    pub fn to_toml(&self, log: &Log) -> String {
        let Self { cluster, node, .. } = self;
        let listen = self.listen().map(|listen| format!("listen = \"{listen}\"\n"));
        let listen = listen.unwrap_or_default();
        let protocol = C::NAME;
        let (observers, witnesses) = (joined(self.observers()), joined(self.witnesses()));
        let members: String =
            self.addresses().map(|(id, address)| format!("{id} = \"{address}\"\n")).collect();
        let own = fields::write(protocol, &C::fields(&mut self.section.clone()));
        let storage = self.directory.as_deref().map(|directory| ("directory", path(directory)));
        let detector =
            if C::DETECTOR { fields::write_detector(self.detection) } else { String::new() };
        let Log { levels, format } = log;
        // The name of a module may have anything in it.
        let levels = text(levels.to_string());
        let trace = self.trace().map(|trace| format!("trace = {}\n", path(trace)));
        let trace = trace.unwrap_or_default();
        format!(
            "cluster = \"{cluster}\"\nprotocol = \"{protocol}\"\nnode = {node}\n\
             {listen}priority = {priority}\npreempt_delay = {preempt_delay}\n\
             observers = [{observers}]\nwitnesses = [{witnesses}]\n\n\
             [members]\n{members}{own}\
             {storage}{security}{http}{network}{detector}{hooks}{health}{groups}\n\
             [log]\nlevel = {levels}\nformat = \"{format}\"\n{trace}",
            priority = self.priority(),
            preempt_delay = time(self.preempt_delay()),
            storage = section("storage", storage),
            security = section("security", security_entries(&self.security)),
            http = section("http", http_entries(&self.http)),
            network = section("network", self.network_entries()),
            hooks = section("hooks", hook_entries(&self.hooks)),
            health = section("health", health_entries(&self.health)),
            groups = section("groups", self.group_entries()),
        )
    }

    fn network_entries(&self) -> [Entry; 2] {
        [
            ("timeout", time(self.network_timeout())),
            ("suspect_refused", self.suspects_refused().to_string()),
        ]
    }

    fn group_entries(&self) -> Option<Entry> {
        let names: Vec<_> = self.groups().iter().map(ToString::to_string).collect();
        (!names.is_empty()).then(|| ("names", words(&names)))
    }
}

/// A section with these entries; nothing if there are none.
fn section(name: &str, entries: impl IntoIterator<Item = Entry>) -> String {
    let line = |(key, value): Entry| format!("{key} = {value}\n");
    let lines: String = entries.into_iter().map(line).collect();
    if lines.is_empty() { lines } else { format!("\n[{name}]\n{lines}") }
}

/// These ids, with commas between.
fn joined(ids: impl Iterator<Item = NodeId>) -> String {
    ids.map(|id| id.to_string()).collect::<Vec<_>>().join(", ")
}

fn text(text: String) -> String {
    toml::Value::from(text).to_string()
}

fn path(path: &Path) -> String {
    text(path.to_string_lossy().into_owned())
}

fn words(words: &[String]) -> String {
    toml::Value::from(words.to_vec()).to_string()
}

fn time(time: Duration) -> String {
    format!("\"{}\"", format_duration(time))
}

fn security_entries(security: &Security) -> Vec<Entry> {
    let mode = |mode: Mode| ("mode", format!("\"{mode}\""));
    match security {
        Security::Plain { anywhere } => {
            vec![mode(Mode::Plain), ("allow_plain", anywhere.to_string())]
        }
        Security::Secret { file, second } => {
            let second = second.as_deref().map(|second| ("second_secret_file", path(second)));
            let first = [mode(Mode::Secret), ("secret_file", path(file))];
            first.into_iter().chain(second).collect()
        }
        Security::Tls { ca, certificate, key } => vec![
            mode(Mode::Tls),
            ("ca_file", path(ca)),
            ("certificate_file", path(certificate)),
            ("key_file", path(key)),
        ],
    }
}

/// Only what is said.
fn http_entries(http: &Http) -> impl Iterator<Item = Entry> {
    let file = |file: &Option<PathBuf>| file.as_deref().map(path);
    let values = [
        http.listen.as_ref().map(|listen| text(listen.to_string())),
        file(&http.token_file),
        file(&http.certificate_file),
        file(&http.key_file),
        file(&http.client_ca_file),
        http.allow_plain.then(|| "true".to_owned()),
    ];
    HTTP.into_iter().zip(values).filter_map(|(key, value)| Some((key, value?)))
}

fn hook_entries(hooks: &Hooks) -> Vec<Entry> {
    let Hooks { before_leading, on_change, timeout, retry } = hooks;
    let values = [words(before_leading), words(on_change), time(*timeout), time(*retry)];
    HOOKS.into_iter().zip(values).collect()
}

fn health_entries(health: &Health) -> Vec<Entry> {
    let Health { check, interval, timeout, rise, fall } = health;
    let values =
        [words(check), time(*interval), time(*timeout), rise.to_string(), fall.to_string()];
    HEALTH.into_iter().zip(values).collect()
}

/// Returns every key that a file may have, with its section, and its default value; that is empty
/// if the key has none.
#[must_use]
pub fn reference() -> Vec<(String, String)> {
    let is_section = |key: &str| {
        ["members", "detector"].contains(&key) || SECTIONS.iter().any(|(name, _)| *name == key)
    };
    let top = TOP.iter().filter(|key| !is_section(key)).map(|&key| key.to_owned());
    let members: (&str, &[&str]) = ("members", &["ID"]);
    let tables = SECTIONS.into_iter().filter(|(name, _)| !["hooks", "health"].contains(name));
    let below = std::iter::once(members)
        .chain(tables)
        .flat_map(|(section, keys)| keys.iter().map(move |key| format!("{section}.{key}")));
    let value = |key: String| {
        let value = match key.as_str() {
            "protocol" => format!("\"{}\"", Recommended::NAME),
            "security.mode" => format!("\"{}\"", Mode::Plain),
            "observers" | "witnesses" | "groups.names" => "[]".to_owned(),
            "groups.count" => "0".to_owned(),
            "security.allow_plain" => "false".to_owned(),
            "http.allow_plain" => "false".to_owned(),
            "network.suspect_refused" => "true".to_owned(),
            "log.level" => format!("\"{}\"", Levels::default()),
            "log.format" => format!("\"{}\"", LogFormat::default()),
            "priority" => Preference::default().priority.to_string(),
            "preempt_delay" => time(Preference::default().preempt_delay),
            _ => String::new(),
        };
        (key, value)
    };
    let mut all: Vec<_> = top.chain(below).map(value).collect();
    all.extend(detector_keys());
    let (hooks, health) = (hook_entries(&Hooks::default()), health_entries(&Health::default()));
    all.extend(hooks.into_iter().map(|(key, value)| (format!("hooks.{key}"), value)));
    all.extend(health.into_iter().map(|(key, value)| (format!("health.{key}"), value)));
    all.extend(protocol_keys());
    all
}

/// The keys of these fields with their section, and their values as a file has them.
pub(super) fn listed(section: &str, fields: &Fields<'_>) -> Vec<(String, String)> {
    let entry = |(key, field): &(&str, Field<'_>)| {
        (format!("{section}.{key}"), field.written().unwrap_or_default())
    };
    fields.iter().map(entry).collect()
}

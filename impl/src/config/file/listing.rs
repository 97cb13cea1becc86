//! Every key of a file, and the value that it has if nothing is said.

use super::write::{health_entries, hook_entries, time};
use super::{Health, Hooks, Levels, LogFormat, Preference, detector, protocols};
use crate::config::Mode;
use crate::config::fields::{Field, Fields};
use crate::protocol::{Core, Recommended};

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
pub(super) const HTTP: [&str; 6] =
    ["listen", "token_file", "certificate_file", "key_file", "client_ca_file", "allow_plain"];

/// The keys of `[network]`.
const NETWORK: [&str; 2] = ["timeout", "suspect_refused"];

/// The keys of `[hooks]`, in the order in which they are written.
pub(super) const HOOKS: [&str; 4] = ["before_leading", "on_change", "timeout", "retry"];

/// The keys of `[health]`, in the order in which they are written.
pub(super) const HEALTH: [&str; 5] = ["check", "interval", "timeout", "rise", "fall"];

/// The keys of `[groups]`.
const GROUPS: [&str; 2] = ["names", "count"];

/// The keys of `[log]`.
const LOG: [&str; 4] = ["level", "format", "trace", "monitor"];

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

/// Returns every key that a file may have, with its section, and its default value; that is empty
/// if the key has none.
#[must_use]
pub fn reference() -> Vec<(String, String)> {
    let sections = [
        "members", "storage", "security", "http", "network", "detector", "hooks", "health",
        "groups", "log",
    ];
    let top = TOP.iter().filter(|key| !sections.contains(key)).map(|&key| key.to_owned());
    let tables = [
        ("members", &["ID"][..]),
        ("storage", &STORAGE),
        ("security", &SECURITY),
        ("http", &HTTP),
        ("network", &NETWORK),
        ("groups", &GROUPS),
        ("log", &LOG),
    ];
    let below = tables
        .into_iter()
        .flat_map(|(section, keys)| keys.iter().map(move |key| format!("{section}.{key}")));
    let value = |key: String| {
        let value = match key.as_str() {
            "protocol" => format!("\"{}\"", Recommended::NAME),
            "security.mode" => format!("\"{}\"", Mode::Plain),
            "observers" | "witnesses" | "groups.names" | "log.monitor" => "[]".to_owned(),
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
    all.extend(detector::reference());
    let (hooks, health) = (hook_entries(&Hooks::default()), health_entries(&Health::default()));
    all.extend(hooks.into_iter().map(|(key, value)| (format!("hooks.{key}"), value)));
    all.extend(health.into_iter().map(|(key, value)| (format!("health.{key}"), value)));
    all.extend(protocols::reference());
    all
}

/// The keys of these fields with their section, and their values as a file has them.
pub(super) fn listed(section: &str, fields: &Fields<'_>) -> Vec<(String, String)> {
    let entry = |(key, field): &(&str, Field<'_>)| {
        (format!("{section}.{key}"), field.written().unwrap_or_default())
    };
    fields.iter().map(entry).collect()
}

//! A configuration as a file that says everything; and every key of a file, with the value that it
//! has if nothing is said.

use std::collections::BTreeMap;
use std::path::Path;

use humantime::format_duration;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;

use super::settings::{Log, LogSettings, SecuritySettings, StorageSettings};
use super::values::{detector_keys, keys_of};
use super::{File, protocol_keys};
use crate::config::fields::{self, Field, Fields};
use crate::config::groups::{self, GroupNames};
use crate::config::sections::Preference;
use crate::config::{Config, Health, Hooks, Http, NetworkSettings, Runnable, Security};
use crate::protocol::{Core, NodeId, Recommended};

/// A section whose keys are always the same: its name, its keys, and the values of some of them if
/// nothing is said.
type Known = (&'static str, &'static [&'static str], Table);

/// The sections whose keys are always the same.
pub(super) fn sections() -> [Known; 8] {
    fn known<T: DeserializeOwned>(name: &'static str, default: impl Serialize) -> Known {
        (name, keys_of::<T>(), Table::try_from(default).unwrap_or_default())
    }
    let network = NetworkSettings { suspect_refused: Some(true), ..NetworkSettings::default() };
    let log = log_settings(&Log::default(), None);
    [
        known::<StorageSettings>("storage", StorageSettings::default()),
        known::<SecuritySettings>("security", Security::default()),
        known::<Http>("http", Http::default()),
        known::<NetworkSettings>("network", network),
        known::<Hooks>("hooks", Hooks::default()),
        known::<Health>("health", Health::default()),
        known::<GroupNames>("groups", groups::Section::default()),
        known::<LogSettings>("log", log),
    ]
}

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
        let directory = self.directory.as_deref().map(lossy);
        let network = NetworkSettings {
            timeout: Some(self.network_timeout()),
            suspect_refused: Some(self.suspects_refused()),
        };
        let detector =
            if C::DETECTOR { fields::write_detector(self.detection) } else { String::new() };
        let names: Vec<_> = self.groups().iter().map(ToString::to_string).collect();
        let groups = (!names.is_empty()).then(|| BTreeMap::from([("names", names)]));
        format!(
            "cluster = \"{cluster}\"\nprotocol = \"{protocol}\"\nnode = {node}\n\
             {listen}priority = {priority}\npreempt_delay = \"{preempt_delay}\"\n\
             observers = [{observers}]\nwitnesses = [{witnesses}]\n\n\
             [members]\n{members}{own}\
             {storage}{security}{http}{network}{detector}{hooks}{health}{groups}{log}",
            priority = self.priority(),
            preempt_delay = format_duration(self.preempt_delay()),
            storage = section("storage", &StorageSettings { directory }),
            security = section("security", &self.security),
            http = section("http", &self.http),
            network = section("network", &network),
            hooks = section("hooks", &self.hooks),
            health = section("health", &self.health),
            groups = section("groups", &groups.unwrap_or_default()),
            log = section("log", &log_settings(log, self.trace())),
        )
    }
}

/// A section with the keys that are said; nothing if there are none.
fn section(name: &str, keys: &impl Serialize) -> String {
    let lines = toml::to_string(keys).unwrap_or_else(|error| format!("# {error}\n"));
    if lines.is_empty() { lines } else { format!("\n[{name}]\n{lines}") }
}

fn log_settings(log: &Log, trace: Option<&Path>) -> LogSettings {
    LogSettings {
        level: Some(log.levels.clone()),
        format: Some(log.format),
        trace: trace.map(lossy),
    }
}

fn lossy(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// These ids, with commas between.
fn joined(ids: impl Iterator<Item = NodeId>) -> String {
    ids.map(|id| id.to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns every key that a file may have, with its section, and its default value; that is empty
/// if the key has none.
#[must_use]
pub fn reference() -> Vec<(String, String)> {
    let time = |time| format!("\"{}\"", format_duration(time));
    let sections = sections();
    let mut all: Vec<_> = keys_of::<File>()
        .iter()
        .filter(|&&key| key != "detector" && !sections.iter().any(|(name, ..)| *name == key))
        .map(|&key| {
            let value = match key {
                "protocol" => format!("\"{}\"", Recommended::NAME),
                "timing" => "\"lan\"".to_owned(),
                "observers" | "witnesses" => "[]".to_owned(),
                "priority" => Preference::default().priority.to_string(),
                "preempt_delay" => time(Preference::default().preempt_delay),
                "members" => return ("members.ID".to_owned(), String::new()),
                _ => String::new(),
            };
            (key.to_owned(), value)
        })
        .collect();
    for (section, keys, defaults) in sections {
        all.extend(keys.iter().map(|key| {
            let value = match (defaults.get(*key), *key) {
                (Some(value), _) => value.to_string(),
                // It is written only if it is true.
                (None, "allow_plain") => false.to_string(),
                (None, _) => String::new(),
            };
            (format!("{section}.{key}"), value)
        }));
    }
    all.extend(detector_keys());
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

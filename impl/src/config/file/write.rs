//! A configuration as a file that says everything.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::settings::{Log, LogSettings, StorageSettings};
use crate::config::{Config, NetworkSettings, Runnable, fields};
use crate::protocol::NodeId;

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
             {listen}{preference}\
             observers = [{observers}]\nwitnesses = [{witnesses}]\n\n\
             [members]\n{members}{own}\
             {storage}{security}{http}{network}{detector}{hooks}{health}{groups}{log}",
            preference = lines(&self.preference),
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
    let lines = lines(keys);
    if lines.is_empty() { lines } else { format!("\n[{name}]\n{lines}") }
}

fn lines(keys: &impl Serialize) -> String {
    toml::to_string(keys).unwrap_or_else(|error| format!("# {error}\n"))
}

pub(super) fn log_settings(log: &Log, trace: Option<&Path>) -> LogSettings {
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

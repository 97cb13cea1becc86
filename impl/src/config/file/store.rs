//! The store of the lease, for a program that asks it without a node.

use std::sync::Arc;

use super::values::Mistake;
use super::{Sections, Source};
use crate::config::{Error, LeaseSection};
use crate::lease_store::{Connect, STORE, Settings, without_password};
use crate::protocol::Core;
use crate::protocol::lease::Lease;

/// A store that is no node, and the leases that the nodes of a configuration ask it for.
#[derive(Clone, Debug)]
pub struct LeaseStores {
    /// Where it is, as it can be shown.
    pub address: String,
    /// The way to it.
    pub connect: Arc<dyn Connect>,
    /// What it is told: once for each election.
    pub leases: Vec<Settings>,
}

impl Source {
    /// Returns the store of the lease. Which node asks need not be said, unless the files that the
    /// store is shown are others for each.
    ///
    /// # Errors
    ///
    /// As [`Source::protocol`]; [`Error::Store`] when the protocol is another, or the store is a
    /// node, [`Error::Parse`] and [`Error::Setting`] where the store stands in the file or is set;
    /// [`Error::NoNode`] when the node must be known.
    pub fn lease_store(&self) -> Result<LeaseStores, Error> {
        self.store_of_leases().map_err(|error| self.at_its_place(error))
    }

    fn store_of_leases(&self) -> Result<LeaseStores, Error> {
        let protocol = self.protocol()?;
        let wrong = |problem: String| Error::Store { key: "store", problem };
        if protocol != Lease::NAME {
            return Err(wrong(format!(
                "the protocol is {protocol}, which has no store: set `protocol = \"lease\"`"
            )));
        }
        let Sections { file, mut protocols, .. } = self.sections()?;
        let node = self.overrides.node.or(file.node.as_ref().map(|node| node.0));
        let section: LeaseSection = self.section::<Lease>(protocols.remove(Lease::NAME), node)?;
        if node.is_none() && section.files.differ() {
            return Err(Error::NoNode);
        }
        let address = section.store.as_ref().map(ToString::to_string).unwrap_or_default();
        // If that is not known, the files are the same for each node.
        let node = node.unwrap_or(STORE);
        let of = |name: String| section.connector(node, &name).transpose();
        let leases = file.groups.elections(&file.cluster).into_iter().filter_map(of);
        let (connects, leases): (Vec<_>, Vec<_>) =
            leases.collect::<Result<Vec<_>, _>>()?.into_iter().unzip();
        let connect = connects.into_iter().next().ok_or_else(|| {
            let place = if address.is_empty() { "not named".to_owned() } else { address.clone() };
            wrong(format!(
                "it is {place}: this is for a store that is no node, as in \"sqlite:FILE\""
            ))
        })?;
        Ok(LeaseStores { address, connect, leases })
    }

    /// The same error; if it is about the store, with the place from which the value is.
    pub(super) fn at_its_place(&self, error: Error) -> Error {
        let Error::Store { key, problem } = &error else { return error };
        let set = self.overrides.settings.iter().rfind(|(set, _)| set == key);
        if let Some((_, value)) = set {
            let value = without_password(value);
            return Error::Setting { problem: format!("{key}={value}: {problem}") };
        }
        let path = format!("{}.{key}", Lease::NAME);
        // It could be taken apart before.
        let place = self.sections().ok().and_then(|sections| {
            let section = sections.protocols.get(Lease::NAME)?;
            Some(section.get(*key)?.span())
        });
        match place {
            Some(place) => self.wrong(Mistake::here(place, format!("`{path}`: {problem}"))),
            None => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Log, Overrides};
    use crate::lease_store::StoreAddress;
    use crate::protocol::{NodeId, lease};

    const TOP: &str = "cluster = \"orders\"\nprotocol = \"lease\"\nnode = 1\n[members]\n\
                       1 = \"127.0.0.1:7001\"\n2 = \"127.0.0.1:7002\"\n";

    fn source(text: &str, settings: &[(&str, &str)]) -> Source {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("orders.toml");
        std::fs::write(&path, text).expect("writable");
        let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
        let settings = settings.iter().map(owned).collect();
        Source::read(&path, Overrides { settings, ..Overrides::default() }).expect("readable")
    }

    fn configured(lease: &str) -> Result<Config<Lease>, String> {
        let source = source(&format!("{TOP}[lease]\n{lease}"), &[]);
        source.config::<Lease>().map(|(config, _)| config).map_err(|error| error.to_string())
    }

    #[test]
    fn a_store_is_an_id_or_an_address_and_is_written_back() {
        for (written, read) in [("2", "2"), ("\"node:2\"", "2"), ("\"2\"", "2")] {
            let config = configured(&format!("store = {written}\n")).expect("a member");
            let store = NodeId::new(2).map(StoreAddress::Node);
            assert_eq!(config.section().store, store, "{written}");
            let text = config.to_toml(&Log::default());
            assert!(text.contains(&format!("\nstore = {read}\n")), "{text}");
        }
        let config =
            configured("store = 2\nstore_key_file = \"/node-{node}.key\"\n").expect("valid");
        let text = config.to_toml(&Log::default());
        assert!(text.contains("\nstore_key_file = \"/node-{node}.key\"\n"), "{text}");
        for (wrong, said) in [
            ("true", "boolean is no store"),
            ("0", "not a node id"),
            ("\"mysql://db\"", "`mysql` is no store"),
            ("\"postgres://a:hush@db/x\"", "has a password in it"),
        ] {
            let problem = configured(&format!("store = {wrong}\n")).expect_err(wrong);
            assert!(problem.contains("line 8: `lease.store`: "), "{problem}");
            assert!(problem.contains(said) && !problem.contains("hush"), "{problem}");
        }
        let empty = configured("store = 2\nstore_ca_file = \"\"\n").expect_err("no path");
        assert!(empty.contains("`lease.store_ca_file`: the path is empty"), "{empty}");
    }

    #[test]
    fn a_flag_shows_no_password_either() {
        let source = source(TOP, &[("store", "redis://:hush@cache")]);
        let problem = source.config::<Lease>().expect_err("a password").to_string();
        assert!(problem.starts_with("store=redis://:...@cache: the address"), "{problem}");
    }

    /// Only the adapter of a store knows how its address is to be.
    #[cfg(feature = "daemon")]
    #[test]
    fn what_an_adapter_refuses_has_the_place_of_the_address() {
        for (lease, said) in [
            ("store = \"sqlite::memory:\"", "no other process sees"),
            ("store = \"redis://db/orders/x#y\"", "expected `redis://USER@HOST:PORT/DATABASE`"),
            ("store = \"rediss://db\"", "spoken to by TLS: name the file with the authorities"),
            ("store = \"etcds://db:2379\"", "spoken to by TLS: name the file with the authorities"),
            ("store = \"etcd://db\"", "`db` is no address of a server: write HOST:PORT"),
            ("store = \"kubernetes:Shop/a\"", "is no namespace and name"),
            ("store = \"postgres://db/x?sslmode=require\"", "TLS needs the file"),
            ("store = \"postgres://db/x?unheard=hush\"", "expected `postgres://"),
        ] {
            // Behind another key, so that the place is that of the value.
            let problem = configured(&format!("hold = \"10s\"\n{lease}\n")).expect_err(lease);
            assert!(problem.contains("orders.toml: line 9: `lease.store`: "), "{problem}");
            assert!(problem.contains(said) && !problem.contains("hush"), "{problem}");
            let file = source(&format!("{TOP}[lease]\n{lease}\n"), &[]);
            let asked = file.lease_store().expect_err(lease).to_string();
            assert!(asked.contains("line 8: `lease.store`: ") && asked.contains(said), "{asked}");
        }
        let file = format!("{TOP}[lease]\nstore = 2\n");
        let source = source(&file, &[("store", "sqlite:x"), ("store", "etcd://db")]);
        let problem = source.config::<Lease>().expect_err("no port").to_string();
        assert!(problem.starts_with("store=etcd://db: `db` is no address"), "{problem}");
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn with_a_store_that_is_no_node_all_members_are_clients() {
        let config = configured("store = \"sqlite:/orders.db\"\n").expect("valid");
        let lease::Config::Client(client) = config.core() else { panic!("{:?}", config.core()) };
        assert_eq!(client.store, STORE);
        let text = config.to_toml(&Log::default());
        assert!(text.contains("\nstore = \"sqlite:/orders.db\"\n"), "{text}");
        assert_eq!(
            config.service_names(),
            ["the store sqlite:/orders.db of the lease orders".to_owned()]
        );
        assert!(config.directory().is_err(), "a client must remember how often it started");
    }

    /// Where a file is may be another on each node, but not which store it is.
    #[test]
    fn nodes_tell_each_other_which_store_they_ask_and_no_paths() {
        let digest = |lease: &str| configured(lease).expect("valid").digests().settings;
        assert_eq!(digest("store = 2\n"), digest("store = 2\nstore_ca_file = \"ca.pem\"\n"));
        assert_eq!(digest("store = 2\n"), digest("store = \"node:2\"\n"));
        assert_ne!(digest("store = 2\n"), digest("store = 1\n"));
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn the_highest_id_is_that_of_the_store() {
        let text = TOP.replace("\n2 = ", "\n65535 = ");
        let source = source(&format!("{text}[lease]\nstore = \"sqlite:x\"\n"), &[]);
        let problem = source.config::<Lease>().expect_err("a member has it").to_string();
        let said = "line 8: `lease.store`: a store that is no member has the id 65535: give that";
        assert!(problem.contains(said), "{problem}");
    }

    #[cfg(feature = "sqlite")]
    #[test]
    fn the_store_can_be_asked_without_a_node() {
        let without = TOP.replace("node = 1\n", "");
        let lease = "[lease]\nstore = \"sqlite:/orders.db\"\nkeep = \"20s\"\n";
        let store = source(&format!("{without}{lease}"), &[]).lease_store().expect("valid");
        assert_eq!((store.address.as_str(), store.leases.len()), ("sqlite:/orders.db", 1));
        let lease::Durations { hold, .. } = lease::Durations::DEFAULT;
        let keep = std::time::Duration::from_secs(20);
        let settings = Settings { name: "orders".to_owned(), keep, limit: hold / 4 };
        assert_eq!(store.leases, [settings]);
        let own = source(&format!("{without}{lease}store_key_file = \"{{node}}\"\n"), &[]);
        assert!(matches!(own.lease_store(), Err(Error::NoNode)));
    }

    #[test]
    fn what_has_no_store_of_its_own_is_told_so() {
        let problem = |text: &str| source(text, &[]).lease_store().expect_err("none").to_string();
        let node = problem(&format!("{TOP}[lease]\nstore = 2\n"));
        assert!(node.contains("line 8: `lease.store`: it is node 2: this is for"), "{node}");
        assert!(problem(TOP).starts_with("lease.store: it is not named"));
        let quorum = problem(&TOP.replace("\"lease\"", "\"quorum\""));
        assert!(quorum.starts_with("lease.store: the protocol is quorum"), "{quorum}");
    }
}

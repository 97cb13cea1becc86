//! The store of the lease, for a program that asks it without a node.

use std::sync::Arc;

use bellwether_stores::address::without_password;

use super::values::Mistake;
use super::{Overrides, Sections, Source, Unlisted};
use crate::config::{Error, LeaseSection, StoreAccess};
use crate::protocol::Core;
use crate::protocol::lease::Lease;
use crate::store::{Connect, LeaseSettings, STORE};

/// A store that is no node, and the leases that the nodes of a configuration ask it for.
#[derive(Clone, Debug)]
pub struct LeaseStores {
    /// Where it is, as it can be shown.
    pub address: String,
    /// The way to it.
    pub connect: Arc<dyn Connect>,
    /// What it is told: once for each election.
    pub leases: Vec<LeaseSettings>,
}

impl Unlisted {
    /// Returns the store of the lease, without the process.
    ///
    /// # Errors
    ///
    /// As [`Unlisted::config`].
    pub fn lease_store(&self, overrides: Overrides) -> Result<LeaseStores, Error> {
        let (config, _) = self.config(overrides)?;
        let store = config.stores()?.into_iter().next();
        let StoreAccess { address, connect, settings, .. } =
            store.ok_or_else(|| Error::NoStore { members: config.members().clone() })?;
        Ok(LeaseStores { address, connect, leases: vec![settings] })
    }
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
        let Sections { file, said: Overrides { node, .. }, mut protocols, .. } = self.sections()?;
        let section: LeaseSection =
            self.section::<Lease>(LeaseSection::default(), protocols.remove(Lease::NAME))?;
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
    use std::time::Duration;

    use bellwether_stores::address::StoreAddress;

    use super::*;
    use crate::config::{Config, Log};
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

    fn configured(lease: &str) -> Config<Lease> {
        let source = source(&format!("{TOP}[lease]\n{lease}"), &[]);
        source.config::<Lease>().expect("valid").0
    }

    fn refused(source: &Source) -> String {
        source.config::<Lease>().expect_err("refused").to_string()
    }

    #[test]
    fn a_store_is_an_id_or_an_address_and_is_written_back() {
        for (written, read) in [("2", "2"), ("\"node:2\"", "2"), ("\"2\"", "2")] {
            let config = configured(&format!("store = {written}\n"));
            let store = NodeId::new(2).map(StoreAddress::Node);
            assert_eq!(config.section().store, store, "{written}");
            let text = config.to_toml(&Log::default());
            assert!(text.contains(&format!("\nstore = {read}\n")), "{text}");
        }
        let config = configured("store = 2\nstore_key_file = \"/node-{node}.key\"\n");
        let text = config.to_toml(&Log::default());
        assert!(text.contains("\nstore_key_file = \"/node-{node}.key\"\n"), "{text}");
    }

    #[test]
    fn a_flag_is_told_with_its_value_and_shows_no_password_either() {
        let said = refused(&source(TOP, &[("store", "redis://:hush@cache")]));
        assert!(said.starts_with("store=redis://:...@cache: the address"), "{said}");
        #[cfg(all(feature = "stores", feature = "tls"))]
        {
            let file = format!("{TOP}[lease]\nstore = 2\n");
            let said = refused(&source(&file, &[("store", "sqlite:x"), ("store", "etcd://db")]));
            assert!(said.starts_with("store=etcd://db: `db` is no address"), "{said}");
        }
    }

    /// A node says the same, in the words that `testdata/refused.txt` has.
    #[cfg(all(feature = "stores", feature = "tls"))]
    #[test]
    fn what_an_adapter_refuses_is_told_without_a_node_as_well() {
        for address in [
            "sqlite::memory:",
            "redis://db/orders/x#y",
            "rediss://db",
            "etcds://db:2379",
            "etcd://db",
            "kubernetes:Shop/a",
            "postgres://db/x?sslmode=require",
            "postgres://db/x?unheard=hush",
        ] {
            let source = source(&format!("{TOP}[lease]\nstore = \"{address}\"\n"), &[]);
            let asked = source.lease_store().expect_err(address).to_string();
            assert_eq!(asked, refused(&source));
        }
    }

    #[cfg(feature = "stores")]
    #[test]
    fn with_a_store_that_is_no_node_all_members_are_clients() {
        let config = configured("store = \"sqlite:/orders.db\"\n");
        let lease::Config::Client(client) = config.core() else { panic!("{:?}", config.core()) };
        assert_eq!(client.store, STORE);
        let text = config.to_toml(&Log::default());
        assert!(text.contains("\nstore = \"sqlite:/orders.db\"\n"), "{text}");
        let names = config.store_names();
        assert_eq!(names, ["the store sqlite:/orders.db of the lease orders".to_owned()]);
        assert!(config.directory().is_err(), "a client must remember how often it started");
    }

    #[cfg(feature = "stores")]
    #[test]
    fn a_process_that_no_file_lists_has_a_label_and_needs_no_directory() {
        let unlisted = |label: Option<&str>| Unlisted {
            name: "orders".parse().expect("a name"),
            label: label.map(str::to_owned),
            keep: Some(Duration::from_secs(3)),
            check: Some("check".to_owned()),
        };
        let set = |settings: &[(&str, &str)]| {
            let owned = |&(key, value): &(&str, &str)| (key.to_owned(), value.to_owned());
            Overrides { settings: settings.iter().map(owned).collect(), ..Overrides::default() }
        };
        let store = ("store", "sqlite:/orders.db");
        let (config, _) = unlisted(None).config(set(&[store])).expect("valid");
        let lease::Durations { hold, keep, renew, retry } = config.section().durations;
        let all = [hold, keep, renew, retry].map(|time| time.as_millis());
        assert_eq!(all, [2_000, 3_000, 400, 400]);
        assert_eq!((config.directory().expect("in memory"), config.listen()), (None, None));
        assert_eq!(config.health().check, ["check"]);
        let label = config.label().expect("a label");
        assert!(label.ends_with(&format!(":{}", std::process::id())), "{label}");
        let (config, _) =
            unlisted(Some("a")).config(set(&[store, ("renew", "1s")])).expect("valid");
        assert_eq!(config.holder(7).expect("a holder").to_string(), "a#0000000000000007");
        assert_eq!(config.section().durations.renew, Duration::from_secs(1));
        let stores = unlisted(None).lease_store(set(&[store])).expect("valid");
        assert_eq!((stores.address.as_str(), stores.leases.len()), (store.1, 1));
        let refused = |label, settings: &[(&str, &str)]| {
            unlisted(label).config(set(settings)).expect_err("refused").to_string()
        };
        assert!(refused(Some("a b"), &[store]).contains("`a b` cannot name a holder"));
        let none: &[(&str, &str)] = &[];
        for settings in [none, &[("store", "3")]] {
            let said = refused(None, settings);
            assert!(said.contains("without a list of members"), "{said}");
        }
    }

    /// Where a file is may be another on each node, but not which store it is.
    #[test]
    fn nodes_tell_each_other_which_store_they_ask_and_no_paths() {
        let digest = |lease: &str| configured(lease).digests().settings;
        assert_eq!(digest("store = 2\n"), digest("store = 2\nstore_ca_file = \"ca.pem\"\n"));
        assert_eq!(digest("store = 2\n"), digest("store = \"node:2\"\n"));
        assert_ne!(digest("store = 2\n"), digest("store = 1\n"));
    }

    #[cfg(feature = "stores")]
    #[test]
    fn the_store_can_be_asked_without_a_node() {
        let without = TOP.replace("node = 1\n", "");
        let lease = "[lease]\nstore = \"sqlite:/orders.db\"\nkeep = \"20s\"\n";
        let store = source(&format!("{without}{lease}"), &[]).lease_store().expect("valid");
        assert_eq!((store.address.as_str(), store.leases.len()), ("sqlite:/orders.db", 1));
        let lease::Durations { hold, .. } = lease::Durations::DEFAULT;
        let keep = Duration::from_secs(20);
        let settings = LeaseSettings { name: "orders".to_owned(), ttl: keep, limit: hold / 4 };
        assert_eq!(store.leases, [settings]);
        let own = source(&format!("{without}{lease}store_key_file = \"{{node}}\"\n"), &[]);
        assert!(matches!(own.lease_store(), Err(Error::NoNode)));
        let none = source(TOP, &[]).lease_store().expect_err("none").to_string();
        assert!(none.contains("lease.store: it is not named"), "{none}");
    }
}

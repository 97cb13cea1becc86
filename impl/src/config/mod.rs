//! The configuration of a node, parsed into types that cannot be wrong.
//!
//! A [`Config`] is complete and consistent, however it came about: built by a program with
//! [`Config::new`], or, with the feature `config-file`, read with `Config::load`. Where several
//! places say something, the first of these counts: flags, environment, file, defaults.
//! `docs/daemon.md` lists everything that can be said.

mod address;
mod error;
mod fields;
#[cfg(feature = "config-file")]
mod file;
mod groups;
mod http;
mod lease;
mod list;
mod protocols;
mod sections;
mod security;
mod trace;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub use self::address::Address;
pub use self::error::Error;
pub use self::fields::{Field, Fields};
#[cfg(feature = "config-file")]
pub use self::file::{
    LeaseStores, Levels, Log, LogFormat, LogSettings, Origin, Overrides, SecuritySettings, Source,
    StorageSettings, StoreFiles, Unlisted, Visitor, load, reference, schema,
};
pub use self::groups::GroupName;
use self::groups::GroupNames;
pub use self::http::{Http, SHORTEST_TOKEN, Token};
pub use self::lease::LeaseSection;
use self::list::written;
pub use self::list::{MemberChange, MemberList};
pub use self::protocols::{Runnable, StollerSection, StoreAccess, warning};
use self::protocols::{core, with_roles};
use self::sections::Preference;
pub use self::sections::{Health, Hooks, NetworkSettings};
pub use self::security::expiry::{CertificateUse, Expiry};
pub use self::security::tls::Certificates;
#[cfg(feature = "tls")]
pub use self::security::tls::certified_name;
pub(crate) use self::security::tls::{ShownCertificate, explain};
pub use self::security::{Credentials, SHORTEST_SECRET, Security};
pub(crate) use self::security::{Current, Kind, Mode, Secret};
pub use crate::detector::{Detection, Settings as DetectorSettings};
pub use crate::protocol::ClusterId;
use crate::protocol::{MemberError, Members, NodeId, Recommended};
use crate::storage::Owner;
use crate::store::Holder;

/// The configuration of a node: everything it must know before it can take part in elections by the
/// protocol `C`.
#[derive(Clone, Debug, PartialEq)]
pub struct Config<C: Runnable = Recommended> {
    cluster: ClusterId,
    /// None if the node listens nowhere.
    listen: Option<Address>,
    addresses: BTreeMap<NodeId, Address>,
    members: Members,
    node: NodeId,
    section: C::Section,
    core: C::Config,
    directory: Option<PathBuf>,
    detection: Detection,
    security: Security,
    http: Http,
    network: NetworkSettings,
    hooks: Hooks,
    health: Health,
    groups: GroupNames,
    preference: Preference,
    trace: Option<PathBuf>,
    new_cluster: bool,
    /// The name of a process that is in no list of members.
    label: Option<String>,
}

impl Config {
    /// Returns the configuration of node `node` of the cluster `cluster`, with the recommended
    /// protocol and its default timing. It remembers what it has granted, so it needs a
    /// [directory](Config::with_directory).
    ///
    /// `members` are the ids and addresses of all nodes, the node's own included.
    ///
    /// ```
    /// use bellwether::Config;
    /// let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    /// let config = Config::new("orders", 2, members)?.with_directory("/var/lib/orders");
    /// # Ok::<(), bellwether::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the remedy.
    pub fn new<A: AsRef<str>>(
        cluster: &str,
        node: impl TryInto<NodeId, Error: Into<MemberError>>,
        members: impl IntoIterator<Item = (impl TryInto<NodeId, Error: Into<MemberError>>, A)>,
    ) -> Result<Self, Error> {
        Self::recommended(cluster, node_id(node)?, parsed(members)?)
    }

    /// The same without type parameters: it is compiled with the library.
    fn recommended(
        cluster: &str,
        node: NodeId,
        members: Vec<(NodeId, Address)>,
    ) -> Result<Self, Error> {
        Self::listed(cluster, node, members, Default::default())
    }
}

impl<C: Runnable> Config<C> {
    /// Does the same as [`Config::new`], with the protocol `C` and what its section of a file would
    /// say.
    ///
    /// ```
    /// use bellwether::{Config, StollerSection};
    /// use bellwether_core::protocol::stoller::Stoller;
    /// let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    /// let section = StollerSection::default();
    /// let config = Config::<Stoller>::for_protocol("orders", 2, members, section)?
    ///     .with_directory("/var/lib/orders");
    /// # Ok::<(), bellwether::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the remedy.
    pub fn for_protocol<A: AsRef<str>>(
        cluster: &str,
        node: impl TryInto<NodeId, Error: Into<MemberError>>,
        members: impl IntoIterator<Item = (impl TryInto<NodeId, Error: Into<MemberError>>, A)>,
        section: C::Section,
    ) -> Result<Self, Error> {
        Self::listed(cluster, node_id(node)?, parsed(members)?, section)
    }

    fn listed(
        cluster: &str,
        node: NodeId,
        members: Vec<(NodeId, Address)>,
        section: C::Section,
    ) -> Result<Self, Error> {
        let (cluster, none) = (cluster.parse()?, Vec::new());
        Self::assemble(cluster, node, section, members, none.clone(), none, None)?.checked()
    }

    /// Returns this configuration with another section of the protocol, which is its timing above
    /// all.
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when the section contradicts itself.
    pub fn with_section(mut self, section: C::Section) -> Result<Self, Error> {
        self.core = core::<C>(self.node, &self.members, &section)?;
        self.section = section;
        Ok(self)
    }

    /// Returns this configuration, in which these members only observe: they follow the leader,
    /// vote for none, and never lead. All others vote.
    ///
    /// ```
    /// use bellwether::Config;
    /// let members = (1..=4).map(|id| (id, format!("127.0.0.1:700{id}")));
    /// let config = Config::new("orders", 4, members)?.with_observers([4])?;
    /// # Ok::<(), bellwether::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when the protocol has no observers, one of them is no member, or fewer
    /// than two members are left that vote.
    pub fn with_observers(
        mut self,
        observers: impl IntoIterator<Item = impl TryInto<NodeId, Error: Into<MemberError>>>,
    ) -> Result<Self, Error> {
        let observers: Result<Vec<_>, _> = observers.into_iter().map(node_id).collect();
        let witnesses = self.members.witnesses().to_vec();
        let all = Members::new(self.members.iter())?.numbered(self.config_epoch());
        let all = all.with_addresses(written(&self.addresses));
        self.members = with_roles::<C>(all, observers?, witnesses)?;
        let section = self.section.clone();
        self.with_section(section)
    }

    /// Returns this configuration, in which these members are witnesses: they vote, and never lead.
    ///
    /// ```
    /// use bellwether::Config;
    /// let members = (1..=3).map(|id| (id, format!("127.0.0.1:700{id}")));
    /// let config = Config::new("orders", 3, members)?.with_witnesses([3])?;
    /// # Ok::<(), bellwether::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when the protocol has no witnesses, one of them is no member or only
    /// observes, or no other member votes.
    pub fn with_witnesses(
        mut self,
        witnesses: impl IntoIterator<Item = impl TryInto<NodeId, Error: Into<MemberError>>>,
    ) -> Result<Self, Error> {
        let witnesses: Result<Vec<_>, _> = witnesses.into_iter().map(node_id).collect();
        let observers = self.observers().collect();
        self.members = with_roles::<C>(self.members, observers, witnesses?)?;
        let section = self.section.clone();
        self.with_section(section)
    }

    /// Returns this configuration with durable state in this directory.
    #[must_use]
    pub fn with_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// Returns this configuration with other failure detectors.
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when the settings contradict each other.
    pub fn with_detection(mut self, detection: Detection) -> Result<Self, Error> {
        detection.check()?;
        self.detection = detection;
        Ok(self)
    }

    /// Returns this configuration with another security. Without any, the addresses of all members
    /// must be those of one machine.
    #[must_use]
    pub fn with_security(mut self, security: Security) -> Self {
        self.security = security;
        self
    }

    /// Returns this configuration with another [time-out of the network](Config::network_timeout).
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when it is zero, or longer than an hour.
    pub fn with_network_timeout(mut self, timeout: Duration) -> Result<Self, Error> {
        self.network.timeout = Some(timeout);
        self.network.check()?;
        Ok(self)
    }

    /// Returns this configuration, which [waits](Config::suspects_refused) for a member that has
    /// hung up, and whose address refuses connections.
    #[must_use]
    pub fn waiting_for_refused(mut self) -> Self {
        self.network.suspect_refused = Some(false);
        self
    }

    /// Returns a node of which no more is said, and which is not [checked](Self::checked) yet.
    fn assemble(
        cluster: ClusterId,
        node: NodeId,
        section: C::Section,
        members: Vec<(NodeId, Address)>,
        observers: Vec<NodeId>,
        witnesses: Vec<NodeId>,
        label: Option<String>,
    ) -> Result<Self, Error> {
        // A process with a label has itself for its only member, without an address.
        let unlisted = label.as_ref().map(|_| node);
        let ids = Members::new(members.iter().map(|&(id, _)| id).chain(unlisted))?;
        let addresses: BTreeMap<_, _> = members.into_iter().collect();
        let ids = ids.with_addresses(written(&addresses));
        let ids = with_roles::<C>(ids, observers, witnesses)?;
        let mut owners = BTreeMap::new();
        for (&second, address) in &addresses {
            if let Some(first) = owners.insert(address, second) {
                return Err(Error::SharedAddress { first, second, address: address.clone() });
            }
        }
        ids.require(node)?;
        let core = core::<C>(node, &ids, &section)?;
        Ok(Self {
            cluster,
            listen: addresses.get(&node).cloned(),
            addresses,
            members: ids,
            node,
            section,
            core,
            directory: None,
            detection: Detection::default(),
            security: Security::default(),
            http: Http::default(),
            network: NetworkSettings::default(),
            hooks: Hooks::default(),
            health: Health::default(),
            groups: GroupNames::default(),
            preference: Preference::default(),
            trace: None,
            new_cluster: false,
            label,
        })
    }

    fn checked(self) -> Result<Self, Error> {
        self.detection.check()?;
        self.network.check()?;
        self.hooks.check()?;
        self.health.validate::<C>()?;
        self.groups.check::<C>()?;
        self.preference.validate::<C>(&self.core, &self.groups)?;
        self.http.check()?;
        self.holder(0)?;
        self.stores()?;
        Ok(self)
    }

    /// Returns the id of the cluster to which the node belongs.
    #[must_use]
    pub fn cluster(&self) -> &ClusterId {
        &self.cluster
    }

    /// Returns the node's own id.
    #[must_use]
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// Returns the number of the list of members: 1, until a request has changed the list.
    #[must_use]
    pub fn config_epoch(&self) -> u64 {
        self.members.config_epoch()
    }

    /// The ids of the members, and their roles.
    pub(crate) fn members(&self) -> &Members {
        &self.members
    }

    /// Returns the members that only observe, ascending.
    pub fn observers(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.members.observers()
    }

    /// Returns the members that vote and never lead, ascending.
    pub fn witnesses(&self) -> impl Iterator<Item = NodeId> + '_ {
        self.members.witnesses().iter().copied()
    }

    /// Returns the address on which the node listens: its own, unless the configuration says
    /// otherwise; `None` if the node has a [label](Config::label) and listens nowhere.
    #[must_use]
    pub fn listen(&self) -> Option<&Address> {
        self.listen.as_ref()
    }

    /// Returns the name of a process that is in no [list of members](Config::lease); `None` if the
    /// node is a member.
    #[must_use]
    pub fn label(&self) -> Option<&str> {
        self.label.as_deref()
    }

    /// The node as a store writes it down, in this start of its process.
    pub(crate) fn holder(&self, start: u64) -> Result<Holder, Error> {
        match &self.label {
            Some(label) => Ok(Holder::new(label.clone(), start)?),
            None => Ok(Holder::member(self.node, start)),
        }
    }

    /// Returns the section of the protocol.
    #[must_use]
    pub fn section(&self) -> &C::Section {
        &self.section
    }

    /// Returns the configuration of the core.
    #[must_use]
    pub fn core(&self) -> &C::Config {
        &self.core
    }

    /// Returns the settings by which nodes watch each other, if the protocol asks for it.
    #[must_use]
    pub fn detection(&self) -> &Detection {
        &self.detection
    }

    /// Returns the programs that the daemon runs before it leads, and on each change. The library
    /// runs nothing.
    #[must_use]
    pub fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Returns the directory in which the node keeps its durable state; `None` if it has none, or
    /// keeps it in memory, as a process with a [label](Config::label) does: each start of such a
    /// process is another holder.
    ///
    /// # Errors
    ///
    /// [`Error::NoDirectory`] when it has some and nothing says where.
    pub fn directory(&self) -> Result<Option<&Path>, Error> {
        match &self.directory {
            Some(directory) if C::durable(&self.core) => Ok(Some(directory)),
            None if C::durable(&self.core) && self.label.is_none() => {
                Err(Error::NoDirectory { protocol: C::NAME })
            }
            _ => Ok(None),
        }
    }

    /// Returns the settings of the HTTP server that reports the node's status, if it has one.
    #[must_use]
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Returns the security, by which the node and the others know each other.
    #[must_use]
    pub fn security(&self) -> &Security {
        &self.security
    }

    /// What the other nodes are told of this configuration.
    pub(crate) fn digests(&self) -> Digests {
        let settings = fields::shared(C::NAME, C::fields(&mut self.section.clone()));
        let detection =
            if C::DETECTOR { fields::write_detector(self.detection) } else { String::new() };
        Digests::new(&settings, &detection)
    }

    /// What the other nodes are told of the members: which there are, and in which roles.
    pub(crate) fn members_digest(&self) -> Digest {
        let MemberList { members, observers, witnesses, .. } = self.list();
        let ids: Vec<_> = members.keys().collect();
        digest(format!("{ids:?} {observers:?} {witnesses:?}").as_bytes())
    }

    /// Returns the owner of the durable state.
    #[must_use]
    pub fn owner(&self) -> Owner {
        let (cluster, node) = (self.cluster.clone(), self.node);
        Owner { cluster, protocol: C::NAME.to_owned(), node }
    }

    /// Returns all members and their addresses, ascending.
    pub fn addresses(&self) -> impl Iterator<Item = (NodeId, &Address)> {
        self.addresses.iter().map(|(&id, address)| (id, address))
    }
}

/// An operator's word that a cluster is new.
impl<C: Runnable> Config<C> {
    /// Returns this configuration for a node of a new cluster that starts while other voters are
    /// away. Otherwise a node without a state does not vote before each other voter of its list has
    /// met it, or a leader lets it in, as it may have lost a state and with it all that it had
    /// granted. A node with a state does not start with this.
    ///
    /// Say so once, when the cluster starts for the first time, and on so many nodes as are there.
    ///
    /// ```
    /// use bellwether::Config;
    /// let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
    /// let config = Config::new("orders", 2, members)?.with_new_cluster()?;
    /// # Ok::<(), bellwether::ConfigError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoNewCluster`] when the nodes of the protocol wait for no others.
    pub fn with_new_cluster(mut self) -> Result<Self, Error> {
        if C::founder().is_none() {
            return Err(Error::NoNewCluster { protocol: C::NAME });
        }
        self.new_cluster = true;
        Ok(self)
    }

    /// Whether an operator says that the cluster is new.
    pub(crate) fn is_new_cluster(&self) -> bool {
        self.new_cluster
    }
}

/// The stores that answer in place of a node: one for each election, or none.
impl<C: Runnable> Config<C> {
    /// The stores of the elections, in their order.
    ///
    /// # Errors
    ///
    /// What is wrong with what the section says of them.
    pub(crate) fn stores(&self) -> Result<Vec<StoreAccess<C::Message>>, Error> {
        let elections = self.groups.elections(&self.cluster).into_iter();
        let mut stores: Vec<_> = elections
            .filter_map(|name| C::store(&self.section, self.node, &self.members, &name).transpose())
            .collect::<Result<_, _>>()?;
        if self.label.is_some() {
            stores.iter_mut().for_each(|store| store.members = None);
        }
        Ok(stores)
    }

    /// Checks whether the files can be read with which the node proves itself to the store. While
    /// the node runs, they are read for each connection.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] with the first that cannot be used.
    pub fn check_store_files(&self) -> Result<(), Error> {
        C::check_files(&self.section, self.node)
    }

    /// Returns the names of the stores that the node asks in place of a node; none if it asks none.
    #[must_use]
    pub fn store_names(&self) -> Vec<String> {
        // They were made when the configuration was, or taking part says what is wrong.
        self.stores().unwrap_or_default().iter().map(StoreAccess::title).collect()
    }

    /// Returns the warning about the store that the node asks, as a sentence for the log at the
    /// start; the same for all of its elections.
    #[must_use]
    pub fn store_warning(&self) -> Option<String> {
        let stores = self.stores().unwrap_or_default();
        let store = stores.first()?;
        let (title, warning) = (store.title(), store.connect.warning()?);
        Some(format!("TWO NODES CAN LEAD AT THE SAME TIME with {title}: {warning}"))
    }
}

/// The first half of a SHA-256: what nodes tell each other of a part of their configurations, to
/// see which part differs.
pub(crate) type Digest = [u8; 16];

/// A digest of each part of the configuration that must be the same on every node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Digests {
    /// The section of the protocol.
    pub(crate) settings: Digest,
    /// How nodes watch each other.
    pub(crate) detection: Digest,
}

impl Digests {
    fn new(settings: &str, detection: &str) -> Self {
        Self { settings: digest(settings.as_bytes()), detection: digest(detection.as_bytes()) }
    }

    /// The sections in which the configuration of a node that runs `protocol` differs from another.
    /// The nodes talk nevertheless, so that they can be changed one after another.
    pub(crate) fn differing(&self, other: &Self, protocol: &str) -> Option<String> {
        let parts = [
            (self.settings == other.settings, protocol),
            (self.detection == other.detection, "detector"),
        ];
        let differ = parts.iter().filter(|(same, _)| !same).map(|(_, name)| format!("[{name}]"));
        let names: Vec<_> = differ.collect();
        (!names.is_empty()).then(|| names.join(" and "))
    }
}

fn digest(bytes: &[u8]) -> Digest {
    let all: [u8; 32] = Sha256::digest(bytes).into();
    let mut first = Digest::default();
    first.copy_from_slice(&all[..16]);
    first
}

fn parsed<A: AsRef<str>>(
    members: impl IntoIterator<Item = (impl TryInto<NodeId, Error: Into<MemberError>>, A)>,
) -> Result<Vec<(NodeId, Address)>, Error> {
    let members = members.into_iter();
    members.map(|(node, address)| Ok((node_id(node)?, address.as_ref().parse()?))).collect()
}

fn node_id(node: impl TryInto<NodeId, Error: Into<MemberError>>) -> Result<NodeId, MemberError> {
    node.try_into().map_err(Into::into)
}

/// Parses a length of time as people write it: 300ms, 1s 500ms, 2min.
///
/// # Errors
///
/// What is wrong with the text, and how to write it.
pub fn duration(text: &str) -> Result<Duration, String> {
    let remedy = |error| format!("{error}; write a number and a unit, as in 300ms or 2s");
    humantime::parse_duration(text).map_err(remedy)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::bully::{self, Bully};
    use crate::protocol::quorum::Quorum;

    const MEMBERS: [(u16, &str); 2] = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002")];

    #[test]
    fn a_node_is_named_by_its_number_or_its_id() {
        let ids = MEMBERS.map(|(number, place)| (NodeId::new(number).expect("not zero"), place));
        let config = Config::new("orders", ids[1].0, ids).expect("valid");
        assert_eq!(config.node(), ids[1].0);
        let error = Config::new("orders", 0, MEMBERS).expect_err("no node has it");
        assert!(matches!(error, Error::Members(MemberError::NotAnId { .. })), "{error}");
    }

    #[test]
    fn only_nodes_that_wait_for_others_are_told_that_the_cluster_is_new() {
        let config = Config::<Quorum>::new("orders", 1, MEMBERS).expect("valid");
        assert!(!config.is_new_cluster());
        assert!(config.with_new_cluster().expect("they wait").is_new_cluster());
        let timing = bully::Timing::DEFAULT;
        let config = Config::<Bully>::for_protocol("orders", 1, MEMBERS, timing).expect("valid");
        let error = config.with_new_cluster().expect_err("they do not");
        assert!(matches!(error, Error::NoNewCluster { protocol: "bully" }), "{error}");
    }
}

//! The configuration file: how it is read, what counts more than it, and how it is written.

mod keys;
mod paths;
mod settings;
mod store;
mod values;
mod write;

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bellwether_stores::address::without_password;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::keys::Kind;
pub use self::keys::{reference, schema};
pub use self::settings::{
    Levels, Log, LogFormat, LogSettings, SecuritySettings, StorageSettings, StoreFiles,
};
pub use self::store::LeaseStores;
use self::values::Mistake;
use super::fields::section;
use super::groups::GroupNames;
use super::sections::Preference;
use super::{
    Address, ClusterId, Config, Credentials, Detection, Error, Health, Hooks, Http, LeaseSection,
    NetworkSettings, Runnable,
};
use crate::protocol::lease::{Durations, Lease};
use crate::protocol::{Core, MemberError, Members, NAMES, NodeId, Recommended};

/// The largest file that is read, in bytes. 255 members fit into a tenth of it.
const LARGEST: u64 = 256 * 1024;

/// The remedy for a file that lacks a key.
const NEEDED: &str = "write `cluster = \"NAME\"` at the top, the same on every node, and the \
                      section [members] with a line `ID = \"HOST:PORT\"` for each node, this one \
                      included";

section! {
    /// The settings of flags and environment; they count more than the file. A relative path begins
    /// in the working directory.
    pub struct Overrides in "", "Node" {
        /// Which protocol to run, if not quorum; the same on every node
        protocol: Option<String> = "protocol", "NAME", "BELLWETHER_PROTOCOL";
        /// Which of the members this node is
        #[serde(deserialize_with = "node")]
        node: Option<NodeId> = "node", "ID", "BELLWETHER_NODE";
        /// Where to listen, if not at the node's own address under [members]
        #[allow(rustdoc::broken_intra_doc_links)]
        listen: Option<Address> = "listen", "HOST:PORT", "BELLWETHER_LISTEN",
            hide_short_help = true;
        /// The members that only observe, as in 4,5; the same on every node
        #[serde(deserialize_with = "nodes")]
        observers: Option<Vec<NodeId>> = "observers", "IDS", "BELLWETHER_OBSERVERS",
            value_delimiter = ',', hide_short_help = true;
        /// The members that vote and never lead, as in 3; the same on every node
        #[serde(deserialize_with = "nodes")]
        witnesses: Option<Vec<NodeId>> = "witnesses", "IDS", "BELLWETHER_WITNESSES",
            value_delimiter = ',', hide_short_help = true;
    }
    {
        /// A key of the protocol's section and its value, as in skew=200ms; may be repeated
        #[cfg_attr(feature = "flags", arg(
            id = "set", long = "set", value_name = "KEY=VALUE", env = "BELLWETHER_SET",
            value_parser = setting, value_delimiter = ',', help_heading = "Node"
        ))]
        #[serde(skip)]
        pub settings: Vec<(String, String)>,
        /// The store of the lease, for the protocol lease: an address, as in sqlite:FILE, or the id
        /// of a member
        #[cfg_attr(feature = "flags", arg(
            id = "lease.store", long = "store", value_name = "STORE", env = "BELLWETHER_STORE",
            help_heading = "Node", hide_short_help = true
        ))]
        #[serde(skip)]
        pub store: Option<String>,
        /// The place of durable state.
        #[cfg_attr(feature = "flags", command(flatten))]
        pub storage: StorageSettings,
        /// The security, by which the nodes know each other.
        #[cfg_attr(feature = "flags", command(flatten))]
        pub security: SecuritySettings,
        /// The HTTP server, which reports the status of the node.
        #[cfg_attr(feature = "flags", command(flatten))]
        pub http: Http,
        /// The network: how long connections may take, and what is made of their ends.
        #[cfg_attr(feature = "flags", command(flatten))]
        pub network: NetworkSettings,
        /// The log and the trace.
        #[cfg_attr(feature = "flags", command(flatten))]
        pub log: LogSettings,
    }
}

fn node<'de, D: Deserializer<'de>>(value: D) -> Result<Option<NodeId>, D::Error> {
    NodeNumber::deserialize(value).map(|node| Some(node.0))
}

fn nodes<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Vec<NodeId>>, D::Error> {
    let nodes = Vec::<NodeNumber>::deserialize(value)?;
    Ok(Some(nodes.into_iter().map(|node| node.0).collect()))
}

impl Overrides {
    fn own(&self) -> Result<NodeId, Error> {
        self.node.ok_or(Error::NoNode)
    }
}

#[cfg(feature = "flags")]
fn setting(text: &str) -> Result<(String, String), String> {
    let (key, value) = text.split_once('=').ok_or("write KEY=VALUE, as in skew=200ms")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

/// The place that a configuration is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// The command line alone.
    Unlisted(Unlisted),
}

impl Origin {
    /// Reads the configuration, and has it visited.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the place and the remedy.
    pub fn load<V: Visitor>(&self, overrides: Overrides, visitor: V) -> Result<V::Output, Error> {
        match self {
            Self::File(path) => load(path, overrides, visitor),
            Self::Unlisted(unlisted) => {
                let (config, log) = unlisted.config(overrides)?;
                Ok(visitor.visit(config, log))
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Unlisted(_) => f.write_str("the flags"),
        }
    }
}

/// A process that shares a lease with processes of which no file has a list. The store is among the
/// [settings](Overrides::settings).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unlisted {
    /// The name of the lease.
    pub name: ClusterId,
    /// The name of the process; `HOST:PID` if there is none.
    pub label: Option<String>,
    /// The time for which the store keeps a lease, if not the default.
    pub keep: Option<Duration>,
    /// The program that checks whether the process is fit to lead, if any.
    pub check: Option<String>,
}

impl Unlisted {
    /// Returns the configuration of the process.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the remedy.
    pub fn config(&self, overrides: Overrides) -> Result<(Config<Lease>, Log), Error> {
        let text = format!("cluster = \"{}\"\nmembers = {{}}\n", self.name);
        let source = Source::new(PathBuf::new(), String::new(), text, overrides)?;
        let Sections { file, said, .. } = source.sections()?;
        let durations = self.keep.map_or(Durations::DEFAULT, Durations::kept_for);
        let mut section = LeaseSection { durations, ..LeaseSection::default() };
        set_all::<Lease>(&mut section, &source.overrides.settings)?;
        let mut config = Config::unlisted(file.cluster, self.label.clone(), section)?;
        let check = self.check.iter().map(|name| paths::program(paths::HERE, name)).collect();
        config.health = Health { check, ..Health::default() };
        config.http = said.http.of_node(config.node);
        config.network = said.network;
        config.trace = said.log.trace.as_deref().map(|path| path_of::<Lease>(config.node, path));
        Ok((config.checked()?, said.log.resolve()))
    }
}

/// A configuration file and what counts more than it, before the protocol is known.
#[derive(Clone, Debug)]
pub struct Source {
    path: PathBuf,
    /// The folder of the file, in which the relative paths in it begin.
    folder: String,
    text: String,
    overrides: Overrides,
    /// The overrides as a file has them.
    flags: String,
}

/// The keys for which there is neither a flag nor a variable.
#[derive(Debug, Deserialize)]
struct File {
    cluster: ClusterId,
    timing: Option<String>,
    members: BTreeMap<MemberKey, Address>,
    #[serde(default)]
    hooks: Hooks,
    #[serde(default)]
    health: Health,
    #[serde(default)]
    groups: GroupNames,
}

/// A node id that stands as a number: `node = 3`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "i64")]
struct NodeNumber(NodeId);

impl TryFrom<i64> for NodeNumber {
    type Error = MemberError;

    fn try_from(number: i64) -> Result<Self, MemberError> {
        number.to_string().parse().map(Self)
    }
}

/// Returns the path that is meant on this node, with the protocol `C`.
fn path_of<C: Core>(node: NodeId, text: &str) -> PathBuf {
    text.replace("{node}", &node.to_string()).replace("{protocol}", C::NAME).into()
}

/// A node id that stands as a key: `3 = "10.0.0.3:7000"`.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
struct MemberKey(NodeId);

impl TryFrom<String> for MemberKey {
    type Error = MemberError;

    fn try_from(text: String) -> Result<Self, MemberError> {
        text.parse().map(Self)
    }
}

/// The parts of a file: what every protocol needs, and the sections that only some need.
struct Sections<'t> {
    file: File,
    preference: Preference,
    /// The settings of flags, variables and the file, of which the first counts.
    said: Overrides,
    /// Where the name of the protocol stands.
    protocol_place: Option<Range<usize>>,
    /// Where the name of its durations stands.
    timing_place: Range<usize>,
    detection: Detection,
    protocols: BTreeMap<&'static str, DeTable<'t>>,
}

impl<C: Runnable> Config<C> {
    /// Reads the file at `path`; what `overrides` says counts more. A relative path in the file
    /// begins in its folder. It needs the feature `config-file`.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the place and the remedy.
    pub fn load(path: &Path, overrides: Overrides) -> Result<(Self, Log), Error> {
        Source::read(path, overrides)?.config()
    }
}

impl Source {
    /// Reads the file at `path`.
    ///
    /// # Errors
    ///
    /// [`Error::Read`] when it cannot be read, [`Error::Parse`] when it is too large.
    pub fn read(path: &Path, overrides: Overrides) -> Result<Self, Error> {
        let path = path.to_owned();
        let mut text = String::new();
        let read = std::fs::File::open(&path).and_then(|file| {
            let length = file.take(LARGEST + 1).read_to_string(&mut text)?;
            Ok((length, paths::folder(&path)?))
        });
        match read {
            Ok((length, _)) if length as u64 > LARGEST => {
                let problem = format!("larger than {LARGEST} bytes: this is no configuration");
                Err(Error::Parse { path, problem })
            }
            Ok((_, folder)) => Self::new(path, folder, text, overrides),
            Err(cause) => Err(Error::Read { path, cause }),
        }
    }

    fn new(
        path: PathBuf,
        folder: String,
        text: String,
        mut overrides: Overrides,
    ) -> Result<Self, Error> {
        paths::of_settings(&mut overrides);
        let flags = toml::to_string(&overrides)
            .map_err(|error| Error::Setting { problem: format!("a flag: {error}") })?;
        Ok(Self { path, folder, text, overrides, flags })
    }

    /// Returns the name of the protocol that is asked for; the recommended one's if none is.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] when the file makes no sense or names no protocol that there is,
    /// [`Error::Setting`] when a flag does.
    pub fn protocol(&self) -> Result<&'static str, Error> {
        let Sections { said, protocol_place, .. } = self.sections()?;
        let Some(name) = said.protocol.as_deref() else { return Ok(Recommended::NAME) };
        let place = protocol_place.filter(|_| self.overrides.protocol.is_none());
        let known = NAMES.iter().find(|&&known| known == name);
        known.copied().ok_or_else(|| {
            let problem = values::unknown_protocol(name);
            match place {
                Some(place) => self.wrong(Mistake::here(place, problem)),
                None => Error::Setting { problem },
            }
        })
    }

    /// Returns the address at which the others reach the node, whatever it runs.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] when the file makes no sense, [`Error::NoNode`] or [`Error::Members`] when
    /// it does not say which member the node is.
    pub fn address(&self) -> Result<Address, Error> {
        let Sections { file, said, .. } = self.sections()?;
        let node = said.own()?;
        if let Some(address) = file.members.get(&MemberKey(node)) {
            return Ok(address.clone());
        }
        let members = Members::new(file.members.keys().map(|key| key.0))?;
        Err(MemberError::NotAMember { node, members }.into())
    }

    /// Returns the address of each member of the file, whatever it runs.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] when the file makes no sense.
    pub fn members(&self) -> Result<BTreeMap<NodeId, Address>, Error> {
        let Sections { file, .. } = self.sections()?;
        Ok(file.members.into_iter().map(|(key, address)| (key.0, address)).collect())
    }

    /// Returns the credentials of the node, whatever it runs: they prove to it that a program may
    /// ask it.
    ///
    /// # Errors
    ///
    /// As [`Source::address`], and [`Error::Security`] when the security cannot be had.
    pub fn credentials(&self) -> Result<Credentials, Error> {
        let Sections { file, said, .. } = self.sections()?;
        let node = said.own()?;
        let security = said.security.resolve(node)?;
        Ok(security.load(&file.cluster)?.asking(node))
    }

    /// Returns the settings of the node's HTTP server, whatever it runs.
    ///
    /// # Errors
    ///
    /// As [`Source::address`].
    pub fn http(&self) -> Result<Http, Error> {
        let Sections { said, .. } = self.sections()?;
        let node = said.own()?;
        Ok(said.http.of_node(node))
    }

    /// Returns the configuration of a node that runs the protocol `C`.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the place and the remedy.
    pub fn config<C: Runnable>(&self) -> Result<(Config<C>, Log), Error> {
        let Sections { file, preference, said, timing_place, detection, mut protocols, .. } =
            self.sections()?;
        if let Some(asked) = said.protocol.as_ref().filter(|&asked| asked != C::NAME) {
            return Err(Error::OtherProtocol { asked: asked.clone(), runs: C::NAME });
        }
        let node = said.own()?;
        let default = match &file.timing {
            Some(name) => preset::<C>(name)
                .map_err(|problem| self.wrong(Mistake::here(timing_place, problem)))?,
            None => C::Section::default(),
        };
        let section = self.section::<C>(default, protocols.remove(C::NAME))?;
        let security = said.security.resolve(node)?;
        let path = |text: &String| path_of::<C>(node, text);
        let placed = |error| self.at_its_place(error);
        let mut config = Config::<C>::assemble(
            file.cluster,
            node,
            section,
            file.members.into_iter().map(|(key, address)| (key.0, address)).collect(),
            said.observers.unwrap_or_default(),
            said.witnesses.unwrap_or_default(),
            None,
        )
        .map_err(placed)?;
        config.listen = said.listen.or(config.listen);
        config.directory = said.storage.directory.as_ref().map(path);
        config.detection = detection;
        config.security = security;
        config.http = said.http.of_node(node);
        config.network = said.network;
        config.hooks = file.hooks;
        config.health = file.health;
        config.groups = file.groups;
        config.preference = preference;
        config.trace = said.log.trace.as_ref().map(path);
        let config = config.checked().map_err(placed)?;
        Ok((config, said.log.resolve()))
    }

    /// The section of the protocol `C`, and what counts more than it.
    fn section<C: Runnable>(
        &self,
        mut section: C::Section,
        table: Option<DeTable<'_>>,
    ) -> Result<C::Section, Error> {
        if let Some(table) = table {
            values::read(table, C::NAME, C::fields(&mut section))
                .map_err(|mistake| self.wrong(mistake))?;
        }
        set_all::<C>(&mut section, &self.overrides.settings)?;
        Ok(section)
    }

    /// Takes the file apart, and refuses keys that do not exist.
    fn sections(&self) -> Result<Sections<'_>, Error> {
        self.take_apart().map_err(|mistake| self.wrong(mistake))
    }

    fn take_apart(&self) -> Result<Sections<'_>, Mistake> {
        let root = DeTable::parse(&self.text);
        let root = root.map_err(|error| Mistake::syntax(&self.text, &error))?;
        let span = root.span();
        let mut root = root.into_inner();
        if let Some((key, value)) = root.get_key_value("timing")
            && value.get_ref().is_table()
        {
            let names = NAMES.join("], [");
            let problem = format!(
                "[timing] has become the section of the protocol that it is for: rename it to \
                 that of the protocol, one of [{names}]"
            );
            return Err(Mistake::here(key.span(), problem));
        }
        // A section may stand there for a protocol that is not chosen, but not be wrong.
        keys::check(&root)?;
        paths::of_file(&mut root, &self.folder);
        let protocols = NAMES.iter().filter_map(|&name| Some((name, take_table(&mut root, name)?)));
        let protocols = protocols.collect();
        let detection = take_table(&mut root, "detector").map(values::read_detector).transpose()?;
        let protocol_place = root.get("protocol").map(Spanned::span);
        let flags = DeTable::parse(&self.flags);
        let mut flags = flags.map_err(|error| Mistake::syntax(&self.flags, &error))?.into_inner();
        paths::of_file(&mut flags, paths::HERE);
        count_more(flags, &mut root);
        let timing_place = root.get("timing").map(Spanned::span).unwrap_or_default();
        let root = Spanned::new(span, root);
        Ok(Sections {
            said: read(root.clone())?,
            preference: read(root.clone())?,
            file: read(root)?,
            protocol_place,
            timing_place,
            detection: detection.unwrap_or_default(),
            protocols,
        })
    }

    fn wrong(&self, mistake: Mistake) -> Error {
        Error::Parse { path: self.path.clone(), problem: mistake.tell(&self.text) }
    }
}

/// Reads the keys of one type, among others.
fn read<T: DeserializeOwned>(root: Spanned<DeTable<'_>>) -> Result<T, Mistake> {
    serde_path_to_error::deserialize(toml::Deserializer::from(root)).map_err(|error| {
        let place = error.inner().span().unwrap_or_default();
        match error.path().iter().next() {
            Some(_) => Mistake::value(place, &error.path().to_string(), error.inner()),
            // A key that is missing has no path of its own.
            None => Mistake::here(place, format!("{}; {NEEDED}", error.inner().message())),
        }
    })
}

/// The section of the protocol `C` with durations of this name.
fn preset<C: Runnable>(name: &str) -> Result<C::Section, String> {
    let presets = C::presets();
    if presets.is_empty() {
        let protocol = C::NAME;
        return Err(format!(
            "protocol {protocol} has no `timing`: remove it, and set the keys under [{protocol}]"
        ));
    }
    let names: Vec<&str> = presets.iter().map(|(known, _)| *known).collect();
    let problem = values::unknown("timing", name, "", &names);
    let named = presets.into_iter().find(|(known, _)| *known == name);
    named.map(|(_, section)| section).ok_or(problem)
}

/// Sets keys of the section of the protocol `C`.
fn set_all<C: Runnable>(
    section: &mut C::Section,
    settings: &[(String, String)],
) -> Result<(), Error> {
    for (key, value) in settings {
        values::set(C::fields(section), C::NAME, key, value).map_err(|problem| {
            let value = without_password(value);
            Error::Setting { problem: format!("{key}={value}: {problem}") }
        })?;
    }
    Ok(())
}

/// A visitor of a configuration whose protocol is known only while the program runs.
pub trait Visitor {
    /// The type of the result.
    type Output;

    /// Visits the configuration, and returns the result.
    fn visit<C: Runnable>(self, config: Config<C>, log: Log) -> Self::Output;
}

macro_rules! registry {
    ($($protocol:ty),+ $(,)?) => {
        fn dispatch<V: Visitor>(source: &Source, visitor: V) -> Result<V::Output, Error> {
            let name = source.protocol()?;
            $(if name == <$protocol>::NAME {
                let (config, log) = source.config::<$protocol>()?;
                return Ok(visitor.visit(config, log));
            })+
            unreachable!("{name} is registered")
        }

        /// Returns the keys of every protocol's section.
        fn protocol_keys() -> Vec<(&'static str, Kind)> {
            vec![$({
                let mut section = <$protocol as Runnable>::Section::default();
                (<$protocol>::NAME, Kind::section(<$protocol>::fields(&mut section)))
            }),+]
        }
    };
}

crate::for_each_core!(registry);

/// Reads the configuration at `path`, for the protocol that it names.
///
/// # Errors
///
/// The first thing that is wrong, with the place and the remedy.
pub fn load<V: Visitor>(path: &Path, overrides: Overrides, visitor: V) -> Result<V::Output, Error> {
    dispatch(&Source::read(path, overrides)?, visitor)
}

/// Puts the values of flags in the place of those of a file.
fn count_more<'t>(flags: DeTable<'t>, file: &mut DeTable<'t>) {
    for (key, mut value) in flags {
        if let Some(DeValue::Table(section)) = file.get_mut(&**key.get_ref()).map(Spanned::get_mut)
            && let DeValue::Table(flags) = value.get_mut()
        {
            section.extend(std::mem::take(flags));
        } else {
            file.insert(key, value);
        }
    }
}

/// Takes the table with this name out of another.
fn take_table<'d>(from: &mut DeTable<'d>, name: &str) -> Option<DeTable<'d>> {
    match from.remove(name).map(Spanned::into_inner) {
        Some(DeValue::Table(table)) => Some(table),
        _ => None,
    }
}

#[cfg(test)]
mod tests;

//! The configuration file: how it is read, what counts more than it, and how it is written.

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
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use self::settings::FileLog;
pub use self::settings::{HttpSettings, Levels, Log, LogFormat, SecuritySettings};
pub use self::store::LeaseStores;
use self::values::Mistake;
pub use self::write::reference;
use self::write::{SECTIONS, TOP, listed};
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

/// The settings of flags and environment; they count more than the file. A relative path begins in
/// the working directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// The protocol to run.
    pub protocol: Option<String>,
    /// The member that this node is.
    pub node: Option<NodeId>,
    /// The address on which to listen.
    pub listen: Option<Address>,
    /// The members that only observe.
    pub observers: Option<Vec<NodeId>>,
    /// The members that vote and never lead.
    pub witnesses: Option<Vec<NodeId>>,
    /// The keys of the protocol's section and their values.
    pub settings: Vec<(String, String)>,
    /// The directory in which to keep durable state.
    pub directory: Option<String>,
    /// The settings of the security, by which the nodes know each other.
    pub security: SecuritySettings,
    /// The settings of the HTTP server, which reports the status of the node.
    pub http: HttpSettings,
    /// The settings of the network: how long connections may take, and what is made of their ends.
    pub network: NetworkSettings,
    /// The levels from which on lines are logged.
    pub log_levels: Option<Levels>,
    /// The format of the log.
    pub log_format: Option<LogFormat>,
    /// The file to which the node writes its steps.
    pub trace: Option<String>,
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
    pub fn config(&self, mut overrides: Overrides) -> Result<(Config<Lease>, Log), Error> {
        paths::of_overrides(&mut overrides);
        let Overrides { http, network, log_levels, log_format, trace, settings, .. } = overrides;
        let durations = self.keep.map_or(Durations::DEFAULT, Durations::kept_for);
        let mut section = LeaseSection { durations, ..LeaseSection::default() };
        set_all::<Lease>(&mut section, &settings)?;
        let mut config = Config::unlisted(self.name.clone(), self.label.clone(), section)?;
        let check = self.check.iter().map(|name| paths::program(paths::HERE, name)).collect();
        config.health = Health { check, ..Health::default() };
        config.http = http.resolve(config.node);
        config.network = network;
        config.trace = trace.map(|trace| path_of::<Lease>(config.node, &trace));
        Ok((config.checked()?, FileLog::default().resolve(log_levels, log_format)))
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
}

#[derive(Debug, Deserialize)]
struct File {
    cluster: ClusterId,
    protocol: Option<String>,
    node: Option<NodeNumber>,
    listen: Option<Address>,
    #[serde(default)]
    observers: Vec<NodeNumber>,
    #[serde(default)]
    witnesses: Vec<NodeNumber>,
    priority: Option<Priority>,
    #[serde(default, deserialize_with = "super::fields::time")]
    preempt_delay: Option<Duration>,
    members: BTreeMap<MemberKey, Address>,
    #[serde(default)]
    storage: FileStorage,
    #[serde(default)]
    security: SecuritySettings,
    #[serde(default)]
    http: HttpSettings,
    #[serde(default)]
    network: NetworkSettings,
    #[serde(default)]
    hooks: Hooks,
    #[serde(default)]
    health: Health,
    #[serde(default)]
    groups: GroupNames,
    #[serde(default)]
    log: FileLog,
}

#[derive(Debug, Default, Deserialize)]
struct FileStorage {
    directory: Option<String>,
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

/// A priority in a file.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(try_from = "i64")]
struct Priority(u8);

impl TryFrom<i64> for Priority {
    type Error = String;

    fn try_from(number: i64) -> Result<Self, String> {
        let wrong = |_| format!("{number} is no priority: use a number from 0 to 255");
        u8::try_from(number).map(Self).map_err(wrong)
    }
}

/// Returns the path that is meant on this node, with the protocol `C`.
fn path_of<C: Core>(node: NodeId, text: &str) -> PathBuf {
    text.replace("{node}", &node.to_string()).replace("{protocol}", C::NAME).into()
}

/// What a file says, and the default where it says nothing.
fn preference(priority: Option<Priority>, preempt_delay: Option<Duration>) -> Preference {
    let default = Preference::default();
    Preference {
        priority: priority.map_or(default.priority, |Priority(priority)| priority),
        preempt_delay: preempt_delay.unwrap_or(default.preempt_delay),
    }
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
    /// Where the name of the protocol stands.
    protocol_place: Option<Range<usize>>,
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
    pub fn read(path: &Path, mut overrides: Overrides) -> Result<Self, Error> {
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
            Ok((_, folder)) => {
                paths::of_overrides(&mut overrides);
                Ok(Self { path, folder, text, overrides })
            }
            Err(cause) => Err(Error::Read { path, cause }),
        }
    }

    /// Returns the name of the protocol that is asked for; the recommended one's if none is.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] when the file makes no sense or names no protocol that there is,
    /// [`Error::Setting`] when a flag does.
    pub fn protocol(&self) -> Result<&'static str, Error> {
        let Sections { file, protocol_place, .. } = self.sections()?;
        let (name, place) = match (&self.overrides.protocol, &file.protocol) {
            (Some(name), _) => (name.as_str(), None),
            (None, Some(name)) => (name.as_str(), protocol_place),
            (None, None) => return Ok(Recommended::NAME),
        };
        let known = NAMES.iter().find(|&&known| known == name);
        known.copied().ok_or_else(|| {
            let problem = values::unknown("protocol", name, "", NAMES);
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
        let Sections { file, .. } = self.sections()?;
        let node = self.node(&file)?;
        if let Some(address) = file.members.get(&MemberKey(node)) {
            return Ok(address.clone());
        }
        let members = Members::new(file.members.keys().map(|key| key.0))?;
        Err(MemberError::NotAMember { node, members }.into())
    }

    /// Returns the credentials of the node, whatever it runs: they prove to it that a program may
    /// ask it.
    ///
    /// # Errors
    ///
    /// As [`Source::address`], and [`Error::Security`] when the security cannot be had.
    pub fn credentials(&self) -> Result<Credentials, Error> {
        let Sections { file, .. } = self.sections()?;
        let node = self.node(&file)?;
        let security = self.overrides.security.clone().or(file.security).resolve(node)?;
        Ok(security.load(&file.cluster)?.asking(node))
    }

    /// Returns the settings of the node's HTTP server, whatever it runs.
    ///
    /// # Errors
    ///
    /// As [`Source::address`].
    pub fn http(&self) -> Result<Http, Error> {
        let Sections { file, .. } = self.sections()?;
        let node = self.node(&file)?;
        Ok(self.overrides.http.clone().or(file.http).resolve(node))
    }

    fn node(&self, file: &File) -> Result<NodeId, Error> {
        let node = self.overrides.node.or(file.node.as_ref().map(|node| node.0));
        node.ok_or(Error::NoNode)
    }

    /// Returns the configuration of a node that runs the protocol `C`.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the place and the remedy.
    pub fn config<C: Runnable>(&self) -> Result<(Config<C>, Log), Error> {
        let Sections { file, detection, mut protocols, .. } = self.sections()?;
        let asked = self.overrides.protocol.as_ref().or(file.protocol.as_ref());
        if let Some(asked) = asked.filter(|&asked| asked != C::NAME) {
            return Err(Error::OtherProtocol { asked: asked.clone(), runs: C::NAME });
        }
        let node = self.node(&file)?;
        let Overrides { listen, observers, witnesses, .. } = &self.overrides;
        let Overrides { directory, log_levels, log_format, .. } = &self.overrides;
        let section = self.section::<C>(protocols.remove(C::NAME))?;
        let security = self.overrides.security.clone().or(file.security).resolve(node)?;
        let directory = directory.clone().or(file.storage.directory);
        let trace = self.overrides.trace.clone().or_else(|| file.log.trace.clone());
        let path = |text: String| path_of::<C>(node, &text);
        let placed = |error| self.at_its_place(error);
        let listed = |nodes: &[NodeNumber]| nodes.iter().map(|node| node.0).collect();
        let mut config = Config::<C>::assemble(
            file.cluster,
            node,
            section,
            file.members.into_iter().map(|(key, address)| (key.0, address)).collect(),
            observers.clone().unwrap_or_else(|| listed(&file.observers)),
            witnesses.clone().unwrap_or_else(|| listed(&file.witnesses)),
            None,
        )
        .map_err(placed)?;
        config.listen = listen.clone().or(file.listen).or(config.listen);
        config.directory = directory.map(path);
        config.detection = detection;
        config.security = security;
        config.http = self.overrides.http.clone().or(file.http).resolve(node);
        config.network = self.overrides.network.or(file.network);
        config.hooks = file.hooks;
        config.health = file.health;
        config.groups = file.groups;
        config.preference = preference(file.priority, file.preempt_delay);
        config.trace = trace.map(path);
        let config = config.checked().map_err(placed)?;
        Ok((config, file.log.resolve(log_levels.clone(), *log_format)))
    }

    /// The section of the protocol `C`, and what counts more than it.
    fn section<C: Runnable>(&self, table: Option<DeTable<'_>>) -> Result<C::Section, Error> {
        let mut section = C::Section::default();
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
        if let Some((key, _)) = root.get_key_value("timing") {
            let names = NAMES.join("], [");
            let problem = format!(
                "[timing] has become the section of the protocol that it is for: rename it to \
                 that of the protocol, one of [{names}]"
            );
            return Err(Mistake::here(key.span(), problem));
        }
        values::check(&root, "", &[&TOP[..], NAMES].concat())?;
        paths::of_file(&mut root, &self.folder);
        let mut protocols = BTreeMap::new();
        for &name in NAMES {
            if let Some(table) = take_table(&mut root, name)? {
                // A section may stand there for a protocol that is not chosen, but not be wrong.
                values::check(&table, name, &keys(name))?;
                protocols.insert(name, table);
            }
        }
        let detection =
            take_table(&mut root, "detector")?.map(values::read_detector).transpose()?;
        table(&root, "members")?;
        for (section, known) in SECTIONS {
            if let Some(table) = table(&root, section)? {
                values::check(table, section, known)?;
            }
        }
        let protocol_place = root.get("protocol").map(Spanned::span);
        let file = toml::Deserializer::from(Spanned::new(span, root));
        let file: File = serde_path_to_error::deserialize(file).map_err(|error| {
            let place = error.inner().span().unwrap_or_default();
            match error.path().iter().next() {
                Some(_) => Mistake::value(place, &error.path().to_string(), error.inner()),
                // A key that is missing has no path of its own.
                None => Mistake::here(place, format!("{}; {NEEDED}", error.inner().message())),
            }
        })?;
        let detection = detection.unwrap_or_default();
        Ok(Sections { file, protocol_place, detection, protocols })
    }

    fn wrong(&self, mistake: Mistake) -> Error {
        Error::Parse { path: self.path.clone(), problem: mistake.tell(&self.text) }
    }
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

        /// Returns the keys of the section of the protocol with this name; none if there is none.
        #[must_use]
        pub fn keys(name: &str) -> Vec<&'static str> {
            $(if name == <$protocol>::NAME {
                let mut section = <$protocol as Runnable>::Section::default();
                return values::names(&<$protocol>::fields(&mut section));
            })+
            Vec::new()
        }

        /// Every key of every protocol's section, with the value that it has if nothing is said.
        fn protocol_keys() -> Vec<(String, String)> {
            let mut all = Vec::new();
            $(
                let mut section = <$protocol as Runnable>::Section::default();
                let fields = <$protocol>::fields(&mut section);
                all.extend(listed(<$protocol>::NAME, &fields));
            )+
            all
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

/// Returns the table with this name, if there is one.
fn table<'t, 'd>(of: &'t DeTable<'d>, name: &str) -> Result<Option<&'t DeTable<'d>>, Mistake> {
    let Some(value) = of.get(name) else { return Ok(None) };
    match value.get_ref() {
        DeValue::Table(table) => Ok(Some(table)),
        _ => Err(Mistake::no_table(value.span(), name)),
    }
}

/// Takes the table with this name out of another.
fn take_table<'d>(from: &mut DeTable<'d>, name: &str) -> Result<Option<DeTable<'d>>, Mistake> {
    table(from, name)?;
    match from.remove(name).map(Spanned::into_inner) {
        Some(DeValue::Table(table)) => Ok(Some(table)),
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests;

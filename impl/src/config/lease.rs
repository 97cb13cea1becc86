//! The section `[lease]`: which store grants the lease, and for how long.

use std::convert::identity;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bellwether_stores::address::{Files, StoreAddress};
use bellwether_stores::private_file::{self, Unusable};
use zeroize::Zeroizing;

use super::fields::{Field, Fields};
use super::protocols::{Runnable, StoreAccess, explained};
use super::{Config, Error};
use crate::protocol::lease::{self, Lease};
use crate::protocol::{ClusterId, Core as _, LeaseTerms, Members, NodeId};
use crate::store::{Connect, LeaseSettings, STORE};

/// The longest time that a question to a store may take, however long the lease lasts.
const LONGEST_QUESTION: Duration = Duration::from_secs(5);

/// The longest name of a lease, in bytes.
const LONGEST_NAME: usize = 64;

/// The section `[lease]`.
#[derive(Clone, Debug, PartialEq)]
pub struct LeaseSection {
    /// The store. If it is a member, the others are its clients; else all members are.
    pub store: Option<StoreAddress>,
    /// The files with what the store is shown, if it is no member.
    pub files: Files,
    /// The durations of everything in the protocol.
    pub durations: lease::Durations,
}

impl Default for LeaseSection {
    fn default() -> Self {
        Self { store: None, files: Files::default(), durations: lease::Durations::DEFAULT }
    }
}

/// The id for its core of a process that knows no other.
const ONLY: NodeId = match NodeId::new(1) {
    Some(id) => id,
    None => unreachable!(),
};

/// The longest part of a host's name in a label, in bytes.
const LONGEST_HOST: usize = 64;

impl Config<Lease> {
    /// Returns the configuration of a process that shares the lease `name` with processes that it
    /// need not know: whichever has the lease leads. There are no members, ids or directories, and
    /// the process listens nowhere. The [`Election`](crate::Election) makes what the store needs.
    ///
    /// The store is an address as in a file, or a [`StoreAddress`]. The feature `stores` has the
    /// adapters for addresses.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// use bellwether::{Config, Election};
    /// let config = Config::lease("orders", "sqlite:orders.db")?;
    /// let election = Election::join(config).await?;
    /// let work = |_| async { println!("the work of the one process that has the lease") };
    /// election.run_while_leader(work).await?;
    /// election.leave().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with the remedy.
    pub fn lease<S>(name: &str, store: S) -> Result<Self, Error>
    where
        S: TryInto<StoreAddress, Error: fmt::Display>,
    {
        let wrong = |error: S::Error| Error::Store { key: "store", problem: error.to_string() };
        let store = Some(store.try_into().map_err(wrong)?);
        let section = LeaseSection { store, ..LeaseSection::default() };
        Self::unlisted(name.parse()?, None, section)?.checked()
    }

    /// Returns this configuration with the name by which people know the process: the store and
    /// the log have this name. Without a label the name is `HOST:PID`. Two processes with one label
    /// are two all the same. The name of a member stays its id.
    ///
    /// # Errors
    ///
    /// [`Error::Label`] when no holder can have this name.
    pub fn with_label(mut self, label: impl Into<String>) -> Result<Self, Error> {
        self.label = self.label.map(|_| label.into());
        self.holder(0)?;
        Ok(self)
    }

    /// Returns this configuration with a store that keeps a lease for this time, and with the other
    /// durations [in proportion](lease::Durations::kept_for).
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when the time is too short or too long.
    pub fn with_keep(self, keep: Duration) -> Result<Self, Error> {
        let durations = lease::Durations::kept_for(keep);
        let section = LeaseSection { durations, ..self.section.clone() };
        self.with_section(section)
    }

    /// Returns the process with this label in a lease whose processes no list has.
    pub(super) fn unlisted(
        name: ClusterId,
        label: Option<String>,
        section: LeaseSection,
    ) -> Result<Self, Error> {
        if section.is_node() {
            let problem = "without a list of members, no member can be the store: name a database \
                           or a service, as in \"sqlite:FILE\"";
            return Err(Error::Store { key: "store", problem: problem.to_owned() });
        }
        let label = Some(label.unwrap_or_else(own_label));
        Self::assemble(name, ONLY, section, Vec::new(), Vec::new(), Vec::new(), label)
    }
}

/// Returns `HOST:PID`, in the characters that the name of a holder may have.
fn own_label() -> String {
    let system = rustix::system::uname();
    let host = system.nodename().to_string_lossy();
    let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let host: String = host.chars().map(plain).take(LONGEST_HOST).collect();
    format!("{host}:{}", std::process::id())
}

/// A way to a store, and what is to be told there.
type Connector = (Arc<dyn Connect>, LeaseSettings);

impl LeaseSection {
    /// Returns the way to the store, and what it is told of the lease with this name; `None` if it
    /// is a member. In the paths of files, `{node}` is the id of the node.
    ///
    /// # Errors
    ///
    /// [`Error::Store`] when the address or the name makes no sense, or the adapter was left out.
    pub fn connector(&self, node: NodeId, name: &str) -> Result<Option<Connector>, Error> {
        let Some(store) = &self.store else { return Ok(None) };
        let wrong = |problem: String| Error::Store { key: "store", problem };
        let connect = store.connector(&self.files.of(node)).map_err(wrong)?;
        let Some(connect) = connect else { return Ok(None) };
        if name.len() > LONGEST_NAME {
            return Err(wrong(format!(
                "the lease would be named `{name}`, which is longer than {LONGEST_NAME} bytes: \
                 shorten the names of the cluster and of the group"
            )));
        }
        let lease::Durations { hold, keep, .. } = self.durations;
        // A question that takes too long is asked twice more before the lease is over.
        let limit = (hold / 4).min(LONGEST_QUESTION);
        Ok(Some((connect, LeaseSettings { name: name.to_owned(), ttl: keep, limit })))
    }

    /// Reads the files that a store outside of the cluster is shown, those of this node, and has
    /// the store look for what else it needs here.
    fn check_files(&self, node: NodeId) -> Result<(), Error> {
        let Some(store @ (StoreAddress::At(_) | StoreAddress::Own(_))) = &self.store else {
            return Ok(());
        };
        let mut files = self.files.of(node);
        for (key, file) in files.keyed() {
            let Some(file) = file else { continue };
            let is_private = ["store_password_file", "store_key_file"].contains(&key);
            let read = if is_private { private_file::read } else { private_file::read_public };
            readable(key, read(file))?;
        }
        let wrong = |problem: String| Error::Store { key: "store", problem };
        match store.connector(&files).map_err(wrong)? {
            Some(connect) => connect.check().map_err(|error| wrong(error.to_string())),
            None => Ok(()),
        }
    }

    /// Whether the store is a member, as far as it is known.
    fn is_node(&self) -> bool {
        matches!(self.store, None | Some(StoreAddress::Node(_)))
    }
}

/// What is wrong with the file that this key names, if it could not be read.
fn readable(key: &'static str, read: Result<Zeroizing<Vec<u8>>, Unusable>) -> Result<(), Error> {
    let problem = match read {
        Ok(_) => return Ok(()),
        Err(error @ Unusable::Unreadable { .. }) => {
            format!("{error}; name a file that this process can read")
        }
        Err(error @ Unusable::Open { .. }) => error.to_string(),
    };
    Err(Error::Store { key, problem })
}

impl Runnable for Lease {
    type Section = LeaseSection;

    /// A store that is no node needs one client.
    const ALONE: bool = true;

    const TWO_LEADERS: Option<&'static str> = Some(
        "a holder that is paused, or whose clock is slower than \
        `hold` and `keep` allow for, believes that it leads after its lease was granted to \
        another; a store that is a member forgets its grants when it restarts, and counts \
        epochs anew",
    );

    /// The [warning](Connect::warning) of a store that is no node says what the store may lose.
    fn two_leaders(section: &LeaseSection) -> Option<&'static str> {
        if section.is_node() {
            return Self::TWO_LEADERS;
        }
        Some(
            "a holder that is paused, or whose clock is slower than `hold` and `keep` allow for, \
             believes that it leads after its lease was granted to another",
        )
    }

    fn store(
        section: &LeaseSection,
        node: NodeId,
        members: &Members,
        election: &str,
    ) -> Result<Option<StoreAccess<lease::Message>>, Error> {
        let access = section.connector(node, election)?.map(|(connect, settings)| StoreAccess {
            node,
            members: Some(members.clone()),
            address: section.store.as_ref().map(ToString::to_string).unwrap_or_default(),
            connect,
            settings,
            renew: section.durations.renew,
            question: identity,
            answer: identity,
        });
        Ok(access)
    }

    fn check_files(section: &LeaseSection, node: NodeId) -> Result<(), Error> {
        section.check_files(node)
    }

    fn fields(section: &mut LeaseSection) -> Fields<'_> {
        let LeaseSection { store, files, durations } = section;
        let mut fields = vec![("store", Field::Store(store))];
        fields.extend(files.keyed().map(|(key, file)| (key, Field::File(file))));
        fields.extend([
            ("hold", Field::Time(&mut durations.hold)),
            ("keep", Field::Time(&mut durations.keep)),
            ("renew", Field::Time(&mut durations.renew)),
            ("retry", Field::Time(&mut durations.retry)),
        ]);
        fields
    }

    fn core(id: NodeId, members: &Members, section: &LeaseSection) -> Result<Self::Config, Error> {
        let durations = section.durations;
        let client = |store| lease::Config::Client(lease::ClientConfig { id, store, durations });
        match section.store {
            Some(StoreAddress::At(_) | StoreAddress::Own(_)) if members.contains(STORE) => {
                let problem = format!(
                    "a store that is no member has the id {STORE}: give that member another"
                );
                Err(Error::Store { key: "store", problem })
            }
            Some(StoreAddress::At(_) | StoreAddress::Own(_)) => Ok(client(STORE)),
            Some(StoreAddress::Node(_)) if members.count() < 2 => {
                Err(Error::Alone { protocol: Self::NAME })
            }
            Some(StoreAddress::Node(store)) if store == id && members.contains(id) => {
                let clients = Members::new(members.iter().filter(|&member| member != store))?;
                Ok(lease::Config::Store(lease::StoreConfig { id, clients, durations }))
            }
            Some(StoreAddress::Node(store)) if members.contains(store) => Ok(client(store)),
            Some(StoreAddress::Node(_)) | None => Err(Error::NoStore { members: members.clone() }),
        }
    }

    fn explain(config: &Self::Config) -> Vec<String> {
        explained(&durations(config).relations())
    }

    fn shortest_lease(config: &Self::Config) -> Option<Duration> {
        let durations = durations(config);
        Some(durations.hold.saturating_sub(durations.renew))
    }

    /// A client counts its lease as long as `hold`, and the store promises it for `keep`. What of
    /// that is for the drift of clocks is in the two.
    fn terms(config: &Self::Config) -> Option<LeaseTerms> {
        let durations = durations(config);
        Some(LeaseTerms { lease: durations.hold, promise: durations.keep, drift_ppm: 0 })
    }

    /// The store keeps nothing.
    fn durable(config: &lease::Config) -> bool {
        matches!(config, lease::Config::Client(_))
    }
}

fn durations(config: &lease::Config) -> &lease::Durations {
    let (lease::Config::Client(lease::ClientConfig { durations, .. })
    | lease::Config::Store(lease::StoreConfig { durations, .. })) = config;
    durations
}

#[cfg(test)]
mod tests {
    use std::future::ready;

    use super::*;
    use crate::store::{Asking, LeaseStore, StoreError, StoreResult};

    /// The store of a program that lacks something.
    #[derive(Debug)]
    struct Lacking(Option<&'static str>);

    impl Connect for Lacking {
        fn connect<'a>(&'a self, _: &'a LeaseSettings) -> Asking<'a, Box<dyn LeaseStore>> {
            Box::pin(ready(Err(StoreError::Unreachable("no store".to_owned()))))
        }

        fn check(&self) -> StoreResult<()> {
            let Some(problem) = self.0 else { return Ok(()) };
            let (problem, remedy) = (problem.to_owned(), "make it".to_owned());
            Err(StoreError::Misconfigured { problem, remedy })
        }

        fn setup(&self, _: &LeaseSettings) -> String {
            String::new()
        }

        fn warning(&self) -> Option<&'static str> {
            None
        }
    }

    fn checked(store: Option<StoreAddress>) -> Result<(), String> {
        let section = LeaseSection { store, ..LeaseSection::default() };
        let node = NodeId::new(1).expect("not zero");
        section.check_files(node).map_err(|error| error.to_string())
    }

    #[test]
    fn a_store_that_the_program_brings_is_asked_what_it_lacks() {
        let own = |lacks| Some(StoreAddress::Own(Arc::new(Lacking(lacks))));
        let problem = checked(own(Some("there is no socket"))).expect_err("it lacks something");
        assert!(problem.ends_with("there is no socket; make it"), "{problem}");
        assert_eq!(checked(own(None)), Ok(()));
        assert_eq!(checked(Some(NodeId::new(3).expect("not zero").into())), Ok(()));
        assert_eq!(checked(None), Ok(()));
    }
}

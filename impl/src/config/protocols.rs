//! The protocols that can be run, which are all: what the configuration says of each.

use std::any::TypeId;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::Error;
use super::fields::{Field, Fields};
use crate::protocol::bully::{self, Bully};
use crate::protocol::chang_roberts::ChangRoberts;
use crate::protocol::garcia_molina::{self, GarciaMolina};
use crate::protocol::invitation::{self, Invitation};
use crate::protocol::lease;
use crate::protocol::list_ring::ListRing;
use crate::protocol::quorum::{self, Quorum};
use crate::protocol::ring;
use crate::protocol::stoller::{self, Stoller};
use crate::protocol::{Core, LeaseTerms, Members, NodeId, Nothing, Relation};
use crate::store::{Connect, LeaseSettings};

/// A protocol that the driver can run: what a configuration says of it, and what
/// it needs besides links and a clock.
pub trait Runnable: Core {
    /// The section of the file that has the protocol's name.
    type Section: Clone + Debug + PartialEq + Default + Send + Sync + 'static;

    /// Whether its nodes are watched by failure detectors, and so send heartbeats.
    const DETECTOR: bool = false;

    /// Whether a node without other members leads itself.
    const ALONE: bool = false;

    /// The warning for the log that tells when two nodes may lead at the same time, as a sentence.
    /// None if they never do.
    const TWO_LEADERS: Option<&'static str> = Some(
        "it has no quorum: a network that is cut in two has a leader on each side, and so has one \
         that delays messages beyond the time-outs",
    );

    /// Returns when two nodes may lead at the same time with this section, as a sentence;
    /// [`Runnable::TWO_LEADERS`] if the section makes no difference.
    fn two_leaders(section: &Self::Section) -> Option<&'static str> {
        let _ = section;
        Self::TWO_LEADERS
    }

    /// Returns the access of this node to the store that answers in place of a node, in the
    /// election with this name; `None` if the section names none.
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when the section contradicts itself about the store.
    fn store(
        section: &Self::Section,
        node: NodeId,
        members: &Members,
        election: &str,
    ) -> Result<Option<StoreAccess<Self::Message>>, Error> {
        let _ = (section, node, members, election);
        Ok(None)
    }

    /// Checks whether this node can read the files with which it proves itself to the store.
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when one cannot be used.
    fn check_files(section: &Self::Section, node: NodeId) -> Result<(), Error> {
        let _ = (section, node);
        Ok(())
    }

    /// Returns the sections that `timing` in a file names, in place of the default.
    #[must_use]
    fn presets() -> Vec<(&'static str, Self::Section)> {
        Vec::new()
    }

    /// Returns the keys of the section.
    fn fields(section: &mut Self::Section) -> Fields<'_>;

    /// Returns the configuration of the core.
    ///
    /// # Errors
    ///
    /// An [`enum@Error`] when the section lacks something.
    fn core(id: NodeId, members: &Members, section: &Self::Section) -> Result<Self::Config, Error>;

    /// Returns how much of a leader's lease is left at least, while its rounds succeed; `None` if
    /// leaders have no lease.
    fn shortest_lease(config: &Self::Config) -> Option<Duration> {
        let _ = config;
        None
    }

    /// Returns how long leases and promises last; `None` if there are none. Nodes talk only if
    /// those of both fit together.
    fn terms(config: &Self::Config) -> Option<LeaseTerms> {
        let _ = config;
        None
    }

    /// Returns what must fit together in the section, and does: inequalities with their numbers.
    fn explain(config: &Self::Config) -> Vec<String> {
        let _ = config;
        Vec::new()
    }

    /// Returns what the network must give, as inequalities with their numbers: what no
    /// configuration can see to.
    fn demands(config: &Self::Config) -> Vec<String> {
        let _ = config;
        Vec::new()
    }

    /// Returns whether a leader hands over to a node with a [higher
    /// priority](crate::Config::priority): it can, and no node takes over by itself.
    fn prefers_by_priority(config: &Self::Config) -> bool {
        let _ = config;
        false
    }

    /// Returns whether the node has durable state, and so needs storage.
    fn durable(config: &Self::Config) -> bool {
        let _ = config;
        TypeId::of::<Self::Durable>() != TypeId::of::<Nothing>()
    }
}

/// The access of a node to a store that is no member, and the lease that the node asks for there.
#[derive(Debug)]
pub struct StoreAccess<M> {
    /// The node that asks.
    pub node: NodeId,
    /// The members, whose ids are the names of holders; `None` if holders have other names.
    pub members: Option<Members>,
    /// The address of the store, as it is shown.
    pub address: String,
    /// The way to the store.
    pub connect: Arc<dyn Connect>,
    /// The name and the durations of the lease.
    pub settings: LeaseSettings,
    /// The time from one renewal to the next.
    pub renew: Duration,
    /// The function from a message of the core to one for the store.
    pub question: fn(M) -> lease::Message,
    /// The function from an answer of the store to a message for the core.
    pub answer: fn(lease::Message) -> M,
}

impl<M> StoreAccess<M> {
    /// Returns the name of the store and of the lease, for the log and the status.
    #[must_use]
    pub fn title(&self) -> String {
        format!("the store {} of the lease {}", self.address, self.settings.name)
    }
}

/// Returns the warning about a protocol of which the model shows two leaders at the same time;
/// `None` if it shows none with this section.
#[must_use]
pub fn warning<C: Runnable>(section: &C::Section) -> Option<String> {
    let (protocol, when) = (C::NAME, C::two_leaders(section)?);
    Some(format!(
        "TWO NODES CAN LEAD AT THE SAME TIME with the protocol {protocol}: {when}. Use it only \
         where that is a nuisance and not a loss; with `quorum`, the default, no two nodes lead \
         while the clocks keep to `quorum.drift_ppm`"
    ))
}

/// These members, of which some only observe, and some are witnesses.
pub(super) fn with_roles<C: Runnable>(
    members: Members,
    observers: Vec<NodeId>,
    witnesses: Vec<NodeId>,
) -> Result<Members, Error> {
    if !observers.is_empty() && !C::OBSERVERS {
        return Err(Error::NoObservers { protocol: C::NAME });
    }
    if !witnesses.is_empty() && !C::WITNESSES {
        return Err(Error::NoWitnesses { protocol: C::NAME });
    }
    Ok(members.with_observers(observers)?.with_witnesses(witnesses)?)
}

/// The configuration of a core, if the protocol accepts it.
pub(super) fn core<C: Runnable>(
    node: NodeId,
    members: &Members,
    section: &C::Section,
) -> Result<C::Config, Error> {
    if members.count() < 2 && !C::ALONE {
        return Err(Error::Alone { protocol: C::NAME });
    }
    let core = C::core(node, members, section)?;
    C::validate(&core, None).map_err(|error| Error::Contradiction(Box::new(error)))?;
    Ok(core)
}

pub(super) fn explained(relations: &[Relation]) -> Vec<String> {
    relations.iter().map(Relation::explain).collect()
}

/// Makes a protocol runnable whose section is its timing, with these keys.
macro_rules! timed {
    (
        $protocol:ty, $module:ident, [$($key:ident),+], |$config:ident| $explained:expr
        $(, $two_leaders:literal)?
    ) => {
        impl Runnable for $protocol {
            type Section = $module::Timing;

            $(const TWO_LEADERS: Option<&'static str> = Some($two_leaders);)?

            fn fields(timing: &mut $module::Timing) -> Fields<'_> {
                vec![$((stringify!($key), Field::Time(&mut timing.$key))),+]
            }

            fn core(
                id: NodeId,
                members: &Members,
                &timing: &$module::Timing,
            ) -> Result<Self::Config, Error> {
                Ok($module::Config { id, members: members.clone(), timing })
            }

            fn explain($config: &Self::Config) -> Vec<String> {
                $explained
            }
        }
    };
}

timed!(Bully, bully, [election, coordinator, watch, heartbeat], |config| {
    explained(&config.timing.relations())
});

timed!(GarciaMolina, garcia_molina, [call, silence, election, check], |config| {
    explained(&config.timing.relations())
});

timed!(
    Invitation,
    invitation,
    [check, answer, accept, delay, silence],
    |config| explained(&config.timing.relations()),
    "its groups have a leader each until they have merged: at the start, after every failure, and \
     on each side of a network that is cut in two"
);

timed!(ChangRoberts, ring, [hop, lap, watch, heartbeat], |config| {
    config.timing.explain(ChangRoberts::NAME, config.members.iter().count())
});

timed!(ListRing, ring, [hop, lap, watch, heartbeat], |config| {
    config.timing.explain(ListRing::NAME, config.members.iter().count())
});

/// The section `[stoller]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StollerSection {
    /// The interval at which a leader asks whether it is followed, and the time that a candidate
    /// waits for an answer.
    pub ask: Duration,
}

impl Default for StollerSection {
    fn default() -> Self {
        Self { ask: Duration::from_millis(500) }
    }
}

impl Runnable for Stoller {
    type Section = StollerSection;

    const DETECTOR: bool = true;

    const TWO_LEADERS: Option<&'static str> = Some(
        "it has no quorum: a network that is cut in two has a \
        leader on each side, and so has one in which a failure detector is wrong",
    );

    fn fields(section: &mut StollerSection) -> Fields<'_> {
        vec![("ask", Field::Time(&mut section.ask))]
    }

    fn core(
        id: NodeId,
        members: &Members,
        section: &StollerSection,
    ) -> Result<Self::Config, Error> {
        Ok(stoller::Config { id, members: members.clone(), ask: section.ask })
    }
}

impl Runnable for Quorum {
    type Section = quorum::Timing;

    const ALONE: bool = true;

    /// As long as the rates of clocks differ by no more than `drift_ppm`.
    const TWO_LEADERS: Option<&'static str> = None;

    fn presets() -> Vec<(&'static str, quorum::Timing)> {
        quorum::Timing::PRESETS.to_vec()
    }

    fn fields(timing: &mut quorum::Timing) -> Fields<'_> {
        vec![
            ("round", Field::Time(&mut timing.round)),
            ("lease", Field::Time(&mut timing.lease)),
            ("promise", Field::Time(&mut timing.promise)),
            ("election", Field::Time(&mut timing.election)),
            ("coordinator", Field::Time(&mut timing.coordinator)),
            ("backoff", Field::Time(&mut timing.backoff)),
            ("skew", Field::Time(&mut timing.skew)),
            ("preemption", Field::Preemption(&mut timing.preemption)),
            ("dwell", Field::Time(&mut timing.dwell)),
            ("drift_ppm", Field::Count(&mut timing.drift_ppm)),
        ]
    }

    fn core(
        id: NodeId,
        members: &Members,
        &timing: &quorum::Timing,
    ) -> Result<Self::Config, Error> {
        Ok(quorum::Config { id, members: members.clone(), timing })
    }

    fn explain(config: &Self::Config) -> Vec<String> {
        explained(&config.timing.relations())
    }

    fn demands(config: &Self::Config) -> Vec<String> {
        let timing = &config.timing;
        let shown = humantime::format_duration;
        let (keep, lead) = (timing.longest_round_trip(), timing.longest_round_trip_to_lead());
        vec![
            format!("to come to lead: round trip to a majority < {}", shown(lead)),
            format!("to keep the lease: round trip to a majority < {}", shown(keep)),
        ]
    }

    fn shortest_lease(config: &Self::Config) -> Option<Duration> {
        Some(config.timing.lease.saturating_sub(config.timing.round))
    }

    fn terms(config: &Self::Config) -> Option<LeaseTerms> {
        Some(config.timing.terms())
    }

    fn prefers_by_priority(config: &Self::Config) -> bool {
        config.timing.preemption == quorum::Preemption::Never
    }
}

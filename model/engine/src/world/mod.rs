//! What surrounds the processes: network, faults and timing.
//!
//! A [`World`] is `n` processes of one protocol in a [`Scenario`]: how often faults may strike
//! ([`Faults`]), what the network does to order ([`Network`]), and when timers may expire
//! ([`Timing`]). It is a stateright model (see [`crate::check`]): its actions are what may
//! happen next, anywhere, in every order.
//!
//! This module decides what *can* happen; whether it *should* is for [`crate::property`].

mod action;
mod boundary;
mod clock;
mod condition;
mod delay;
mod error;
mod links;
mod network;
mod next;
pub mod packed;
mod per_process;
mod scenario;
mod state;
mod step;
pub mod swarm;
mod time;
mod timed;

pub use crate::machine::{Effect, Effects, Message, Process, Stable, Timer};
pub use crate::protocol::{Durations, Envelope};
pub use action::{Action, Ways};
pub use boundary::{Boundary, Exceeded};
pub use condition::Condition;
pub use delay::{Delay, MAX_TICKS};
pub use error::WorldError;
pub use links::{AbsentLinks, SlowLinks};
pub use scenario::{
    Budget, DeliveryFairness, Faults, Heals, Network, Recovers, Scenario, Start, Symmetry, Timing,
};
pub use state::{DOWN, State};
pub use step::Outcome;
pub use time::TooEarly;
pub use timed::{Drift, Timed};

use crate::machine::{DynProtocol, TimerRules, machine};
use crate::protocol::{Belief, Group, Id, Ids, MAX_NODES, MAX_SEARCHED, Protocol};
use clock::Clock;
use per_process::PerProcess;
use std::fmt;
use std::sync::Arc;

/// A world: `n` processes of one protocol in one surrounding.
#[derive(Clone)]
pub struct World {
    machine: Arc<dyn DynProtocol>,
    scenario: Scenario,
    /// In a timed world, how time is measured.
    clock: Option<Clock>,
    /// For each process, those that never hear it.
    unreachable: PerProcess<Ids>,
    /// The processes that elect, those that the protocol [prefers](crate::protocol::Options::rank)
    /// last.
    ranking: Arc<[Id]>,
    /// The processes that lead at the beginning.
    leads_initially: Ids,
}

impl World {
    /// Returns the world of processes that follow `protocol` in the surrounding that `scenario`
    /// describes.
    ///
    /// # Errors
    /// If a number is out of range, or two contradict each other.
    pub fn new<P: Protocol>(protocol: P, scenario: Scenario) -> Result<Self, WorldError> {
        World::of(machine(protocol), scenario)
    }

    /// Returns the world of processes that follow a protocol whose types are not known, in this
    /// surrounding.
    ///
    /// # Errors
    /// As [`World::new`].
    pub fn of(machine: Arc<dyn DynProtocol>, scenario: Scenario) -> Result<Self, WorldError> {
        let (nodes, services) = (scenario.nodes, machine.shape().services());
        let protocol = machine.protocol().name();
        if !(2..=MAX_NODES - services).contains(&nodes) {
            let (searched, most) = (MAX_SEARCHED - services, MAX_NODES - services);
            return Err(WorldError::Nodes { nodes, searched, most });
        }
        let most = machine.protocol().most() - services;
        if nodes > most {
            return Err(WorldError::NoRoom { protocol, nodes, most });
        }
        if let Some(id) = machine.own().into_iter().find(|id| id.index() >= nodes) {
            return Err(WorldError::NoSuchMember { id, nodes });
        }
        machine.fits(nodes)?;
        let unreachable = scenario.missing.places(nodes + services)?;
        if scenario.faults.duplicates > 0 && scenario.network == Network::Set {
            return Err(WorldError::DuplicatesMerge);
        }
        if scenario.faults.suspicions > 0 && scenario.timing == Timing::Asynchronous {
            return Err(WorldError::SuspicionsUnbounded);
        }
        if scenario.faults.pauses > 0 && scenario.timing.timed().is_none() {
            return Err(WorldError::PausesUntimed { timing: scenario.timing.kind() });
        }
        if scenario.capacity == Some(0) {
            return Err(WorldError::NoCapacity);
        }
        // The next copy of what is repeated could always still come.
        let unnoticed =
            scenario.faults.losses == Budget::Unbounded && scenario.timing == Timing::Perfect;
        if let Some(rules) = repeats(&*machine).filter(|_| unnoticed) {
            let timer = rules.timer.label().to_owned();
            return Err(WorldError::LossesNeverNoticed { protocol, timer });
        }
        let timed = scenario.timing.timed();
        let clock = timed.map(|timed| Clock::of(&*machine, timed, nodes)).transpose()?;
        clock::check_jumps(clock.as_ref(), &scenario)?;
        let mut ranking: Vec<Id> = Id::all(nodes).collect();
        ranking.sort_by_key(|&id| machine.rank(id));
        let (ranking, leads_initially) = (ranking.into(), Ids::NONE);
        let mut world = World { machine, scenario, clock, unreachable, ranking, leads_initially };
        if let Some(id) = scenario.down.iter().find(|&id| !world.crashable().any(|one| one == id)) {
            return Err(WorldError::NeverDown { id, most: world.crashable().count() });
        }
        // Those that are down now have led and followed like the others.
        world.scenario.down = Ids::NONE;
        let initial = world.initial();
        world.leads_initially = initial.members().filter(|&id| initial.leads(id)).collect();
        if scenario.start == Start::Converged && !world.machine.own().is_empty() {
            world.has_converged(&initial)?;
        }
        world.scenario.down = scenario.down;
        Ok(world)
    }

    /// Refuses a group that does not agree at first, because some of its processes go by other
    /// rules. What a process believes that has just started is nothing.
    fn has_converged(&self, initial: &State) -> Result<(), WorldError> {
        let is_first = |id| self.leads_initially.iter().eq([id]);
        let agrees = |id| match initial.belief(id) {
            Some(Belief::Leads) => is_first(id),
            Some(Belief::Follows(leader)) => is_first(leader),
            Some(Belief::Undecided) | None => true,
        };
        if initial.members().all(agrees) { Ok(()) } else { Err(WorldError::NotConverged) }
    }

    /// Checks that the world is not too large for an exhaustive search.
    ///
    /// # Errors
    /// If there are more than [`MAX_SEARCHED`] processes.
    pub fn is_searchable(&self) -> Result<(), WorldError> {
        let most = MAX_SEARCHED - self.services();
        match self.scenario.nodes {
            nodes if nodes > most => Err(WorldError::TooLarge { nodes, most }),
            _ => Ok(()),
        }
    }

    /// Returns the protocol and its rules.
    #[must_use]
    pub fn machine(&self) -> &Arc<dyn DynProtocol> {
        &self.machine
    }

    /// Returns the rules of each process, if they are of this protocol.
    #[must_use]
    pub fn group<P: Protocol>(&self) -> Option<&Group<P>> {
        self.machine.group().downcast_ref()
    }

    /// Returns the usual rules, if they are of this protocol.
    #[must_use]
    pub fn rules<P: Protocol>(&self) -> Option<&P> {
        self.machine.rules().downcast_ref()
    }

    /// The number of [services](crate::protocol::Services).
    fn services(&self) -> usize {
        self.machine.shape().services()
    }

    /// Whether by these rules a timer paces something that repeats.
    pub(crate) fn repeats(&self) -> bool {
        repeats(&*self.machine).is_some()
    }

    /// Returns the scenario: what surrounds the processes.
    pub fn scenario(&self) -> Scenario {
        self.scenario
    }

    /// Returns the ids of all processes, ascending.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = Id> + Clone + use<> {
        Id::all(self.processes())
    }

    /// The number of all processes: those that elect, and [services](crate::protocol::Services).
    pub(crate) fn processes(&self) -> usize {
        self.scenario.nodes + self.services()
    }

    /// Returns how many crashes there can be at most, whatever the budget: each process that is up
    /// and may crash does so once, and again after each recovery.
    #[must_use]
    pub fn most_crashes(&self) -> usize {
        let up = self.crashable().filter(|&id| !self.scenario.down.contains(id)).count();
        up + usize::from(self.scenario.faults.recoveries)
    }

    /// The ids of those that may crash, ascending.
    fn crashable(&self) -> impl Iterator<Item = Id> + use<> {
        let services = if self.machine.services_crash() { self.services() } else { 0 };
        Id::all(self.scenario.nodes + services)
    }

    /// The directions of links that can be cut.
    fn directions(&self) -> impl Iterator<Item = (Id, Id)> + use<'_> {
        let all = self.ids().flat_map(|from| self.ids().map(move |to| (from, to)));
        all.filter(move |&(from, to)| from != to && !self.unreachable[from.index()].contains(to))
    }

    /// The pairs between which there is a link that can be cut, in both directions.
    fn pairs(&self) -> impl Iterator<Item = (Id, Id)> + use<'_> {
        let pairs =
            self.ids().flat_map(|a| self.ids().filter(move |&b| b > a).map(move |b| (a, b)));
        let unreachable = |a: Id, b: Id| self.unreachable[a.index()].contains(b);
        pairs.filter(move |&(a, b)| !unreachable(a, b) && !unreachable(b, a))
    }

    /// Returns whether states that differ only in names are one.
    #[must_use]
    pub fn canonicalizes(&self) -> bool {
        self.machine.protocol().canonicalizes() && self.scenario.symmetry == Symmetry::Reduced
    }

    /// Returns the same world with everything called what the processes call it. What can happen in
    /// it is the same, in the same order, but it may have many more states.
    #[must_use]
    pub fn concrete(&self) -> Self {
        let symmetry = if self.machine.protocol().canonicalizes() {
            Symmetry::Concrete
        } else {
            self.scenario.symmetry
        };
        World { scenario: Scenario { symmetry, ..self.scenario }, ..self.clone() }
    }

    /// The same world with states that differ only in names being one, if the protocol can do that.
    pub(crate) fn canonical(&self) -> Self {
        let scenario = Scenario { symmetry: Symmetry::Reduced, ..self.scenario };
        World { scenario, ..self.clone() }
    }

    /// Returns what happens in the [concrete](World::concrete) world where `actions` happen in this
    /// one, each enabled when its turn comes.
    #[must_use]
    pub fn in_concrete_terms(&self, actions: &[Action]) -> Vec<Action> {
        if self.canonicalizes() {
            let told = self.in_terms_of(&self.concrete(), actions);
            told.expect("renaming keeps what can happen")
        } else {
            actions.to_vec()
        }
    }

    /// What happens in `other`, which differs in its names alone, where `actions` happen in this
    /// world, each enabled when its turn comes; nothing if that cannot happen there, as beyond the
    /// bounds of a search.
    pub(crate) fn in_terms_of(&self, other: &World, actions: &[Action]) -> Option<Vec<Action>> {
        let (mut here, mut there) = (self.initial(), other.initial());
        let (mut enabled, mut as_well) = (Vec::new(), Vec::new());
        let told = actions.iter().map(|action| {
            enabled.clear();
            as_well.clear();
            self.enabled(&here, &mut enabled);
            other.enabled(&there, &mut as_well);
            let at = enabled.iter().position(|one| one == action)?;
            let same = *as_well.get(at)?;
            (here, there) = (self.apply(&here, action).state, other.apply(&there, &same).state);
            Some(same)
        });
        told.collect()
    }

    /// Returns the positions of these actions among those that are enabled, each after those before
    /// it.
    ///
    /// # Panics
    /// If one of them cannot happen where it stands.
    #[must_use]
    pub fn positions(&self, actions: &[Action]) -> Vec<usize> {
        let mut state = self.initial();
        let mut enabled = Vec::new();
        let position = |taken: &Action| {
            enabled.clear();
            self.enabled(&state, &mut enabled);
            let position = enabled.iter().position(|action| action == taken);
            state = self.apply(&state, taken).state;
            position.expect("the action can happen where it stands")
        };
        actions.iter().map(position).collect()
    }

    /// The rank of a process, and its id: the higher these are, the more the protocol prefers it.
    pub(crate) fn rank(&self, id: Id) -> (u8, Id) {
        (self.machine.rank(id), id)
    }

    /// The processes that elect, those that the protocol prefers last.
    pub(crate) fn ranking(&self) -> &[Id] {
        &self.ranking
    }

    /// The process that the protocol prefers of those that elect and are up.
    pub(crate) fn highest_up(&self, state: &State) -> Option<Id> {
        self.ranking.iter().rev().copied().find(|&id| state.up(id))
    }

    /// Whether `id` leads at the beginning.
    pub(crate) fn leads_initially(&self, id: Id) -> bool {
        self.leads_initially.contains(id)
    }
}

/// A timer that by these rules paces something that repeats.
fn repeats(machine: &dyn DynProtocol) -> Option<&TimerRules> {
    machine.timers().iter().find(|rules| rules.periodic && rules.armed)
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}; {}", self.machine, self.scenario)
    }
}

//! The faults that a soak strikes with. Each leaves a majority of nodes that run and reach each
//! other, so each must leave the cluster with a leader.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_core::protocol::quorum::Timing;
use bellwether_testbed::probe::Probe;
use bellwether_testbed::process::Signal;
use bellwether_testbed::wait;
use clap::ValueEnum;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

use super::cluster::Cluster;
use super::members::change;
use super::network::{Network, Way};

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Kind {
    KillLeader,
    KillFollower,
    KillTwo,
    KillKeeper,
    PauseLeader,
    PauseDaemon,
    PauseFollower,
    IsolateLeader,
    IsolateFollower,
    MuteLeader,
    DeafLeader,
    CutLink,
    CutOneWay,
    Partition,
    SlowLinks,
    FullDisk,
    FullDiskOfLeader,
    HandOver,
    RestartFollower,
    Transfer,
    StepDown,
    Reload,
    ChangeMembers,
}

impl Kind {
    /// What happens, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KillLeader => "SIGKILL of the leader",
            Self::KillFollower => "SIGKILL of a follower",
            Self::KillTwo => "SIGKILL of the leader and a follower",
            Self::KillKeeper => "SIGKILL of the leader and its command's keeper at once",
            Self::PauseLeader => "SIGSTOP of the leader and its command, then SIGCONT",
            Self::PauseDaemon => "SIGSTOP of the leader without its command, then SIGCONT",
            Self::PauseFollower => "SIGSTOP of a follower, then SIGCONT",
            Self::IsolateLeader => "all links of the leader cut",
            Self::IsolateFollower => "all links of a follower cut",
            Self::MuteLeader => "all links from the leader cut, one way",
            Self::DeafLeader => "all links to the leader cut, one way",
            Self::CutLink => "one link of the leader cut",
            Self::CutOneWay => "one link of the leader cut, one way",
            Self::Partition => "leader and a follower cut from the rest",
            Self::SlowLinks => "slow links",
            Self::FullDisk => "SIGKILL of the leader, disk of a follower full",
            Self::FullDiskOfLeader => "disk of the leader full",
            Self::HandOver => "SIGTERM of the leader",
            Self::RestartFollower => "SIGTERM of a follower",
            Self::Transfer => "the leader is asked to transfer",
            Self::StepDown => "the leader is asked to step down",
            Self::Reload => "SIGHUP of all nodes",
            Self::ChangeMembers => "another list of members",
        }
    }

    /// Whether the leader cannot go on.
    pub(crate) fn deposes(self) -> bool {
        !matches!(
            self,
            Self::KillFollower
                | Self::PauseFollower
                | Self::IsolateFollower
                | Self::CutLink
                | Self::CutOneWay
                | Self::SlowLinks
                | Self::RestartFollower
                | Self::Reload
        )
    }

    /// Whether the others hear the leader as long as its lease lasts, and only then begin to wait.
    pub(crate) fn outlasts_a_lease(self) -> bool {
        self == Self::DeafLeader
    }

    /// Whether it can happen in this network, which may be able to delay data.
    fn fits(self, network: &dyn Network, can_delay: bool) -> bool {
        match self {
            Self::SlowLinks => can_delay,
            Self::ChangeMembers => network.has_one_address_each(),
            _ => true,
        }
    }
}

/// Kinds of faults, in an order from a seed: each comes once before any comes again.
pub(crate) struct Faults<K> {
    /// What else is drawn with the faults, such as the node that each strikes.
    pub(crate) random: ChaCha8Rng,
    kinds: Vec<K>,
    left: Vec<K>,
}

impl<K: Copy> Faults<K> {
    /// Takes the seed, and the kinds, of which there must be one at least.
    pub(crate) fn new(seed: u64, kinds: Vec<K>) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), kinds, left: Vec::new() }
    }

    /// Draws the kind of the next fault.
    #[track_caller]
    pub(crate) fn draw(&mut self) -> K {
        if self.left.is_empty() {
            self.left.clone_from(&self.kinds);
            self.left.shuffle(&mut self.random);
        }
        self.left.pop().expect("there are kinds")
    }

    /// Draws a time of up to `most`.
    pub(crate) fn time(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.random.random())
    }
}

impl Faults<Kind> {
    /// Faults of every kind that the network has.
    pub(crate) fn of(seed: u64, network: &dyn Network, can_delay: bool) -> Self {
        let kinds = Kind::value_variants().iter().copied();
        Self::new(seed, kinds.filter(|kind| kind.fits(network, can_delay)).collect())
    }

    /// Strikes. What is returned must be healed.
    pub(crate) fn strike(
        &mut self,
        cluster: &mut Cluster,
        kind: Kind,
        leader: u16,
        rules: &Rules<'_>,
    ) -> anyhow::Result<Struck> {
        let others: Vec<u16> = cluster.up().into_iter().filter(|&node| node != leader).collect();
        let follower = *others.choose(&mut self.random).unwrap_or(&leader);
        let mut struck = Struck::default();
        match kind {
            Kind::KillLeader => cluster.kill(leader)?,
            Kind::KillFollower => cluster.kill(follower)?,
            Kind::KillTwo => {
                cluster.kill(leader)?;
                cluster.kill(follower)?;
            }
            Kind::KillKeeper => _ = cluster.kill_with_keeper(leader)?,
            Kind::PauseLeader | Kind::PauseDaemon => {
                struck.pause(cluster, leader, kind == Kind::PauseLeader)?;
            }
            Kind::PauseFollower => struck.pause(cluster, follower, true)?,
            Kind::IsolateLeader
            | Kind::IsolateFollower
            | Kind::MuteLeader
            | Kind::DeafLeader
            | Kind::CutLink
            | Kind::CutOneWay
            | Kind::Partition => {
                let cut = self.cut(kind, leader, follower, &others);
                cluster.network.cut(&cut)?;
            }
            Kind::SlowLinks => {
                let eighth = rules.timing.election.div_f64(8.0);
                let delay = eighth + self.time(eighth);
                cluster.network.delay(delay);
            }
            Kind::FullDisk => {
                cluster.fill_disk(follower, true)?;
                struck.full = Some(follower);
                cluster.kill(leader)?;
            }
            Kind::FullDiskOfLeader => {
                cluster.fill_disk(leader, true)?;
                struck.full = Some(leader);
            }
            Kind::HandOver | Kind::RestartFollower => {
                let node = if kind == Kind::HandOver { leader } else { follower };
                cluster.ask_to_end(node)?;
                struck.ending = Some(node);
            }
            Kind::Transfer => {
                let candidates = cluster.members.candidates();
                let able: Vec<_> =
                    others.iter().filter(|node| candidates.contains(*node)).collect();
                let to = able.choose(&mut self.random).map_or(leader, |&&node| node);
                struck.transfer(cluster, leader, to, rules)?;
            }
            Kind::StepDown => {
                let what = format!("step-down?for={}us", rules.timing.promise.as_micros());
                let (status, answer) = cluster.ask(leader, &what, rules.limit)?;
                anyhow::ensure!(status == 200, "{what}: {status}, {answer}");
            }
            Kind::Reload => reload(cluster, rules.limit)?,
            Kind::ChangeMembers => self.change_members(cluster, leader, rules, &mut struck)?,
        }
        Ok(struck)
    }

    /// The leader leads on, unless it is to leave.
    fn change_members(
        &mut self,
        cluster: &mut Cluster,
        leader: u16,
        rules: &Rules<'_>,
        struck: &mut Struck,
    ) -> anyhow::Result<()> {
        let changes = cluster.members.changes(rules.nodes, rules.voters);
        let chosen = *changes.choose(&mut self.random).context("no change")?;
        let agreed = |nodes: &[u16], since: Instant| {
            wait::until("all follow one", rules.limit, || rules.probe.agreed(nodes, since))
                .map(|_| ())
        };
        let took = change(cluster, chosen, rules.limit, agreed);
        struck.took = took.with_context(|| format!("{chosen:?}"))?;
        struck.leads_on = !chosen.deposes(leader);
        Ok(())
    }

    /// The ways that are cut.
    fn cut(&mut self, kind: Kind, leader: u16, follower: u16, others: &[u16]) -> BTreeSet<Way> {
        let without = |node: u16| others.iter().copied().filter(|&o| o != node).collect::<Vec<_>>();
        match kind {
            Kind::IsolateLeader => both(&between(&[leader], others)),
            Kind::IsolateFollower => {
                let rest = [without(follower), vec![leader]].concat();
                both(&between(&[follower], &rest))
            }
            Kind::MuteLeader => between(&[leader], others),
            Kind::DeafLeader => between(others, &[leader]),
            Kind::CutLink => both(&between(&[leader], &[follower])),
            Kind::CutOneWay if self.random.random() => between(&[leader], &[follower]),
            Kind::CutOneWay => between(&[follower], &[leader]),
            Kind::Partition => both(&between(&[leader, follower], &without(follower))),
            _ => BTreeSet::new(),
        }
    }
}

/// What the faults of a run have in common.
pub(crate) struct Rules<'a> {
    pub(crate) timing: &'a Timing,
    pub(crate) probe: &'a Probe,
    /// How many nodes can be members, and how many must vote.
    pub(crate) nodes: u16,
    pub(crate) voters: usize,
    /// Nothing is waited for longer.
    pub(crate) limit: Duration,
}

/// SIGHUP to all nodes. Each reads its configuration again, and says so.
fn reload(cluster: &Cluster, limit: Duration) -> anyhow::Result<()> {
    for node in cluster.up() {
        let before = cluster.reloads(node);
        cluster.signal(node, Signal::HUP, false)?;
        let what = format!("node {node} has read its configuration again");
        wait::until(&what, limit, || cluster.reloads(node) > before)?;
    }
    Ok(())
}

/// The ways from each of these to each of those.
fn between(from: &[u16], to: &[u16]) -> BTreeSet<Way> {
    from.iter().flat_map(|&from| to.iter().map(move |&to| (from, to))).collect()
}

fn both(ways: &BTreeSet<Way>) -> BTreeSet<Way> {
    ways.iter().flat_map(|&(from, to)| [(from, to), (to, from)]).collect()
}

/// What must be healed, besides the network and processes that are gone.
#[derive(Debug, Default)]
pub(crate) struct Struck {
    paused: Option<u16>,
    full: Option<u16>,
    ending: Option<u16>,
    /// The leader leads on: it was asked to transfer, and has said that it could not; or another
    /// member has come or gone.
    pub(crate) leads_on: bool,
    /// How long an operator has taken for all nodes.
    pub(crate) took: Duration,
}

impl Struck {
    fn pause(&mut self, cluster: &Cluster, node: u16, all: bool) -> anyhow::Result<()> {
        self.paused = Some(node);
        cluster.signal(node, Signal::STOP, all)
    }

    /// If the leader answers with 200, that node must lead, in the epoch of the answer.
    fn transfer(
        &mut self,
        cluster: &Cluster,
        leader: u16,
        to: u16,
        rules: &Rules<'_>,
    ) -> anyhow::Result<()> {
        let (status, answer) = cluster.ask(leader, &format!("transfer?to={to}"), rules.limit)?;
        self.leads_on = status != 200;
        if self.leads_on {
            return Ok(());
        }
        let epoch = answer["epoch"].as_u64().with_context(|| format!("no epoch: {answer}"))?;
        let led = || rules.probe.leader_of(epoch);
        let what = format!("a node leads epoch {epoch}, as the answer to the transfer says");
        let (led, _) = wait::find(&what, rules.timing.promise, led)?;
        anyhow::ensure!(led == to, "{answer} to a transfer to {to}, and {led} leads {epoch}");
        Ok(())
    }

    /// Undoes the fault. A node that cannot write must have ended by itself within `limit`.
    pub(crate) fn heal(self, cluster: &mut Cluster, limit: Duration) -> anyhow::Result<()> {
        if let Some(node) = self.paused {
            cluster.signal(node, Signal::CONT, true)?;
        }
        if let Some(node) = self.ending.or(self.full) {
            wait::until(&format!("node {node} ends"), limit, || cluster.has_ended(node))?;
        }
        if let Some(node) = self.full {
            cluster.fill_disk(node, false)?;
        }
        cluster.network.cut(&BTreeSet::new())?;
        cluster.network.delay(Duration::ZERO);
        for node in cluster.members.all() {
            if cluster.has_ended(node) {
                cluster.start(node)?;
            }
        }
        Ok(())
    }
}

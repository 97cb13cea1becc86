//! The faults that a soak strikes with. Each leaves a majority of nodes that run and reach each
//! other, so each must leave the cluster with a leader.

use std::collections::BTreeSet;
use std::time::Duration;

use rand::Rng as _;
use rand::seq::{IndexedRandom as _, SliceRandom as _};
use rand_chacha::ChaCha8Rng;
use rustix::process::Signal;

use super::cluster::Cluster;
use super::network::Way;
use super::wait;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    KillLeader,
    KillFollower,
    KillTwo,
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
}

impl Kind {
    pub(crate) const ALL: [Self; 17] = [
        Self::KillLeader,
        Self::KillFollower,
        Self::KillTwo,
        Self::PauseLeader,
        Self::PauseDaemon,
        Self::PauseFollower,
        Self::IsolateLeader,
        Self::IsolateFollower,
        Self::MuteLeader,
        Self::DeafLeader,
        Self::CutLink,
        Self::CutOneWay,
        Self::Partition,
        Self::SlowLinks,
        Self::FullDisk,
        Self::FullDiskOfLeader,
        Self::HandOver,
    ];

    /// What happens, for people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KillLeader => "SIGKILL of the leader",
            Self::KillFollower => "SIGKILL of a follower",
            Self::KillTwo => "SIGKILL of the leader and a follower",
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
        )
    }

    /// Whether the others hear the leader as long as its lease lasts, and only then begin to wait.
    pub(crate) fn outlasts_a_lease(self) -> bool {
        self == Self::DeafLeader
    }

    fn needs_delay(self) -> bool {
        self == Self::SlowLinks
    }
}

/// Faults in an order from a seed: of every kind that the network has, one after another, and
/// again.
pub(crate) struct Faults {
    random: ChaCha8Rng,
    kinds: Vec<Kind>,
    left: Vec<Kind>,
}

impl Faults {
    pub(crate) fn new(random: ChaCha8Rng, can_delay: bool) -> Self {
        let kinds = Kind::ALL.into_iter().filter(|kind| can_delay || !kind.needs_delay()).collect();
        Self { random, kinds, left: Vec::new() }
    }

    pub(crate) fn next(&mut self) -> Kind {
        if self.left.is_empty() {
            self.left.clone_from(&self.kinds);
            self.left.shuffle(&mut self.random);
        }
        self.left.pop().unwrap_or(Kind::KillLeader)
    }

    /// A time of up to `most`.
    pub(crate) fn time(&mut self, most: Duration) -> Duration {
        most.mul_f64(self.random.random())
    }

    /// Strikes. What is returned must be healed.
    pub(crate) fn strike(
        &mut self,
        cluster: &mut Cluster,
        kind: Kind,
        leader: u16,
        election: Duration,
    ) -> anyhow::Result<Struck> {
        let others: Vec<u16> = cluster.up().into_iter().filter(|&node| node != leader).collect();
        let follower = *others.choose(&mut self.random).unwrap_or(&leader);
        let all = BTreeSet::from_iter(others.iter().copied().chain([leader]));
        let mut struck = Struck::default();
        match kind {
            Kind::KillLeader => cluster.kill(leader)?,
            Kind::KillFollower => cluster.kill(follower)?,
            Kind::KillTwo => {
                cluster.kill(leader)?;
                cluster.kill(follower)?;
            }
            Kind::PauseLeader | Kind::PauseDaemon => {
                struck.pause(cluster, leader, kind == Kind::PauseLeader)?;
            }
            Kind::PauseFollower => struck.pause(cluster, follower, true)?,
            Kind::IsolateLeader => cluster.network.cut(&both(&between(&[leader], &others)))?,
            Kind::IsolateFollower => {
                let rest: Vec<u16> = all.into_iter().filter(|&node| node != follower).collect();
                cluster.network.cut(&both(&between(&[follower], &rest)))?;
            }
            Kind::MuteLeader => cluster.network.cut(&between(&[leader], &others))?,
            Kind::DeafLeader => cluster.network.cut(&between(&others, &[leader]))?,
            Kind::CutLink => cluster.network.cut(&both(&between(&[leader], &[follower])))?,
            Kind::CutOneWay => {
                let way =
                    if self.random.random() { (leader, follower) } else { (follower, leader) };
                cluster.network.cut(&BTreeSet::from([way]))?;
            }
            Kind::Partition => {
                let rest: Vec<u16> = others.into_iter().filter(|&node| node != follower).collect();
                cluster.network.cut(&both(&between(&[leader, follower], &rest)))?;
            }
            Kind::SlowLinks => {
                let delay = election.div_f64(8.0) + self.time(election.div_f64(8.0));
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
            Kind::HandOver => {
                cluster.ask_to_end(leader)?;
                struck.ending = Some(leader);
            }
        }
        Ok(struck)
    }
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
}

impl Struck {
    fn pause(&mut self, cluster: &Cluster, node: u16, all: bool) -> anyhow::Result<()> {
        self.paused = Some(node);
        cluster.signal(node, Signal::STOP, all)
    }

    /// Undoes the fault. A node that cannot write must have ended by itself within `limit`.
    pub(crate) fn heal(
        self,
        cluster: &mut Cluster,
        nodes: u16,
        limit: Duration,
    ) -> anyhow::Result<()> {
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
        for node in 1..=nodes {
            if cluster.has_ended(node) {
                cluster.start(node)?;
            }
        }
        Ok(())
    }
}

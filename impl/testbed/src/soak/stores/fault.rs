//! The faults of nodes, of their store, and of what is between them; and mistakes of people.

use bellwether_testbed::lease_api::Trouble;
use bellwether_testbed::mistakes::Mistake;
use bellwether_testbed::process::Signal;
use bellwether_testbed::relay::Gate;
use bellwether_testbed::servers::Store;
use clap::ValueEnum;

use super::{COPY, Stand};
use crate::cluster::CLUSTER;
use crate::etcd;
use crate::soak::LIMIT;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(super) enum Kind {
    KillLeader,
    KillFollower,
    PauseLeader,
    PauseDaemon,
    HandOver,
    CutLeader,
    CutFollower,
    CutAll,
    WithholdLeader,
    WithholdAll,
    KillStore,
    RestartStore,
    StopStore,
    Conflicts,
    ConflictsAndKill,
    CutWatches,
    Forgotten,
    CopyLeader,
    #[value(skip)]
    Mistaken(Mistake),
}

/// The nodes that must tell of a fault in their status.
pub(super) struct Witnesses {
    pub(super) nodes: Vec<u16>,
    /// True if all of them must tell, false if one is enough.
    pub(super) all: bool,
    /// True if they may notice it only when the lease that they know of would be over.
    pub(super) is_late: bool,
}

impl Kind {
    /// What can happen with this store. A file is never away, only taken by another.
    pub(super) fn of(store: Store) -> Vec<Self> {
        let all = Self::value_variants().iter().copied();
        let all = all.chain(Mistake::ALL.map(Self::Mistaken));
        let can = |kind: &Self| match store {
            Store::Sqlite => kind.needs_no_server(),
            Store::Kubernetes => true,
            // A person changes its keys by `etcdctl`.
            Store::Etcd if matches!(kind, Self::Mistaken(_)) => etcd::is_there(),
            _ => kind.trouble().is_none(),
        };
        all.filter(can).collect()
    }

    /// What happens at the API of Kubernetes.
    fn trouble(self) -> Option<Trouble> {
        match self {
            Self::Conflicts | Self::ConflictsAndKill => Some(Trouble::Conflicts),
            Self::CutWatches => Some(Trouble::Cut),
            Self::Forgotten => Some(Trouble::Forgotten),
            _ => None,
        }
    }

    fn needs_no_server(self) -> bool {
        matches!(
            self,
            Self::KillLeader
                | Self::KillFollower
                | Self::PauseLeader
                | Self::PauseDaemon
                | Self::HandOver
                | Self::StopStore
                | Self::CopyLeader
                | Self::Mistaken(_)
        )
    }

    /// What happens, for people.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::KillLeader => "SIGKILL of the leader",
            Self::KillFollower => "SIGKILL of a follower",
            Self::PauseLeader => "SIGSTOP of the leader and its command, then SIGCONT",
            Self::PauseDaemon => "SIGSTOP of the leader without its command, then SIGCONT",
            Self::HandOver => "SIGTERM of the leader",
            Self::CutLeader => "the leader cut from the store",
            Self::CutFollower => "a follower cut from the store",
            Self::CutAll => "all cut from the store",
            Self::WithholdLeader => "answers to the leader withheld",
            Self::WithholdAll => "answers to all withheld",
            Self::KillStore => "SIGKILL of the store",
            Self::RestartStore => "the store restarts",
            Self::StopStore => "the store stopped",
            Self::Conflicts => "another program changes the object",
            Self::ConflictsAndKill => {
                "SIGKILL of the leader, and another program changes the object"
            }
            Self::CutWatches => "all watches cut",
            Self::Forgotten => "all watches end, and what came before is forgotten",
            Self::CopyLeader => "a copy of the leader starts",
            Self::Mistaken(Mistake::Deleted) => "the record is deleted",
            Self::Mistaken(Mistake::Flushed) => "all that the store has is deleted",
            Self::Mistaken(Mistake::Older) => "an older record is restored",
            Self::Mistaken(Mistake::Far) => "SIGKILL of the leader, its deadline set far ahead",
            Self::Mistaken(Mistake::Stranger) => "the holder is set to somebody unknown",
        }
    }

    /// Whether another node must lead before it is over. A leader whose answers are withheld may
    /// have the lease on and on: the store hears it.
    pub(super) fn deposes(self) -> bool {
        matches!(
            self,
            Self::KillLeader
                | Self::PauseLeader
                | Self::PauseDaemon
                | Self::HandOver
                | Self::CutLeader
                | Self::ConflictsAndKill
                | Self::Mistaken(Mistake::Far)
        )
    }

    /// Returns a part of the `problem` that nodes must tell; `None` if there is none.
    pub(super) fn problem(self, leader: u16) -> Option<String> {
        Some(match self {
            Self::CopyLeader => format!("another process with the name {leader} holds the lease"),
            Self::Mistaken(Mistake::Deleted | Mistake::Flushed | Mistake::Older) => {
                "the store has lost its record of the lease".to_owned()
            }
            Self::Mistaken(Mistake::Far) => format!("{leader} holds the lease for longer than"),
            Self::Mistaken(Mistake::Stranger) => "9 holds the lease".to_owned(),
            _ => return None,
        })
    }

    /// Returns who must tell of it. One node is enough where the first that notices may mend the
    /// record before another has seen it: a lost record with every store, and a holder that is
    /// unknown with PostgreSQL and Redis, which tell their clients of no change that a person
    /// makes. With these two, a deadline that is far ahead is noticed once the lease that a node
    /// knows of would be over.
    pub(super) fn witnesses(self, store: Store, up: Vec<u16>) -> Witnesses {
        let is_told = !matches!(store, Store::Postgres | Store::Redis);
        match self {
            Self::CopyLeader => Witnesses { nodes: vec![COPY], all: true, is_late: true },
            Self::Mistaken(Mistake::Far) => Witnesses { nodes: up, all: true, is_late: !is_told },
            Self::Mistaken(Mistake::Stranger) => {
                Witnesses { nodes: up, all: is_told, is_late: false }
            }
            _ => Witnesses { nodes: up, all: false, is_late: false },
        }
    }

    pub(super) fn strike(
        self,
        stand: &mut Stand,
        leader: u16,
        follower: u16,
    ) -> anyhow::Result<()> {
        let all = stand.cluster.up();
        if let Some(trouble) = self.trouble() {
            trouble.begin(stand.server.port())?;
        }
        match self {
            Self::Conflicts | Self::CutWatches | Self::Forgotten => {}
            Self::KillLeader | Self::ConflictsAndKill => stand.cluster.kill(leader)?,
            Self::KillFollower => stand.cluster.kill(follower)?,
            Self::PauseLeader => stand.cluster.signal(leader, Signal::STOP, true)?,
            Self::PauseDaemon => stand.cluster.signal(leader, Signal::STOP, false)?,
            Self::HandOver => stand.cluster.stop(leader, LIMIT)?,
            Self::CutLeader => stand.gate(&[leader], Gate::Cut),
            Self::CutFollower => stand.gate(&[follower], Gate::Cut),
            Self::CutAll => stand.gate(&all, Gate::Cut),
            Self::WithholdLeader => stand.gate(&[leader], Gate::Withheld),
            Self::WithholdAll => stand.gate(&all, Gate::Withheld),
            Self::KillStore => stand.server.kill(),
            Self::RestartStore => stand.server.restart()?,
            Self::StopStore => stand.server.stop()?,
            Self::CopyLeader => {
                stand.cluster.start_copy(leader, COPY)?;
                stand.cluster.wait_until_it_answers(COPY, LIMIT)?;
            }
            Self::Mistaken(mistake) => {
                if mistake == Mistake::Far {
                    stand.cluster.kill(leader)?;
                }
                mistake.make(&stand.server, CLUSTER)?;
            }
        }
        Ok(())
    }

    /// Undoes it.
    pub(super) fn heal(self, stand: &mut Stand, nodes: u16) -> anyhow::Result<()> {
        let all: Vec<u16> = (1..=nodes).collect();
        stand.gate(&all, Gate::Open);
        match self {
            Self::KillStore => stand.server.restart()?,
            Self::StopStore => stand.server.cont(),
            Self::CopyLeader => stand.cluster.kill_all(COPY)?,
            _ => {}
        }
        for node in all {
            if stand.cluster.has_ended(node) {
                stand.cluster.start(node)?;
            } else {
                stand.cluster.signal(node, Signal::CONT, true)?;
            }
        }
        Ok(())
    }
}

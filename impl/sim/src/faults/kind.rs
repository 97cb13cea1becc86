//! The kinds of faults, and the sets of them that have names.

use std::fmt;

use serde::Serialize;

/// A kind of fault. `--faults` names a set of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Messages are lost.
    Losses,
    /// Messages arrive twice, the second time later.
    Duplicates,
    /// Messages take long, and overtake each other.
    Delays,
    /// A link does not work in one direction.
    Cuts,
    /// The nodes are divided in two groups that do not hear each other, or only in one direction.
    Partitions,
    /// A process stops and goes on later, at any place of its code.
    Pauses,
    /// The rate of a clock changes, within the drift that the configuration allows.
    Clocks,
    /// Writes to a disk take long.
    Stalls,
    /// A process crashes and restarts later from what was synced.
    Crashes,
    /// A process crashes around a sync: before the write, before it is synced, while it handles
    /// something else meanwhile, after it is synced, between the messages that wait for it, or
    /// after them.
    Syncs,
    /// A node is asked to hand over, to step down or not to run, or its machine is unfit to lead.
    Requests,
    /// A process is told to leave, hands over if it leads, and restarts later.
    Leaves,
    /// An operator asks the leader to let another node lead, which can or cannot.
    Transfers,
    /// An operator asks the leader for another list of members.
    Members,
    /// Some links are slow for good: a round trip takes longer than the time between two rounds.
    Distances,
    /// An operator changes the durations, and nodes restart with them one after another.
    Reloads,
    /// A process crashes, and all that is on its disk is lost, if the others can go on without it.
    Wipe,
    /// The store of the lease cannot be asked for a while.
    Outages,
    /// Someone deletes the record of the lease, changes its holder or its deadline, or sets the
    /// clock of the store back.
    Mistakes,
    /// Someone restores a dump of the store with an older token.
    Restores,
    /// A machine becomes a copy of another one, so that two processes have one id.
    Twins,
    /// The store starts again without the last writes that it has acknowledged.
    Rewinds,
    /// The lease ends in the store before its time.
    Expiries,
}

impl Kind {
    /// Those that strike nodes of any protocol.
    pub const ALL: [Self; 12] = [
        Self::Losses,
        Self::Duplicates,
        Self::Delays,
        Self::Cuts,
        Self::Partitions,
        Self::Pauses,
        Self::Clocks,
        Self::Stalls,
        Self::Crashes,
        Self::Syncs,
        Self::Requests,
        Self::Leaves,
    ];

    /// What operators do, by mistake too, and where they put nodes. A protocol must have what these
    /// ask for.
    pub const OPERATORS: [Self; 5] =
        [Self::Transfers, Self::Members, Self::Distances, Self::Reloads, Self::Wipe];

    /// What happens to a store that grants the lease, and to the machines of its clients.
    pub const STORES: [Self; 6] =
        [Self::Outages, Self::Mistakes, Self::Restores, Self::Twins, Self::Rewinds, Self::Expiries];

    /// All of them.
    pub fn every() -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().chain(Self::OPERATORS).chain(Self::STORES)
    }

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Losses => "losses",
            Self::Duplicates => "duplicates",
            Self::Delays => "delays",
            Self::Cuts => "cuts",
            Self::Partitions => "partitions",
            Self::Pauses => "pauses",
            Self::Clocks => "clocks",
            Self::Stalls => "stalls",
            Self::Crashes => "crashes",
            Self::Syncs => "syncs",
            Self::Requests => "requests",
            Self::Leaves => "leaves",
            Self::Transfers => "transfers",
            Self::Members => "members",
            Self::Distances => "distances",
            Self::Reloads => "reloads",
            Self::Wipe => "wipe",
            Self::Outages => "outages",
            Self::Mistakes => "mistakes",
            Self::Restores => "restores",
            Self::Twins => "twins",
            Self::Rewinds => "rewinds",
            Self::Expiries => "expiries",
        }
    }
}

/// Which faults there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Faults {
    /// These kinds, on every node and link.
    Of(Vec<Kind>),
    /// One node, not the leader, is cut off, pauses and crashes, again and again.
    Flap,
}

impl Faults {
    /// Every kind that strikes nodes of any protocol.
    #[must_use]
    pub fn all() -> Self {
        Self::Of(Kind::ALL.to_vec())
    }

    /// The faults with this name: `none`, `flap`, or kinds joined by `+`, of which `all` is every
    /// one that strikes nodes of any protocol, and `operators` every one of operators.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        match text {
            "none" => return Some(Self::Of(Vec::new())),
            "flap" => return Some(Self::Flap),
            _ => {}
        }
        let mut kinds = Vec::new();
        for name in text.split('+') {
            match name {
                "all" => kinds.extend(Kind::ALL),
                "operators" => kinds.extend(Kind::OPERATORS),
                _ => kinds.push(Kind::every().find(|kind| kind.name() == name)?),
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        Some(Self::Of(kinds))
    }

    /// Whether this kind is among them.
    #[must_use]
    pub fn have(&self, kind: Kind) -> bool {
        matches!(self, Self::Of(kinds) if kinds.contains(&kind))
    }

    /// Whether this kind is all that there is.
    #[must_use]
    pub fn are_only(&self, kind: Kind) -> bool {
        matches!(self, Self::Of(kinds) if kinds.as_slice() == [kind])
    }

    /// Whether any of these kinds is among them.
    #[must_use]
    pub fn have_any(&self, kinds: &[Kind]) -> bool {
        kinds.iter().any(|&kind| self.have(kind))
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flap => f.write_str("flap"),
            Self::Of(kinds) if kinds.is_empty() => f.write_str("none"),
            Self::Of(kinds) => {
                let all = Kind::ALL.iter().all(|kind| kinds.contains(kind));
                let others = kinds.iter().filter(|&kind| !all || !Kind::ALL.contains(kind));
                let first = all.then_some("all");
                let names: Vec<_> =
                    first.into_iter().chain(others.map(|kind| kind.name())).collect();
                f.write_str(&names.join("+"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Faults, Kind};

    #[test]
    fn names_of_faults_are_read_as_they_are_written() {
        for text in ["all", "none", "flap", "losses", "cuts+pauses+syncs", "all+members"] {
            let faults = Faults::named(text).expect("a name");
            assert_eq!(faults.to_string(), text);
        }
        assert_eq!(Faults::named("pauses+cuts+cuts"), Faults::named("cuts+pauses"));
        assert_eq!(Faults::named("earthquakes"), None);
        let each: Vec<_> = Kind::ALL.into_iter().map(Kind::name).collect();
        assert_eq!(Faults::named(&each.join("+")), Some(Faults::all()));
        let others: Vec<_> = Kind::OPERATORS.into_iter().map(Kind::name).collect();
        assert_eq!(Faults::named(&others.join("+")), Faults::named("operators"));
        assert_eq!(Faults::named("all+"), None);
    }
}

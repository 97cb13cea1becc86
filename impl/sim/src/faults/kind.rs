//! The kinds of faults, and the sets of them that have names.

use std::fmt;

use clap::ValueEnum;

/// A kind of fault. `--faults` names a set of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
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
    /// Returns those that strike nodes of any protocol.
    #[must_use]
    pub fn all() -> &'static [Self] {
        &Self::value_variants()[..Self::Transfers as usize]
    }

    /// Returns those of operators, by mistake too, and of where they put nodes. A protocol must
    /// have what these ask for.
    #[must_use]
    pub fn operators() -> &'static [Self] {
        &Self::value_variants()[Self::Transfers as usize..Self::Outages as usize]
    }

    /// Returns those of a store that grants the lease, and of the machines of its clients.
    #[must_use]
    pub fn stores() -> &'static [Self] {
        &Self::value_variants()[Self::Outages as usize..]
    }

    /// Returns the name.
    #[must_use]
    pub fn name(self) -> String {
        format!("{self:?}").to_lowercase()
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
        Self::Of(Kind::all().to_vec())
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
                "all" => kinds.extend(Kind::all()),
                "operators" => kinds.extend(Kind::operators()),
                _ => kinds.push(Kind::from_str(name, false).ok()?),
            }
        }
        kinds.sort_unstable();
        kinds.dedup();
        Some(Self::Of(kinds))
    }

    /// Returns whether this kind is among them.
    #[must_use]
    pub fn have(&self, kind: Kind) -> bool {
        matches!(self, Self::Of(kinds) if kinds.contains(&kind))
    }

    /// Returns whether this kind is all that there is.
    #[must_use]
    pub fn are_only(&self, kind: Kind) -> bool {
        matches!(self, Self::Of(kinds) if kinds.as_slice() == [kind])
    }

    /// Returns whether any of these kinds is among them.
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
                let all = Kind::all().iter().all(|kind| kinds.contains(kind));
                let others = kinds.iter().filter(|&kind| !all || !Kind::all().contains(kind));
                let first = all.then(|| "all".to_owned());
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
        let each: Vec<_> = Kind::all().iter().map(|kind| kind.name()).collect();
        assert_eq!(Faults::named(&each.join("+")), Some(Faults::all()));
        let others: Vec<_> = Kind::operators().iter().map(|kind| kind.name()).collect();
        assert_eq!(Faults::named(&others.join("+")), Faults::named("operators"));
        assert_eq!(Faults::named("all+"), None);
    }
}

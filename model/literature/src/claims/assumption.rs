//! What a text assumes, and what a run has that an assumption rules out.
//!
//! A run departs from a calm world: a process crashes, a message is lost. Which departures it has
//! is read off its scenario. A text either rules a departure out, or says that it may happen, or
//! is silent. So which runs lie within the stated assumptions is computed, and not chosen.

use super::entry::{Ask, Check, Claim, Source};
use crate::entries;
use bellwether_model::round::{Group, Starters};
use bellwether_model::world::{Budget, Delay, Network, Scenario, Start, Timing};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeSet;
use std::fmt;

/// Something that does not happen in a calm world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Departure {
    /// A process crashes.
    Crash,
    /// More than one process crashes.
    SecondCrash,
    /// A process crashes while an election runs.
    CrashInElection,
    /// A crashed process recovers, perhaps while an election runs.
    Recovery,
    /// A crashed process recovers when the others have long agreed.
    LateRecovery,
    /// A message is lost.
    Loss,
    /// A message is doubled.
    Duplicate,
    /// A message overtakes another on its link.
    Overtaking,
    /// A time-out expires before what it waits for could come.
    EarlyTimeOut,
    /// A link is cut.
    Cut,
    /// A link does not exist.
    MissingLink,
    /// A process pauses.
    Pause,
    /// Clocks run at different speeds.
    Drift,
    /// All processes that are up notice at once.
    AllNotice,
    /// All processes boot at once.
    AllStart,
}

impl Departure {
    /// Every departure.
    pub const ALL: [Departure; 15] = [
        Departure::Crash,
        Departure::SecondCrash,
        Departure::CrashInElection,
        Departure::Recovery,
        Departure::LateRecovery,
        Departure::Loss,
        Departure::Duplicate,
        Departure::Overtaking,
        Departure::EarlyTimeOut,
        Departure::Cut,
        Departure::MissingLink,
        Departure::Pause,
        Departure::Drift,
        Departure::AllNotice,
        Departure::AllStart,
    ];

    /// Its name in the ledger, and the assumption that rules it out in words.
    #[must_use]
    pub const fn words(self) -> (&'static str, &'static str) {
        match self {
            Departure::Crash => ("crash", "no process crashes"),
            Departure::SecondCrash => ("second crash", "no second process crashes"),
            Departure::CrashInElection => {
                ("crash during an election", "no process crashes during an election")
            }
            Departure::Recovery => ("recovery", "crashed processes stay down"),
            Departure::LateRecovery => ("late recovery", "no process recovers after the election"),
            Departure::Loss => ("loss", "no message is lost"),
            Departure::Duplicate => ("duplicate", "no message is doubled"),
            Departure::Overtaking => {
                ("overtaking", "messages arrive in the order of their sending")
            }
            Departure::EarlyTimeOut => ("early time-out", "no time-out expires too early"),
            Departure::Cut => ("cut", "no link is cut"),
            Departure::MissingLink => ("missing link", "every process hears every other"),
            Departure::Pause => ("pause", "no process is paused"),
            Departure::Drift => ("drift", "all clocks run alike"),
            Departure::AllNotice => ("all notice", "not all processes notice at once"),
            Departure::AllStart => ("all start", "not all processes boot at once"),
        }
    }

    /// Whether it is a fault of its own, and neither how a world is made nor how much another fault
    /// comes to.
    pub(super) const fn is_a_fault(self) -> bool {
        matches!(
            self,
            Departure::Crash
                | Departure::Recovery
                | Departure::Loss
                | Departure::Duplicate
                | Departure::EarlyTimeOut
                | Departure::Cut
                | Departure::Pause
        )
    }

    /// What this run has of them: what its world tells, or of a program what the ledger says.
    ///
    /// # Errors
    /// If its world is none.
    pub(super) fn of(check: &Check) -> Result<BTreeSet<Departure>, String> {
        let Check { ask, has, .. } = check;
        let Some(subject) = ask.subject() else { return Ok(has.clone()) };
        let Some(&nodes) = subject.nodes.first() else { return Ok(BTreeSet::new()) };
        let mut scenario = subject.scenario(nodes)?;
        let (mut all_notice, mut late) = (false, scenario.faults.recoveries > 0);
        let calm = matches!(ask, Ask::Round { .. });
        if let Ask::Round { crashed, starters, .. } = ask {
            // A process that recovers has crashed besides.
            let again = matches!(starters, Starters::Some(Group::Restarted | Group::Returned));
            let crashed = u8::try_from(*crashed + usize::from(again)).unwrap_or(u8::MAX);
            scenario.faults.crashes = scenario.faults.crashes.max(crashed);
            all_notice =
                matches!(starters, Starters::Some(Group::All | Group::Pairs | Group::Triples));
            // A calm round has no recovery but this one, when nothing else is left to happen.
            late = again;
            scenario.faults.recoveries = 0;
        }
        let has = |departure: &Departure| match departure {
            Departure::AllNotice => all_notice,
            Departure::LateRecovery => late,
            // Those that are down in a calm round are so before it begins.
            Departure::CrashInElection => !calm && begins_before_a_crash(&scenario),
            other => other.is_in(&scenario),
        };
        Ok(Departure::ALL.into_iter().filter(has).collect())
    }

    /// What some execution of this run has: also what need not be said of every world.
    ///
    /// # Errors
    /// If its world is none.
    pub(super) fn met_by(check: &Check) -> Result<BTreeSet<Departure>, String> {
        let mut all = Departure::of(check)?;
        // In a search each process that is left may notice a crash, at any moment.
        let searched = matches!(check.ask, Ask::Property(..) | Ask::Most(..) | Ask::Least { .. });
        if searched && all.contains(&Departure::Crash) {
            all.insert(Departure::AllNotice);
        }
        Ok(all)
    }

    fn is_in(self, scenario: &Scenario) -> bool {
        let faults = scenario.faults;
        let timed = scenario.timing.timed();
        let stops = usize::from(faults.crashes) + scenario.down.len();
        match self {
            Departure::Crash => stops > 0,
            Departure::SecondCrash => stops > 1,
            Departure::Recovery => faults.recoveries > 0,
            Departure::Loss => faults.losses != Budget::NONE,
            Departure::Duplicate => faults.duplicates > 0,
            Departure::Overtaking => scenario.network != Network::Fifo,
            Departure::EarlyTimeOut => {
                faults.suspicions > 0
                    || scenario.timing == Timing::Asynchronous
                    || timed.is_some_and(|timed| timed.delay == Delay::Unbounded)
            }
            Departure::Cut => faults.cuts > 0 || faults.one_way_cuts > 0,
            Departure::MissingLink => !scenario.missing.is_empty(),
            Departure::Pause => faults.pauses > 0,
            Departure::Drift => {
                faults.jumps > 0 || timed.is_some_and(|timed| !timed.drift.is_none())
            }
            Departure::AllStart => scenario.start == Start::Cold,
            Departure::AllNotice | Departure::LateRecovery | Departure::CrashInElection => false,
        }
    }
}

/// What may start an election before a process crashes: another crash, a cold start, or what makes
/// a process miss another that is up.
const STARTS: [Departure; 8] = [
    Departure::SecondCrash,
    Departure::Loss,
    Departure::EarlyTimeOut,
    Departure::Cut,
    Departure::MissingLink,
    Departure::Pause,
    Departure::Drift,
    Departure::AllStart,
];

/// Whether an election may run when a process crashes.
fn begins_before_a_crash(scenario: &Scenario) -> bool {
    scenario.faults.crashes > 0 && STARTS.into_iter().any(|one| one.is_in(scenario))
}

/// Whether a run cannot have all of these without a crash that may strike an election.
pub(super) fn strike_an_election(all: &BTreeSet<Departure>) -> bool {
    let crashes =
        [Departure::Crash, Departure::SecondCrash, Departure::Recovery, Departure::LateRecovery];
    crashes.iter().any(|one| all.contains(one)) && STARTS.iter().any(|one| all.contains(one))
}

/// An assumption of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub enum Assumption {
    /// This does not happen in the world: `no recovery`.
    No(Departure),
    /// Something else, of which a check says that it runs without it.
    Other(String),
}

fn named(name: &str) -> Option<Departure> {
    Departure::ALL.into_iter().find(|departure| departure.words().0 == name)
}

impl TryFrom<String> for Departure {
    type Error = String;

    fn try_from(name: String) -> Result<Departure, String> {
        named(&name).ok_or_else(|| {
            let known: Vec<&str> = Departure::ALL.iter().map(|known| known.words().0).collect();
            format!("nothing that may happen is called '{name}'; there are: {}", known.join(", "))
        })
    }
}

impl TryFrom<String> for Assumption {
    type Error = String;

    fn try_from(text: String) -> Result<Assumption, String> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(departure) = text.strip_prefix("no ").and_then(named) {
            return Ok(Assumption::No(departure));
        }
        match text.split(' ').count() {
            0..=2 => Err(format!(
                "'{text}' is no assumption; write 'no' and what does not happen, or a sentence"
            )),
            _ => Ok(Assumption::Other(text)),
        }
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Assumption::No(departure) => departure.words().1,
            Assumption::Other(words) => words,
        })
    }
}

/// What a text, or a part of it, assumes of the world.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stance {
    /// The sections that say so, and what they say.
    #[serde(deserialize_with = "entries::prose")]
    pub says: String,
    /// What is assumed.
    #[serde(default)]
    pub assumes: BTreeSet<Assumption>,
    /// What may happen.
    #[serde(default, deserialize_with = "may_happen")]
    pub admits: BTreeSet<Departure>,
}

/// Reads what may happen: a process that may recover at any moment may also recover late.
pub(super) fn may_happen<'de, D: Deserializer<'de>>(
    all: D,
) -> Result<BTreeSet<Departure>, D::Error> {
    let mut all = BTreeSet::<Departure>::deserialize(all)?;
    if all.contains(&Departure::Recovery) {
        all.insert(Departure::LateRecovery);
    }
    Ok(all)
}

/// Where a run stands towards what the text assumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Everything that is unusual in it may happen, the text says.
    Inside,
    /// The text does not say whether these hold, and the run is without them.
    Silent(Vec<Assumption>),
    /// The text assumes these, and the run is without them.
    Outside(Vec<Assumption>),
}

impl Standing {
    /// Where this run stands towards the claim and the text that it is from.
    ///
    /// # Errors
    /// If its world is none.
    pub fn of(source: &Source, claim: &Claim, check: &Check) -> Result<Standing, String> {
        let (mut outside, mut silent) = (Vec::new(), Vec::new());
        for departure in Departure::of(check)? {
            match Says::of(source, claim, departure) {
                Says::ItDoesNotHappen => outside.push(Assumption::No(departure)),
                Says::ItMayHappen => {}
                Says::Nothing => silent.push(Assumption::No(departure)),
            }
        }
        // A recovery at any moment may also be a late one.
        if silent.contains(&Assumption::No(Departure::Recovery)) {
            silent.retain(|left| *left != Assumption::No(Departure::LateRecovery));
        }
        let (stated, left): (Vec<_>, Vec<_>) =
            check.without.iter().cloned().partition(|words| claim.assumes.contains(words));
        outside.extend(stated);
        // What is said in words says more precisely what a departure takes away.
        let silent = if left.is_empty() { silent } else { left };
        Ok(match (outside.is_empty(), silent.is_empty()) {
            (false, _) => Standing::Outside(outside),
            (true, false) => Standing::Silent(silent),
            (true, true) => Standing::Inside,
        })
    }
}

/// What the text says of a departure, where the claim stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Says {
    ItDoesNotHappen,
    ItMayHappen,
    Nothing,
}

impl Says {
    pub(super) fn of(source: &Source, claim: &Claim, departure: Departure) -> Says {
        let stance = source.stance(claim);
        let assumption = Assumption::No(departure);
        let theirs = stance.is_some_and(|stance| stance.assumes.contains(&assumption));
        let ours = claim.admits.contains(&departure);
        let admitted = ours || stance.is_some_and(|stance| stance.admits.contains(&departure));
        match claim.assumes.contains(&assumption) || theirs && !ours {
            true => Says::ItDoesNotHappen,
            false if admitted => Says::ItMayHappen,
            false => Says::Nothing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Assumption, Departure};

    #[test]
    fn what_is_no_assumption_is_refused() {
        let read = |text: &str| Assumption::try_from(text.to_owned());
        assert_eq!(read("no recovery"), Ok(Assumption::No(Departure::Recovery)));
        assert_eq!(read("no early time-out"), Ok(Assumption::No(Departure::EarlyTimeOut)));
        let words = "the counter is on stable storage";
        assert_eq!(read(words), Ok(Assumption::Other(words.to_owned())));
        let error = read("no recovry").expect_err("no assumption");
        assert!(error.contains("what does not happen"), "{error}");
        let error = Departure::try_from("recovry".to_owned()).expect_err("no departure");
        assert!(error.contains("crash, second crash, crash during an election"), "{error}");
    }

    #[test]
    fn names_are_different() {
        for (at, departure) in Departure::ALL.into_iter().enumerate() {
            let same = |other: &Departure| other.words().0 == departure.words().0;
            assert_eq!(Departure::ALL.iter().position(same), Some(at));
        }
    }
}

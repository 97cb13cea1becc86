//! The scenario of a world: how many processes, which faults, network and timing. It is printed
//! with every verdict, because a verdict without its assumptions is worthless.

use super::AbsentLinks;
use super::timed::Timed;
use crate::protocol::Ids;
use crate::words::jumps;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The budgets of the faults: how often each may strike in one execution. A budget bounds how
/// often, never when or where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Faults {
    /// The number of crashes: a process stops and loses its volatile state; messages in flight stay
    /// in flight.
    pub crashes: u8,
    /// The number of recoveries: a crashed process starts again.
    pub recoveries: u8,
    /// The number of losses: a message is lost instead of delivered.
    pub losses: Budget,
    /// The number of duplicates: a message in flight is doubled.
    pub duplicates: u8,
    /// The number of cuts: the link between two processes is cut, in both directions; what is in
    /// flight on it and what is sent into it is lost.
    pub cuts: u8,
    /// The number of one-way cuts: one direction of the link between two processes is cut; what is
    /// in flight there and what is sent there is lost, and the other direction works.
    #[serde(skip_serializing_if = "none")]
    pub one_way_cuts: u8,
    /// The number of false suspicions: a timer expires although what it waits for could still come
    /// (with perfect timing; with asynchronous timing this happens without bound).
    pub suspicions: u8,
    /// The number of pauses: a process stops for any time and then goes on as if nothing had
    /// happened, as if the garbage collector or the hypervisor held it; only in timed worlds.
    #[serde(skip_serializing_if = "none")]
    pub pauses: u8,
    /// The number of jumps: the clock of one process jumps ahead or back; only in timed worlds.
    #[serde(skip_serializing_if = "none")]
    pub jumps: u8,
}

impl Faults {
    /// The budgets of a world in which nothing goes wrong.
    pub const NONE: Faults = Faults {
        crashes: 0,
        recoveries: 0,
        losses: Budget::NONE,
        duplicates: 0,
        cuts: 0,
        one_way_cuts: 0,
        suspicions: 0,
        pauses: 0,
        jumps: 0,
    };

    /// Returns the budgets with their names, in the order in which they are printed.
    #[must_use]
    pub fn named(self) -> [(&'static str, Budget); 9] {
        [
            ("crashes", self.crashes.into()),
            ("recoveries", self.recoveries.into()),
            ("losses", self.losses),
            ("duplicates", self.duplicates.into()),
            ("cuts", self.cuts.into()),
            ("one-way-cuts", self.one_way_cuts.into()),
            ("suspicions", self.suspicions.into()),
            ("pauses", self.pauses.into()),
            ("jumps", self.jumps.into()),
        ]
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn none(number: &u8) -> bool {
    *number == 0
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let one = |name: &'static str| match name {
            "crashes" => "crash",
            "recoveries" => "recovery",
            "losses" => "loss",
            "one-way-cuts" => "one-way cut",
            plural => plural.trim_end_matches('s'),
        };
        let struck = self.named().into_iter().filter(|&(_, budget)| budget != Budget::NONE);
        let named = struck.map(|(name, budget)| match budget {
            Budget::AtMost(1) => format!("1 {}", one(name)),
            _ => format!("{budget} {}", name.replace("one-way-", "one-way ")),
        });
        let named: Vec<_> = named.collect();
        f.write_str(if named.is_empty() { "none" } else { "" })?;
        f.write_str(&named.join(", "))
    }
}

/// A bound on how often something may happen in one execution; written as a number, or as
/// `unbounded`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Written", into = "Written")]
pub enum Budget {
    /// The budget of at most this number of times.
    AtMost(u8),
    /// The budget of any number of times: it costs nothing and is not counted.
    Unbounded,
}

impl Budget {
    /// The budget of what never happens.
    pub const NONE: Budget = Budget::AtMost(0);

    /// Returns whether it may happen once more after it has happened `spent` times.
    #[must_use]
    pub fn allows(self, spent: Budget) -> bool {
        match (self, spent) {
            (Budget::Unbounded, _) => true,
            (Budget::AtMost(most), Budget::AtMost(spent)) => spent < most,
            (Budget::AtMost(_), Budget::Unbounded) => false,
        }
    }

    /// Returns what is spent once it has happened again, which this budget allows: what has no
    /// bound is not counted, so that states do not differ in how often it happened.
    #[must_use]
    pub fn spend(self, spent: Budget) -> Budget {
        match (self, spent) {
            (Budget::AtMost(_), Budget::AtMost(spent)) => Budget::AtMost(spent + 1),
            _ => spent,
        }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Budget::NONE
    }
}

impl From<u8> for Budget {
    fn from(most: u8) -> Self {
        Budget::AtMost(most)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Budget::AtMost(most) => write!(f, "{most}"),
            Budget::Unbounded => f.write_str("unbounded"),
        }
    }
}

impl FromStr for Budget {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "unbounded" => Ok(Budget::Unbounded),
            number => match number.parse() {
                Ok(most) => Ok(Budget::AtMost(most)),
                Err(_) => Err("give a whole number from 0 to 255, or 'unbounded'"),
            },
        }
    }
}

/// How a budget stands in JSON.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Number(u8),
    Word(Word),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Word {
    Unbounded,
}

impl From<Written> for Budget {
    fn from(written: Written) -> Self {
        match written {
            Written::Number(most) => Budget::AtMost(most),
            Written::Word(Word::Unbounded) => Budget::Unbounded,
        }
    }
}

impl From<Budget> for Written {
    fn from(budget: Budget) -> Self {
        match budget {
            Budget::AtMost(most) => Written::Number(most),
            Budget::Unbounded => Written::Word(Word::Unbounded),
        }
    }
}

/// The order in which the network delivers messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Network {
    /// Messages from one process to another arrive in the order in which they were sent.
    #[default]
    Fifo,
    /// Messages arrive in any order: a multiset.
    Unordered,
    /// Messages arrive in any order, and identical messages in flight merge into one.
    Set,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Network::Fifo => "fifo",
            Network::Unordered => "unordered",
            Network::Set => "set",
        })
    }
}

/// The timing: when an armed timer may expire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "there is one for each world, and it is `Copy`")]
pub enum Timing {
    /// A timer expires only once what it waits for can no longer come: synchrony without a clock.
    #[default]
    Perfect,
    /// A timer expires at any moment: no time-out can be trusted.
    Asynchronous,
    /// A timer expires when its time has come: everything counts ticks.
    Timed(Timed),
}

impl Timing {
    /// Returns the name of the timing, without its times.
    #[must_use]
    pub const fn kind(self) -> &'static str {
        match self {
            Timing::Perfect => "perfect",
            Timing::Asynchronous => "asynchronous",
            Timing::Timed(_) => "timed",
        }
    }

    /// Returns how long everything takes, in a timed world.
    #[must_use]
    pub const fn timed(self) -> Option<Timed> {
        match self {
            Timing::Timed(timed) => Some(timed),
            Timing::Perfect | Timing::Asynchronous => None,
        }
    }
}

impl fmt::Display for Timing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        self.timed().map_or(Ok(()), |timed| write!(f, " ({timed})"))
    }
}

/// The start: how an execution begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Start {
    /// Every process is up, and all have long agreed.
    #[default]
    Converged,
    /// All processes have just started, at the same moment.
    Cold,
}

impl fmt::Display for Start {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Start::Converged => "converged",
            Start::Cold => "cold",
        })
    }
}

/// The fate of cut links: whether they heal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Heals {
    /// A cut link may heal at any time, or never.
    #[default]
    May,
    /// A cut link heals in the end: it is fair like a delivery.
    Must,
}

impl fmt::Display for Heals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Heals::May => "may",
            Heals::Must => "must",
        })
    }
}

/// The fate of crashed processes: whether they recover while recoveries are left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovers {
    /// A crashed process may recover at any time, or never.
    #[default]
    May,
    /// As long as recoveries are left, no process stays down for ever: recovering is fair like a
    /// delivery. If more are down than recoveries are left, which of them recover is open.
    Must,
    /// A crashed process may recover only while no election runs: each process that is up leads or
    /// follows, and no message is in flight.
    Quiet,
}

/// The fairness of links to a message that is sent again and again, where messages can be lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DeliveryFairness {
    /// Links owe nothing: each copy may be lost. Only one that stays in flight arrives in the end.
    #[default]
    Weak,
    /// The message arrives again and again: a link may lose much, but not all.
    Strong,
}

impl fmt::Display for DeliveryFairness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DeliveryFairness::Weak => "weak",
            DeliveryFairness::Strong => "strong",
        })
    }
}

/// The symmetry reduction: whether states that differ only in names, such as the number of an
/// election, are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symmetry {
    /// States that differ only in names are one, if the protocol can
    /// [canonicalize](crate::protocol::Options::canonicalize) them.
    #[default]
    Reduced,
    /// States that differ only in names are not one: every name is the one that the processes use.
    Concrete,
}

impl fmt::Display for Symmetry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Symmetry::Reduced => "reduced",
            Symmetry::Concrete => "concrete",
        })
    }
}

/// The scenario: what surrounds the processes, as it stands in reports and traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The number of processes, 2 to [`MAX_NODES`](crate::protocol::MAX_NODES).
    pub nodes: usize,
    /// The budgets of the faults.
    #[serde(default)]
    pub faults: Faults,
    /// Whether cut links heal.
    #[serde(default)]
    pub heals: Heals,
    /// Whether crashed processes recover.
    #[serde(default, skip_serializing_if = "at_will")]
    pub recovers: Recovers,
    /// The number of ticks by which a clock jumps, if clocks do.
    #[serde(default, skip_serializing_if = "none")]
    pub jump: u8,
    /// The fairness of links to a message that is sent again and again.
    #[serde(default)]
    pub fairness: DeliveryFairness,
    /// The links that are missing.
    #[serde(default, skip_serializing_if = "nothing_missing")]
    pub missing: AbsentLinks,
    /// The order in which the network delivers messages.
    #[serde(default)]
    pub network: Network,
    /// The timing: when timers may expire.
    #[serde(default)]
    pub timing: Timing,
    /// The start: how executions begin.
    #[serde(default)]
    pub start: Start,
    /// The processes that are down at the beginning. In a converged group they were up when all
    /// agreed, and no process has noticed yet; in a cold one they have never started.
    #[serde(default, skip_serializing_if = "none_down")]
    pub down: Ids,
    /// The largest number of messages in flight from one process to another, if bounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<usize>,
    /// Whether states that differ only in names are one.
    #[serde(default, skip_serializing_if = "reduced")]
    pub symmetry: Symmetry,
}

impl Scenario {
    /// Returns whether a group has something to do from the beginning on: all have just started,
    /// links are missing, or processes are down.
    #[must_use]
    pub fn begins_in_trouble(&self) -> bool {
        self.start == Start::Cold || !self.missing.is_empty() || !self.down.is_empty()
    }

    /// Returns the scenario of `nodes` processes that have agreed, FIFO links, perfect timing, no
    /// faults.
    #[must_use]
    pub const fn calm(nodes: usize) -> Scenario {
        Scenario {
            nodes,
            faults: Faults::NONE,
            heals: Heals::May,
            recovers: Recovers::May,
            jump: 0,
            fairness: DeliveryFairness::Weak,
            missing: AbsentLinks::NONE,
            network: Network::Fifo,
            timing: Timing::Perfect,
            start: Start::Converged,
            down: Ids::NONE,
            capacity: None,
            symmetry: Symmetry::Reduced,
        }
    }

    /// Returns the same scenario with these budgets of crashes and recoveries.
    #[must_use]
    pub const fn with_crashes(mut self, crashes: u8, recoveries: u8) -> Scenario {
        self.faults.crashes = crashes;
        self.faults.recoveries = recoveries;
        self
    }
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Scenario { nodes, faults, heals, recovers, jump, fairness, .. } = self;
        let Scenario { missing, network, timing, start, down, capacity, symmetry, .. } = self;
        write!(f, "{nodes} nodes, {start} start")?;
        if !down.is_empty() {
            write!(f, " ({down} down)")?;
        }
        write!(f, "; faults: {faults}")?;
        if *heals == Heals::Must {
            f.write_str(" (cut links heal in the end)")?;
        }
        match recovers {
            Recovers::May => {}
            Recovers::Must => {
                f.write_str(" (while recoveries are left, none stays down for ever)")?;
            }
            Recovers::Quiet => f.write_str(" (none recovers while an election runs)")?,
        }
        if faults.jumps > 0 {
            write!(f, " (a clock {})", jumps(i16::from(*jump)).replace("ahead", "ahead or back"))?;
        }
        if *fairness == DeliveryFairness::Strong {
            f.write_str(" (what is sent again and again arrives)")?;
        }
        write!(f, "; network: {network}")?;
        if let Some(capacity) = capacity {
            write!(f, " (at most {capacity} in flight per link)")?;
        }
        if !missing.is_empty() {
            write!(f, " (without {missing})")?;
        }
        write!(f, "; timing: {timing}")?;
        if *symmetry == Symmetry::Concrete {
            f.write_str("; concrete names")?;
        }
        Ok(())
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn at_will(recovers: &Recovers) -> bool {
    *recovers == Recovers::May
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn reduced(symmetry: &Symmetry) -> bool {
    *symmetry == Symmetry::Reduced
}

fn none_down(down: &Ids) -> bool {
    down.is_empty()
}

fn nothing_missing(missing: &AbsentLinks) -> bool {
    missing.is_empty()
}

//! Where a verdict says less than its word: what has to be known with it is printed with it.
//!
//! What a world assumes stands in its scenario, which every report begins with. A caveat is what
//! the scenario does not say, and holds of some runs only.

use super::bounds::Bounds;
use super::{Decision, Engine, Report, Verdict};
use crate::property::{self, Kind, Liveness, Temporal};
use crate::world::{Budget, Condition, DeliveryFairness, Network, World};
use serde::Serialize;
use std::fmt;

/// A reason to read verdicts of a run with care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Caveat {
    /// Fairness tells messages apart by names that a symmetry changes.
    RenamedMessages,
    /// States are told apart by a hash.
    HashedStates,
    /// An execution need not be a shortest one.
    NotShortest,
    /// An execution may have the probability 0.
    Chance,
    /// An execution may need clocks that run better and worse in turn.
    DriftingClocks,
    /// What is to come about is so from the beginning on.
    TrueAtFirst,
    /// What holds with perfect timing need not hold although time-outs are accurate.
    AccurateIsNotPerfect,
    /// Faults without a bound are not among those that an execution is said to need.
    UncountedFaults,
    /// That losses have no bound does not say that some execution within the bounds has any.
    LossesNotAwaited,
    /// Counting does not begin with a loss.
    LossesBeginNothing,
}

impl Caveat {
    /// All that there are, in the order in which they are reported.
    pub const ALL: [Caveat; 10] = [
        Caveat::RenamedMessages,
        Caveat::HashedStates,
        Caveat::NotShortest,
        Caveat::Chance,
        Caveat::DriftingClocks,
        Caveat::TrueAtFirst,
        Caveat::AccurateIsNotPerfect,
        Caveat::UncountedFaults,
        Caveat::LossesNotAwaited,
        Caveat::LossesBeginNothing,
    ];

    /// Returns what has to be known, in a sentence.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Caveat::RenamedMessages => {
                "fairness knows a message by its name in a state, and a later message can get that \
                 name; a fair execution may have been taken for one that is not \
                 (--symmetry concrete looks at it)"
            }
            Caveat::HashedStates => {
                "two states with the same 64-bit hash count as one, and what follows the second \
                 is not seen (--engine exact compares whole states)"
            }
            Caveat::NotShortest => {
                "there may be a shorter execution (--engine exact finds a shortest one)"
            }
            Caveat::Chance => {
                "chance does more than be fair: this execution may have the probability 0"
            }
            Caveat::DriftingClocks => {
                "each arming of a timer has a clock of its own speed, and durations are rounded \
                 outwards: no real clock may do what this execution needs (count in smaller ticks)"
            }
            Caveat::TrueAtFirst => "the initial state satisfies it, so nothing had to happen",
            Caveat::AccurateIsNotPerfect => {
                "what holds with perfect timing holds here only if the periods are accurate too, \
                 on the networks fifo and unordered, and without pauses"
            }
            Caveat::UncountedFaults => {
                "losses without a bound are not counted, so no execution is said to need them"
            }
            Caveat::LossesNotAwaited => {
                "losses without a bound are not counted: some execution within the bounds has each \
                 other kind of fault, and maybe no loss"
            }
            Caveat::LossesBeginNothing => {
                "losses without a bound are not counted, so counting begins with another fault; \
                 what losses alone cost is not in the numbers"
            }
        }
    }

    /// Whether this is to be known with a decision.
    fn applies(self, report: &Report, decision: &Decision) -> bool {
        let Decision { property, verdict, counterexample, several, .. } = decision;
        let world = &*report.world;
        let is_liveness = property.kind() == Kind::Liveness;
        let holds = matches!(verdict, Verdict::Holds | Verdict::HoldsWithin);
        let is_shown = counterexample.is_some();
        match self {
            Caveat::RenamedMessages => is_liveness && holds && renames_messages(world),
            Caveat::HashedStates => {
                let exhausted = holds != (property.kind() == Kind::Reachability);
                !is_liveness && exhausted && *verdict != Verdict::Unknown && hashes(report.engine)
            }
            Caveat::NotShortest => {
                let longer = matches!(report.engine, Engine::Dfs | Engine::Simulation);
                !is_liveness && is_shown && longer
            }
            Caveat::Chance => is_liveness && is_shown && draws(world),
            Caveat::DriftingClocks => {
                let timed = world.scenario().timing.timed();
                is_shown && timed.is_some_and(|timed| !timed.drift.is_none())
            }
            Caveat::TrueAtFirst => holds && is_true_at_first(world, &property.temporal),
            Caveat::AccurateIsNotPerfect => {
                property.name == property::TIMEOUTS_ACCURATE && holds && !is_perfect(report)
            }
            Caveat::UncountedFaults => several.is_some() && loses_without_bound(world),
            Caveat::LossesNotAwaited => {
                is_liveness && *verdict == Verdict::HoldsWithin && loses_without_bound(world)
            }
            // What costs have.
            Caveat::LossesBeginNothing => false,
        }
    }
}

/// A caveat that applies to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AppliedCaveat {
    /// The caveat.
    pub caveat: Caveat,
    /// The names of the properties whose verdicts it is about; none if it is about all of the run.
    pub properties: Vec<&'static str>,
    /// The sentence that says what has to be known.
    pub words: &'static str,
}

impl fmt::Display for AppliedCaveat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("With care: ")?;
        if !self.properties.is_empty() {
            write!(f, "{}: ", self.properties.join(", "))?;
        }
        write!(f, "{}.", self.words)
    }
}

impl Report {
    /// Returns the caveats that apply to this run, each with the properties that it is about.
    #[must_use]
    pub fn caveats(&self) -> Vec<AppliedCaveat> {
        let applied = |caveat: Caveat| {
            let concerned = self.decisions.iter().filter(|one| caveat.applies(self, one));
            let properties: Vec<_> = concerned.map(|one| one.property.name).collect();
            let words = caveat.words();
            (!properties.is_empty()).then_some(AppliedCaveat { caveat, properties, words })
        };
        Caveat::ALL.into_iter().filter_map(applied).collect()
    }

    /// Returns the caveats that apply to one of its decisions.
    pub fn caveats_of(&self, decision: &Decision) -> impl Iterator<Item = Caveat> {
        Caveat::ALL.into_iter().filter(move |caveat| caveat.applies(self, decision))
    }
}

impl Bounds {
    /// Returns the caveats that apply to what was counted.
    #[must_use]
    pub fn caveats(&self) -> Vec<AppliedCaveat> {
        let caveat = Caveat::LossesBeginNothing;
        let begins = self.world.scenario().begins_in_trouble();
        let applies = loses_without_bound(&self.world) && !begins;
        let (properties, words) = (Vec::new(), caveat.words());
        applies.then_some(AppliedCaveat { caveat, properties, words }).into_iter().collect()
    }
}

fn loses_without_bound(world: &World) -> bool {
    world.scenario().faults.losses == Budget::Unbounded
}

/// Whether what is called the same in two states may be two messages, and fairness depends on that.
/// On FIFO links, a message that is not delivered keeps its place; but one that is lost and sent
/// again and again may have another name each time.
fn renames_messages(world: &World) -> bool {
    let scenario = world.scenario();
    let insists = scenario.fairness == DeliveryFairness::Strong && loses_without_bound(world);
    world.canonicalizes() && (scenario.network != Network::Fifo || insists)
}

fn hashes(engine: Engine) -> bool {
    matches!(engine, Engine::Bfs | Engine::Dfs)
}

/// Whether by these rules time-outs have a random length, or outcomes are chosen at random.
fn draws(world: &World) -> bool {
    world.machine().timers().iter().any(|rules| rules.random && rules.armed)
}

fn is_true_at_first(world: &World, temporal: &Temporal<Condition>) -> bool {
    match temporal {
        Temporal::Reachable(goal) | Temporal::Liveness(Liveness::Eventually(goal)) => {
            goal.holds(world, &world.initial())
        }
        _ => false,
    }
}

/// Whether the run says all that is needed for what holds with perfect timing to hold here.
fn is_perfect(report: &Report) -> bool {
    let scenario = report.world.scenario();
    let mut periods =
        report.decisions.iter().filter(|one| one.property.name == property::PERIODS_ACCURATE);
    let accurate = !report.world.repeats() || periods.any(|one| one.verdict == Verdict::Holds);
    accurate && scenario.network != Network::Set && scenario.faults.pauses == 0
}

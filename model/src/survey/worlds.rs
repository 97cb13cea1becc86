//! The worlds of the survey.

use crate::machine::AnyProtocol;
use crate::world::{
    Delay, Drift, Durations, Faults, Heals, Network, Scenario, SlowLinks, Timed, Timing, WorldError,
};

/// A world to search: one of the survey, one with another fault, or a narrower one whose executions
/// are some of its own.
#[derive(Clone, Debug)]
pub struct Rung {
    /// The world.
    pub scenario: Scenario,
    /// The bounds of a narrower world, in words; the world of the survey does not have them.
    pub bound: Option<String>,
    /// Whether this world admits one fault more than the world of the survey.
    pub is_further: bool,
}

/// A world, whatever the protocol.
#[derive(Clone, Copy, Debug)]
pub struct Surrounding {
    /// Its name.
    pub name: &'static str,
    /// What it is, in half a sentence.
    pub meaning: &'static str,
    scenario: Scenario,
    further: Faults,
    timed: bool,
}

impl Surrounding {
    /// Returns the budgets of the faults, in words.
    #[must_use]
    pub fn budget(&self) -> String {
        let suspicions = self.scenario.timing == Timing::Asynchronous;
        let suspicions = if suspicions { ", any suspicion" } else { "" };
        format!("{}{suspicions}", self.scenario.faults)
    }

    /// Returns the same world with one more fault of its kind.
    #[must_use]
    pub const fn further(&self, scenario: Scenario) -> Rung {
        let scenario = Scenario { faults: self.further, ..scenario };
        Rung { scenario, bound: None, is_further: true }
    }

    /// The scenario of this world for a protocol; `None` if it is a timed world and the protocol
    /// does not say how long [is enough](AnyProtocol::enough).
    ///
    /// # Errors
    /// If a duration cannot be.
    pub fn scenario(&self, protocol: &dyn AnyProtocol) -> Result<Option<Scenario>, WorldError> {
        if !self.timed {
            // A process that uses a service asks it again and again, and each request is a message:
            // where nothing makes it wait, a link holds one.
            let asks = protocol.services() > 0 && self.scenario.timing == Timing::Asynchronous;
            let capacity = if asks { Some(1) } else { self.scenario.capacity };
            return Ok(Some(Scenario { capacity, ..self.scenario }));
        }
        let enough = protocol.enough();
        if enough.is_empty() {
            return Ok(None);
        }
        let durations = Durations::of(enough).map_err(WorldError::Durations)?;
        let timed = Timed {
            delay: Delay::AtMost(DELAY),
            slow: SlowLinks::NONE,
            processing: 0,
            drift: Drift::NONE,
            durations,
            within: Some(protocol.agrees_within(&durations, DELAY).unwrap_or(SOON)),
        };
        Ok(Some(Scenario { timing: Timing::Timed(timed), ..self.scenario }))
    }
}

impl Surrounding {
    /// Returns narrower worlds, for where `whole` is too large to search. If time-outs expire at
    /// any moment in it, these are first those in which more and more of them are early, each wider
    /// than the one before. The others are narrower than all these and than one another.
    #[must_use]
    pub fn narrower(whole: Scenario, most_early: u8) -> Narrower {
        let mut wider = Vec::new();
        if whole.timing == Timing::Asynchronous {
            wider.extend((1..=most_early).map(|suspicions| {
                let faults = Faults { suspicions, ..whole.faults };
                let bound = Some(Faults { suspicions, ..Faults::NONE }.to_string());
                let scenario = Scenario { timing: Timing::Perfect, faults, ..whole };
                Rung { scenario, bound, is_further: false }
            }));
        }
        let whole = Rung { scenario: whole, bound: None, is_further: false };
        let least = wider.first().cloned().unwrap_or(whole);
        let holds_fewer = |&most: &usize| least.scenario.capacity.is_none_or(|now| most < now);
        let fewer = CAPACITIES.into_iter().filter(holds_fewer).map(|most| {
            let scenario = Scenario { capacity: Some(most), ..least.scenario };
            Rung { scenario, ..least.clone() }
        });
        Narrower { narrower: fewer.collect(), wider }
    }
}

/// Worlds that are narrower than one of the survey.
pub struct Narrower {
    /// Worlds in which there is more and more of something.
    pub wider: Vec<Rung>,
    /// Worlds in which there is less and less than in the first of those.
    pub narrower: Vec<Rung>,
}

/// So many messages are on a link at most, where a survey bounds them.
const CAPACITIES: [usize; 2] = [2, 1];

/// How long a message may be on its way.
const DELAY: u8 = 1;

/// Within so many ticks of the last fault every process is to agree, if the protocol does not say
/// within how many it does: with the durations that protocols say are enough, all do.
const SOON: u8 = 20;

/// The worlds that matter, with this many processes that elect.
#[must_use]
pub fn surroundings(nodes: usize) -> Vec<Surrounding> {
    let calm = Scenario::calm(nodes);
    let with = |faults| Scenario { faults, ..calm };
    let world = |name, meaning, scenario, further| Surrounding {
        name,
        meaning,
        scenario,
        further,
        timed: false,
    };
    let crash = Faults { crashes: 1, ..Faults::NONE };
    let crashes = Faults { crashes: 2, ..Faults::NONE };
    let cut = Faults { cuts: 1, ..Faults::NONE };
    let suspicion = Faults { suspicions: 1, ..Faults::NONE };
    vec![
        world("crash-stop", "a process crashes for good", with(crash), crashes),
        world(
            "crash-recovery",
            "a process crashes, and one recovers",
            with(Faults { recoveries: 1, ..crash }),
            Faults { recoveries: 2, ..crashes },
        ),
        world(
            "lost-message",
            "a process crashes, and a message is lost",
            with(Faults { losses: 1.into(), ..crash }),
            Faults { losses: 2.into(), ..crash },
        ),
        world(
            "false-suspicion",
            "a time-out expires although what it waits for could still come; no process crashes",
            with(suspicion),
            Faults { suspicions: 2, ..suspicion },
        ),
        world(
            "cut-link",
            "the link between two processes is cut, and heals in the end; no process crashes",
            Scenario { heals: Heals::Must, capacity: Some(2), ..with(cut) },
            Faults { cuts: 2, ..cut },
        ),
        world(
            "asynchronous",
            "a process crashes, time-outs expire at any moment, messages overtake each other",
            Scenario { timing: Timing::Asynchronous, network: Network::Set, ..with(crash) },
            crashes,
        ),
        Surrounding {
            timed: true,
            ..world(
                "timed",
                "a process crashes, messages take at most a tick, time-outs are long \
                 enough, and all are to agree within 20 ticks, or as many as the protocol \
                 says",
                with(crash),
                crashes,
            )
        },
    ]
}

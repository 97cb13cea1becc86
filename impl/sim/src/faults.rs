//! The faults of a run and their moments: a plan of faults that follows from a seed before a run
//! begins.
//!
//! Each fault stands for itself. One that is left out changes no other, so a failing run can be
//! repeated with fewer.

use std::fmt;
use std::time::Duration;

use crate::clock::Moment;
use crate::random::Random;

mod kind;
mod operators;
mod stores;

pub use kind::{Faults, Kind};
pub use operators::{Condition, Part};
pub(crate) use operators::{DURATIONS, FARTHEST, VOTERS};
pub use stores::Mishap;

/// Which node a fault strikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The node at this place.
    Node(usize),
    /// The node that leads when the fault strikes; the one at this place if none does.
    Leader(usize),
}

/// Where in its code a process is hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The member has handled an input, and nothing has come of it yet.
    Handled,
    /// A write is under way and not synced. After a crash it may be there or not.
    Written,
    /// A write is synced, and nothing that waits for it was sent.
    Synced,
    /// The member has sent one message, and not the others.
    Sending,
    /// All that follows from an input was done, but what waits for a sync.
    Done,
}

impl Point {
    const ALL: [Self; 5] = [Self::Handled, Self::Written, Self::Synced, Self::Sending, Self::Done];
}

/// The effect of a fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Blow {
    /// No message gets from one node to the other.
    Cut(usize, usize),
    /// No message gets from a node of one side to one of the other; back only if it is one-way.
    Divide {
        /// The nodes of one side.
        side: Vec<usize>,
        /// True if messages of the other side arrive.
        one_way: bool,
    },
    /// The process stops.
    Pause(Target),
    /// The process crashes.
    Crash(Target),
    /// The process crashes, and its disk is lost if the others can go on without what is on it.
    Wipe(Target),
    /// The process is hit the next time that it is at that place, after a write if it makes any.
    Trap(Target, Point, Hit),
    /// Nothing is synced.
    Stall(Target),
    /// The node is asked for something.
    Ask(Target, Request),
    /// The process is told to leave.
    Leave(Target),
    /// The clock runs faster by so many millionths.
    Rate(Target, i64),
    /// An operator asks the leader to let the node at this place lead, which is in this condition
    /// while the fault lasts.
    Transfer(usize, Condition),
    /// An operator asks for a list of members in which the node at this place has another part.
    Change(usize, Part),
    /// An operator gives all nodes the durations with this number.
    Reload(usize),
    /// Something happens to the store of the lease.
    Store(Mishap),
    /// The machine at this place becomes a copy of that of a node, with its id and its disk.
    Twin(Target, usize),
    /// The link between two nodes is slow.
    Far {
        /// The one node.
        one: usize,
        /// The other node.
        other: usize,
        /// How much longer a message takes to the other.
        there: Duration,
        /// How much longer a message takes back.
        back: Duration,
    },
    /// The network is bad.
    Weather(Weather),
}

/// The state of a bad network: so many messages of a thousand are lost or doubled, and a message
/// takes up to so long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weather {
    /// Lost.
    pub lost: u64,
    /// Doubled.
    pub doubled: u64,
    /// How long a message may take.
    pub slow: Duration,
}

/// A request to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// To hand over to the node at this place, or to whichever it chooses.
    HandOver(Option<usize>),
    /// To hand over if it leads, and not to run while the fault lasts.
    StepDown,
    /// Not to run while the fault lasts, but to go on leading if it does.
    Freeze,
    /// Not to lead while the fault lasts, because its machine is unfit.
    Unfit,
}

/// The effect of a trap on a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// The process crashes.
    Crash,
    /// The process stops for a while.
    Pause,
}

/// A fault: from when to when, and its effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// When it strikes.
    pub from: Moment,
    /// When it is over.
    pub until: Moment,
    /// The effect of the fault.
    pub blow: Blow,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let long = self.until.since(self.from);
        match &self.blow {
            Blow::Cut(from, to) => write!(f, "no message from n{} to n{}", from + 1, to + 1),
            Blow::Divide { side, one_way } => {
                let side: Vec<_> = side.iter().map(|node| format!("n{}", node + 1)).collect();
                let how = if *one_way { "are heard by no other" } else { "are cut off" };
                write!(f, "{} {how}", side.join(" "))
            }
            Blow::Pause(target) => write!(f, "{target} stops"),
            Blow::Crash(target) => write!(f, "{target} crashes"),
            Blow::Wipe(target) => write!(f, "{target} crashes, and may lose its disk"),
            Blow::Trap(target, point, hit) => write!(f, "{target}: {hit:?} when {point:?}"),
            Blow::Stall(target) => write!(f, "the disk of {target} stalls"),
            Blow::Ask(target, request) => write!(f, "{target} is asked: {request:?}"),
            Blow::Leave(target) => write!(f, "{target} is told to leave"),
            Blow::Rate(target, ppm) => write!(f, "the clock of {target} runs {ppm:+} ppm"),
            Blow::Transfer(to, condition) => {
                write!(f, "the leader is asked to let n{} lead, which is {condition:?}", to + 1)
            }
            Blow::Change(node, Part::Instead(other)) => {
                write!(
                    f,
                    "in the list of members n{} is to vote instead of n{}",
                    node + 1,
                    other + 1
                )
            }
            Blow::Change(node, part) => {
                write!(f, "in the list of members n{} becomes or ends to be: {part:?}", node + 1)
            }
            Blow::Reload(step) => write!(f, "all nodes get the durations {step}"),
            Blow::Store(mishap) => write!(f, "to the store happens: {mishap:?}"),
            Blow::Twin(target, to) => write!(f, "n{} becomes a copy of {target}", to + 1),
            Blow::Far { one, other, there, back } => {
                let (one, other) = (one + 1, other + 1);
                write!(f, "from n{one} to n{other} takes {there:.1?} longer, and {back:.1?} back")
            }
            Blow::Weather(Weather { lost, doubled, slow }) => {
                write!(f, "of 1000 messages {lost} lost, {doubled} doubled, up to {slow:.1?} late")
            }
        }?;
        if self.until == Moment(u64::MAX) {
            return f.write_str(", for good");
        }
        write!(f, ", for {long:.3?}")
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(place) => write!(f, "n{}", place + 1),
            Self::Leader(place) => write!(f, "the leader (or n{})", place + 1),
        }
    }
}

/// The world that a plan is for.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// How many nodes there are.
    pub nodes: usize,
    /// From when on faults strike.
    pub from: Moment,
    /// When all of them are over.
    pub until: Moment,
    /// By how much the rate of a clock may be wrong, in parts per million.
    pub drift_ppm: i64,
}

/// The most faults for each node, up to the fiftieth.
const MOST: u64 = 30;

/// The longest that a fault lasts.
const LONGEST: Duration = Duration::from_secs(5);

/// The faults of a run, in the order in which they strike.
#[must_use]
pub fn plan(faults: &Faults, stage: Stage, seed: u64) -> Vec<Fault> {
    let mut random = Random::of(&[seed, 0xfa17]);
    let mut plan: Vec<Fault> = match faults {
        Faults::Of(kinds) => {
            let sudden: Vec<_> = kinds.iter().copied().filter(|&k| k != Kind::Distances).collect();
            let most = MOST * stage.nodes.min(50) as u64;
            let count = if sudden.is_empty() { 0 } else { random.between(1, most) };
            (0..count).map(|_| random_fault(&sudden, stage, &mut random)).collect()
        }
        Faults::Flap => flap(stage, &mut random),
    };
    if faults.have(Kind::Distances) {
        plan.extend(operators::distances(stage, seed));
    }
    plan.sort_by_key(|fault| fault.from);
    plan
}

/// From when to when a fault lasts. Many are over only when all must be, so that there is much to
/// recover from at once.
fn span(stage: Stage, random: &mut Random) -> (Moment, Moment) {
    if random.chance(100) {
        let long = random.skewed(LONGEST.min(stage.until.since(stage.from)));
        return (Moment(stage.until.0 - long.as_nanos() as u64), stage.until);
    }
    let from = Moment(random.between(stage.from.0, stage.until.0 - 1));
    let until = from + random.skewed(LONGEST);
    (from, until.min(stage.until))
}

fn random_fault(kinds: &[Kind], stage: Stage, random: &mut Random) -> Fault {
    let (from, mut until) = span(stage, random);
    let target = target(stage, random);
    let weather = |lost, doubled, slow| Blow::Weather(Weather { lost, doubled, slow });
    let kind = kinds[random.place(kinds.len())];
    // A copy lasts for so long that its node can notice the other.
    if kind == Kind::Twins {
        until = (until + LONGEST).min(stage.until);
    }
    let blow = match kind {
        Kind::Losses => weather(random.between(10, 600), 0, Duration::ZERO),
        Kind::Duplicates => weather(0, random.between(50, 500), random.skewed(LONGEST / 2)),
        Kind::Delays => weather(0, 0, random.skewed(LONGEST / 2)),
        Kind::Cuts => {
            let one = random.place(stage.nodes);
            let other = (one + 1 + random.place(stage.nodes - 1)) % stage.nodes;
            Blow::Cut(one, other)
        }
        Kind::Partitions => divide(stage, random),
        Kind::Pauses if random.chance(500) => Blow::Pause(target),
        Kind::Pauses => Blow::Trap(target, Point::ALL[random.place(5)], Hit::Pause),
        Kind::Clocks => Blow::Rate(target, rate(stage, random)),
        Kind::Stalls => Blow::Stall(target),
        Kind::Crashes => Blow::Crash(target),
        Kind::Syncs => Blow::Trap(target, Point::ALL[random.place(5)], Hit::Crash),
        Kind::Requests => Blow::Ask(target, request(stage, random)),
        Kind::Leaves => Blow::Leave(target),
        Kind::Wipe => Blow::Wipe(target),
        Kind::Transfers | Kind::Members | Kind::Distances | Kind::Reloads => {
            operators::operated(kind, stage, random)
        }
        Kind::Outages
        | Kind::Mistakes
        | Kind::Restores
        | Kind::Twins
        | Kind::Rewinds
        | Kind::Expiries => stores::of_store(kind, target, stage, random),
    };
    Fault { from, until, blow }
}

fn request(stage: Stage, random: &mut Random) -> Request {
    match random.below(5) {
        0 => Request::HandOver(None),
        1 => Request::HandOver(Some(random.place(stage.nodes))),
        2 => Request::StepDown,
        3 => Request::Freeze,
        _ => Request::Unfit,
    }
}

fn target(stage: Stage, random: &mut Random) -> Target {
    let place = random.place(stage.nodes);
    if random.chance(400) { Target::Leader(place) } else { Target::Node(place) }
}

/// Half of the rates are as wrong as they may be.
fn rate(stage: Stage, random: &mut Random) -> i64 {
    let most = stage.drift_ppm;
    match random.below(4) {
        0 => most,
        1 => -most,
        _ => random.below(2 * most as u64 + 1) as i64 - most,
    }
}

fn divide(stage: Stage, random: &mut Random) -> Blow {
    let mut side: Vec<usize> = (0..stage.nodes).filter(|_| random.chance(500)).collect();
    if random.chance(300) || side.is_empty() || side.len() == stage.nodes {
        side = vec![random.place(stage.nodes)];
    }
    Blow::Divide { side, one_way: random.chance(300) }
}

/// Returns the faults of a node, not the highest, that is cut off, pauses or crashes again and
/// again.
fn flap(stage: Stage, random: &mut Random) -> Vec<Fault> {
    let node = random.place(stage.nodes - 1);
    let mut plan = Vec::new();
    let mut from = stage.from;
    while from < stage.until {
        let until = (from + random.skewed(LONGEST)).min(stage.until);
        let blow = match random.below(6) {
            0 => Blow::Pause(Target::Node(node)),
            1 => Blow::Crash(Target::Node(node)),
            2 => Blow::Cut(node, stage.nodes - 1),
            3 => Blow::Cut(stage.nodes - 1, node),
            other => Blow::Divide { side: vec![node], one_way: other == 4 },
        };
        plan.push(Fault { from, until, blow });
        from = until + random.skewed(LONGEST);
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::{Faults, Moment, Stage, plan};

    #[test]
    fn all_faults_are_over_when_they_must_be() {
        let (from, until) = (Moment(5), Moment(20_000_000_000));
        let stage = Stage { nodes: 5, from, until, drift_ppm: 100 };
        for seed in 0..200 {
            for faults in [Faults::all(), Faults::Flap] {
                let plan = plan(&faults, stage, seed);
                assert!(!plan.is_empty());
                assert!(plan.iter().all(|one| from <= one.from && one.from <= one.until));
                assert!(plan.iter().all(|one| one.until <= until));
            }
        }
    }
}

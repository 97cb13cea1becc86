//! Long executions repeat themselves. What repeats is shown at its first and its last time. Ticks
//! that follow each other are shown as one stretch of time.

use super::words;
use bellwether_engine::trace::{Event, Flight, Step};
use rustc_hash::FxHasher;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Executions up to this length are shown whole.
const LONG: usize = 60;

/// The longest part whose repetition is looked for.
const LONGEST_PART: usize = 24;

/// How often a part must occur in a row to be folded.
const OFTEN: usize = 4;

/// What is shown of an execution, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The step at this index.
    Step(usize),
    /// Nothing but ticks, and how many have passed at its end since the beginning.
    Ticks { steps: Range<usize>, now: usize },
    /// Steps that do the same again, `times` times, as the `period` steps before them.
    Again { steps: Range<usize>, period: usize, times: usize },
}

impl Part {
    /// The fold in words.
    pub(super) fn words(&self) -> String {
        match self {
            Part::Step(_) => String::new(),
            Part::Ticks { steps, .. } => match steps.len() {
                1 => "1 tick".to_owned(),
                ticks => format!("{ticks} ticks"),
            },
            Part::Again { steps, period, times } => {
                let what = if *period == 1 {
                    format!("step {}", steps.start)
                } else {
                    format!("steps {} to {}", steps.start + 1 - period, steps.start)
                };
                format!("steps {} to {}: {what} again, {times} times", steps.start + 1, steps.end)
            }
        }
    }
}

/// What is shown of `steps`. A fold never crosses `boundary`, where the cycle begins.
pub(super) fn parts(steps: &[Step], boundary: usize) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut now = 0;
    for part in repeated(steps, boundary) {
        match (part, parts.last_mut()) {
            (Part::Step(at), Some(Part::Ticks { steps: before, now: then }))
                if steps[at].event == Event::Tick && before.end == at && at != boundary =>
            {
                before.end += 1;
                now += 1;
                *then = now;
            }
            (Part::Step(at), _) if steps[at].event == Event::Tick => {
                now += 1;
                parts.push(Part::Ticks { steps: at..at + 1, now });
            }
            (part, _) => {
                if let Part::Again { steps: again, .. } = &part {
                    let ticks = steps[again.clone()].iter().filter(|s| s.event == Event::Tick);
                    now += ticks.count();
                }
                parts.push(part);
            }
        }
    }
    parts
}

/// The same, before ticks are put together.
fn repeated(steps: &[Step], boundary: usize) -> Vec<Part> {
    if steps.len() <= LONG {
        return (0..steps.len()).map(Part::Step).collect();
    }
    let shapes: Vec<u64> = steps.iter().map(shape).collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        let end = if at < boundary { boundary.min(steps.len()) } else { steps.len() };
        let Some((period, times)) = repetition(&shapes[at..end]) else {
            parts.push(Part::Step(at));
            at += 1;
            continue;
        };
        let (first, last) = (at + period, at + period * (times - 1));
        parts.extend((at..first).map(Part::Step));
        parts.push(Part::Again { steps: first..last, period, times: times - 2 });
        parts.extend((last..last + period).map(Part::Step));
        at = last + period;
    }
    parts
}

/// The part with which `shapes` begins again and again: its length, and how often it occurs.
fn repetition(shapes: &[u64]) -> Option<(usize, usize)> {
    (1..=LONGEST_PART.min(shapes.len() / OFTEN)).find_map(|period| {
        let same = shapes.iter().zip(&shapes[period..]).take_while(|(a, b)| a == b).count();
        let times = 1 + same / period;
        (times >= OFTEN).then_some((period, times))
    })
}

/// What a step does, without the numbers of step and messages.
fn shape(step: &Step) -> u64 {
    fn flight(flight: &Flight, hasher: &mut FxHasher) {
        (flight.from, flight.to, bellwether_engine::trace::label_of(&flight.message)).hash(hasher);
    }
    let mut hasher = FxHasher::default();
    step.node.hash(&mut hasher);
    std::mem::discriminant(&step.event).hash(&mut hasher);
    match &step.event {
        Event::Deliver(f) | Event::Lose(f) | Event::Duplicate(f) => flight(f, &mut hasher),
        Event::Expire { timer, early } => (timer.to_string(), early).hash(&mut hasher),
        Event::Choose { outcome } => outcome.to_string().hash(&mut hasher),
        Event::Cut { link, one_way } | Event::Heal { link, one_way } => {
            (link, one_way).hash(&mut hasher);
        }
        Event::Jump { by } => by.hash(&mut hasher),
        Event::Crash | Event::Recover | Event::Pause | Event::Resume | Event::Tick => {}
    }
    step.sent.iter().for_each(|sent| flight(&sent.flight, &mut hasher));
    for (id, after) in &step.changed {
        (id, words::status(*id, after), &after.timers).hash(&mut hasher);
    }
    hasher.finish()
}

//! The runs, and how a run that breaks an invariant is repeated with fewer faults.

use std::time::Duration;

use bellwether_core::protocol::Members;

use crate::clock::Moment;
use crate::code::Code;
use crate::faults::{Blow, DURATIONS, FARTHEST, Fault, Faults, Kind, Stage, Target, VOTERS, plan};
use crate::invariant::{self, Terms};
use crate::network;
use crate::random::Random;
use crate::subject::{Subject, Visitor, with};
use crate::world::{Outcome, Setting, World};
use crate::wrong::Wrong;

/// How long faults strike.
const FAULTS: Duration = Duration::from_secs(30);

/// How long a run goes on after all nodes must have agreed.
const REST: Duration = Duration::from_secs(5);

/// The invariants that hold where nothing but transfers can end a leadership.
const OF_TRANSFERS: &[&str] = &["transfers-work"];

/// Repeats the run of a code.
#[must_use]
pub fn run(code: &Code, trace: bool) -> Outcome {
    let done = with(&code.protocol, Runs { code, trace, stays: true });
    done.unwrap_or_else(|| unreachable!("a code has a known protocol"))
}

struct Runs<'a> {
    code: &'a Code,
    trace: bool,
    /// The first leader is to stay where it has peace.
    stays: bool,
}

impl Visitor for Runs<'_> {
    type Output = Outcome;

    fn visit<S: Subject>(self) -> Outcome {
        let setting = setting::<S>(self.code, self.trace);
        let faults = &self.code.faults;
        let mut promised = S::PROMISES.concat();
        if self.stays && is_peace(faults) {
            promised.extend(S::PROMISES_IN_PEACE);
        }
        if faults.are_only(Kind::Transfers) {
            promised.extend(OF_TRANSFERS);
        }
        if !S::STORES.is_empty() {
            promised.extend(of_stores(faults));
        }
        World::<S>::new(setting, invariant::named(&promised)).run()
    }
}

/// Returns what is promised besides, if a store grants the lease.
///
/// A store that has lost writes, or ends a lease early, grants it to two nodes, and so it may to one
/// that starts after an older dump was restored. Where people change the record, tokens may come
/// again for those who have not seen them.
fn of_stores(faults: &Faults) -> Vec<&'static str> {
    let mut promised = Vec::new();
    let is_only = |kind| faults.are_only(kind);
    let starts_anew = faults.have(Kind::Restores) && !is_only(Kind::Restores);
    if !starts_anew && !faults.have_any(&[Kind::Rewinds, Kind::Expiries]) {
        promised.push("at-most-one-leader");
        if !faults.have_any(&[Kind::Mistakes, Kind::Restores]) {
            promised.extend(["one-leader-per-epoch", "epochs-in-order", "fence-in-order"]);
        }
    }
    if [Kind::Mistakes, Kind::Restores, Kind::Twins].into_iter().any(is_only) {
        promised.push("problems-are-told");
    }
    promised
}

/// Returns whether the first leader is to stay.
fn is_peace(faults: &Faults) -> bool {
    *faults == Faults::Flap || faults.are_only(Kind::Distances)
}

/// A run in which the highest node flaps, which leads at first. All is promised but that it stays.
#[must_use]
pub fn flapping_highest(protocol: &str, nodes: usize, seed: u64) -> Option<Outcome> {
    let (protocol, wrong) = (protocol.to_owned(), Some(Wrong::FlapsLeader));
    let code = Code { protocol, wrong, nodes, faults: Faults::Flap, seed, kept: None };
    with(&code.protocol, Runs { code: &code, trace: false, stays: false })
}

/// Returns what the code of a run stands for.
fn setting<S: Subject>(code: &Code, trace: bool) -> Setting {
    let far = if code.faults.have(Kind::Distances) { FARTHEST } else { Duration::ZERO };
    let durations = if code.faults.have(Kind::Reloads) { DURATIONS - 1 } else { 0 };
    let bound = S::bound(code.nodes, network::LONGEST + far, durations);
    let from = match is_peace(&code.faults) {
        true => Moment(0) + bound,
        false => Moment(0) + Duration::from_secs(1),
    };
    let calm = from + FAULTS;
    let drift_ppm = S::drift_ppm() * if code.wrong == Some(Wrong::Drift) { 50 } else { 1 };
    let stage = Stage { nodes: code.nodes, from, until: calm, drift_ppm };
    let mut planned = plan(&code.faults, stage, code.seed);
    if code.wrong == Some(Wrong::FlapsLeader) {
        planned.iter_mut().for_each(|fault| on_the_highest(fault, code.nodes - 1));
    }
    if code.wrong == Some(Wrong::TooFar) {
        planned.iter_mut().for_each(farther);
    }
    if !S::STORES.is_empty() {
        planned.iter_mut().for_each(|fault| to_the_store(fault, code.nodes));
    }
    let prepares = !is_peace(&code.faults) && code.seed % 2 == 1;
    let kept = |number: &usize| code.kept.as_ref().is_none_or(|kept| kept.contains(number));
    Setting {
        nodes: code.nodes,
        seed: code.seed,
        wrong: code.wrong,
        voters: code.faults.have(Kind::Members).then(|| voters(code)),
        plan: (0..).zip(planned).filter(|(number, _)| kept(number)).collect(),
        terms: Terms { from, calm, bound },
        end: calm + bound + REST,
        starts: match code.faults {
            // The highest leads at first.
            Faults::Flap => Duration::from_millis(20),
            Faults::Of(_) => Duration::from_millis(500),
        },
        // A group larger than any cluster would need too many messages to found itself.
        founded: code.nodes > Members::MAX,
        prepares,
        trace,
    }
}

/// How many nodes are members at first, if lists of members change.
fn voters(code: &Code) -> usize {
    let most = VOTERS.min(code.nodes) as u64;
    Random::of(&[code.seed, 0x0007_07e2]).between(1, most) as usize
}

/// A link that is cut is one of a node and the store, which is at the place after all nodes.
fn to_the_store(fault: &mut Fault, store: usize) {
    if let Blow::Cut(from, to) = &mut fault.blow {
        if *from < *to {
            *to = store;
        } else {
            *from = store;
        }
    }
}

fn farther(fault: &mut Fault) {
    if let Blow::Far { there, back, .. } = &mut fault.blow {
        (*there, *back) = (*there * 4, *back * 4);
    }
}

fn on_the_highest(fault: &mut Fault, highest: usize) {
    match &mut fault.blow {
        Blow::Pause(target) | Blow::Crash(target) => *target = Target::Node(highest),
        Blow::Divide { side, .. } => *side = vec![highest],
        _ => {}
    }
}

/// A run that breaks the same invariant with as few faults as leaving out finds: groups of faults
/// first, then each alone (A. Zeller, R. Hildebrandt, *Simplifying and Isolating Failure-Inducing
/// Input*, IEEE TSE 28(2), 2002). At most `most` runs.
#[must_use]
pub fn shrink(code: &Code, most: usize) -> Code {
    let outcome = run(code, false);
    let Some(broken) = outcome.broken else { return code.clone() };
    let all = || (0..outcome.counts.faults as usize).collect();
    let mut kept: Vec<usize> = code.kept.clone().unwrap_or_else(all);
    let with = |kept: &[usize]| Code { kept: Some(kept.to_vec()), ..code.clone() };
    let mut left = most;
    let mut size = kept.len().div_ceil(2);
    while size > 0 && left > 0 {
        let mut from = 0;
        while from < kept.len() && left > 0 {
            left -= 1;
            let until = (from + size).min(kept.len());
            let fewer = [&kept[..from], &kept[until..]].concat();
            let again = run(&with(&fewer), false).broken;
            if again.is_some_and(|again| again.invariant == broken.invariant) {
                kept = fewer;
            } else {
                from = until;
            }
        }
        size /= 2;
    }
    with(&kept)
}

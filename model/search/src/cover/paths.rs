//! From how often each transition is taken to executions.

use super::arcs::{Arcs, NONE};
use crate::limits::Reason;
use crate::watch::Watch;

/// No execution that is shorter is cut.
const SHORT: usize = 64;

/// Executions that together take each transition as often as a flow says.
pub(super) struct Paths<'a> {
    arcs: &'a Arcs,
    executions: Vec<Vec<u32>>,
}

impl<'a> Paths<'a> {
    /// Those of a flow that takes each transition once, and so often again. If each execution went
    /// back to the initial state from its end, each state would be left as often as it is entered,
    /// and all would be one round (C. Hierholzer, 1873). So that round is found, and cut there.
    pub(super) fn of(arcs: &'a Arcs, again: &[u32], watch: &mut Watch<'_>) -> Result<Self, Reason> {
        let mut left = vec![0; again.len()];
        let mut ends = vec![0_i64; arcs.states()];
        for arc in arcs.within() {
            let times = again[arc as usize] + 1;
            left[arc as usize] = times;
            ends[arcs.target(arc) as usize] += i64::from(times);
            ends[arcs.source(arc) as usize] -= i64::from(times);
        }
        // The states on the way, and how each was left.
        let mut way: Vec<(u32, u32)> = Vec::new();
        let mut round = Vec::new();
        let mut next: Vec<u32> = (0..arcs.states() as u32).map(|s| arcs.leaving(s).start).collect();
        let mut at = 0;
        while let Some(arc) = next.get_mut(at as usize) {
            watch.step()?;
            let end = arcs.leaving(at).end;
            while *arc < end && left[*arc as usize] == 0 {
                *arc += 1;
            }
            if *arc < end {
                left[*arc as usize] -= 1;
                way.push((at, *arc));
                at = arcs.target(*arc);
            } else if at != 0 && ends[at as usize] > 0 {
                ends[at as usize] -= 1;
                way.push((at, NONE));
                at = 0;
            } else if let Some((from, arc)) = way.pop() {
                round.push(arc);
                at = from;
            } else {
                break;
            }
        }
        round.reverse();
        let executions = round.split(|&arc| arc == NONE).filter(|steps| !steps.is_empty());
        Ok(Paths { arcs, executions: executions.map(<[u32]>::to_vec).collect() })
    }

    /// The same transitions in shorter executions, as far as so many steps more allow; those that
    /// take nothing that no other takes are left out, and the shortest is the first.
    pub(super) fn shortened(
        self,
        spare: u64,
        watch: &mut Watch<'_>,
    ) -> Result<Vec<Vec<u32>>, Reason> {
        let arcs = self.arcs;
        let mut longest = SHORT.max(2 * arcs.deepest() as usize);
        loop {
            watch.now()?;
            let cost = |execution: &Vec<u32>| cuts(arcs, execution, longest).1;
            if self.executions.iter().map(cost).sum::<u64>() <= spare {
                break;
            }
            longest *= 2;
        }
        let mut pieces = Vec::with_capacity(self.executions.len());
        for execution in self.executions {
            let (mut ends, _) = cuts(arcs, &execution, longest);
            ends.push(execution.len());
            let mut begin = 0;
            for end in ends {
                let mut piece = arcs.way(arcs.source(execution[begin]));
                piece.extend(&execution[begin..end]);
                pieces.push(piece);
                begin = end;
            }
        }
        let mut needed = needed(arcs, pieces);
        needed.sort_by_key(Vec::len);
        Ok(needed)
    }
}

/// Where to cut an execution so that no piece is longer than this, each with the way to where it
/// begins; and how many steps these ways have.
fn cuts(arcs: &Arcs, execution: &[u32], longest: usize) -> (Vec<usize>, u64) {
    let depth = |at: usize| arcs.depth(arcs.source(execution[at])) as usize;
    let (mut cuts, mut cost) = (Vec::new(), 0);
    let (mut begin, mut before) = (0, 0);
    while execution.len() - begin + before > longest {
        // `longest` is at least twice as long as each way.
        let room = longest - before;
        let places = (begin + room / 2 + 1)..=(begin + room);
        begin = places.rev().min_by_key(|&at| depth(at)).unwrap_or(begin + room);
        before = depth(begin);
        cuts.push(begin);
        cost += before as u64;
    }
    (cuts, cost)
}

/// The executions without those of which every transition is taken by others as well.
fn needed(arcs: &Arcs, mut executions: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
    let mut times = vec![0_u32; arcs.len() as usize];
    for &arc in executions.iter().flatten() {
        times[arc as usize] += 1;
    }
    executions.retain(|execution| {
        for &arc in execution {
            times[arc as usize] -= 1;
        }
        let is_needed = execution.iter().any(|&arc| times[arc as usize] == 0);
        if is_needed {
            for &arc in execution {
                times[arc as usize] += 1;
            }
        }
        is_needed
    });
    executions
}

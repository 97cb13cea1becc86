//! Strongly connected components, by Pearce's variant of Tarjan's algorithm
//! (Information Processing Letters 116(1), 2016), which needs one number for each state. The
//! recursion is unrolled: state graphs are deeper than any stack.

use super::rows::Rows;

/// Groups of states, one behind the other.
#[derive(Default)]
pub(super) struct Groups {
    states: Vec<u32>,
    ends: Vec<usize>,
}

impl Groups {
    pub(super) fn push(&mut self, states: &[u32]) {
        self.states.extend(states);
        self.ends.push(self.states.len());
    }

    /// The groups, each as its states.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.states[begin..end])
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// Some states.
pub(super) struct States(Vec<u64>);

impl States {
    /// Whether a state is one of them.
    pub(super) fn contains(&self, state: u32) -> bool {
        self.0[state as usize / 64] & (1 << (state % 64)) != 0
    }

    fn insert(&mut self, state: u32) {
        self.0[state as usize / 64] |= 1 << (state % 64);
    }
}

/// States that are on no cycle of the part of the graph that is `inside`: those from which all
/// transitions lead outside, or to such states. Most graphs have few cycles and long ways to them,
/// and going through their states in order is many times faster than following their transitions.
pub(super) fn acyclic<R: Rows>(rows: &R, inside: impl Fn(u32) -> bool) -> States {
    let mut acyclic = States(vec![0; rows.len() as usize / 64 + 1]);
    let mut left: Vec<_> = rows.backwards();
    loop {
        let (mut before, mut after, mut remain) = (0, 0, Vec::new());
        for number in left.drain(..).flatten() {
            before += 1;
            // What leaves the boundary of the search leads nowhere.
            let ends = |&to: &u32| to >= rows.len() || acyclic.contains(to) || !inside(to);
            if !inside(number) || rows.successors(number).iter().all(ends) {
                acyclic.insert(number);
            } else {
                remain.push(number..number + 1);
                after += 1;
            }
        }
        // Another round costs as much as the search when little comes of it.
        if after == 0 || before - after <= before / 8 {
            return acyclic;
        }
        left = remain;
    }
}

/// The mark of a state that was not visited; every state has it before a search.
pub(super) const NEW: u32 = 0;
/// The mark of a state whose component is complete: larger than that of any other.
const DONE: u32 = u32::MAX;

/// A state on the path of the search.
struct Frame {
    state: u32,
    /// The mark it got when it was entered: if it has a smaller one in the end, its component
    /// began above it.
    entered: u32,
    next: u32,
    has_loop: bool,
}

/// The components with a cycle, a loop being one, of the part of the graph that `inside` allows
/// and that is reached from `roots`, which must be inside.
pub(super) fn cyclic<R: Rows>(
    rows: &R,
    roots: impl Iterator<Item = u32>,
    inside: impl Fn(u32) -> bool,
    marks: &mut [u32],
) -> Groups {
    let mut found = Groups::default();
    search(rows, roots, inside, marks, |members, has_loop| {
        if members.len() > 1 || has_loop {
            found.push(members);
        }
    });
    found
}

/// Tells every component of that part, and of one state whether it has a loop: each after those
/// that can be reached from it.
pub(super) fn search<R: Rows>(
    rows: &R,
    roots: impl Iterator<Item = u32>,
    inside: impl Fn(u32) -> bool,
    marks: &mut [u32],
    mut tell: impl FnMut(&[u32], bool),
) {
    let mut path: Vec<Frame> = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    let mut clock = NEW + 1;
    for root in roots {
        if marks[root as usize] != NEW {
            continue;
        }
        let mut frame = enter(root, &mut clock, marks);
        loop {
            if let Some(child) = advance(rows, &mut frame, &inside, marks) {
                path.push(frame);
                frame = enter(child, &mut clock, marks);
            } else {
                leave(&frame, &mut clock, &mut open, marks, &mut tell);
                match path.pop() {
                    Some(above) => frame = above,
                    None => break,
                }
            }
        }
    }
}

fn enter(state: u32, clock: &mut u32, marks: &mut [u32]) -> Frame {
    let entered = *clock;
    marks[state as usize] = entered;
    *clock += 1;
    Frame { state, entered, next: 0, has_loop: false }
}

/// Goes through the transitions of a state up to one that leads to a new state, which is returned.
/// When it has been visited, the same transition is looked at again.
fn advance<R: Rows>(
    rows: &R,
    frame: &mut Frame,
    inside: impl Fn(u32) -> bool,
    marks: &mut [u32],
) -> Option<u32> {
    let mut lowest = marks[frame.state as usize];
    let row = rows.successors(frame.state);
    while let Some(&to) = row.get(frame.next as usize) {
        // What leaves the boundary of the search has a number beyond all marks.
        match marks.get(to as usize) {
            Some(&DONE) | None => {}
            Some(&NEW) if inside(to) => {
                marks[frame.state as usize] = lowest;
                return Some(to);
            }
            Some(&NEW) => {}
            Some(&mark) => lowest = lowest.min(mark),
        }
        frame.has_loop |= to == frame.state;
        frame.next += 1;
    }
    marks[frame.state as usize] = lowest;
    None
}

/// All transitions of a state have been followed: if its component began with it, it is complete.
fn leave(
    frame: &Frame,
    clock: &mut u32,
    open: &mut Vec<u32>,
    marks: &mut [u32],
    tell: &mut impl FnMut(&[u32], bool),
) {
    open.push(frame.state);
    if marks[frame.state as usize] != frame.entered {
        return;
    }
    let members = open.iter().rev().take_while(|&&s| marks[s as usize] >= frame.entered).count();
    let begin = open.len() - members;
    tell(&open[begin..], frame.has_loop);
    for member in open.drain(begin..) {
        marks[member as usize] = DONE;
    }
    // Numbers are used again, so they never run out.
    *clock -= u32::try_from(members).unwrap_or(0);
}

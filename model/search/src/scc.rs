//! Strongly connected components, by Pearce's variant of Tarjan's algorithm
//! (Information Processing Letters 116(1), 2016), which needs one number for each state. The
//! recursion is unrolled: state graphs are deeper than any stack.

use crate::limits::{Reason, Watch};
use crate::rows::Rows;

/// Groups of states, one behind the other.
#[derive(Default)]
pub struct Groups {
    states: Vec<u32>,
    ends: Vec<usize>,
}

impl Groups {
    /// Adds a group of these states.
    pub fn push(&mut self, states: &[u32]) {
        self.states.extend(states);
        self.ends.push(self.states.len());
    }

    /// Returns the groups, each as its states.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        let begins = std::iter::once(0).chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, &end)| &self.states[begin..end])
    }

    /// Returns whether there is no group.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }
}

/// A set of states.
pub struct States(Vec<u64>);

impl States {
    /// Returns whether a state is one of them.
    pub fn contains(&self, state: u32) -> bool {
        self.0[state as usize / 64] & (1 << (state % 64)) != 0
    }

    fn insert(&mut self, state: u32) {
        self.0[state as usize / 64] |= 1 << (state % 64);
    }
}

/// Returns the states that are on no cycle of the part of the graph that is `inside`, or are not in
/// it. Most graphs have few cycles and long ways to and from them, and setting those aside is many
/// times faster than searching them.
///
/// # Errors
/// The reason, if `watch` ends it.
pub fn acyclic<R: Rows>(
    rows: &R,
    inside: impl Fn(u32) -> bool,
    watch: &mut Watch<'_>,
) -> Result<States, Reason> {
    let mut acyclic = States(vec![0; rows.len() as usize / 64 + 1]);
    for number in 0..rows.len() {
        watch.step()?;
        if !inside(number) {
            acyclic.insert(number);
        }
    }
    set_sinks_aside(rows, &mut acyclic, watch)?;
    set_sources_aside(rows, &mut acyclic, watch)?;
    Ok(acyclic)
}

/// Sets aside what leads to no cycle, as far as a few rounds through all states find it.
fn set_sinks_aside<R: Rows>(
    rows: &R,
    acyclic: &mut States,
    watch: &mut Watch<'_>,
) -> Result<(), Reason> {
    let mut left: Vec<u32> = rows.backwards().into_iter().flatten().collect();
    left.retain(|&number| !acyclic.contains(number));
    loop {
        let before = left.len();
        let mut go_on = Ok(());
        left.retain(|&number| {
            go_on = go_on.and_then(|()| watch.step());
            if go_on.is_err() {
                return true;
            }
            // What leaves the boundary of the search leads nowhere.
            let ends = |&to: &u32| to >= rows.len() || acyclic.contains(to);
            let sink = rows.successors(number).iter().all(ends);
            if sink {
                acyclic.insert(number);
            }
            !sink
        });
        // Another round is not worth its time when little comes of it.
        go_on?;
        if before - left.len() <= before / 8 {
            return Ok(());
        }
    }
}

/// Sets aside what no cycle leads to: whatever nothing leads to, then what nothing else leads to,
/// and so on (A. B. Kahn, *Communications of the ACM* 5(11), 1962).
fn set_sources_aside<R: Rows>(
    rows: &R,
    acyclic: &mut States,
    watch: &mut Watch<'_>,
) -> Result<(), Reason> {
    // How many transitions of what is left lead to each state.
    let mut before = vec![0_u32; rows.len() as usize];
    let left = |number: &u32, acyclic: &States| *number < rows.len() && !acyclic.contains(*number);
    let all = (0..rows.len()).filter(|number| left(number, acyclic));
    for number in all {
        watch.step()?;
        for &to in rows.successors(number) {
            if to < rows.len() {
                before[to as usize] += 1;
            }
        }
    }
    let sources = (0..rows.len()).filter(|&number| before[number as usize] == 0);
    let mut sources: Vec<u32> = sources.filter(|number| left(number, acyclic)).collect();
    while !sources.is_empty() {
        let mut next = Vec::new();
        for number in sources {
            watch.step()?;
            acyclic.insert(number);
            for &to in rows.successors(number) {
                if to < rows.len() {
                    before[to as usize] -= 1;
                    if before[to as usize] == 0 && !acyclic.contains(to) {
                        next.push(to);
                    }
                }
            }
        }
        sources = next;
    }
    Ok(())
}

/// The mark of a state that was not visited; every state has it before a search.
pub const NEW: u32 = 0;
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

/// Returns the components with a cycle, a loop being one, of the part of the graph that `inside`
/// allows and that is reached from `roots`, which must be inside.
///
/// # Errors
/// As [`search`].
pub fn cyclic<R: Rows>(
    rows: &R,
    roots: impl Iterator<Item = u32>,
    inside: impl Fn(u32) -> bool,
    marks: &mut [u32],
    watch: &mut Watch<'_>,
) -> Result<Groups, Reason> {
    let mut found = Groups::default();
    let tell = |members: &[u32], has_loop| {
        if members.len() > 1 || has_loop {
            found.push(members);
        }
    };
    search(rows, roots, inside, marks, watch, tell)?;
    Ok(found)
}

/// Tells every component of that part, and of one state whether it has a loop: each after those
/// that can be reached from it.
///
/// # Errors
/// The reason, if `watch` ends it.
pub fn search<R: Rows>(
    rows: &R,
    roots: impl Iterator<Item = u32>,
    inside: impl Fn(u32) -> bool,
    marks: &mut [u32],
    watch: &mut Watch<'_>,
    mut tell: impl FnMut(&[u32], bool),
) -> Result<(), Reason> {
    let mut path: Vec<Frame> = Vec::new();
    let mut open: Vec<u32> = Vec::new();
    let mut clock = NEW + 1;
    for root in roots {
        if marks[root as usize] != NEW {
            continue;
        }
        let mut frame = enter(root, &mut clock, marks);
        loop {
            watch.step()?;
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
    Ok(())
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
    *clock -= u32::try_from(members).expect("states have 32-bit numbers");
}

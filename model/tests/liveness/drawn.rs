//! Graphs drawn by hand.

use bellwether_model::check::rows::{Fairness, OUTSIDE, Row, Rows};

/// An edge: from, what happens, to.
pub(crate) type Edge = (u32, What, u32);

/// What happens on an edge. Fair actions of one number are one action, wherever they are enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum What {
    /// A fault.
    Fault(u8),
    /// Weakly fair.
    Weak(u8),
    /// Strongly fair.
    Strong(u8),
}

/// A graph whose states have any numbers; 0 is drawn first and is the initial state.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    actions: Vec<Vec<What>>,
    successors: Vec<Vec<u32>>,
    initial: Vec<u32>,
    /// What an action interrupts in a state.
    interrupts: Vec<(u32, What, What)>,
}

impl Drawn {
    /// The edges, of one state in their order; what is drawn as state `s` has the number
    /// `numbers[s]`, and one that has no number is outside. An action that is drawn twice in one
    /// state counts once.
    pub(crate) fn new(edges: &[Edge], numbers: &[u32]) -> Drawn {
        let mut drawn = Drawn {
            actions: vec![Vec::new(); numbers.len()],
            successors: vec![Vec::new(); numbers.len()],
            initial: vec![numbers[0]],
            interrupts: Vec::new(),
        };
        for &(from, what, to) in edges {
            let from = numbers[from as usize] as usize;
            if !drawn.actions[from].contains(&what) {
                drawn.actions[from].push(what);
                drawn.successors[from].push(numbers.get(to as usize).copied().unwrap_or(OUTSIDE));
            }
        }
        drawn
    }

    /// The same where the actions of some states interrupt others: of each the state, what happens
    /// there, and what it interrupts.
    pub(crate) fn interrupting(self, all: &[(u32, What, What)], numbers: &[u32]) -> Drawn {
        let interrupts =
            all.iter().map(|&(state, what, other)| (numbers[state as usize], what, other));
        Drawn { interrupts: interrupts.collect(), ..self }
    }

    /// Whether `what` interrupts `other` in a state.
    pub(crate) fn interrupts(&self, number: u32, what: What, other: What) -> bool {
        self.interrupts.contains(&(number, what, other))
    }

    /// Where all actions lead.
    pub(crate) fn row(&self, number: u32) -> &[u32] {
        &self.successors[number as usize]
    }

    /// The states to which actions lead.
    pub(crate) fn next(&self, number: u32) -> impl Iterator<Item = u32> + '_ {
        self.row(number).iter().copied().filter(|&to| to != OUTSIDE)
    }

    /// Where an action leads, if it is enabled and does not lead outside.
    pub(crate) fn after(&self, number: u32, what: What) -> Option<u32> {
        let number = number as usize;
        let at = self.actions[number].iter().position(|&known| known == what)?;
        Some(self.successors[number][at]).filter(|&to| to != OUTSIDE)
    }
}

impl Rows for Drawn {
    type Action = What;

    fn len(&self) -> u32 {
        u32::try_from(self.actions.len()).expect("it is small")
    }

    fn initial(&self) -> &[u32] {
        &self.initial
    }

    fn successors<'a>(&'a self, number: u32, _: &'a mut Row) -> &'a [u32] {
        self.row(number)
    }

    fn actions(&self, number: u32) -> Vec<What> {
        self.actions[number as usize].clone()
    }

    fn fairness(&self, what: &What) -> Fairness {
        match what {
            What::Fault(_) => Fairness::None,
            What::Weak(_) => Fairness::Weak,
            What::Strong(_) => Fairness::Strong,
        }
    }

    fn interruptible(&self, what: &What) -> bool {
        self.interrupts.iter().any(|(_, _, other)| other == what)
    }

    fn interrupted(&self, number: u32, position: usize) -> Vec<What> {
        let what = self.actions[number as usize][position];
        let here = self.interrupts.iter().filter(|&&(state, by, _)| (state, by) == (number, what));
        here.map(|&(_, _, other)| other).collect()
    }

    fn stutters(&self, number: u32) -> bool {
        self.actions[number as usize].iter().all(|what| matches!(what, What::Fault(_)))
    }
}

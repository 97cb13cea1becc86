//! A group as large as the program allows.
//!
//! No world has so many processes, so there is no model beside it, and little can be asked: that
//! all nodes start at once, every message arrives at once, and in the end one node leads and all
//! others follow it. That is enough to see a number of members or an id that is cut off.

use crate::mapping::{Mapping, ProgramMessage, Sides};
use crate::program::Program as _;
use bellwether_core::protocol::{Input, Members, NodeId, Output, Role, Time};
use serde::Serialize;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// The sizes that are tried, the largest first; a program may refuse groups as large as that.
const SIZES: [u16; 4] = [255, 128, 32, 8];

/// In so long a time every protocol here elects a leader, however many start at once.
const LONG: Duration = Duration::from_secs(600);

/// More messages than any protocol needs for that.
const MOST: u64 = 1_000_000;

/// The result of starting a group as large as the program allows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LargeGroup {
    /// The number of members of the group; 0 if there is none.
    pub size: u16,
    /// The number of inputs that its nodes have handled.
    pub inputs: u64,
    /// The fault that was found, if one was.
    pub wrong: Option<String>,
}

/// Starts the largest group that the program allows, if its nodes play all of a group. The ids of
/// its members are as far apart as they can be.
#[must_use]
pub fn large_group<T: Sides>(mapping: &Mapping<T>) -> LargeGroup {
    if mapping.more.variants.unplayed.is_some() {
        return LargeGroup::default();
    }
    for size in SIZES {
        let apart = (u16::MAX - 1) / size;
        let ids = (1..=size).filter_map(|number| NodeId::new(number * apart));
        let Ok(members) = Members::new(ids) else { continue };
        let nodes = members.iter().map(|id| (mapping.program)(id, &members, None));
        let Ok(nodes) = nodes.collect::<Result<Vec<_>, _>>() else { continue };
        let mut group: Running<T> = Running {
            ids: members.iter().collect(),
            wakes: vec![None; nodes.len()],
            nodes,
            flying: VecDeque::new(),
            now: Time::ZERO,
            inputs: 0,
        };
        let ran = catch_unwind(AssertUnwindSafe(|| group.run()));
        let wrong = ran.unwrap_or_else(|_| Some("a node panics".to_owned()));
        return LargeGroup { size, inputs: group.inputs, wrong };
    }
    LargeGroup { size: 0, inputs: 0, wrong: None }
}

struct Running<T: Sides> {
    ids: Vec<NodeId>,
    nodes: Vec<T::Program>,
    /// When each asked to be woken.
    wakes: Vec<Option<Time>>,
    /// To whom, from whom, and what.
    flying: VecDeque<(usize, NodeId, ProgramMessage<T>)>,
    now: Time,
    inputs: u64,
}

impl<T: Sides> Running<T> {
    /// Runs until all agree; what is wrong if they do not.
    fn run(&mut self) -> Option<String> {
        for at in 0..self.nodes.len() {
            self.handle(at, Input::Boot);
        }
        loop {
            self.deliver();
            if self.agrees() {
                return None;
            }
            let next = (0..self.nodes.len()).filter_map(|at| Some((self.wakes[at]?, at))).min();
            match next {
                Some((due, at)) if due <= Time::ZERO + LONG && self.inputs < MOST => {
                    self.now = self.now.max(due);
                    self.handle(at, Input::Wake);
                }
                _ => return Some(self.disagreement()),
            }
        }
    }

    fn deliver(&mut self) {
        while let Some((to, from, message)) = self.flying.pop_front() {
            if self.inputs < MOST {
                self.handle(to, Input::Receive { from, message });
            }
        }
    }

    fn handle(&mut self, at: usize, input: Input<ProgramMessage<T>>) {
        self.inputs += 1;
        let node = &mut self.nodes[at];
        node.handle(self.now, input);
        while let Some(output) = node.poll() {
            match output {
                Output::Send { to, message } => {
                    if let Ok(to) = self.ids.binary_search(&to) {
                        self.flying.push_back((to, self.ids[at], message));
                    }
                }
                Output::WakeAt(wake) => self.wakes[at] = wake,
                Output::Persist(_) | Output::Event(_) => {}
            }
        }
    }

    fn leaders(&self) -> impl Iterator<Item = NodeId> + '_ {
        let status = self.nodes.iter().map(crate::program::Program::status);
        status.filter(|status| status.role == Role::Leader).map(|status| status.id)
    }

    fn agrees(&self) -> bool {
        let mut leaders = self.leaders();
        let (Some(leader), None) = (leaders.next(), leaders.next()) else { return false };
        self.nodes.iter().all(|node| node.status().leader == Some(leader))
    }

    fn disagreement(&self) -> String {
        let leads = self.leaders().count();
        let follows = self.nodes.iter().filter(|node| node.status().leader.is_some()).count();
        format!("{leads} lead, and {follows} know a leader, after {} inputs", self.inputs)
    }
}

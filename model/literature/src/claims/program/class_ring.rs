//! The lesson's classes `RingElection` and `RobustRingElection`, translated as far as Python runs
//! them: which attributes an object has, and how many arguments a method takes.

use super::{Account, Program};

const FILE: &str = "model/literature/src/claims/program/class_ring.rs";

pub(super) const PROGRAMS: &[Program] = &[
    Program::new("robust-ring-class-starts-an-election", FILE, || {
        account(&[
            ("start_election()", ROBUST.start_election()),
            ("with a successor_id as well", ROBUST.send_election(2)),
        ])
    }),
    Program::new("ring-class-starts-an-election", FILE, || {
        account(&[("start_election()", RING.start_election())])
    }),
    Program::new("robust-ring-class-reaches-node-0", FILE, robust_reaches_zero),
];

struct Class {
    name: &'static str,
    /// The attributes that `__init__` sets.
    attributes: &'static [&'static str],
    /// How many arguments `send_election` takes besides the object.
    send_election_takes: usize,
}

/// The class calls `send_election` and does not define it: sending is left to the reader.
const RING: Class = Class {
    name: "RingElection",
    attributes: &["node_id", "successor_id", "leader_id", "participant"],
    send_election_takes: 2,
};

/// The class does not call the `__init__` of its base, `RingElection`, of which it has
/// `start_election`, and defines `send_election` again.
const ROBUST: Class = Class {
    name: "RobustRingElection",
    attributes: &["node_id", "successors", "leader_id", "participant"],
    send_election_takes: 1,
};

impl Class {
    /// `start_election`: `self.send_election(self.successor_id, self.node_id)`.
    fn start_election(&self) -> Result<(), String> {
        let used = ["participant", "successor_id", "node_id"];
        match used.into_iter().find(|attribute| !self.attributes.contains(attribute)) {
            Some(missing) => Err(self.has_no(missing)),
            None => self.send_election(2),
        }
    }

    fn send_election(&self, given: usize) -> Result<(), String> {
        let Class { name, send_election_takes: takes, .. } = self;
        if *takes == given {
            return Ok(());
        }
        let (takes, given) = (takes + 1, given + 1);
        Err(format!(
            "TypeError: {name}.send_election() takes {takes} positional arguments but {given} were \
             given"
        ))
    }

    fn has_no(&self, attribute: &str) -> String {
        format!("AttributeError: '{}' object has no attribute '{attribute}'", self.name)
    }
}

fn account(of: &[(&str, Result<(), String>)]) -> Account {
    let line = |(what, result): &(&str, Result<(), String>)| match result {
        Ok(()) => format!("{what}: it does"),
        Err(wrong) => format!("{what}: {wrong}"),
    };
    Account::of(of.iter().all(|(_, result)| result.is_ok()), of.iter().map(line).collect())
}

/// `RobustRingElection.get_successor` and the line that uses its result: `if successor`, which is
/// false of the number 0.
fn robust_reaches_zero() -> Account {
    // Node 2's successors, all of them up.
    let successors = [0_u32, 1];
    let truth = successors.first().is_some_and(|&id| id != 0);
    let sent = if truth { Ok(()) } else { Err(ROBUST.has_no("reconstruct_ring")) };
    account(&[("send_election(2) at node 2, whose successors 0 and 1 are up", sent)])
}

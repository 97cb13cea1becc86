//! The lesson's classes `RingElection` and `RobustRingElection`, as far as Python runs them: which
//! attributes an object has, and which methods with how many arguments its classes have.

use super::Account;

/// A method as a class defines it: its name, and how many arguments it takes besides the object.
type Method = (&'static str, usize);

struct Class {
    name: &'static str,
    /// What `__init__` sets.
    attributes: &'static [&'static str],
    methods: &'static [Method],
    base: Option<&'static Class>,
}

const RING: Class = Class {
    name: "RingElection",
    attributes: &["node_id", "successor_id", "leader_id", "participant"],
    methods: &[
        ("start_election", 0),
        ("on_election_received", 1),
        ("on_coordinator_received", 1),
        // Called by the class and defined nowhere: what sends over a network is left to the reader.
        ("send_election", 2),
        ("send_coordinator", 2),
    ],
    base: None,
};

/// It does not call the `__init__` of its base, and defines `send_election` again.
const ROBUST: Class = Class {
    name: "RobustRingElection",
    attributes: &["node_id", "successors", "leader_id", "participant"],
    methods: &[("get_successor", 0), ("send_election", 1)],
    base: Some(&RING),
};

impl Class {
    /// How many arguments the method takes that a call finds.
    fn takes(&self, method: &str) -> Option<usize> {
        let own = self.methods.iter().find(|(name, _)| *name == method).map(|&(_, takes)| takes);
        own.or_else(|| self.base.and_then(|base| base.takes(method)))
    }

    fn has(&self, attribute: &str) -> Result<(), String> {
        match self.attributes.contains(&attribute) {
            true => Ok(()),
            false => Err(format!(
                "AttributeError: '{}' object has no attribute '{attribute}'",
                self.name
            )),
        }
    }

    fn call(&self, method: &str, with: usize) -> Result<(), String> {
        match self.takes(method) {
            Some(takes) if takes == with => Ok(()),
            Some(takes) => Err(format!(
                "TypeError: {}.{method}() takes {} positional arguments but {} were given",
                self.name,
                takes + 1,
                with + 1
            )),
            None => Err(format!("AttributeError: no method '{method}'")),
        }
    }

    /// `start_election`: `self.send_election(self.successor_id, self.node_id)`.
    fn start_election(&self) -> Result<(), String> {
        self.has("participant")?;
        self.has("successor_id")?;
        self.has("node_id")?;
        self.call("send_election", 2)
    }

    /// The same if the object had a `successor_id`.
    fn start_election_with_a_successor(&self) -> Result<(), String> {
        self.call("send_election", 2)
    }
}

fn account(of: &[(&str, Result<(), String>)]) -> Account {
    let line = |(what, result): &(&str, Result<(), String>)| match result {
        Ok(()) => format!("{what}: it does"),
        Err(wrong) => format!("{what}: {wrong}"),
    };
    let fails = of.iter().any(|(_, result)| result.is_err());
    Account::of(!fails, of.iter().map(line).collect())
}

/// An object of the class with spare successors starts an election.
pub(super) fn robust_starts() -> Account {
    account(&[
        ("start_election()", ROBUST.start_election()),
        ("with a successor_id as well", ROBUST.start_election_with_a_successor()),
    ])
}

/// An object of the class without spare successors does, if the sending is added.
pub(super) fn plain_starts() -> Account {
    account(&[("start_election()", RING.start_election())])
}

/// `RobustRingElection.get_successor` and the line that uses it: `if successor`, which is false of
/// the number 0.
pub(super) fn robust_reaches_zero() -> Account {
    // Node 2's successors, all of them up.
    let successors = [0_u32, 1];
    let successor = successors.first();
    let truth = successor.is_some_and(|&id| id != 0);
    account(&[(
        "send_election(2) at node 2, whose successors 0 and 1 are up",
        if truth {
            Ok(())
        } else {
            Err("AttributeError: 'RobustRingElection' object has no attribute 'reconstruct_ring'"
                .to_owned())
        },
    )])
}

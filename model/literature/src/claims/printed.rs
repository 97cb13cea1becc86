//! The programs, pseudocode and numbered steps that the five texts print: which file holds the
//! translation, and what it does wrong.

use super::program::Program;

/// Something that a text prints.
#[derive(Debug)]
pub struct Printed {
    /// The text.
    pub source: &'static str,
    /// What it is called there.
    pub what: &'static str,
    /// The file that holds its translation.
    pub file: &'static str,
    /// The claims that run it.
    pub claims: &'static [u16],
    /// A program of which the story shows what it does wrong, if a program does.
    pub wrong: Option<&'static str>,
}

impl Printed {
    /// The program that shows what it does wrong.
    #[must_use]
    pub fn shown_by(&self) -> Option<&'static Program> {
        self.wrong.and_then(Program::find)
    }
}

const fn program(
    source: &'static str,
    what: &'static str,
    file: &'static str,
    claims: &'static [u16],
    wrong: &'static str,
) -> Printed {
    Printed { source, what, file, claims, wrong: Some(wrong) }
}

const fn rules(
    source: &'static str,
    what: &'static str,
    file: &'static str,
    claims: &'static [u16],
) -> Printed {
    Printed { source, what, file, claims, wrong: None }
}

/// Everything that the texts print, in their order.
pub const PRINTED: &[Printed] = &[
    program(
        "encyclopedia",
        "HandleRecovery, HoldElection and ReceiveMessage, as one thread that blocks",
        "model/literature/src/claims/program/hold_election.rs",
        &[15, 16],
        "hold-election-agrees",
    ),
    rules(
        "encyclopedia",
        "the same, where a process that waits handles what arrives (`encyclopedia-code`)",
        "model/protocols/src/bully/rules.rs",
        &[1, 3, 5],
    ),
    program(
        "clustering",
        "The cluster before its election patterns",
        "model/literature/src/claims/program/first_claim.rs",
        &[34],
        "first-claim-has-a-master-in-the-end",
    ),
    rules(
        "clustering",
        "Distributed mutex, steps 1 to 5 (`clustering`)",
        "model/protocols/src/lease/rules.rs",
        &[35, 36, 37],
    ),
    rules(
        "clustering",
        "Bully algorithm, steps 1 to 4 (`clustering`)",
        "model/protocols/src/bully/rules.rs",
        &[39, 40, 41, 42],
    ),
    rules(
        "clustering",
        "Ring algorithm, steps 1 to 5 (`clustering`)",
        "model/protocols/src/list_ring.rs",
        &[43, 44, 45, 46],
    ),
    rules(
        "chapter",
        "The state machine of four states (`chapter`)",
        "model/protocols/src/bully/rules.rs",
        &[57, 59, 60, 63],
    ),
    program(
        "chapter",
        "bully.py",
        "model/literature/src/claims/program/simulator.rs",
        &[64, 65, 66, 67, 81, 89],
        "simulator-dead-are-silent",
    ),
    program(
        "lesson",
        "BullyElection",
        "model/literature/src/claims/program/class_bully.rs",
        &[98, 99],
        "bully-class-sees-what-came",
    ),
    program(
        "lesson",
        "RingElection",
        "model/literature/src/claims/program/class_ring_run.rs",
        &[105, 106],
        "ring-class-elects-without-the-highest",
    ),
    program(
        "lesson",
        "RobustRingElection",
        "model/literature/src/claims/program/class_ring.rs",
        &[107],
        "robust-ring-class-starts-an-election",
    ),
    program(
        "lesson",
        "HeartbeatFailureDetector",
        "model/literature/src/claims/program/class_detector.rs",
        &[112, 113, 114, 115],
        "detector-finds-a-crash-after-two-heartbeats",
    ),
    program(
        "lesson",
        "LeaseBasedLeader",
        "model/literature/src/claims/program/class_lease.rs",
        &[116, 117],
        "lease-class-cut-off-has-one-holder",
    ),
    program(
        "lesson",
        "ZooKeeperLeaderElection",
        "model/literature/src/claims/program/class_zookeeper.rs",
        &[120, 121, 122],
        "zookeeper-class-raises-nothing",
    ),
    program(
        "lesson",
        "FencedLeader and FencedStorage",
        "model/literature/src/claims/program/fencing.rs",
        &[123, 127, 128, 129, 130],
        "storage-has-one-writer-for-each-epoch",
    ),
    rules(
        "lecture",
        "Two Phase Commit, the table of coordinator and participants (`lecture`)",
        "model/protocols/src/two_phase_commit.rs",
        &[154, 155],
    ),
    rules(
        "lecture",
        "Recovery in 3PC, the list of cases (`lecture`)",
        "model/protocols/src/three_phase_commit.rs",
        &[157, 158, 159, 160, 161],
    ),
    program(
        "lecture",
        "The banking example, points 1 to 8",
        "model/literature/src/claims/program/bank.rs",
        &[],
        "bank-loses-money-after-two-points-only",
    ),
];

#[cfg(test)]
mod tests {
    use super::PRINTED;
    use crate::claims::{Finding, Ledger};
    use std::path::Path;

    /// Each is in a file that exists, with what it does wrong as a trace, or with claims that run
    /// it.
    #[test]
    fn everything_that_is_printed_is_held_by_a_file_and_runs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let ledger = Ledger::load().expect("the ledger can be read");
        for printed in PRINTED {
            let what = printed.what;
            assert!(root.join(printed.file).is_file(), "{what}: {}", printed.file);
            assert!(ledger.sources.iter().any(|source| source.name == printed.source), "{what}");
            let numbers = printed.claims;
            let claims = ledger.select(numbers, None).expect("there are such claims");
            let theirs = |(source, _): &(&crate::claims::Source, _)| source.name == printed.source;
            assert!(numbers.is_empty() || claims.iter().all(theirs), "{what}");
            match printed.wrong {
                None => assert!(!numbers.is_empty(), "{what}"),
                Some(name) => {
                    let program = printed.shown_by().unwrap_or_else(|| panic!("no {name}"));
                    let account = (program.run)();
                    assert!(matches!(account.finding, Finding::Violated { .. }), "{what}");
                    assert!(!account.story.is_empty(), "{what}: {name} has no trace");
                    assert_eq!(program.file, printed.file, "{what}");
                }
            }
        }
    }
}

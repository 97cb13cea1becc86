//! Published programs, as Rust functions: the code that a text prints is run, not argued about.

mod class_bully;
mod class_ring;
mod fencing;
mod first_claim;
mod simulator;

use super::demand::Finding;

/// A published program, or an experiment with one.
#[derive(Debug)]
pub struct Program {
    /// Its name in the ledger.
    pub name: &'static str,
    /// Runs it.
    pub run: fn() -> Account,
}

/// What a program did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// What came out.
    pub finding: Finding,
    /// What happened, line by line.
    pub story: Vec<String>,
}

/// Every program.
pub(super) const ALL: &[Program] = &[
    Program { name: "storage-accepts-no-older-epoch", run: fencing::as_printed },
    Program {
        name: "storage-that-counts-writes-accepts-no-older-epoch",
        run: fencing::remembering,
    },
    Program { name: "storage-registers-rising-epochs", run: fencing::registering },
    Program { name: "storage-refuses-who-was-succeeded", run: fencing::after_election },
    Program {
        name: "storage-refuses-once-the-successor-has-registered",
        run: fencing::after_registration,
    },
    Program {
        name: "storage-has-one-writer-for-each-epoch",
        run: fencing::one_leader_for_each_epoch,
    },
    Program {
        name: "storage-has-one-writer-for-each-rising-epoch",
        run: fencing::one_leader_for_each_rising_epoch,
    },
    Program { name: "simulator-retries", run: simulator::retries },
    Program { name: "simulator-repaired-retries", run: simulator::repaired_retries },
    Program { name: "simulator-survives-a-second-crash", run: simulator::second_crash },
    Program {
        name: "simulator-repaired-survives-a-second-crash",
        run: simulator::repaired_second_crash,
    },
    Program { name: "simulator-dead-are-silent", run: simulator::dead_are_silent },
    Program {
        name: "simulator-repaired-dead-are-silent",
        run: simulator::repaired_dead_are_silent,
    },
    Program { name: "simulator-short-circuits", run: simulator::short_circuits },
    Program { name: "simulator-runs-as-printed", run: simulator::runs_as_printed },
    Program { name: "first-claim-has-one-master-at-a-time", run: first_claim::one_at_a_time },
    Program { name: "first-claim-has-a-master-in-the-end", run: first_claim::in_the_end },
    Program {
        name: "first-claim-by-number-has-a-master-in-the-end",
        run: first_claim::in_the_end_by_number,
    },
    Program { name: "bully-class-sees-what-came", run: class_bully::waits_for_what_comes },
    Program { name: "bully-class-in-step-sees-what-came", run: class_bully::waits_in_step },
    Program { name: "bully-class-needs-one-time-out", run: class_bully::one_time_out },
    Program {
        name: "bully-class-needs-one-time-out-for-one-dead",
        run: class_bully::one_time_out_for_one,
    },
    Program { name: "robust-ring-class-starts-an-election", run: class_ring::robust_starts },
    Program { name: "ring-class-starts-an-election", run: class_ring::plain_starts },
];

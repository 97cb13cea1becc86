//! Published programs, as Rust functions: the code that a text prints is run, not argued about.

mod announcer;
mod bank;
mod class_bully;
mod class_detector;
mod class_lease;
mod class_ring;
mod class_ring_run;
mod class_zookeeper;
mod despite_ok;
mod fencing;
mod fencing_lock;
mod first_claim;
mod hold_election;
mod majority_lease;
mod monitoring;
mod raft_commit;
mod search;
mod simulator;
mod time_outs;

use super::demand::Finding;

/// A published program, or an experiment with one.
#[derive(Debug)]
pub struct Program {
    /// Its name in the ledger.
    pub name: &'static str,
    /// The file that holds it.
    pub file: &'static str,
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

impl Program {
    const fn new(name: &'static str, file: &'static str, run: fn() -> Account) -> Program {
        Program { name, file, run }
    }

    /// The program of this name.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static Program> {
        ALL.iter().find(|program| program.name == name)
    }
}

impl Account {
    /// What came out if something was expected.
    fn of(holds: bool, story: Vec<String>) -> Account {
        let finding = if holds { Finding::Holds } else { Finding::Violated { steps: None } };
        Account { finding, story }
    }
}

const FENCING: &str = "model/src/claims/program/fencing.rs";
const FENCING_LOCK: &str = "model/src/claims/program/fencing_lock.rs";
const SIMULATOR: &str = "model/src/claims/program/simulator.rs";
const FIRST_CLAIM: &str = "model/src/claims/program/first_claim.rs";
const CLASS_BULLY: &str = "model/src/claims/program/class_bully.rs";
const CLASS_RING: &str = "model/src/claims/program/class_ring.rs";
const HOLD_ELECTION: &str = "model/src/claims/program/hold_election.rs";
const DESPITE_OK: &str = "model/src/claims/program/despite_ok.rs";
const CLASS_LEASE: &str = "model/src/claims/program/class_lease.rs";
const ANNOUNCER: &str = "model/src/claims/program/announcer.rs";
const RAFT_COMMIT: &str = "model/src/claims/program/raft_commit.rs";
const MAJORITY_LEASE: &str = "model/src/claims/program/majority_lease.rs";
const CLASS_DETECTOR: &str = "model/src/claims/program/class_detector.rs";
const TIME_OUTS: &str = "model/src/claims/program/time_outs.rs";
const CLASS_ZOOKEEPER: &str = "model/src/claims/program/class_zookeeper.rs";
const CLASS_RING_RUN: &str = "model/src/claims/program/class_ring_run.rs";
const MONITORING: &str = "model/src/claims/program/monitoring.rs";
const BANK: &str = "model/src/claims/program/bank.rs";

pub(super) const ALL: &[Program] = &[
    Program::new("storage-accepts-no-older-epoch", FENCING, fencing::as_printed),
    Program::new(
        "storage-that-counts-writes-accepts-no-older-epoch",
        FENCING,
        fencing::remembering,
    ),
    Program::new("storage-refuses-who-was-succeeded", FENCING, fencing::after_election),
    Program::new("storage-registers-rising-epochs", FENCING_LOCK, fencing_lock::registrations_rise),
    Program::new(
        "storage-without-its-lock-registers-rising-epochs",
        FENCING_LOCK,
        fencing_lock::unlocked_registrations_rise,
    ),
    Program::new(
        "storage-refuses-once-the-successor-has-registered",
        FENCING_LOCK,
        fencing_lock::none_below_the_registered,
    ),
    Program::new(
        "storage-without-its-lock-refuses-once-the-successor-has-registered",
        FENCING_LOCK,
        fencing_lock::unlocked_none_below_the_registered,
    ),
    Program::new(
        "storage-has-one-writer-for-each-epoch",
        FENCING,
        fencing::one_leader_for_each_epoch,
    ),
    Program::new(
        "storage-has-one-writer-for-each-rising-epoch",
        FENCING,
        fencing::one_leader_for_each_rising_epoch,
    ),
    Program::new("storage-accepts-no-older-epoch-of-leaders", FENCING, fencing::from_leaders),
    Program::new(
        "storage-told-by-the-election-refuses-who-was-succeeded",
        FENCING,
        fencing::after_registered_election,
    ),
    Program::new("storage-accepts-the-bullys-winners", FENCING, fencing::numbers_of_the_bully),
    Program::new("simulator-retries", SIMULATOR, simulator::retries),
    Program::new("simulator-repaired-retries", SIMULATOR, simulator::repaired_retries),
    Program::new("simulator-survives-a-second-crash", SIMULATOR, simulator::second_crash),
    Program::new(
        "simulator-repaired-survives-a-second-crash",
        SIMULATOR,
        simulator::repaired_second_crash,
    ),
    Program::new("simulator-dead-are-silent", SIMULATOR, simulator::dead_are_silent),
    Program::new(
        "simulator-repaired-dead-are-silent",
        SIMULATOR,
        simulator::repaired_dead_are_silent,
    ),
    Program::new("simulator-elects-again", SIMULATOR, simulator::elects_again),
    Program::new("simulator-repaired-elects-again", SIMULATOR, simulator::repaired_elects_again),
    Program::new("simulator-short-circuits", SIMULATOR, simulator::short_circuits),
    Program::new(
        "simulator-with-the-branch-short-circuits",
        SIMULATOR,
        simulator::branch_short_circuits,
    ),
    Program::new("simulator-runs-as-printed", SIMULATOR, simulator::runs_as_printed),
    Program::new(
        "simulator-repaired-ends-though-a-node-crashes-again-and-again",
        SIMULATOR,
        simulator::crashes_again,
    ),
    Program::new(
        "simulator-of-a-hundred-sends-500-messages",
        SIMULATOR,
        simulator::messages_of_a_hundred,
    ),
    Program::new(
        "simulator-of-a-hundred-takes-ten-seconds",
        SIMULATOR,
        simulator::seconds_of_a_hundred,
    ),
    Program::new("first-claim-has-one-master-at-a-time", FIRST_CLAIM, first_claim::one_at_a_time),
    Program::new("first-claim-has-a-master-in-the-end", FIRST_CLAIM, first_claim::in_the_end),
    Program::new(
        "first-claim-by-number-has-a-master-in-the-end",
        FIRST_CLAIM,
        first_claim::in_the_end_by_number,
    ),
    Program::new("bully-class-sees-what-came", CLASS_BULLY, class_bully::waits_for_what_comes),
    Program::new("bully-class-in-step-sees-what-came", CLASS_BULLY, class_bully::waits_in_step),
    Program::new("bully-class-needs-one-time-out", CLASS_BULLY, class_bully::one_time_out),
    Program::new(
        "bully-class-needs-one-time-out-for-one-dead",
        CLASS_BULLY,
        class_bully::one_time_out_for_one,
    ),
    Program::new("robust-ring-class-starts-an-election", CLASS_RING, class_ring::robust_starts),
    Program::new("ring-class-starts-an-election", CLASS_RING, class_ring::plain_starts),
    Program::new("robust-ring-class-reaches-node-0", CLASS_RING, class_ring::robust_reaches_zero),
    Program::new("hold-election-has-one-coordinator", HOLD_ELECTION, hold_election::one_at_a_time),
    Program::new("hold-election-agrees", HOLD_ELECTION, hold_election::agree),
    Program::new(
        "hold-election-agrees-if-one-notices",
        HOLD_ELECTION,
        hold_election::agree_if_one_notices,
    ),
    Program::new("hold-election-returns", HOLD_ELECTION, hold_election::returns),
    Program::new("candidates-lead-one-at-a-time", DESPITE_OK, despite_ok::as_written),
    Program::new("candidates-despite-ok-lead-one-at-a-time", DESPITE_OK, despite_ok::despite_ok),
    Program::new("lease-class-has-one-holder", CLASS_LEASE, class_lease::without_a_cut),
    Program::new("lease-class-cut-off-has-one-holder", CLASS_LEASE, class_lease::with_a_cut),
    Program::new("announcer-that-asks-some-announces-the-highest", ANNOUNCER, announcer::asks_some),
    Program::new("announcer-that-asks-all-announces-the-highest", ANNOUNCER, announcer::asks_all),
    Program::new("announcer-may-crash", ANNOUNCER, announcer::may_crash),
    Program::new(
        "raft-leader-without-majority-commits-nothing",
        RAFT_COMMIT,
        raft_commit::none_alone,
    ),
    Program::new(
        "raft-commits-one-entry-at-each-place",
        RAFT_COMMIT,
        raft_commit::one_at_each_place,
    ),
    Program::new(
        "raft-by-one-commits-one-entry-at-each-place",
        RAFT_COMMIT,
        raft_commit::one_at_each_place_by_one,
    ),
    Program::new(
        "raft-by-one-commits-nothing-without-majority",
        RAFT_COMMIT,
        raft_commit::none_alone_by_one,
    ),
    Program::new(
        "lease-by-a-majority-has-one-leader",
        MAJORITY_LEASE,
        majority_lease::by_a_majority,
    ),
    Program::new("lease-by-half-has-one-leader", MAJORITY_LEASE, majority_lease::by_half),
    Program::new(
        "lease-by-short-promises-has-one-leader",
        MAJORITY_LEASE,
        majority_lease::by_short_promises,
    ),
    Program::new(
        "detector-phi-is-of-the-next-heartbeat",
        CLASS_DETECTOR,
        class_detector::of_the_next,
    ),
    Program::new(
        "detector-phi-is-of-a-later-heartbeat",
        CLASS_DETECTOR,
        class_detector::of_a_later,
    ),
    Program::new(
        "detector-with-few-intervals-suspects-nothing",
        CLASS_DETECTOR,
        class_detector::with_few_intervals,
    ),
    Program::new(
        "detector-finds-a-crash-after-two-heartbeats",
        CLASS_DETECTOR,
        class_detector::after_two,
    ),
    Program::new(
        "detector-finds-a-crash-after-three-heartbeats",
        CLASS_DETECTOR,
        class_detector::after_three,
    ),
    Program::new(
        "detector-suspects-what-was-never-heard",
        CLASS_DETECTOR,
        class_detector::never_heard,
    ),
    Program::new(
        "detector-suspects-nothing-at-the-start",
        CLASS_DETECTOR,
        class_detector::at_the_start,
    ),
    Program::new(
        "detector-regular-bears-5-ms",
        CLASS_DETECTOR,
        class_detector::regular_a_little_late,
    ),
    Program::new("detector-regular-bears-5.7-ms", CLASS_DETECTOR, class_detector::regular_late),
    Program::new(
        "detector-nearly-regular-bears-a-microsecond",
        CLASS_DETECTOR,
        class_detector::nearly_regular,
    ),
    Program::new("time-outs-short-hurt-accuracy", TIME_OUTS, time_outs::short_hurts_accuracy),
    Program::new("time-outs-short-find-more-crashes", TIME_OUTS, time_outs::short_finds_more),
    Program::new("time-outs-short-find-crashes-sooner", TIME_OUTS, time_outs::short_is_faster),
    Program::new(
        "zookeeper-class-loses-its-node-with-its-session",
        CLASS_ZOOKEEPER,
        class_zookeeper::deletes,
    ),
    Program::new("zookeeper-class-has-one-leader", CLASS_ZOOKEEPER, class_zookeeper::one_leader),
    Program::new(
        "zookeeper-class-notices-the-end-of-its-session",
        CLASS_ZOOKEEPER,
        class_zookeeper::notices,
    ),
    Program::new("zookeeper-class-wakes-one", CLASS_ZOOKEEPER, class_zookeeper::wakes_one),
    Program::new(
        "zookeeper-class-raises-nothing",
        CLASS_ZOOKEEPER,
        class_zookeeper::raises_nothing,
    ),
    Program::new(
        "zookeeper-class-tells-only-leaders",
        CLASS_ZOOKEEPER,
        class_zookeeper::tells_leaders,
    ),
    Program::new("ring-class-elects-the-highest", CLASS_RING_RUN, class_ring_run::elects),
    Program::new(
        "ring-class-elects-without-the-highest",
        CLASS_RING_RUN,
        class_ring_run::elects_without_the_highest,
    ),
    Program::new("heartbeats-find-a-crash-sooner", MONITORING, monitoring::heartbeats_are_sooner),
    Program::new("heartbeats-take-more-messages", MONITORING, monitoring::heartbeats_take_more),
    Program::new(
        "heartbeats-take-more-messages-than-pings",
        MONITORING,
        monitoring::heartbeats_take_more_than_pings,
    ),
    Program::new("bank-loses-money-after-two-points-only", BANK, bank::loses_after_two_points),
];

#[cfg(test)]
mod tests {
    use super::ALL;
    use std::path::Path;

    #[test]
    fn each_program_has_a_name_of_its_own_and_a_file_that_exists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for (at, program) in ALL.iter().enumerate() {
            let same = |other: &super::Program| other.name == program.name;
            assert_eq!(ALL.iter().position(same), Some(at), "{}", program.name);
            assert!(root.join(program.file).is_file(), "{}", program.file);
        }
    }
}

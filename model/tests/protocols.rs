//! What `model/verdicts` cannot say of single protocols: which of them there are, what cannot be,
//! what says nothing, how messages and timers are written, and that two invariants of Stoller's
//! election are false in some state, made by hand.

use crate::asked::{decision, refused, report, world};
use bellwether_model::check::{Reason, Verdict};
use bellwether_model::property::Temporal;
use bellwether_model::protocol::invitation::{self, Group};
use bellwether_model::protocol::queue::{self, Entries};
use bellwether_model::protocol::stoller::{Elid, Ldr, Process, Status, Stoller, Timer};
use bellwether_model::protocol::{
    Id, Ids, Part, Protocol, REGISTRY, RunOut, Seen, Timers, View, specifications,
};
use bellwether_model::world::{Budget, Scenario, Timing, World, WorldError};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The member is a specification, and no election.
#[test]
fn a_member_is_listed_behind_the_elections() {
    let all = specifications().names();
    assert_eq!(all[..all.len() - 1], REGISTRY.names());
    assert_eq!(all.last(), Some(&"member"));
}

/// The lowest of three routers waits for `t-down` and three times `t-skew`. What no clock can count
/// is refused, rather than counted as less: two routers would seem to wait for equally long.
#[test]
fn a_skew_that_no_clock_can_count_is_refused() {
    let line = "vrrp --timing timed --delay 1 --t-advertise 4 --t-down 100 --t-skew";
    let told = refused(&format!("{line} 77"));
    for part in ["process 1", "331 ticks (t-down 100 + 3 times t-skew 77)", "255", "larger ticks"] {
        assert!(told.contains(part), "'{part}' is missing in: {told}");
    }
    refused(&format!("{line} 52"));
    world(&format!("{line} 51"));
    let late = refused(&format!("{line} 20 --drift 1/2"));
    assert!(late.contains("320 ticks (t-down 100 + 3 times t-skew 20, drift 1/2)"), "{late}");
}

#[test]
fn who_refuses_a_commit_is_one_of_them() {
    let told = refused("two-phase-commit --rule refuses=3 --nodes 2");
    assert!(told.contains("it is an id from 1 to 2, or null"), "{told}");
}

/// With perfect timing a lost heartbeat raises no suspicion, for the next could always still come.
/// So nothing would ever be noticed where any number may be lost: no verdict is given.
#[test]
fn losses_without_bound_are_refused_with_perfect_timing_where_a_message_is_repeated() {
    // Where nothing is repeated, what is lost can be told from what is late.
    let repeats = |protocol: &str, variant: &str| match protocol {
        "bully" | "chang-roberts" | "list-ring" => variant == "recommended",
        "queue" => variant == "pings",
        _ => true,
    };
    let mut lossy = Scenario { capacity: Some(3), ..Scenario::calm(3).with_crashes(1, 0) };
    lossy.faults.losses = Budget::Unbounded;
    for protocol in REGISTRY.iter() {
        for variant in protocol.variants() {
            let which = format!("{} {}", protocol.name(), variant.name);
            let rules = protocol.rules(Some(variant.name), &[]).expect("it is a variant");
            let asynchronous = Scenario { timing: Timing::Asynchronous, ..lossy };
            assert!(World::of(rules.clone(), asynchronous).is_ok(), "{which}");
            match World::of(rules, lossy).map(drop) {
                Ok(()) => assert!(!repeats(protocol.name(), variant.name), "{which}"),
                Err(why @ WorldError::LossesNeverNoticed { .. }) => {
                    assert!(repeats(protocol.name(), variant.name), "{which}");
                    let told = why.to_string();
                    assert!(told.contains(protocol.name()) && told.contains("--timing timed"));
                }
                Err(other) => panic!("{which}: {other}"),
            }
        }
    }
}

#[test]
fn what_says_nothing_is_not_claimed() {
    for (line, name) in [
        // No leader is ever missed.
        ("bully --crashes 0", "failover"),
        // An armed timer may always expire, so no state is ever quiescent.
        ("bully --nodes 2 --crashes 0 --timing asynchronous --network set", "agreement"),
        // A process in stage 2 asks again after 7 ticks, and its detector has noticed by then
        // whether the other is down. So no time-out is due.
        (
            "stoller --nodes 2 --start cold --timing timed --delay 1 --t-detect 5 --t-ask 7",
            "timeouts-accurate",
        ),
    ] {
        let report = report(&format!("{line} -p {name}"));
        let found = decision(&report, name);
        let vacuous = (Verdict::Unknown, Some(Reason::Vacuous));
        assert_eq!((found.verdict, found.reason), vacuous, "{line}");
    }
}

/// Compares what is read of a text in JSON with the text once it is written again.
fn is_read_as_it_is_written<T: Serialize + DeserializeOwned>(text: &str) {
    let read: T = serde_json::from_str(text).unwrap_or_else(|why| panic!("{text}: {why}"));
    assert_eq!(serde_json::to_string(&read).expect("JSON"), text);
}

#[test]
fn numbers_of_the_queue_are_read_as_they_are_written() {
    is_read_as_it_is_written::<queue::Message>(r#"{"children":"1 of 2#5, 3 of 1#2"}"#);
    let none: Entries = serde_json::from_str("\"\"").expect("no entries");
    assert_eq!(none.first(), None);
    let many = ["1 of 1#1"; 9].join(", ");
    for wrong in ["1", "1 of", "1 of 3", "x of 3#1", "1 of 9#1", "1 of 3#300", many.as_str()] {
        assert!(serde_json::from_str::<Entries>(&format!("\"{wrong}\"")).is_err(), "{wrong}");
    }
}

#[test]
fn groups_and_members_are_read_as_they_are_written() {
    let group: Group = "3.12".parse().expect("a group");
    let parts = (group.coordinator.number(), group.number, group.to_string());
    assert_eq!(parts, (3, 12, "3.12".into()));
    for wrong in ["", "3", "0.1", "129.1", "3.x", "3.256"] {
        assert!(wrong.parse::<Group>().is_err(), "{wrong:?}");
    }
    let ready = |task| format!(r#"{{"ready":{{"group":"3.12","task":"{task}"}}}}"#);
    for task in ["", "1", "1+3"] {
        is_read_as_it_is_written::<invitation::Message>(&ready(task));
    }
    assert!(serde_json::from_str::<invitation::Message>(&ready("1+129")).is_err());
}

#[test]
fn elections_and_timers_are_read_as_they_are_written() {
    let elid = Elid { owner: Id::at(2), incarnation: 1, counter: 40 };
    assert_eq!(elid.to_string(), "3.1.40");
    assert_eq!(Elid::try_from(elid.to_string()), Ok(elid));
    for wrong in ["", "3.1", "3.1.2.0", "0.1.2", "8.1.2", "3.1.256", "3.-1.0", "x.1.2"] {
        let refused = Elid::try_from(wrong.to_owned()).expect_err(wrong);
        assert!(refused.contains("OWNER.INCARNATION.COUNTER"), "{refused}");
    }
    for timer in Stoller::TIMERS.iter().map(|row| row.timer) {
        assert_eq!(Timer::try_from(String::from(timer)), Ok(timer));
    }
    for wrong in ["", "monitor", "monitor-0", "monitor-8", "Ask"] {
        assert!(Timer::try_from(wrong.to_owned()).is_err(), "{wrong}");
    }
}

fn id(number: usize) -> Id {
    Id::at(number - 1)
}

fn elid(owner: usize, counter: u8) -> Elid {
    Elid { owner: id(owner), incarnation: 0, counter }
}

fn process(status: Status, ldr: Ldr, elid: Elid) -> Process {
    Process { status, ldr, elid: Some(elid), nextel: 1, ..Process::default() }
}

/// Three processes: 3 leads election 3.0.0, which 2 and 1 follow.
fn calm() -> [Process; 3] {
    let follower = process(Status::Norm, Ldr::Other(id(3)), elid(3, 0));
    [follower, follower, process(Status::Norm, Ldr::Itself, elid(3, 0))]
}

/// The names of the invariants that a calm group violates with this change.
fn violated(change: impl FnOnce(&mut [Process; 3])) -> Vec<&'static str> {
    let mut processes = calm();
    change(&mut processes);
    let seen = Seen {
        nodes: 3,
        up: Id::all(3).collect(),
        paused: Ids::NONE,
        may_recover: false,
        recovered: false,
        lossy: false,
        doubled: false,
        cut: &[Ids::NONE; 3],
        timers: &[Timers::NONE; 3],
        run_out: RunOut::default(),
    };
    let view = View::of_part(&seen, Part { processes: &processes, stable: &[0; 3], flight: &[] });
    let always = Stoller::PROPERTIES.iter().filter_map(|asked| match asked.temporal {
        Temporal::Always(judge) => Some((asked.name, judge)),
        _ => None,
    });
    let wrong = always.filter(|(_, judge)| !judge(&Stoller::RECOMMENDED, &view));
    wrong.map(|(name, _)| name).collect()
}

/// An invariant that never fails has shown nothing, and of two of them no run is known that does.
/// Where the others fail is in `model/verdicts/stoller.toml`.
#[test]
fn each_invariant_is_false_in_some_state() {
    assert_eq!(violated(|_| ()), [""; 0], "a calm group");
    // An election that is not one's own, or not the last.
    for (held, nextel) in [(elid(3, 0), 1), (elid(2, 0), 2)] {
        let other = Process { nextel, ..process(Status::Elec1, Ldr::None, held) };
        assert_eq!(violated(|all| all[1] = other), ["own-election"], "{held}");
    }
    // 2 suspects 3, which has passed it over, or has not asked it yet.
    for (pending, wrong) in [(1, &["not-passed-over"][..]), (2, &[])] {
        let passed = violated(|all| {
            all[1] = process(Status::Elec1, Ldr::None, elid(2, 0));
            all[1].down = Ids::NONE.with(id(3));
            all[2] = process(Status::Elec2, Ldr::None, elid(3, 0));
            all[2].pendack = Some(id(pending));
        });
        assert_eq!(passed, wrong, "3 waits for {pending}");
    }
}

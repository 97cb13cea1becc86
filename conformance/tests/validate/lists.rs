//! Members with any ids, and lists of members that change.

use super::group::{Faults, Group};
use super::{WHOLE, accepted, changed, is_refused, judge};
use bellwether_conformance::mapping;
use bellwether_conformance::mapping::{Mapping, Sides, ring};
use bellwether_conformance::validate::Options;
use bellwether_core::protocol::chang_roberts::ChangRoberts;
use bellwether_core::protocol::{Epoch, Members, NodeId, bully, lease, quorum};
use std::collections::BTreeMap;

fn members(ids: &[u16]) -> Members {
    Members::new(ids.iter().copied().filter_map(NodeId::new)).expect("2 to 255 ids")
}

fn bullies(ids: &[u16], seed: u64) -> Vec<String> {
    let members = members(ids);
    let configs = members.iter().map(|id| mapping::bully::config(id, &members)).collect();
    Group::<bully::Bully>::new(configs, None, seed, Faults::SOME).logs(300)
}

/// Nodes with this list of members, and what is durable at the beginning.
fn quorums(members: &Members, durable: Option<&quorum::Durable>, seed: u64) -> Vec<String> {
    let config = |id| mapping::quorum::config(&mapping::quorum::RECOMMENDED, id, members);
    let configs = members.iter().map(config).collect();
    Group::<quorum::Quorum>::new(configs, durable, seed, Faults::SOME).logs(800)
}

/// Judges all of these, and nothing is left out.
#[track_caller]
fn all_accepted<T: Sides>(mapping: &Mapping<T>, logs: &[String]) -> u64 {
    let summary = accepted(mapping, logs, WHOLE).summary;
    assert_eq!(summary.not_judged, BTreeMap::new());
    summary.judged()
}

#[test]
fn members_may_have_any_ids() {
    let mut judged = 0;
    for seed in 0..20 {
        judged += all_accepted(&mapping::bully::mapping(), &bullies(&[3, 8, 60_000], seed));
        judged += all_accepted(&super::quorum(), &quorums(&members(&[7, 20, 65_535]), None, seed));
        let four = members(&[2, 5, 6, 900]);
        let ring = four.iter().map(|id| ring::config(id, &four)).collect();
        let ring = Group::<ChangRoberts>::new(ring, None, seed, Faults::SOME).logs(300);
        judged += all_accepted(&mapping::chang_roberts::mapping(), &ring);
        let clients = four.iter().map(|id| mapping::lease::config(id, &four)).collect();
        let clients = Group::<lease::Lease>::new(clients, None, seed, Faults::SOME);
        judged +=
            all_accepted(&mapping::lease::recommended(), &clients.in_which_lives(3).logs(300));
    }
    assert!(judged > 8_000, "only {judged} steps");
}

#[test]
fn a_wrong_line_is_found_whatever_the_ids_and_the_report_names_them() {
    let (mut refused, mut survived) = (0, 0);
    for seed in 0..20 {
        let logs = quorums(&members(&[7, 20, 65_535]), None, seed);
        let kinds = ["epoch + 1", "epoch - 1", "another role", "dropped line", "swapped lines"];
        let counts = changed(&kinds, &logs, seed, |logs| is_refused(&super::quorum(), logs));
        (survived, refused) = (survived + counts[0], refused + counts[1]);
        let Some(at) = logs[0].find("\"Support\":1") else { continue };
        let mut wrong = logs.clone();
        wrong[0].replace_range(at..at + "\"Support\":1".len(), "\"Support\":2");
        assert!(is_refused(&super::quorum(), &wrong), "{seed}");
    }
    assert!(refused > 50 && survived * 20 <= refused, "{refused} refused, {survived} not");
    let mut logs = bullies(&[3, 8, 60_000], 1);
    logs[2] = logs[2].replacen("\"role\":\"leader\"", "\"role\":\"follower\"", 1);
    let rejection = judge(&mapping::bully::mapping(), &logs, WHOLE).rejection.expect("rejected");
    let report = rejection.full_report();
    assert!(report.contains("node 3 stands for 60000"), "{report}");
}

#[test]
fn a_group_may_be_larger_than_a_world_that_is_searched() {
    let ids: Vec<u16> = (1..=9).map(|id| id * 100).collect();
    let mut judged = 0;
    for seed in 0..3 {
        judged += all_accepted(&super::quorum(), &quorums(&members(&ids), None, seed));
        let mut logs = bullies(&ids, seed);
        judged += all_accepted(&mapping::bully::mapping(), &logs);
        // The highest leads as soon as it has started.
        logs[8] = logs[8].replacen("\"role\":\"leader\"", "\"role\":\"follower\"", 1);
        assert!(is_refused(&mapping::bully::mapping(), &logs), "{seed}");
    }
    assert!(judged > 600, "only {judged} steps");
    let eight = members(&ids[1..]);
    let ring = eight.iter().map(|id| ring::config(id, &eight)).collect();
    let ring = Group::<ChangRoberts>::new(ring, None, 1, Faults::NONE).logs(10);
    let error = error_of(&mapping::chang_roberts::mapping(), &ring);
    assert!(error.contains("8 members: logs of at most 7 can be judged"), "{error}");
}

#[test]
fn ids_that_are_others_in_each_log_are_refused() {
    let [one, other] = [&[1, 2, 3][..], &[1, 2, 4]].map(|ids| bullies(ids, 1));
    let error = error_of(&mapping::bully::mapping(), &[one[0].clone(), other[1].clone()]);
    assert!(error.contains("the members are 1, 2, 4 here, and 1, 2, 3 in another"), "{error}");
}

/// Why these cannot be judged.
fn error_of<T: Sides>(mapping: &Mapping<T>, logs: &[String]) -> String {
    let log = |text: &String| super::Log {
        name: "log".to_owned(),
        text: Box::new(std::io::Cursor::new(text.clone().into_bytes())),
    };
    super::validate(mapping, logs.iter().map(log).collect(), WHOLE)
        .expect_err("refused")
        .to_string()
}

/// The same logs with a number for the list of members, and other incarnations.
fn of_list(logs: &[String], config_epoch: u64) -> Vec<String> {
    let line = |line: &str| {
        let mut value: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let renumber = |value: &mut serde_json::Value| {
            if let Some(number) = value.as_u64() {
                *value = (number + config_epoch * 1_000_000).into();
            }
        };
        if line.contains("\"start\":") {
            value["start"]["config_epoch"] = config_epoch.into();
            renumber(&mut value["start"]["incarnation"]);
        } else if line.contains("\"receive\":") {
            renumber(&mut value["step"]["receive"]["incarnation"]);
        }
        format!("{value}\n")
    };
    logs.iter().map(|log| log.lines().map(line).collect()).collect()
}

/// Three nodes, which all start again with a fourth.
fn joined(seed: u64) -> [Vec<String>; 2] {
    [of_list(&bullies(&[10, 20, 30], seed), 1), of_list(&bullies(&[5, 10, 20, 30], seed + 1), 2)]
}

/// One log of each node.
fn one_after_the_other(before: &[String], after: &[String]) -> Vec<String> {
    let mut logs = after.to_vec();
    for (log, before) in logs[1..].iter_mut().zip(before) {
        log.insert_str(0, before);
    }
    logs
}

#[test]
fn a_node_that_starts_again_with_other_members_is_judged_among_those() {
    let (mut refused, mut survived) = (0, 0);
    for seed in 0..20 {
        let [before, after] = joined(seed);
        let logs = one_after_the_other(&before, &after);
        let summary = accepted(&mapping::bully::mapping(), &logs, WHOLE).summary;
        assert_eq!((summary.members, summary.logs), (4, 4));
        // A node of this protocol makes nothing durable.
        assert_eq!(summary.not_judged, BTreeMap::new());
        let lines: usize = logs.iter().map(|log| log.lines().count()).sum();
        assert_eq!(summary.lines, lines as u64);
        let counts =
            changed(&["another role", "dropped line", "swapped lines"], &after, seed, |after| {
                is_refused(&mapping::bully::mapping(), &one_after_the_other(&before, after))
            });
        (survived, refused) = (survived + counts[0], refused + counts[1]);
    }
    assert!(refused > 30 && survived * 10 <= refused, "{refused} refused, {survived} not");
}

/// What a node remembers of a list that was decided in place.
fn later_list(members: &Members, pending: Option<Members>) -> quorum::Durable {
    let mark = quorum::Mark { epoch: Epoch::new(3), turn: 2 };
    let lists = quorum::Lists { decided: members.clone(), pending, mark };
    let (epoch, granted_to) = (Epoch::new(4), members.iter().max());
    quorum::Durable { epoch, granted_to, lists: Some(lists), ..quorum::Durable::default() }
}

#[test]
fn a_list_that_was_decided_is_judged_like_the_first() {
    let mut judged = 0;
    for seed in 0..20 {
        let members = members(&[1, 2, 3]).numbered(2);
        let durable = later_list(&members, None);
        judged += all_accepted(&super::quorum(), &quorums(&members, Some(&durable), seed));
    }
    assert!(judged > 2_000, "only {judged} steps");
}

#[test]
fn steps_of_a_node_whose_list_changes_are_not_judged() {
    let members = members(&[1, 2, 3]);
    let durable = later_list(&members, Some(members.clone().numbered(2)));
    let logs = quorums(&members, Some(&durable), 1);
    let summary = accepted(&super::quorum(), &logs, Options::default()).summary;
    let what = "steps of nodes whose list of members is not the one that they began with";
    assert!(summary.not_judged.keys().any(|why| why.starts_with(what)), "{summary:?}");
}

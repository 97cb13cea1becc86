//! Logs of nodes that ran: the honest ones are accepted, and a change shows.

use bellwether_conformance::divergence::{Divergence, Kind, LogLine};
use bellwether_conformance::mapping;
use bellwether_conformance::mapping::{Mapping, Sides, ring};
use bellwether_conformance::report::MOST_LINES;
use bellwether_conformance::validate::{Log, Options, Outcome, Text, shrink, validate};
use bellwether_core::protocol::chang_roberts::ChangRoberts;
use bellwether_core::protocol::{Epoch, Members, NodeId, bully, lease, quorum};
use group::{Faults, Group, Random};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Cursor;

mod command;
mod edits;
mod group;
mod lists;
mod outside;

/// So that every line counts.
const WHOLE: Options = Options { duplicates: false, reorder: false, whole: true };

fn members(count: u16) -> Members {
    Members::new((1..=count).filter_map(NodeId::new)).expect("2 to 255 ids")
}

fn bullies(seed: u64, faults: Faults, events: usize) -> Vec<String> {
    let members = members(3);
    let configs = members.iter().map(|id| mapping::bully::config(id, &members)).collect();
    Group::<bully::Bully>::new(configs, None, seed, faults).logs(events)
}

fn rings(seed: u64, faults: Faults, events: usize) -> Vec<String> {
    let members = members(3);
    let configs = members.iter().map(|id| ring::config(id, &members)).collect();
    Group::<ChangRoberts>::new(configs, None, seed, faults).logs(events)
}

fn leases(seed: u64, faults: Faults, events: usize) -> Vec<String> {
    let members = members(4);
    let configs = members.iter().map(|id| mapping::lease::config(id, &members)).collect();
    // By these rules the store never fails.
    Group::<lease::Lease>::new(configs, None, seed, faults).in_which_lives(3).logs(events)
}

fn quorums(seed: u64, faults: Faults, events: usize) -> Vec<String> {
    quorums_with(seed, faults, events, true, None)
}

/// With as many rounds at once as the specification knows, or with those of the default; and with
/// this in their storage at the beginning.
fn quorums_with(
    seed: u64,
    faults: Faults,
    events: usize,
    two_rounds: bool,
    durable: Option<&quorum::Durable>,
) -> Vec<String> {
    let members = members(3);
    let config = |id| {
        let config = mapping::quorum::config(&mapping::quorum::RECOMMENDED, id, &members);
        let timing = if two_rounds { config.timing } else { quorum::Timing::DEFAULT };
        quorum::Config { timing, ..config }
    };
    let configs = members.iter().map(config).collect();
    Group::<quorum::Quorum>::new(configs, durable, seed, faults).logs(events)
}

fn parsed(line: &str) -> Value {
    serde_json::from_str(line).expect("JSON")
}

fn judge<T: Sides>(mapping: &Mapping<T>, logs: &[String], options: Options) -> Outcome {
    let log = |(text, at): (&String, usize)| {
        let text = Box::new(Cursor::new(text.clone().into_bytes()));
        Log { name: format!("log {at}"), text }
    };
    let logs = logs.iter().zip(1..).map(log).collect();
    validate(mapping, logs, options).expect("logs of one group")
}

/// Changes logs once in each of these ways: of how many that is not found, and of how many it is.
fn changed(
    kinds: &[&str],
    logs: &[String],
    seed: u64,
    is_refused: impl Fn(&[String]) -> bool,
) -> [u32; 2] {
    let mut counts = [0; 2];
    for kind in kinds {
        if let Some(changed) = edits::change(logs, kind, &mut Random(seed)) {
            counts[usize::from(is_refused(&changed))] += 1;
        }
    }
    counts
}

/// Whether a changed log is found.
fn is_refused<T: Sides>(mapping: &Mapping<T>, logs: &[String]) -> bool {
    let outcome = judge(mapping, logs, WHOLE);
    outcome.rejection.is_some() || !outcome.malformed.is_empty()
}

#[track_caller]
fn accepted<T: Sides>(mapping: &Mapping<T>, logs: &[String], options: Options) -> Outcome {
    let outcome = judge(mapping, logs, options);
    if let Some(rejection) = &outcome.rejection {
        panic!("{}", rejection.report());
    }
    assert_eq!(outcome.malformed, []);
    outcome
}

fn quorum() -> Mapping<mapping::quorum::Quorum> {
    mapping::quorum::mapping(&mapping::quorum::RECOMMENDED)
}

#[test]
fn two_hundred_honest_runs_are_accepted() {
    let (mut judged, mut starts, mut let_in) = (0, 0, 0);
    for seed in 0..50 {
        let faults = if seed % 2 == 0 { Faults::SOME } else { Faults::NONE };
        let bullies = accepted(&mapping::bully::mapping(), &bullies(seed, faults, 400), WHOLE);
        let rings = accepted(&mapping::chang_roberts::mapping(), &rings(seed, faults, 400), WHOLE);
        let quorums = accepted(&quorum(), &quorums(seed, faults, 800), WHOLE);
        let leases = accepted(&mapping::lease::recommended(), &leases(seed, faults, 400), WHOLE);
        for outcome in [&bullies, &rings, &leases] {
            assert_eq!(outcome.summary.not_judged, BTreeMap::new(), "{seed}");
        }
        // A leader lets in a node that has not become a founder before.
        let other = quorums.summary.not_judged.keys().find(|why| !why.contains("list of members"));
        assert_eq!(other, None, "{seed}");
        let_in += u32::from(!quorums.summary.not_judged.is_empty());
        for outcome in [bullies, rings, quorums, leases] {
            judged += outcome.summary.judged();
            starts += outcome.summary.incarnations;
        }
    }
    assert!(judged > 20_000, "only {judged} steps");
    assert!(starts > 800, "only {starts} starts");
    assert!(let_in <= 5, "in {let_in} runs something is not judged");
}

/// The steps of fifty runs: how many requests are among them, how many are judged, how many not.
fn steps(faults: Faults, events: usize, two_rounds: bool) -> [u64; 3] {
    let mut all = [0; 3];
    for seed in 0..50 {
        let logs = quorums_with(seed, faults, events, two_rounds, None);
        let summary = accepted(&quorum(), &logs, WHOLE).summary;
        let doubts = summary.not_judged.keys().filter(|why| why.contains("request"));
        assert_eq!(doubts.count(), 0, "{summary:?}");
        all[0] += summary.steps.get("request").copied().unwrap_or_default();
        all[1] += summary.judged();
        all[2] += summary.not_judged.values().sum::<u64>();
    }
    all
}

#[test]
fn more_rounds_at_once_than_the_specification_has_are_no_false_alarm() {
    let [_, judged, not] = steps(Faults { losses: 40, ..Faults::SOME }, 1_000, false);
    assert!(not > 0, "no leader had more than two rounds at once");
    assert!(judged > not, "{judged} judged, {not} not");
}

#[test]
fn what_is_asked_of_nodes_is_judged_and_no_false_alarm() {
    // A leader stays for long enough that a node which has restarted is asked to take over.
    let faults = Faults { requests: 3, delays: 10, crashes: 2, ..Faults::SOME };
    let [asked, judged, not] = steps(faults, 800, true);
    assert!(asked > 100, "only {asked} requests were judged");
    assert!(judged > not, "{judged} judged, {not} not");
}

#[test]
fn nodes_that_stand_still_are_no_false_alarm_and_a_lease_must_end_then() {
    let (mut late, mut refused) = (0, 0);
    for seed in 0..50 {
        let faults = Faults { pauses: 2, ..Faults::SOME };
        let logs = quorums(seed, faults, 800);
        accepted(&quorum(), &logs, WHOLE);
        let Some(leads_on) = without_the_end(&logs) else { continue };
        late += 1;
        refused += u32::from(is_refused(&quorum(), &leads_on));
    }
    assert!(late > 10, "in only {late} runs a round was due when the lease was over");
    assert_eq!(refused, late);
}

/// The logs in which a lease does not end after another timer has expired in vain for it, and a
/// message arrives next.
fn without_the_end(logs: &[String]) -> Option<Vec<String>> {
    let mut logs = logs.to_vec();
    for log in &mut logs {
        let lines: Vec<&str> = log.lines().collect();
        let ends = |at: &usize| {
            let [vain, end] = [lines[*at], lines[at + 1]];
            vain.contains("{\"expire\":\"Round\",\"after\"") && end.contains("\"expire\":\"Lease\"")
        };
        let Some(at) = (0..lines.len() - 1).find(ends) else { continue };
        let arrives = |line: &&&str| line.contains("\"receive\"");
        let Some(next) = lines[at + 2..].iter().find(arrives) else { continue };
        let mut next = parsed(next);
        let vain = parsed(lines[at]);
        next["n"] = (vain["n"].as_u64().expect("a number") + 1).into();
        *log = format!("{}\n{next}\n", lines[..=at].join("\n"));
        return Some(logs);
    }
    None
}

#[test]
fn numbers_may_be_large() {
    let (epoch, granted_to) = (Epoch::new(1_000_000), NodeId::new(2));
    let durable = quorum::Durable { epoch, granted_to, ..quorum::Durable::default() };
    for seed in 0..5 {
        let logs = quorums_with(seed, Faults::SOME, 12_000, true, Some(&durable));
        let outcome = accepted(&quorum(), &logs, WHOLE);
        assert_eq!(outcome.summary.not_judged, BTreeMap::new(), "{seed}");
        let prompt = Faults { delays: 0, ..Faults::NONE };
        let logs = quorums(seed, prompt, 6_000);
        assert!(logs[2].contains("[1,300,"), "the leader begins more rounds than fit a byte");
        accepted(&quorum(), &logs, WHOLE);
    }
}

#[test]
fn neither_the_order_of_files_nor_clocks_change_the_verdict() {
    for seed in 0..20 {
        let logs = quorums(seed, Faults::SOME, 500);
        let expected = accepted(&quorum(), &logs, WHOLE).summary;
        let reversed: Vec<_> = logs.iter().rev().cloned().collect();
        assert_eq!(accepted(&quorum(), &reversed, WHOLE).summary, expected, "{seed}");
        let shifted = logs.iter().zip([10_000_000_000, 0, 3]).map(|(log, by)| shift(log, by));
        let shifted: Vec<_> = shifted.collect();
        assert_eq!(accepted(&quorum(), &shifted, WHOLE).summary, expected, "{seed}");
        for kind in edits::KINDS {
            let Some(changed) = edits::change(&logs, kind, &mut Random(seed)) else { continue };
            let refused = is_refused(&quorum(), &changed);
            let reversed: Vec<_> = changed.iter().rev().cloned().collect();
            assert_eq!(is_refused(&quorum(), &reversed), refused, "{seed}: {kind}");
        }
    }
}

/// The same log by a clock that shows so much more.
fn shift(log: &str, by: u64) -> String {
    let more = |value: &mut Value| {
        if let Some(time) = value.as_u64() {
            *value = (time + by).into();
        }
    };
    let line = |line: &str| {
        let mut line = parsed(line);
        more(&mut line["at"]);
        let after = &mut line["step"]["after"];
        if after.is_object() {
            let armed = after["armed"].as_array_mut().into_iter().flatten();
            armed.for_each(|timer| more(&mut timer[1]));
            if after.get("lease").is_some() {
                more(&mut after["lease"]["until"]);
            }
        } else if let Some(line) = line.as_object_mut() {
            line.remove("step");
        }
        format!("{line}\n")
    };
    log.lines().map(line).collect()
}

#[test]
fn nearly_every_change_is_refused() {
    let (mut survived, mut refused) = (0, 0);
    for seed in 0..40 {
        let (quorums, bullies) =
            (quorums(seed, Faults::NONE, 400), bullies(seed, Faults::SOME, 200));
        let leases = leases(seed, Faults::NONE, 200);
        let all = [
            changed(&edits::KINDS, &quorums, seed * 31, |logs| is_refused(&quorum(), logs)),
            changed(&edits::KINDS, &bullies, seed * 31 + 1, |logs| {
                is_refused(&mapping::bully::mapping(), logs)
            }),
            changed(&edits::KINDS, &leases, seed * 31 + 2, |logs| {
                is_refused(&mapping::lease::recommended(), logs)
            }),
        ];
        survived += all.map(|[survived, _]| survived).iter().sum::<u32>();
        refused += all.map(|[_, refused]| refused).iter().sum::<u32>();
    }
    assert!(refused > 500, "{refused} refused");
    assert!(survived * 50 <= refused + survived, "{refused} refused, {survived} not");
}

#[test]
fn a_node_that_forgets_its_vote_is_rejected_and_the_field_is_named() {
    let mut found = 0;
    for seed in 0..60 {
        let logs = quorums(seed, Faults::SOME, 600);
        let Some(forgets) = forgetful(&logs) else { continue };
        let outcome = judge(&quorum(), &forgets, Options::default());
        let rejection = outcome.rejection.expect("rejected");
        let what: Vec<_> = rejection.differences.iter().map(|d| d.what.as_str()).collect();
        assert!(what.contains(&"epoch") && what.contains(&"granted_to"), "{what:?}");
        assert!(rejection.report().lines().count() <= MOST_LINES);
        found += 1;
    }
    assert!(found > 10, "only {found} runs with a node that starts again after it has voted");
}

/// The logs in which a node starts again with nothing, though it had granted an epoch.
fn forgetful(logs: &[String]) -> Option<Vec<String>> {
    let mut logs = logs.to_vec();
    for log in &mut logs {
        let mut lines: Vec<String> = log.lines().map(str::to_owned).collect();
        let votes =
            |line: &String| line.contains("\"boot\":{") && !line.contains("\"granted_to\":null");
        if let Some(at) = lines.iter().position(votes) {
            let mut line = parsed(&lines[at]);
            line["step"]["boot"] = Value::Null;
            lines[at] = line.to_string();
            *log = lines.join("\n") + "\n";
            return Some(logs);
        }
    }
    None
}

#[test]
fn what_a_killed_node_did_not_write_is_not_judged() {
    let mut logs = quorums(3, Faults::NONE, 400);
    let lines: Vec<&str> = logs[2].lines().collect();
    let cut = lines[..lines.len() / 2].join("\n") + "\n{\"n\":12,\"at\":";
    logs[2] = cut;
    let outcome = accepted(&quorum(), &logs, Options::default());
    assert_eq!(outcome.summary.torn, 1);
    assert!(!outcome.summary.assumed.is_empty());
    assert!(judge(&quorum(), &logs, WHOLE).rejection.is_some());
}

#[test]
fn the_log_of_one_node_is_judged_and_what_others_say_is_believed() {
    let (mut believed, mut refused) = (0, 0);
    for seed in 0..20 {
        let logs = quorums(seed, Faults::SOME, 400);
        for log in &logs {
            let own = std::slice::from_ref(log);
            let summary = accepted(&quorum(), own, WHOLE).summary;
            let received = summary.steps.get("receive").copied().unwrap_or_default();
            assert_eq!((summary.believed, summary.received), (received, received), "{seed}");
            let assumed: Vec<_> = summary.assumed.into_iter().collect();
            let expected = (received > 0).then_some(("messages of nodes without a log", received));
            assert_eq!(assumed, Vec::from_iter(expected), "{seed}");
            believed += received;
            let Some(again) = with_a_message_again(log) else { continue };
            let rejection = judge(&quorum(), &[again], WHOLE).rejection.expect("rejected");
            assert!(rejection.full_report().contains("arrived before"), "{seed}");
            refused += 1;
        }
    }
    assert!(believed > 1_000 && refused > 20, "{believed} believed, {refused} refused");
}

/// The log in which the first message that arrives does so twice, and the lines are numbered anew.
fn with_a_message_again(log: &str) -> Option<String> {
    let mut lines: Vec<Value> = log.lines().map(parsed).collect();
    let at = lines.iter().position(|line| line["step"].get("receive").is_some())?;
    lines.insert(at, lines[at].clone());
    for line in lines[at + 1..].iter_mut().take_while(|line| line.get("start").is_none()) {
        line["n"] = (line["n"].as_u64().expect("a number") + 1).into();
    }
    Some(lines.iter().map(|line| format!("{line}\n")).collect())
}

/// Of a line that no node can have written no message was sent, also not the first.
#[test]
fn what_a_line_with_shrinking_numbers_sends_first_was_not_sent() {
    let mut tried = 0;
    for seed in 0..20 {
        let logs = bullies(seed, Faults::SOME, 60);
        for (at, log) in logs.iter().enumerate() {
            for (line, text) in log.lines().enumerate() {
                let mut value = parsed(text);
                let Some(out) = value["step"]["out"].as_array_mut() else { continue };
                let mut sent: Vec<_> =
                    out.iter_mut().filter_map(|out| out.get_mut("send")).collect();
                let [first, last] = &mut sent[..] else { continue };
                // The number of a message that this node sends later.
                first["id"] = last["id"].as_u64().map(|id| id + 2).into();
                let start: String = log.split_inclusive('\n').take(line).collect();
                let mut shorter = logs.clone();
                shorter[at] = start.clone();
                let mut changed = logs.clone();
                let rest: String = log.split_inclusive('\n').skip(line + 1).collect();
                changed[at] = format!("{start}{value}\n{rest}");
                let of =
                    |logs: &[String]| judge(&mapping::bully::mapping(), logs, Options::default());
                let (shorter, changed) = (of(&shorter), of(&changed));
                assert_eq!(changed.malformed[0].line, u64::try_from(line).expect("few") + 1);
                assert!(changed.malformed[0].why.ends_with("they must grow"), "{changed:?}");
                assert_eq!(changed.summary.steps, shorter.summary.steps, "{seed}: {value}");
                assert_eq!(changed.rejection.is_some(), shorter.rejection.is_some());
                tried += 1;
            }
        }
    }
    assert!(tried > 20, "{tried} lines send two messages");
}

/// Why a line is rejected, and which.
fn why(rejection: &Divergence) -> (String, (Kind, String), LogLine) {
    let what = (rejection.kind, rejection.differences[0].what.clone());
    (rejection.happened.clone(), what, rejection.line.clone().expect("a line of a log"))
}

fn rejected(texts: &[Text]) -> Option<Box<Divergence>> {
    let logs = texts.iter().map(Text::log).collect();
    validate(&quorum(), logs, WHOLE).ok()?.rejection
}

#[test]
fn rejected_logs_become_smaller_and_no_log_is_left_that_is_not_needed() {
    let (mut before, mut after, mut reduced) = (0, 0, 0);
    for seed in 0..12 {
        let logs = quorums(seed, Faults::SOME, 500);
        for kind in edits::KINDS {
            let Some(changed) = edits::change(&logs, kind, &mut Random(seed)) else { continue };
            let Some(rejection) = judge(&quorum(), &changed, WHOLE).rejection else { continue };
            let texts = changed.iter().zip(1..);
            let texts = texts.map(|(log, at)| Text::new(format!("log {at}"), log.as_bytes()));
            let texts: Vec<Text> = texts.collect();
            let less = shrink(&texts, &rejection, &|logs| validate(&quorum(), logs, WHOLE));
            let less = less.unwrap_or_else(|| panic!("{seed}, {kind}: it is not rejected again"));
            let again = rejected(&less).expect("still rejected");
            let (happened, what, place) = why(&rejection);
            let (happens, differs, at) = why(&again);
            assert_eq!((happens, differs), (happened, what), "{seed}, {kind}");
            assert_eq!(at.log, place.log, "{seed}, {kind}");
            let line = |texts: &[Text], LogLine { log, line }: &LogLine| {
                let text = texts.iter().find(|text| text.name == *log).expect("the log");
                text.lines[usize::try_from(*line).expect("a few") - 1].clone()
            };
            assert_eq!(line(&less, &at), line(&texts, &place), "{seed}, {kind}");
            for left_out in 0..less.len() {
                let mut fewer = less.clone();
                fewer.remove(left_out);
                let same = rejected(&fewer).is_some_and(|other| why(&other) == why(&again));
                assert!(!same, "{seed}, {kind}: {} is not needed", less[left_out].name);
            }
            let count = |texts: &[Text]| texts.iter().map(|text| text.lines.len()).sum::<usize>();
            before += count(&texts);
            after += count(&less);
            reduced += 1;
        }
    }
    println!("{reduced} rejections: {before} lines, {after} in the smaller logs");
    assert!(reduced > 40, "only {reduced}");
    assert!(after * 2 < before, "{before} lines, {after} in the smaller logs");
}

/// A step of a node at which a timer is armed before and after: the places of log and line, the
/// name of the timer, and when it is due before and after.
struct Kept {
    log: usize,
    line: usize,
    name: String,
    due: [u64; 2],
}

/// Such steps, some time after the step before.
fn kept(logs: &[String]) -> Vec<Kept> {
    let mut all = Vec::new();
    for (log, text) in logs.iter().enumerate() {
        let lines: Vec<Value> = text.lines().map(parsed).collect();
        for line in 1..lines.len() {
            let [before, after] = [&lines[line - 1], &lines[line]];
            let is_later = before["at"].as_u64() < after["at"].as_u64();
            if !is_later || before.get("step").is_none() || after["step"].get("boot").is_some() {
                continue;
            }
            let after = armed(after);
            for (name, old) in armed(before) {
                let new = after.iter().find(|(other, _)| *other == name);
                all.extend(new.map(|&(_, new)| Kept { log, line, name, due: [old, new] }));
            }
        }
    }
    all
}

fn armed(line: &Value) -> Vec<(String, u64)> {
    serde_json::from_value(line["step"]["after"]["armed"].clone()).unwrap_or_default()
}

/// The logs up to a step, after which a timer is due at another time.
fn with(logs: &[String], step: &Kept, due: u64) -> Vec<String> {
    let mut logs = logs.to_vec();
    let mut lines: Vec<String> =
        logs[step.log].lines().take(step.line + 1).map(str::to_owned).collect();
    let mut last = parsed(&lines[step.line]);
    let after = &mut last["step"]["after"];
    for timer in after["armed"].as_array_mut().into_iter().flatten() {
        if timer[0] == json!(step.name) {
            timer[1] = json!(due);
        }
    }
    lines[step.line] = last.to_string();
    logs[step.log] = lines.join("\n") + "\n";
    logs
}

/// The first difference.
fn first_difference(logs: &[String]) -> Option<String> {
    let rejection = judge(&quorum(), logs, Options::default()).rejection?;
    let first = rejection.differences.first()?;
    Some(format!("{:?} {}", first.kind, first.what))
}

#[test]
fn a_deadline_that_is_another_shows() {
    let (mut tried, mut accepted) = (0, Vec::new());
    for seed in 0..20 {
        let logs = quorums(seed, Faults::SOME, 300);
        for step in kept(&logs) {
            // A timer that is armed anew is not, and one that is left alone is.
            let [old, new] = step.due;
            let other = if old == new { new + 1 } else { old };
            match first_difference(&with(&logs, &step, other)) {
                Some(found) => assert!(found.contains(" of "), "{seed}: {found}"),
                None => accepted.push((seed, step.name)),
            }
            tried += 1;
        }
    }
    assert!(tried > 500, "only {tried} timers were armed before and after a step");
    assert!(accepted.len() * 50 <= tried, "of {tried}: {accepted:?}");
}

#[test]
fn a_clock_that_is_set_back_between_two_starts_is_no_false_alarm() {
    let mut tried = 0;
    for seed in 0..8 {
        tried += set_back_at_any_start(&quorum(), &quorums(seed, Faults::SOME, 600));
        let leases = leases(seed, Faults::SOME, 400);
        tried += set_back_at_any_start(&mapping::lease::recommended(), &leases);
    }
    assert!(tried > 20, "only {tried} starts");
}

/// The clock of one node after the other is set back at each start, by much and by little.
fn set_back_at_any_start<T: Sides>(mapping: &Mapping<T>, logs: &[String]) -> u32 {
    let expected = accepted(mapping, logs, WHOLE).summary;
    let mut tried = 0;
    for (at, log) in logs.iter().enumerate() {
        for (line, _) in log.lines().enumerate().filter(|(_, text)| text.contains("\"start\":")) {
            for by in [10_000_000_000, 1_000_000] {
                let mut logs = logs.to_vec();
                logs[at] = set_back(log, line, by);
                assert_eq!(accepted(mapping, &logs, WHOLE).summary, expected, "{at}: {line}");
                tried += 1;
            }
        }
    }
    tried
}

#[test]
fn a_clock_that_is_set_back_within_a_start_shows() {
    let logs = quorums(1, Faults::NONE, 300);
    let mut changed = logs.clone();
    changed[0] = set_back(&logs[0], logs[0].lines().count() / 2, 10_000_000_000);
    assert!(is_refused(&quorum(), &changed));
}

/// Logs of nodes that keep their list of members.
fn listed(seed: u64) -> Vec<String> {
    let members = members(3);
    let addresses = members.iter().map(|id| (id, format!("127.0.0.1:{}", 7_000 + id.get())));
    let addresses = addresses.collect();
    let members = members.with_addresses(addresses);
    let config = |id| mapping::quorum::config(&mapping::quorum::RECOMMENDED, id, &members);
    let configs = members.iter().map(config).collect();
    Group::<quorum::Quorum>::new(configs, None, seed, Faults::SOME).logs(400)
}

#[test]
fn a_change_of_a_single_field_is_refused() {
    let mut counts: BTreeMap<&str, [u32; 2]> = BTreeMap::new();
    for seed in 0..16 {
        let (quorums, leases) = (listed(seed), leases(seed, Faults::SOME, 200));
        accepted(&quorum(), &quorums, Options::default());
        accepted(&mapping::lease::recommended(), &leases, Options::default());
        for (kind, ..) in edits::FIELDS {
            for sample in 0..3 {
                let mut count = |logs: &[String], judged: &dyn Fn(&[String]) -> Outcome| {
                    let random = &mut Random(seed * 3 + sample);
                    let Some(changed) = edits::change(logs, kind, random) else { return };
                    let outcome = judged(&changed);
                    let is_found = outcome.rejection.is_some() || !outcome.malformed.is_empty();
                    counts.entry(kind).or_default()[usize::from(is_found)] += 1;
                };
                count(&quorums, &|logs: &[String]| judge(&quorum(), logs, Options::default()));
                count(&leases, &|logs: &[String]| {
                    judge(&mapping::lease::recommended(), logs, Options::default())
                });
            }
        }
    }
    for (kind, ..) in edits::FIELDS {
        assert!(counts.get(kind).is_some_and(|[_, refused]| *refused > 0), "{kind}: {counts:?}");
    }
    let survived: u32 = counts.values().map(|[survived, _]| survived).sum();
    let refused: u32 = counts.values().map(|[_, refused]| refused).sum();
    assert!(survived * 50 <= survived + refused, "{counts:?}");
}

/// The log by a clock that is set back by so much at this line.
fn set_back(log: &str, at: usize, by: u64) -> String {
    let parts: Vec<&str> = log.split_inclusive('\n').collect();
    let (before, after) = parts.split_at(at);
    shift(&before.concat(), by) + &after.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn no_log_makes_it_panic(
        seed in 0..8_u64,
        cuts in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        ends in any::<prop::sample::Index>(),
    ) {
        let mut logs = bullies(seed, Faults::SOME, 60);
        let mut bytes = std::mem::take(&mut logs[1]).into_bytes();
        let first = bytes.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for (at, byte) in &cuts {
            let at = first + at.index(bytes.len() - first);
            bytes[at] = *byte;
        }
        bytes.truncate(first + ends.index(bytes.len() - first));
        let log = |text: Vec<u8>| Log { name: "log".to_owned(), text: Box::new(Cursor::new(text)) };
        let others = [logs[0].clone(), logs[2].clone()].map(|text| log(text.into_bytes()));
        let [one, other] = others;
        let _ = validate(&mapping::bully::mapping(), vec![one, log(bytes), other], Options::default());
    }
}

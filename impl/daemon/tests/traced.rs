//! Real processes that write traces, one of which is killed: whatever arrived was sent, and nothing
//! was sent before what it depends on was durable.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use bellwether::NodeId;
use bellwether_core::protocol::quorum::{Durable, Message};
use bellwether_core::trace::{Deed, Entry, Happened, Line, Out, Sent, Start};

use super::common::Cluster;

type QuorumLine = Line<Durable, Message>;

/// Where a node writes its steps.
fn path(cluster: &Cluster, node: u16) -> PathBuf {
    cluster.folder().join(format!("trace-quorum-{node}"))
}

/// One incarnation of a node, as its trace has it.
struct Run {
    start: Start,
    lines: Vec<QuorumLine>,
    /// The messages that it has put out, by their numbers.
    sent: BTreeMap<u64, Sent<Message>>,
    ended: bool,
}

/// The incarnations in the file of this node. The last line of one that was killed may be torn.
fn runs(cluster: &Cluster, node: u16) -> Vec<Run> {
    let text = fs::read_to_string(path(cluster, node)).expect("text");
    let mut runs: Vec<Run> = Vec::new();
    let mut torn = false;
    for text in text.lines() {
        let Ok(line) = serde_json::from_str::<QuorumLine>(text) else {
            assert!(!torn, "{text} follows a line that is torn");
            torn = true;
            continue;
        };
        if let Entry::Start(start) = &line.entry {
            let (start, sent) = (start.clone(), BTreeMap::new());
            runs.push(Run { start, lines: Vec::new(), sent, ended: false });
            torn = false;
        }
        assert!(!torn, "{text} follows a line that is torn");
        let run = runs.last_mut().expect("it begins with a start");
        assert_eq!(line.n, run.lines.len() as u64, "{text}");
        run.ended |= line.entry == Entry::Did(Deed::Ended);
        if let Entry::Step(step) = &line.entry {
            let sends = step.out.iter().filter_map(|out| match out {
                Out::Send(sent) => Some((sent.id, sent.clone())),
                _ => None,
            });
            run.sent.extend(sends);
        }
        run.lines.push(line);
    }
    runs
}

/// Nothing is given to the network before what was put out before it to be durable is.
fn keeps_the_order_of_effects(run: &Run) {
    let (mut states, mut saving, mut durable) = (0, 0, 0);
    let mut needs = BTreeMap::new();
    for line in &run.lines {
        match &line.entry {
            Entry::Step(step) => {
                for out in &step.out {
                    match out {
                        Out::Persist(_) => states += 1,
                        Out::Send(sent) => assert_eq!(needs.insert(sent.id, states), None),
                        Out::Role { .. } | Out::Ignored { .. } | Out::Rival(_) => {}
                    }
                }
            }
            Entry::Did(Deed::Saving) => saving = states,
            Entry::Did(Deed::Saved) => durable = saving,
            Entry::Did(Deed::Sent(id)) => {
                let needed =
                    needs.remove(id).unwrap_or_else(|| panic!("{id} sent twice, or never"));
                assert!(needed <= durable, "{line:?}: {needed} states, {durable} are durable");
            }
            Entry::Did(Deed::Told { .. } | Deed::Ended) | Entry::Start(_) | Entry::Dropped(_) => {}
        }
    }
    assert!(states > 0, "it must remember something");
}

/// Every message with a number was sent by the run that it names, to this node. One whose sender
/// was killed may be missing there: so long a line waits before it is written. Returns how many
/// are there.
fn were_sent(node: NodeId, run: &Run, all: &BTreeMap<(NodeId, u64), Run>) -> usize {
    let mut found = 0;
    for line in &run.lines {
        let Entry::Step(step) = &line.entry else { continue };
        let Happened::Receive(received) = &step.happened else { continue };
        let incarnation = received.incarnation.expect("each connection says it");
        let id = received.id.expect("each node numbers its messages");
        let sender = all.get(&(received.from, incarnation)).expect("a run with a trace");
        match sender.sent.get(&id) {
            Some(sent) => {
                assert_eq!(sent, &Sent { to: node, id, message: received.message.clone() });
                found += 1;
            }
            None => {
                let last = sender.sent.keys().last().copied().unwrap_or(0);
                assert!(!sender.ended && id > last, "{received:?} was never sent");
            }
        }
    }
    found
}

#[test]
fn every_message_that_arrives_was_sent_by_the_run_that_it_names() {
    let mut cluster = Cluster::running(3, "quorum", "");
    let traces = cluster.path("trace-{protocol}-{node}");
    cluster.configure(&format!("[log]\ntrace = \"{traces}\"\n"));
    cluster.start_all(1..=3);
    let killed = cluster.wait_for_any_leader();
    cluster.take(killed).kill();
    cluster.wait_for_any_leader();
    // As a crash of the machine can leave it.
    let mut text = fs::read_to_string(path(&cluster, killed)).expect("text");
    text.push_str("{\"n\":1000,\"at\":");
    fs::write(path(&cluster, killed), text).expect("ours");
    cluster.start(killed);
    cluster.wait_for_any_leader();
    (1..=3).for_each(|node| cluster.end(node));

    let mut all = BTreeMap::new();
    for node in 1..=3 {
        let runs = runs(&cluster, node);
        assert_eq!(runs.len(), if node == killed { 2 } else { 1 }, "node {node}");
        let id = NodeId::new(node).expect("not zero");
        for (number, run) in runs.into_iter().enumerate() {
            assert_eq!((run.start.node, &*run.start.protocol), (id, "quorum"));
            assert_eq!(run.ended, node != killed || number == 1, "run {number} of node {node}");
            keeps_the_order_of_effects(&run);
            all.insert((id, run.start.incarnation), run);
        }
    }
    let found: usize = all.iter().map(|(&(node, _), run)| were_sent(node, run, &all)).sum();
    assert!(found > 20, "only {found} messages");
    let leads = |run: &Run| {
        run.lines.iter().any(|line| {
            matches!(line.entry, Entry::Did(Deed::Told { leads: true, epoch: Some(_), .. }))
        })
    };
    assert!(all.values().filter(|run| leads(run)).count() >= 2, "the program of each leader");
}

//! What the nodes themselves say: each is asked again and again whether its lease lasts.
//!
//! One clock times all questions and answers. A node that says yes had a valid lease at some moment
//! between the two; and a lease of one epoch, once lost, is not regained. So from the first answer
//! to the last question of an epoch its lease was valid, and no two such intervals may overlap.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long between two questions, and how long an answer may take.
const BETWEEN: Duration = Duration::from_millis(10);
const ANSWER: Duration = Duration::from_millis(250);

/// When a node certainly had the lease of an epoch.
#[derive(Clone, Copy, Debug)]
struct Valid {
    from: Instant,
    until: Instant,
}

#[derive(Default)]
struct Said {
    leases: BTreeMap<(u64, u16), Valid>,
    /// What each node takes for the leader, and when it was asked.
    leaders: BTreeMap<u16, (Instant, Option<u64>)>,
    answers: u64,
}

impl Said {
    fn lasts(&mut self, node: u16, epoch: u64, asked: Instant, answered: Instant) {
        let new = Valid { from: answered, until: asked };
        let valid = self.leases.entry((epoch, node)).or_insert(new);
        valid.until = valid.until.max(asked);
        valid.from = valid.from.min(answered);
    }

    /// Two leases that were valid at the same time.
    fn overlaps(&self) -> Vec<String> {
        let mut overlaps = Vec::new();
        let all: Vec<_> = self.leases.iter().collect();
        for (position, &(&(epoch, node), one)) in all.iter().enumerate() {
            for &(&(later, other), two) in &all[position + 1..] {
                let both = one.until.min(two.until).checked_duration_since(one.from.max(two.from));
                if let Some(time) = both.filter(|time| !time.is_zero()) {
                    overlaps.push(format!(
                        "two valid leases for {time:.1?}: node {node} in epoch {epoch}, and node \
                         {other} in epoch {later}"
                    ));
                }
            }
        }
        overlaps
    }

    /// How many nodes had a valid lease at some moment.
    fn leading(&self, at: Instant) -> usize {
        let nodes = self.leases.iter().filter(|(_, valid)| valid.from <= at && at <= valid.until);
        nodes.map(|((_, node), _)| node).collect::<BTreeSet<_>>().len()
    }
}

/// What asks, until it is dropped.
pub(crate) struct Probe {
    said: Arc<Mutex<Said>>,
    over: Arc<AtomicBool>,
}

impl Probe {
    /// Asks the nodes that serve HTTP at these addresses.
    pub(crate) fn start(nodes: impl IntoIterator<Item = (u16, String)>) -> Self {
        let probe = Self { said: Arc::default(), over: Arc::default() };
        for (node, address) in nodes {
            let (said, over) = (Arc::clone(&probe.said), Arc::clone(&probe.over));
            thread::spawn(move || ask(node, &format!("http://{address}/leader"), &said, &over));
        }
        probe
    }

    /// Whether all of these have said since then that the same one of them leads.
    pub(crate) fn agreed(&self, nodes: &[u16], since: Instant) -> bool {
        let said = self.said();
        let leader = |node: &u16| {
            let &(asked, leader) = said.leaders.get(node)?;
            leader.filter(|_| asked > since)
        };
        let first = nodes.first().and_then(leader);
        let among = |leader| nodes.iter().any(|&node| u64::from(node) == leader);
        first.is_some_and(among) && nodes.iter().all(|node| leader(node) == first)
    }

    /// How many times a node has said how it is, and two leases that were valid at the same time.
    pub(crate) fn judge(&self) -> (u64, Vec<String>) {
        let said = self.said();
        (said.answers, said.overlaps())
    }

    /// The node that has had a valid lease of this epoch, as far as it was asked.
    pub(crate) fn leader_of(&self, epoch: u64) -> Option<u16> {
        let said = self.said();
        said.leases.keys().find(|(of, _)| *of == epoch).map(|&(_, node)| node)
    }

    fn said(&self) -> MutexGuard<'_, Said> {
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// An agent that gives up after `limit`.
pub(crate) fn agent(limit: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.timeout_global(Some(limit)).build().into()
}

fn ask(node: u16, url: &str, said: &Mutex<Said>, over: &AtomicBool) {
    let agent = agent(ANSWER);
    while !over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = agent.get(url).call().and_then(|mut answer| {
            let text = answer.body_mut().read_to_string()?;
            Ok((answer.status().is_success(), text))
        });
        let answered = Instant::now();
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = answer.ok().and_then(|(leads, text)| {
            let answer: Value = serde_json::from_str(&text).ok()?;
            Some((leads, answer))
        });
        if let Some((leads, answer)) = answer {
            said.answers += 1;
            said.leaders.insert(node, (asked, answer["leader"].as_u64()));
            if let Some(epoch) = answer["epoch"].as_u64().filter(|_| leads) {
                said.lasts(node, epoch, asked, answered);
            }
        }
        drop(said);
        thread::sleep(BETWEEN);
    }
}

/// That two leases at the same time are noticed.
pub(crate) fn test() -> anyhow::Result<()> {
    let start = Instant::now();
    let at = |milliseconds| start + Duration::from_millis(milliseconds);
    let mut said = Said::default();
    for time in [0, 100, 200] {
        said.lasts(1, 1, at(time), at(time + 10));
    }
    said.lasts(2, 2, at(201), at(205));
    said.lasts(2, 2, at(300), at(310));
    anyhow::ensure!(said.overlaps().is_empty(), "{:?}", said.overlaps());
    // A question that was answered late proves nothing about the time between.
    said.lasts(3, 3, at(150), at(900));
    anyhow::ensure!(said.overlaps().is_empty(), "{:?}", said.overlaps());
    said.lasts(1, 1, at(250), at(260));
    anyhow::ensure!(said.overlaps().len() == 1, "{:?}", said.overlaps());
    for (moment, leading) in [(5, 0), (10, 1), (204, 1), (205, 2), (250, 2), (251, 1), (301, 0)] {
        let found = said.leading(at(moment));
        anyhow::ensure!(found == leading, "{found} lead after {moment} ms");
    }
    Ok(())
}

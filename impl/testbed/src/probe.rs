//! What the nodes themselves say: each is asked again and again whether its lease lasts.
//!
//! One clock times all questions and answers. A node that says yes had a valid lease at some moment
//! between the two; and a lease of one epoch, once lost, is not regained. So from the first answer
//! to the last question of an epoch its lease was valid. No two such intervals may overlap, and
//! none may come after one of a higher epoch.

use std::collections::BTreeMap;
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

#[derive(Debug, Default)]
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

    /// Two leases that were valid at the same time, or not in the order of their epochs.
    fn wrong(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let all: Vec<_> = self.leases.iter().collect();
        for (position, &(&(epoch, node), one)) in all.iter().enumerate() {
            for &(&(later, other), two) in &all[position + 1..] {
                let both = one.until.min(two.until).checked_duration_since(one.from.max(two.from));
                if let Some(time) = both.filter(|time| !time.is_zero()) {
                    wrong.push(format!(
                        "two valid leases for {time:.1?}: node {node} in epoch {epoch}, and node \
                         {other} in epoch {later}"
                    ));
                } else if epoch < later && two.from < one.until {
                    wrong.push(format!(
                        "node {node} has a lease of epoch {epoch} after node {other} had one of \
                         epoch {later}"
                    ));
                }
            }
        }
        wrong
    }
}

/// What asks, until it is dropped.
#[derive(Debug)]
pub struct Probe {
    said: Arc<Mutex<Said>>,
    over: Arc<AtomicBool>,
}

impl Probe {
    /// Asks the nodes that serve HTTP at these addresses.
    pub fn start(nodes: impl IntoIterator<Item = (u16, String)>) -> Self {
        let probe = Self { said: Arc::default(), over: Arc::default() };
        for (node, address) in nodes {
            let (said, over) = (Arc::clone(&probe.said), Arc::clone(&probe.over));
            thread::spawn(move || ask(node, &format!("http://{address}/leader"), &said, &over));
        }
        probe
    }

    /// Returns whether all of these have said since then that the same one of them leads.
    pub fn agreed(&self, nodes: &[u16], since: Instant) -> bool {
        let said = self.said();
        let leader = |node: &u16| {
            let &(asked, leader) = said.leaders.get(node)?;
            leader.filter(|_| asked > since)
        };
        let first = nodes.first().and_then(leader);
        let among = |leader| nodes.iter().any(|&node| u64::from(node) == leader);
        first.is_some_and(among) && nodes.iter().all(|node| leader(node) == first)
    }

    /// Returns how many times a node has said how it is; and leases that were valid at the same
    /// time, or not in the order of their epochs.
    pub fn judge(&self) -> (u64, Vec<String>) {
        let said = self.said();
        (said.answers, said.wrong())
    }

    /// Returns the node that has had a valid lease of this epoch, as far as it was asked.
    pub fn leader_of(&self, epoch: u64) -> Option<u16> {
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

/// Returns an agent that gives up after `limit`.
pub fn agent(limit: Duration) -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.timeout_global(Some(limit)).build().into()
}

/// Returns the status and the text of what a node answers within `limit`.
pub fn get(url: &str, limit: Duration) -> Option<(u16, String)> {
    text(&agent(limit), url)
}

fn text(agent: &ureq::Agent, url: &str) -> Option<(u16, String)> {
    let mut answer = agent.get(url).call().ok()?;
    let text = answer.body_mut().read_to_string().ok()?;
    Some((answer.status().as_u16(), text))
}

fn ask(node: u16, url: &str, said: &Mutex<Said>, over: &AtomicBool) {
    let agent = agent(ANSWER);
    while !over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        let answer = text(&agent, url);
        let answered = Instant::now();
        let answer = answer.and_then(|(status, text)| {
            let answer: Value = serde_json::from_str(&text).ok()?;
            Some(((200..300).contains(&status), answer))
        });
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_leases_at_a_time_and_an_epoch_that_goes_back_are_noticed() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut said = Said::default();
        for time in [0, 100, 200] {
            said.lasts(1, 1, at(time), at(time + 10));
        }
        said.lasts(2, 2, at(201), at(205));
        said.lasts(2, 2, at(300), at(310));
        assert_eq!(said.wrong(), [""; 0]);
        // A question that was answered late proves nothing about the time between.
        said.lasts(3, 3, at(150), at(900));
        assert_eq!(said.wrong(), [""; 0]);
        said.lasts(1, 1, at(250), at(260));
        assert_eq!(said.wrong().len(), 1, "{:?}", said.wrong());
        said.lasts(1, 4, at(400), at(410));
        said.lasts(1, 6, at(500), at(510));
        assert_eq!(said.wrong().len(), 1, "the epochs grow");
        said.lasts(2, 5, at(600), at(610));
        assert_eq!(said.wrong().len(), 2, "{:?}", said.wrong());
    }
}

//! A store whose replica takes over without the last grant: the one way to two leaders that no rule
//! of the protocol closes.

use bellwether::protocol::lease::Durations;
use bellwether_testbed::probe::Probe;
use bellwether_testbed::relay::{Gate, Relay};
use bellwether_testbed::servers::{Server, Store, ask};
use bellwether_testbed::wait;
use serde_json::{Value, json};

use super::stand::Stand;
use super::{NODES, warning};
use crate::soak::LIMIT;

/// A Redis grants the lease; its replica does not hear of that. The holder is cut from both, and
/// the replica takes over, for the others. Returns what was found, which must be two leaders.
pub(super) fn lost(times: Durations) -> anyhow::Result<Value> {
    let mut stand = Stand::start(Store::Redis, NODES, times, true)?;
    let link = Relay::start(stand.runtime.handle(), stand.server.port())?;
    let replica = Server::replica(link.port())?;
    let said = warning(&stand)?;
    let probe = Probe::start(stand.cluster.http.clone());
    wait::until("the first leader writes", LIMIT, || stand.resource.epoch() > 0)?;
    let in_step = || {
        let said = ask(replica.port(), "INFO replication\r\nQUIT\r\n");
        said.is_ok_and(|said| said.contains("master_link_status:up"))
    };
    wait::until("the replica has what the other has", LIMIT, in_step)?;

    link.set(Gate::Cut);
    let (token, first) = stand.leader();
    stand.cluster.kill(first)?;
    wait::until("another leader writes", LIMIT, || stand.resource.epoch() > token)?;
    let (granted, holder) = stand.leader();
    stand.gate(&[holder], Gate::Cut);
    stand.server.kill();
    let promoted = ask(replica.port(), "REPLICAOF NO ONE\r\nQUIT\r\n")?;
    anyhow::ensure!(promoted.contains("+OK"), "{promoted}");
    let others = stand.relays.iter().filter(|(node, _)| **node != holder);
    others.for_each(|(_, relay)| relay.aim(replica.port()));

    let found = || [probe.judge().1, stand.resource.seen().violations].concat();
    let two = wait::until("two leaders", times.keep * 3, || !found().is_empty());
    anyhow::ensure!(!wait::asked_to_end(), "asked to end");
    let mut violations = Vec::new();
    if two.is_err() {
        violations.push(format!(
            "not found: two leaders, after the grant of token {granted} to node {holder} was lost"
        ));
    }
    if said.is_none() {
        violations.push("no node says at its start that a grant can be lost".to_owned());
    }
    Ok(json!({ "store": "redis", "expected": found(), "violations": violations }))
}

//! A network on which every message is long on its way: the nodes agree, and stay agreed.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use bellwether_testbed::process;
use bellwether_testbed::wait;

use super::cluster::{Cluster, Security, Setup, daemon, section};
use super::members::Members;
use super::network::Network as _;
use super::quiescent::{Said, most_followed};
use super::relay::Relays;
use super::report::note;

/// How long each message takes, one way. A handshake goes there and back three times.
const DELAY: Duration = Duration::from_millis(260);

/// The usual times of the protocols, so many times as long: an answer takes 520 ms, and is waited
/// for 1.2 s.
const PACE: f64 = 4.0;

/// How long it may take until all follow one, and for how long nothing may change then.
const LIMIT: Duration = Duration::from_secs(60);
const CALM: Duration = Duration::from_secs(5);

#[test]
fn nodes_agree_over_links_that_are_slow() -> anyhow::Result<()> {
    if process::daemon().is_none() {
        note("skipped: the daemon, which is of another package, is not built");
        return Ok(());
    }
    ["quorum", "bully"].into_iter().try_for_each(|protocol| {
        agrees(protocol).with_context(|| format!("{protocol}, {DELAY:?} each way"))
    })
}

fn agrees(protocol: &str) -> anyhow::Result<()> {
    let nodes = 5;
    let mut network = Relays::start(nodes)?;
    anyhow::ensure!(network.delay(DELAY), "relays can delay");
    let (section, _) = section(protocol, PACE, nodes)?;
    let setup = Setup {
        program: daemon()?,
        nodes,
        members: Members::of(1..=nodes),
        section: Box::new(move |_| section.clone()),
        protocol: protocol.to_owned(),
        security: Security::Tls,
        resource: None,
        network_timeout: Duration::from_secs(2),
    };
    let mut cluster = Cluster::new(setup, Box::new(network))?;
    (1..=nodes).try_for_each(|node| cluster.start(node))?;
    let until = Instant::now() + LIMIT;
    let all = usize::from(nodes);
    wait::until("all follow one", LIMIT, || most_followed(&cluster, nodes, until) == all)?;
    // What the beginning has left is over.
    wait::sleep(CALM / 2)?;
    let changes = || -> Option<Vec<f64>> {
        (1..=nodes).map(|node| Some(Said::ask(&cluster.http[&node])?.changes)).collect()
    };
    let before = changes().context("no answer")?;
    wait::sleep(CALM)?;
    let after = changes().context("no answer")?;
    anyhow::ensure!(before == after, "changes of role: {before:?}, then {after:?}");
    anyhow::ensure!(most_followed(&cluster, nodes, Instant::now() + LIMIT) == all);
    Ok(())
}

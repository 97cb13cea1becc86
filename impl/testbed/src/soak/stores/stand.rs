//! What is struck: nodes, the store that they share, and a relay between each and the store.

use std::collections::BTreeMap;
use std::time::Duration;

use bellwether::protocol::lease::Durations;
use bellwether_testbed::relay::{Gate, Relay};
use bellwether_testbed::servers::{Server, Store};
use tokio::runtime::Runtime;

use crate::cluster::{Cluster, Security, Setup, daemon};
use crate::members::Members;
use crate::network::Loopback;
use crate::resource::Resource;

/// Nodes, and their store. What is first here ends first.
pub(super) struct Stand {
    pub(super) cluster: Cluster,
    pub(super) relays: BTreeMap<u16, Relay>,
    pub(super) server: Server,
    pub(super) resource: Resource,
    pub(super) runtime: Runtime,
}

/// The times, `pace` times as long as here. etcd and Kubernetes count leases in whole seconds.
pub(super) fn durations(pace: f64) -> Durations {
    let time = |milliseconds| Duration::from_millis(milliseconds).mul_f64(pace);
    Durations { hold: time(1_500), keep: time(2_000), renew: time(300), retry: time(300) }
}

impl Stand {
    /// So many nodes, which write to a resource while they lead. A file needs no relay. Nodes that
    /// find the store at several addresses say so in their logs, and talk nevertheless.
    pub(super) fn start(
        store: Store,
        nodes: u16,
        times: Durations,
        relayed: bool,
    ) -> anyhow::Result<Self> {
        let server = Server::start(store)?;
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let relayed = if relayed && store != Store::Sqlite { nodes } else { 0 };
        let mut relays = BTreeMap::new();
        for node in 1..=relayed {
            relays.insert(node, Relay::start(runtime.handle(), server.port())?);
        }
        let address = |node| match relays.get(&node) {
            Some(relay) => server.address_at(relay.port()),
            None => server.address(),
        };
        let addresses: BTreeMap<u16, String> =
            (1..=nodes).map(|node| (node, address(node))).collect();
        let resource = Resource::serve()?;
        let setup = Setup {
            program: daemon()?,
            nodes,
            members: Members::of(1..=nodes),
            section: Box::new(move |node| section(&addresses[&node], &times)),
            protocol: "lease".to_owned(),
            security: Security::Plain,
            resource: Some(resource.clone()),
            network_timeout: Duration::from_secs(1),
        };
        let mut cluster = Cluster::new(setup, Box::new(Loopback::new(nodes)))?;
        cluster.init_store(1)?;
        (1..=nodes).try_for_each(|node| cluster.start(node))?;
        Ok(Self { cluster, relays, server, resource, runtime })
    }

    /// What passes between these nodes and the store.
    pub(super) fn gate(&self, nodes: &[u16], gate: Gate) {
        nodes.iter().filter_map(|node| self.relays.get(node)).for_each(|relay| relay.set(gate));
    }

    /// The token of the write that was accepted last, and the node.
    pub(super) fn leader(&self) -> (u64, u16) {
        self.resource.latest().map_or((0, 1), |latest| (latest.epoch, latest.node))
    }
}

/// The section `[lease]` with a store at this address.
fn section(address: &str, times: &Durations) -> String {
    let Durations { hold, keep, renew, retry } = times;
    let times = [("hold", hold), ("keep", keep), ("renew", renew), ("retry", retry)];
    let time = |(name, time): (&str, &Duration)| format!("{name} = \"{}us\"\n", time.as_micros());
    format!("[lease]\nstore = \"{address}\"\n{}", times.map(time).concat())
}

//! A network on loopback: a relay in each way between two nodes, which can withhold and delay.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use bellwether_testbed::ports::free_port;
use bellwether_testbed::relay::{Moved, Relay, Slow, Trips, Weather};
use tokio::runtime::Runtime;

use super::network::{Network, Way};

/// The relays, which run until this is dropped.
pub(crate) struct Relays {
    relays: BTreeMap<Way, Relay>,
    ports: BTreeMap<u16, u16>,
    trips: Arc<Trips>,
    _runtime: Runtime,
}

impl Relays {
    pub(crate) fn start(nodes: u16) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .context("cannot start the relays")?;
        let ports: BTreeMap<u16, u16> = (1..=nodes).map(|node| (node, free_port())).collect();
        let (trips, mut relays) = (Arc::default(), BTreeMap::new());
        for (from, to) in (1..=nodes).flat_map(|from| (1..=nodes).map(move |to| (from, to))) {
            if from != to {
                let relay = Relay::listen(runtime.handle(), 0, ports[&to], &trips);
                relays.insert((from, to), relay.context("cannot listen for a relay")?);
            }
        }
        Ok(Self { relays, ports, trips, _runtime: runtime })
    }

    /// Changes what becomes of all data.
    fn change(&self, change: impl Fn(&mut Weather)) {
        for relay in self.relays.values() {
            relay.there(&change);
            relay.back(&change);
        }
    }
}

impl Network for Relays {
    fn name(&self) -> &'static str {
        "relays on loopback"
    }

    fn address(&self, node: u16) -> String {
        format!("127.0.0.1:{}", self.ports[&node])
    }

    fn member(&self, from: u16, to: u16) -> String {
        let relay = self.relays.get(&(from, to));
        relay.map_or_else(|| self.address(to), |relay| relay.address().to_string())
    }

    fn has_one_address_each(&self) -> bool {
        false
    }

    fn cut(&mut self, cut: &BTreeSet<Way>) -> anyhow::Result<()> {
        for (&(from, to), relay) in &self.relays {
            relay.there(|there| there.cut = cut.contains(&(from, to)));
            relay.back(|back| back.cut = cut.contains(&(to, from)));
        }
        Ok(())
    }

    fn delay(&mut self, delay: Duration) -> bool {
        self.change(|weather| weather.delay = delay);
        true
    }

    fn slow_trips(&mut self, slow: Slow) -> bool {
        self.change(|weather| weather.slow = slow);
        true
    }

    fn moved(&self) -> Moved {
        self.trips.moved()
    }
}

//! Three nodes in one process, whose lease is granted by a store that the program brings.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bellwether::LeaseSection;
use bellwether::storage::Memory;
use bellwether::store::STORE;
use bellwether::{Config, Election};
use bellwether_core::protocol::lease::{Durations, Lease};
use bellwether_stores::address::StoreAddress;

use super::pretended::Pretended;
use crate::{id, leader, ports, until};

const DURATIONS: Durations = Durations {
    hold: Duration::from_secs(4),
    keep: Duration::from_secs(6),
    renew: Duration::from_millis(200),
    retry: Duration::from_secs(15),
};

async fn cluster(store: &Pretended) -> Vec<Election> {
    let (listeners, members) = ports(3).await;
    let join = |(node, listener)| {
        let section = LeaseSection {
            store: Some(StoreAddress::Own(Arc::new(store.clone()))),
            durations: DURATIONS,
            ..LeaseSection::default()
        };
        let config = Config::<Lease>::for_protocol("own", node, members.clone(), section);
        Election::join_with(config.expect("valid"), listener, Memory::default()).expect("can join")
    };
    (1..).zip(listeners).map(join).collect()
}

#[tokio::test]
async fn one_of_three_has_the_lease_and_another_gets_it_when_it_is_given_back() {
    let store = Pretended::new(None);
    let mut nodes = cluster(&store).await;
    let place = leader(&nodes).await;
    let first = nodes.remove(place);
    let guard = first.guard().expect("it leads with a lease");
    assert_eq!((guard.is_valid_now(), guard.epoch().number()), (true, store.state().token));
    assert!(nodes.iter().all(|node| node.guard().is_none()));
    let left = Instant::now();
    first.leave().await.expect("no storage to fail");
    assert!(!guard.is_valid_now());
    let second = &nodes[leader(&nodes).await];
    let taken = left.elapsed();
    assert!(taken < DURATIONS.retry * 2 / 3, "the store has told that it is free: {taken:?}");
    let next = second.guard().expect("it leads with a lease");
    assert!(next.epoch() > guard.epoch(), "a later grant has a higher token");
}

#[tokio::test]
async fn a_leader_whose_store_is_away_says_so_and_leads_no_longer_than_its_lease() {
    let store = Pretended::new(None);
    let nodes = cluster(&store).await;
    let first = &nodes[leader(&nodes).await];
    let guard = first.guard().expect("it leads with a lease");
    store.state().away = true;
    let before = Instant::now();
    until("its lease ends", || !guard.is_valid_now()).await;
    assert!(before.elapsed() < DURATIONS.hold * 2, "{:?}", before.elapsed());
    let problem = first.handle().status().problem.expect("a problem");
    assert_eq!(problem, "the store of the program of the lease own: it is away");
    assert_eq!(first.handle().measurements().store_connected, Some(false));
    store.state().away = false;
    let next = &nodes[leader(&nodes).await];
    let is_well = || next.guard().is_some() && next.handle().status().problem.is_none();
    until("the store answers again", is_well).await;
    assert_eq!(next.handle().measurements().store_connected, Some(true));
}

#[test]
fn no_member_may_have_the_id_of_the_store() {
    let store = Some(StoreAddress::Own(Arc::new(Pretended::new(None))));
    let section = LeaseSection { store, ..LeaseSection::default() };
    let members = [(1, "127.0.0.1:7001"), (STORE.get(), "127.0.0.1:7002")];
    let error = Config::<Lease>::for_protocol("own", 1, members, section.clone());
    let error = error.expect_err("it has").to_string();
    assert!(error.contains("give that member another"), "{error}");
    let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002")];
    let config = Config::<Lease>::for_protocol("own", 1, members, section).expect("valid");
    assert_eq!(config.store_names(), ["the store of the program of the lease own"]);
    assert!(config.store_warning().is_none() && id(1) == config.node());
}

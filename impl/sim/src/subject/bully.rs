//! The bully.

use std::time::Duration;

use bellwether_core::protocol::bully::{Bully as Core, Config, Timing};
use bellwether_core::protocol::{Members, NodeId};

use super::{OF_THE_MEMBER, Subject};
use crate::wrong::Wrong;

/// The bully with its usual configuration. It promises that all agree in the end, and that is all
/// that it promises where time-outs can be wrong.
#[derive(Clone, Copy, Debug)]
pub struct Bully;

impl Subject for Bully {
    const NAME: &'static str = "bully";
    const PERSISTS: bool = false;
    const LEASES: bool = false;
    const PROMISES: &'static [&'static [&'static str]] = &[OF_THE_MEMBER, &["stabilises"]];
    const PROMISES_IN_PEACE: &'static [&'static str] = &[];
    type Core = Core;

    fn config(members: &Members, id: NodeId, _: usize, _: Option<Wrong>) -> Config {
        Config { id, members: members.clone(), timing: Timing::DEFAULT }
    }

    /// The highest node leads, or misses its leader within a watch or waits for a winner, and then
    /// starts an election; that of the highest ends at once.
    fn bound(_: usize, delay: Duration, _: usize) -> Duration {
        let Timing { election, coordinator, watch, heartbeat } = Timing::DEFAULT;
        (watch + coordinator + election * 2 + heartbeat + delay * 4) * 2
    }
}

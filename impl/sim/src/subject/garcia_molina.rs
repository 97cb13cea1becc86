//! The bully of 1982.

use std::time::Duration;

use bellwether_core::protocol::garcia_molina::{Config, GarciaMolina as Core, Timing};
use bellwether_core::protocol::{Members, NodeId};

use super::{OF_THE_MEMBER, Subject};
use crate::wrong::Wrong;

/// The bully of 1982 with its usual configuration.
#[derive(Clone, Copy, Debug)]
pub struct GarciaMolina;

impl Subject for GarciaMolina {
    const NAME: &'static str = "garcia-molina";
    const PERSISTS: bool = true;
    const LEASES: bool = false;
    const PROMISES: &'static [&'static [&'static str]] = &[OF_THE_MEMBER, &["stabilises"]];
    const PROMISES_IN_PEACE: &'static [&'static str] = &[];
    type Core = Core;

    fn config(members: &Members, id: NodeId, _: usize, _: Option<Wrong>) -> Config {
        Config { id, members: members.clone(), timing: Timing::DEFAULT }
    }

    /// The check of the highest node goes round all others, one call after the other, and so does
    /// the election that follows if one of them works for another node.
    fn bound(nodes: usize, delay: Duration, _: usize) -> Duration {
        let Timing { call, silence, election, check } = Timing::DEFAULT;
        let round = (call + delay * 2) * nodes as u32;
        (silence + election + check + round * 4) * 2
    }
}

//! How long this ring waits, where time is measured.

use super::ring;
use bellwether_engine::protocol::Duration;

pub(super) static T_HOP: Duration = ring::hop(3);
pub(super) static T_LAP: Duration = ring::lap(6);
pub(super) static T_DETECT: Duration = ring::detect(1);
pub(super) static T_HEARTBEAT: Duration = ring::heartbeat(7);

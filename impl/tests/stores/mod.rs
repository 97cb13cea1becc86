//! The stores that people already run: each adapter at a real server, which the test starts.

mod encrypted;
mod histories;
mod history;
mod judged;
mod pretended;
#[path = "../../benches/cluster/process.rs"]
#[allow(dead_code, reason = "some of it is for the soak")]
mod process;
mod refused;
#[allow(dead_code, reason = "some of it is for the soak")]
mod relay;
mod restarts;
#[allow(dead_code, reason = "some of it is for the soak")]
mod servers;
mod told;

use std::io::Write as _;

use self::servers::Store;
use crate::processes::common::free_port;

/// Says something that is seen although the test passes.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Whether a store can be tried here. If it cannot, that is said.
fn here(store: Store) -> bool {
    let missing = store.missing();
    if let Some(why) = &missing {
        say(why);
    }
    missing.is_none()
}

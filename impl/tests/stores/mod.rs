//! The stores that people already run: each adapter at a real server, which the test starts.

mod encrypted;
mod histories;
mod pretended;
mod refused;
mod restarts;
mod told;

use std::io::Write as _;

use bellwether_testbed::servers::Store;

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

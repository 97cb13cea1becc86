//! All tests of the crate from the outside, in one program.

mod groups;
mod leases;
mod library;
mod members;
mod own_store;
mod persistence;
mod processes;
mod rivals;
mod standing;
mod stores;

use std::time::Duration;

use bellwether::Timing;

/// No leader loses its lease because the machine has much to do.
const PATIENT: Timing = Timing {
    round: Duration::from_millis(400),
    lease: Duration::from_millis(3_000),
    promise: Duration::from_millis(3_500),
    ..Timing::DEFAULT
};

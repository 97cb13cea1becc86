//! The test bed: processes and clusters of them, free ports, waiting, faults from a seed, relays,
//! servers of stores, and what asks nodes which of them leads. The tests of several packages use it,
//! and so does the program `bellwether-soak`.

pub mod faults;
#[cfg(feature = "stores")]
pub mod history;
#[cfg(feature = "stores")]
pub mod http_server;
#[cfg(feature = "stores")]
pub mod lease_api;
pub mod ports;
#[cfg(feature = "stores")]
pub mod probe;
pub mod process;
#[cfg(feature = "stores")]
pub mod relay;
#[cfg(feature = "stores")]
pub mod servers;
#[cfg(feature = "stores")]
pub mod stand_in;
pub mod wait;

//! The test bed: processes and clusters of them, free ports, waiting, relays, servers of stores,
//! and what asks nodes which of them leads. The tests of several packages use it, and so does the
//! program `bellwether-soak`.

#[cfg(feature = "stores")]
pub mod history;
#[cfg(feature = "stores")]
pub mod http_server;
#[cfg(feature = "stores")]
pub mod lease_api;
#[cfg(feature = "stores")]
pub mod mistakes;
pub mod ports;
#[cfg(feature = "stores")]
pub mod probe;
pub mod process;
#[cfg(feature = "stores")]
pub mod relay;
#[cfg(feature = "stores")]
pub mod servers;
pub mod wait;

//! The stores that grant the lease of the protocol
//! [`lease`](bellwether_core::protocol::lease): databases and services that people already run.
//!
//! The contract is [`bellwether_core::store`]: the traits `Connect` and `LeaseStore`, and the
//! promises that every store keeps. Each adapter is a module with the name of its store, and
//! [`connect`] finds the adapter for an [`address`]. The library and daemon `bellwether` asks a store
//! in the name of a node, and shows this crate as its module `stores`.
//!
//! The modules [`private_file`] and [`causes`] are the same for the files and the errors of the
//! daemon.

pub mod address;
pub mod causes;
#[cfg(feature = "adapters")]
mod changes;
pub mod connect;
#[cfg(feature = "adapters")]
pub mod etcd;
#[cfg(feature = "adapters")]
mod grant;
#[cfg(feature = "adapters")]
mod http_client;
#[cfg(feature = "adapters")]
pub mod kubernetes;
#[cfg(feature = "adapters")]
mod network;
#[cfg(feature = "adapters")]
pub mod postgres;
pub mod private_file;
#[cfg(feature = "adapters")]
pub mod redis;
#[cfg(feature = "adapters")]
mod secret;
#[cfg(feature = "adapters")]
pub mod sqlite;
#[cfg(test)]
mod testing;
#[cfg(feature = "adapters")]
mod tls;
#[cfg(feature = "adapters")]
mod values;

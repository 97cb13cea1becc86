//! Leader election for Rust services.

pub mod protocol;

pub use protocol::{Members, NodeId, Role};

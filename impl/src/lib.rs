//! Leader election for Rust services: join an election, and watch which node leads.
//!
//! ```no_run
//! use bellwether::{Config, Election};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let members = [(1, "127.0.0.1:7001"), (2, "127.0.0.1:7002"), (3, "127.0.0.1:7003")];
//! let config = Config::new("orders", 2, members)?.with_directory("/var/lib/orders");
//! let election = Election::join(config).await?;
//! let mut leadership = election.leadership();
//! while let Some(now) = leadership.changed().await {
//!     println!("{}", if now.is_self() { "this node leads" } else { "this node waits" });
//! }
//! election.leave().await?;
//! # Ok(())
//! # }
//! ```
//!
//! What leadership means here: the recommended protocol is the [quorum
//! bully](bellwether_core::protocol::quorum). A node leads with the durable grants of a majority, for
//! as long as a lease lasts that a majority renews, and each leadership has a higher epoch than the
//! one before. A network that is cut in two has at most one leader, on the side of the majority. A
//! thread can be paused at any moment, so before each thing that only a leader may do, ask
//! [`Guard::is_valid_now`], and send the epoch along: [`fence`] is the side that refuses old ones.
//!
//! ```no_run
//! # fn example(election: bellwether::Election) {
//! if let Some(guard) = election.guard() {
//!     while guard.is_valid_now() {
//!         println!("the next order, in the name of epoch {}", guard.epoch());
//!     }
//! }
//! # }
//! ```
//!
//! [`Handle::run_while_leader`] does the same for a future: it runs while the node leads, and is
//! dropped when the lease is over.
//!
//! [`Config::for_protocol`] chooses another protocol. None of the others has a quorum: *they can
//! have two leaders at the same time*, which is logged as a warning. What must be remembered
//! through a crash is kept in a directory, [`Config::with_directory`].
//!
//! A node can take part in many elections at once, each with a leader of its own and spread over
//! the nodes: see [`Config::with_groups`].
//!
//! The state machines that decide are a package of their own, [`bellwether_core`], which does no
//! I/O: its example `drive` is a program that drives one by itself. Databases and services that grant
//! the lease in a node's place are another, [`bellwether_stores`], whose adapters the feature `stores`
//! brings. The other features are `config-file`, `http` and `tls`; no feature is on by default.

mod clock;
mod config;
mod driver;
pub mod fence;
mod files;
#[cfg(feature = "http")]
pub mod http;
mod lock;
pub mod log;
mod report;
mod status;
pub mod storage;
mod store_client;
mod transport;

#[doc(inline)]
pub use bellwether_core::protocol::{Epoch, NodeId, Reason, Role, Timing};
#[doc(inline)]
pub use bellwether_core::store;
use bellwether_core::{detector, for_each_core, member, protocol, trace};
#[doc(inline)]
pub use bellwether_stores::address::StoreAddress;
pub use config::{
    Address, Config, Credentials, Detection, DetectorSettings, Error as ConfigError, LeaseSection,
    MemberChange, MemberList, Security, StollerSection,
};
#[cfg(feature = "config-file")]
pub use config::{Log, Overrides};
pub use driver::{
    Approach, Change, Election, Guard, Handle, History, JoinError, LeadError, Leadership,
    LeadershipWatch, MaintenanceReport, MembersError, OwnChange, RequestError, Stopped, Term, Work,
};
pub use status::{
    CertificateReport, Counters, Link, Measurements, MemberReport, StatusReport, StoreView,
};

bellwether_core::debug_as_display!(
    config::Error,
    driver::JoinError,
    driver::LeadError,
    driver::MembersError,
    driver::RecoveryError,
    driver::Stopped,
    fence::FenceError,
    fence::Stale,
    status::QueryError,
    storage::StorageError
);

/// The parts that the daemon and the tests of this repository need beyond the public ones, and that
/// change with them: no version promises anything of these.
#[doc(hidden)]
pub mod internal {
    pub mod config {
        pub use crate::config::*;
    }
    pub mod driver {
        pub use crate::driver::*;
    }
    pub mod status {
        pub use crate::status::*;
    }
}

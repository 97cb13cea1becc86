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
//! What leadership means here: the recommended protocol is the [quorum bully](protocol::quorum). A
//! node leads with the durable grants of a majority, for as long as a lease lasts that a majority
//! renews, and each leadership has a higher epoch than the one before. A network that is cut in two
//! has at most one leader, on the side of the majority. A thread can be paused at any moment, so
//! before each thing that only a leader may do, ask [`Guard::is_valid_now`], and send the epoch
//! along: [`fence`] is the side that refuses old ones.
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
//! the nodes: see [`Groups`].
//!
//! The crate has one module for each concern, and arrows point one way. The first five are a
//! package of their own, `bellwether-core`, which does no I/O:
//!
//! - [`protocol`]: pure state machines, which a formal model can be compared with;
//! - [`detector`]: whether a process has crashed, judged by its heartbeats;
//! - [`member`]: what surrounds such a core and decides what its program is told;
//! - [`store`]: the contract of a store of [`protocol::lease`] that is no node;
//! - [`trace`]: the lines that a node writes about its steps, if it is [asked](Config::with_trace);
//! - [`stores`]: databases and services that keep that contract, a package of their own,
//!   `bellwether-stores`; the adapters are there with the feature `stores`;
//! - [`driver`]: tokio around a member, and the [`Election`] you join;
//! - [`storage`]: what a core must not forget, on disk;
//! - `transport`: frames over TCP, handshakes, reconnection;
//! - [`fence`]: a resource that refuses a leader of an old epoch;
//! - `store_client`: the task that asks a store in the name of a node;
//! - [`config`]: files, environment and flags, parsed into types that cannot be wrong; files with
//!   the feature `config-file`, and certificates with the feature `tls`;
//! - `report`: how a node is, as data;
//! - [`status`]: asking a node how it is;
//! - `http`, with the feature of that name: the same for load balancers, Prometheus and people;
//! - [`log`]: a log that is never in the way.

mod clock;
pub mod config;
pub mod driver;
pub mod fence;
#[cfg(feature = "http")]
pub mod http;
mod lock;
pub mod log;
mod report;
pub mod status;
pub mod storage;
mod store_client;
mod transport;

pub use bellwether_core::for_each_core;
#[doc(inline)]
pub use bellwether_core::{detector, member, protocol, store, trace};
pub use bellwether_stores as stores;
pub use config::Config;
pub use driver::{
    Approach, Election, Groups, Guard, Handle, JoinError, LeadError, Leadership, MembersError,
    OwnChange, Preparation, RequestError, Stopped, UnknownGroup, Work,
};
pub use protocol::{Epoch, Members, NodeId, Reason, Role, Timing};

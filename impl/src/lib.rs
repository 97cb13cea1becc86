//! Leader election for Rust services: join an election, and watch which node leads.
//!
//! ```no_run
//! use bellwether::{Config, Election};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let members = [(1, "10.0.0.1:7000"), (2, "10.0.0.2:7000"), (3, "10.0.0.3:7000")];
//! let election = Election::join(Config::new("orders", 2, members)?).await?;
//! let mut leadership = election.leadership();
//! while leadership.changed().await.is_ok() {
//!     let now = *leadership.borrow_and_update();
//!     match now.leader {
//!         Some(_) if now.is_self() => println!("this node leads"),
//!         Some(leader) => println!("node {leader} leads"),
//!         None => println!("no leader"),
//!     }
//! }
//! election.leave().await?;
//! # Ok(())
//! # }
//! ```
//!
//! What leadership means here: the recommended protocol is the [bully](protocol::bully), which has
//! no quorum. While messages arrive within the configured time-outs there is one leader, the
//! highest node that is up. *A network that is cut in two has a leader on each side*, and a leader
//! that was paused does not know at once that it was replaced. Use it where that is a nuisance, not
//! a loss; a protocol with a quorum is for the other cases.
//!
//! [`Config::for_protocol`] chooses another protocol. Those that must remember something through a
//! crash need a directory, [`Config::with_directory`].
//!
//! The crate has one module for each concern, and arrows point one way:
//!
//! - [`protocol`]: pure state machines, no I/O, which a formal model can be compared with;
//! - [`detector`]: whether a process has crashed, judged by its heartbeats; pure as well;
//! - [`driver`]: tokio around such a core, and the [`Election`] you join;
//! - [`storage`]: what a core must not forget, on disk;
//! - `transport`: frames over TCP, handshakes, reconnection;
//! - [`fence`]: a resource that refuses a leader of an old epoch;
//! - [`config`]: files, environment and flags, parsed into types that cannot be wrong;
//! - [`status`]: asking a node how it is.

pub mod config;
pub mod detector;
pub mod driver;
pub mod fence;
pub mod protocol;
pub mod status;
pub mod storage;
mod transport;

pub use config::Config;
pub use driver::{Election, Guard, JoinError, Leadership, Stopped};
pub use protocol::{Epoch, Members, NodeId, Reason, Role, Timing};

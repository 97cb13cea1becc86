//! What a node of an election decides, without anything that acts: state machines that own no
//! socket, clock, thread, file or random source.
//!
//! The time and a seed come in, effects come out, so a test can take every step of a state machine
//! in any order. The crate depends on no runtime and on nothing that does I/O, which a test checks.
//! Arrows point one way:
//!
//! - [`protocol`]: the elections, and the shell that every one of them has;
//! - [`detector`]: whether a process has crashed, judged by its heartbeats;
//! - [`member`]: what surrounds a node of a protocol and decides what its program is told;
//! - [`store`]: the contract of a store that grants the lease in a node's place, and the session of
//!   its client;
//! - [`trace`]: what a node writes about its own steps.
//!
//! Three programs surround these state machines. The library `bellwether` gives them tokio, a disk
//! and a network: a service that takes part in elections depends on that one. `bellwether-bridge`
//! compares them with their specifications, transition by transition. `bellwether-sim` runs them on
//! a virtual network with virtual clocks. A program that has a loop, a network and a disk of its own
//! drives a [`Member`](member::Member) itself: `examples/drive.rs` does that in 80 lines.

/// Lets the `Debug` of errors read like their `Display`: a `main` that returns an error prints it.
#[doc(hidden)]
#[macro_export]
macro_rules! debug_as_display {
    ($($error:ty),+ $(,)?) => {
        $(impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        })+
    };
}

pub mod detector;
pub mod member;
pub mod protocol;
pub mod store;
#[cfg(test)]
mod stories;
pub mod trace;

debug_as_display!(
    member::RequestError,
    protocol::MemberError,
    store::HolderError,
    store::StoreError
);

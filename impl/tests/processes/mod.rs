//! Real processes of the daemon on loopback: clusters whose leaders are killed, and bad input.

mod bad_input;
mod cluster;
mod common;
mod logging;
mod protocols;
mod storage;

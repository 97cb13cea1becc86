//! Real processes of the daemon on loopback: clusters whose leaders are killed, and what the
//! program says.

mod common;
mod demo;
mod encrypted;
#[cfg(target_os = "linux")]
mod exec;
mod gone;
mod groups;
mod hooks;
mod http;
mod lines;
mod logging;
mod members;
mod mistakes;
mod monitoring;
mod packaging;
mod protocols;
mod recover;
mod roles;
mod security;
mod service;
mod stores;
mod strangers;
mod traced;

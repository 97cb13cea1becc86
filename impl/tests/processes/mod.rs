//! Real processes of the daemon on loopback: clusters whose leaders are killed, and bad input.

mod asking;
mod bad_input;
mod cluster;
pub(crate) mod common;
mod demo;
mod encrypted;
#[cfg(target_os = "linux")]
mod exec;
mod expiry;
mod forgotten;
mod gone;
mod groups;
mod health;
mod hooks;
mod http;
mod keys;
mod links;
mod logging;
mod manual;
mod members;
mod monitoring;
mod observers;
mod packaging;
mod paused;
mod protocols;
mod recover;
mod roles;
mod security;
mod service;
mod standing;
mod status;
mod storage;
mod stores;
mod strangers;
mod traced;
mod vanished;
mod witnesses;

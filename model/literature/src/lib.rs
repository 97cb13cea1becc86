//! What the literature says of leader elections, decided by the [checker](bellwether_model): the
//! [`claims`] of texts, the bugs that real systems had ([`history`]), executions that are worth a
//! look ([`gallery`]), and products that people run ([`like`]). Each is data, compiled in.

pub mod case;
pub mod claims;
pub mod cli;
pub mod entries;
pub mod gallery;
pub mod history;
pub mod like;

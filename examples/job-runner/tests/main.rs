//! The fence of a database, and instances of the program that are paused and killed.

mod cluster;
mod jobs;
mod server;
mod statements;

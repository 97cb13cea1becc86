//! Runs the commands that the README and the pages show, for the tests of several packages.
//!
//! A `console` block shows commands of one program and what they print: [`Console`]. An `sh` block
//! is copied into a shell: [`Checkout`]. [`script`] runs commands whose output stands in a file,
//! [`other_statuses`] those whose output is lost, [`not_one_screen`] says which help is too long,
//! [`is_shown`] compares a part of a page with what a test has made, and [`object_of`] what is
//! printed as JSON with its schema.
//!
//! It is not `trycmd`: that runs no `sh` blocks, wants all output and each exit status in the page,
//! and stops no services.

mod console;
mod help;
mod outputs;
mod pages;
mod schema;
pub mod script;
mod shell;

pub use console::{Console, words};
pub use help::{commands, not_in_the_manual, not_one_screen};
pub use outputs::{other_statuses, without_verdict};
pub use pages::{Block, blocks, is_shown, pages, root};
pub use schema::object_of;
pub use shell::{Checkout, How};

use std::io::Write;
use std::time::Instant;

/// Whether the time of each block is asked for.
fn is_timed() -> bool {
    std::env::var_os("BELLWETHER_TIMES").is_some()
}

/// Says something that is seen although the test passes, other than what `eprintln` writes.
fn notice(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Runs the block at this place, and says how long that took if that is asked for.
fn timed<T>(place: &str, block: impl FnOnce() -> T) -> T {
    let started = Instant::now();
    let done = block();
    if is_timed() {
        notice(&format!("{:8.2} s  {place}", started.elapsed().as_secs_f64()));
    }
    done
}

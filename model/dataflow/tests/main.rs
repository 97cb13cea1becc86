//! All tests of the dataflow, as one program.

mod bad_lines;
mod differential;
mod docs;
mod exact;
mod processes;
mod resume;
mod status;

/// What draws random worlds is that of the checker's own tests.
#[path = "../../tests/differential/draw.rs"]
mod draw;
#[allow(dead_code, reason = "some of it is for the checker's own tests")]
#[path = "../../tests/differential/scenario.rs"]
mod scenario;

//! All tests of the dataflow, as one program.

mod differential;
mod processes;
mod program;
mod resume;

/// What draws random worlds is that of the checker's own tests.
#[allow(dead_code, reason = "some of it is for the checker's own tests")]
#[path = "../../tests/differential/scenario.rs"]
mod scenario;

//! Counterexamples for people: a numbered [story], a [sequence diagram in text](diagram), and
//! [one in SVG](svg); and for programs that draw: a [sequence diagram for Mermaid](sequence),
//! and a [log for ShiViz](shiviz).
//!
//! One layout reads a [`Trace`]: lifelines, rows, arrows and notes. Everything here draws that
//! alone, so a new protocol needs nothing here. A saved
//! trace reads the same as a fresh one, but for what the model
//! [noted](bellwether_engine::trace::Noted) of the variables. A trace may have been edited by hand:
//! what does not make sense is drawn as well as it can be, and nothing panics. Whether a trace *is*
//! an execution of the model is not decided here but by [`Trace::actions`].
//!
//! [`Trace`]: bellwether_engine::trace::Trace
//! [`Trace::actions`]: bellwether_engine::trace::Trace::actions

pub mod diagram;
mod layout;
pub mod sequence;
pub mod shiviz;
pub mod story;
pub mod svg;
pub(crate) mod words;

//! The command line, the Explorer and the pictures of a program that checks leader elections.
//!
//! A program that names its protocols has them all: [`cli::main`] parses the arguments, decides,
//! shows counterexamples as text, JSON or [pictures](report), lets people walk through them in a
//! [browser](explore), and looks for the [time-outs](tune) that a protocol needs. What is decided,
//! and how, is the engine's affair: [`bellwether_engine`].

pub mod cli;
pub mod explore;
pub mod report;
pub mod tune;

//! Verdicts and counterexamples for people: tables, stories, sequence diagrams.
pub mod svg;

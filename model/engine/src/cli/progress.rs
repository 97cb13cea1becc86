//! A progress bar on a terminal, nothing when the output goes elsewhere.

use crate::check::{Progress, peak_rss_bytes};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use std::time::Duration;

/// The progress of a search, on standard error.
pub struct Bar(ProgressBar);

impl Bar {
    /// Hidden unless standard error is a terminal.
    #[must_use]
    pub fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let template = ProgressStyle::with_template("{spinner} {elapsed_precise} {wide_msg}");
        bar.set_style(template.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Bar(bar)
    }

    /// For this many steps, each of which is reported.
    #[must_use]
    pub fn of(steps: usize) -> Self {
        let bar = ProgressBar::new(steps as u64);
        let template = ProgressStyle::with_template("{bar:30} {pos}/{len} {elapsed_precise} {msg}");
        bar.set_style(template.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Bar(bar)
    }

    /// One more step is done.
    pub fn step(&self, what: &'static str) {
        self.0.set_message(what);
        self.0.inc(1);
    }

    /// Shows what is done at present, such as "searching", and how far it is.
    pub fn look(&self, doing: &str, progress: Progress) {
        if self.0.is_hidden() || progress.elapsed < Duration::from_millis(200) {
            return;
        }
        let rate = progress.distinct as f64 / progress.elapsed.as_secs_f64();
        let (states, rate) = (HumanCount(progress.distinct), HumanCount(rate as u64));
        let mut message = format!("{doing}: {states} states, {rate}/s");
        if let Some(frontier) = progress.frontier {
            message += &format!(", frontier {}", HumanCount(frontier));
        }
        if let Some(bytes) = peak_rss_bytes() {
            message += &format!(", {}", HumanBytes(bytes));
        }
        self.0.set_message(message);
        self.0.tick();
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}

impl Default for Bar {
    fn default() -> Self {
        Bar::new()
    }
}

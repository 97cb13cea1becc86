//! A progress bar on a terminal, nothing when the output goes elsewhere.

use bellwether_model::check::{Progress, peak_rss_bytes};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use std::time::Duration;

/// How a walk is going, on standard error.
pub(super) struct Bar(ProgressBar);

impl Bar {
    /// Hidden unless standard error is a terminal.
    pub(super) fn new() -> Self {
        let bar = ProgressBar::new_spinner();
        let template = ProgressStyle::with_template("{spinner} {elapsed_precise} {msg}");
        bar.set_style(template.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Bar(bar)
    }

    /// Shows how far the walk is.
    pub(super) fn look(&self, doing: &str, progress: Progress) {
        if self.0.is_hidden() || progress.elapsed < Duration::from_millis(200) {
            return;
        }
        let rate = progress.generated as f64 / progress.elapsed.as_secs_f64();
        let mut message = format!(
            "{doing}: {} states, {} transitions, {}/s",
            HumanCount(progress.distinct),
            HumanCount(progress.generated),
            HumanCount(rate as u64),
        );
        if let Some(frontier) = progress.frontier {
            message += &format!(", {} in the frontier", HumanCount(frontier));
        }
        if let Some(bytes) = peak_rss_bytes() {
            message += &format!(", {}", HumanBytes(bytes));
        }
        self.0.set_message(message);
        self.0.tick();
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.0.finish_and_clear();
    }
}

//! Logging once: a misconfigured peer calls several times a second, and would fill the log.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// After this long a line is worth repeating.
const AGAIN: Duration = Duration::from_secs(60);

/// How many different lines are remembered. A stranger can cause many different ones; beyond
/// this none is new, so that the log stays readable.
const MEMORY: usize = 64;

/// What has been logged, and when.
#[derive(Debug, Default)]
pub(crate) struct LogLimiter(Mutex<BTreeMap<String, Instant>>);

impl LogLimiter {
    /// Whether the line is worth writing down; if so, it is taken to be written.
    pub(crate) fn is_new(&self, text: &str) -> bool {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, since| since.elapsed() < AGAIN);
        let new = known.len() < MEMORY && !known.contains_key(text);
        if new {
            known.insert(text.to_owned(), Instant::now());
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_line_is_new_once_a_minute() {
        let limiter = LogLimiter::default();
        assert!(limiter.is_new("a"));
        assert!(!limiter.is_new("a"));
        assert!(limiter.is_new("b"));
        tokio::time::advance(AGAIN).await;
        assert!(limiter.is_new("a"));
    }

    #[tokio::test(start_paused = true)]
    async fn only_so_many_are_remembered() {
        let limiter = LogLimiter::default();
        assert!((0..MEMORY).all(|number| limiter.is_new(&number.to_string())));
        assert!(!limiter.is_new("one more"));
    }
}

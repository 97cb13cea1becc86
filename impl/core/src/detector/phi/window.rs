//! The last so many intervals, with their mean and deviation.

use std::collections::VecDeque;
use std::time::Duration;

/// A sliding window of intervals, each at most [`crate::detector::LONGEST`].
///
/// Sums are whole numbers, so nothing is lost when an interval leaves the window, however long it
/// has been sliding. The largest, 10,000 times the sum of squares of 10,000 days in nanoseconds,
/// is 8·10³⁵: a `u128` holds 400 times that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    size: usize,
    nanoseconds: VecDeque<u64>,
    sum: u128,
    sum_of_squares: u128,
}

impl Window {
    /// An empty window that remembers `size` intervals.
    pub(super) fn new(size: usize) -> Self {
        Self { size, nanoseconds: VecDeque::new(), sum: 0, sum_of_squares: 0 }
    }

    /// Adds an interval, and forgets the oldest if there is no room.
    pub(super) fn push(&mut self, interval: Duration) {
        if self.nanoseconds.len() == self.size
            && let Some(oldest) = self.nanoseconds.pop_front()
        {
            self.sum -= u128::from(oldest);
            self.sum_of_squares -= u128::from(oldest).pow(2);
        }
        let newest = u64::try_from(interval.as_nanos()).unwrap_or(u64::MAX);
        self.nanoseconds.push_back(newest);
        self.sum += u128::from(newest);
        self.sum_of_squares += u128::from(newest).pow(2);
    }

    /// The mean, in nanoseconds; zero if there are no intervals.
    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / self.count() as f64
    }

    /// The standard deviation of the intervals in the window (not an estimate from a sample: so it
    /// is at most half the distance between the shortest and the longest), in nanoseconds.
    pub(super) fn deviation(&self) -> f64 {
        // Not negative: that is the inequality of Cauchy and Schwarz, and the numbers are exact.
        let scaled = self.count() * self.sum_of_squares - self.sum.pow(2);
        (scaled as f64).sqrt() / self.count() as f64
    }

    fn count(&self) -> u128 {
        self.nanoseconds.len().max(1) as u128
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::detector::LONGEST;

    #[test]
    fn the_oldest_interval_is_forgotten() {
        let mut window = Window::new(4);
        for seconds in [1000, 1, 2, 3, 4] {
            window.push(Duration::from_secs(seconds));
        }
        assert_eq!(window.mean(), 2.5e9);
        assert!((window.deviation() - 1.25_f64.sqrt() * 1e9).abs() < 1.0);
    }

    #[test]
    fn nothing_is_lost_or_overflows_at_the_limits() {
        let mut window = Window::new(10_000);
        assert_eq!((window.mean(), window.deviation()), (0.0, 0.0));
        for _ in 0..10_000 {
            window.push(LONGEST);
        }
        assert_eq!((window.mean(), window.deviation()), (LONGEST.as_nanos() as f64, 0.0));
        for nanoseconds in 0..10_000 {
            window.push(Duration::from_nanos(nanoseconds % 2));
        }
        assert_eq!((window.mean(), window.deviation()), (0.5, 0.5));
    }
}

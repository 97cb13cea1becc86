//! Whether a store answers in time. A holder renews its lease every `renew`, and heeds the answer
//! to its latest renewal only. If each answer comes after the next renewal was sent, none counts:
//! the lease ends although the store has extended it each time. One late answer ends nothing.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use humantime::format_duration;

/// How long the latest renewal took that was answered too late, as long as nothing was answered in
/// time since then, and the client has not followed another or given its lease back.
#[derive(Debug)]
pub(super) struct Lateness {
    renew: Duration,
    late: Mutex<Option<Duration>>,
}

impl Lateness {
    /// That of a store whose holder renews its lease this often.
    pub(super) fn new(renew: Duration) -> Self {
        Self { renew, late: Mutex::default() }
    }

    /// A renewal was answered so long after it was sent.
    pub(super) fn renewed(&self, took: Duration) {
        *self.late() = (took >= self.renew).then_some(took);
    }

    /// Another question was answered after so long. It waits for longer than a renewal, so it is
    /// not too late itself.
    pub(super) fn answered(&self, took: Duration) {
        if took < self.renew {
            *self.late() = None;
        }
    }

    /// The client has no lease that could end.
    pub(super) fn ended(&self) {
        *self.late() = None;
    }

    /// What is wrong, with what helps.
    pub(super) fn complaint(&self) -> Option<String> {
        let took = (*self.late())?;
        let took = Duration::from_millis(u64::try_from(took.as_millis()).unwrap_or(u64::MAX));
        let (took, renew) = (format_duration(took), format_duration(self.renew));
        Some(format!(
            "it answers later than `lease.renew` (took {took}, `lease.renew` is {renew}): a \
             renewal that is answered so late does not count, and if all are, the lease ends; find \
             out why it is slow, or raise `lease.renew`, and `lease.hold` with it"
        ))
    }

    fn late(&self) -> MutexGuard<'_, Option<Duration>> {
        self.late.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RENEW: Duration = Duration::from_millis(500);

    fn ms(milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds)
    }

    #[test]
    fn a_late_renewal_is_told_with_both_times_until_an_answer_is_in_time() {
        let lateness = Lateness::new(RENEW);
        assert_eq!(lateness.complaint(), None);
        lateness.renewed(RENEW - ms(1));
        assert_eq!(lateness.complaint(), None);
        // Then the next one is sent.
        lateness.renewed(RENEW);
        assert!(lateness.complaint().is_some());
        lateness.renewed(Duration::from_micros(812_345));
        let complaint = lateness.complaint().expect("it is late");
        let told = "it answers later than `lease.renew` (took 812ms, `lease.renew` is 500ms)";
        assert!(complaint.starts_with(told), "{complaint}");
        assert!(
            complaint.ends_with("or raise `lease.renew`, and `lease.hold` with it"),
            "{complaint}"
        );
        lateness.renewed(ms(20));
        assert_eq!(lateness.complaint(), None);
    }

    #[test]
    fn another_question_is_never_too_late_and_shows_that_the_store_is_in_time_again() {
        let lateness = Lateness::new(RENEW);
        lateness.answered(2 * RENEW);
        assert_eq!(lateness.complaint(), None);
        lateness.renewed(2 * RENEW);
        lateness.answered(2 * RENEW);
        assert!(lateness.complaint().is_some());
        lateness.answered(ms(20));
        assert_eq!(lateness.complaint(), None);
    }

    #[test]
    fn a_lease_that_is_over_cannot_end_because_the_store_is_late() {
        let lateness = Lateness::new(RENEW);
        lateness.renewed(2 * RENEW);
        lateness.ended();
        assert_eq!(lateness.complaint(), None);
    }
}

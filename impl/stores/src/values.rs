//! The values that the adapters share: holders as text, tokens and durations as the integers that
//! databases keep.

use std::time::Duration;

use bellwether_core::protocol::lease::Token;
use bellwether_core::store::{Holder, HolderError, StoreError, StoreResult};

/// The remedy if there is no table.
pub(crate) const INIT: &str = "run `bellwether store init`";

/// The remedy if the table is another.
pub(crate) const COMPARE: &str =
    "compare the table with the one that `bellwether store init --print` prints";

/// The longest text of a server that is shown, in characters.
const SHOWN: usize = 200;

/// Returns the error that needs a person, with the remedy.
pub(crate) fn unfit(problem: impl Into<String>, remedy: impl Into<String>) -> StoreError {
    StoreError::Misconfigured { problem: problem.into(), remedy: remedy.into() }
}

/// Returns a server's text as one line that is not too long.
pub(crate) fn one_line(text: &str) -> String {
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(SHOWN).map(visible).collect()
}

/// Returns a time in whole seconds, rounded up, for stores that know no shorter unit.
pub(crate) fn whole_seconds(time: Duration) -> u64 {
    let more = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(more).max(1)
}

/// Returns the milliseconds of a duration, rounded up: a store may keep a grant for longer than it
/// has to, and not for less.
pub(crate) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// Returns the rest of a lease, from milliseconds.
pub(crate) fn left(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

/// Returns the number of a token, or the highest number that databases keep.
pub(crate) fn number(token: Token) -> i64 {
    i64::try_from(token.get()).unwrap_or(i64::MAX)
}

/// Returns the token with the number that a store has.
pub(crate) fn token(number: i64) -> StoreResult<Token> {
    u64::try_from(number).map(Token::new).map_err(|_| damaged(&format!("the token is {number}")))
}

/// Returns the holder whose text a store has.
pub(crate) fn holder(text: &str) -> StoreResult<Holder> {
    text.parse().map_err(|error: HolderError| damaged(&one_line(&error.to_string())))
}

/// Returns the error about a record that no client has written.
pub(crate) fn damaged(problem: &str) -> StoreError {
    unfit(
        format!("the record of the lease is damaged: {problem}"),
        "correct it, and give it a token that is higher than all before",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_never_kept_shorter() {
        assert_eq!(milliseconds(Duration::from_micros(1)), 1);
        assert_eq!(milliseconds(Duration::from_millis(7)), 7);
        assert_eq!(milliseconds(Duration::from_nanos(7_000_001)), 8);
        assert_eq!(milliseconds(Duration::MAX), i64::MAX);
        assert_eq!(left(-3), Duration::ZERO);
        assert_eq!(left(3), Duration::from_millis(3));
        for (milliseconds, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (10_000, 10)] {
            assert_eq!(whole_seconds(Duration::from_millis(milliseconds)), seconds);
        }
    }

    #[test]
    fn a_value_that_no_client_has_written_is_told() {
        assert_eq!(token(7), Ok(Token::new(7)));
        assert_eq!(holder("7#00000000000000ab").ok(), Holder::new("7", 0xab).ok());
        for wrong in [token(-1).err(), holder("7").err(), holder("").err()] {
            assert!(matches!(wrong, Some(StoreError::Misconfigured { .. })), "{wrong:?}");
        }
    }
}

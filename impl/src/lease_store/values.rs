//! What the adapters share: ids, tokens and durations as the integers that databases keep.

use std::time::Duration;

use super::{Answer, Record, StoreError, StoreResult};
use crate::protocol::NodeId;
use crate::protocol::lease::Token;

/// What helps if there is no table.
#[cfg(any(feature = "postgres", feature = "sqlite"))]
pub(super) const INIT: &str = "run `bellwether store init`";

/// Returns the milliseconds of a duration, rounded up: what a store keeps may last longer than it
/// has to, and not shorter.
pub(super) fn milliseconds(duration: Duration) -> i64 {
    i64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(i64::MAX)
}

/// Returns what is left of a lease, from milliseconds.
pub(super) fn left(milliseconds: i64) -> Duration {
    Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0))
}

/// Returns the number of a token. No store has one that does not fit: each has counted its own.
pub(super) fn number(token: Token) -> i64 {
    i64::try_from(token.get()).unwrap_or(i64::MAX)
}

/// Returns the token with the number that a store has.
pub(super) fn token(number: i64) -> StoreResult<Token> {
    u64::try_from(number).map(Token::new).map_err(|_| damaged(&format!("the token is {number}")))
}

/// Returns the node whose id a store has.
pub(super) fn node(number: i64) -> StoreResult<NodeId> {
    let node = u16::try_from(number).ok().and_then(NodeId::new);
    node.ok_or_else(|| damaged(&format!("the holder is {number}, and no node can be that")))
}

/// Returns the answer to a client that was not granted the lease, from what is recorded after that.
/// If the record names the client, then a question of its own, whose answer was lost, has been
/// granted later: it is not told which token that has, and asks again.
pub(super) fn refused(record: &Record, client: NodeId) -> Answer {
    Answer::Refused(record.holder.filter(|holder| *holder != client))
}

/// What is wrong with a record that no node has written.
pub(super) fn damaged(problem: &str) -> StoreError {
    StoreError::Unfit {
        problem: format!("the record of the lease is damaged: {problem}"),
        remedy: "correct it, and give it a token that is higher than all before".to_owned(),
    }
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
    }

    #[test]
    fn a_number_that_no_node_has_written_is_told() {
        assert_eq!(token(7), Ok(Token::new(7)));
        assert_eq!(node(7).ok(), NodeId::new(7));
        for wrong in [token(-1).err(), node(0).err(), node(-1).err(), node(65_536).err()] {
            assert!(matches!(wrong, Some(StoreError::Unfit { .. })), "{wrong:?}");
        }
    }
}

//! A grant as one text, for the stores that keep it in the value of a key.

use std::fmt;

use bellwether_core::protocol::lease::Token;
use bellwether_core::store::{Holder, StoreResult};

use crate::values::{damaged, one_line};

/// A grant. The text form is `HOLDER TOKEN LASTS_MS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(crate) holder: Holder,
    pub(crate) token: Token,
    /// The time for which the store keeps the grant, in milliseconds.
    pub(crate) lasts: i64,
}

impl Grant {
    /// Reads a grant that a client has written.
    pub(crate) fn parse(text: &str) -> StoreResult<Self> {
        let mut parts = text.split(' ');
        let holder = parts.next().and_then(|part| part.parse::<Holder>().ok());
        let token = token(parts.next()).ok();
        let lasts = parts.next().and_then(|part| part.parse::<i64>().ok());
        match (holder, token, lasts.filter(|lasts| *lasts > 0), parts.next()) {
            (Some(holder), Some(token), Some(lasts), None) => Ok(Self { holder, token, lasts }),
            _ => Err(damaged(&format!("`{}` is not HOLDER TOKEN LASTS_MS", one_line(text)))),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.holder, self.token, self.lasts)
    }
}

/// Reads the newest token; 0 if the store has none.
pub(crate) fn token(text: Option<&str>) -> StoreResult<Token> {
    let text = text.unwrap_or("0");
    // Redis counts to the greatest of these.
    let number = text.parse::<i64>().ok().and_then(|number| u64::try_from(number).ok());
    number.map(Token::new).ok_or_else(|| damaged(&format!("`{}` is no token", one_line(text))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::unfit;

    #[test]
    fn a_grant_is_read_as_it_was_written() {
        let holder = Holder::new("db-1:47", 0xab).expect("a name");
        // The token has more digits than a number of Lua.
        let grant = Grant { holder, token: Token::new(9_007_199_254_740_993), lasts: 10_000 };
        assert_eq!(grant.to_string(), "db-1:47#00000000000000ab 9007199254740993 10000");
        assert_eq!(Grant::parse(&grant.to_string()), Ok(grant));
        for wrong in [
            "",
            "3 17 10000",
            "3#00000000000000ab",
            "3#00000000000000ab 17",
            "3#00000000000000ab x 10000",
            "3#00000000000000ab 17 0",
            "3#00000000000000ab 17 10000 1",
            "3#00000000000000ab  17 10000",
        ] {
            unfit(Grant::parse(wrong));
        }
        assert_eq!((token(None), token(Some("7"))), (Ok(Token::new(0)), Ok(Token::new(7))));
        for wrong in ["", "-1", "x", "9223372036854775808"] {
            unfit(token(Some(wrong)));
        }
    }
}

//! The section `[http]`: where a node says by HTTP how it is, and what it takes to ask something of
//! it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use zeroize::Zeroizing;

use super::{Address, Error, security};
use crate::protocol::NodeId;

/// The keys of the section.
pub(super) const KEYS: [&str; 2] = ["listen", "token_file"];

/// The shortest token, in bytes.
pub const SHORTEST_TOKEN: usize = 16;

/// What a file or flags say of it. What is not said is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct HttpSettings {
    /// Where to listen.
    pub listen: Option<Address>,
    /// Where the token is.
    pub token_file: Option<String>,
}

impl HttpSettings {
    /// What holds if `self` counts more than `other`.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            listen: self.listen.or(other.listen),
            token_file: self.token_file.or(other.token_file),
        }
    }

    /// What holds for a program that is no node.
    #[must_use]
    pub fn standalone(self) -> Http {
        Http { listen: self.listen, token_file: self.token_file.map(PathBuf::from) }
    }

    /// What holds for this node.
    pub(super) fn resolve(self, node: NodeId) -> Http {
        let fill = |text: String| PathBuf::from(text.replace("{node}", &node.to_string()));
        Http { listen: self.listen, token_file: self.token_file.map(fill) }
    }
}

/// Where a node says by HTTP how it is, and what it takes to ask something of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Http {
    /// Where to listen; nowhere if nothing is said.
    pub listen: Option<Address>,
    /// Where the token is; without one, nothing can be asked of the node.
    pub token_file: Option<PathBuf>,
}

impl Http {
    /// Reads the token, if there is one.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] when its file cannot be used.
    pub fn token(&self) -> Result<Option<Token>, Error> {
        self.token_file.as_deref().map(Token::read).transpose()
    }

    /// The section as a file has it; nothing if nothing is said.
    pub(super) fn write(&self) -> String {
        let value = |text: String| toml::Value::from(text);
        let listen = self.listen.as_ref().map(|listen| value(listen.to_string()));
        let file = self.token_file.as_ref().map(|path| value(path.to_string_lossy().into_owned()));
        let line = |(key, value): (&str, Option<toml::Value>)| {
            value.map(|value| format!("{key} = {value}\n"))
        };
        let lines: String =
            [("listen", listen), ("token_file", file)].into_iter().filter_map(line).collect();
        if lines.is_empty() { lines } else { format!("\n[http]\n{lines}") }
    }
}

/// What a process shows that may ask something of a node. It is not printed.
#[derive(Clone)]
pub struct Token(Arc<Zeroizing<Vec<u8>>>);

impl Token {
    /// The token in this file, which no other user may read.
    ///
    /// # Errors
    ///
    /// [`Error::Security`] when the file cannot be used.
    pub fn read(path: &Path) -> Result<Self, Error> {
        let bytes = security::read_private(path)?;
        Self::new(bytes.trim_ascii()).map_err(|problem| Error::Security {
            problem: format!("the token in {}: {problem}", path.display()),
        })
    }

    /// This token.
    ///
    /// # Errors
    ///
    /// What is wrong with it: it must have 16 visible characters at least.
    pub fn new(token: &[u8]) -> Result<Self, String> {
        if token.len() < SHORTEST_TOKEN || !token.iter().all(u8::is_ascii_graphic) {
            return Err(format!(
                "use at least {SHORTEST_TOKEN} letters, digits and signs in one line, as from \
                 `bellwether keys secret FILE`"
            ));
        }
        Ok(Self(Arc::new(Zeroizing::new(token.to_vec()))))
    }

    /// Its characters.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_and_visible() {
        assert!(Token::new(b"0123456789abcdef").is_ok());
        for bad in ["0123456789abcde", "0123456789 abcdef", "0123456789\tabcdef", ""] {
            assert!(Token::new(bad.as_bytes()).is_err(), "{bad}");
        }
        let token = Token::new(b"0123456789abcdef").expect("good");
        assert_eq!(format!("{token:?}"), "Token(..)");
    }
}

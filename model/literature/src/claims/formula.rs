//! Formulas as the texts write them, such as `n*(n-1)/2`, computed exactly.

use std::fmt;
use std::iter::Peekable;
use std::str::CharIndices;

/// A formula of whole numbers over named variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Formula {
    text: String,
    root: Term,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Number(i64),
    Variable(String),
    Binary(Box<Term>, char, Box<Term>),
}

/// Why a formula has no value, or is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormulaError {
    /// It cannot be read.
    #[error("'{text}' is no formula: {wrong}; write numbers, variables, + - * / ^ and parentheses")]
    Unreadable {
        /// The text.
        text: String,
        /// What is wrong with it.
        wrong: String,
    },
    /// A variable that the check does not have.
    #[error("'{name}' is no variable here; there are: {known}")]
    Variable {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A division with a remainder, a negative power, or too large a number.
    #[error("'{0}' is not a whole number of 64 bits here")]
    NotWhole(String),
}

impl Formula {
    /// Reads a formula.
    ///
    /// # Errors
    /// If it is none.
    pub fn parse(text: &str) -> Result<Formula, FormulaError> {
        let mut reader = Reader { rest: text.char_indices().peekable() };
        let root = reader.sum().and_then(|root| match reader.next_mark() {
            None => Ok(root),
            Some(mark) => Err(format!("'{mark}' is unexpected")),
        });
        match root {
            Ok(root) => Ok(Formula { text: text.trim().to_owned(), root }),
            Err(wrong) => Err(FormulaError::Unreadable { text: text.to_owned(), wrong }),
        }
    }

    /// Its value with these variables.
    ///
    /// # Errors
    /// If a variable is missing, or the value is not a whole number.
    pub fn value(&self, variables: &[(&str, i64)]) -> Result<i64, FormulaError> {
        value(&self.root, variables, &self.text)
    }
}

impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn value(term: &Term, variables: &[(&str, i64)], text: &str) -> Result<i64, FormulaError> {
    match term {
        Term::Number(number) => Ok(*number),
        Term::Variable(name) => {
            let found = variables.iter().find(|(known, _)| known == name);
            found.map(|&(_, value)| value).ok_or_else(|| FormulaError::Variable {
                name: name.clone(),
                known: variables.iter().map(|&(known, _)| known).collect::<Vec<_>>().join(", "),
            })
        }
        Term::Binary(left, sign, right) => {
            let (left, right) = (value(left, variables, text)?, value(right, variables, text)?);
            let result = match sign {
                '+' => left.checked_add(right),
                '-' => left.checked_sub(right),
                '*' => left.checked_mul(right),
                '/' => left.checked_rem(right).filter(|&rest| rest == 0).map(|_| left / right),
                _ => u32::try_from(right).ok().and_then(|power| left.checked_pow(power)),
            };
            result.ok_or_else(|| FormulaError::NotWhole(text.to_owned()))
        }
    }
}

/// Reads by recursive descent: a sum of products of powers.
struct Reader<'a> {
    rest: Peekable<CharIndices<'a>>,
}

impl Reader<'_> {
    fn next_mark(&mut self) -> Option<char> {
        while self.rest.next_if(|(_, c)| c.is_whitespace()).is_some() {}
        self.rest.peek().map(|&(_, c)| c)
    }

    fn sum(&mut self) -> Result<Term, String> {
        self.chain("+-", Self::product)
    }

    fn product(&mut self) -> Result<Term, String> {
        self.chain("*/", Self::power)
    }

    fn power(&mut self) -> Result<Term, String> {
        self.chain("^", Self::atom)
    }

    /// Operands between signs of one rank, from left to right.
    fn chain(
        &mut self,
        signs: &str,
        operand: fn(&mut Self) -> Result<Term, String>,
    ) -> Result<Term, String> {
        let mut left = operand(self)?;
        while let Some(sign) = self.next_mark().filter(|&mark| signs.contains(mark)) {
            self.rest.next();
            left = Term::Binary(Box::new(left), sign, Box::new(operand(self)?));
        }
        Ok(left)
    }

    fn atom(&mut self) -> Result<Term, String> {
        match self.next_mark() {
            Some('(') => {
                self.rest.next();
                let inner = self.sum()?;
                match self.next_mark() {
                    Some(')') => self.rest.next(),
                    _ => return Err("a ')' is missing".to_owned()),
                };
                Ok(inner)
            }
            Some(c) if c.is_ascii_digit() => {
                let digits = self.word(|c| c.is_ascii_digit());
                digits.parse().map(Term::Number).map_err(|_| format!("{digits} is too large"))
            }
            Some(c) if c.is_alphabetic() => Ok(Term::Variable(self.word(char::is_alphabetic))),
            Some(c) => Err(format!("'{c}' is unexpected")),
            None => Err("it ends too early".to_owned()),
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some((_, c)) = self.rest.next_if(|&(_, c)| belongs(c)) {
            word.push(c);
        }
        word
    }
}

#[cfg(test)]
mod tests {
    use super::{Formula, FormulaError};

    fn value(text: &str, n: i64) -> Result<i64, FormulaError> {
        Formula::parse(text)?.value(&[("n", n)])
    }

    #[test]
    fn formulas_of_the_texts_have_their_values() {
        let at = |text| [2, 3, 5].map(|n| value(text, n).expect("it has a value"));
        assert_eq!(at("n*(n-1)/2 + n*(n-1)/2 + n - 1"), [3, 8, 24]);
        assert_eq!(at("n^2 - 1"), [3, 8, 24]);
        assert_eq!(at("2^(n-2)"), [1, 2, 8]);
        assert_eq!(at("10 - n - 1"), [7, 6, 4], "from left to right");
        assert_eq!(at("9*n-16"), [2, 11, 29]);
    }

    #[test]
    fn what_is_no_formula_says_where() {
        for (text, wrong) in [
            ("", "too early"),
            ("n +", "too early"),
            ("(n", "')' is missing"),
            ("n n", "'n' is unexpected"),
            ("2 # 3", "'#' is unexpected"),
            ("99999999999999999999", "too large"),
        ] {
            let error = Formula::parse(text).expect_err(text).to_string();
            assert!(error.contains(wrong), "{error}");
        }
    }

    #[test]
    fn what_has_no_value_says_why() {
        for (text, n) in [("n/2", 3), ("n/(n-3)", 3), ("2^(n-3)", 2), ("10^(9*n)", 3)] {
            assert!(matches!(value(text, n), Err(FormulaError::NotWhole(_))), "{text}");
        }
        let error = value("m + 1", 3).expect_err("there is no m").to_string();
        assert_eq!(error, "'m' is no variable here; there are: n");
    }
}

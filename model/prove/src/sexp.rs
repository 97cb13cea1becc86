//! Lists in parentheses: what relations are written in, and what solvers answer with.

/// A word, a text in quotes, or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sexp {
    Word(String),
    /// A text in quotes.
    Text(String),
    List(Vec<Sexp>),
}

impl Sexp {
    /// All of a text. What is behind a `;` is left out, to the end of the line.
    pub(super) fn read(text: &str) -> Result<Vec<Sexp>, String> {
        let mut open: Vec<Vec<Sexp>> = vec![Vec::new()];
        let mut rest = text.char_indices().peekable();
        while let Some((at, c)) = rest.next() {
            let read = match c {
                ';' => {
                    while rest.next_if(|&(_, c)| c != '\n').is_some() {}
                    continue;
                }
                '(' => {
                    open.push(Vec::new());
                    continue;
                }
                ')' => Sexp::List(open.pop().filter(|_| !open.is_empty()).ok_or("')' too many")?),
                '"' | '|' => {
                    let len = text[at + 1..].find(c).ok_or_else(|| format!("no end of {c}"))?;
                    while rest.next_if(|&(next, _)| next <= at + 1 + len).is_some() {}
                    let inside = text[at + 1..at + 1 + len].to_owned();
                    if c == '"' { Sexp::Text(inside) } else { Sexp::Word(inside) }
                }
                c if c.is_whitespace() => continue,
                _ => {
                    let ends = |c: char| c.is_whitespace() || "()\";|".contains(c);
                    while rest.next_if(|&(_, c)| !ends(c)).is_some() {}
                    let end = rest.peek().map_or(text.len(), |&(end, _)| end);
                    Sexp::Word(text[at..end].to_owned())
                }
            };
            open.last_mut().ok_or("')' too many")?.push(read);
        }
        match <[_; 1]>::try_from(open) {
            Ok([all]) => Ok(all),
            Err(_) => Err("')' is missing".to_owned()),
        }
    }

    pub(super) fn word(&self) -> Result<&str, String> {
        match self {
            Sexp::Word(word) => Ok(word),
            other => Err(format!("{other:?} is no word")),
        }
    }

    pub(super) fn text(&self) -> Result<&str, String> {
        match self {
            Sexp::Text(text) => Ok(text),
            other => Err(format!("{other:?} is no text")),
        }
    }

    pub(super) fn list(&self) -> Result<&[Sexp], String> {
        match self {
            Sexp::List(list) => Ok(list),
            other => Err(format!("{other:?} is no list")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Sexp;

    #[test]
    fn lists_are_read_and_what_is_none_is_refused() {
        let word = |word: &str| Sexp::Word(word.to_owned());
        let list = vec![word("="), Sexp::List(vec![word("f"), word("x y")]), word("-3")];
        let both = vec![Sexp::List(list), Sexp::Text("(".to_owned())];
        assert_eq!(Sexp::read("; a note )\n(= (f |x y|)-3) \"(\""), Ok(both));
        for wrong in ["(", ")", "(a))", "\"", "|x"] {
            assert!(Sexp::read(wrong).is_err(), "{wrong}");
        }
    }
}

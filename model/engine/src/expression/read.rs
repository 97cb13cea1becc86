//! From text to a tree: what stands where, and nothing of what it means.

use std::fmt;
use std::ops::Range;

/// How long a text may be, in bytes, and how deep it may be nested.
const LONGEST: usize = 1_000;
const DEEPEST: usize = 50;

/// A part of an expression, and where in the text it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    pub(super) at: Range<usize>,
    pub(super) what: What,
}

/// What stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum What {
    Number(i64),
    Name(String),
    Quoted(String),
    Call(String, Vec<Node>),
    Field(Box<Node>, String),
    Index(Box<Node>, Box<Node>),
    Not(Box<Node>),
    Binary(Sign, Box<Node>, Box<Node>),
    Quantified(Quantifier, String, Box<Node>),
}

/// A sign between two parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Implies,
    Or,
    And,
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    In,
    Plus,
    Minus,
}

/// Of which processes something is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantifier {
    Exists,
    Forall,
    Count,
}

/// The reason why a text is no expression, and where it is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    text: String,
    at: Range<usize>,
    wrong: String,
}

impl ExpressionError {
    pub(super) fn new(text: &str, at: Range<usize>, wrong: impl Into<String>) -> Self {
        ExpressionError { text: text.to_owned(), at, wrong: wrong.into() }
    }
}

/// What is wrong, the text, and a mark under the place.
impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, at, wrong } = self;
        let (before, under) = (text[..at.start].chars().count(), text[at.clone()].chars().count());
        write!(f, "{wrong}\n  {text}\n  {}{}", " ".repeat(before), "^".repeat(under.max(1)))
    }
}

impl std::error::Error for ExpressionError {}

/// Reads a text of one line.
pub(super) fn read(text: &str) -> Result<Node, ExpressionError> {
    if text.len() > LONGEST {
        let wrong = format!("an expression has at most {LONGEST} characters");
        return Err(ExpressionError::new("...", 0..3, wrong));
    }
    let mut reader = Reader { text, tokens: tokens(text)?, next: 0, depth: 0 };
    let node = reader.whole()?;
    match reader.peek() {
        Token::End => Ok(node),
        _ => Err(reader.wrong("a sign is missing before this; write one, such as &&")),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Number(i64),
    Name(String),
    Quoted(String),
    Sign(&'static str),
    End,
}

/// Longer ones first.
const SIGNS: [&str; 19] = [
    "&&", "||", "=>", "==", "!=", "<=", ">=", "<", ">", "!", "(", ")", "[", "]", ",", ":", ".",
    "+", "-",
];

/// What is written instead of a sign, and the sign.
const OTHERWISE: [(char, &str); 3] = [('&', "&&"), ('|', "||"), ('=', "==")];

fn tokens(text: &str) -> Result<Vec<(Token, Range<usize>)>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        if first == ' ' {
            at += 1;
            continue;
        }
        let (token, long) = token(&text[at..], first)
            .map_err(|(long, wrong)| ExpressionError::new(text, at..at + long, wrong))?;
        tokens.push((token, at..at + long));
        at += long;
    }
    tokens.push((Token::End, at..at));
    Ok(tokens)
}

/// The token with which a text begins, and its length; or the length of what is wrong, and why.
fn token(rest: &str, first: char) -> Result<(Token, usize), (usize, String)> {
    if first.is_ascii_digit() {
        let long = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let number = rest[..long].parse().map_err(|_| (long, "the number is too large".to_owned()));
        return Ok((Token::Number(number?), long));
    }
    if first.is_ascii_alphabetic() {
        let long = name(rest.as_bytes());
        return Ok((Token::Name(rest[..long].to_owned()), long));
    }
    if first == '"' {
        let ends =
            rest[1..].find('"').ok_or((rest.len(), "a '\"' is missing at the end".to_owned()));
        let word = &rest[1..=ends?];
        return Ok((Token::Quoted(word.to_owned()), word.len() + 2));
    }
    if let Some(sign) = SIGNS.into_iter().find(|sign| rest.starts_with(*sign)) {
        return Ok((Token::Sign(sign), sign.len()));
    }
    let meant = OTHERWISE.into_iter().find(|(written, _)| *written == first);
    let wrong = match meant {
        Some((_, sign)) => format!("'{first}' is no sign; write '{sign}'"),
        None => format!("'{first}' has no meaning in an expression"),
    };
    Err((first.len_utf8(), wrong))
}

/// The length of a name: letters, digits and `_`, and `-` before a letter, as in `pre-candidate`.
fn name(rest: &[u8]) -> usize {
    let belongs = |at: usize| match rest[at] {
        b'-' => rest.get(at + 1).is_some_and(u8::is_ascii_alphabetic),
        byte => byte.is_ascii_alphanumeric() || byte == b'_',
    };
    (0..rest.len()).find(|&at| !belongs(at)).unwrap_or(rest.len())
}

/// Reads by recursive descent, from what binds least to what binds most.
struct Reader<'t> {
    text: &'t str,
    tokens: Vec<(Token, Range<usize>)>,
    next: usize,
    depth: usize,
}

type Read = Result<Node, ExpressionError>;

impl Reader<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn wrong(&self, why: &str) -> ExpressionError {
        ExpressionError::new(self.text, self.tokens[self.next].1.clone(), why)
    }

    /// Takes the next token; the end stays.
    fn take(&mut self) -> (Token, Range<usize>) {
        let taken = self.tokens[self.next].clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        taken
    }

    fn eat(&mut self, sign: &'static str) -> bool {
        let found = *self.peek() == Token::Sign(sign);
        if found {
            self.take();
        }
        found
    }

    fn close(&mut self, sign: &'static str) -> Result<(), ExpressionError> {
        let found = self.eat(sign);
        found
            .then_some(())
            .ok_or_else(|| self.wrong(&format!("a '{sign}' is missing; write it here")))
    }

    fn deeper(&mut self, read: fn(&mut Self) -> Read) -> Read {
        if self.depth == DEEPEST {
            return Err(self.wrong("this is nested too deep"));
        }
        self.depth += 1;
        let node = read(self)?;
        self.depth -= 1;
        Ok(node)
    }

    fn whole(&mut self) -> Read {
        self.deeper(|this: &mut Self| {
            let left = this.either()?;
            if !this.eat("=>") {
                return Ok(left);
            }
            let right = this.whole()?;
            Ok(binary(Sign::Implies, left, right))
        })
    }

    fn either(&mut self) -> Read {
        self.chain(&[("||", Sign::Or)], Self::both)
    }

    fn both(&mut self) -> Read {
        self.chain(&[("&&", Sign::And)], Self::not)
    }

    /// Parts between signs of one rank, from left to right.
    fn chain(&mut self, signs: &[(&'static str, Sign)], part: fn(&mut Self) -> Read) -> Read {
        let mut left = part(self)?;
        while let Some(&(_, sign)) = signs.iter().find(|(sign, _)| self.eat(sign)) {
            let right = part(self)?;
            left = binary(sign, left, right);
        }
        Ok(left)
    }

    fn not(&mut self) -> Read {
        let begin = self.tokens[self.next].1.start;
        if !self.eat("!") {
            return self.comparison();
        }
        let inner = self.deeper(Self::not)?;
        Ok(Node { at: begin..inner.at.end, what: What::Not(Box::new(inner)) })
    }

    fn comparison(&mut self) -> Read {
        let left = self.sum()?;
        let Some(sign) = self.compares() else { return Ok(left) };
        self.take();
        let right = self.sum()?;
        match self.compares() {
            None => Ok(binary(sign, left, right)),
            Some(_) => Err(self.wrong("two things are compared at a time; write && between them")),
        }
    }

    fn compares(&self) -> Option<Sign> {
        Some(match self.peek() {
            Token::Sign("==") => Sign::Equal,
            Token::Sign("!=") => Sign::Unequal,
            Token::Sign("<") => Sign::Less,
            Token::Sign("<=") => Sign::AtMost,
            Token::Sign(">") => Sign::More,
            Token::Sign(">=") => Sign::AtLeast,
            Token::Name(name) if name == "in" => Sign::In,
            _ => return None,
        })
    }

    fn sum(&mut self) -> Read {
        self.chain(&[("+", Sign::Plus), ("-", Sign::Minus)], Self::part)
    }

    /// Something, and fields and places in it.
    fn part(&mut self) -> Read {
        let mut node = self.atom()?;
        loop {
            if self.eat(".") {
                let (field, at) = self.word("the name of a field is missing behind the '.'")?;
                let at = node.at.start..at.end;
                node = Node { at, what: What::Field(Box::new(node), field) };
            } else if self.eat("[") {
                let place = self.whole()?;
                let end = self.tokens[self.next].1.end;
                self.close("]")?;
                let at = node.at.start..end;
                node = Node { at, what: What::Index(Box::new(node), Box::new(place)) };
            } else {
                return Ok(node);
            }
        }
    }

    fn atom(&mut self) -> Read {
        let here = self.next;
        let (token, at) = self.take();
        let what = match token {
            Token::Number(number) => What::Number(number),
            Token::Quoted(word) => What::Quoted(word),
            Token::Name(name) => return self.named(name, at),
            Token::Sign("(") => {
                let inner = self.whole()?;
                self.close(")")?;
                return Ok(inner);
            }
            Token::Sign(sign) => {
                self.next = here;
                return Err(self.wrong(&format!("something is missing before '{sign}'")));
            }
            Token::End => {
                return Err(self.wrong("the expression ends too early; write here what is missing"));
            }
        };
        Ok(Node { at, what })
    }

    /// What begins with a name.
    fn named(&mut self, name: String, at: Range<usize>) -> Read {
        match &*name {
            "exists" => return self.quantified(Quantifier::Exists, at.start),
            "forall" => return self.quantified(Quantifier::Forall, at.start),
            _ => {}
        }
        if !self.eat("(") {
            return Ok(Node { at, what: What::Name(name) });
        }
        let what = if name == "count" {
            self.quantified(Quantifier::Count, at.start)?.what
        } else {
            let mut of = vec![self.whole()?];
            while self.eat(",") {
                of.push(self.whole()?);
            }
            What::Call(name, of)
        };
        let end = self.tokens[self.next].1.end;
        self.close(")")?;
        Ok(Node { at: at.start..end, what })
    }

    /// Variables, and what is said of them: as much as there is.
    fn quantified(&mut self, quantifier: Quantifier, begin: usize) -> Read {
        let mut names = vec![self.variable()?];
        while quantifier != Quantifier::Count && self.eat(",") {
            names.push(self.variable()?);
        }
        if !self.eat(":") {
            return Err(self.wrong("a ':' is missing between the variables and what they do"));
        }
        let body = self.whole()?;
        let at = begin..body.at.end;
        let quantify = |body: Node, name| {
            let what = What::Quantified(quantifier, name, Box::new(body));
            Node { at: at.clone(), what }
        };
        Ok(names.into_iter().rev().fold(body, quantify))
    }

    fn variable(&mut self) -> Result<String, ExpressionError> {
        self.word("the name of a variable is missing here").map(|(name, _)| name)
    }

    /// A name; `missing` says what is wrong if none stands here.
    fn word(&mut self, missing: &str) -> Result<(String, Range<usize>), ExpressionError> {
        match self.peek() {
            Token::Name(name) => {
                let name = name.clone();
                Ok((name, self.take().1))
            }
            _ => Err(self.wrong(missing)),
        }
    }
}

fn binary(sign: Sign, left: Node, right: Node) -> Node {
    let at = left.at.start..right.at.end;
    Node { at, what: What::Binary(sign, Box::new(left), Box::new(right)) }
}

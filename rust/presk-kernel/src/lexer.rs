//! Kernel text to tokens, one at a time, with places. Lines that begin with `--` are comments.

use std::iter::Peekable;
use std::str::CharIndices;

use crate::error::{Error, ErrorKind};
use crate::ir::Place;

/// One token of the text it borrows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'t> {
    /// A word: names, keywords, variables.
    Word(&'t str),
    /// An unsigned decimal number.
    Number(&'t str),
    /// `%n`.
    Parameter(u32),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token as an error message names it.
    pub fn show(self) -> String {
        match self {
            Self::Word(word) | Self::Number(word) => format!("`{}`", word.chars().take(40).collect::<String>()),
            Self::Parameter(number) => format!("`%{number}`"),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end of the text".into(),
        }
    }
}

/// Symbols, longer ones before their prefixes.
const SYMBOLS: [&str; 26] = [
    "<v=", "<v>", "->", "..", "//", "<=", ">=", "==", "!=", "+=", "(", ")", "[", "]", "{", "}", ",", ":", "=", "<",
    ">", "+", "-", "*", "/", "%",
];

/// The tokens of a text.
pub struct Lexer<'t> {
    text: &'t str,
    chars: Peekable<CharIndices<'t>>,
    place: Place,
    line_is_blank: bool,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, chars: text.char_indices().peekable(), place: Place { line: 1, column: 1 }, line_is_blank: true }
    }

    /// The next token and where it begins.
    pub fn next(&mut self) -> Result<(Token<'t>, Place), Error> {
        self.skip_blanks();
        let place = self.place;
        let Some(&(start, first)) = self.chars.peek() else { return Ok((Token::End, place)) };
        self.line_is_blank = false;
        let token = match first {
            'a'..='z' | 'A'..='Z' | '_' => Token::Word(self.word(start)),
            '0'..='9' => Token::Number(self.number(start)),
            '%' if self.text[start + 1..].starts_with(|c: char| c.is_ascii_digit()) => {
                self.advance();
                Token::Parameter(self.parameter(start + 1, place)?)
            }
            _ => Token::Symbol(self.symbol(start, place)?),
        };
        Ok((token, place))
    }

    fn advance(&mut self) {
        if let Some((_, char)) = self.chars.next() {
            if char == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
                self.line_is_blank = true;
            } else {
                self.place.column += 1;
            }
        }
    }

    fn skip_blanks(&mut self) {
        while let Some(&(at, char)) = self.chars.peek() {
            if self.line_is_blank && self.text[at..].starts_with("--") {
                while self.chars.peek().is_some_and(|&(_, char)| char != '\n') {
                    self.advance();
                }
            } else if matches!(char, ' ' | '\t' | '\r' | '\n') {
                self.advance();
            } else {
                return;
            }
        }
    }

    fn here(&mut self) -> usize {
        self.chars.peek().map_or(self.text.len(), |&(at, _)| at)
    }

    fn rest(&mut self) -> &'t str {
        let at = self.here();
        &self.text[at..]
    }

    /// A word may hold points, each before a letter: `loss.grad`.
    fn word(&mut self, start: usize) -> &'t str {
        loop {
            let mut rest = self.rest().chars();
            let goes_on = match rest.next() {
                Some('.') => rest.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_'),
                Some(char) => char.is_ascii_alphanumeric() || char == '_',
                None => false,
            };
            if !goes_on {
                let end = self.here();
                return &self.text[start..end];
            }
            self.advance();
        }
    }

    fn digits(&mut self) {
        while self.chars.peek().is_some_and(|(_, char)| char.is_ascii_digit()) {
            self.advance();
        }
    }

    /// A point or an exponent belongs to a number where a digit follows: `0..4` is three tokens.
    fn number(&mut self, start: usize) -> &'t str {
        self.digits();
        let rest = self.rest().as_bytes();
        if rest.first() == Some(&b'.') && rest.get(1).is_some_and(u8::is_ascii_digit) {
            self.advance();
            self.digits();
        }
        let rest = self.rest().as_bytes();
        if matches!(rest.first(), Some(b'e' | b'E')) {
            let signed = usize::from(matches!(rest.get(1), Some(b'+' | b'-')));
            if rest.get(1 + signed).is_some_and(u8::is_ascii_digit) {
                for _ in 0..=signed {
                    self.advance();
                }
                self.digits();
            }
        }
        let end = self.here();
        &self.text[start..end]
    }

    fn parameter(&mut self, start: usize, place: Place) -> Result<u32, Error> {
        self.digits();
        let end = self.here();
        let digits = &self.text[start..end];
        index(digits).ok_or_else(|| ErrorKind::Syntax("the number of a buffer is out of range".into()).at(place))
    }

    fn symbol(&mut self, start: usize, place: Place) -> Result<&'static str, Error> {
        let rest = &self.text[start..];
        let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) else {
            let char = rest.chars().next().unwrap_or_default();
            return Err(ErrorKind::Syntax(format!("the character {char:?} has no place in kernel text")).at(place));
        };
        for _ in 0..symbol.len() {
            self.advance();
        }
        Ok(symbol)
    }
}

/// A number of digits alone, without leading zeros, below 2³².
pub fn index(digits: &str) -> Option<u32> {
    if digits.len() > 1 && digits.starts_with('0') { None } else { digits.parse().ok() }
}

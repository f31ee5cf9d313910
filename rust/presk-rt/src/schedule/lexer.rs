//! A schedule's text to tokens, one at a time, with places.

use presk_kernel::ir::Place;

use crate::error::{Error, ErrorKind};

/// One token of the text it borrows from.
#[derive(Clone, Debug, PartialEq)]
pub enum Token<'t> {
    /// A keyword, a buffer, a type.
    Word(&'t str),
    /// An unsigned decimal number.
    Number(&'t str),
    /// A JSON string, decoded.
    Text(String),
    /// An operator or a bracket.
    Symbol(&'static str),
    /// The end of the text.
    End,
}

impl Token<'_> {
    /// The token as an error message names it.
    pub fn show(&self) -> String {
        match self {
            Self::Word(word) | Self::Number(word) => format!("`{}`", word.chars().take(40).collect::<String>()),
            Self::Text(_) => "a string".into(),
            Self::Symbol(symbol) => format!("`{symbol}`"),
            Self::End => "the end of the text".into(),
        }
    }
}

/// Symbols, longer ones before their prefixes.
const SYMBOLS: [&str; 17] = ["->", "..", "(", ")", "[", "]", "{", "}", ",", ":", "=", "<", ">", "+", "*", "-", "/"];

/// The tokens of a text.
pub struct Lexer<'t> {
    text: &'t str,
    /// The byte the next token is looked for at.
    pub at: usize,
    line: u32,
    line_start: usize,
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, line: 1, line_start: 0 }
    }

    /// The next token and where it begins.
    pub fn next(&mut self) -> Result<(Token<'t>, Place), Error> {
        self.skip_blanks();
        let place = self.place();
        let Some(first) = self.rest().chars().next() else { return Ok((Token::End, place)) };
        let token = match first {
            'a'..='z' | 'A'..='Z' | '_' => {
                Token::Word(self.take(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.')))
            }
            '0'..='9' => Token::Number(self.number()),
            '"' => Token::Text(self.string(place)?),
            _ => match SYMBOLS.into_iter().find(|symbol| self.rest().starts_with(symbol)) {
                Some(symbol) => self.symbol(symbol),
                None => return Err(fault(format!("the character {first:?} has no place in a schedule"), place)),
            },
        };
        Ok((token, place))
    }

    /// Where the next token is looked for.
    pub fn place(&self) -> Place {
        let column = 1 + self.text[self.line_start..self.at].chars().count();
        Place { line: self.line, column: u32::try_from(column).unwrap_or(u32::MAX) }
    }

    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn symbol(&mut self, symbol: &'static str) -> Token<'t> {
        self.at += symbol.len();
        Token::Symbol(symbol)
    }

    fn skip_blanks(&mut self) {
        while let Some(char) = self.rest().chars().next() {
            match char {
                '\n' => {
                    self.at += 1;
                    self.line += 1;
                    self.line_start = self.at;
                }
                ' ' | '\t' | '\r' => self.at += 1,
                _ => return,
            }
        }
    }

    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|char| !belongs(char)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A point or an exponent belongs to a number where a digit follows: `0..4` is three tokens.
    fn number(&mut self) -> &'t str {
        let start = self.at;
        self.take(|char| char.is_ascii_digit());
        let rest = self.rest().as_bytes();
        if rest.first() == Some(&b'.') && rest.get(1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.take(|char| char.is_ascii_digit());
        }
        let rest = self.rest().as_bytes();
        if rest.first() == Some(&b'e') {
            let signed = usize::from(matches!(rest.get(1), Some(b'+' | b'-')));
            if rest.get(1 + signed).is_some_and(u8::is_ascii_digit) {
                self.at += 1 + signed;
                self.take(|char| char.is_ascii_digit());
            }
        }
        &self.text[start..self.at]
    }

    fn string(&mut self, place: Place) -> Result<String, Error> {
        let mut out = String::new();
        self.at += 1;
        loop {
            out.push_str(self.take(|char| !matches!(char, '"' | '\\' | '\n')));
            match self.rest().as_bytes().first() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape(place)?),
                _ => return Err(fault("the string isn't closed in its line".into(), place)),
            }
        }
    }

    /// A JSON escape: one letter, or `\uXXXX`, two of them for a character beyond the first plane.
    fn escape(&mut self, place: Place) -> Result<char, Error> {
        let letter = self.rest().as_bytes().get(1).copied();
        let plain = match letter {
            Some(b'u') => None,
            Some(b'n') => Some('\n'),
            Some(b't') => Some('\t'),
            Some(b'r') => Some('\r'),
            Some(b'b') => Some('\u{8}'),
            Some(b'f') => Some('\u{c}'),
            Some(letter @ (b'"' | b'\\' | b'/')) => Some(char::from(letter)),
            _ => return Err(fault("the string holds an escape that JSON doesn't have".into(), place)),
        };
        if let Some(char) = plain {
            self.at += 2;
            return Ok(char);
        }
        let high = self.unit();
        let char = match high {
            Some(high @ 0xd800..0xdc00) => match self.unit() {
                Some(low @ 0xdc00..0xe000) => char::from_u32(0x1_0000 + ((high - 0xd800) << 10) + (low - 0xdc00)),
                _ => None,
            },
            Some(unit) => char::from_u32(unit),
            None => None,
        };
        char.ok_or_else(|| fault("the string holds an escape that is no character".into(), place))
    }

    /// `\uXXXX`, as a number.
    fn unit(&mut self) -> Option<u32> {
        let digits = self.rest().strip_prefix("\\u")?.get(..4)?;
        let value = digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok());
        self.at += 6;
        value?
    }
}

/// A fault of grammar at a place.
pub fn fault(message: String, place: Place) -> Error {
    Error { kind: ErrorKind::Syntax(message), line: place.line, column: place.column }
}

//! The secret that a browser elsewhere must show.

use std::{
    fs::File,
    io::{self, Read},
};

use constant_time_eq::constant_time_eq_32;
use sha2::{Digest, Sha256};

use crate::ServeError;

/// A token of this many letters cannot be guessed by asking.
const LEAST: usize = 16;

/// A token, and what a browser keeps in its stead.
pub struct Token {
    text: String,
    cookie: String,
}

impl Token {
    /// A token of 256 random bits.
    pub fn random() -> io::Result<Token> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Token::of(hex(&bytes)))
    }

    /// A token that somebody chose.
    pub fn chosen(text: String) -> Result<Token, ServeError> {
        let plain = |letter: u8| letter.is_ascii_alphanumeric() || b"-._~".contains(&letter);
        match text.len() >= LEAST && text.bytes().all(plain) {
            true => Ok(Token::of(text)),
            false => Err(ServeError::Token { least: LEAST }),
        }
    }

    fn of(text: String) -> Token {
        let cookie = hex(&Sha256::digest(format!("assay serve cookie {text}")));
        Token { text, cookie }
    }

    /// The token itself.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What the cookie holds: it follows from the token, and the token does not follow from it.
    pub fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Whether this is the token. How long that takes tells nothing about it.
    pub fn is(&self, shown: &str) -> bool {
        same(&self.text, shown)
    }

    /// Whether this is the cookie.
    pub fn is_cookie(&self, shown: &str) -> bool {
        same(&self.cookie, shown)
    }
}

/// Compares digests, which have one length and say nothing about where the texts differ.
fn same(own: &str, shown: &str) -> bool {
    constant_time_eq_32(&Sha256::digest(own).into(), &Sha256::digest(shown).into())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_the_token() {
        let token = Token::chosen("abcdefghijklmnop".to_owned()).unwrap();
        assert!(token.is("abcdefghijklmnop"));
        for other in
            ["", "abcdefghijklmno", "abcdefghijklmnopq", "Abcdefghijklmnop", token.cookie()]
        {
            assert!(!token.is(other), "{other}");
        }
        assert!(token.is_cookie(token.cookie()) && !token.is_cookie(token.text()));
    }

    #[test]
    fn two_random_tokens_differ_and_could_be_chosen() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_ne!(one.text(), other.text());
        assert_eq!(one.text().len(), 64);
        assert!(Token::chosen(one.text().to_owned()).is_ok());
    }

    #[test]
    fn a_token_that_can_be_guessed_or_cannot_stand_in_a_url_is_refused() {
        for text in
            ["", "short", "fifteen-letters", "has space in the middle", "has&ampersand&sign&"]
        {
            assert!(matches!(Token::chosen(text.into()), Err(ServeError::Token { .. })), "{text}");
        }
    }
}

//! Proofs of a password: what a client answers to the bytes that the server drew.

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// How an account proves who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    /// `mysql_native_password`: SHA-1.
    Native,
    /// `caching_sha2_password`: SHA-256, MySQL's default from 8.0 on.
    CachingSha2,
}

impl Method {
    /// The method of this name, if it is spoken.
    pub fn named(name: &[u8]) -> Option<Method> {
        match name {
            b"mysql_native_password" => Some(Method::Native),
            b"caching_sha2_password" => Some(Method::CachingSha2),
            _ => None,
        }
    }

    /// The protocol's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Method::Native => "mysql_native_password",
            Method::CachingSha2 => "caching_sha2_password",
        }
    }

    /// The answer to the bytes `drawn`. There is nothing to prove without a password.
    pub fn answer(self, password: &[u8], drawn: &[u8]) -> Vec<u8> {
        match self {
            _ if password.is_empty() => Vec::new(),
            // SHA1(password) xor SHA1(drawn, SHA1(SHA1(password)))
            Method::Native => {
                let once = Sha1::digest(password);
                let twice = Sha1::digest(once);
                xor(&once, &Sha1::new().chain_update(drawn).chain_update(twice).finalize())
            }
            // SHA256(password) xor SHA256(SHA256(SHA256(password)), drawn)
            Method::CachingSha2 => {
                let once = Sha256::digest(password);
                let twice = Sha256::digest(once);
                xor(&once, &Sha256::new().chain_update(twice).chain_update(drawn).finalize())
            }
        }
    }
}

fn xor(a: &[u8], b: &[u8]) -> Vec<u8> {
    a.iter().zip(b).map(|(a, b)| a ^ b).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The bytes and results are those of the tests of Go-MySQL-Driver (auth_test.go).
    #[test]
    fn answers_are_those_of_other_clients() {
        let drawn =
            [10, 47, 74, 111, 75, 73, 34, 48, 88, 76, 114, 74, 37, 13, 3, 80, 82, 2, 23, 21];
        for (password, answer) in [
            ("secret", "f490e76f66d9d86665ce54d98c78d0acfe2fb0b08b423da807144873d30b312c"),
            ("secret2", "abc3934a012cf342e876071c8ee202de51785b430258a7a0138bc79c4d800bc6"),
        ] {
            assert_eq!(hex(&Method::CachingSha2.answer(password.as_bytes(), &drawn)), answer);
        }
    }

    /// The server's own check: the answer, xored with what the stored hash and the drawn bytes
    /// make, hashes to the stored hash.
    #[test]
    fn a_server_can_check_the_answer_with_the_hash_that_it_keeps() {
        let drawn = *b"abcdefghijklmnopqrst";
        // SELECT PASSWORD('pw')
        let stored = Sha1::digest(Sha1::digest(b"pw"));
        assert_eq!(hex(&stored), "d821809f681a40a6e379b50d0463efae20bdd122");
        let answer = Method::Native.answer(b"pw", &drawn);
        let mask = Sha1::new().chain_update(drawn).chain_update(stored).finalize();
        assert_eq!(Sha1::digest(xor(&answer, &mask)), stored);
    }

    #[test]
    fn no_password_proves_nothing() {
        for method in [Method::Native, Method::CachingSha2] {
            assert_eq!(method.answer(b"", b"drawn"), b"");
            assert_eq!(Method::named(method.name().as_bytes()), Some(method));
        }
        assert_eq!(Method::named(b"dialog"), None);
    }
}

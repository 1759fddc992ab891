//! SCRAM (RFC 5802, RFC 7677) as MongoDB has it: SCRAM-SHA-256 with the password prepared by SASLprep,
//! and SCRAM-SHA-1 with its MD5 digest. Both sides prove that they know the password; nobody sends it.

use base64::{Engine, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use thiserror::Error;

/// Fewer rounds make a stolen hash cheap; more are an attempt to keep the client busy.
const ROUNDS: std::ops::RangeInclusive<u32> = 4096..=10_000_000;

/// A mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mechanism {
    Sha256,
    Sha1,
}

/// Why a login cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum ScramError {
    #[error("the server's message is none of SCRAM: {0}")]
    Unreadable(&'static str),
    #[error("the server did not prove that it knows the password")]
    Unproven,
    #[error("the password has a character in it that SASLprep forbids")]
    Forbidden,
}

impl Mechanism {
    pub fn name(self) -> &'static str {
        match self {
            Mechanism::Sha256 => "SCRAM-SHA-256",
            Mechanism::Sha1 => "SCRAM-SHA-1",
        }
    }

    /// What stands in the password's place in the exchange.
    fn prepare(self, user: &str, password: &str) -> Result<Vec<u8>, ScramError> {
        match self {
            Mechanism::Sha256 => {
                let prepared = stringprep::saslprep(password).map_err(|_| ScramError::Forbidden)?;
                Ok(prepared.into_owned().into_bytes())
            }
            Mechanism::Sha1 => {
                let digest = Md5::digest(format!("{user}:mongo:{password}"));
                let digits = digest.iter().map(|byte| format!("{byte:02x}"));
                Ok(digits.collect::<String>().into_bytes())
            }
        }
    }
}

/// The client's side of an exchange.
pub(super) struct Exchange {
    mechanism: Mechanism,
    password: Vec<u8>,
    /// The client's first message without its header.
    first: String,
    nonce: String,
    /// What the server must answer the proof with.
    signature: Vec<u8>,
}

/// The header of the first message: no channel is bound, and nobody is logged in for another.
const HEADER: &str = "n,,";

impl Exchange {
    /// Begins one. `nonce` is drawn by chance, printable and without a comma.
    pub fn new(
        mechanism: Mechanism,
        user: &str,
        password: &str,
        nonce: &str,
    ) -> Result<Exchange, ScramError> {
        let password = mechanism.prepare(user, password)?;
        Ok(Exchange::prepared(mechanism, user, password, nonce))
    }

    fn prepared(mechanism: Mechanism, user: &str, password: Vec<u8>, nonce: &str) -> Exchange {
        let name = user.replace('=', "=3D").replace(',', "=2C");
        Exchange {
            mechanism,
            password,
            first: format!("n={name},r={nonce}"),
            nonce: nonce.to_owned(),
            signature: Vec::new(),
        }
    }

    /// The client's first message.
    pub fn first(&self) -> String {
        format!("{HEADER}{}", self.first)
    }

    /// The client's proof, in answer to the server's first message.
    pub fn prove(&mut self, challenge: &[u8]) -> Result<String, ScramError> {
        let challenge =
            std::str::from_utf8(challenge).map_err(|_| ScramError::Unreadable("no text"))?;
        let nonce = attribute(challenge, "r=")?;
        if nonce.len() <= self.nonce.len() || !nonce.starts_with(&self.nonce) {
            return Err(ScramError::Unreadable("it does not begin with the client's number"));
        }
        let salt = STANDARD
            .decode(attribute(challenge, "s=")?)
            .map_err(|_| ScramError::Unreadable("the salt is no base64"))?;
        let rounds = attribute(challenge, "i=")?.parse().ok();
        let rounds = rounds
            .filter(|rounds| ROUNDS.contains(rounds))
            .ok_or(ScramError::Unreadable("a number of rounds that is not safe"))?;
        let last = format!("c={},r={nonce}", STANDARD.encode(HEADER));
        let signed = format!("{},{challenge},{last}", self.first);
        let (proof, signature) = match self.mechanism {
            Mechanism::Sha256 => {
                prove::<Hmac<Sha256>, Sha256>(&self.password, &salt, rounds, &signed)
            }
            Mechanism::Sha1 => prove::<Hmac<Sha1>, Sha1>(&self.password, &salt, rounds, &signed),
        };
        self.signature = signature;
        Ok(format!("{last},p={}", STANDARD.encode(proof)))
    }

    /// Checks the server's last message: its own proof.
    pub fn check(&self, last: &[u8]) -> Result<(), ScramError> {
        let last = std::str::from_utf8(last).map_err(|_| ScramError::Unreadable("no text"))?;
        let signature = STANDARD.decode(attribute(last, "v=")?);
        match signature {
            Ok(signature) if !self.signature.is_empty() && signature == self.signature => Ok(()),
            _ => Err(ScramError::Unproven),
        }
    }
}

fn attribute<'a>(message: &'a str, name: &str) -> Result<&'a str, ScramError> {
    message
        .split(',')
        .find_map(|part| part.strip_prefix(name))
        .ok_or(ScramError::Unreadable("an attribute is missing"))
}

fn keyed<M: KeyInit>(key: &[u8]) -> M {
    M::new_from_slice(key).expect("HMAC takes keys of any length")
}

/// The client's proof and the server's signature, by the HMAC `M` of the hash `D`.
fn prove<M: Mac + KeyInit + Clone, D: Digest>(
    password: &[u8],
    salt: &[u8],
    rounds: u32,
    signed: &str,
) -> (Vec<u8>, Vec<u8>) {
    let sign = |key: &[u8], message: &str| {
        keyed::<M>(key).chain_update(message).finalize().into_bytes().to_vec()
    };
    let salted = stretch::<M>(password, salt, rounds);
    let client_key = sign(&salted, "Client Key");
    let signature = sign(&D::digest(&client_key), signed);
    let proof = client_key.iter().zip(&signature).map(|(key, byte)| key ^ byte).collect();
    (proof, sign(&sign(&salted, "Server Key"), signed))
}

/// PBKDF2 of one block: `Hi` of RFC 5802.
fn stretch<M: Mac + KeyInit + Clone>(password: &[u8], salt: &[u8], rounds: u32) -> Vec<u8> {
    let keyed = keyed::<M>(password);
    let hash = |parts: [&[u8]; 2]| {
        let [first, second] = parts;
        keyed.clone().chain_update(first).chain_update(second).finalize().into_bytes()
    };
    let mut last = hash([salt, &[0, 0, 0, 1]]);
    let mut all = last.to_vec();
    for _ in 1..rounds {
        last = hash([&last, &[]]);
        all.iter_mut().zip(&last).for_each(|(sum, byte)| *sum ^= byte);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3.
    #[test]
    fn the_example_of_rfc_7677_is_spoken() {
        let nonce = "rOprNGfwEbeRWgbNEkqO";
        let mut exchange = Exchange::new(Mechanism::Sha256, "user", "pencil", nonce).unwrap();
        assert_eq!(exchange.first(), "n,,n=user,r=rOprNGfwEbeRWgbNEkqO");
        let challenge = b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
            s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096";
        assert_eq!(
            exchange.prove(challenge).unwrap(),
            "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,\
             p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
        );
        let last = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=";
        assert_eq!(exchange.check(last), Ok(()));
        let other = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=";
        assert_eq!(exchange.check(other), Err(ScramError::Unproven));
    }

    /// The example of RFC 5802, section 5, whose password is no digest.
    #[test]
    fn the_example_of_rfc_5802_is_spoken() {
        let nonce = "fyko+d2lbbFgONRv9qkxdawL";
        let mut exchange = Exchange::prepared(Mechanism::Sha1, "user", b"pencil".to_vec(), nonce);
        assert_eq!(exchange.first(), "n,,n=user,r=fyko+d2lbbFgONRv9qkxdawL");
        let challenge = b"r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,s=QSXCR+Q6sek8bf92,i=4096";
        assert_eq!(
            exchange.prove(challenge).unwrap(),
            "c=biws,r=fyko+d2lbbFgONRv9qkxdawL3rfcNHYJY1ZVvWVs7j,\
             p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts="
        );
        assert_eq!(exchange.check(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ="), Ok(()));
    }

    /// The example of MongoDB's specification of authentication, section SCRAM-SHA-1.
    #[test]
    fn the_example_of_mongodb_is_spoken() {
        let nonce = "fyko+d2lbbFgONRv9qkxdawL";
        let mut exchange = Exchange::new(Mechanism::Sha1, "user", "pencil", nonce).unwrap();
        let challenge =
            b"r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,s=rQ9ZY3MntBeuP3E1TDVC4w==,i=10000";
        assert_eq!(
            exchange.prove(challenge).unwrap(),
            "c=biws,r=fyko+d2lbbFgONRv9qkxdawLHo+Vgk7qvUOKUwuWLIWg4l/9SraGMHEE,\
             p=MC2T8BvbmWRckDw8oWl5IVghwCY="
        );
        assert_eq!(exchange.check(b"v=UMWeI25JD1yNYZRMpZ4VHvhZ9e0="), Ok(()));
    }

    #[test]
    fn names_are_escaped_and_passwords_prepared() {
        let exchange = Exchange::new(Mechanism::Sha256, "a=b,c", "x", "n").unwrap();
        assert_eq!(exchange.first(), "n,,n=a=3Db=2Cc,r=n");
        // RFC 4013: a soft hyphen is nothing, a control character is forbidden.
        assert_eq!(Mechanism::Sha256.prepare("u", "I\u{ad}X").unwrap(), b"IX");
        let forbidden = Mechanism::Sha256.prepare("u", "a\u{7}");
        assert_eq!(forbidden, Err(ScramError::Forbidden));
    }

    #[test]
    fn a_challenge_that_is_none_is_refused() {
        for challenge in [
            &b""[..],
            b"r=nonce",
            b"r=nonce,s=AAAA,i=5000",
            b"r=other1,s=AAAA,i=5000",
            b"r=nonce1,s=A,i=5000",
            b"r=nonce1,s=AAAA,i=1",
            b"r=nonce1,s=AAAA,i=4000000000",
            b"\xff",
        ] {
            let mut exchange = Exchange::new(Mechanism::Sha256, "u", "p", "nonce").unwrap();
            let refused = exchange.prove(challenge);
            assert!(matches!(refused, Err(ScramError::Unreadable(_))), "{challenge:?}");
            assert!(exchange.check(b"v=").is_err());
        }
    }
}

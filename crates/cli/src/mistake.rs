//! What is wrong with the command or with a file that it names, apart from what goes wrong while it
//! is carried out: a mistake has an exit status of its own, and nothing was done.

use std::{error::Error, fmt};

/// The exit status of a mistake, as `clap` has it for a command line that it cannot read.
pub const MISTAKEN: u8 = 2;

/// An error of whoever gave the command. Its words are those of the error in it.
#[derive(Debug)]
pub struct Mistake(anyhow::Error);

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Mistake {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// Marks errors as mistakes.
pub trait OrMistake<T> {
    /// The same with its error marked.
    fn or_mistake(self) -> anyhow::Result<T>;
}

impl<T, E: Into<anyhow::Error>> OrMistake<T> for Result<T, E> {
    fn or_mistake(self) -> anyhow::Result<T> {
        self.map_err(|error| Mistake(error.into()).into())
    }
}

/// Returns a mistake with these words.
macro_rules! mistaken {
    ($($text:tt)*) => {
        return $crate::mistake::OrMistake::or_mistake(Err(anyhow::anyhow!($($text)*)))
    };
}
pub(crate) use mistaken;

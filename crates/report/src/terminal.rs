//! What the terminal is like.

use std::{env, io::IsTerminal};

const WIDTH_ELSEWHERE: usize = 100;

/// Whether standard output is a terminal that wants color: `NO_COLOR` (no-color.org) and
/// `TERM=dumb` say no, `CLICOLOR_FORCE` says yes even into a pipe.
pub fn color_wanted() -> bool {
    let set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    decide(
        set("NO_COLOR"),
        set("CLICOLOR_FORCE") && env::var_os("CLICOLOR_FORCE").is_some_and(|value| value != "0"),
        env::var_os("TERM").is_some_and(|term| term == "dumb"),
        std::io::stdout().is_terminal(),
    )
}

fn decide(no_color: bool, forced: bool, dumb: bool, terminal: bool) -> bool {
    !no_color && (forced || (terminal && !dumb))
}

/// The terminal's width in columns; `COLUMNS`, or 100, where standard output is no terminal.
pub fn terminal_width() -> usize {
    if let Some((width, _)) = terminal_size::terminal_size() {
        return usize::from(width.0);
    }
    let columns = env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    columns.filter(|columns| *columns > 0).unwrap_or(WIDTH_ELSEWHERE)
}

#[cfg(test)]
mod tests {
    use super::decide;

    #[test]
    fn no_color_wins_and_pipes_have_none_unless_forced() {
        assert!(decide(false, false, false, true));
        assert!(!decide(true, true, false, true));
        assert!(!decide(false, false, true, true));
        assert!(!decide(false, false, false, false));
        assert!(decide(false, true, false, false));
    }
}

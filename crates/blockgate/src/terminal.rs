//! What the terminal can show.

use std::io::IsTerminal;

use blockgate_findings::render::Palette;

/// Colours on a terminal, unless the user asks for none through `NO_COLOR`.
pub(crate) fn palette() -> Palette {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !refused { Palette::Ansi } else { Palette::Plain }
}

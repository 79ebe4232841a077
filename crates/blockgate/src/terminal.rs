//! What the terminal can show.

use std::io::{self, BufWriter, IsTerminal, Write};

use blockgate_findings::render::Palette;

/// Colours on a terminal, unless the user asks for none through `NO_COLOR`.
pub(crate) fn palette() -> Palette {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if std::io::stdout().is_terminal() && !refused {
        Palette::Ansi
    } else {
        Palette::Plain
    }
}

/// Prints to standard output. A reader that went away, such as `head`, is no fault and changes no verdict.
///
/// # Errors
/// Standard output cannot be written for any other reason.
pub fn print(printer: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match printer(&mut out).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

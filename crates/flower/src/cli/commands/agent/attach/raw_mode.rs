//! The raw mode of the operator's terminal.

use flower_contract::error::{Problem, ProblemKind};
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// While this exists, the terminal passes every key on unchanged. Dropping it restores the terminal, also after an error or
/// a panic.
pub(super) struct RawMode {
    before: Termios,
}

impl RawMode {
    pub(super) fn enter() -> Result<RawMode, Problem> {
        let before = tcgetattr(stdin()).map_err(refused)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(refused)?;
        Ok(RawMode { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // Does not wait until all output is written: the operator may have stopped the output with Ctrl-S.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

/// Columns and rows, if the terminal reports them.
pub(super) fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(stdin()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

fn refused(errno: rustix::io::Errno) -> Problem {
    Problem::new(ProblemKind::Refused, format!("the terminal cannot be used: {errno}"), "try it in another terminal")
}

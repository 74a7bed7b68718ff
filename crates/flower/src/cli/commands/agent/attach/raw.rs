//! The operator's terminal while an agent has it.

use flower_contract::error::{Problem, ProblemKind};
use rustix::stdio::stdin;
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};

/// Every key comes as it is, until this goes: at the end, at an error, in a panic.
pub(super) struct Raw {
    before: Termios,
}

impl Raw {
    pub(super) fn enter() -> Result<Raw, Problem> {
        let before = tcgetattr(stdin()).map_err(refused)?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Now, &raw).map_err(refused)?;
        Ok(Raw { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // Not when everything is drawn: whoever has stopped the output wants the keyboard back all the same.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
    }
}

/// Columns and rows, if the terminal knows them.
pub(super) fn size() -> Option<(u16, u16)> {
    let size = tcgetwinsize(stdin()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

fn refused(errno: rustix::io::Errno) -> Problem {
    Problem::new(ProblemKind::Refused, format!("the terminal cannot be used: {errno}"), "try it in another terminal")
}

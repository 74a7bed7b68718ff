//! The current user, and an unprivileged one to use instead of root.

use crate::run::{Program, seconds};

#[derive(Clone, Copy)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

pub(crate) fn is_root() -> Result<bool, String> {
    Ok(id(&["-u"])? == 0)
}

/// The user for programs that must not run as root; none if this program does not run as root.
pub(crate) fn unprivileged_user() -> Result<Option<User>, String> {
    if !is_root()? {
        return Ok(None);
    }
    let has_postgres = id(&["-u", "postgres"]).is_ok();
    let name = if has_postgres { "postgres" } else { "nobody" };
    Ok(Some(User { uid: id(&["-u", name])?, gid: id(&["-g", name])? }))
}

fn id(args: &[&str]) -> Result<u32, String> {
    let output = Program::new("id", seconds(30)).args(args).output()?;
    let number = output.trim().parse();
    number.map_err(|_| format!("`id` answered `{}`, which is not a number", output.trim()))
}

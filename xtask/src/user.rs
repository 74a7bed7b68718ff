//! Who we are, and who to be when that is root.

use crate::run::{Program, seconds};

#[derive(Clone, Copy)]
pub(crate) struct User {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

pub(crate) fn we_are_root() -> Result<bool, String> {
    Ok(id(&["-u"])? == 0)
}

/// Somebody to run as when we are root; nobody else can change, or needs to.
pub(crate) fn unprivileged_user() -> Result<Option<User>, String> {
    if !we_are_root()? {
        return Ok(None);
    }
    let has_postgres = id(&["-u", "postgres"]).is_ok();
    let name = if has_postgres { "postgres" } else { "nobody" };
    Ok(Some(User { uid: id(&["-u", name])?, gid: id(&["-g", name])? }))
}

fn id(args: &[&str]) -> Result<u32, String> {
    let output = Program::new("id", seconds(30)).args(args).output()?;
    let number = output.trim().parse();
    number.map_err(|_| format!("`id` answered `{}`, which is no number", output.trim()))
}

//! Queries about projects.

use super::conn::{Conn, params};
use super::error::StoreError;

#[derive(Clone, Debug)]
pub struct Project {
    pub name: String,
    pub root: String,
    /// When it was registered. No other project of this flower has the same time, so it names the project, also after a rename.
    pub at: String,
    /// The name of its folders below FLOWER_HOME, which is its first name.
    pub folder: String,
}

pub fn all(conn: &mut Conn) -> Result<Vec<Project>, StoreError> {
    conn.rows("SELECT name, root, at, folder FROM projects ORDER BY name", &[])?
        .iter()
        .map(|row| Ok(Project { name: row.text(0)?, root: row.text(1)?, at: row.text(2)?, folder: row.text(3)? }))
        .collect()
}

/// The name of the project with this root directory.
pub fn at_root(conn: &mut Conn, root: &str) -> Result<Option<String>, StoreError> {
    conn.row("SELECT name FROM projects WHERE root = $1", params![root])?.map(|row| row.text(0)).transpose()
}

/// The name of today of the project that once had this name.
pub fn renamed(conn: &mut Conn, former: &str) -> Result<Option<String>, StoreError> {
    conn.row("SELECT now FROM former_names WHERE name = $1", params![former])?.map(|row| row.text(0)).transpose()
}

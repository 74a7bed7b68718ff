//! Queries about projects.

use super::conn::{Conn, params};
use super::error::StoreError;

#[derive(Clone, Debug)]
pub struct Project {
    pub name: String,
    pub root: String,
    pub at: String,
}

pub fn all(conn: &mut Conn) -> Result<Vec<Project>, StoreError> {
    conn.rows("SELECT name, root, at FROM projects ORDER BY name", &[])?
        .iter()
        .map(|row| Ok(Project { name: row.text(0)?, root: row.text(1)?, at: row.text(2)? }))
        .collect()
}

/// The name of the project with this root directory.
pub fn at_root(conn: &mut Conn, root: &str) -> Result<Option<String>, StoreError> {
    conn.row("SELECT name FROM projects WHERE root = $1", params![root])?.map(|row| row.text(0)).transpose()
}

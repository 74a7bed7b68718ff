//! `flower doctor`: looks for what is wrong, with evidence, and mends what can be mended safely.

use super::App;
use crate::error::Problem;
use crate::view::Finding;

impl App {
    pub async fn doctor(&self, _fix: bool) -> Result<Vec<Finding>, Problem> {
        Ok(Vec::new())
    }
}

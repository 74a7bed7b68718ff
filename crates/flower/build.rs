//! The page is embedded from where `cargo xtask bloom` builds it. Without it flower builds all the same, and says so.

use std::path::Path;

fn main() {
    let page = Path::new("../../bloom/build");
    // An empty folder is one that cargo can watch; a missing one would be built again and again.
    std::fs::create_dir_all(page).expect("a folder for the page");
    println!("cargo:rerun-if-changed={}", page.display());
}

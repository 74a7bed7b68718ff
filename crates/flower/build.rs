//! The page that `cargo xtask bloom` builds is embedded into the binary. Without it the binary serves a notice instead.

use std::path::Path;

fn main() {
    let page = Path::new("../../bloom/build");
    // cargo can watch an empty folder; a missing one would cause a rebuild each time.
    std::fs::create_dir_all(page).expect("a folder for the page");
    println!("cargo:rerun-if-changed={}", page.display());
}

//! Documents that are generated from the program. A test fails if the stored one differs.

use std::path::Path;

/// Compares `docs/NAME` with `content`, or writes it if `FLOWER_UPDATE=1`.
pub fn check(name: &str, content: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(name);
    if std::env::var_os("FLOWER_UPDATE").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().expect("docs")).expect("docs can be made");
        std::fs::write(&path, content).expect("docs can be written");
        return;
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    let differing = content.lines().zip(stored.lines()).position(|(new, old)| new != old);
    let line = differing.unwrap_or_else(|| content.lines().count().min(stored.lines().count())) + 1;
    assert!(
        stored == content,
        "docs/{name} is stale from line {line} on; run with FLOWER_UPDATE=1 to write it, and commit it"
    );
}

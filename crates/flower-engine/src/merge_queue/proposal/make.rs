//! A Makefile, where nothing else is known.

use super::{Part, Tree};

pub(super) fn part(tree: &Tree) -> Option<Part> {
    // In the order in which make looks for them.
    let file = tree.first("", &["GNUmakefile", "makefile", "Makefile"])?;
    let target = ["test", "check", "tests"].into_iter().find(|target| has_target(tree.text("", file), target))?;
    Some(Part {
        found: format!("{file}: a target `{target}`"),
        programs: vec!["make"],
        checks: vec![("test".to_owned(), format!("make {target}"))],
        ..Part::default()
    })
}

fn has_target(makefile: &str, target: &str) -> bool {
    makefile.lines().any(|line| {
        let Some((names, rest)) = line.split_once(':') else { return false };
        !line.starts_with(['\t', '#']) && !rest.starts_with('=') && names.split_whitespace().any(|name| name == target)
    })
}

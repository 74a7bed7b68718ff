//! Warns about words that the plain language of this project has replaced. People judge the rest.

use std::fs;

use crate::run::{Program, repository_root, seconds};

/// Each word with its replacement. A word is found in prose and as a part of a `snake_case` name.
const REPLACED: &[(&str, &str)] = &[
    ("whoever", "name the subject"),
    ("somebody", "name the subject: a person, an agent, another program"),
    ("nobody", "`no agent`, `no one`, `unclaimed`"),
    ("everybody", "name the subjects"),
    ("anybody", "name the subject"),
    ("of theirs", "name the owner"),
    ("delicate", "`requires_approval`"),
    ("hostile path", "`forbidden`"),
    ("hostile_path", "`forbidden`"),
    ("heard_of", "`record_heartbeat`"),
    ("heed", "`apply_gate_decision`"),
    ("insist", "`submit_with_retry`"),
    ("put_right", "`recovery`"),
    ("stirs", "`notify`"),
    ("ear.rs", "`dir_watcher.rs`"),
];

/// This list, generated files, and expected output that follows the sources.
const EXCLUDED: &[&str] = &["xtask/src/words.rs", "docs/cli.md", "bloom/src/lib/schema.d.ts", "/golden/"];

/// More lines would hide the other output of `cargo xtask test`.
const MAX_PRINTED: usize = 200;

#[derive(Debug, PartialEq)]
struct Finding {
    line: usize,
    word: &'static str,
    replacement: &'static str,
}

/// Prints each replaced word in tracked sources and documents. Fails only if the files cannot be listed.
pub(crate) fn warn() -> Result<(), String> {
    let list = ["ls-files", "-z", "--", "*.rs", "*.ts", "*.svelte", "*.md"];
    let files = Program::new("git", seconds(20)).directory(repository_root()).args(list).output()?;
    let mut count = 0;
    for file in files.split_terminator('\0').filter(|file| !is_excluded(file)) {
        // A tracked file can be deleted in the working copy.
        let Ok(text) = fs::read_to_string(repository_root().join(file)) else { continue };
        for Finding { line, word, replacement } in findings(&text) {
            count += 1;
            if count <= MAX_PRINTED {
                eprintln!("warning: {file}:{line}: `{word}`; instead: {replacement}");
            }
        }
    }
    if count > MAX_PRINTED {
        eprintln!("warning: {} more are not shown", count - MAX_PRINTED);
    }
    Ok(())
}

fn is_excluded(file: &str) -> bool {
    EXCLUDED.iter().any(|part| file == *part || (part.starts_with('/') && file.contains(part)))
}

fn findings(text: &str) -> Vec<Finding> {
    let lines = text.lines().enumerate();
    lines
        .flat_map(|(index, line)| {
            let line = line.to_lowercase();
            let found = REPLACED.iter().filter(move |(word, _)| has_word(&line, word));
            found.map(move |&(word, replacement)| Finding { line: index + 1, word, replacement })
        })
        .collect()
}

/// Whether no letter or digit touches one of the occurrences: `nobody_waits` has `nobody`, `linear.rs` has no `ear.rs`.
fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        ![before, after].into_iter().flatten().any(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaced_words_are_found_with_their_line() {
        let found = |text: &str| findings(text).iter().map(|found| (found.line, found.word)).collect::<Vec<_>>();
        assert_eq!(found("It waits.\nWhoever asks, nobody answers."), [(2, "whoever"), (2, "nobody")]);
        assert_eq!(found("fn nobody_waits() {}"), [(1, "nobody")]);
        assert_eq!(found("see `linear.rs`: it insists, unheeded"), []);
        assert_eq!(found("`ear.rs`, a hostile\npath"), [(1, "ear.rs")]);
    }

    #[test]
    fn the_list_and_generated_files_are_excluded() {
        for file in ["xtask/src/words.rs", "docs/cli.md", "crates/flower-core/tests/it/golden/recall/fix.md"] {
            assert!(is_excluded(file), "{file}");
        }
        assert!(!is_excluded("docs/guide.md"));
    }
}

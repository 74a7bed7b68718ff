//! Typed links from a brief to the objects that belong to it.

use crate::refusal::Refusal;
use crate::text;
use crate::word::words;

words! {
    LinkKind ("link kind") {
        Execution = "execution",
        Commit = "commit",
        Branch = "branch",
        Worktree = "worktree",
        Landing = "landing",
        Scratchpad = "scratchpad",
        Brief = "brief",
        File = "file",
        Address = "address",
    }
}

const TARGET_CHARS: usize = 2_000;

/// Normalizes a target to its one accepted spelling, so that the same object is linked only once.
pub fn target(kind: LinkKind, raw: &str) -> Result<String, Refusal> {
    let target = text::line("link target", raw, TARGET_CHARS)?;
    let wrong = |expected: &'static str| Refusal::BadTarget { kind, target: target.clone(), expected };
    match kind {
        LinkKind::Commit => {
            let hex = (7..=64).contains(&target.len()) && target.bytes().all(|b| b.is_ascii_hexdigit());
            if hex { Ok(target.to_ascii_lowercase()) } else { Err(wrong("7 to 64 hexadecimal digits")) }
        }
        LinkKind::Brief | LinkKind::Scratchpad => match target.trim_start_matches('#').parse::<u64>() {
            Ok(number) if number > 0 => Ok(number.to_string()),
            _ => Err(wrong("a number, such as `12`")),
        },
        LinkKind::Address => {
            let rest = target.strip_prefix("https://").or_else(|| target.strip_prefix("http://"));
            match rest {
                Some(rest) if !rest.is_empty() && !rest.starts_with('/') && !target.contains(char::is_whitespace) => {
                    Ok(target)
                }
                _ => Err(wrong("an address that begins with `https://` or `http://`")),
            }
        }
        LinkKind::Execution | LinkKind::Branch | LinkKind::Worktree | LinkKind::Landing | LinkKind::File => Ok(target),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_have_one_spelling() {
        assert_eq!(target(LinkKind::Commit, "ABCDEF1").unwrap(), "abcdef1");
        assert_eq!(target(LinkKind::Brief, " #12 ").unwrap(), "12");
        assert_eq!(target(LinkKind::Address, "https://a.example/x").unwrap(), "https://a.example/x");
    }

    #[test]
    fn hostile_targets_are_refused() {
        for (kind, raw) in [
            (LinkKind::Commit, "abc"),
            (LinkKind::Commit, "zzzzzzz"),
            (LinkKind::Brief, "twelve"),
            (LinkKind::Brief, "0"),
            (LinkKind::Address, "javascript:alert(1)"),
            (LinkKind::Address, "https://"),
            (LinkKind::Address, "https:///etc/passwd"),
            (LinkKind::File, ""),
            (LinkKind::File, "a\nb"),
        ] {
            assert!(target(kind, raw).is_err(), "{kind} {raw:?}");
        }
    }
}

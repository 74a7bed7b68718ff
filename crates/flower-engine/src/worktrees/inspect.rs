//! Looks through commits that were made by somebody who is not to be trusted, before anything of them is checked out.

use super::gitlinks::{self, Gitlinks};
use super::limits::{LARGEST_FILE, MOST_FILES, MOST_UNPACKED};
use super::unfit::{Unfit, plain};
use crate::landing::names::fold;
use flower_git::{self, Git, GitError};
use std::collections::{BTreeMap, BTreeSet};

/// All files of a commit, as far as it matters whether they can be taken.
#[derive(Debug, Default)]
struct Listing {
    files: u64,
    bytes: u64,
    /// The first of each pair of paths that are one path where upper and lower case are the same.
    twins: BTreeMap<String, String>,
    /// The object that lists submodules.
    submodules: Option<String>,
    gitlinks: Gitlinks,
}

/// Whether `commit` can be taken. `git` asks the repository that has all of it, or should have. `branch` is the commit that the
/// operator's branch has.
pub(crate) async fn require_fit(
    git: &(impl Fn() -> Git + Sync),
    commit: &str,
    branch: Option<&str>,
) -> Result<(), Unfit> {
    require_whole(git, commit).await?;
    let new = match listing(git, commit).await {
        // A few trees that hold one another many times are more files than anybody can count.
        Err(Unfit::Git(GitError::TooMuch { .. })) => return Err(Unfit::Files),
        listing => listing?,
    };
    if let Some(object) = &new.submodules {
        require_plain_addresses(git, object).await?;
    }
    require_known_gitlinks(git, &new.gitlinks, branch).await?;
    gitlinks::remember(commit, &new.gitlinks);
    if new.files <= MOST_FILES && new.bytes <= MOST_UNPACKED && new.twins.is_empty() {
        return Ok(());
    }
    // What MAIN has itself was not made inside.
    let main = listing(git, "HEAD").await?;
    if new.files > main.files + MOST_FILES {
        return Err(Unfit::Files);
    }
    if new.bytes > main.bytes + MOST_UNPACKED {
        return Err(Unfit::Unpacked);
    }
    match new.twins.into_iter().find(|(twin, _)| !main.twins.contains_key(twin)) {
        Some((second, first)) => Err(Unfit::Twins(plain(&first), plain(&second))),
        None => Ok(()),
    }
}

/// A gitlink is refused unless MAIN or the branch has one at the same path: the operator's git would run what the repository
/// names that was put there.
async fn require_known_gitlinks(
    git: &(impl Fn() -> Git + Sync),
    new: &Gitlinks,
    branch: Option<&str>,
) -> Result<(), Unfit> {
    let mut unknown = new.clone();
    for known in ["HEAD"].into_iter().chain(branch) {
        if unknown.is_empty() {
            return Ok(());
        }
        let known = listing(git, known).await?.gitlinks;
        unknown.retain(|path| !known.contains(path));
    }
    unknown.first().map_or(Ok(()), |path| Err(Unfit::Gitlink(plain(&path.to_string_lossy()))))
}

/// Every object that no ref leads to yet is there, and none is too large.
async fn require_whole(git: &(impl Fn() -> Git + Sync), commit: &str) -> Result<(), Unfit> {
    let all = git().args(["rev-list", "--objects", "--no-object-names", commit, "--not", "--all"]);
    let sizes = git().args(["cat-file", "--batch-check=%(objectsize)", "--buffer"]);
    let (all, sizes) = flower_git::piped(all, sizes).await;
    all.map_err(Unfit::of)?;
    let sizes = sizes.map_err(Unfit::of)?.line();
    let largest = sizes.lines().map(|size| size.parse().unwrap_or(u64::MAX)).max();
    if largest.is_some_and(|size| size > LARGEST_FILE) { Err(Unfit::File) } else { Ok(()) }
}

async fn listing(git: &(impl Fn() -> Git + Sync), commit: &str) -> Result<Listing, Unfit> {
    let args = ["ls-tree", "-r", "-l", "-z", "--full-tree", commit];
    let output = git().args(args).run().await.map_err(Unfit::of)?;
    Ok(Listing::of(output.items()))
}

impl Listing {
    /// From lines as in `100644 blob 1234 56\tpath`.
    fn of<'a>(lines: impl Iterator<Item = &'a [u8]>) -> Listing {
        let mut listing = Listing::default();
        // By how a path or a folder is written in lower case: how it was written first.
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        let mut folders = BTreeSet::new();
        for line in lines {
            listing.gitlinks.extend(gitlinks::of_tree_line(line));
            let line = String::from_utf8_lossy(line);
            let Some((facts, path)) = line.split_once('\t') else { continue };
            let facts: Vec<&str> = facts.split_whitespace().collect();
            listing.files += 1;
            listing.bytes += facts.get(3).and_then(|size| size.parse::<u64>().ok()).unwrap_or(0);
            if path == ".gitmodules" {
                listing.submodules = facts.get(2).map(|&object| object.to_owned());
            }
            let above = path.match_indices('/').map(|(at, _)| &path[..at]);
            let fresh = above.filter(|folder| folders.insert((*folder).to_owned()));
            for name in fresh.chain([path]).collect::<Vec<_>>() {
                let first = seen.entry(fold(name)).or_insert_with(|| name.to_owned());
                if first != name {
                    listing.twins.insert(name.to_owned(), first.clone());
                }
            }
        }
        listing
    }
}

/// `ext::sh -c …` is an address to git, and runs whatever it says.
async fn require_plain_addresses(git: &(impl Fn() -> Git + Sync), object: &str) -> Result<(), Unfit> {
    let args = ["config", "--null", "--blob", object, "--get-regexp", r"^submodule\..*\.url$"];
    let output = git().args(args).output().await?;
    for item in output.items() {
        let item = String::from_utf8_lossy(item);
        let address = item.split_once('\n').map_or("", |(_, address)| address);
        if runs_a_program(address) {
            return Err(Unfit::Submodule(plain(address)));
        }
    }
    Ok(())
}

/// Whether git would hand an address to a helper of that name.
fn runs_a_program(address: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    address.split_once("::").is_some_and(|(helper, _)| is_name(helper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn twins(paths: &[&str]) -> Vec<(String, String)> {
        let lines: Vec<String> = paths.iter().map(|path| format!("100644 blob 12ab 7\t{path}")).collect();
        Listing::of(lines.iter().map(String::as_bytes)).twins.into_iter().collect()
    }

    #[test]
    fn twins_are_found_in_files_and_folders() {
        let pair = |second: &str, first: &str| vec![(second.to_owned(), first.to_owned())];
        assert_eq!(twins(&["README", "readme"]), pair("readme", "README"));
        assert_eq!(twins(&["Src/a", "src/b"]), pair("src", "Src"));
        assert_eq!(twins(&["src", "Src/a"]), pair("Src", "src"));
        assert_eq!(twins(&["ÄRGER", "ärger"]), pair("ärger", "ÄRGER"));
        assert_eq!(twins(&["a/b/c", "a/b/d", "a/c/b", "b/a"]), []);
    }

    #[test]
    fn files_and_bytes_are_counted_and_submodules_noticed() {
        let lines =
            ["100644 blob 12ab      7\ta", "160000 commit 34cd       -\tlib", "100644 blob 56ef 9\t.gitmodules"];
        let listing = Listing::of(lines.iter().map(|line| line.as_bytes()));
        assert_eq!((listing.files, listing.bytes, listing.submodules.as_deref()), (3, 16, Some("56ef")));
        assert_eq!(listing.gitlinks, Gitlinks::from(["lib".into()]));
    }

    #[test]
    fn addresses_that_run_programs_are_known() {
        for bad in ["ext::sh -c id", "fd::7", "remote-x::https://a.example"] {
            assert!(runs_a_program(bad), "{bad}");
        }
        for good in ["https://a.example/b.git", "git@a.example:b/c", "../c", "ssh://[::1]/b", "/a::b/c", ""] {
            assert!(!runs_a_program(good), "{good}");
        }
    }
}

//! Looks through commits that were made by somebody who is not to be trusted, before anything of them is checked out.

use super::gitlinks::{self, Gitlinks};
use super::import_error::{ImportError, plain};
use super::limits::{LARGEST_FILE, MAX_FILES, MOST_UNPACKED};
use crate::path_policy::fold;
use flower_git::{CommitId, GitError, Head, ObjectId, Repo, TreeListing, Treeish};
use std::collections::{BTreeMap, BTreeSet};

/// All files of a commit, as far as it matters whether they can be taken.
#[derive(Debug, Default)]
struct Listing {
    files: u64,
    bytes: u64,
    /// The first of each pair of paths that are one path where upper and lower case are the same.
    twins: BTreeMap<String, String>,
    /// The object that lists submodules.
    submodules: Option<ObjectId>,
    gitlinks: Gitlinks,
}

/// Whether `commit` can be taken. `repo` has all of it, or should have. `branch` is the commit that the
/// operator's branch has.
pub(crate) async fn require_fit(repo: &Repo, commit: &CommitId, branch: Option<&CommitId>) -> Result<(), ImportError> {
    require_whole(repo, commit).await?;
    let new = match listing(repo, commit).await {
        // A few trees that hold one another many times are more files than anybody can count.
        Err(ImportError::Git(GitError::TooMuch { .. })) => return Err(ImportError::Files),
        listing => listing?,
    };
    if let Some(object) = &new.submodules {
        require_plain_addresses(repo, object).await?;
    }
    require_known_gitlinks(repo, &new.gitlinks, branch).await?;
    gitlinks::remember(commit, &new.gitlinks);
    if new.files <= MAX_FILES && new.bytes <= MOST_UNPACKED && new.twins.is_empty() {
        return Ok(());
    }
    // What MAIN has itself was not made inside.
    let main = listing(repo, &Head).await?;
    if new.files > main.files + MAX_FILES {
        return Err(ImportError::Files);
    }
    if new.bytes > main.bytes + MOST_UNPACKED {
        return Err(ImportError::Unpacked);
    }
    match new.twins.into_iter().find(|(twin, _)| !main.twins.contains_key(twin)) {
        Some((second, first)) => Err(ImportError::Twins(plain(&first), plain(&second))),
        None => Ok(()),
    }
}

/// A gitlink is refused unless MAIN or the branch has one at the same path: the operator's git would run what the repository
/// names that was put there.
async fn require_known_gitlinks(repo: &Repo, new: &Gitlinks, branch: Option<&CommitId>) -> Result<(), ImportError> {
    let mut unknown = new.clone();
    if !unknown.is_empty() {
        let known = listing(repo, &Head).await?.gitlinks;
        unknown.retain(|path| !known.contains(path));
    }
    if let (Some(branch), false) = (branch, unknown.is_empty()) {
        let known = listing(repo, branch).await?.gitlinks;
        unknown.retain(|path| !known.contains(path));
    }
    unknown.first().map_or(Ok(()), |path| Err(ImportError::Gitlink(plain(&path.to_string_lossy()))))
}

/// Every object that no ref leads to yet is there, and none is too large.
async fn require_whole(repo: &Repo, commit: &CommitId) -> Result<(), ImportError> {
    let largest = repo.largest_unreached(commit).await.map_err(ImportError::of)?;
    if largest.is_some_and(|size| size > LARGEST_FILE) { Err(ImportError::File) } else { Ok(()) }
}

async fn listing(repo: &Repo, tree: &impl Treeish) -> Result<Listing, ImportError> {
    let files = repo.list_files_with_sizes(tree).await.map_err(ImportError::of)?;
    Ok(Listing::of(&files))
}

impl Listing {
    fn of(files: &TreeListing) -> Listing {
        let mut listing = Listing::default();
        // By how a path or a folder is written in lower case: how it was written first.
        let mut seen: BTreeMap<String, String> = BTreeMap::new();
        let mut folders = BTreeSet::new();
        for entry in files.entries() {
            if entry.is_gitlink() {
                listing.gitlinks.insert(entry.path.into());
            }
            let path = &*entry.path.to_string_lossy();
            listing.files += 1;
            listing.bytes += entry.size.unwrap_or(0);
            if path == ".gitmodules" {
                listing.submodules = entry.object().ok();
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
async fn require_plain_addresses(repo: &Repo, object: &ObjectId) -> Result<(), ImportError> {
    let addresses = repo.submodule_addresses(object).await?;
    match addresses.iter().find(|address| runs_a_program(address)) {
        Some(address) => Err(ImportError::Submodule(plain(address))),
        None => Ok(()),
    }
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
        let lines: String = paths.iter().map(|path| format!("100644 blob 12ab 7\t{path}\0")).collect();
        Listing::of(&TreeListing::parse(lines.into_bytes())).twins.into_iter().collect()
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
        let id = "5e".repeat(20);
        let lines =
            format!("100644 blob 12ab      7\ta\0160000 commit 34cd       -\tlib\0100644 blob {id} 9\t.gitmodules\0");
        let listing = Listing::of(&TreeListing::parse(lines.into_bytes()));
        let submodules = listing.submodules.as_ref().map(ObjectId::as_str);
        assert_eq!((listing.files, listing.bytes, submodules), (3, 16, Some(id.as_str())));
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

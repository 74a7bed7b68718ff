//! Inspects untrusted commits before any of their files is checked out.

use super::gitlinks::{self, Gitlinks};
use super::import_error::{ImportError, plain};
use super::limits::{MAX_FILE_BYTES, MAX_FILES, MAX_UNPACKED_BYTES};
use crate::path_policy::fold;
use flower_git::{CommitId, GitError, Head, ObjectId, Repo, TreeListing, Treeish};
use std::collections::{BTreeMap, BTreeSet};

/// What the inspection needs to know about the files of a commit.
#[derive(Debug, Default)]
struct Listing {
    files: u64,
    bytes: u64,
    /// Paths that equal an earlier path on file systems without upper and lower case, each with the earlier path.
    case_collisions: BTreeMap<String, String>,
    /// The object of `.gitmodules`.
    submodules: Option<ObjectId>,
    gitlinks: Gitlinks,
}

/// Fails unless `commit` can be imported. `repo` includes its objects; `branch` is the tip of the operator's branch.
pub(crate) async fn require_importable(
    repo: &Repo,
    commit: &CommitId,
    branch: Option<&CommitId>,
) -> Result<(), ImportError> {
    require_whole(repo, commit).await?;
    let new = match listing(repo, commit).await {
        // A few trees that contain each other many times expand to more files than git can list.
        Err(ImportError::Git(GitError::TooMuch { .. })) => return Err(ImportError::Files),
        listing => listing?,
    };
    if let Some(object) = &new.submodules {
        require_plain_addresses(repo, object).await?;
    }
    require_known_gitlinks(repo, &new.gitlinks, branch).await?;
    gitlinks::cache(commit, &new.gitlinks);
    if new.files <= MAX_FILES && new.bytes <= MAX_UNPACKED_BYTES && new.case_collisions.is_empty() {
        return Ok(());
    }
    // Files that MAIN has too do not count.
    let main = listing(repo, &Head).await?;
    if new.files > main.files + MAX_FILES {
        return Err(ImportError::Files);
    }
    if new.bytes > main.bytes + MAX_UNPACKED_BYTES {
        return Err(ImportError::Unpacked);
    }
    match new.case_collisions.into_iter().find(|(path, _)| !main.case_collisions.contains_key(path)) {
        Some((second, first)) => Err(ImportError::CaseCollision(plain(&first), plain(&second))),
        None => Ok(()),
    }
}

/// Refuses a gitlink unless MAIN or the branch has one at the same path: a program inside could put a repository there, and the
/// operator's git would run the programs in its configuration.
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

/// Fails unless all new objects exist and none is too large.
async fn require_whole(repo: &Repo, commit: &CommitId) -> Result<(), ImportError> {
    let largest = repo.largest_unreached(commit).await.map_err(ImportError::of)?;
    if largest.is_some_and(|size| size > MAX_FILE_BYTES) { Err(ImportError::File) } else { Ok(()) }
}

async fn listing(repo: &Repo, tree: &impl Treeish) -> Result<Listing, ImportError> {
    let files = repo.list_files_with_sizes(tree).await.map_err(ImportError::of)?;
    Ok(Listing::of(&files))
}

impl Listing {
    fn of(files: &TreeListing) -> Listing {
        let mut listing = Listing::default();
        // Maps each path and folder in lower case to its first spelling.
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
                    listing.case_collisions.insert(name.to_owned(), first.clone());
                }
            }
        }
        listing
    }
}

/// Refuses addresses of submodules such as `ext::sh -c …`, which git would run.
async fn require_plain_addresses(repo: &Repo, object: &ObjectId) -> Result<(), ImportError> {
    let addresses = repo.submodule_addresses(object).await?;
    match addresses.iter().find(|address| runs_a_program(address)) {
        Some(address) => Err(ImportError::Submodule(plain(address))),
        None => Ok(()),
    }
}

/// Whether git would pass an address to a helper program.
fn runs_a_program(address: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    address.split_once("::").is_some_and(|(helper, _)| is_name(helper))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collisions(paths: &[&str]) -> Vec<(String, String)> {
        let lines: String = paths.iter().map(|path| format!("100644 blob 12ab 7\t{path}\0")).collect();
        Listing::of(&TreeListing::parse(lines.into_bytes())).case_collisions.into_iter().collect()
    }

    #[test]
    fn case_collisions_are_found_in_files_and_folders() {
        let pair = |second: &str, first: &str| vec![(second.to_owned(), first.to_owned())];
        assert_eq!(collisions(&["README", "readme"]), pair("readme", "README"));
        assert_eq!(collisions(&["Src/a", "src/b"]), pair("src", "Src"));
        assert_eq!(collisions(&["src", "Src/a"]), pair("Src", "src"));
        assert_eq!(collisions(&["ÄRGER", "ärger"]), pair("ärger", "ÄRGER"));
        assert_eq!(collisions(&["a/b/c", "a/b/d", "a/c/b", "b/a"]), []);
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

//! Resolves the symbolic links of a tree. A link must lead to something that git tracks: neither out of the repository nor to
//! an ignored file such as `.env`, which MAIN's checkout has beside the tracked ones.

use flower_contract::error::Problem;
use flower_git::repository::Repository;
use flower_git::{CommitId, ObjectId, Repo, TreeId, Treeish};
use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// The kernel's own limit of links in one path.
const MAX_HOPS: usize = 40;

/// What a tree has at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    Folder,
    /// A file, or the folder of a submodule, below which git tracks nothing.
    Leaf,
    Link(OsString),
}

/// All entries of a tree, with the targets of its links.
#[derive(Debug, Default)]
struct Tree(BTreeMap<PathBuf, Entry>);

/// A link that does not lead to a tracked file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct UntrackedLink {
    pub(super) link: PathBuf,
    pub(super) target: OsString,
}

/// Links of `tree` that lead to nothing tracked, without those that `before` already has.
pub(super) async fn new_untracked_links(
    repository: &Repository,
    before: &CommitId,
    tree: &TreeId,
) -> Result<Vec<UntrackedLink>, Problem> {
    let repo = Repo::main(repository);
    let mut found = Tree::read(&repo, tree).await?.untracked_links();
    if !found.is_empty() {
        let known = Tree::read(&repo, before).await?.untracked_links();
        found.retain(|link| !known.contains(link));
    }
    Ok(found)
}

impl Tree {
    async fn read(repo: &Repo, tree: &impl Treeish) -> Result<Tree, Problem> {
        let listed = repo.list_everything(tree).await?;
        let mut entries = BTreeMap::new();
        let (mut links, mut ids): (Vec<PathBuf>, Vec<ObjectId>) = (Vec::new(), Vec::new());
        for entry in listed.entries() {
            let path = PathBuf::from(entry.path);
            match entry.mode {
                "040000" => drop(entries.insert(path, Entry::Folder)),
                "120000" => {
                    links.push(path);
                    ids.push(entry.object()?);
                }
                _ => drop(entries.insert(path, Entry::Leaf)),
            }
        }
        if !links.is_empty() {
            let targets = repo.read_objects(&ids).await?;
            for (path, target) in links.into_iter().zip(targets.iter()) {
                entries.insert(path, Entry::Link(OsStr::from_bytes(target?.content).to_owned()));
            }
        }
        Ok(Tree(entries))
    }

    fn untracked_links(&self) -> Vec<UntrackedLink> {
        let links = self.0.iter().filter_map(|(path, entry)| match entry {
            Entry::Link(target) => Some((path, target)),
            _ => None,
        });
        let untracked = links.filter(|(path, target)| !self.leads_to_tracked(path, target));
        untracked.map(|(link, target)| UntrackedLink { link: link.clone(), target: target.clone() }).collect()
    }

    /// Follows a link as the kernel does, component by component: `..` behind a link to a folder leaves that folder, not
    /// the one that the link lies in.
    fn leads_to_tracked(&self, link: &Path, target: &OsStr) -> bool {
        let mut at: PathBuf = link.parent().map(Path::to_owned).unwrap_or_default();
        let Some(mut ahead) = components(target) else { return false };
        let mut hops = 1;
        while let Some(part) = ahead.pop_front() {
            let Some(name) = part else {
                if !at.pop() {
                    return false;
                }
                continue;
            };
            at.push(name);
            match self.0.get(&at) {
                Some(Entry::Folder) => {}
                Some(Entry::Leaf) if ahead.is_empty() => {}
                Some(Entry::Link(target)) => {
                    hops += 1;
                    let Some(mut onward) = components(target).filter(|_| hops <= MAX_HOPS) else { return false };
                    at.pop();
                    onward.append(&mut ahead);
                    ahead = onward;
                }
                Some(Entry::Leaf) | None => return false,
            }
        }
        true
    }
}

/// The components of a link's target, each `None` for `..`. `None` for an absolute target, which leaves the repository.
fn components(target: &OsStr) -> Option<VecDeque<Option<OsString>>> {
    let mut parts = VecDeque::new();
    for part in Path::new(target).components() {
        match part {
            Component::Normal(name) => parts.push_back(Some(name.to_owned())),
            Component::ParentDir => parts.push_back(None),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (!target.is_empty()).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From `path`, `folder/` and `link -> target`.
    fn tree(entries: &[&str]) -> Tree {
        let entry = |text: &&str| match (text.split_once(" -> "), text.strip_suffix('/')) {
            (Some((link, target)), _) => (PathBuf::from(link), Entry::Link(target.into())),
            (None, Some(folder)) => (PathBuf::from(folder), Entry::Folder),
            (None, None) => (PathBuf::from(text), Entry::Leaf),
        };
        Tree(entries.iter().map(entry).collect())
    }

    fn leads(entries: &[&str], link: &str, target: &str) -> bool {
        tree(entries).leads_to_tracked(Path::new(link), OsStr::new(target))
    }

    #[test]
    fn a_link_leads_to_what_the_tree_has() {
        let have = ["a/", "a/x", "c", "d -> a", "e -> d/x"];
        for (link, target) in
            [("l", "c"), ("a/l", "../c"), ("l", "./a/../c"), ("l", "."), ("l", "a"), ("l", "d/x"), ("l", "e")]
        {
            assert!(leads(&have, link, target), "{link} -> {target}");
        }
        for (link, target) in [
            ("l", ".."),
            ("a/l", "../../c"),
            ("l", "/etc/passwd"),
            ("l", "a/../../y"),
            ("l", ".env"),
            ("l", "c/x"),
            ("l", ""),
        ] {
            assert!(!leads(&have, link, target), "{link} -> {target}");
        }
    }

    #[test]
    fn leaving_a_folder_that_a_link_led_to_leaves_that_folder() {
        // Read as text the target is `s/.env`, which exists; the kernel resolves it to `.env`, which does not.
        assert!(!leads(&["s/", "s/.env", "real/", "s/d -> ../real"], "s/x", "d/../.env"));
        assert!(leads(&["s/", "s/ok", "real/", "ok", "s/d -> ../real"], "s/x", "d/../ok"));
        let out = ["s/", "s/t/", "s/home/", "s/home/token", "real/", "s/t/d -> ../../real"];
        assert!(!leads(&out, "s/t/tok", "d/../../home/token"));
    }

    #[test]
    fn a_circle_leads_nowhere() {
        assert!(!leads(&["a -> b", "b -> a"], "l", "a"));
        assert!(!leads(&["a -> a"], "l", "a/x"));
    }

    #[test]
    fn every_link_of_a_tree_is_examined() {
        let untracked = tree(&["a", "good -> a", "bad -> .env", "chain -> bad"]).untracked_links();
        let names: Vec<&str> = untracked.iter().filter_map(|found| found.link.to_str()).collect();
        assert_eq!(names, ["bad", "chain"]);
    }
}

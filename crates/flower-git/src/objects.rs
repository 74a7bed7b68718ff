//! Reads objects through `git cat-file`. One reader parses its output.

use crate::command::piped;
use crate::ids::Named;
use crate::{AnyObject, CommitId, GitError, ObjectId, Repo, Treeish};

/// Objects with their contents, as git wrote them.
#[derive(Clone, Debug)]
pub struct Objects {
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Object<'a> {
    pub id: &'a str,
    /// `commit`, `tree`, `blob` or `tag`.
    pub kind: &'a str,
    pub content: &'a [u8],
}

impl Objects {
    /// The objects in the requested order.
    pub fn iter(&self) -> impl Iterator<Item = Result<Object<'_>, GitError>> {
        let mut reader = Reader { rest: &self.bytes };
        std::iter::from_fn(move || {
            if reader.rest.is_empty() {
                return None;
            }
            let object = reader.next(true).and_then(|object| object.ok_or(UNREADABLE));
            if object.is_err() {
                reader.rest = &[];
            }
            Some(object)
        })
    }
}

const UNREADABLE: GitError = GitError::Unreadable("cat-file");

/// Parses `ID KIND SIZE`, a line break and, if contents were requested, the content and another line break. For a missing object git
/// writes one line of another form.
struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn next(&mut self, with_content: bool) -> Result<Option<Object<'a>>, GitError> {
        let end = self.rest.iter().position(|&byte| byte == b'\n').ok_or(UNREADABLE)?;
        let (head, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest;
        let words: Vec<&[u8]> = head.split(|&byte| byte == b' ').collect();
        let text = |word: &'a [u8]| str::from_utf8(word).ok();
        let (Some(id), Some(kind), Some(size)) = (match words[..] {
            [id, kind, size] => (text(id), text(kind), text(size)),
            _ => (None, None, None),
        }) else {
            return Ok(None);
        };
        let (Ok(_), Ok(size)) = (ObjectId::parse(id), size.parse::<usize>()) else { return Ok(None) };
        if !with_content {
            return Ok(Some(Object { id, kind, content: &[] }));
        }
        let content = rest.get(..size).ok_or(UNREADABLE)?;
        self.rest = rest.get(size + 1..).ok_or(UNREADABLE)?;
        Ok(Some(Object { id, kind, content }))
    }
}

/// Queries for one `git cat-file`. They go through its standard input, so that no name is taken for an option.
#[derive(Clone, Debug, Default)]
pub struct Questions {
    lines: Vec<Line>,
}

#[derive(Clone, Debug)]
struct Line {
    text: String,
    with_content: bool,
}

/// The index of a query's answer.
#[derive(Clone, Copy, Debug)]
pub struct Question(usize);

/// The answers to all queries.
#[derive(Clone, Debug)]
pub struct Answers(Vec<Option<(ObjectId, Vec<u8>)>>);

impl Questions {
    pub fn new() -> Questions {
        Questions::default()
    }

    /// The commit of a revision such as `main`, `v1.0` or `HEAD~2`.
    pub fn commit(&mut self, revision: &str) -> Question {
        self.push(Line { text: format!("info {revision}^{{commit}}"), with_content: false })
    }

    /// The content of a file that a revision has.
    pub fn file(&mut self, revision: &str, path: &str) -> Question {
        self.push(Line { text: format!("contents {revision}:{path}"), with_content: true })
    }

    fn push(&mut self, line: Line) -> Question {
        self.lines.push(line);
        Question(self.lines.len() - 1)
    }
}

impl Answers {
    /// `None` if the revision leads to no commit.
    pub fn commit(&self, question: Question) -> Option<CommitId> {
        self.0[question.0].as_ref().map(|(id, _)| CommitId::of_object(id.clone()))
    }

    /// `None` if there is no such file.
    pub fn file(&self, question: Question) -> Option<&[u8]> {
        self.0[question.0].as_ref().map(|(_, content)| content.as_slice())
    }
}

/// Objects that one commit has and another has not.
#[derive(Clone, Debug)]
pub struct NewObjects {
    pub ids: Vec<ObjectId>,
    /// Number of files that were left out because of their size.
    pub large: u64,
}

impl Repo {
    /// Objects with their contents. A missing object is an error when the iteration reaches it.
    pub async fn read_objects(&self, ids: &[ObjectId]) -> Result<Objects, GitError> {
        let input: Vec<u8> = ids.iter().flat_map(|id| [id.as_str().as_bytes(), b"\n"].concat()).collect();
        let output = self.git().args(["cat-file", "--batch", "--buffer"]).input(input).run().await?;
        Ok(Objects { bytes: output.stdout })
    }

    /// Answers all queries at once. A missing revision or file has no answer. git fails as a whole for some revisions, such as the
    /// upstream of a branch that has none.
    pub async fn ask(&self, questions: Questions) -> Result<Answers, GitError> {
        // A line break would make two queries of one.
        let is_asked = |line: &Line| !line.text.contains('\n');
        let asked = questions.lines.iter().filter(|line| is_asked(line));
        let input: String = asked.map(|line| format!("{}\n", line.text)).collect();
        let output = self.git().args(["cat-file", "--batch-command"]).input(input).run().await?;
        let mut reader = Reader { rest: &output.stdout };
        let mut answers = Vec::new();
        for line in &questions.lines {
            let object = if is_asked(line) { reader.next(line.with_content)? } else { None };
            let fits = object.filter(|object| !line.with_content || object.kind == "blob");
            let answer = fits.map(|object| Ok((ObjectId::parse(object.id)?, object.content.to_vec())));
            answers.push(answer.transpose()?);
        }
        Ok(Answers(answers))
    }

    /// The content of a file of a tree; `None` if it has no such file.
    pub async fn read_file(&self, tree: &impl Treeish, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let object = format!("{}:{path}", tree.name());
        let output = self.git().args(["cat-file", "blob", &object]).output().await?;
        Ok((output.code == 0).then_some(output.stdout))
    }

    /// The content of a file. Fails if it does not exist.
    pub async fn read_blob(&self, blob: &ObjectId) -> Result<Vec<u8>, GitError> {
        Ok(self.git().args(["cat-file", "blob", blob.as_str()]).run().await?.stdout)
    }

    /// git's line about each object, in the requested order: its kind, or a text that ends with `missing`.
    async fn kinds(&self, ids: &[&str]) -> Result<Vec<String>, GitError> {
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let text = self.git().args(["cat-file", "--batch-check=%(objecttype)"]).input(input).line().await?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    /// Those of `objects` that the repository has.
    pub async fn present<T: AnyObject + Clone>(&self, objects: &[T]) -> Result<Vec<T>, GitError> {
        let kinds = self.kinds(&objects.iter().map(Named::name).collect::<Vec<_>>()).await?;
        let there = objects.iter().zip(kinds).filter(|(_, kind)| !kind.ends_with(" missing"));
        Ok(there.map(|(object, _)| object.clone()).collect())
    }

    /// Those of `commits` that the repository has, as commits.
    pub async fn present_commits(&self, commits: &[CommitId]) -> Result<Vec<CommitId>, GitError> {
        let kinds = self.kinds(&commits.iter().map(Named::name).collect::<Vec<_>>()).await?;
        let there = commits.iter().zip(kinds).filter(|(_, kind)| kind == "commit");
        Ok(there.map(|(commit, _)| commit.clone()).collect())
    }

    /// All objects that `commit` has and `without` has not. Files of at least `large` bytes are only counted.
    pub async fn new_objects(&self, commit: &CommitId, without: &CommitId, large: u64) -> Result<NewObjects, GitError> {
        let limit = format!("--filter=blob:limit={large}");
        let args = ["rev-list", "--objects", "--no-object-names", &limit, "--filter-print-omitted"];
        let exclude = format!("^{without}");
        let output = self.git().args(args).args([commit.as_str(), &exclude]).run().await?;
        let mut found = NewObjects { ids: Vec::new(), large: 0 };
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            match line.starts_with('~') {
                true => found.large += 1,
                false => found.ids.push(ObjectId::parse(line)?),
            }
        }
        Ok(found)
    }

    /// Objects of `commit` that no ref reaches, without files of more than `most` bytes.
    pub async fn small_unreached(&self, commit: &CommitId, most: u64) -> Result<Objects, GitError> {
        let limit = format!("--filter=blob:limit={}", most + 1);
        let args = ["rev-list", "--objects", "--no-object-names", &limit, commit.as_str(), "--not", "--all"];
        let listed = self.git().args(args).line().await?;
        let ids: Vec<ObjectId> = listed.lines().map(ObjectId::parse).collect::<Result<_, _>>()?;
        self.read_objects(&ids).await
    }

    /// The size of the largest object of `commit` that no ref reaches; `None` if there is none. Fails if one of these objects does not
    /// exist.
    pub async fn largest_unreached(&self, commit: &CommitId) -> Result<Option<u64>, GitError> {
        let args = ["rev-list", "--objects", "--no-object-names", commit.as_str(), "--not", "--all"];
        let (all, sizes) = (self.git().args(args), self.git());
        let sizes = sizes.args(["cat-file", "--batch-check=%(objectsize)", "--buffer"]);
        let (all, sizes) = piped(all, sizes).await;
        all?;
        let sizes = sizes?.line();
        Ok(sizes.lines().map(|size| size.parse().unwrap_or(u64::MAX)).max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Objects {
        Objects { bytes: text.replace("ID", &"0a".repeat(20)).into_bytes() }
    }

    #[test]
    fn objects_are_read_one_after_the_other() {
        let objects = of("ID blob 3\na\nb\nID commit 0\n\n");
        let read: Vec<(&str, &[u8])> =
            objects.iter().map(|object| object.map(|object| (object.kind, object.content)).unwrap()).collect();
        assert_eq!(read, [("blob", &b"a\nb"[..]), ("commit", b"")]);
    }

    #[test]
    fn what_is_cut_or_missing_is_an_error_and_the_end() {
        for bad in ["ID blob 9\nabc\n", "ID missing\n", "ID blob", "ID blob x\nabc\n"] {
            let objects = of(&format!("{bad}ID blob 1\na\n"));
            let last = objects.iter().last().unwrap();
            assert!(objects.iter().any(|object| object.is_err()) && last.is_err(), "{bad}");
        }
    }
}

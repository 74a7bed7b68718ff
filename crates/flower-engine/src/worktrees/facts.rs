//! What must be known of a repository before a worktree is made, asked of git at once.

use crate::settings::Settings;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Main;
use flower_git::repository::Repository;
use flower_jail::Network;
use std::fs;

#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// MAIN's branch; the one it is on if none is called `main` or `master`.
    pub(crate) main_branch: String,
    /// The recorded tip, once MAIN is recorded.
    pub(crate) main_tip: String,
    /// The commit to begin at, and how it was named.
    pub(crate) base: String,
    pub(crate) from: String,
    /// A branch `flower`, which leaves no room for `flower/…`.
    pub(crate) blocked: bool,
    /// Where the worktree's branch stands, if it is there already.
    pub(crate) branch: Option<String>,
    pub(crate) settings: Settings,
    /// What is wrong with the `flower.toml` of MAIN's tip, where an earlier version is in force.
    pub(crate) settings_problem: Option<SettingsProblem>,
    pub(crate) attributes: String,
    pub(crate) submodules: String,
}

impl Facts {
    /// Of `from`, or of MAIN if that is `None`. Where MAIN is recorded, the recorded tip counts, not where its branch may
    /// have been moved by hand: that commit has passed no check.
    pub(super) async fn gather(
        repository: &Repository,
        main: Option<&Main>,
        from: Option<&str>,
        branch: &str,
    ) -> Result<Facts, Problem> {
        let names = match main {
            Some(main) => vec![(main.tip.clone(), main.branch.clone())],
            None => likely_mains(repository),
        };
        let mut questions = Questions::default();
        let settings: Vec<_> = names.iter().map(|(name, _)| questions.content(name, "flower.toml")).collect();
        let mains: Vec<_> = names.iter().map(|(name, _)| questions.commit(name)).collect();
        let blocked = questions.commit("refs/heads/flower");
        let own = questions.commit(&format!("refs/heads/{branch}"));
        let given = from.map(|from| flower_core::text::line("base", from, 250)).transpose()?;
        let bases: Vec<Base> =
            names.iter().map(|(name, _)| name).chain(&given).map(|name| questions.base(name)).collect();
        let no_such = |from: &str| {
            Problem::new(
                ProblemKind::NotFound,
                format!("`{from}` is no commit, branch or tag of {}", repository.root.display()),
                "`git branch -a` and `git tag` list what there is",
            )
        };
        let answers = match (questions.ask(repository).await, &given) {
            // Over some names, as of an upstream that is not set, git gives up altogether.
            (Err(problem), Some(given)) if problem.kind == ProblemKind::Refused => return Err(no_such(given)),
            (answers, _) => answers?,
        };

        let Some(found) = mains.iter().position(|&main| answers.get(main).is_some()) else {
            return Err(no_main(repository, main));
        };
        let mut main_branch = names[found].1.clone();
        let mut main_tip = answers.get(mains[found]).unwrap_or_default().to_owned();
        let in_force = InForce::of(repository, &main_tip, &answers.text(settings[found])).await?;
        let mut seen = answers.base(if given.is_some() { &bases[names.len()] } else { &bases[found] });
        if let (None, Some(named)) = (main, &in_force.settings.project.main) {
            main_branch = flower_core::text::line("branch", named, 250)?;
            let mut questions = Questions::default();
            let base = questions.base(&format!("refs/heads/{main_branch}"));
            let answers = questions.ask(repository).await?;
            let Some(tip) = answers.get(base.commit) else {
                return Err(Problem::new(
                    ProblemKind::Refused,
                    format!("flower.toml calls `{named}` MAIN's branch, but there is none"),
                    "mend `[project] main` in flower.toml",
                ));
            };
            tip.clone_into(&mut main_tip);
            if given.is_none() {
                seen = answers.base(&base);
            }
        }
        let from = given.unwrap_or_else(|| main_branch.clone());
        let Some((commit, attributes, submodules)) = seen else {
            return Err(no_such(&from));
        };
        Ok(Facts {
            main_branch,
            main_tip,
            base: commit,
            from,
            blocked: answers.get(blocked).is_some(),
            branch: answers.get(own).map(str::to_owned),
            settings: in_force.settings,
            settings_problem: in_force.problem,
            attributes,
            submodules,
        })
    }
}

/// Refs that may be MAIN of a repository that has not been looked at yet, each with the name of its branch.
fn likely_mains(repository: &Repository) -> Vec<(String, String)> {
    let head = head_branch(repository);
    let names: Vec<&str> = ["main", "master"].into_iter().chain(head.as_deref()).collect();
    let mut mains: Vec<_> = names.iter().map(|name| (format!("refs/heads/{name}"), (*name).to_owned())).collect();
    mains.push(("HEAD".to_owned(), "HEAD".to_owned()));
    mains
}

fn no_main(repository: &Repository, main: Option<&Main>) -> Problem {
    let root = repository.root.display();
    match main {
        None => Problem::new(
            ProblemKind::Refused,
            format!("{root} has no commits yet"),
            "make the first one: `git add -A`, then `git commit -m \"first\"`",
        ),
        Some(main) => Problem::new(
            ProblemKind::Refused,
            format!("{root} does not have the commit {} that MAIN stood at", main.tip),
            "bring it back, for instance with `git fetch`; `flower log export` lists every landing",
        ),
    }
}

/// The settings that count, and what is wrong with those of MAIN's tip if they are older ones.
struct InForce {
    settings: Settings,
    problem: Option<SettingsProblem>,
}

/// A `flower.toml` in MAIN that cannot be read: it came by another way than a landing, or from an older flower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsProblem {
    pub(crate) why: String,
    /// The commit whose version is in force; without one there are no checks, and nothing lands unasked.
    pub(crate) in_force: Option<String>,
}

impl SettingsProblem {
    pub(crate) fn in_words(&self) -> String {
        let next = "correct it in a worktree and land that; it waits for your approval";
        match &self.in_force {
            Some(commit) => {
                let commit = commit.get(..12).unwrap_or(commit);
                format!("{}; the version of {commit} stays in force; {next}", self.why)
            }
            None => format!("{}; no earlier version is valid, so every landing waits for you; {next}", self.why),
        }
    }
}

impl InForce {
    /// The newest valid version on MAIN's first-parent history.
    async fn of(repository: &Repository, tip: &str, text: &str) -> Result<InForce, Problem> {
        /// Versions that are tried.
        const MOST_VERSIONS: &str = "--max-count=20";
        let why = match Settings::parse(text) {
            Ok(settings) => return Ok(InForce { settings, problem: None }),
            Err(problem) => problem.message,
        };
        let args =
            ["log", "--first-parent", MOST_VERSIONS, "--format=%H", "--end-of-options", tip, "--", "flower.toml"];
        let commits = flower_git::in_main(repository).args(args).line().await?;
        for commit in commits.lines() {
            let mut questions = Questions::default();
            let question = questions.content(commit, "flower.toml");
            // One that deleted the file is no version of it.
            let Some((_, content)) = questions.ask(repository).await?.0.swap_remove(question) else { continue };
            if let Ok(settings) = Settings::parse(&String::from_utf8_lossy(&content)) {
                let problem = Some(SettingsProblem { why, in_force: Some(commit.to_owned()) });
                return Ok(InForce { settings, problem });
            }
        }
        // What the file was to keep away from the network is not known, so nothing reaches it.
        let mut settings = Settings::default();
        settings.worktree.network = Some(Network::Closed);
        Ok(InForce { settings, problem: Some(SettingsProblem { why, in_force: None }) })
    }
}

/// The branch that MAIN's checkout is on, unless it is on none.
pub(crate) fn head_branch(repository: &Repository) -> Option<String> {
    let head = fs::read_to_string(repository.git_dir.join("HEAD")).ok()?;
    head.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// Questions to one `git cat-file`, which takes them from its standard input, so that no name is taken for an option.
#[derive(Default)]
struct Questions {
    lines: Vec<String>,
}

/// The questions about a commit to begin at.
struct Base {
    commit: usize,
    attributes: usize,
    submodules: usize,
}

struct Answers(Vec<Option<(String, Vec<u8>)>>);

impl Questions {
    fn commit(&mut self, name: &str) -> usize {
        self.push(format!("info {name}^{{commit}}"))
    }

    fn content(&mut self, name: &str, path: &str) -> usize {
        self.push(format!("contents {name}:{path}"))
    }

    fn base(&mut self, name: &str) -> Base {
        Base {
            commit: self.commit(name),
            attributes: self.content(name, ".gitattributes"),
            submodules: self.content(name, ".gitmodules"),
        }
    }

    fn push(&mut self, line: String) -> usize {
        self.lines.push(line);
        self.lines.len() - 1
    }

    async fn ask(self, repository: &Repository) -> Result<Answers, Problem> {
        let mut input = self.lines.join("\n");
        input.push('\n');
        let output = flower_git::in_main(repository).args(["cat-file", "--batch-command"]).input(input).run().await?;
        let mut rest = output.stdout.as_slice();
        let mut answers = Vec::new();
        for line in &self.lines {
            let end = rest.iter().position(|&byte| byte == b'\n').ok_or_else(|| Problem::bug("git's answer is cut"))?;
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            rest = &rest[end + 1..];
            let words: Vec<&str> = head.rsplitn(3, ' ').collect();
            let (size, sort, id) = match words.as_slice() {
                [size, sort, id] if size.bytes().all(|b| b.is_ascii_digit()) => (size, *sort, *id),
                _ => {
                    answers.push(None);
                    continue;
                }
            };
            let mut content = Vec::new();
            if line.starts_with("contents ") {
                let size: usize = size.parse().map_err(|_| Problem::bug("git's answer has no size"))?;
                content = rest.get(..size).ok_or_else(|| Problem::bug("git's answer is cut"))?.to_vec();
                rest = rest.get(size + 1..).unwrap_or_default();
            }
            let is_file = line.starts_with("info ") || sort == "blob";
            answers.push(is_file.then(|| (id.to_owned(), content)));
        }
        Ok(Answers(answers))
    }
}

impl Answers {
    /// The object's id.
    fn get(&self, question: usize) -> Option<&str> {
        self.0[question].as_ref().map(|(id, _)| id.as_str())
    }

    fn base(&self, base: &Base) -> Option<(String, String, String)> {
        Some((self.get(base.commit)?.to_owned(), self.text(base.attributes), self.text(base.submodules)))
    }

    fn text(&self, question: usize) -> String {
        self.0[question].as_ref().map_or_else(String::new, |(_, content)| String::from_utf8_lossy(content).into_owned())
    }
}

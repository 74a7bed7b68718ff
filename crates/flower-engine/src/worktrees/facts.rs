//! What must be known of a repository before a worktree is made, asked of git at once.

use crate::settings::Settings;
use flower_contract::error::{Problem, ProblemKind};
use flower_core::Main;
use flower_git::repository::Repository;
use flower_git::{Answers, CommitId, Question, Questions, Repo};
use flower_jail::Network;
use std::fs;

#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// MAIN's branch; the one it is on if none is called `main` or `master`.
    pub(crate) main_branch: String,
    /// The recorded tip, once MAIN is recorded.
    pub(crate) main_tip: CommitId,
    /// The commit to begin at, and how it was named.
    pub(crate) base: CommitId,
    pub(crate) from: String,
    /// A branch `flower`, which leaves no room for `flower/…`.
    pub(crate) blocked: bool,
    /// Where the worktree's branch stands, if it is there already.
    pub(crate) branch: Option<CommitId>,
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
        let mut questions = Questions::new();
        let settings: Vec<_> = names.iter().map(|(name, _)| questions.file(name, "flower.toml")).collect();
        let mains: Vec<_> = names.iter().map(|(name, _)| questions.commit(name)).collect();
        let blocked = questions.commit("refs/heads/flower");
        let own = questions.commit(&format!("refs/heads/{branch}"));
        let given = from.map(|from| flower_core::text::line("base", from, 250)).transpose()?;
        let bases: Vec<Base> =
            names.iter().map(|(name, _)| name).chain(&given).map(|name| Base::ask(&mut questions, name)).collect();
        let no_such = |from: &str| {
            Problem::new(
                ProblemKind::NotFound,
                format!("`{from}` is no commit, branch or tag of {}", repository.root.display()),
                "`git branch -a` and `git tag` list what there is",
            )
        };
        let repo = Repo::main(repository);
        let answers = match (repo.ask(questions).await.map_err(Problem::from), &given) {
            // Over some names, as of an upstream that is not set, git gives up altogether.
            (Err(problem), Some(given)) if problem.kind == ProblemKind::Refused => return Err(no_such(given)),
            (answers, _) => answers?,
        };

        let tips = mains.iter().map(|&main| answers.commit(main)).enumerate();
        let Some((found, mut main_tip)) = tips.into_iter().find_map(|(at, tip)| Some((at, tip?))) else {
            return Err(no_main(repository, main));
        };
        let mut main_branch = names[found].1.clone();
        let in_force = InForce::of(&repo, &main_tip, &text(&answers, settings[found])).await?;
        let mut seen = (if given.is_some() { &bases[names.len()] } else { &bases[found] }).answer(&answers);
        if let (None, Some(named)) = (main, &in_force.settings.project.main) {
            main_branch = flower_core::text::line("branch", named, 250)?;
            let mut questions = Questions::new();
            let base = Base::ask(&mut questions, &format!("refs/heads/{main_branch}"));
            let answers = repo.ask(questions).await?;
            let Some(tip) = answers.commit(base.commit) else {
                return Err(Problem::new(
                    ProblemKind::Refused,
                    format!("flower.toml calls `{named}` MAIN's branch, but there is none"),
                    "mend `[project] main` in flower.toml",
                ));
            };
            main_tip = tip;
            if given.is_none() {
                seen = base.answer(&answers);
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
            blocked: answers.commit(blocked).is_some(),
            branch: answers.commit(own),
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
    pub(crate) in_force: Option<CommitId>,
}

impl SettingsProblem {
    pub(crate) fn in_words(&self) -> String {
        let next = "correct it in a worktree and land that; it waits for your approval";
        match &self.in_force {
            Some(commit) => {
                format!("{}; the version of {} stays in force; {next}", self.why, commit.short())
            }
            None => format!("{}; no earlier version is valid, so every landing waits for you; {next}", self.why),
        }
    }
}

impl InForce {
    /// The newest valid version on MAIN's first-parent history.
    async fn of(repo: &Repo, tip: &CommitId, text: &str) -> Result<InForce, Problem> {
        /// Versions that are tried.
        const MOST_VERSIONS: u64 = 20;
        let why = match Settings::parse(text) {
            Ok(settings) => return Ok(InForce { settings, problem: None }),
            Err(problem) => problem.message,
        };
        for commit in repo.commits_touching(tip, None, &["flower.toml".as_ref()], MOST_VERSIONS).await? {
            // One that deleted the file is no version of it.
            let Some(content) = repo.read_file(&commit, "flower.toml").await? else { continue };
            if let Ok(settings) = Settings::parse(&String::from_utf8_lossy(&content)) {
                let problem = Some(SettingsProblem { why, in_force: Some(commit) });
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

/// The questions about a commit to begin at.
struct Base {
    commit: Question,
    attributes: Question,
    submodules: Question,
}

impl Base {
    fn ask(questions: &mut Questions, name: &str) -> Base {
        Base {
            commit: questions.commit(name),
            attributes: questions.file(name, ".gitattributes"),
            submodules: questions.file(name, ".gitmodules"),
        }
    }

    /// The commit, and the text of both files.
    fn answer(&self, answers: &Answers) -> Option<(CommitId, String, String)> {
        Some((answers.commit(self.commit)?, text(answers, self.attributes), text(answers, self.submodules)))
    }
}

/// The text of a file; none if there is no such file.
fn text(answers: &Answers, question: Question) -> String {
    answers.file(question).map_or_else(String::new, |content| String::from_utf8_lossy(content).into_owned())
}

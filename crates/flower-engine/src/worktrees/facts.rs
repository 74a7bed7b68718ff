//! What flower needs to know about a repository, read from git in one batch.

use super::partial::may_be_partial;
use crate::settings::Settings;
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::NetworkMode;
use flower_core::Main;
use flower_git::repository::Repository;
use flower_git::{Answers, CommitId, Question, Questions, Repo};
use std::fs;

#[derive(Clone, Debug)]
pub(crate) struct Facts {
    /// MAIN's branch. Unless it is recorded or configured: `main`, `master`, or the branch that is checked out.
    pub(crate) main_branch: String,
    /// The recorded tip, once MAIN is recorded.
    pub(crate) main_tip: CommitId,
    /// The commit that a worktree begins at, and the name by which it was given.
    pub(crate) base: CommitId,
    pub(crate) from: String,
    /// A branch `flower`, which leaves no room for `flower/…`.
    pub(crate) blocked: bool,
    /// The tip of the worktree's branch, if it exists already.
    pub(crate) branch: Option<CommitId>,
    pub(crate) settings: Settings,
    /// What is wrong with the `flower.toml` of MAIN's tip, if an earlier version is in force.
    pub(crate) settings_problem: Option<SettingsProblem>,
    pub(crate) attributes: String,
    pub(crate) submodules: String,
}

impl Facts {
    /// Reads the facts, with `from` or MAIN as the base. Of a recorded MAIN the recorded tip counts: its branch may have been moved by
    /// hand to a commit that has passed no check.
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
            // git fails as a whole for some names, such as `@{u}` without an upstream.
            (Err(problem), Some(given)) if problem.kind == ProblemKind::Refused => return Err(no_such(given)),
            (answers, _) => answers?,
        };

        let tips = mains.iter().map(|&main| answers.commit(main)).enumerate();
        let Some((found, mut main_tip)) = tips.into_iter().find_map(|(at, tip)| Some((at, tip?))) else {
            return Err(no_main(repository, main));
        };
        let mut main_branch = names[found].1.clone();
        let in_force = SettingsInForce::of(repository, &main_tip, &text(&answers, settings[found])).await?;
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

/// Refs that may be MAIN of a repository without a recorded MAIN, each with the name of its branch.
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

/// The settings in force, and what is wrong with the `flower.toml` of MAIN's tip if they are older.
struct SettingsInForce {
    settings: Settings,
    problem: Option<SettingsProblem>,
}

/// A `flower.toml` in MAIN that cannot be read. It did not come by a landing, or was written for an older flower.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SettingsProblem {
    pub(crate) why: String,
    /// The commit whose version is in force. Without one there are no checks, and every landing needs approval.
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

impl SettingsInForce {
    /// The newest valid version on MAIN's first-parent history.
    async fn of(repository: &Repository, tip: &CommitId, text: &str) -> Result<SettingsInForce, Problem> {
        /// Older versions that are tried.
        const MAX_VERSIONS: u64 = 20;
        let repo = &Repo::main(repository);
        let why = match Settings::parse(text) {
            // A file that is only at a remote looks like one that does not exist.
            Ok(_) if text.is_empty() && may_be_partial(repository) && is_missing(repo, tip).await? => {
                return Ok(SettingsInForce::closed(
                    "flower.toml of MAIN is only at the remote of this partial clone".into(),
                ));
            }
            Ok(settings) => return Ok(SettingsInForce { settings, problem: None }),
            Err(problem) => problem.message,
        };
        for commit in repo.commits_touching(tip, None, &["flower.toml".as_ref()], MAX_VERSIONS).await? {
            // This commit deleted the file.
            let Some(content) = repo.read_file(&commit, "flower.toml").await? else { continue };
            if let Ok(settings) = Settings::parse(&String::from_utf8_lossy(&content)) {
                let problem = Some(SettingsProblem { why, in_force: Some(commit) });
                return Ok(SettingsInForce { settings, problem });
            }
        }
        Ok(SettingsInForce::closed(why))
    }

    /// Without any settings. The file may have closed the network, so it is closed.
    fn closed(why: String) -> SettingsInForce {
        let mut settings = Settings::default();
        settings.worktree.network = Some(NetworkMode::Closed);
        SettingsInForce { settings, problem: Some(SettingsProblem { why, in_force: None }) }
    }
}

/// Whether MAIN's tip has a `flower.toml` whose content is not here.
async fn is_missing(repo: &Repo, tip: &CommitId) -> Result<bool, Problem> {
    let listed = repo.list_path(tip, "flower.toml").await?;
    let Some(entry) = listed.entries().next() else { return Ok(false) };
    Ok(repo.present(&[entry.object()?]).await?.is_empty())
}

/// The branch that is checked out in MAIN. `None` if HEAD is detached.
pub(crate) fn head_branch(repository: &Repository) -> Option<String> {
    let head = fs::read_to_string(repository.git_dir.join("HEAD")).ok()?;
    head.trim_end().strip_prefix("ref: refs/heads/").map(str::to_owned)
}

/// The queries about a commit that a worktree can begin at.
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

/// The text of a file; empty if it does not exist.
fn text(answers: &Answers, question: Question) -> String {
    answers.file(question).map_or_else(String::new, |content| String::from_utf8_lossy(content).into_owned())
}

//! `flower worktree` without a verb

use crate::cli::Context;
use crate::cli::output::{Cell, Style, Table, plain, terminal_width};
use flower_contract::error::Problem;
use flower_contract::view::{ProtectionLevel, WorktreeState, WorktreeView};

pub(super) async fn run(context: &Context) -> Result<(), Problem> {
    let client = context.client().await?;
    let worktrees: Vec<WorktreeView> = client.get(&format!("/api/worktrees?{}", context.project_query())).await?;
    context.answer(&worktrees, |worktrees| render(worktrees, context.style))
}

fn render(worktrees: &[WorktreeView], style: Style) -> String {
    if worktrees.is_empty() {
        return "no worktrees yet; make one: `flower worktree new NAME`\n".to_owned();
    }
    let mut table = Table::new(&["NAME", "STATE", "BRIEF", "COMMITS", "FILES", "SEAL", "PATH"], 6);
    for w in worktrees {
        let files = if w.dirty { "changed" } else { "clean" };
        table.row(vec![
            Cell::painted(w.name.clone(), style.bold(&w.name)),
            Cell::painted(w.state.as_str(), state(w, style)),
            w.briefs.iter().map(|brief| format!("#{brief}")).collect::<Vec<_>>().join(" ").into(),
            commits(w).into(),
            Cell::painted(files, if w.dirty { style.mark(files) } else { style.dim(files) }),
            Cell::painted(seal(w), protection(w, style)),
            w.path.clone().into(),
        ]);
    }
    let notes = worktrees.iter().flat_map(|w| w.notes.iter().map(move |note| format!("{}: {}\n", w.name, plain(note))));
    let differs = worktrees.iter().any(|w| w.ahead > 0 || w.behind > 0);
    let legend = if differs { "COMMITS: + only in the worktree, - only in MAIN\n" } else { "" };
    table.render(style, terminal_width()) + &style.dim(legend) + &notes.collect::<String>()
}

/// `+2 -1`: two commits that MAIN does not have, and one of MAIN's that the worktree does not have.
fn commits(w: &WorktreeView) -> String {
    match (w.ahead, w.behind) {
        (0, 0) => "–".to_owned(),
        (ahead, 0) => format!("+{ahead}"),
        (0, behind) => format!("-{behind}"),
        (ahead, behind) => format!("+{ahead} -{behind}"),
    }
}

pub(super) fn state(w: &WorktreeView, style: Style) -> String {
    let word = w.state.as_str();
    match w.state {
        WorktreeState::Ready => style.good(word),
        WorktreeState::Missing | WorktreeState::Unknown => style.bad(word),
        WorktreeState::Creating
        | WorktreeState::Removing
        | WorktreeState::Removed
        | WorktreeState::Restoring
        | WorktreeState::Failed => style.dim(word),
    }
}

fn seal(w: &WorktreeView) -> String {
    match w.protection {
        ProtectionLevel::Kernel => w.seal.to_string(),
        ProtectionLevel::None => "unprotected".to_owned(),
        ProtectionLevel::Watched => format!("{}, {}", w.seal, w.protection),
    }
}

pub(super) fn protection(w: &WorktreeView, style: Style) -> String {
    match w.protection {
        ProtectionLevel::Kernel => style.good(&seal(w)),
        ProtectionLevel::Watched => style.mark(&seal(w)),
        ProtectionLevel::None => style.bad(&seal(w)),
    }
}

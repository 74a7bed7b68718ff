//! `flower worktree open`

use crate::cli::{Context, editor};
use flower_contract::error::{Problem, ProblemKind};
use flower_contract::view::WorktreeView;

/// Open the directory of a worktree in your editor
///
/// The editor is the command in FLOWER_EDITOR, `editor` in config.toml of FLOWER_HOME, VISUAL or EDITOR, otherwise the first of
/// some well-known editors that is installed. It runs as you, outside of the seal: what its extensions and tasks start from
/// the files of the worktree is not jailed.
#[derive(clap::Args)]
pub(crate) struct OpenArgs {
    /// The name of the worktree; by default the one of the working directory
    #[arg(value_parser = clap::builder::NonEmptyStringValueParser::new())]
    name: Option<String>,
}

pub(super) async fn run(context: &Context, args: &OpenArgs) -> Result<(), Problem> {
    let name = context.worktree(args.name.as_deref())?;
    if context.remote()?.is_some() {
        return Err(Problem::new(
            ProblemKind::Refused,
            "the directory is on the machine of the daemon, and FLOWER_URL names another machine",
            "run this command there",
        ));
    }
    let worktree: WorktreeView = context.client().await?.get(&super::address(context, &name, "")).await?;
    let editor = editor::command(&context.home)?;
    editor::open(&editor, worktree.path.as_ref())?;
    context.answer(&serde_json::json!({ "path": worktree.path, "editor": editor }), |_| {
        format!("opened {} with `{editor}`\n", worktree.path)
    })
}

//! The operator's editor, for worktrees and for texts.

use flower_contract::error::{Problem, ProblemKind};
use flower_engine::home::{Home, random_hex};
use flower_engine::profiles::config::Config;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Editors that open a folder, tried if none is named.
const KNOWN: [&str; 10] = ["code", "codium", "cursor", "zed", "zeditor", "subl", "hx", "nvim", "vim", "vi"];

/// The command of the operator's editor: FLOWER_EDITOR, `editor` of config.toml, VISUAL, EDITOR, or one that is installed.
pub fn command(home: &Home) -> Result<String, Problem> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    if let Some(editor) = named("FLOWER_EDITOR") {
        return Ok(editor);
    }
    if let Some(editor) = Config::load(home)?.editor {
        return Ok(editor);
    }
    named("VISUAL").or_else(|| named("EDITOR")).or_else(installed).ok_or_else(|| Problem {
        kind: ProblemKind::NotFound,
        message: format!("no editor is named, and none of {} is installed", KNOWN.join(", ")),
        hints: vec![
            "name one: `export EDITOR=…`, or `editor = \"…\"` at the top of config.toml in FLOWER_HOME".to_owned(),
        ],
    })
}

fn installed() -> Option<String> {
    let path = std::env::var_os("PATH")?;
    let has = |name: &&&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    KNOWN.iter().find(has).map(|name| (*name).to_owned())
}

/// Opens a folder, which is the editor's working directory too, and waits until the editor's command has ended.
pub fn open(editor: &str, folder: &Path) -> Result<(), Problem> {
    require_success(editor, start(editor, folder, Some(folder)))
}

/// Opens the text in the operator's editor, and returns the result. `ending` is that of the file's name.
pub fn edit(home: &Home, text: &str, ending: &str) -> Result<String, Problem> {
    let editor = command(home)?;
    let path = std::env::temp_dir().join(format!("flower-{}.{ending}", &random_hex()[..16]));
    let cannot = |error: std::io::Error| {
        let message = format!("{} cannot be edited: {error}", path.display());
        Problem::new(ProblemKind::Refused, message, "set VISUAL or EDITOR")
    };
    let written = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    let edited = written
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(cannot)
        .and_then(|()| require_success(&editor, start(&editor, &path, None)))
        .and_then(|()| std::fs::read_to_string(&path).map_err(cannot));
    let _ = std::fs::remove_file(&path);
    edited
}

fn start(editor: &str, path: &Path, dir: Option<&Path>) -> std::io::Result<ExitStatus> {
    // Through a shell: the command may contain options, as in `code --wait`.
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", &format!("{editor} \"$1\""), "sh"]).arg(path);
    if let Some(dir) = dir {
        shell.current_dir(dir);
    }
    shell.status()
}

fn require_success(editor: &str, ended: std::io::Result<ExitStatus>) -> Result<(), Problem> {
    let why = match ended {
        Ok(status) if status.success() => return Ok(()),
        Ok(status) if status.code() == Some(127) => "it was not found".to_owned(),
        Ok(status) => format!("it ended with {status}"),
        Err(error) => error.to_string(),
    };
    let hint = "name another: `export FLOWER_EDITOR=…`, or `editor = \"…\"` in config.toml of FLOWER_HOME";
    Err(Problem::new(ProblemKind::Refused, format!("the editor `{editor}` failed: {why}"), hint))
}

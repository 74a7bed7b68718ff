//! `flower completions`

use crate::cli::{Context, command};
use clap_complete::Shell;
use flower_contract::error::Problem;

/// Print a completion script for a shell; bash, zsh and fish also complete names of worktrees, briefs, agents and so on
#[derive(clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn run(context: &Context, args: &CompletionsArgs) -> Result<(), Problem> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command(), "flower", &mut script);
    script.extend_from_slice(live_names(args.shell).as_bytes());
    context.print_bytes(&script)
}

/// Lines that add the names that exist now, from `flower complete`, to the commands and options of the script.
fn live_names(shell: Shell) -> &'static str {
    match shell {
        Shell::Bash => BASH,
        Shell::Zsh => ZSH,
        Shell::Fish => FISH,
        _ => "",
    }
}

const BASH: &str = r#"
_flower_live() {
    _flower "$@"
    local word="${COMP_WORDS[COMP_CWORD]}"
    [[ $word == -* ]] && return
    local names
    names="$(flower complete -- "${COMP_WORDS[@]:1:COMP_CWORD-1}" 2>/dev/null)"
    [[ -n $names ]] && COMPREPLY+=($(compgen -W "$names" -- "$word"))
}
complete -F _flower_live -o bashdefault -o default flower
"#;

const ZSH: &str = r#"
_flower_live() {
    local -a names
    names=(${(f)"$(flower complete -- ${words[2,CURRENT-1]} 2>/dev/null)"})
    [[ ${words[CURRENT]} != -* ]] && (( ${#names} )) && compadd -a names
    _flower "$@"
}
compdef _flower_live flower
"#;

const FISH: &str = r#"
complete -c flower -f -n 'not string match -q -- "-*" (commandline -ct)' -a '(flower complete -- (commandline -opc)[2..] 2>/dev/null)'
"#;

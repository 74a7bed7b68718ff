//! `docs/cli.md` is the help of every command, as one page.

use clap::{Arg, Command};
use std::fmt::Write;

#[test]
fn the_stored_reference_is_the_help_of_the_commands() {
    let mut root = super::command();
    root.build();
    let mut page = String::from(
        "# flower on the command line\n\n\
         Generated from the help of the commands: `FLOWER_UPDATE=1 cargo nextest run -p flower --bin flower reference`.\n\n",
    );
    let _ = writeln!(page, "{}.\n", about(&root));
    if let Some(text) = root.get_after_help() {
        let _ = writeln!(page, "```text\n{text}\n```\n");
    }
    page.push_str("Every command takes these options:\n\n");
    for option in root.get_arguments().filter(|arg| arg.is_global_set()) {
        page.push_str(&item(option));
    }
    page.push_str("\n## Commands\n\n");
    let mut commands = Vec::new();
    collect(&root, "flower", &mut commands);
    for (name, command) in &commands {
        let indent = "  ".repeat(name.split(' ').count() - 2);
        let _ = writeln!(page, "{indent}- [`{name}`](#{}) {}", name.replace(' ', "-"), summary(command));
    }
    for (name, command) in commands {
        page.push_str(&section(&name, command));
    }
    crate::generated::check("cli.md", &page);
}

/// All commands below `parent`, in the order of the help.
fn collect<'a>(parent: &'a Command, name: &str, found: &mut Vec<(String, &'a Command)>) {
    for command in parent.get_subcommands().filter(|c| c.get_name() != "help" && !c.is_hide_set()) {
        let name = format!("{name} {}", command.get_name());
        found.push((name.clone(), command));
        collect(command, &name, found);
    }
}

fn section(name: &str, command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage: Vec<&str> = usage.trim_start_matches("Usage:").lines().map(str::trim).collect();
    let mut text = format!("\n## {name}\n\n{}.\n\n```text\n{}\n```\n", about(command), usage.join("\n"));
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help")
        .collect();
    if !own.is_empty() {
        text.push('\n');
        own.iter().filter(|arg| arg.is_positional()).for_each(|arg| text.push_str(&item(arg)));
        own.iter().filter(|arg| !arg.is_positional()).for_each(|arg| text.push_str(&item(arg)));
    }
    text
}

/// `- --kind <K>: what it means`.
fn item(arg: &Arg) -> String {
    let value = match arg.get_value_names() {
        Some(names) if arg.get_action().takes_values() => {
            names.iter().map(|name| format!("<{name}>")).collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    };
    let short = arg.get_short().map_or_else(String::new, |short| format!("-{short}, "));
    let name = match arg.get_long() {
        Some(long) => format!("{short}--{long} {value}"),
        None => value,
    };
    let help = arg.get_long_help().or(arg.get_help()).map_or_else(String::new, ToString::to_string);
    let default: Vec<String> = arg.get_default_values().iter().map(|v| v.to_string_lossy().into_owned()).collect();
    let default = match default.as_slice() {
        [value] if arg.get_action().takes_values() && !arg.is_hide_default_value_set() => {
            format!(" (default: `{value}`)")
        }
        _ => String::new(),
    };
    let help = match choices(arg).as_slice() {
        [] => help,
        choices => format!("{help} {}", choices.join(", ")).trim().to_owned(),
    };
    let help = if help.is_empty() { help } else { format!(": {help}") };
    // Markdown counts a further paragraph to a list item only if it is indented.
    let help = help.replace("\n\n", "\n\n  ");
    format!("- `{}`{help}{default}\n", name.trim())
}

fn choices(arg: &Arg) -> Vec<String> {
    let takes_values = arg.get_action().takes_values();
    arg.get_possible_values().iter().filter(|_| takes_values).map(|value| value.get_name().to_owned()).collect()
}

/// The first line of the help, for lists.
fn summary(command: &Command) -> String {
    command.get_about().map_or_else(String::new, ToString::to_string).trim_end_matches('.').to_owned()
}

/// The whole help, for the section of the command.
fn about(command: &Command) -> String {
    let about = command.get_long_about().or(command.get_about()).map_or_else(String::new, ToString::to_string);
    about.trim_end_matches('.').to_owned()
}

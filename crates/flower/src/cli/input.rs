//! Values of arguments: texts of files or standard input, words of the rules, durations.

use flower_contract::error::{Problem, ProblemKind};
use flower_core::Refusal;
use std::fs::File;
use std::io::{IsTerminal, Read};
use std::str::FromStr;

/// More than the longest text or picture that flower accepts.
const MAX_BYTES: u64 = 16 * 1024 * 1024;

/// The text of a file, or of standard input for `-`.
pub fn text(source: &str) -> Result<String, Problem> {
    let bytes = bytes(source)?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Problem::new(
            ProblemKind::Invalid,
            format!("{} is not UTF-8: invalid byte at position {at}", name(source)),
            "save it as UTF-8 and try again; nothing was stored",
        )
    })
}

/// The argument itself, or standard input for `-`.
pub fn text_or_stdin(given: &str) -> Result<String, Problem> {
    if given == "-" { text("-") } else { Ok(given.to_owned()) }
}

/// Accepts a text that begins with `-`, as a Markdown list does, but not a single word, which is a mistyped option.
pub fn not_an_option(given: &str) -> Result<String, String> {
    if given != "-" && given.starts_with('-') && !given.contains(char::is_whitespace) {
        return Err("this looks like an option; `-` reads the text from standard input".to_owned());
    }
    Ok(given.to_owned())
}

pub fn bytes(source: &str) -> Result<Vec<u8>, Problem> {
    let cannot = |error: std::io::Error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ProblemKind::NotFound,
            _ => ProblemKind::Usage,
        };
        Problem::new(kind, format!("{} cannot be read: {error}", name(source)), "name a file that exists, or `-`")
    };
    let mut bytes = Vec::new();
    let read = if source == "-" {
        if std::io::stdin().is_terminal() {
            eprintln!("reading from the terminal; end with Ctrl-D");
        }
        std::io::stdin().lock().take(MAX_BYTES).read_to_end(&mut bytes)
    } else {
        File::open(source).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes))
    };
    read.map_err(cannot)?;
    if bytes.len() as u64 == MAX_BYTES {
        return Err(Problem::new(ProblemKind::TooLarge, format!("{} is larger than 16 MB", name(source)), "send less"));
    }
    Ok(bytes)
}

fn name(source: &str) -> String {
    if source == "-" { "standard input".to_owned() } else { format!("`{source}`") }
}

/// Parses a duration such as `90s`, `15m` or `2h`.
pub fn duration(given: &str) -> Result<std::time::Duration, String> {
    let seconds = flower_core::boot_time::seconds(given).map(std::time::Duration::from_secs);
    seconds.ok_or_else(|| "give a duration such as `90s`, `15m` or `2h`, up to a day".to_owned())
}

/// Parses the number of a brief, landing or dispatch, written as `9` or as `#9`.
pub fn number(given: &str) -> Result<u64, String> {
    let digits = given.strip_prefix('#').unwrap_or(given);
    digits.parse().map_err(|_| "give a number, such as `9` or `#9`".to_owned())
}

/// Parses a count.
pub fn at_least_one(given: &str) -> Result<u64, String> {
    given.parse().ok().filter(|&count| count > 0).ok_or_else(|| "give a number of at least 1".to_owned())
}

/// Parses a word of the rules, such as a status or a kind. The error names the choices, and the one that was likely meant.
pub fn word<T: FromStr<Err = Refusal>>(given: &str) -> Result<T, String> {
    given.parse().map_err(|refusal| {
        let Refusal::UnknownWord { choices, .. } = refusal else { return refusal.to_string() };
        let distance = |choice: &str| strsim::osa_distance(choice, &given.to_lowercase());
        let nearest = choices.iter().min_by_key(|choice| distance(choice)).filter(|choice| distance(choice) <= 3);
        let hint = nearest.map_or_else(String::new, |choice| format!("did you mean `{choice}`? "));
        format!("{hint}choose one of: {}", choices.join(", "))
    })
}

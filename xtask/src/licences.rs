//! `cargo xtask licences`: every dependency must be usable under a permissive licence.

use serde_json::Value;

use crate::run::{Program, minutes};
use crate::spdx;

pub(crate) const HELP: &str = "\
Check the licences of all dependencies

Usage: cargo xtask licences

Fails when a package in Cargo.lock cannot be used under the permissive licences
listed in xtask/src/licences.rs, and names it.
";

/// Licences that ask for no more than to keep a notice. Add one only after reading it.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CDLA-Permissive-2.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "Zlib",
];

pub(crate) fn run(arguments: &[String]) -> Result<(), String> {
    match arguments.first() {
        None => check(),
        Some(argument) => Err(format!("`cargo xtask licences` takes no argument, but was given `{argument}`")),
    }
}

pub(crate) fn check() -> Result<(), String> {
    let metadata = Program::cargo(minutes(10)).args(["metadata", "--format-version", "1", "--locked"]).output()?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| format!("`cargo metadata` wrote something other than JSON: {error}"))?;
    let packages = metadata["packages"].as_array().ok_or("`cargo metadata` lists no packages")?;

    let complaints: Vec<String> = packages.iter().filter_map(complaint).collect();
    if !complaints.is_empty() {
        return Err(format!(
            "these packages may not be used:\n  {}\nhint: choose another package, or add a permissive \
             licence to ALLOWED in xtask/src/licences.rs",
            complaints.join("\n  ")
        ));
    }
    eprintln!("{} packages have permissive licences", packages.len());
    Ok(())
}

fn complaint(package: &Value) -> Option<String> {
    let field = |name: &str| package[name].as_str();
    let reason = match field("license") {
        None => "states no licence".to_owned(),
        Some(expression) => match spdx::is_satisfiable(expression, |l| ALLOWED.contains(&l)) {
            Ok(true) => return None,
            Ok(false) => format!("is licensed under `{expression}`"),
            Err(why) => format!("has the licence `{expression}`, which cannot be read: {why}"),
        },
    };
    let name = field("name").unwrap_or("(unnamed)");
    let version = field("version").unwrap_or("(no version)");
    Some(format!("`{name}` {version} {reason}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn complaints_name_package_version_and_licence() {
        let complaint_about =
            |licence: Value| complaint(&json!({"name": "pkg", "version": "1.2.3", "license": licence}));
        assert_eq!(complaint_about(json!("MIT/Apache-2.0")), None);
        assert_eq!(
            complaint_about(json!("AGPL-3.0-only")).as_deref(),
            Some("`pkg` 1.2.3 is licensed under `AGPL-3.0-only`")
        );
        assert_eq!(complaint_about(Value::Null).as_deref(), Some("`pkg` 1.2.3 states no licence"));
        assert_eq!(
            complaint_about(json!("MIT OR")).as_deref(),
            Some(
                "`pkg` 1.2.3 has the licence `MIT OR`, which cannot be read: \
                 it ends where a licence should stand"
            )
        );
    }
}

//! `cargo xtask licences`: checks that all dependencies have a permissive licence.

use serde_json::Value;

use crate::bloom;
use crate::run::{Program, minutes};
use crate::spdx;

pub(crate) const HELP: &str = "\
Check the licences of all dependencies

Usage: cargo xtask licences

Fails when a package in Cargo.lock or in bloom/package-lock.json cannot be used under the
permissive licences listed in xtask/src/licences.rs, and names it.
";

/// Licences that require no more than a notice. Add one only after reading it.
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

/// Additional licences of packages that build and test the page without becoming a part of it, and of fonts.
const ALLOWED_FOR_THE_PAGE: &[&str] = &["BlueOak-1.0.0", "MPL-2.0", "OFL-1.1", "Python-2.0"];

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
    let crates = metadata["packages"].as_array().ok_or("`cargo metadata` lists no packages")?;
    let of_the_page = packages_of_the_page()?;
    let for_crates = crates.iter().filter_map(|package| complaint(package, &[]));
    let for_the_page = of_the_page.iter().filter_map(|package| complaint(package, ALLOWED_FOR_THE_PAGE));
    let complaints: Vec<String> = for_crates.chain(for_the_page).collect();
    if !complaints.is_empty() {
        return Err(format!(
            "these packages may not be used:\n  {}\nhint: choose another package, or add a permissive \
             licence to ALLOWED in xtask/src/licences.rs",
            complaints.join("\n  ")
        ));
    }
    eprintln!("{} crates and {} packages of the page have permissive licences", crates.len(), of_the_page.len());
    Ok(())
}

/// The packages of the page in the form of `cargo metadata`: with the name in `name`.
fn packages_of_the_page() -> Result<Vec<Value>, String> {
    let path = bloom::folder().join("package-lock.json");
    let lock = std::fs::read_to_string(&path).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let lock: Value = serde_json::from_str(&lock).map_err(|error| format!("`{}`: {error}", path.display()))?;
    let packages = lock["packages"].as_object().ok_or("the lock file of the page lists no packages")?;
    let named = packages.iter().filter(|(place, _)| !place.is_empty()).map(|(place, package)| {
        let mut package = package.clone();
        package["name"] = place.rsplit("node_modules/").next().unwrap_or(place).into();
        package
    });
    Ok(named.collect())
}

fn complaint(package: &Value, also: &[&str]) -> Option<String> {
    let field = |name: &str| package[name].as_str();
    let reason = match field("license") {
        None => "states no licence".to_owned(),
        Some(expression) => match spdx::is_satisfiable(expression, |l| ALLOWED.contains(&l) || also.contains(&l)) {
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
            |licence: Value| complaint(&json!({"name": "pkg", "version": "1.2.3", "license": licence}), &[]);
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
                 a licence is missing at the end"
            )
        );
    }
}

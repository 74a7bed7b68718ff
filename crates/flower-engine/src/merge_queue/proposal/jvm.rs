//! Java and Kotlin with Maven or Gradle.

use super::{Part, Tree, check_name, in_folder, manifest_of};

const GRADLE: &[&str] = &["settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts"];

pub(super) fn parts(tree: &Tree) -> Vec<Part> {
    let maven = tree.projects(&["pom.xml"], &["mvnw"]);
    let gradle = tree.projects(GRADLE, &["gradlew"]);
    let gradle = gradle.iter().filter(|dir| !maven.contains(dir) || tree.has(dir, "gradlew"));
    maven.iter().map(|dir| of_maven(tree, dir)).chain(gradle.map(|dir| of_gradle(tree, dir))).collect()
}

fn of_maven(tree: &Tree, dir: &str) -> Part {
    let (program, programs) = if tree.has(dir, "mvnw") { ("./mvnw", vec!["java"]) } else { ("mvn", vec!["mvn"]) };
    // Everything but the tests themselves: `dependency:go-offline` misses what plugins load while they run.
    let prepare = "verify -Dtest=NoTestAtAll -DfailIfNoTests=false -Dsurefire.failIfNoSpecifiedTests=false -DskipITs";
    Part {
        found: format!("{}: Java with Maven", manifest_of(dir, "pom.xml")),
        programs,
        install: vec![in_folder(dir, &format!("{program} --batch-mode --quiet {prepare}"))],
        checks: vec![(check_name(dir, "maven"), in_folder(dir, &format!("{program} --batch-mode --offline verify")))],
        carry: Vec::new(),
    }
}

fn of_gradle(tree: &Tree, dir: &str) -> Part {
    let (program, programs) =
        if tree.has(dir, "gradlew") { ("./gradlew", vec!["java"]) } else { ("gradle", vec!["gradle"]) };
    let manifest = tree.first(dir, GRADLE).unwrap_or(GRADLE[0]);
    Part {
        found: format!("{}: Gradle", manifest_of(dir, manifest)),
        programs,
        install: vec![in_folder(dir, &format!("{program} --no-daemon --quiet testClasses"))],
        checks: vec![(check_name(dir, "gradle"), in_folder(dir, &format!("{program} --no-daemon --offline check")))],
        carry: Vec::new(),
    }
}

//! PHP with Composer.

use super::{Part, Tree, check_name, in_folder, manifest_of};
use serde_json::Value;

pub(super) fn parts(tree: &Tree) -> Vec<Part> {
    tree.projects(&["composer.json"], &["composer.lock"]).iter().map(|dir| part(tree, dir)).collect()
}

fn part(tree: &Tree, dir: &str) -> Part {
    let manifest = tree.json(dir, "composer.json");
    let needs = |package: &str| ["require", "require-dev"].iter().any(|list| manifest[list][package] != Value::Null);
    let has_script = |name: &str| manifest["scripts"][name] != Value::Null;
    let is_laravel = tree.has(dir, "artisan");
    let mut install = vec![in_folder(dir, "composer install --no-interaction --no-progress")];
    // Ignored by git, and needed for its application key. The example has no secrets.
    if is_laravel && tree.has(dir, ".env.example") && !tree.has(dir, ".env") {
        install.push(in_folder(dir, "test -e .env || { cp .env.example .env && php artisan key:generate; }"));
    }
    let configured = tree.first(dir, &["phpunit.xml", "phpunit.xml.dist", "phpunit.dist.xml"]).is_some();
    let test = if has_script("test") {
        // Without a time limit of its own: the check has one.
        Some("composer run --timeout=0 test")
    } else if needs("pestphp/pest") {
        Some("vendor/bin/pest")
    } else if is_laravel && tree.has_folder(dir, "tests") {
        Some("php artisan test")
    } else if needs("phpunit/phpunit") || needs("symfony/phpunit-bridge") {
        let bridge = needs("symfony/phpunit-bridge") && !needs("phpunit/phpunit");
        Some(if bridge { "vendor/bin/simple-phpunit" } else { "vendor/bin/phpunit" })
    } else if configured {
        Some("phpunit")
    } else {
        None
    };
    let mut checks: Vec<(String, String)> = Vec::new();
    if needs("phpstan/phpstan")
        && tree.first(dir, &["phpstan.neon", "phpstan.neon.dist", "phpstan.dist.neon"]).is_some()
    {
        let analyse = "vendor/bin/phpstan analyse --no-progress";
        checks.push((check_name(dir, "phpstan"), in_folder(dir, analyse)));
    }
    checks.extend(test.map(|command| (check_name(dir, "php"), in_folder(dir, command))));
    let what = if is_laravel { "PHP with Laravel" } else { "PHP" };
    Part {
        found: format!("{}: {what}", manifest_of(dir, "composer.json")),
        programs: vec!["php", "composer"],
        install,
        checks,
        carry: Vec::new(),
    }
}

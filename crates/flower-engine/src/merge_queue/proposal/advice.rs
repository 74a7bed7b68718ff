//! Why a tried check fails, as far as its output says, and what would mend it.

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    pub because: String,
    pub mend: String,
}

/// Programs that the operator installs, and how. Others belong to the project's own packages.
const INSTALL: &[(&str, &str)] = &[
    ("cargo", "install Rust with rustup"),
    ("node", "install Node.js with your package manager"),
    ("npm", "install Node.js with npm, with your package manager"),
    ("npx", "install Node.js with npm, with your package manager"),
    ("pnpm", "`corepack enable pnpm`, or `npm install --global pnpm`"),
    ("yarn", "`corepack enable yarn`, or `npm install --global yarn`"),
    ("bun", "`npm install --global bun`"),
    ("php", "install PHP with your package manager (`apt install php-cli`)"),
    ("composer", "install Composer with your package manager (`apt install composer`)"),
    ("phpunit", "add it to `require-dev`, or install it with your package manager"),
    ("go", "install Go with your package manager (`apt install golang-go`)"),
    ("python3", "install Python 3 with your package manager"),
    ("uv", "`pipx install uv`, or `pip install uv`"),
    ("poetry", "`pipx install poetry`"),
    ("pdm", "`pipx install pdm`"),
    ("pipenv", "`pipx install pipenv`"),
    ("mvn", "install Maven with your package manager (`apt install maven`)"),
    ("gradle", "install Gradle with your package manager, or commit its wrapper: `gradle wrapper`"),
    ("java", "install a JDK with your package manager (`apt install default-jdk`)"),
    ("make", "install make with your package manager"),
];

/// How to install a program that proposals use.
pub fn install_hint(program: &str) -> &'static str {
    INSTALL.iter().find(|(known, _)| *known == program).map_or("install it", |(_, hint)| hint)
}

/// Signs in the output, with the reason and the remedy. The first that fits counts.
const SIGNS: &[(&[&str], &str, &str)] = &[
    (
        &["but --offline was specified", "no matching package named", "you may need to run with --offline removed"],
        "crates are missing in cargo's cache, and checks have no network",
        "`prepare = [\"cargo fetch --locked\"]` in `[checks]`; or once, outside: `cargo fetch`",
    ),
    (
        &["because --locked was passed", "cannot update the lock file"],
        "Cargo.lock does not fit the manifests",
        "`cargo update --workspace` in a worktree, and land Cargo.lock first; or leave `--locked` out",
    ),
    (
        &[
            "rustup could not choose a version",
            "is not installed; run `rustup toolchain install`",
            "' is not installed",
        ],
        "the toolchain that the project names is not installed, and none is installed inside a jail",
        "outside, in the repository: `rustup toolchain install`",
    ),
    (
        &[
            "can only install packages when your package.json",
            "ERR_PNPM_OUTDATED_LOCKFILE",
            "Your lockfile needs to be updated",
            "YN0028",
            "lockfile had changes, but lockfile is frozen",
        ],
        "the lock file does not fit package.json",
        "install in a worktree without the lock being frozen (`npm install`, `pnpm install`, …), and land the lock file first",
    ),
    (
        &[
            "EBADENGINE",
            "ERR_PNPM_UNSUPPORTED_ENGINE",
            "The engine \"node\" is incompatible",
            "requires at least Node.js",
        ],
        "the project needs another version of Node.js",
        "install that version, and start the daemon again with it in PATH: `flower down`, `flower up`",
    ),
    (
        &[
            "Cannot find module '",
            "ERR_MODULE_NOT_FOUND",
            "Cannot find package '",
            "node_modules missing",
            "Local package.json exists, but node_modules missing",
        ],
        "packages are missing in node_modules",
        "install them in `[checks] prepare` (`npm ci`), or copy MAIN's: `carry = [\"**/node_modules\"]` in `[worktree]`",
    ),
    (
        &["ensurepip is not available", "No module named venv", "No module named ensurepip"],
        "Python's `venv` is not installed",
        "`apt install python3-venv`, or use `uv venv`",
    ),
    (
        &["No module named pytest", "No module named 'pytest'"],
        "pytest is not in the environment",
        "add `pytest` to what the command in `[checks] prepare` installs",
    ),
    (
        &["ModuleNotFoundError: No module named"],
        "a package is not in the environment",
        "add it to what the command in `[checks] prepare` installs, or install the project itself: `.venv/bin/pip install -e .`",
    ),
    (
        &[".venv/bin/python: No such file", ".venv/bin/python: not found", ".venv/bin/python: cannot execute"],
        "the environment `.venv` is missing",
        "make it in `[checks] prepare`: `python3 -m venv .venv && .venv/bin/pip install …`, or `uv sync --frozen`",
    ),
    (
        &[
            "missing go.sum entry",
            "updates to go.mod needed",
            "go.mod file indicates go",
            "invalid go version",
            "requires go >=",
        ],
        "go.mod does not fit this Go",
        "`go mod tidy` in a worktree, or a newer Go",
    ),
    (
        &["vendor/autoload.php"],
        "Composer's packages are missing",
        "`prepare = [\"composer install --no-interaction\"]` in `[checks]`",
    ),
    (
        &["No application encryption key", "MissingAppKeyException"],
        "Laravel has no application key",
        "in `[checks] prepare`: `cp .env.example .env && php artisan key:generate`",
    ),
    (
        &["it is missing from your system", "requires ext-"],
        "a PHP extension is missing",
        "install it with your package manager, such as `apt install php-mbstring php-xml`",
    ),
    (
        &["No rule to make target"],
        "the Makefile lacks a file or target",
        "make what it needs in `[checks] prepare`, or name another target",
    ),
    (
        &[
            "Could not resolve dependencies for project",
            "in offline mode",
            "Cannot access central",
            "No cached version of",
        ],
        "packages are missing in the local repository, and checks have no network",
        "fetch them in `[checks] prepare`, such as `mvn dependency:go-offline` or `gradle testClasses`",
    ),
];

/// Signs that a host could not be reached.
const NO_NETWORK: &[&str] = &[
    "ENOTFOUND",
    "EAI_AGAIN",
    "ENETUNREACH",
    "Could not resolve host",
    "could not resolve",
    "Temporary failure in name resolution",
    "Name or service not known",
    "Network is unreachable",
    "network is unreachable",
    "no such host",
    "dns error",
    "Connection refused (os error 111)",
];

/// Judges the end of a failed check's output, or that of `[checks] prepare`.
pub fn advice(is_prepare: bool, code: i64, output: &str) -> Option<Advice> {
    let advice = |because: &str, mend: &str| Some(Advice { because: because.to_owned(), mend: mend.to_owned() });
    if code == 124 {
        return advice("it takes longer than its time limit", "a longer `timeout`, such as `timeout = \"1h\"`");
    }
    if let Some(program) = missing_program(output) {
        let because = format!("`{program}` is not installed");
        let known = INSTALL.iter().find(|(known, _)| *known == program);
        return match known {
            Some((_, hint)) => advice(&because, hint),
            None => advice(
                &format!("`{program}` is neither installed nor among the project's packages"),
                "install it, or install the project's packages in `[checks] prepare` (such as `npm ci`)",
            ),
        };
    }
    let fits = |signs: &[&str]| signs.iter().any(|sign| output.contains(sign));
    let sign = SIGNS.iter().find(|(signs, ..)| fits(signs));
    if let Some((_, because, mend)) = sign {
        return advice(because, mend);
    }
    match (fits(NO_NETWORK), is_prepare) {
        (false, _) => None,
        (true, true) => advice(
            "a host cannot be reached with the network of worktrees",
            "look at `[worktree] network` and at the machine's own network; what is in your caches can be installed offline",
        ),
        (true, false) => advice(
            "it needs the network, which checks do not have",
            "fetch what it needs in `[checks] prepare`; or give it the network: `network = \"web\"` beside its `run`",
        ),
    }
}

/// The program that a shell did not find.
fn missing_program(output: &str) -> Option<&str> {
    output.lines().rev().find_map(|line| {
        let line = line.trim_end();
        let before =
            line.strip_suffix(": command not found").or_else(|| line.strip_suffix(": not found")).or_else(|| {
                let before = line.strip_suffix(": No such file or directory")?;
                ["env:", "make:", "make["].iter().any(|by| before.starts_with(by)).then_some(before)
            })?;
        // `sh: 1: pnpm`, `/bin/sh: line 1: pnpm`, `env: ‘pnpm’`, `make: pnpm`
        let program = before.rsplit(": ").next()?.trim_matches(['\'', '‘', '’', '"']);
        let is_name = !program.is_empty() && program.chars().all(|c| c.is_ascii_alphanumeric() || "._+-".contains(c));
        is_name.then_some(program)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_red_check_says_why_and_what_would_mend_it() {
        for (is_prepare, code, output, because, mend) in [
            (
                false,
                101,
                "error: no matching package named `csv` found\nlocation searched: crates.io index",
                "cargo's cache",
                "cargo fetch",
            ),
            (
                false,
                101,
                "error: cannot update the lock file /x/Cargo.lock because --locked was passed",
                "Cargo.lock",
                "cargo update",
            ),
            (true, 127, "sh: 1: pnpm: not found\n", "`pnpm` is not installed", "corepack enable pnpm"),
            (false, 127, "> mocha\n\nsh: 1: mocha: not found\n", "`mocha` is neither", "npm ci"),
            (false, 127, "/bin/sh: line 1: uv: command not found", "`uv` is not installed", "pip install uv"),
            (
                false,
                2,
                "make: mypy: No such file or directory\nmake: *** [Makefile:2: test] Error 127",
                "`mypy` is neither",
                "prepare",
            ),
            (false, 127, "env: ‘php’: No such file or directory", "`php` is not installed", "php-cli"),
            (false, 1, "Error: Cannot find module 'express'\nRequire stack:", "node_modules", "carry"),
            (
                true,
                1,
                "npm error `npm ci` can only install packages when your package.json and package-lock.json are in sync",
                "lock file",
                "npm install",
            ),
            (
                true,
                1,
                "The virtual environment was not created successfully because ensurepip is not available.",
                "venv",
                "python3-venv",
            ),
            (false, 1, "/x/.venv/bin/python: No module named pytest", "pytest", "prepare"),
            (false, 1, "E   ModuleNotFoundError: No module named 'flask'", "environment", "-e ."),
            (false, 127, "sh: 1: .venv/bin/python: not found", ".venv", "uv sync"),
            (false, 1, "main.go:3:8: missing go.sum entry for module", "go.mod", "go mod tidy"),
            (
                false,
                255,
                "PHP Warning: require(/x/vendor/autoload.php): Failed to open stream",
                "Composer",
                "composer install",
            ),
            (false, 1, "getaddrinfo EAI_AGAIN packages.example", "needs the network", "network = \"web\""),
            (true, 1, "curl: (6) Could not resolve host: x", "network of worktrees", "[worktree] network"),
            (false, 124, "anything", "time limit", "timeout"),
        ] {
            let found = advice(is_prepare, code, output).unwrap_or_else(|| panic!("no advice for {output}"));
            assert!(found.because.contains(because) && found.mend.contains(mend), "{output}: {found:?}");
        }
        assert_eq!(advice(false, 1, "1 failing\n  AssertionError: 1 == 2\n  file a: not found in list\n"), None);
    }
}

//! Caches of build tools inside: read from the operator's, written to the worktree's own layer, and never credentials.

use super::*;

/// Below the operator's home: one file of each cache that programs inside can read at the same place.
const CACHED: &[&str] = &[
    ".cargo/registry/cache/a",
    ".npm/_cacache/a",
    ".local/share/pnpm/store/v10/a",
    ".cache/yarn/v6/a",
    ".yarn/berry/cache/a",
    ".cache/node/corepack/v1/a",
    ".bun/install/cache/a",
    "go/pkg/mod/a",
    ".cache/go-build/a",
    ".m2/repository/org/a",
    ".m2/wrapper/dists/a",
    ".gradle/caches/modules-2/a",
    ".gradle/wrapper/dists/a",
    ".cache/composer/files/a",
    ".cache/pip/wheels/a",
    ".cache/uv/a",
    ".conda/pkgs/a",
    ".cache/ms-playwright/a",
];

/// Files with credentials beside these caches.
const SECRET: &[&str] = &[
    ".cargo/credentials.toml",
    ".npmrc",
    ".m2/settings.xml",
    ".m2/settings-security.xml",
    ".gradle/gradle.properties",
    ".gradle/init.d/private.gradle",
    ".composer/auth.json",
    ".config/composer/auth.json",
    ".cache/composer/vcs/private/config",
    ".config/pip/pip.conf",
    ".config/uv/uv.toml",
    ".local/share/uv/credentials/credentials.toml",
    ".config/pnpm/rc",
    ".config/go/env",
    ".yarnrc.yml",
    ".bunfig.toml",
    ".condarc",
    ".netrc",
];

#[test]
fn caches_are_read_inside_and_written_to_a_layer_without_credentials() {
    as_each_user_unserved(|flower| {
        let user = flower.dir().join("user");
        CACHED.iter().for_each(|path| put(flower, &user.join(path), "cached"));
        SECRET.iter().for_each(|path| put(flower, &user.join(path), "canary-of-caches"));
        // A place that a variable names.
        put(flower, &flower.dir().join("elsewhere/download/a"), "elsewhere");
        put(flower, &user.join("go/pkg/mod/a"), "cached");
        flower.git(&flower.repo, &["config", "user.name", "Tester"]);
        flower.git(&flower.repo, &["config", "user.email", "tester@example.com"]);
        let mut up = flower.command(&["up"]);
        up.env("PUPPETEER_CACHE_DIR", flower.dir().join("elsewhere"));
        assert_eq!(crate::common::finish(up).code, 0);
        new(flower, "one", &[]);
        new(flower, "two", &[]);
        for path in CACHED {
            let script =
                format!("cat \"$HOME/{path}\" && echo changed > \"$HOME/{path}\" && echo new > \"$HOME/{path}.new\"");
            assert_eq!(inside_ok(flower, "one", &script), "cached", "{path}");
            assert_eq!(inside_ok(flower, "one", &format!("cat \"$HOME/{path}\" \"$HOME/{path}.new\"")), "changed\nnew");
            let other = inside_ok(flower, "two", &format!("cat \"$HOME/{path}\"; ! test -e \"$HOME/{path}.new\""));
            assert_eq!(other, "cached", "{path} of another worktree");
            assert_eq!(fs::read_to_string(user.join(path)).unwrap(), "cached", "{path} of the operator");
            assert!(!user.join(format!("{path}.new")).exists(), "{path}");
        }
        assert_eq!(inside_ok(flower, "one", "cat \"$HOME/.cache/puppeteer/download/a\""), "elsewhere");
        for path in SECRET {
            let read = inside(flower, "one", &format!("cat \"$HOME/{path}\" {}/{path}", user.display()));
            assert!(read.code != 0 && read.stdout.is_empty(), "{path}: {read:?}");
        }
        let word = "w=canary; grep -rls \"$w-of-caches\" \"$HOME\" . 2>/dev/null || true";
        assert_eq!(inside_ok(flower, "one", word), "");
    });
}

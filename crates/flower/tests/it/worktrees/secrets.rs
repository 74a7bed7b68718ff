//! A secret is neither inside a sealed worktree nor in the arguments of a process.

use super::*;

/// Its beginning; each has a number of its own behind it.
const CANARY: &str = "canary-7f3a91";

/// Where secrets lie on a machine: below the user's home, MAIN, and flower's own home.
const IN_HOME: &[&str] = &[
    ".ssh/id_ed25519",
    ".aws/credentials",
    ".claude/.credentials.json",
    ".claude.json",
    ".netrc",
    ".cargo/credentials.toml",
    ".config/gh/hosts.yml",
    ".gnupg/private-keys-v1.d/key",
    ".docker/config.json",
    ".npmrc",
    ".git-credentials",
    ".bash_history",
    ".local/share/keyrings/login.keyring",
    "Documents/letter.txt",
];
const IN_MAIN: &[&str] = &[".env", "ignored/secret.pem", ".git/config", ".git/hooks/secret"];

fn hide_canaries(flower: &Flower) -> usize {
    let mut count = 0;
    let mut hide = |path: PathBuf| {
        count += 1;
        let mut text = fs::read_to_string(&path).unwrap_or_default();
        text.push_str(&format!("# {CANARY}-{count}\n"));
        put(flower, &path, text);
    };
    IN_HOME.iter().for_each(|path| hide(flower.dir().join("user").join(path)));
    IN_MAIN.iter().for_each(|path| hide(flower.repo.join(path)));
    hide(flower.dir().join("beside.txt"));
    hide(tree(flower, "two").join(".env"));
    hide(flower.home.join("seals/repo/two/home/.netrc"));
    hide(private(flower, "two").join("description"));
    count
}

#[test]
fn no_secret_is_seen_from_inside() {
    as_each_user_unserved(|flower| {
        flower.git(&flower.repo, &["config", "user.name", "Tester"]);
        flower.git(&flower.repo, &["config", "user.email", "tester@example.com"]);
        commit_in_main(flower, ".gitignore", ".env\nignored\n");
        // In the environment of the daemon, and of the command that enters.
        let with_secrets = |mut command: Command| {
            command.env("GITHUB_TOKEN", format!("{CANARY}-env")).env("AWS_SECRET_ACCESS_KEY", format!("{CANARY}-aws"));
            command
                .env("FLOWER_TEST_SECRET", format!("{CANARY}-own"))
                .env("SSH_AUTH_SOCK", format!("/tmp/{CANARY}-agent"));
            crate::common::finish(command)
        };
        assert_eq!(with_secrets(flower.command(&["up"])).code, 0);
        new(flower, "one", &[]);
        new(flower, "two", &[]);
        inside_ok(flower, "two", "true");
        let hidden = hide_canaries(flower);
        assert!(hidden >= 20);
        let token = flower.token();
        let places = format!(
            "{} {} {} $HOME /tmp /var/tmp /dev/shm /run /root /home /mnt /srv",
            flower.dir().display(),
            flower.repo.display(),
            flower.home.display()
        );
        // Processes first: a search has its own words among its arguments.
        let search = |word: &str| {
            let (head, tail) = word.split_at(6);
            format!(
                "w={head}; w=${{w}}{tail}; for p in /proc/[0-9]*; do tr '\\0' '\\n' < $p/environ; done 2>/dev/null | grep -a \"$w\" | head -3\n\
                 env | grep -a \"$w\"; grep -rals -- \"$w\" {places} 2>/dev/null | sort -u | head -40; true"
            )
        };
        for word in [CANARY, &token] {
            let found = with_secrets(flower.command(&["worktree", "shell", "one", "--", "sh", "-c", &search(word)]));
            assert_eq!(found.stdout, "", "found inside: {found:?}");
            assert_eq!(found.code, 0, "{found:?}");
        }
        // Each of them by its name, and nothing but the shell of MAIN where MAIN is.
        for path in IN_HOME {
            let read = inside(flower, "one", &format!("cat \"$HOME/{path}\" {}/user/{path}", flower.dir().display()));
            assert!(read.code != 0 && read.stdout.is_empty(), "{path}: {read:?}");
        }
        assert_eq!(inside_ok(flower, "one", &format!("ls -A {}", flower.repo.display())), ".git");
        // What a search finds outside, so that finding nothing means something.
        let mut outside = Command::new("grep");
        let found = outside.args(["-rl", CANARY]).arg(flower.dir()).output().expect("grep runs");
        assert!(String::from_utf8_lossy(&found.stdout).lines().count() >= hidden, "{found:?}");
    });
}

#[test]
fn no_secret_is_in_arguments_or_in_the_jails_description() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        let token = flower.token();
        // Of this test alone: others look for their own canary, or commit it, by name at the same time.
        let canary = format!("canary-46-{}", std::process::id());
        let mut command = flower.command(&["worktree", "shell", "one", "--", "sh", "-c", "echo ready; exec sleep 300"]);
        command.env("GITHUB_TOKEN", &canary).env("FLOWER_TOKEN", &token).stdout(Stdio::piped());
        let mut child = command.spawn().expect("flower runs");
        let mut word = [0; 6];
        std::io::Read::read_exact(child.stdout.as_mut().expect("a pipe"), &mut word).expect("it runs");
        let running = Running(child);
        let mut seen = 0;
        for process in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(arguments) = fs::read(process.path().join("cmdline")) else { continue };
            let arguments = String::from_utf8_lossy(&arguments).into_owned();
            seen += usize::from(arguments.contains(flower.home.to_str().unwrap()));
            assert!(!arguments.contains(&token) && !arguments.contains(&canary), "{arguments}");
        }
        assert!(seen > 0, "the jail is not among them");
        drop(running);
        let mut read = 0;
        let mut waiting = vec![flower.home.join("seals")];
        while let Some(path) = waiting.pop() {
            // A draft of a description is renamed as soon as it is written.
            let Ok(found) = fs::symlink_metadata(&path) else { continue };
            if found.is_dir() {
                waiting.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
            } else if let Ok(text) = fs::read(&path) {
                let text = String::from_utf8_lossy(&text).into_owned();
                assert!(!text.contains(&token) && !text.contains(&canary), "{}", path.display());
                read += 1;
            }
        }
        assert!(read > 0, "no description was read");
    });
}

#[test]
fn archive_and_trash_are_for_their_owner_alone() {
    let flower = served();
    commit_in_main(&flower, ".gitignore", ".env\n");
    new(&flower, "one", &[]);
    inside_ok(&flower, "one", "echo KEY=1 > .env; chmod 0600 .env");
    remove(&flower, "one");
    for folder in ["", "archive", "archive/1", "trash"] {
        let mode = fs::metadata(flower.home.join(folder)).unwrap().mode() & 0o777;
        assert_eq!(mode, 0o700, "{folder}: {mode:o}");
    }
    let kept = flower.home.join("archive/1/files/.env");
    assert_eq!(fs::metadata(kept).unwrap().mode() & 0o777, 0o600);
}

/// MAIN may borrow objects from another repository, and then what runs inside needs those too; a list that names anything else
/// opens nothing.
#[test]
fn objects_that_main_borrows_are_seen_and_nothing_else() {
    as_each_user_unserved(|flower| {
        let (secret, lender) = (flower.dir().join("user/.ssh"), flower.repo.clone());
        put(flower, &secret.join("id_ed25519"), CANARY);
        put(flower, &flower.dir().join("fake/objects/key"), CANARY);
        let borrower = flower.dir().join("borrower");
        git(flower, flower.dir(), &["clone", "--quiet", "--shared", lender.to_str().unwrap(), "borrower"]);
        let list = borrower.join(".git/objects/info/alternates");
        let borrowed = fs::read_to_string(&list).unwrap();
        let fake = flower.dir().join("fake/objects");
        fs::write(&list, format!("{borrowed}{}\n{}\n../../../user/.ssh\n", secret.display(), fake.display())).unwrap();
        flower.json_in(&borrower, &["init"]);
        flower.json_in(&borrower, &["worktree", "new", "one"]);
        let read = format!(
            "cat {}/id_ed25519 {}/key 2>/dev/null; git log --format=%s; git show HEAD:README.md",
            secret.display(),
            fake.display()
        );
        let output = flower.run_in(&borrower, &["worktree", "shell", "one", "--", "sh", "-c", &read]);
        assert_eq!(output.stdout, "begin\nhello\n", "{output:?}");
    });
}

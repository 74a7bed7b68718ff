//! Of MAIN's objects, what runs inside reads those reachable from MAIN's recorded tip, its tags and its remote-tracking
//! branches, and no others.

use super::*;
use serde_json::json;

const CANARY: &str = "canary-63-";

/// A commit with a file of its own on top of `parent`, which no ref leads to.
fn loose_commit(flower: &Flower, parent: &str, word: &str) -> String {
    let file = flower.dir().join("content");
    put(flower, &file, format!("{word}\n"));
    let repo = &flower.repo;
    git(flower, repo, &["config", "user.name", "Tester"]);
    git(flower, repo, &["config", "user.email", "tester@example.com"]);
    let blob = git(flower, repo, &["hash-object", "-w", file.to_str().unwrap()]);
    let list = flower.dir().join("list");
    put(flower, &list, format!("100644 blob {blob}\t{word}\n"));
    let script = format!("git mktree < '{}'", list.display());
    let mut mktree = Command::new("sh");
    let made = flower.in_own_environment(mktree.args(["-c", &script]).current_dir(repo)).output().expect("git runs");
    let tree = String::from_utf8(made.stdout).unwrap();
    git(flower, repo, &["commit-tree", "-p", parent, "-m", word, tree.trim_end()])
}

/// Commits that are private to the operator, by what keeps them.
fn hide_canaries(flower: &Flower) -> Vec<String> {
    let repo = &flower.repo;
    let branch = loose_commit(flower, "HEAD", &format!("{CANARY}branch"));
    git(flower, repo, &["branch", "private", &branch]);
    put(flower, &repo.join("README.md"), format!("{CANARY}stash\n"));
    git(flower, repo, &["stash", "--quiet"]);
    let stash = git(flower, repo, &["rev-parse", "refs/stash"]);
    let dangling = loose_commit(flower, "HEAD", &format!("{CANARY}dangling"));
    vec![branch, stash, dangling]
}

/// Commits that others may read, by what lends them.
fn lend(flower: &Flower) -> Vec<String> {
    let repo = &flower.repo;
    let tagged = loose_commit(flower, "HEAD", "lent-tag");
    git(flower, repo, &["tag", "-a", "-m", "a tag", "v1", &tagged]);
    let remote = loose_commit(flower, "HEAD", "lent-remote");
    git(flower, repo, &["update-ref", "refs/remotes/origin/feature", &remote]);
    vec![git(flower, repo, &["rev-parse", "HEAD"]), tagged, git(flower, repo, &["rev-parse", "v1"]), remote]
}

/// Words of all objects that can be found inside, by their names and by looking into every pack there is.
fn all_inside(flower: &Flower, name: &str) -> String {
    let objects = flower.repo.join(".git/objects");
    let script = format!(
        "git cat-file --batch-all-objects --batch; find {0} -type f -name '*.idx' | while read idx; do \
         git show-index < $idx | cut -d' ' -f2 | git cat-file --batch; done; find {0} -type f | sed 's/^/file: /'",
        objects.display()
    );
    inside_ok(flower, name, &script)
}

fn packs(flower: &Flower) -> Vec<PathBuf> {
    let folder = flower.home.join("objects/repo/objects/pack");
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    files.filter(|path| path.extension().is_some_and(|kind| kind == "pack")).collect()
}

fn is_read(flower: &Flower, name: &str, object: &str) -> bool {
    inside(flower, name, &format!("git cat-file -e {object}")).code == 0
}

fn land(flower: &Flower, name: &str) {
    flower.ok(&["land", name, "--wait"]);
}

/// A landing that changes settings, once the operator has let it in: how it ends.
fn approved(flower: &Flower, landing: &Value) -> Value {
    let landing = if landing["landing"].is_object() { &landing["landing"] } else { landing };
    let number = landing["id"].to_string();
    let becomes = |states: &[&str]| {
        eventually("it goes on", || {
            let landing = flower.json(&["queue", "show", &number]);
            states.contains(&landing["state"].as_str().expect("a state")).then_some(landing)
        })
    };
    becomes(&["approval"]);
    flower.ok(&["queue", "approve", &number]);
    becomes(&["landed", "rejected"])
}

#[test]
fn objects_that_main_does_not_lend_are_not_readable_inside() {
    as_each_user_unserved(|flower| {
        let mut canaries = hide_canaries(flower);
        let lent = lend(flower);
        prepare(flower);
        new(flower, "one", &[]);
        new(flower, "two", &[]);
        inside_ok(flower, "two", &format!("echo {CANARY}worktree > two; git add two; git commit -qm two"));
        eventually("the commit of `two` is in MAIN's repository", || (show(flower, "two")["ahead"] == 1).then_some(()));
        canaries.push(git(flower, &flower.repo, &["rev-parse", "flower/two"]));
        let seen = all_inside(flower, "one");
        assert!(!seen.contains(CANARY), "{seen}");
        // So that finding nothing means something.
        assert!(seen.contains("lent-tag") && seen.contains("lent-remote") && seen.contains("hello"), "{seen}");
        for canary in &canaries {
            git(flower, &flower.repo, &["cat-file", "-e", canary]);
            assert!(!is_read(flower, "one", canary), "{canary}");
        }
        for object in &lent {
            inside_ok(flower, "one", &format!("git cat-file -p {object}; git rev-list --objects {object}"));
        }
        assert_eq!(inside_ok(flower, "one", "git tag --list; git fsck --no-dangling 2>&1"), "v1");
        // The files themselves belong to no user inside.
        let refused = inside(flower, "one", &format!("echo x > {}/.git/objects/pack/x", flower.repo.display()));
        assert_ne!(refused.code, 0, "{refused:?}");
        assert_main_is_whole(flower);
    });
}

#[test]
fn landed_objects_are_readable_in_every_worktree() {
    as_each_user(|flower| {
        for name in ["one", "two"] {
            new(flower, name, &[]);
        }
        let running = Running::inside(flower, "two");
        for round in 1..=3 {
            let before = git(flower, &flower.repo, &["rev-parse", "main"]);
            let name = format!("more-{round}");
            new(flower, &name, &[]);
            inside_ok(flower, &name, &format!("echo {round} > {name}; git add .; git commit -qm {name}"));
            land(flower, &name);
            let main = git(flower, &flower.repo, &["rev-parse", "main"]);
            assert_ne!(main, before);
            eventually("its tip is known inside", || {
                (inside_ok(flower, "two", "git rev-parse origin/main") == main).then_some(())
            });
            inside_ok(flower, "two", &format!("git cat-file -p origin/main:{name}; git log origin/main"));
        }
        drop(running);
        flower.ok(&["worktree", "sync", "one"]);
        inside_ok(
            flower,
            "one",
            "test -e more-3; git fsck --no-dangling; git gc -q --prune=now; git log --stat; git status",
        );
        assert_main_is_whole(flower);
    });
}

#[test]
fn a_worktree_has_what_it_begins_with_and_no_other_has_it() {
    let flower = Flower::new();
    let canaries = hide_canaries(&flower);
    prepare(&flower);
    new(&flower, "plain", &[]);
    new(&flower, "one", &["--from", "private"]);
    inside_ok(&flower, "one", "git log --stat; git fsck --no-dangling; git gc -q --prune=now; git status");
    assert_eq!(inside_ok(&flower, "one", &format!("git show HEAD:{CANARY}branch")), format!("{CANARY}branch"));
    inside_ok(&flower, "one", "echo x > x; git add x; git commit -qm x; git reset -q --hard HEAD~2");
    inside_ok(
        &flower,
        "one",
        "git reflog expire --expire=now --all; git gc -q --prune=now; git commit -q --allow-empty -m y",
    );
    let one = show(&flower, "one");
    assert_eq!((&one["notes"], &one["ahead"]), (&json!([]), &json!(1)), "{one}");
    assert!(!is_read(&flower, "plain", &canaries[0]));
    // A rescue begins with a commit that no branch has.
    put(&flower, &flower.repo.join("README.md"), format!("{CANARY}rescued\n"));
    let rescued = flower.json(&["main", "rescue"]);
    let name = rescued["worktree"]["name"].as_str().unwrap();
    assert_eq!(inside_ok(&flower, name, "git fsck --no-dangling; git show HEAD:README.md"), format!("{CANARY}rescued"));
    assert!(!all_inside(&flower, "plain").contains(CANARY));
    // What is restored has it again.
    new(&flower, "two", &["--from", "private"]);
    inside_ok(&flower, "two", "echo y > y; git add y; git commit -qm y; git gc -q");
    remove(&flower, "two");
    flower.ok(&["worktree", "restore", "two"]);
    inside_ok(&flower, "two", "git fsck --no-dangling; git log --stat; git status; test -e y");
    assert_main_is_whole(&flower);
}

#[test]
fn commits_come_out_although_older_ones_were_thrown_away_inside() {
    let flower = with_one(&[]);
    inside_ok(&flower, "one", "echo a > a; git add a; git commit -qm a");
    assert_eq!(show(&flower, "one")["ahead"], 1);
    let old = git(&flower, &flower.repo, &["rev-parse", "flower/one"]);
    inside_ok(
        &flower,
        "one",
        "git commit -q --amend -m b; git reflog expire --expire=now --all; git gc -q --prune=now",
    );
    assert!(!is_read(&flower, "one", &old));
    assert_eq!(show(&flower, "one")["notes"], json!([]));
    assert_eq!(git(&flower, &flower.repo, &["log", "-1", "--format=%s", "flower/one"]), "b");
    git(&flower, &flower.repo, &["cat-file", "-e", &old]);
}

#[test]
fn checks_use_git_on_what_is_not_landed_yet() {
    let flower = Flower::new();
    let check = "git log --stat && git diff HEAD~1 && git describe && git fsck --no-dangling && git status";
    put(&flower, &flower.repo.join("flower.toml"), format!("[checks]\ngit = {{ run = \"{check}\" }}\n"));
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
    flower.git(&flower.repo, &["tag", "-a", "-m", "a tag", "v1"]);
    let private = hide_canaries(&flower);
    prepare(&flower);
    flower.ok(&["project", "approve", "--yes"]);
    new(&flower, "one", &[]);
    inside_ok(&flower, "one", "echo x > x; git add x; git commit -qm x; test $(git describe --abbrev=0) = v1");
    land(&flower, "one");
    assert_eq!(git(&flower, &flower.repo, &["show", "main:x"]), "x");
    // In a check as well.
    let reads = format!("[checks]\ngit = {{ run = \"! git cat-file -e {}\" }}\n", private[0]);
    new(&flower, "two", &[]);
    put(&flower, &tree(&flower, "two").join("flower.toml"), reads);
    inside_ok(&flower, "two", "git commit -qam settings");
    let ended = approved(&flower, &flower.json(&["land", "two"]));
    assert_eq!(ended["state"], "landed", "{ended}");
}

#[test]
fn all_objects_are_lent_only_with_approval_and_it_is_said() {
    let flower = Flower::new();
    let canaries = hide_canaries(&flower);
    put(&flower, &flower.repo.join("flower.toml"), "[worktree]\nobjects = \"all\"\n");
    flower.git(&flower.repo, &["add", "."]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "settings"]);
    prepare(&flower);
    let refused = flower.run(&["worktree", "new", "one"]);
    assert!(refused.code != 0 && refused.stderr.contains("not approved"), "{refused:?}");
    let commands = flower.json(&["project", "approve", "--yes"]);
    assert_eq!(commands["commands"], json!(["(read all objects of MAIN's repository)"]));
    let said = "can read every object of MAIN's repository";
    assert!(new(&flower, "one", &[])["notes"].to_string().contains(said));
    assert!(is_read(&flower, "one", &canaries[0]));
    assert!(show(&flower, "one")["notes"].to_string().contains(said));
    for page in [&["worktree"][..], &["worktree", "show", "one"], &["main"]] {
        assert!(flower.ok(page).contains(said), "{page:?}");
    }
    assert!(packs(&flower).is_empty());

    // What it has come to borrow stays readable when less is lent: commits, a branch of its own, and what is staged.
    inside_ok(
        &flower,
        "one",
        &format!(
            "git branch own {}; echo x > x; git add x; git commit -qm x; git show {}:{CANARY}dangling > staged; \
             git add staged; git gc -q --prune=now",
            canaries[0], canaries[2]
        ),
    );
    assert_eq!(show(&flower, "one")["ahead"], 1);
    inside_ok(&flower, "one", "git gc -q --prune=now");
    commit_in_main(&flower, "flower.toml", "[worktree]\n");
    new(&flower, "two", &[]);
    inside_ok(&flower, "one", "git fsck --no-dangling; git log --stat --all; git commit -qm staged; git status");
    let one = show(&flower, "one");
    assert_eq!((&one["ahead"], &one["notes"]), (&json!(2), &json!([])), "{one}");
    assert!(!is_read(&flower, "one", &canaries[1]));
    assert!(!all_inside(&flower, "two").contains(CANARY));
}

#[test]
fn a_copy_that_was_cut_short_is_made_at_the_next_start() {
    let flower = Flower::new();
    lend(&flower);
    prepare(&flower);
    eventually("the first copy is there", || (!packs(&flower).is_empty()).then_some(()));
    new(&flower, "one", &[]);
    fs::remove_dir_all(flower.home.join("objects")).unwrap();
    crashes::with_git(&flower, "*draft-*:*pack-objects*");
    crashes::crash(&flower);
    eventually("the next daemon makes it", || flower.home.join("objects/repo/contents.json").exists().then_some(()));
    inside_ok(&flower, "one", "git fsck --no-dangling; git log; git cat-file -e v1");
    let left = fs::read_dir(flower.home.join("objects/repo")).unwrap().flatten();
    let mut left: Vec<_> = left.map(|entry| entry.file_name().into_string().unwrap()).collect();
    left.sort();
    assert_eq!(left, ["contents.json", "objects"]);
}

#[test]
fn a_damaged_copy_is_found_and_made_again() {
    let flower = Flower::new();
    hide_canaries(&flower);
    prepare(&flower);
    new(&flower, "one", &[]);
    new(&flower, "private", &["--from", "private"]);
    let whole = |fix: &[&str]| {
        let output = flower.run(&[&["--json", "doctor"], fix].concat());
        let findings: Vec<Value> = serde_json::from_str(&output.stdout).expect("findings");
        findings.into_iter().find(|finding| finding["check"] == "objects").expect("objects are looked at")
    };
    assert_eq!(whole(&[])["state"], "ok");
    let pack = packs(&flower).remove(0);
    // Cut off: the next command that enters finds it.
    fs::File::options()
        .write(true)
        .open(&pack)
        .or_else(|_| {
            fs::set_permissions(&pack, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
            fs::File::options().write(true).open(&pack)
        })
        .unwrap()
        .set_len(20)
        .unwrap();
    assert_eq!(whole(&[])["state"], "bad");
    inside_ok(&flower, "one", "git fsck --no-dangling; git log");
    inside_ok(&flower, "private", "git fsck --no-dangling; git log --stat");
    assert_eq!(whole(&[])["state"], "ok");
    // Changed: noticed by the doctor.
    let pack = packs(&flower).remove(0);
    let mut bytes = fs::read(&pack).unwrap();
    bytes[30] ^= 0xff;
    fs::set_permissions(&pack, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    fs::write(&pack, bytes).unwrap();
    assert_eq!(whole(&[])["state"], "bad");
    let mended = whole(&["--fix"]);
    assert_eq!((&mended["state"], &mended["fix"]), (&json!("ok"), &json!("made again")), "{mended}");
    inside_ok(&flower, "one", "git fsck --no-dangling");
    inside_ok(&flower, "private", "git fsck --no-dangling; git log --stat");
    // Gone altogether.
    fs::remove_dir_all(flower.home.join("objects/repo")).unwrap();
    assert_eq!(whole(&[])["state"], "bad");
    inside_ok(&flower, "one", "git fsck --no-dangling; git log");
    assert_eq!(whole(&[])["state"], "ok");
}

#[test]
fn many_small_packs_become_one_under_a_running_git() {
    let flower = with_one(&[]);
    let first = git(&flower, &flower.repo, &["rev-parse", "main"]);
    let mut tagged = Vec::new();
    for round in 0..26 {
        tagged.push(loose_commit(&flower, "HEAD", &format!("tagged-{round}")));
        git(&flower, &flower.repo, &["tag", &format!("t{round}"), &tagged[round]]);
        let copied = flower.json(&["worktree", "new", &format!("w{round}"), "--no-setup"]);
        assert_eq!(copied["state"], "ready");
    }
    assert!(packs(&flower).len() < 20, "{}", packs(&flower).len());
    let all = tagged.join(" ");
    inside_ok(&flower, "one", &format!("for c in {first} {all}; do git rev-list --objects $c > /dev/null; done"));
}

#[test]
fn repositories_of_every_kind_are_lent() {
    let flower = served();
    for round in 0..3 {
        let main = commit_in_main(&flower, "README.md", &format!("round {round}\n"));
        git(&flower, &flower.repo, &["tag", &format!("t{round}"), &main]);
    }
    let lender = format!("file://{}", flower.repo.display());
    git(&flower, flower.dir(), &["clone", "--quiet", "--depth", "1", "--no-single-branch", &lender, "shallow"]);
    let sha256 = flower.dir().join("sha256");
    git(&flower, flower.dir(), &["init", "--quiet", "--object-format", "sha256", "--initial-branch", "main", "sha256"]);
    flower.git(&sha256, &["commit", "--quiet", "--allow-empty", "--message", "begin"]);
    let script = "git log --stat && git fsck --no-dangling && echo x > x && git add x && git -c user.name=T -c user.email=t@e commit -qm x";
    for name in ["shallow", "sha256"] {
        let repo = flower.dir().join(name);
        flower.json_in(&repo, &["init", "--no-settings"]);
        flower.json_in(&repo, &["worktree", "new", "one"]);
        let output = flower.run_in(&repo, &["worktree", "shell", "one", "--", "sh", "-ec", script]);
        assert_eq!(output.code, 0, "{name}: {output:?}");
        assert_eq!(flower.json_in(&repo, &["worktree", "show", "one"])["ahead"], 1);
    }
    // Once it is deeper, new worktrees have all of it, and older ones go on.
    let shallow = flower.dir().join("shallow");
    git(&flower, &shallow, &["fetch", "--quiet", "--unshallow"]);
    flower.json_in(&shallow, &["worktree", "new", "two"]);
    let count = "git fsck --no-dangling; git rev-list --count HEAD";
    let deep = flower.run_in(&shallow, &["worktree", "shell", "two", "--", "sh", "-ec", count]);
    assert_eq!(deep.stdout, "4\n", "{deep:?}");
    let output =
        flower.run_in(&shallow, &["worktree", "shell", "one", "--", "sh", "-ec", "git fsck --no-dangling; git log"]);
    assert_eq!(output.code, 0, "{output:?}");
    // A ref whose object is lost is no reason to lend nothing.
    put(&flower, &shallow.join(".git/refs/remotes/origin/lost"), format!("{}\n", "1".repeat(40)));
    flower.json_in(&shallow, &["worktree", "new", "three"]);
    // One without commits has nothing to lend.
    git(&flower, flower.dir(), &["init", "--quiet", "--initial-branch", "main", "empty"]);
    flower.json_in(&flower.dir().join("empty"), &["init", "--no-settings"]);
    let refused = flower.run_in(&flower.dir().join("empty"), &["worktree", "new", "one"]);
    assert!(refused.stderr.contains("no commits yet"), "{refused:?}");
}

#[test]
fn a_copy_goes_with_its_project() {
    let flower = with_one(&[]);
    assert!(flower.home.join("objects/repo").exists());
    remove(&flower, "one");
    flower.ok(&["project", "remove", "repo"]);
    assert!(!flower.home.join("objects/repo").exists());
}

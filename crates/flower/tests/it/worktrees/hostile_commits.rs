//! A commit made inside a sealed worktree can be a bomb, or have names that harm a checkout. It
//! stays inside, MAIN's repository is the same to the last file, and once it is mended the work comes out.

use super::*;
use crate::common::skip::skip_in_this_run;
use serde_json::json;
use std::time::{Duration, Instant};

/// Each makes `$tree`, a tree that must not come out, and what is said of it. `$blob` is a file of some bytes.
const HOSTILE: &[(&str, &str, &str)] = &[
    (
        "a folder .git",
        "inner=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree)
         tree=$(printf '040000 tree %s\\t.git\\n' $inner | git mktree)",
        "named like git's own `.git`",
    ),
    ("a file .GIT", "tree=$(printf '100644 blob %s\\t.GIT\\n' $blob | git mktree)", "named like git's own `.git`"),
    ("a file git~1", "tree=$(printf '100644 blob %s\\tgit~1\\n' $blob | git mktree)", "named like git's own `.git`"),
    (
        "a folder ..",
        "tree=$(printf '040000 tree %s\\t..\\n' $(git mktree </dev/null) | git mktree)",
        "out of its folder",
    ),
    ("a name with a slash", "tree=$(git hash-object -t tree --literally -w slash)", "out of its folder"),
    (
        "a submodule whose address is an option",
        "tree=$(submodule '-u./payload')",
        "disallowed submodule url: -u./payload",
    ),
    (
        "a submodule whose address is a program",
        "tree=$(submodule 'ext::sh -c id')",
        "would run a program: `ext::sh -c id`",
    ),
    (
        "a list of submodules that is a link",
        "tree=$(printf '120000 blob %s\\t.gitmodules\\n' $blob | git mktree)",
        "symbolic link",
    ),
    (
        "files that differ in case",
        "tree=$(printf '100644 blob %s\\tNotes\\n100644 blob %s\\tnotes\\n' $blob $blob | git mktree)",
        "`Notes` and `notes` differ only in upper and lower case",
    ),
    (
        "folders that differ in case",
        "inner=$(printf '100644 blob %s\\ta\\n' $blob | git mktree)
         tree=$(printf '040000 tree %s\\tDir\\n040000 tree %s\\tdir\\n' $inner $inner | git mktree)",
        "`Dir` and `dir` differ",
    ),
    (
        "ten billion files",
        "tree=$(printf '100644 blob %s\\ta\\n' $blob | git mktree)
         for level in 0 1 2 3 4 5 6 7 8 9; do
             tree=$(for n in 0 1 2 3 4 5 6 7 8 9; do printf '040000 tree %s\\t%s\\n' $tree $n; done | git mktree)
         done",
        "more than 200000 files",
    ),
    (
        "more files than the limit",
        "tree=$(seq 200002 | sed \"s/^/100644 blob $blob\\tf/\" | git mktree)",
        "more than 200000 files",
    ),
    (
        "a commit without its files",
        "tree=$(printf '100644 blob 1234567890123456789012345678901234567890\\ta\\n' | git mktree --missing)",
        "git finds fault",
    ),
];

/// A commit of `$tree` on the worktree's branch; the working tree stays as it is.
const COMMIT: &str =
    "git update-ref refs/heads/flower/one $(git commit-tree -p refs/heads/flower/one -m hostile $tree)";

fn plant(flower: &Flower, script: &str) {
    let prepared = "blob=$(echo content | git hash-object -w --stdin)
         submodule() {
             list=$(printf '[submodule \"x\"]\\n\\tpath = x\\n\\turl = %s\\n' \"$1\" | git hash-object -w --stdin)
             printf '100644 blob %s\\t.gitmodules\\n' $list | git mktree
         }";
    inside_ok(flower, "one", &format!("{prepared}\n{script}\n{COMMIT}"));
}

/// Nothing of it is in MAIN's repository, the reason is said with the way out, and it is not tried again and again.
fn assert_stays_inside(flower: &Flower, what: &str, words: &str, before: &Snapshot, branch: &str) {
    let one = show(flower, "one");
    assert_eq!(one["state"], "ready", "{what}: {one}");
    let notes = one["notes"].to_string();
    assert!(notes.contains(words) && notes.contains("flower worktree shell one"), "{what}: `{words}`: {notes}");
    assert_eq!(git(flower, &flower.repo, &["rev-parse", "flower/one"]), branch, "{what}");
    let after = snapshot(&flower.repo.join(".git/objects"));
    assert_eq!(differences(before, &after), [""; 0], "{what}");
    let again = Instant::now();
    assert_eq!(show(flower, "one")["notes"], one["notes"], "{what}");
    assert!(again.elapsed() < Duration::from_secs(2), "{what}: it was looked through again");
    assert_main_is_whole(flower);
}

/// The branch inside goes back to where it was, and one good commit on it comes out.
fn assert_heals(flower: &Flower, what: &str, branch: &str) {
    inside_ok(
        flower,
        "one",
        &format!("git update-ref refs/heads/flower/one {branch}; git commit -q --allow-empty -m mended"),
    );
    let one = show(flower, "one");
    assert_eq!(one["notes"], json!([]), "{what}: {one}");
    assert_eq!(git(flower, &flower.repo, &["log", "-1", "--format=%s", "flower/one"]), "mended", "{what}");
}

fn branch_and_objects(flower: &Flower) -> (String, Snapshot) {
    show(flower, "one");
    let branch = git(flower, &flower.repo, &["rev-parse", "flower/one"]);
    (branch, snapshot(&flower.repo.join(".git/objects")))
}

#[test]
fn names_that_harm_a_checkout_stay_inside() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        // git makes no such tree: a name with a slash, and an empty file.
        let empty = inside_ok(flower, "one", "git hash-object -w -t blob /dev/null");
        let mut slash = b"100644 a/../b\0".to_vec();
        slash.extend((0..empty.len()).step_by(2).map(|at| u8::from_str_radix(&empty[at..at + 2], 16).unwrap()));
        put(flower, &tree(flower, "one").join("slash"), slash);
        for (what, script, words) in HOSTILE {
            let (branch, before) = branch_and_objects(flower);
            plant(flower, script);
            assert_stays_inside(flower, what, words, &before, &branch);
            assert_heals(flower, what, &branch);
        }
    });
}

#[test]
fn what_main_has_itself_is_not_held_against_a_worktree() {
    let flower = served();
    for path in ["Notes", "notes"] {
        commit_in_main(&flower, path, path);
    }
    new(&flower, "one", &[]);
    inside_ok(&flower, "one", "echo x > x; git add x; git commit -qm x");
    assert_eq!(show(&flower, "one")["notes"], json!([]));
    inside_ok(&flower, "one", "echo x > X; git add X; git commit -qm X");
    says(&show(&flower, "one")["notes"], "`X` and `x` differ only");
    inside_ok(&flower, "one", "git rm -q X; git commit -qm mended");
    assert_eq!(show(&flower, "one")["notes"], json!([]));
    assert_eq!(show(&flower, "one")["ahead"], 3);
}

/// Only the branch that is wanted is asked for.
#[test]
fn a_million_refs_cost_nothing() {
    let flower = with_one(&[]);
    let refs = git(&flower, &flower.repo, &["for-each-ref"]);
    inside_ok(
        &flower,
        "one",
        "head=$(git rev-parse HEAD); { echo '# pack-refs with: peeled fully-peeled sorted '
         seq -f \"$head refs/heads/r%07.0f\" 1000000; } > $(git rev-parse --git-dir)/packed-refs
         echo x > x; git add x; git commit -qm x",
    );
    let start = Instant::now();
    let one = show(&flower, "one");
    assert!(start.elapsed() < HANG, "{:?}", start.elapsed());
    assert_eq!((&one["ahead"], &one["notes"]), (&json!(1), &json!([])), "{one}");
    let own =
        |all: &str| all.lines().filter(|line| !line.ends_with("flower/one")).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(own(&git(&flower, &flower.repo, &["for-each-ref"])), own(&refs));
    assert_main_is_whole(&flower);
}

#[test]
fn a_pack_that_unpacks_to_far_more_stays_inside() {
    let flower = with_one(&[]);
    let (branch, before) = branch_and_objects(&flower);
    plant(
        &flower,
        "truncate -s 1100M /tmp/zeros; blob=$(git -c core.compression=1 hash-object -w /tmp/zeros); rm /tmp/zeros
         tree=$(printf '100644 blob %s\\tzeros\\n' $blob | git mktree)",
    );
    assert_stays_inside(&flower, "zeros", "has more than 1 GB", &before, &branch);
    assert_heals(&flower, "zeros", &branch);
}

/// A hundred kilobytes that say how to make more than two gigabytes of sixty-four kilobytes.
#[test]
fn a_delta_that_explodes_stays_inside() {
    let flower = with_one(&[]);
    let (branch, before) = branch_and_objects(&flower);
    let zeros = vec![0; 65535];
    put(&flower, &flower.dir().join("zeros"), &zeros);
    let base = git(&flower, flower.dir(), &["hash-object", "zeros"]);
    let pack = exploding_pack(&zeros, &base, 36_000);
    assert!(pack.len() < 250_000);
    put(&flower, &tree(&flower, "one").join("bomb"), with_sha1(&flower, pack));
    plant(
        &flower,
        &format!(
            "git config core.bigFileThreshold 10g; pack=$(git index-pack --stdin < bomb | cut -f2); rm bomb
             blob=$(git show-index < $(git rev-parse --git-dir)/objects/pack/pack-$pack.idx | grep -v {base} | cut -d' ' -f2)
             tree=$(printf '100644 blob {base}\\tbase\\n100644 blob %s\\tbomb\\n' $blob | git mktree)"
        ),
    );
    assert_stays_inside(&flower, "a difference", "takes more than 2 GB of memory", &before, &branch);
    assert_heals(&flower, "a difference", &branch);
}

#[test]
fn more_than_the_limits_allow_stays_inside() {
    // It writes more than four gigabytes.
    if !is_soak() {
        return skip_in_this_run("only `cargo xtask test --soak` runs it");
    }
    let flower = with_one(&[]);
    let (branch, before) = branch_and_objects(&flower);
    plant(
        &flower,
        "git config core.compression 0; git config pack.compression 0
         for n in 1 2 3; do
             truncate -s 75${n}M /tmp/zeros
             printf '100644 blob %s\\tzeros%s\\n' $(git hash-object -w /tmp/zeros) $n >> /tmp/list
         done
         tree=$(git mktree < /tmp/list); rm /tmp/zeros /tmp/list",
    );
    // A look reports that meanwhile. The import ends: flower gives up after ten minutes.
    while show(&flower, "one")["notes"].to_string().contains("still being imported") {}
    assert_stays_inside(&flower, "two gigabytes", "more than 2 GB", &before, &branch);
    assert_heals(&flower, "two gigabytes", &branch);
}

/// One git stays at unpacking what comes out of `one`, for as long as the test lasts.
#[test]
fn a_worktree_that_takes_long_keeps_no_other_waiting() {
    let flower = with_one(&[]);
    new(&flower, "two", &[]);
    let reached = super::crashes::with_git(&flower, "*tmp_objdir-flower-one:*index-pack*");
    let commit = "echo x > x && git add x && git commit -qm x";
    let _one = Running::after(&flower, "one", commit);
    eventually("it is under way", || reached.exists().then_some(()));
    let _two = Running::after(&flower, "two", commit);
    eventually("the other one is mirrored", || {
        (git(&flower, &flower.repo, &["log", "-1", "--format=%s", "flower/two"]) == "x").then_some(())
    });
    says(&show(&flower, "one")["notes"], "still being imported");
    says(&show(&flower, "one")["notes"], "flower worktree show one");
    flower.ok(&["down"]);
}

/// A pack with `base`, and an object that is `times` of it one after the other.
fn exploding_pack(base: &[u8], base_name: &str, times: usize) -> Vec<u8> {
    let mut recipe = Vec::new();
    number(&mut recipe, base.len());
    number(&mut recipe, base.len() * times);
    let size = u16::try_from(base.len()).unwrap().to_le_bytes();
    for _ in 0..times {
        // Copy so many bytes from the beginning.
        recipe.extend([0x80 | 0x10 | 0x20, size[0], size[1]]);
    }
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x02".to_vec();
    object(&mut pack, 3, base.len());
    pack.extend(uncompressed(base));
    object(&mut pack, 7, recipe.len());
    pack.extend((0..base_name.len()).step_by(2).map(|at| u8::from_str_radix(&base_name[at..at + 2], 16).unwrap()));
    pack.extend(uncompressed(&recipe));
    pack
}

/// Seven bits in each byte, the lowest first.
fn number(to: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        to.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// An object's beginning: what it is, and how long.
fn object(to: &mut Vec<u8>, sort: u8, size: usize) {
    let more = if size > 0xf { 0x80 } else { 0 };
    to.push(more | (sort << 4) | (size & 0xf) as u8);
    if more != 0 {
        number(to, size >> 4);
    }
}

/// In the form that git expects, without any compression.
fn uncompressed(data: &[u8]) -> Vec<u8> {
    let mut out = vec![0x78, 0x01];
    let blocks = data.chunks(65535).count();
    for (n, block) in data.chunks(65535).enumerate() {
        let length = u16::try_from(block.len()).unwrap();
        out.push(u8::from(n + 1 == blocks));
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend(block);
    }
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in data {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    out.extend(((b << 16) | a).to_be_bytes());
    out
}

fn with_sha1(flower: &Flower, mut pack: Vec<u8>) -> Vec<u8> {
    let file = flower.dir().join("unsigned");
    put(flower, &file, &pack);
    let output = Command::new("sha1sum").arg(file).output().expect("sha1sum runs");
    let text = String::from_utf8(output.stdout).unwrap();
    pack.extend((0..40).step_by(2).map(|at| u8::from_str_radix(&text[at..at + 2], 16).unwrap()));
    pack
}

//! Attacks on MAIN from inside a sealed worktree. Each attempt fails, and MAIN is the same afterwards, down to its
//! times and attributes.

use super::*;
use std::collections::HashSet;

/// Each must fail. `$M` is MAIN, `$W` the worktree.
const ATTACKS: &[&str] = &[
    "echo x > $M/README.md",
    "echo x >> $M/README.md",
    "truncate -s 0 $M/README.md",
    "cp README.md $M/README.md",
    "dd if=/dev/zero of=$M/README.md bs=1 count=1 conv=notrunc",
    "echo x > $M/new",
    "mkdir $M/dir",
    "mkfifo $M/fifo",
    "ln -s /etc/passwd $M/link",
    "rm $M/README.md",
    "rm -rf $M/.git",
    "rmdir $M/.git/objects",
    "mv $M/README.md $M/moved",
    "mv README.md $M/",
    "mv $M $M-moved",
    "ln $M/README.md stolen",
    "ln $M/.git/HEAD stolen",
    "ln README.md $M/planted",
    "ln -s $M/README.md through && echo x > through",
    "ln -s $M dir-through && echo x > dir-through/new",
    "echo x > /proc/self/root$M/README.md",
    "echo x > /proc/1/root$M/README.md",
    "echo x > /proc/$PPID/root$M/README.md",
    "echo x > /proc/self/cwd/../../../../repo/README.md",
    "exec 9<$M && echo x > /proc/self/fd/9/new",
    "echo x > ../../../../repo/README.md",
    "echo 'ref: refs/heads/x' > $M/.git/HEAD",
    "echo x > $M/.git/index",
    "echo x > $M/.git/index.lock",
    "printf '[core]\\n\\tfsmonitor = /bin/true\\n' >> $M/.git/config",
    "mkdir -p $M/.git/hooks && echo x > $M/.git/hooks/post-checkout",
    "echo x > $M/.git/packed-refs",
    "echo x > $M/.git/refs/heads/main",
    "mkdir -p $M/.git/refs/heads && git rev-parse HEAD > $M/.git/refs/heads/evil",
    "echo x > $M/.git/objects/evil",
    "mkdir $M/.git/objects/zz",
    "echo x > $M/.git/objects/info/alternates",
    "for o in $(find $M/.git/objects -type f); do rm -f $o && exit 0; done; exit 1",
    "for o in $(find $M/.git/objects -type f); do chmod u+w $o && exit 0; done; exit 1",
    "for o in $(find $M/.git/objects -type f); do ln $o stolen && exit 0; done; exit 1",
    "echo x > $M/.git/worktrees/one/HEAD",
    "echo x > $M/.git/worktrees/one/commondir",
    "git -C $M commit --allow-empty -m x",
    "git -C $M update-ref refs/heads/main HEAD",
    "git --git-dir $M/.git update-ref refs/heads/evil $(git rev-parse HEAD)",
    "git -C $M reset --hard",
    "git -C $M gc --prune=now",
    "git -C $M config user.name evil",
    "git push $M HEAD:refs/heads/evil",
    "git push --force $M HEAD:main",
    "git push origin HEAD:main",
    "GIT_DIR=$M/.git git branch evil",
    "GIT_OBJECT_DIRECTORY=$M/.git/objects git hash-object -w README.md",
    "git worktree add $M/sub HEAD",
    "git init $M",
    // Modes, owners, times and attributes.
    "chmod 0777 $M/README.md",
    "chmod 0777 $M",
    "chmod 0777 $M/.git/objects",
    "chown 12345 $M/README.md",
    "chown 12345 $M",
    "touch $M/README.md",
    "touch -d '2001-01-01' $M",
    "touch -d '2001-01-01' $M/.git/objects",
    "setfattr -n user.evil -v x $M/README.md",
    "setfattr -n user.evil -v x $M/.git/objects",
    "mount --bind / $M",
    "mount -o remount,rw $M",
    "umount $M",
    "umount -l $M/.git/objects",
    "unshare -m umount $M",
    "unshare -r -m umount $M",
    "nsenter -t 1 -m touch $M/new",
    "chroot / touch $M/new",
    // Its own other parts, as the operator and flower know them.
    "cat $H/token",
    "cat $H/flower.db",
    "ls $H/archive",
    "cat $H/seals/repo/one/jail.json",
    "cat $H/port",
    "rm -f .git",
    "mv .git elsewhere",
    "echo x > .git",
    "cat $H/worktrees/repo/two/README.md",
    "echo x > $H/worktrees/repo/two/new",
    "echo x > $H/seals/repo/two/private.git/HEAD",
    "echo x > $H/playbooks/repo/house-rules.md",
    "echo x > .flower/house-rules.md",
];

/// Where flower's home lies below `/tmp`, these write to the jail's own; what counts is what happens outside.
const IN_VAIN: &[&str] = &["token", "port", "seals/repo/one/mirrored", "seals/repo/one/gitfile", "seals/repo/one/lock"];

/// Everything about every file: content, permissions, owner, times, links, extended attributes.
fn everything(root: &Path) -> BTreeMap<OsString, String> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![root.to_owned()];
    while let Some(path) = waiting.pop() {
        let found = fs::symlink_metadata(&path).expect("it is there");
        if found.is_dir() {
            waiting.extend(fs::read_dir(&path).expect("readable").flatten().map(|entry| entry.path()));
        }
        let content = if found.is_file() {
            flower_core::chain::sha256(&fs::read(&path).expect("readable"))
        } else {
            String::new()
        };
        let mut names = vec![0; 1024];
        let count = rustix::fs::llistxattr(&path, &mut names[..]).unwrap_or(0);
        let facts = (
            found.mode(),
            found.uid(),
            found.gid(),
            found.nlink(),
            found.ino(),
            found.mtime(),
            found.mtime_nsec(),
            found.ctime(),
            found.ctime_nsec(),
        );
        all.insert(path.into(), format!("{facts:?} {count} {content}"));
    }
    all
}

#[test]
fn every_attack_on_main_fails() {
    as_each_user(|flower| {
        new(flower, "one", &[]);
        new(flower, "two", &[]);
        put(flower, &flower.repo.join("ignored"), "secret");
        fs::write(flower.repo.join(".git/info/exclude"), "ignored\n.flower/\n").unwrap();
        flower.git(&flower.repo, &["status"]);
        inside_ok(flower, "one", "true");
        show(flower, "two");
        let others = [flower.repo.clone(), tree(flower, "two"), private(flower, "two"), flower.home.join("playbooks")];
        let before: Vec<_> = others.iter().map(|place| everything(place)).collect();
        let mut script = format!("M={} W=$PWD H={}\n", flower.repo.display(), flower.home.display());
        for attack in ATTACKS {
            script.push_str(&format!(
                "if ( {attack} ) >/dev/null 2>&1 </dev/null; then echo 'SUCCEEDED: {}'; fi\n",
                attack.replace('\'', "\"")
            ));
            // What an attack leaves in its own worktree is not the next one's concern.
            script.push_str("git checkout -q -- . 2>/dev/null; git clean -qfdx 2>/dev/null\n");
        }
        let home: Vec<_> =
            IN_VAIN.iter().map(|file| (flower.home.join(file), fs::read(flower.home.join(file)).unwrap())).collect();
        for file in IN_VAIN {
            script.push_str(&format!("( rm -f $H/{file}; echo x > $H/{file} ) 2>/dev/null\n"));
        }
        script.push_str("echo done");
        let output = flower.run(&["worktree", "shell", "one", "--", "sh", "-c", &script]);
        assert_eq!(output.stdout, "done\n", "{}", output.stderr);
        for (place, before) in others.iter().zip(before) {
            let after = everything(place);
            let changed: Vec<_> = before.iter().filter(|(path, facts)| after.get(*path) != Some(*facts)).collect();
            assert!(changed.is_empty() && before.len() == after.len(), "{} changed: {changed:?}", place.display());
        }
        for (file, content) in home {
            assert_eq!(fs::read(&file).unwrap(), content, "{}", file.display());
        }
        assert_eq!(show(flower, "one")["state"], "ready");
        assert_main_is_whole(flower);
    });
}

#[test]
fn a_fresh_worktree_shares_no_inode_with_main() {
    as_each_user(|flower| {
        for n in 0..20 {
            commit_in_main(flower, &format!("dir/file{n}"), &format!("{n}"));
        }
        commit_in_main(flower, "flower.toml", "[worktree]\ncarry = [\"target\"]\nplaybooks = [\"notes.md\"]\n");
        fs::write(flower.repo.join(".git/info/exclude"), "target\nnotes.md\n").unwrap();
        put(flower, &flower.repo.join("target/debug/built"), "built");
        put(flower, &flower.repo.join("notes.md"), "notes");
        fs::hard_link(flower.repo.join("target/debug/built"), flower.repo.join("target/built")).unwrap();
        let inodes = |root: &Path| {
            let mut all = HashSet::new();
            let mut waiting = vec![root.to_owned()];
            while let Some(path) = waiting.pop() {
                let found = fs::symlink_metadata(&path).unwrap();
                if found.is_dir() {
                    waiting.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
                } else {
                    all.insert((found.dev(), found.ino(), found.nlink()));
                }
            }
            all
        };
        let main = inodes(&flower.repo);
        for (name, seal) in [("one", "--sealed"), ("two", "--linked")] {
            new(flower, name, &[seal]);
            let own = flower.home.join("seals/repo").join(name);
            for place in [tree(flower, name), own, flower.home.join("playbooks")] {
                let found = inodes(&place);
                assert!(found.iter().all(|(_, _, links)| *links == 1), "{}", place.display());
                assert!(found.is_disjoint(&main), "{}", place.display());
            }
        }
    });
}

//! FLOWER_HOME and projects below a folder that every jail reads, such as `/usr`: nothing of them is seen from inside but what
//! belongs to the worktree.

use super::*;

#[test]
fn flower_and_projects_below_a_listed_folder_are_not_seen_inside() {
    crate::reliability::namespace::with_mounts(
        "worktrees::listed_places::flower_and_projects_below_a_listed_folder_are_not_seen_inside",
        || {
            let listed = Path::new("/usr/src");
            // Only in this namespace: nothing of it is left on the machine.
            crate::reliability::namespace::mount_tmpfs(listed, 256 * 1024);
            fs::set_permissions(listed, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            for (name, flower) in [("root", Some(Flower::new())), ("user", Flower::of_ordinary_user())] {
                let Some(mut flower) = flower else { continue };
                let base = listed.join(name);
                fs::create_dir(&base).unwrap();
                flower.give(&base);
                flower.home = base.join("home");
                nothing_is_seen(&flower, &flower.make_repository(base.join("other").to_str().unwrap()));
            }
        },
    );
}

fn nothing_is_seen(flower: &Flower, other: &Path) {
    put(flower, &other.join(".env"), "SECRET=canary\n");
    prepare(flower);
    let init = flower.run_in(other, &["init"]);
    assert_eq!(init.code, 0, "{init:?}");
    new(flower, "one", &[]);
    new(flower, "two", &[]);
    let home = flower.home.display();
    for path in [
        format!("{home}/token"),
        format!("{home}/flower.db"),
        format!("{home}/flower.sock"),
        format!("{home}/worktrees/repo/two"),
        format!("{home}/seals/repo/two"),
        format!("{}/.env", other.display()),
        format!("{}/.git", other.display()),
    ] {
        assert!(Path::new(&path).exists(), "{path} is no test at all");
        inside_ok(flower, "one", &format!("! test -e {path}; ! cat {path}"));
    }
    inside_ok(flower, "one", &format!("! touch {home}/x; ! mkdir {home}/worktrees/x; ! touch {}/x", other.display()));
    // What belongs to it is there as anywhere else.
    inside_ok(flower, "one", "cat README.md .flower/house-rules.md > both; git add both; git commit -qm both");
    assert_eq!(show(flower, "one")["ahead"], 1);
    flower.ok(&["down"]);
}

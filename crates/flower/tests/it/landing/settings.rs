//! `flower.toml` on its way into MAIN: what cannot be read does not land, and no landing lowers the bar for itself.

use super::*;

const OLD: &str = "[checks]\nold = { run = \"test ! -e bad\" }\n";

#[test]
fn a_misspelt_section_or_key_does_not_land() {
    let flower = serving(&[("flower.toml", OLD)]);
    let before = main_now(&flower);
    for (text, says_) in [
        ("[cheks]\nold = { run = \"true\" }\n", "`cheks` is not known; did you mean `checks`? in line 1"),
        ("[checks]\nold = { run = \"true\" }\n[land]\nhistroy = \"squash\"\n", "did you mean `history`?"),
        ("[land]\naprove = \"operator\"\n", "did you mean `approve`?"),
    ] {
        change(&flower, "one", "flower.toml", text);
        let landing = land(&flower, "one");
        assert_eq!(landing["state"], "rejected", "{landing:#}");
        says(&landing["reason"], says_);
        assert_main_is(&flower, &before, text);
    }
    let refused = flower.api("POST", "/api/main/settings?project=repo").json(&json!({ "text": "[cheks]\n" })).send();
    assert_eq!(refused.status, 422, "{}", refused.text());
}

#[test]
fn a_landing_that_changes_checks_says_which_and_passes_those_of_before() {
    let flower = serving(&[(
        "flower.toml",
        "[checks]\nold = { run = \"test ! -e bad\" }\nkept = { run = \"true\" }\n[land]\nretries = 0\n",
    )]);
    let text = "[checks]\nkept = { run = \"true\" }\nnew = { run = \"test -e new\" }\n[land]\nretries = 0\n";
    change(&flower, "one", "flower.toml", text);
    change(&flower, "one", "new", "x\n");
    change(&flower, "one", "bad", "x\n");
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    says(&held["reason"], "it removes the check `old` (`test ! -e bad`)");
    says(&held["reason"], "it adds the check `new` (`test -e new`)");
    flower.ok(&["queue", "approve", &number(&held).to_string()]);
    let red = becomes(&flower, number(&held), "rejected");
    says(&red["reason"], "the check `before-old` failed");
    says(&red["reason"], "--waive-checks");
    // Without what the old check minds, it lands.
    inside_ok(&flower, "one", "git rm -q bad; git commit -qm better");
    let held = land(&flower, "one");
    let landed = approve(&flower, number(&held));
    let names: Vec<&str> = landed["checks"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["kept", "new", "before-old"], "{landed:#}");
    change(&flower, "two", "bad", "x\n");
    lands(&flower, "two");
}

#[test]
fn a_check_that_can_only_fail_goes_with_the_operators_word() {
    let flower = serving(&[("flower.toml", "[checks]\nold = { run = \"false\" }\n[land]\nretries = 0\n")]);
    change(&flower, "one", "flower.toml", "[checks]\nold = { run = \"true\" }\n");
    let held = land(&flower, "one");
    says(&held["reason"], "it changes the check `old` from `false` to `true`");
    flower.ok(&["queue", "approve", &number(&held).to_string(), "--waive-checks"]);
    let landed = becomes(&flower, number(&held), "landed");
    assert_eq!(landed["checks"].as_array().unwrap().len(), 1, "{landed:#}");
}

#[test]
fn what_main_has_all_the_same_leaves_the_last_valid_version_in_force() {
    let flower = Flower::new();
    put(&flower, &flower.repo.join("flower.toml"), OLD);
    flower.git(&flower.repo, &["add", "flower.toml"]);
    flower.git(&flower.repo, &["commit", "--quiet", "--message", "valid"]);
    put(&flower, &flower.repo.join("flower.toml"), "[cheks]\nold = { run = \"true\" }\n");
    flower.git(&flower.repo, &["commit", "--quiet", "--all", "--message", "misspelt"]);
    prepare(&flower);
    flower.ok(&["project", "approve", "--yes"]);
    let inbox = flower.json(&["inbox"]);
    says(&inbox[0]["text"], "`cheks` is not known; did you mean `checks`?");
    says(&inbox[0]["text"], "stays in force");
    says(&flower.json(&["main"])["notes"], "stays in force");
    let status = flower.json(&["status"]);
    assert_eq!(status["inbox"], 1);
    says(&status["main"]["settings"], "stays in force");
    assert!(flower.ok(&["status"]).contains("stays in force"));
    change(&flower, "bad", "bad", "x\n");
    says(&land(&flower, "bad")["reason"], "the check `old` failed");
    change(&flower, "good", "good", "x\n");
    lands(&flower, "good");
    // What repairs it lands with approval, and then counts.
    change(
        &flower,
        "repair",
        "flower.toml",
        "[checks]\nold = { run = \"test ! -e bad\" }\nmore = { run = \"true\" }\n",
    );
    let held = land(&flower, "repair");
    assert_eq!(held["state"], "approval", "{held:#}");
    approve(&flower, number(&held));
    assert_eq!(flower.json(&["inbox"]), json!([]));
}

#[test]
fn without_any_valid_version_every_landing_waits() {
    let flower = serving(&[("flower.toml", "[cheks]\nold = { run = \"true\" }\n")]);
    says(&flower.json(&["inbox"])[0]["text"], "every landing waits for you");
    change(&flower, "one", "x", "x\n");
    let held = land(&flower, "one");
    assert_eq!(held["state"], "approval", "{held:#}");
    says(&held["reason"], "no earlier version of it is valid");
}

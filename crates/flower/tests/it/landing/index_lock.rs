//! Another git process holds MAIN's index: no landing moves MAIN before the lock is free, and then all do.

use super::*;

#[test]
fn nothing_moves_while_another_git_holds_the_index() {
    let flower = serving(&[]);
    new(&flower, "one", &[]);
    change(&flower, "one", "one.txt", "one\n");
    let lock = flower.repo.join(".git/index.lock");
    fs::write(&lock, "").unwrap();
    let before = tip(&flower);
    let number = queue(&flower, "one", &[]);
    eventually("it says who holds it up", || {
        let shown = landing(&flower, number);
        shown["reason"].as_str().is_some_and(|reason| reason.contains("index.lock")).then_some(())
    });
    assert_eq!(tip(&flower), before);
    fs::remove_file(&lock).unwrap();
    // It is tried again by itself.
    becomes(&flower, number, "landed");
    assert_eq!(fs::read_to_string(flower.repo.join("one.txt")).unwrap(), "one\n");
    assert_eq!(flower.json(&["main"])["state"], "stable");
}

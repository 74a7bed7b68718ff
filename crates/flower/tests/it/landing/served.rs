//! Readers of MAIN's files while a landing replaces them.

use super::*;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

#[test]
fn a_served_file_is_never_missing_while_it_is_replaced() {
    const LANDINGS: usize = 8;
    const LENGTH: usize = 200_000;
    let page = |letter: char| letter.to_string().repeat(LENGTH);
    let flower = serving(&[("site/index.html", &page('0')), ("site/old.txt", "old\n"), GREEN]);
    let (over, reads) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let file = flower.repo.join("site/index.html");
            while !over.load(Ordering::Relaxed) {
                let text = fs::read(&file).unwrap_or_else(|error| panic!("the page is gone: {error}"));
                let first = text.first().copied();
                assert_eq!(text.len(), LENGTH, "half a page");
                assert!(text.iter().all(|letter| Some(*letter) == first), "a page of two landings");
                reads.fetch_add(1, Ordering::Relaxed);
            }
        });
        for number in 1..=LANDINGS {
            let name = format!("w{number}");
            let letter = char::from_digit(number as u32, 10).expect("a digit");
            new(&flower, &name, &["--linked"]);
            put(&flower, &tree(&flower, &name).join(format!("site/new/{number}.txt")), "new\n");
            if number == 3 {
                fs::remove_file(tree(&flower, &name).join("site/old.txt")).expect("it is there");
            }
            change(&flower, &name, "site/index.html", page(letter));
            lands(&flower, &name);
        }
        over.store(true, Ordering::Relaxed);
        reader.join().expect("each read found a whole page");
    });
    assert!(reads.load(Ordering::Relaxed) > 100, "too few reads");
    assert!(!flower.repo.join("site/old.txt").exists());
    assert_eq!(fs::read_to_string(flower.repo.join("site/new/8.txt")).expect("it has landed"), "new\n");
    assert_eq!(git(&flower, &flower.repo, &["status", "--porcelain"]).trim(), "", "the index knows all of it");
    assert!(!flower.repo.join(".git/flower-staged").exists());
}

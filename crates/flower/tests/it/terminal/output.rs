//! From the screen outwards: it is on the disk, bounded, and every reader gets all of it.

use crate::terminal::world::{Session, World, pause, with_world};
use flower_engine::terminal::Terminal;
use std::fs;
use std::time::{Duration, Instant};

/// Everything from a position until the end, and where it began.
async fn all(terminal: &Terminal, after: u64) -> (u64, Vec<u8>) {
    let mut output = terminal.output(after);
    let (begin, mut bytes) = (output.position(), Vec::new());
    while let Some((at, more)) = output.next().await {
        assert_eq!(at, begin + bytes.len() as u64, "without a gap");
        assert!(more.len() <= 64 * 1024);
        bytes.extend(more);
    }
    (begin, bytes)
}

#[test]
fn readers_get_all_of_it_from_wherever_they_begin() {
    with_world(async |world| {
        let terminal = world.start(&["sh", "-c", "for i in 1 2 3 4 5; do echo line $i; sleep 0.05; done; exit 3"]);
        let expected = b"line 1\r\nline 2\r\nline 3\r\nline 4\r\nline 5\r\n".to_vec();
        let (one, two) = tokio::join!(all(&terminal, 0), all(&terminal, 0));
        assert_eq!(one, (0, expected.clone()));
        assert_eq!(two, one);
        assert_eq!(terminal.ended().await, 3);
        assert_eq!(all(&terminal, 8).await, (8, expected[8..].to_vec()));
        let end = expected.len() as u64;
        assert_eq!(all(&terminal, u64::MAX).await, (end, vec![]));
        assert!(fs::read(world.scrollback()).expect("on disk").ends_with(&expected));
        // Another one on the same file goes on.
        let next = world.start(&["echo", "again"]);
        assert_eq!(next.ended().await, 0);
        assert_eq!(all(&next, end).await, (end, b"again\r\n".to_vec()));
        assert_eq!(all(&next, 0).await, (0, [expected, b"again\r\n".to_vec()].concat()));
        assert_eq!(next.screen().await, end, "what another has shown is not on the screen");
    });
}

#[test]
fn the_screen_is_the_last_lines() {
    with_world(async |world| {
        let terminal = world.start(&["seq", "100"]);
        terminal.ended().await;
        let (_, bytes) = all(&terminal, terminal.screen().await).await;
        let text = String::from_utf8(bytes).expect("text");
        assert_eq!(text.lines().count(), 30, "{text}");
        assert!(text.starts_with("71\r\n") && text.ends_with("100\r\n"), "{text}");
    });
}

#[test]
fn a_prompt_is_shown_without_a_line_end() {
    with_world(async |world| {
        let mut session = Session::of(world.start(&["sh", "-c", "printf 'name? '; read name; echo hello $name"]));
        session.sees("name? ").await;
        pause(200).await;
        assert!(session.terminal.quiet_for() >= Duration::from_millis(150));
        let typed = Instant::now();
        session.types("you\n").await;
        session.sees("hello you").await;
        assert!(session.terminal.quiet_for() < typed.elapsed(), "new output ends the silence");
        assert_eq!(session.ends().await, 0);
    });
}

#[test]
fn nothing_is_written_or_shown_before_it_is_masked() {
    with_world(async |world| {
        let mask = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("s3cret-value", "***").into_bytes();
        // In the middle of what a terminal hands over at once, and in two pieces.
        let script = "head -c 4090 /dev/zero | tr '\\0' x; echo ' s3cret-value'; printf s3cret; printf -- '-value'; \
                      seq 20000 | sed 's/^/s3cret-value /'";
        let terminal = world.start_masked(&["sh", "-c", script], mask);
        let (_, bytes) = all(&terminal, 0).await;
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.contains("*** 20000") && !text.contains("s3cret"), "{}", &text[text.len() - 200..]);
        assert!(!String::from_utf8_lossy(&fs::read(world.scrollback()).expect("on disk")).contains("s3cret"));
    });
}

fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("ourselves");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the field");
    line.trim_matches([' ', '\t', 'k', 'B']).parse().expect("a number")
}

async fn flood_past(world: &World, terminal: &Terminal, bytes: u64) {
    let mut output = terminal.output(0);
    while output.position() < bytes {
        assert!(fs::metadata(world.scrollback()).expect("there").len() < (16 << 20) + 100);
        // Only now and then, so that this is a slow reader.
        pause(20).await;
        output = terminal.output(u64::MAX);
    }
}

#[test]
fn a_flood_is_bounded_on_disk_and_in_memory() {
    with_world(async |world| {
        let terminal = world.start(&["yes", "a line that is neither short nor long"]);
        let mut slow = terminal.output(0);
        slow.next().await.expect("something");
        flood_past(&world, &terminal, 4 << 20).await;
        let before = memory();
        flood_past(&world, &terminal, 80 << 20).await;
        assert!(memory() < before + 16 * 1024, "{before} kB, then {} kB", memory());
        let expected = slow.position();
        let (at, bytes) = slow.next().await.expect("something");
        assert!(at > expected && bytes.len() <= 64 * 1024, "the slow one goes on with the oldest that is there");
        terminal.stop().await;
        let (begin, bytes) = all(&terminal, 0).await;
        assert!(begin > 0 && bytes.len() >= 8 << 20 && bytes.len() <= 16 << 20, "{begin} {}", bytes.len());
    });
}

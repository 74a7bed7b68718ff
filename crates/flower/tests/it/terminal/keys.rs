//! From the keyboard inwards: a shell works as on any terminal.

use crate::terminal::world::{Session, pause, with_world};
use flower_engine::terminal::Size;
use std::io;
use std::time::{Duration, Instant};

#[test]
fn a_shell_has_a_terminal_and_job_control() {
    with_world(async |world| {
        let mut shell = world.shell().await;
        shell.types("tty; echo term=$TERM given=$GIVEN kept=[$KEPT_OUT]\n").await;
        shell.sees("/dev/console").await;
        shell.sees("term=xterm-256color given=present kept=[]").await;
        shell.types("sleep 600\n").await;
        shell.sees("sleep 600").await;
        pause(300).await;
        shell.types("\x03").await;
        shell.sees("ready> ").await;
        shell.types("echo code=$?\n").await;
        shell.sees("code=130").await;
        shell.types("sleep 601\n").await;
        shell.sees("sleep 601").await;
        pause(300).await;
        shell.types("\x1a").await;
        shell.sees("Stopped").await;
        shell.sees("ready> ").await;
        shell.types("fg\n").await;
        shell.sees("sleep 601").await;
        pause(300).await;
        shell.types("\x03").await;
        shell.sees("ready> ").await;
        shell.types("exit 7\n").await;
        assert_eq!(shell.ends().await, 7);
        assert_eq!(shell.terminal.ended().await, 7, "a later question has the same answer");
        assert!(shell.terminal.write(b"x").await.is_err(), "the reader has ended");
    });
}

#[test]
fn the_size_follows() {
    with_world(async |world| {
        let mut shell = world.shell().await;
        shell.types("stty size; trap 'echo resized' WINCH\n").await;
        shell.sees("30 90").await;
        shell.sees("ready> ").await;
        let size = Size { columns: 77, rows: 33 };
        shell.terminal.resize(size).expect("resized");
        assert_eq!(shell.terminal.size(), size);
        shell.sees("resized").await;
        shell.types("stty size\n").await;
        shell.sees("33 77").await;
        for wrong in [Size { columns: 0, rows: 33 }, Size { columns: 77, rows: 0 }] {
            assert_eq!(shell.terminal.resize(wrong).map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
        }
        shell.terminal.stop().await;
    });
}

#[test]
fn ctrl_c_reaches_a_command_without_a_shell() {
    with_world(async |world| {
        let mut session = Session::of(world.start(&["sh", "-c", "echo begun; exec sleep 600"]));
        session.sees("begun").await;
        pause(100).await;
        session.types("\x03").await;
        assert_eq!(session.ends().await, 130);
    });
}

#[test]
fn long_input_arrives_whole_and_in_order() {
    with_world(async |world| {
        let script = "stty raw -echo; echo go; head -c 60000 | sha256sum";
        let mut session = Session::of(world.start(&["sh", "-c", script]));
        session.sees("go").await;
        let keys: Vec<u8> = (0..60_000_u32).map(|at| b'a' + u8::try_from(at * at % 23).expect("small")).collect();
        session.terminal.write(&keys).await.expect("typed");
        use sha2::Digest;
        let hash: String = sha2::Sha256::digest(&keys).iter().map(|byte| format!("{byte:02x}")).collect();
        session.sees(&hash).await;
        assert_eq!(session.ends().await, 0);
    });
}

#[test]
fn keys_to_a_program_that_does_not_read_time_out() {
    with_world(async |world| {
        let mut session = Session::of(world.start(&["sh", "-c", "stty raw -echo; echo go; exec sleep 600"]));
        session.sees("go").await;
        let begun = Instant::now();
        let mut answers = Vec::new();
        for _ in 0..4 {
            answers.push(session.terminal.write(&[b'x'; 64 * 1024]).await.map_err(|error| error.kind()));
            if answers.last().is_some_and(Result::is_err) {
                break;
            }
        }
        assert_eq!(answers.last(), Some(&Err(io::ErrorKind::TimedOut)), "{answers:?}");
        assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
        let too_much = session.terminal.write(&[b'x'; 64 * 1024 + 1]).await;
        assert_eq!(too_much.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidInput));
        session.terminal.stop().await;
        assert_eq!(session.ends().await, 143);
    });
}

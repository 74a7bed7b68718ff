use super::*;

fn shell(script: &str, deadline: Duration) -> Program {
    Program::new("sh", deadline).args(["-c", script])
}

#[test]
fn output_is_what_was_written_to_standard_output() {
    let output = shell("echo answer; echo noise >&2", seconds(30)).output();
    assert_eq!(output.as_deref(), Ok("answer\n"));
}

#[test]
fn a_failure_names_the_command_and_what_it_complained_about() {
    let message = shell("echo broken >&2; exit 3", seconds(30)).output().unwrap_err();
    assert!(message.contains("sh -c"), "{message}");
    assert!(message.contains("exit status: 3"), "{message}");
    assert!(message.ends_with("broken"), "{message}");
}

#[test]
fn a_missing_program_is_named() {
    let message = Program::new("no-such-program", seconds(30)).output().unwrap_err();
    assert!(message.contains("no-such-program: not found"), "{message}");
}

#[test]
fn the_deadline_ends_grandchildren_too() {
    let start = Instant::now();
    let message = shell("sleep 60 & sleep 60", Duration::from_millis(200)).output().unwrap_err();
    assert!(message.contains("still running after 0.2 s"), "{message}");
    // `output` has read the pipes to their end, so no process holds them open.
    assert!(start.elapsed() < seconds(30));
}

//! The hostile program, made from `attacks.c`.

use crate::common::Output;
use crate::jail::world::World;
use std::process::Command;

impl World {
    /// Puts the program into the worktree, as `attacks`.
    pub fn arm(&self) {
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/jail/attacks.c");
        let mut compile = Command::new("cc");
        compile.args(["-O1", "-Wall", "-Werror", "-o"]).arg(self.path("worktree/attacks")).arg(source);
        assert!(compile.status().expect("a C compiler, which SQLite needs as well").success());
        self.own();
    }

    /// Runs it inside.
    pub fn attack(&self, args: &[&str]) -> Output {
        let program = [&["./attacks"], args].concat();
        self.jail(&program).output().expect("flower runs").into()
    }

    /// Runs it outside, to see that the attack is one.
    pub fn attack_from_outside(&self, args: &[&str]) -> Output {
        self.command(self.path("worktree/attacks")).args(args).output().expect("it runs").into()
    }

    /// Runs it inside; nothing of what it tries may succeed.
    pub fn all_refused(&self, args: &[&str], at_least: usize) {
        let output = self.attack(args);
        assert_eq!(output.code, 0, "{args:?}: {output:?}");
        let done: Vec<&str> = output.stdout.lines().filter(|line| line.ends_with(" done")).collect();
        assert!(done.is_empty(), "{args:?} {:?}: {done:?}", self.who);
        assert!(output.stdout.lines().count() >= at_least, "{args:?}: {output:?}");
    }
}

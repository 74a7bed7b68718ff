//! What the operator must hear of a `flower.toml`: how it differs from MAIN's, and what needs approval.

use super::{Approve, CheckSettings, Objects, Settings};
use flower_contract::view::NetworkMode;
use flower_core::pattern::Pattern;

impl Settings {
    /// Checks of `before` that these settings remove or change, as they were.
    pub fn dropped_checks(&self, before: &Settings) -> Vec<(String, CheckSettings)> {
        let differs = |(name, check): &&(String, CheckSettings)| self.check(name) != Some(check);
        before.checks.list.iter().filter(differs).cloned().collect()
    }

    /// Describes how checks and approval differ from `before`.
    pub fn differences(&self, before: &Settings) -> Vec<String> {
        let mut words = Vec::new();
        for (name, check) in &before.checks.list {
            match self.check(name) {
                None => words.push(format!("it removes the check `{name}` (`{}`)", check.run)),
                Some(now) if now.run != check.run => {
                    words.push(format!("it changes the check `{name}` from `{}` to `{}`", check.run, now.run));
                }
                Some(now) => words.extend(check_differences(name, check, now)),
            }
        }
        if self.checks.prepare != before.checks.prepare {
            words.push(match self.checks.prepare.is_empty() {
                true => "it prepares checks no longer (`[checks] prepare`)".to_owned(),
                false => format!("it prepares checks by `{}`", self.checks.prepare.join("`, `")),
            });
        }
        let added = self.checks.list.iter().filter(|(name, _)| before.check(name).is_none());
        words.extend(added.map(|(name, check)| format!("it adds the check `{name}` (`{}`)", check.run)));
        if before.land.approve == Approve::Operator && self.land.approve == Approve::Auto {
            words.push("it lands work without the operator's approval (`[land] approve`)".to_owned());
        }
        words
    }

    fn check(&self, name: &str) -> Option<&CheckSettings> {
        self.checks.list.iter().find(|(known, _)| known == name).map(|(_, check)| check)
    }

    /// Everything that needs approval: commands, and what opens a jail further than by default.
    pub fn commands(&self) -> Vec<String> {
        let prepare = self.checks.prepare.iter().map(|command| format!("prepare checks: {command}"));
        let checks = self.checks.list.iter().map(|(name, check)| format!("check {name}: {}", check.run));
        self.worktree.setup.iter().cloned().chain(prepare).chain(checks).chain(self.openings()).collect()
    }

    /// Describes what a jail shows and reaches beyond the default.
    pub fn openings(&self) -> Vec<String> {
        let network = (self.worktree.network == Some(NetworkMode::Open)).then(|| "(reach any network)".to_owned());
        let ports = self.worktree.connect.iter().map(|port| format!("(connect to port {port})"));
        let hosts = self.worktree.allow.iter().map(|host| format!("(reach {host})"));
        let places = self.worktree.read.iter().map(|path| format!("(read {})", path.display()));
        let objects =
            (self.worktree.objects == Objects::All).then(|| "(read all objects of MAIN's repository)".to_owned());
        network
            .into_iter()
            .chain(ports)
            .chain(hosts)
            .chain(places)
            .chain(objects)
            .chain(self.check_openings())
            .collect()
    }

    /// Describes which checks reach a network, which they do not by default.
    fn check_openings(&self) -> impl Iterator<Item = String> {
        let all = self.checks.network.into_iter().map(|network| ("checks".to_owned(), network));
        let own = self.checks.list.iter().filter_map(|(name, check)| Some((format!("check {name}"), check.network?)));
        all.chain(own).filter_map(|(who, network)| match network {
            NetworkMode::Closed => None,
            NetworkMode::Web => Some(format!("({who}: reach the web)")),
            NetworkMode::Open => Some(format!("({who}: reach any network)")),
        })
    }

    /// The digest that an approval refers to: it ends when a command changes.
    pub fn commands_sha256(&self) -> String {
        flower_core::worktree::commands_sha256(&self.commands())
    }
}

/// Describes how a check with the same command differs.
fn check_differences(name: &str, before: &CheckSettings, now: &CheckSettings) -> Vec<String> {
    let mut words = Vec::new();
    if now.timeout != before.timeout {
        let (from, to) = (before.timeout.as_secs(), now.timeout.as_secs());
        words.push(format!("it changes the time limit of the check `{name}` from {from} s to {to} s"));
    }
    if now.paths != before.paths {
        let paths: Vec<&str> = now.paths.iter().map(Pattern::as_str).collect();
        words.push(match paths.is_empty() {
            true => format!("it runs the check `{name}` for changes of any path"),
            false => format!("it runs the check `{name}` only for changes of `{}`", paths.join("`, `")),
        });
    }
    if now.network != before.network {
        words.push(format!("it changes the network of the check `{name}`"));
    }
    if now.reuse != before.reuse {
        words.push(format!("it changes whether green results of the check `{name}` are reused"));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_each_check() {
        let before =
            "[checks]\na = { run = \"x\" }\nb = { run = \"y\" }\nc = { run = \"z\" }\n[land]\napprove = \"operator\"";
        let after = "[checks]\nb = { run = \"true\" }\nc = { run = \"z\", timeout = \"1s\" }\nd = { run = \"w\" }";
        let (before, after) = (Settings::parse(before).unwrap(), Settings::parse(after).unwrap());
        assert_eq!(
            after.differences(&before),
            [
                "it removes the check `a` (`x`)",
                "it changes the check `b` from `y` to `true`",
                "it changes the time limit of the check `c` from 600 s to 1 s",
                "it adds the check `d` (`w`)",
                "it lands work without the operator's approval (`[land] approve`)",
            ]
        );
        let dropped: Vec<String> = after.dropped_checks(&before).into_iter().map(|(name, _)| name).collect();
        assert_eq!(dropped, ["a", "b", "c"]);
        assert!(before.differences(&before).is_empty() && before.dropped_checks(&before).is_empty());
        let narrower = Settings::parse("[checks]\nprepare = [\"p\"]\na = { run = \"x\", paths = [\"src\"] }").unwrap();
        let before = Settings::parse("[checks]\na = { run = \"x\" }").unwrap();
        let words = ["it runs the check `a` only for changes of `src`", "it prepares checks by `p`"];
        assert_eq!(
            (narrower.differences(&before), narrower.dropped_checks(&before).len()),
            (words.map(str::to_owned).to_vec(), 1)
        );
    }
}

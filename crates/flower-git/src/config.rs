//! Settings of a repository.

use crate::{GitError, ObjectId, Repo};

/// Name and address of the committer, if the settings have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub name: Option<String>,
    pub email: Option<String>,
}

/// Settings as the operator's own git reads them, where flower's commands use others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorsSettings {
    /// `core.hooksPath`.
    pub hooks_path: Option<String>,
    /// `commit.gpgSign`.
    pub signs_commits: bool,
    /// `core.sparseCheckout`.
    pub is_sparse: bool,
    /// Whether `filter.lfs` replaces pointers by contents.
    pub writes_lfs_contents: bool,
    /// Remotes that have objects which are missing here, as in a partial clone.
    pub promisors: Vec<String>,
}

impl OperatorsSettings {
    fn parse<'a>(mut items: impl Iterator<Item = &'a [u8]>) -> OperatorsSettings {
        let mut found = OperatorsSettings::default();
        while let (Some(scope), Some(item)) = (items.next(), items.next()) {
            // Flower's own overrides.
            if scope == b"command" {
                continue;
            }
            let text = String::from_utf8_lossy(item);
            // A key without a value is true.
            let (key, value) = text.split_once('\n').unwrap_or((&text, "true"));
            let is_true = matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1");
            match key {
                "core.hookspath" => found.hooks_path = Some(value.to_owned()).filter(|path| !path.is_empty()),
                "commit.gpgsign" => found.signs_commits = is_true,
                "core.sparsecheckout" => found.is_sparse = is_true,
                "filter.lfs.process" | "filter.lfs.smudge" => {
                    found.writes_lfs_contents = !value.is_empty() && !value.split(' ').any(|word| word == "--skip");
                }
                "extensions.partialclone" => found.add_promisor(value),
                _ => match key.strip_prefix("remote.").and_then(|key| key.strip_suffix(".promisor")) {
                    Some(remote) if is_true => found.add_promisor(remote),
                    _ => {}
                },
            }
        }
        found
    }

    fn add_promisor(&mut self, remote: &str) {
        if !self.promisors.iter().any(|known| known == remote) {
            self.promisors.push(remote.to_owned());
        }
    }
}

impl Repo {
    /// Settings as the operator's own git reads them.
    pub async fn operators_settings(&self) -> Result<OperatorsSettings, GitError> {
        const KEYS: &str = r"^(core\.(hookspath|sparsecheckout)|commit\.gpgsign|filter\.lfs\.(process|smudge)|extensions\.partialclone|remote\..*\.promisor)$";
        let args = ["config", "--null", "--show-scope", "--get-regexp", KEYS];
        let output = self.git().with_operators_settings().args(args).output().await?;
        Ok(OperatorsSettings::parse(output.items()))
    }

    /// The operator's identity, from the repository's settings or the operator's own.
    pub async fn identity(&self) -> Result<Identity, GitError> {
        let args = ["config", "--null", "--get-regexp", r"^user\.(name|email)$"];
        let output = self.git().with_operators_settings().args(args).output().await?;
        let mut identity = Identity::default();
        for item in output.items() {
            let text = String::from_utf8_lossy(item);
            match text.split_once('\n') {
                Some(("user.name", value)) => identity.name = Some(value.to_owned()),
                Some(("user.email", value)) => identity.email = Some(value.to_owned()),
                _ => {}
            }
        }
        Ok(identity)
    }

    /// A setting of the repository's own file; `None` if it is not set there.
    pub async fn local_setting(&self, key: &'static str) -> Result<Option<String>, GitError> {
        let output = self.git().args(["config", "--local", "--get", key]).output().await?;
        Ok((output.code == 0).then(|| output.line()))
    }

    /// Sets it in the repository's own file.
    pub async fn set_local(&self, key: &'static str, value: &str) -> Result<(), GitError> {
        self.git().args(["config", "--local", key, value]).run().await.map(drop)
    }

    /// Removes a setting from the repository's own file, and its section if it is empty then, which git would keep. Succeeds if it is not
    /// set.
    pub async fn unset_local(&self, section: &'static str, name: &'static str) -> Result<(), GitError> {
        self.git().args(["config", "--local", "--unset", &format!("{section}.{name}")]).output().await?;
        let others = ["config", "--local", "--get-regexp", &format!(r"^{section}\.")];
        if self.git().args(others).output().await?.code != 0 {
            self.git().args(["config", "--local", "--remove-section", section]).output().await?;
        }
        Ok(())
    }

    /// The addresses of submodules in this `.gitmodules`. Empty if it cannot be parsed.
    pub async fn submodule_addresses(&self, blob: &ObjectId) -> Result<Vec<String>, GitError> {
        let args = ["config", "--null", "--blob", blob.as_str(), "--get-regexp", r"^submodule\..*\.url$"];
        let output = self.git().args(args).output().await?;
        let address = |item: &[u8]| {
            let item = String::from_utf8_lossy(item);
            item.split_once('\n').map_or_else(String::new, |(_, address)| address.to_owned())
        };
        Ok(output.items().map(address).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_operator_are_read_without_those_of_flower() {
        let text = b"global\0commit.gpgsign\ntrue\0local\0core.hookspath\n.husky\0local\0core.sparsecheckout\0\
            local\0remote.a.b.promisor\ntrue\0local\0remote.c.promisor\nfalse\0local\0extensions.partialclone\na.b\0\
            command\0core.hookspath\n/dev/null\0command\0commit.gpgsign\nfalse\0";
        let expected = OperatorsSettings {
            hooks_path: Some(".husky".into()),
            signs_commits: true,
            is_sparse: true,
            writes_lfs_contents: false,
            promisors: vec!["a.b".into()],
        };
        assert_eq!(OperatorsSettings::parse(text.split(|&byte| byte == 0).filter(|item| !item.is_empty())), expected);
    }
}

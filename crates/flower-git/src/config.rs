//! Settings of a repository.

use crate::{GitError, ObjectId, Repo};

/// Name and address of the committer, if the settings have them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub name: Option<String>,
    pub email: Option<String>,
}

impl Repo {
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

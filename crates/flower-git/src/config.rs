//! Settings of a repository.

use crate::{GitError, ObjectId, Repo};

/// Who commits, as far as the settings say so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub name: Option<String>,
    pub email: Option<String>,
}

impl Repo {
    /// Who the operator is, by the repository's settings or their own.
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

    /// A setting of the repository's own file; nothing if it is not set there.
    pub async fn local_setting(&self, key: &'static str) -> Result<Option<String>, GitError> {
        let output = self.git().args(["config", "--local", "--get", key]).output().await?;
        Ok((output.code == 0).then(|| output.line()))
    }

    /// Sets it there.
    pub async fn set_local(&self, key: &'static str, value: &str) -> Result<(), GitError> {
        self.git().args(["config", "--local", key, value]).run().await.map(drop)
    }

    /// Takes a setting out of the repository's own file, and its section if nothing else is in it: git would leave that behind. That
    /// it is not there is no failure.
    pub async fn unset_local(&self, section: &'static str, name: &'static str) -> Result<(), GitError> {
        self.git().args(["config", "--local", "--unset", &format!("{section}.{name}")]).output().await?;
        let others = ["config", "--local", "--get-regexp", &format!(r"^{section}\.")];
        if self.git().args(others).output().await?.code != 0 {
            self.git().args(["config", "--local", "--remove-section", section]).output().await?;
        }
        Ok(())
    }

    /// The addresses of submodules that a `.gitmodules` of this object lists. None if it cannot be read.
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

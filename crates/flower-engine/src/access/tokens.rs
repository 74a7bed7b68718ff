//! Tokens for agents: lower rights than the operator's, shown once.

use crate::Access;
use crate::home::random_hex;
use flower_contract::error::Problem;
use flower_contract::view::{NewToken, TokenView};
use flower_core::chain::sha256;
use flower_core::policy::Read;
use flower_core::{Binding, BriefId, Caller, Command, Role, token};

impl Access {
    pub async fn issue_token(
        &self,
        caller: &Caller,
        agent: String,
        role: Role,
        brief: Option<BriefId>,
        worktree: Option<String>,
        run: Option<Binding>,
    ) -> Result<NewToken, Problem> {
        let token = random_hex();
        let id = random_hex()[..12].to_owned();
        let sha256 = sha256(token.as_bytes());
        let request = token::Request { id: id.clone(), agent, role, brief, worktree, sha256, run };
        self.store.execute(caller, Command::IssueToken(request)).await?;
        Ok(NewToken { id, token })
    }

    pub async fn revoke_token(&self, caller: &Caller, id: String) -> Result<(), Problem> {
        self.store.execute(caller, Command::RevokeToken { id }).await.map(drop)
    }

    pub async fn tokens(&self, caller: &Caller) -> Result<Vec<TokenView>, Problem> {
        self.reader(caller).await?.require(Read::Tokens)?;
        let tokens = self.store.read(flower_store::tokens::all).await?.into_iter();
        Ok(tokens
            .map(|t| TokenView {
                id: t.id,
                agent: t.agent,
                role: t.role,
                brief: t.brief.map(u64::from),
                worktree: t.worktree,
                at: t.at,
                revoked_at: t.revoked_at,
            })
            .collect())
    }
}

//! The rows of things whose state follows from events. Each row has the state as JSON, and the columns by which it is
//! found.

use super::conn::{Conn, params};
use super::error::StoreError;
use super::{agents, dispatches, landings, worktrees};
use flower_core::{Agent, Aggregate, Context, Dispatch, Landing, Lease, Main, Permission, Worktree};

pub trait Row: Aggregate {
    fn load(conn: &mut Conn, id: &Self::Id) -> Result<Option<Self>, StoreError>;

    fn save(&self, id: &Self::Id, conn: &mut Conn) -> Result<(), StoreError>;
}

/// Applies a change to the row of the thing that it is about.
pub fn update<A: Row>(conn: &mut Conn, change: A::Change<'_>, context: &Context<'_>) -> Result<(), StoreError> {
    let id = A::id(change);
    let state = match A::load(conn, &id)? {
        Some(mut known) => {
            known.evolve(change, context);
            Some(known)
        }
        None => A::create(change, context),
    };
    state.map_or(Ok(()), |state| state.save(&id, conn))
}

impl Row for Worktree {
    fn load(conn: &mut Conn, id: &Self::Id) -> Result<Option<Worktree>, StoreError> {
        worktrees::worktree(conn, *id)
    }

    fn save(&self, id: &Self::Id, conn: &mut Conn) -> Result<(), StoreError> {
        conn.execute(
            "INSERT INTO worktrees (number, project, name, stage, live, brief, state) VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (number) DO UPDATE SET stage = excluded.stage, live = excluded.live, state = excluded.state",
            params![
                *id,
                &self.project,
                &self.name,
                self.stage.as_str(),
                u64::from(self.is_live()),
                self.brief,
                &json(self)
            ],
        )?;
        Ok(())
    }
}

impl Row for Landing {
    fn load(conn: &mut Conn, id: &Self::Id) -> Result<Option<Landing>, StoreError> {
        landings::landing(conn, *id)
    }

    fn save(&self, id: &Self::Id, conn: &mut Conn) -> Result<(), StoreError> {
        conn.execute(
            "INSERT INTO landings (number, project, worktree, open, merge_commit, state) VALUES ($1, $2, $3, $4, $5, $6)
             ON CONFLICT (number) DO UPDATE SET open = excluded.open, merge_commit = excluded.merge_commit,
                 state = excluded.state",
            params![
                *id,
                &self.project,
                self.worktree_number,
                u64::from(self.is_open()),
                self.merge_commit.as_ref(),
                &json(self)
            ],
        )?;
        Ok(())
    }
}

impl Row for Dispatch {
    fn load(conn: &mut Conn, id: &Self::Id) -> Result<Option<Dispatch>, StoreError> {
        dispatches::dispatch(conn, *id)
    }

    fn save(&self, id: &Self::Id, conn: &mut Conn) -> Result<(), StoreError> {
        conn.execute(
            "INSERT INTO dispatches (number, brief, project, worktree, stage, open, state)
             VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (number) DO UPDATE SET stage = excluded.stage, open = excluded.open, state = excluded.state",
            params![
                *id,
                self.brief,
                self.project.as_ref(),
                self.worktree.as_ref(),
                self.state.as_str(),
                u64::from(self.is_open()),
                &json(self)
            ],
        )?;
        Ok(())
    }
}

impl Row for Lease {
    fn load(conn: &mut Conn, id: &Self::Id) -> Result<Option<Lease>, StoreError> {
        dispatches::lease(conn, *id)
    }

    fn save(&self, id: &Self::Id, conn: &mut Conn) -> Result<(), StoreError> {
        conn.execute(
            "INSERT INTO leases (number, project, worktree, live, state) VALUES ($1, $2, $3, $4, $5)
             ON CONFLICT (number) DO UPDATE SET live = excluded.live, state = excluded.state",
            params![*id, &self.project, &self.worktree, u64::from(self.live), &json(self)],
        )?;
        Ok(())
    }
}

impl Row for Agent {
    fn load(conn: &mut Conn, id: &Self::Id) -> Result<Option<Agent>, StoreError> {
        agents::agent(conn, *id)
    }

    fn save(&self, id: &Self::Id, conn: &mut Conn) -> Result<(), StoreError> {
        conn.execute(
            "INSERT INTO agents (number, name, project, worktree, dispatch, live, state) VALUES ($1, $2, $3, $4, $5, $6, $7)
             ON CONFLICT (number) DO UPDATE SET dispatch = excluded.dispatch, live = excluded.live,
                 state = excluded.state",
            params![
                *id,
                &self.name,
                &self.project,
                &self.worktree,
                self.dispatch,
                u64::from(self.is_live()),
                &json(self)
            ],
        )?;
        Ok(())
    }
}

impl Row for Permission {
    fn load(conn: &mut Conn, id: &Self::Id) -> Result<Option<Permission>, StoreError> {
        agents::permission(conn, *id)
    }

    fn save(&self, id: &Self::Id, conn: &mut Conn) -> Result<(), StoreError> {
        conn.execute(
            "INSERT INTO permissions (number, agent, open, state) VALUES ($1, $2, $3, $4)
             ON CONFLICT (number) DO UPDATE SET open = excluded.open, state = excluded.state",
            params![*id, self.agent, u64::from(self.allowed.is_none()), &json(self)],
        )?;
        Ok(())
    }
}

impl Row for Main {
    fn load(conn: &mut Conn, id: &Self::Id) -> Result<Option<Main>, StoreError> {
        landings::main(conn, id)
    }

    fn save(&self, id: &Self::Id, conn: &mut Conn) -> Result<(), StoreError> {
        conn.execute(
            "INSERT INTO mains (project, state) VALUES ($1, $2)
             ON CONFLICT (project) DO UPDATE SET state = excluded.state",
            params![id, &json(self)],
        )?;
        Ok(())
    }
}

fn json(state: &impl serde::Serialize) -> String {
    serde_json::to_string(state).expect("a state is plain data")
}

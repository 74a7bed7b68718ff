-- Dispatches and path leases with the state that decisions are taken on, messages, and what is kept beside the log.
CREATE TABLE dispatches (
    number   INTEGER PRIMARY KEY,
    brief    INTEGER NOT NULL,
    project  TEXT,
    worktree TEXT,
    stage    TEXT NOT NULL,
    open     INTEGER NOT NULL, -- 1 while somebody may work on it
    state    TEXT NOT NULL
);
CREATE INDEX dispatches_by_brief ON dispatches (brief, number);
CREATE INDEX dispatches_open ON dispatches (number) WHERE open = 1;
CREATE INDEX dispatches_by_stage ON dispatches (stage, number);

CREATE TABLE leases (
    number   INTEGER PRIMARY KEY,
    project  TEXT NOT NULL,
    worktree TEXT NOT NULL,
    live     INTEGER NOT NULL, -- 1 until it is released
    state    TEXT NOT NULL
);
CREATE INDEX leases_live ON leases (project, worktree, number) WHERE live = 1;

CREATE TABLE breaches (
    commit_id TEXT NOT NULL,
    holder    TEXT NOT NULL,
    made_by   TEXT,
    paths     TEXT NOT NULL,
    seq       INTEGER NOT NULL,
    PRIMARY KEY (commit_id, seq)
);

CREATE TABLE messages (
    number     INTEGER PRIMARY KEY,
    kind       TEXT NOT NULL, -- operator, agent or worktree
    recipient  TEXT NOT NULL,
    actor_type TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    at         TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    text       TEXT NOT NULL
);
CREATE INDEX messages_by_recipient ON messages (kind, recipient, seq);

-- A brief that flower is to dispatch by itself.
ALTER TABLE briefs ADD COLUMN wants INTEGER NOT NULL DEFAULT 0;
CREATE INDEX briefs_wanting ON briefs (number) WHERE wants = 1;

-- What a token was made for, and since when it hears of what happens.
ALTER TABLE tokens ADD COLUMN dispatch INTEGER;
ALTER TABLE tokens ADD COLUMN packet INTEGER NOT NULL DEFAULT 0; -- 1 if it was made for that, and ends with it
ALTER TABLE tokens ADD COLUMN member INTEGER NOT NULL DEFAULT 0;
ALTER TABLE tokens ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
CREATE INDEX tokens_by_dispatch ON tokens (dispatch) WHERE dispatch IS NOT NULL;

-- Signs of life and what was read: no history, so no events make them and no rebuild touches them.
CREATE TABLE beside (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
);

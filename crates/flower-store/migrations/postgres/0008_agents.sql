-- Agents that flower runs, with the state that decisions are taken on, what they have used, and what they ask for.
CREATE TABLE agents (
    number   BIGINT PRIMARY KEY,
    name     TEXT NOT NULL,
    project  TEXT NOT NULL,
    worktree TEXT NOT NULL,
    dispatch BIGINT,
    live     BIGINT NOT NULL, -- 1 until it has ended
    state    TEXT NOT NULL
);
CREATE INDEX agents_live ON agents (project, number) WHERE live = 1;
CREATE INDEX agents_by_name ON agents (name, number);
CREATE INDEX agents_by_dispatch ON agents (dispatch, number) WHERE dispatch IS NOT NULL;

CREATE TABLE spendings (
    seq      BIGINT PRIMARY KEY,
    day      TEXT NOT NULL, -- as the log's clock has it, in UTC
    agent    BIGINT NOT NULL,
    brief    BIGINT,
    dispatch BIGINT,
    tokens   BIGINT,
    cost     BIGINT, -- in millionths
    currency TEXT
);
CREATE INDEX spendings_by_day ON spendings (day);
CREATE INDEX spendings_by_brief ON spendings (brief) WHERE brief IS NOT NULL;
CREATE INDEX spendings_by_agent ON spendings (agent);

CREATE TABLE permissions (
    number BIGINT PRIMARY KEY,
    agent  BIGINT NOT NULL,
    open   BIGINT NOT NULL, -- 1 until it is decided
    state  TEXT NOT NULL
);
CREATE INDEX permissions_open ON permissions (number) WHERE open = 1;

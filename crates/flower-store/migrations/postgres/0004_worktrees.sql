-- Worktrees with the state that decisions are taken on, and the commands of each project that may run in them.
CREATE TABLE worktrees (
    number  BIGINT PRIMARY KEY,
    project TEXT NOT NULL,
    name    TEXT NOT NULL,
    stage   TEXT NOT NULL,
    live    BIGINT NOT NULL, -- 1 while its name is taken
    brief   BIGINT,
    state   TEXT NOT NULL
);
CREATE UNIQUE INDEX worktrees_live ON worktrees (project, name) WHERE live = 1;
CREATE INDEX worktrees_removed ON worktrees (stage, number);

CREATE TABLE approvals (
    project TEXT PRIMARY KEY,
    sha256  TEXT NOT NULL,
    at      TEXT NOT NULL
);

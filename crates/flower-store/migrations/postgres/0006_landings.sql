-- Landings with the state that decisions are taken on, and MAIN of each project as the log has it.
CREATE TABLE landings (
    number   BIGINT PRIMARY KEY,
    project  TEXT NOT NULL,
    worktree BIGINT,
    open     BIGINT NOT NULL, -- 1 while it still may land
    merge_commit TEXT,
    state    TEXT NOT NULL
);
CREATE INDEX landings_open ON landings (project, number) WHERE open = 1;
CREATE INDEX landings_project ON landings (project, number);
CREATE INDEX landings_merge_commit ON landings (merge_commit);

CREATE TABLE landing_briefs (
    brief   BIGINT NOT NULL,
    landing BIGINT NOT NULL,
    PRIMARY KEY (brief, landing)
);

CREATE TABLE mains (
    project TEXT PRIMARY KEY,
    state   TEXT NOT NULL
);

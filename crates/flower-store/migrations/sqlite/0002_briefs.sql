-- What the log says about briefs, as tables: made from events, dropped and refilled by `flower log rebuild`.
CREATE TABLE briefs (
    number     INTEGER PRIMARY KEY,
    title      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    status     TEXT NOT NULL,
    epic       INTEGER,
    updated_at TEXT NOT NULL,
    -- the state that decisions are taken on, as JSON
    state      TEXT NOT NULL
);
CREATE INDEX briefs_by_epic ON briefs (epic) WHERE epic IS NOT NULL;
CREATE INDEX briefs_by_status ON briefs (status, number);

CREATE TABLE brief_projects (
    project TEXT NOT NULL,
    brief   INTEGER  NOT NULL,
    PRIMARY KEY (project, brief)
);
CREATE INDEX brief_projects_by_brief ON brief_projects (brief);

CREATE TABLE brief_needs (
    brief INTEGER NOT NULL,
    needs INTEGER NOT NULL,
    PRIMARY KEY (brief, needs)
);
CREATE INDEX brief_needs_by_need ON brief_needs (needs);

CREATE TABLE spec_versions (
    brief      INTEGER  NOT NULL,
    version    INTEGER  NOT NULL,
    origin     TEXT NOT NULL, -- plan or refinement
    base       INTEGER  NOT NULL,
    why        TEXT,
    actor_type TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    at         TEXT NOT NULL,
    accepted   INTEGER  NOT NULL, -- 1 once it was accepted
    markdown   TEXT NOT NULL,
    PRIMARY KEY (brief, version)
);

CREATE TABLE questions (
    brief       INTEGER  NOT NULL,
    question    INTEGER  NOT NULL,
    text        TEXT NOT NULL,
    asked_type  TEXT NOT NULL,
    asked_by    TEXT NOT NULL,
    asked_at    TEXT NOT NULL,
    answer      TEXT,
    answered_by TEXT,
    answered_at TEXT,
    PRIMARY KEY (brief, question)
);
CREATE INDEX questions_open ON questions (asked_at) WHERE answer IS NULL;

CREATE TABLE links (
    brief      INTEGER  NOT NULL,
    kind       TEXT NOT NULL,
    target     TEXT NOT NULL,
    label      TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    at         TEXT NOT NULL,
    seq        INTEGER  NOT NULL,
    PRIMARY KEY (brief, kind, target)
);

CREATE TABLE scratchpads (
    number     INTEGER PRIMARY KEY,
    title      TEXT NOT NULL,
    brief      INTEGER,
    version    INTEGER  NOT NULL,
    actor_name TEXT NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT NOT NULL,
    text       TEXT NOT NULL
);
CREATE INDEX scratchpads_by_brief ON scratchpads (brief) WHERE brief IS NOT NULL;

CREATE TABLE projects (
    name TEXT PRIMARY KEY,
    root TEXT NOT NULL UNIQUE,
    at   TEXT NOT NULL
);

CREATE TABLE tokens (
    id         TEXT PRIMARY KEY,
    agent      TEXT NOT NULL,
    role       TEXT NOT NULL,
    brief      INTEGER,
    worktree   TEXT,
    sha256     TEXT NOT NULL UNIQUE,
    at         TEXT NOT NULL,
    revoked_at TEXT
);

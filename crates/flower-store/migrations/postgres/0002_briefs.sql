-- What the log says about briefs, as tables: made from events, dropped and refilled by `flower log rebuild`.
CREATE TABLE briefs (
    number     BIGINT PRIMARY KEY,
    title      TEXT NOT NULL,
    kind       TEXT NOT NULL,
    status     TEXT NOT NULL,
    epic       BIGINT,
    updated_at TEXT NOT NULL,
    -- the state that decisions are taken on, as JSON
    state      TEXT NOT NULL
);
CREATE INDEX briefs_by_epic ON briefs (epic) WHERE epic IS NOT NULL;
CREATE INDEX briefs_by_status ON briefs (status, number);

CREATE TABLE brief_projects (
    project TEXT NOT NULL,
    brief   BIGINT  NOT NULL,
    PRIMARY KEY (project, brief)
);
CREATE INDEX brief_projects_by_brief ON brief_projects (brief);

CREATE TABLE brief_needs (
    brief BIGINT NOT NULL,
    needs BIGINT NOT NULL,
    PRIMARY KEY (brief, needs)
);
CREATE INDEX brief_needs_by_need ON brief_needs (needs);

CREATE TABLE spec_versions (
    brief      BIGINT  NOT NULL,
    version    BIGINT  NOT NULL,
    origin     TEXT NOT NULL, -- plan or refinement
    base       BIGINT  NOT NULL,
    why        TEXT,
    actor_type TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    at         TEXT NOT NULL,
    accepted   BIGINT  NOT NULL, -- 1 once it was accepted
    markdown   TEXT NOT NULL,
    PRIMARY KEY (brief, version)
);

CREATE TABLE questions (
    brief       BIGINT  NOT NULL,
    question    BIGINT  NOT NULL,
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
    brief      BIGINT  NOT NULL,
    kind       TEXT NOT NULL,
    target     TEXT NOT NULL,
    label      TEXT NOT NULL,
    actor_name TEXT NOT NULL,
    at         TEXT NOT NULL,
    seq        BIGINT  NOT NULL,
    PRIMARY KEY (brief, kind, target)
);

CREATE TABLE scratchpads (
    number     BIGINT PRIMARY KEY,
    title      TEXT NOT NULL,
    brief      BIGINT,
    version    BIGINT  NOT NULL,
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
    brief      BIGINT,
    worktree   TEXT,
    sha256     TEXT NOT NULL UNIQUE,
    at         TEXT NOT NULL,
    revoked_at TEXT
);

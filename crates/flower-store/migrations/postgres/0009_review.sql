-- What was said about lines of worktrees; the message that brings each of them says to whom and when.
CREATE TABLE remarks (
    message  BIGINT PRIMARY KEY,
    project  TEXT NOT NULL,
    worktree TEXT NOT NULL,
    state    TEXT NOT NULL
);
CREATE INDEX remarks_by_worktree ON remarks (project, worktree, message);

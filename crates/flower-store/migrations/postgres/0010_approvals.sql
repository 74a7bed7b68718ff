-- Commands once approved stay approved, so a project has several lists. The table is filled again from the log.
DROP TABLE approvals;
CREATE TABLE approvals (
    project TEXT NOT NULL,
    sha256  TEXT NOT NULL,
    at      TEXT NOT NULL,
    PRIMARY KEY (project, sha256)
);

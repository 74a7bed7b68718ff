-- A project keeps the folders of its first name when it is renamed, and its former names lead to it.
ALTER TABLE projects ADD COLUMN folder TEXT NOT NULL DEFAULT '';
UPDATE projects SET folder = name;
CREATE TABLE former_names (
    name TEXT PRIMARY KEY,
    now  TEXT NOT NULL
);

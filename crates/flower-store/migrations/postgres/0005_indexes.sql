-- Of the word index only SQLite's changes.
-- Most events of a brief are in its own stream, which has an index already; a second one costs a page per event and commit.
DROP INDEX events_by_brief;
CREATE INDEX events_of_others_by_brief ON events (brief, seq) WHERE stream <> 'brief/' || CAST(brief AS TEXT);

-- The word index anew: over words as flower cuts them, without their places, which nobody asks for, and with beginnings as
-- long as people type them. Titles have one of their own: of texts with a common word, few have it in the title.
DROP TABLE search_index;
CREATE VIRTUAL TABLE search_index USING fts5 (
    words, content = '', contentless_delete = 1, detail = none, prefix = '1 2 3 4 5 6', tokenize = 'ascii'
);
CREATE VIRTUAL TABLE search_titles USING fts5 (
    words, content = '', contentless_delete = 1, detail = none, prefix = '1 2 3 4 5 6', tokenize = 'ascii'
);

-- Most events of a brief are in its own stream, which has an index already; a second one costs a page per event and commit.
DROP INDEX events_by_brief;
CREATE INDEX events_of_others_by_brief ON events (brief, seq) WHERE stream <> 'brief/' || CAST(brief AS TEXT);

-- Search: one row per text that can be found, a word index over it, and the words themselves with their spellings.
CREATE TABLE search_docs (
    id    INTEGER PRIMARY KEY, -- the number of the event that first made it
    brief INTEGER,
    place TEXT NOT NULL,   -- brief, trace or scratchpad
    ref   INTEGER  NOT NULL,   -- which one: brief, event or scratchpad number
    title TEXT NOT NULL,
    body  TEXT NOT NULL
);
CREATE UNIQUE INDEX search_docs_by_place ON search_docs (place, ref);

-- Every word ever indexed, and each spelling of it that lacks one letter: two words one typing mistake apart share one.
CREATE TABLE search_words (
    word TEXT PRIMARY KEY
) WITHOUT ROWID;
CREATE TABLE search_spellings (
    spelling TEXT NOT NULL,
    word     TEXT NOT NULL,
    PRIMARY KEY (spelling, word)
) WITHOUT ROWID;

CREATE VIRTUAL TABLE search_index USING fts5 (
    title, body, content = 'search_docs', content_rowid = 'id', tokenize = "unicode61 remove_diacritics 0"
);
CREATE TRIGGER search_docs_added AFTER INSERT ON search_docs
BEGIN INSERT INTO search_index (rowid, title, body) VALUES (new.id, new.title, new.body); END;
CREATE TRIGGER search_docs_removed AFTER DELETE ON search_docs
BEGIN INSERT INTO search_index (search_index, rowid, title, body) VALUES ('delete', old.id, old.title, old.body); END;
CREATE TRIGGER search_docs_changed AFTER UPDATE ON search_docs
BEGIN
    INSERT INTO search_index (search_index, rowid, title, body) VALUES ('delete', old.id, old.title, old.body);
    INSERT INTO search_index (rowid, title, body) VALUES (new.id, new.title, new.body);
END;

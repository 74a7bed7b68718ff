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

-- Holds words and their beginnings only; the texts are in search_docs.
CREATE VIRTUAL TABLE search_index USING fts5 (
    title, body, content = '', contentless_delete = 1, prefix = '1 2 3', tokenize = "unicode61 remove_diacritics 0"
);

-- Search: one row per text that can be found, a word index over it, and the words themselves with their spellings.
CREATE TABLE search_docs (
    id    BIGINT PRIMARY KEY, -- the number of the event that first made it
    brief BIGINT,
    place TEXT NOT NULL,   -- brief, trace or scratchpad
    ref   BIGINT  NOT NULL,   -- which one: brief, event or scratchpad number
    title TEXT NOT NULL,
    body  TEXT NOT NULL,
    -- the words as flower cuts them: how PostgreSQL does it depends on the database's locale, and with `C` every dash,
    -- quotation mark and capital beyond ASCII would be a part of its word
    words TSVECTOR NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX search_docs_by_place ON search_docs (place, ref);

-- Every word ever indexed, and each spelling of it that lacks one letter: two words one typing mistake apart share one.
CREATE TABLE search_words (
    word TEXT PRIMARY KEY
);
CREATE TABLE search_spellings (
    spelling TEXT NOT NULL,
    word     TEXT NOT NULL,
    PRIMARY KEY (spelling, word)
);
CREATE INDEX search_docs_by_word ON search_docs USING GIN (words);

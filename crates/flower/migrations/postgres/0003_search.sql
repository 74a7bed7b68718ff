-- Search: one row per text that can be found, a word index over it, and the words themselves with their spellings.
CREATE TABLE search_docs (
    id    BIGINT PRIMARY KEY, -- the number of the event that first made it
    brief BIGINT,
    place TEXT NOT NULL,   -- brief, trace or scratchpad
    ref   BIGINT  NOT NULL,   -- which one: brief, event or scratchpad number
    title TEXT NOT NULL,
    body  TEXT NOT NULL,
    -- ASCII punctuation separates words, as it does in SQLite's index; otherwise `src/main.rs` would be one word
    words TSVECTOR NOT NULL GENERATED ALWAYS AS (
        setweight(to_tsvector('simple', regexp_replace(title, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g')), 'A')
        || setweight(to_tsvector('simple', regexp_replace(body, '[\x01-\x2f\x3a-\x40\x5b-\x60\x7b-\x7f]+', ' ', 'g')), 'D')
    ) STORED
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

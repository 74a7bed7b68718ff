-- The ledger: one append-only table, numbered without gaps, chained by hash.
CREATE TABLE events (
    seq        INTEGER PRIMARY KEY,
    stream     TEXT    NOT NULL,
    version    INTEGER NOT NULL,
    kind       TEXT    NOT NULL,
    schema     INTEGER NOT NULL,
    actor_type TEXT    NOT NULL,
    actor_name TEXT    NOT NULL,
    door       TEXT    NOT NULL,
    at         TEXT    NOT NULL,
    brief      INTEGER,
    body       TEXT    NOT NULL,
    prev       TEXT    NOT NULL,
    hash       TEXT    NOT NULL,
    UNIQUE (stream, version)
);
CREATE INDEX events_by_brief ON events (brief, seq) WHERE brief IS NOT NULL;

CREATE TRIGGER events_are_never_changed BEFORE UPDATE ON events
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: events are never changed'); END;
CREATE TRIGGER events_are_never_deleted BEFORE DELETE ON events
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: events are never deleted'); END;
-- `INSERT OR REPLACE` deletes without asking the trigger above.
CREATE TRIGGER events_are_never_replaced BEFORE INSERT ON events
WHEN EXISTS (SELECT 1 FROM events WHERE seq = new.seq)
    OR EXISTS (SELECT 1 FROM events WHERE stream = new.stream AND version = new.version)
BEGIN SELECT RAISE(ABORT, 'the ledger is append-only: events are never replaced'); END;

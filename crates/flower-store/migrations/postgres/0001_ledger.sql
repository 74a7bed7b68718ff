-- The ledger: one append-only table, numbered without gaps, chained by hash.
CREATE TABLE events (
    seq        BIGINT PRIMARY KEY,
    stream     TEXT   NOT NULL,
    version    BIGINT NOT NULL,
    kind       TEXT   NOT NULL,
    schema     BIGINT NOT NULL,
    actor_type TEXT   NOT NULL,
    actor_name TEXT   NOT NULL,
    door       TEXT   NOT NULL,
    at         TEXT   NOT NULL,
    brief      BIGINT,
    body       TEXT   NOT NULL,
    prev       TEXT   NOT NULL,
    hash       TEXT   NOT NULL,
    UNIQUE (stream, version)
);
CREATE INDEX events_by_brief ON events (brief, seq) WHERE brief IS NOT NULL;

CREATE FUNCTION refuse_change_of_events() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'the ledger is append-only: events are never changed or deleted'; END $$;
CREATE TRIGGER events_are_never_changed BEFORE UPDATE OR DELETE ON events
    FOR EACH ROW EXECUTE FUNCTION refuse_change_of_events();
CREATE TRIGGER events_are_never_truncated BEFORE TRUNCATE ON events
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change_of_events();

//! The differences between SQLite and PostgreSQL. All other statements of the store are the same for both.

use super::conn::{Conn, params};
use super::error::StoreError;
use super::search::words;
use rusqlite::functions::FunctionFlags;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

/// The channel on which servers with the same schema notify each other. It contains a digest, because the name of a
/// schema alone may be as long as the maximum length of a channel name.
pub const CHANNEL: &str = "'flower_' || md5(current_schema())";

/// The location of the database.
#[derive(Clone, Debug)]
pub enum Location {
    Sqlite(PathBuf),
    Postgres(Box<postgres::Config>),
}

impl Location {
    /// Parses `sqlite:PATH`, `postgres://…` or `postgresql://…`.
    pub fn parse(url: &str) -> Result<Location, StoreError> {
        if let Some(path) = url.strip_prefix("sqlite:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            if path.is_empty() {
                return Err(StoreError::Unreachable("`sqlite:` names no file; write `sqlite:/path/flower.db`".into()));
            }
            return Ok(Location::Sqlite(PathBuf::from(path)));
        }
        if url.starts_with("postgres:") || url.starts_with("postgresql:") {
            let config = postgres::Config::from_str(url)
                .map_err(|error| StoreError::Unreachable(format!("FLOWER_DATABASE_URL is not understood: {error}")))?;
            return Ok(Location::Postgres(Box::new(config)));
        }
        Err(StoreError::Unreachable("FLOWER_DATABASE_URL begins with neither `sqlite:` nor `postgres:`".into()))
    }

    pub fn connect(&self) -> Result<Conn, StoreError> {
        match self {
            Location::Sqlite(path) => open_sqlite(path),
            Location::Postgres(config) => {
                let mut config = config.clone();
                config.connect_timeout(Duration::from_secs(5)).application_name("flower");
                let mut conn = Conn::postgres(config.connect(postgres::NoTls)?);
                conn.script(
                    "SET client_min_messages = warning; SET statement_timeout = '600s'; SET lock_timeout = '30s'",
                )?;
                Ok(conn)
            }
        }
    }
}

fn open_sqlite(path: &Path) -> Result<Conn, StoreError> {
    let db = rusqlite::Connection::open(path)?;
    db.set_prepared_statement_cache_capacity(128);
    db.busy_timeout(Duration::from_secs(5))?;
    // FULL: an acknowledged commit survives a power cut. SQLite's automatic checkpoints are off, because SQLite does
    // not report their failures; the writer makes checkpoints itself.
    db.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;
         PRAGMA journal_size_limit = 67108864; PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 0;",
    )?;
    // Without this, SQLite plans a statement again whenever a parameter that is compared with an indexed column
    // changes.
    db.set_db_config(rusqlite::config::DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // Both databases get the same words; SQLite's own tokenizer would split texts differently from PostgreSQL.
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    db.create_scalar_function("flower_words", 1, flags, |call| {
        Ok(words(call.get_raw(0).as_str()?).collect::<Vec<_>>().join(" "))
    })?;
    Ok(Conn::Sqlite(db))
}

impl Conn {
    /// Begins a write transaction that excludes all other writers, on this machine and on others, so that the log has
    /// no gaps.
    pub fn begin_write(&mut self) -> Result<(), StoreError> {
        match self {
            Conn::Sqlite(_) => self.script("BEGIN IMMEDIATE"),
            Conn::Postgres(_) => {
                self.script("BEGIN")?;
                self.rows("SELECT 1 FROM pg_advisory_xact_lock(hashtext('flower ' || current_schema()))", &[])?;
                Ok(())
            }
        }
    }

    /// Begins a read transaction, so that several queries see the same state of the database.
    pub fn begin_read(&mut self) -> Result<(), StoreError> {
        match self {
            Conn::Sqlite(_) => self.script("BEGIN"),
            Conn::Postgres(_) => self.script("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        }
    }

    /// Moves all of SQLite's write-ahead log into the database before anything is added to it. If the daemon ended
    /// because a sync of the log had failed, the content that is read from the log now may never have reached the disk,
    /// and later content would be lost with it.
    pub fn settle(&mut self) -> Result<(), StoreError> {
        if let Conn::Sqlite(_) = self {
            match self.row("PRAGMA wal_checkpoint(TRUNCATE)", &[]) {
                // With a full or read-only disk nothing can be added either, but the existing data can still be read.
                Ok(_) | Err(StoreError::Full | StoreError::ReadOnly(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Moves SQLite's write-ahead log into the database if it has `pages` or more, so that the log stays small. Pages
    /// that readers still need are moved by a later call.
    pub fn checkpoint(&mut self, pages: u64) -> Result<(), StoreError> {
        if let Conn::Sqlite(_) = self {
            // Columns: busy, pages in the log, pages of these that were moved; -1 while there is no log.
            let state = self.row("PRAGMA wal_checkpoint(NOOP)", &[])?;
            let waiting = state.map_or(0, |row| row.int(1).unwrap_or(0).saturating_sub(row.int(2).unwrap_or(0)));
            if waiting >= pages {
                self.row("PRAGMA wal_checkpoint(PASSIVE)", &[])?;
            }
        }
        Ok(())
    }

    /// Notifies other servers on the same database of the new end of the log, when the transaction commits.
    pub fn announce(&mut self, seq: u64) -> Result<(), StoreError> {
        if let Conn::Postgres(_) = self {
            let seq = seq.to_string();
            let sql = format!("SELECT 1 FROM pg_notify({CHANNEL}, $1)");
            self.rows(&sql, params![&seq])?;
        }
        Ok(())
    }

    pub fn has_table(&mut self, name: &str) -> Result<bool, StoreError> {
        let sql = match self {
            Conn::Sqlite(_) => "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = $1",
            Conn::Postgres(_) => {
                "SELECT 1 FROM information_schema.tables WHERE table_schema = current_schema() AND table_name = $1"
            }
        };
        Ok(self.row(sql, params![name])?.is_some())
    }

    /// SQL that expands a JSON list of texts into rows, for statements that take many values at once.
    pub fn each_text(&self) -> &'static str {
        match self {
            Conn::Sqlite(_) => "SELECT value FROM json_each($1)",
            Conn::Postgres(_) => "SELECT value FROM json_array_elements_text($1::text::json) AS value",
        }
    }

    /// SQL that expands a JSON list of whole numbers into rows.
    pub fn each_number(&self) -> &'static str {
        match self {
            Conn::Sqlite(_) => "SELECT value FROM json_each($1)",
            Conn::Postgres(_) => "SELECT value::bigint FROM json_array_elements_text($1::text::json) AS value",
        }
    }

    /// SQL that expands a JSON list of pairs of texts into rows.
    pub fn each_pair(&self) -> &'static str {
        match self {
            Conn::Sqlite(_) => "SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($1)",
            Conn::Postgres(_) => "SELECT value ->> 0, value ->> 1 FROM json_array_elements($1::text::json) AS value",
        }
    }

    /// The newest texts that match the query in $1, at most $2 of them. The statement does not rank: the ranking of the
    /// databases would read every text that contains a common word.
    pub fn search_sql(&self) -> &'static str {
        match self {
            Conn::Sqlite(_) => {
                "SELECT rowid FROM search_index WHERE search_index MATCH $1 ORDER BY rowid DESC LIMIT $2"
            }
            Conn::Postgres(_) => {
                "SELECT id FROM search_docs WHERE words @@ $1::text::tsquery ORDER BY id DESC LIMIT $2"
            }
        }
    }

    /// As [`Conn::search_sql`], for titles only, so that old texts are found by their titles.
    pub fn search_titles_sql(&self) -> &'static str {
        match self {
            Conn::Sqlite(_) => {
                "SELECT rowid FROM search_titles WHERE search_titles MATCH $1 ORDER BY rowid DESC LIMIT $2"
            }
            Conn::Postgres(_) => self.search_sql(),
        }
    }

    /// The statement that indexes the words in $2 of the text $1, for a database that indexes texts one by one.
    pub fn index_sql(&self) -> Option<&'static str> {
        match self {
            Conn::Sqlite(_) => None,
            Conn::Postgres(_) => Some("UPDATE search_docs SET words = $2::text::tsvector WHERE id = $1"),
        }
    }

    /// Indexes a JSON list of texts, and one of titles, for a database that indexes many at once. All use one
    /// statement, because SQLite's word index is flushed before each statement.
    pub fn index_texts(&mut self, texts: &str, titles: &str) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO search_index (rowid, words)
             SELECT id, flower_words(title || ' ' || body) FROM search_docs
             WHERE id IN (SELECT value FROM json_each($1))";
        self.execute(sql, params![texts])?;
        if titles != "[]" {
            let sql = "INSERT OR REPLACE INTO search_titles (rowid, words)
                 SELECT id, flower_words(title) FROM search_docs WHERE id IN (SELECT value FROM json_each($1))";
            self.execute(sql, params![titles])?;
        }
        Ok(())
    }

    /// Empties the word index, before it is filled again.
    pub fn empty_word_index(&mut self) -> Result<(), StoreError> {
        match self {
            Conn::Sqlite(_) => self.script(
                "INSERT INTO search_index (search_index) VALUES ('delete-all');
                 INSERT INTO search_titles (search_titles) VALUES ('delete-all')",
            ),
            Conn::Postgres(_) => Ok(()),
        }
    }

    /// The term for one word of a query: the exact word, or a prefix. Words consist of letters and digits only.
    pub fn search_term(&self, word: &str, prefix: bool) -> String {
        match (self, prefix) {
            (Conn::Sqlite(_), false) => format!("\"{word}\""),
            (Conn::Sqlite(_), true) => format!("\"{word}\"*"),
            (Conn::Postgres(_), false) => format!("'{word}'"),
            (Conn::Postgres(_), true) => format!("'{word}':*"),
        }
    }

    /// The query in which each group must match by at least one of its terms.
    pub fn search_query(&self, groups: &[Vec<String>]) -> String {
        let (and, or) = match self {
            Conn::Sqlite(_) => (" AND ", " OR "),
            Conn::Postgres(_) => (" & ", " | "),
        };
        groups.iter().map(|group| format!("({})", group.join(or))).collect::<Vec<_>>().join(and)
    }

    /// The same query, for [`Conn::search_titles_sql`].
    pub fn search_titles(&self, groups: &[Vec<String>]) -> String {
        match self {
            Conn::Sqlite(_) => self.search_query(groups),
            Conn::Postgres(_) => {
                let weighted: Vec<Vec<String>> =
                    groups.iter().map(|group| group.iter().map(|term| weigh(term)).collect()).collect();
                self.search_query(&weighted)
            }
        }
    }
}

/// `'word'` and `'word':*` become `'word':A` and `'word':*A`, which match titles only.
fn weigh(term: &str) -> String {
    if term.ends_with('*') { format!("{term}A") } else { format!("{term}:A") }
}

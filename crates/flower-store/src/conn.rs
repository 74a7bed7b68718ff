//! One connection to either database, with the same interface. Statements are plain SQL with `$1` for both.

use super::error::StoreError;
use postgres::types::{IsNull, ToSql, Type, to_sql_checked};
use std::collections::HashMap;

/// A parameter of a statement. The store uses whole numbers and texts only.
#[derive(Clone, Copy, Debug)]
pub enum Param<'a> {
    Null,
    Int(i64),
    Text(&'a str),
}

impl From<u64> for Param<'_> {
    fn from(n: u64) -> Self {
        // Numbers count events and briefs, which never exceed i64.
        Param::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

macro_rules! id_params {
    ($($id:ident),*) => {$(
        impl From<flower_core::$id> for Param<'_> {
            fn from(id: flower_core::$id) -> Self {
                Param::from(id.0)
            }
        }
    )*};
}

id_params!(AgentId, BriefId, DispatchId, LandingId, LeaseId, MessageId, PermissionId, ScratchpadId, WorktreeId);

impl From<bool> for Param<'_> {
    fn from(b: bool) -> Self {
        Param::Int(i64::from(b))
    }
}

impl<'a> From<&'a str> for Param<'a> {
    fn from(text: &'a str) -> Self {
        Param::Text(text)
    }
}

impl<'a> From<&'a String> for Param<'a> {
    fn from(text: &'a String) -> Self {
        Param::Text(text)
    }
}

impl<'a, T: Into<Param<'a>>> From<Option<T>> for Param<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Param::Null, Into::into)
    }
}

/// The parameters of a statement, each converted.
macro_rules! params {
    ($($value:expr),* $(,)?) => { &[$($crate::conn::Param::from($value)),*] };
}
pub(crate) use params;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
}

/// A row of a result, read by position. A column with an unexpected type means that the database is damaged or not
/// flower's.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub Vec<Value>);

impl Row {
    pub fn int(&self, column: usize) -> Result<u64, StoreError> {
        match self.0.get(column) {
            Some(Value::Int(n)) => u64::try_from(*n).map_err(|_| wrong(column, "a count")),
            _ => Err(wrong(column, "a whole number")),
        }
    }

    pub fn opt_int(&self, column: usize) -> Result<Option<u64>, StoreError> {
        if self.is_null(column) { Ok(None) } else { self.int(column).map(Some) }
    }

    pub fn id<Id: From<u64>>(&self, column: usize) -> Result<Id, StoreError> {
        self.int(column).map(Id::from)
    }

    pub fn opt_id<Id: From<u64>>(&self, column: usize) -> Result<Option<Id>, StoreError> {
        Ok(self.opt_int(column)?.map(Id::from))
    }

    pub fn real(&self, column: usize) -> Result<f64, StoreError> {
        match self.0.get(column) {
            Some(Value::Real(x)) => Ok(*x),
            _ => Err(wrong(column, "a number")),
        }
    }

    pub fn text(&self, column: usize) -> Result<String, StoreError> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(text.clone()),
            _ => Err(wrong(column, "text")),
        }
    }

    /// Parses the first column, which is the JSON of a state that decisions are based on.
    pub fn state<T: serde::de::DeserializeOwned>(&self) -> Result<T, StoreError> {
        serde_json::from_str(&self.text(0)?)
            .map_err(|error| StoreError::Corrupt(format!("the state in a row cannot be read: {error}")))
    }

    pub fn opt_text(&self, column: usize) -> Result<Option<String>, StoreError> {
        if self.is_null(column) { Ok(None) } else { self.text(column).map(Some) }
    }

    fn is_null(&self, column: usize) -> bool {
        matches!(self.0.get(column), Some(Value::Null))
    }
}

fn wrong(column: usize, expected: &str) -> StoreError {
    StoreError::Corrupt(format!("column {column} is not {expected}"))
}

pub struct Postgres {
    client: postgres::Client,
    statements: HashMap<String, postgres::Statement>,
}

pub enum Conn {
    Sqlite(rusqlite::Connection),
    Postgres(Box<Postgres>),
}

impl Conn {
    pub fn postgres(client: postgres::Client) -> Conn {
        Conn::Postgres(Box::new(Postgres { client, statements: HashMap::new() }))
    }

    /// Runs a statement and returns the number of changed rows.
    pub fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        match self {
            Conn::Sqlite(db) => {
                let mut statement = db.prepare_cached(sql)?;
                bind(&mut statement, params)?;
                Ok(statement.raw_execute()? as u64)
            }
            Conn::Postgres(db) => {
                let statement = db.statement(sql)?;
                Ok(db.client.execute(&statement, &references(params))?)
            }
        }
    }

    pub fn rows(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        let mut rows = Vec::new();
        self.each_row(sql, params, &mut |row| rows.push(row))?;
        Ok(rows)
    }

    /// Calls `take` for each row, without holding all rows in memory.
    pub fn each_row(&mut self, sql: &str, params: &[Param<'_>], take: &mut dyn FnMut(Row)) -> Result<(), StoreError> {
        match self {
            Conn::Sqlite(db) => {
                let mut statement = db.prepare_cached(sql)?;
                let columns = statement.column_count();
                bind(&mut statement, params)?;
                let mut rows = statement.raw_query();
                while let Some(row) = rows.next()? {
                    take(Row((0..columns).map(|i| sqlite_value(row, i)).collect::<Result<_, _>>()?));
                }
            }
            Conn::Postgres(db) => {
                use postgres::fallible_iterator::FallibleIterator;
                let statement = db.statement(sql)?;
                let mut rows = db.client.query_raw(&statement, params)?;
                while let Some(row) = rows.next()? {
                    take(Row((0..row.len()).map(|i| postgres_value(&row, i)).collect::<Result<_, _>>()?));
                }
            }
        }
        Ok(())
    }

    pub fn row(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, params)?.into_iter().next())
    }

    /// Runs several statements without parameters, as in a migration.
    pub fn script(&mut self, sql: &str) -> Result<(), StoreError> {
        match self {
            Conn::Sqlite(db) => Ok(db.execute_batch(sql)?),
            Conn::Postgres(db) => Ok(db.client.batch_execute(sql)?),
        }
    }

    /// Makes closing this connection leave the files unchanged. After a failed sync the result of a later sync is
    /// undefined, and SQLite would sync when it closes the last connection.
    pub fn leave_files(&self) {
        if let Conn::Sqlite(db) = self {
            use rusqlite::config::DbConfig;
            if let Err(error) = db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) {
                tracing::warn!("the database will be tidied up when it is closed: {error}");
            }
        }
    }

    /// Whether the server has closed the connection.
    pub fn is_broken(&self) -> bool {
        match self {
            Conn::Sqlite(_) => false,
            Conn::Postgres(db) => db.client.is_closed(),
        }
    }
}

impl Postgres {
    fn statement(&mut self, sql: &str) -> Result<postgres::Statement, StoreError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.client.prepare(sql)?;
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }
}

impl rusqlite::ToSql for Param<'_> {
    fn to_sql(&self) -> rusqlite::Result<rusqlite::types::ToSqlOutput<'_>> {
        use rusqlite::types::{ToSqlOutput, ValueRef};
        Ok(ToSqlOutput::Borrowed(match self {
            Param::Null => ValueRef::Null,
            Param::Int(n) => ValueRef::Integer(*n),
            Param::Text(text) => ValueRef::Text(text.as_bytes()),
        }))
    }
}

impl ToSql for Param<'_> {
    fn to_sql(
        &self,
        kind: &Type,
        out: &mut postgres::types::private::BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match self {
            Param::Null => Ok(IsNull::Yes),
            Param::Int(n) => n.to_sql_checked(kind, out),
            Param::Text(text) => text.to_sql_checked(kind, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

fn references<'a>(params: &'a [Param<'a>]) -> Vec<&'a (dyn ToSql + Sync)> {
    params.iter().map(|param| param as &(dyn ToSql + Sync)).collect()
}

/// Binds parameters by their number. SQLite treats `$3` as a name and numbers parameters in the order of their first
/// use, but `$3` must mean the third parameter.
fn bind(statement: &mut rusqlite::Statement<'_>, params: &[Param<'_>]) -> Result<(), StoreError> {
    if statement.parameter_count() != params.len() {
        let (given, taken) = (params.len(), statement.parameter_count());
        return Err(StoreError::Sql(format!("{given} parameters for a statement that takes {taken}")));
    }
    for index in 1..=statement.parameter_count() {
        let number = statement.parameter_name(index).and_then(|name| name.strip_prefix('$')?.parse::<usize>().ok());
        let param = number.and_then(|number| params.get(number.checked_sub(1)?));
        let param = param.ok_or_else(|| StoreError::Sql("a parameter without a value".into()))?;
        statement.raw_bind_parameter(index, param)?;
    }
    Ok(())
}

fn sqlite_value(row: &rusqlite::Row<'_>, column: usize) -> Result<Value, StoreError> {
    use rusqlite::types::ValueRef;
    Ok(match row.get_ref(column)? {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::Int(n),
        ValueRef::Real(x) => Value::Real(x),
        // A file that was edited by hand can have invalid UTF-8 in a text column. It must be shown, and must not crash
        // the daemon.
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
    })
}

fn postgres_value(row: &postgres::Row, column: usize) -> Result<Value, StoreError> {
    let kind = row.columns()[column].type_();
    let value = if *kind == Type::INT8 {
        row.try_get::<_, Option<i64>>(column)?.map(Value::Int)
    } else if *kind == Type::INT4 {
        row.try_get::<_, Option<i32>>(column)?.map(|n| Value::Int(i64::from(n)))
    } else if *kind == Type::FLOAT8 {
        row.try_get::<_, Option<f64>>(column)?.map(Value::Real)
    } else if *kind == Type::FLOAT4 {
        row.try_get::<_, Option<f32>>(column)?.map(|x| Value::Real(f64::from(x)))
    } else {
        row.try_get::<_, Option<String>>(column)?.map(Value::Text)
    };
    Ok(value.unwrap_or(Value::Null))
}

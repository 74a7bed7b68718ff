//! P8: search over 100,000 briefs, against SQLite's `LIKE` on the same rows.

use crate::scratch::{Words, fill, home, new_brief, open, runtime};
use crate::{Figure, ms, quantile};
use flower_store::Store;
use flower_store::search::search;
use std::time::{Duration, Instant};

const BRIEFS: u64 = 100_000;
const QUERIES: usize = 400;
const LIKES: usize = 12;

pub fn measure() -> Vec<Figure> {
    let home = home();
    let store = open(home.path());
    let runtime = runtime();
    eprintln!("  writing {BRIEFS} briefs …");
    runtime.block_on(async {
        let mut words = Words::new(8);
        fill(&store, (0..BRIEFS).map(|_| new_brief(words.text(6), words.text(60)))).await;
    });
    let mut words = Words::new(9);
    // As people type: one to three words, the last one unfinished every third time, mistyped every third time.
    let queries: Vec<String> = (0..QUERIES)
        .map(|n| {
            let count = 1 + (n % 3);
            let mut query = words.text(count);
            match n % 3 {
                1 if query.len() > 4 => query.truncate(query.len() - 1),
                2 => mistype(&mut query, &mut words),
                _ => {}
            }
            query
        })
        .collect();
    let mut ours: Vec<Duration> = queries.iter().map(|query| timed(&runtime, &store, query)).collect();
    let mut likes: Vec<Duration> = queries
        .iter()
        .take(LIKES)
        .map(|query| {
            let path = home.path().join("flower.db");
            let db = rusqlite::Connection::open(path).expect("the database opens");
            let pattern = format!("%{}%", query.split(' ').next().unwrap_or_default());
            let start = Instant::now();
            let sql = "SELECT id FROM search_docs WHERE title LIKE ?1 OR body LIKE ?1 LIMIT 1000000";
            let mut statement = db.prepare(sql).expect("it is SQL");
            let found = statement.query_map([&pattern], |row| row.get::<_, i64>(0)).expect("it runs").count();
            std::hint::black_box(found);
            start.elapsed()
        })
        .collect();
    let (p50, p99) = (quantile(&mut ours, 0.5), quantile(&mut ours, 0.99));
    let like = quantile(&mut likes, 0.5);
    let ratio = p99.as_secs_f64() / like.as_secs_f64();
    store.close();
    vec![Figure {
        id: "P8",
        what: format!("search over {BRIEFS} briefs, p99 of {QUERIES} queries (median {})", ms(p50)),
        measured: ms(p99),
        peer: format!("SQLite LIKE, median: {}", ms(like)),
        ratio: Some(ratio),
        goal: "≤ 0.05, and ≤ 30 ms",
        reached: ratio <= 0.05 && p99 <= Duration::from_millis(30),
    }]
}

fn timed(runtime: &tokio::runtime::Runtime, store: &Store, query: &str) -> Duration {
    let query = query.to_owned();
    let start = Instant::now();
    let hits = runtime.block_on(store.read(move |conn| search(conn, &query, 20))).expect("it searches");
    std::hint::black_box(hits);
    start.elapsed()
}

/// Swaps two letters.
fn mistype(query: &mut String, words: &mut Words) {
    let mut letters: Vec<char> = query.chars().collect();
    if letters.len() > 5 {
        let at = 1 + words.number(letters.len() as u64 - 3) as usize;
        letters.swap(at, at + 1);
    }
    *query = letters.into_iter().collect();
}
